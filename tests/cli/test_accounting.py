"""What is counted adds up: parts of a pass to the pass, bytes to the files, seconds to no more than have passed."""

import gzip
import json
import time
from itertools import pairwise

import numpy as np
import pytest

from confidently import OnlineClassifier
from tests.command_line import rows


def events(ok, *arguments):
    *progress, result = [json.loads(line) for line in ok("train", *arguments, "--rule=arow", "--json").splitlines()]
    return [event for event in progress if event["event"] == "progress"], result


@pytest.fixture
def files(tmp_path):
    """Three files, one of them compressed."""
    paths = [tmp_path / name for name in ("a.svm", "b.svm.gz", "c.svm")]
    for seed, path in enumerate(paths):
        text = rows(1300, ("-1", "+1"), seed=seed, d=8).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return paths


@pytest.mark.parametrize("more", [(), ("--passes", "3"), ("--passes", "2", "--holdout", "0.1"), ("--average",)])
def test_parts_of_a_pass_add_up_to_the_pass(ok, files, more):
    began = time.monotonic()
    found, result = events(ok, *files, *more)
    wall = time.monotonic() - began
    numbers = range(1, result["passes"] + 1)
    passes = {number: [event for event in found if event["pass"] == number] for number in numbers}
    for number, parts in passes.items():
        learned = result["rows_learned"]
        assert [event["rows"] for event in parts] == [1000, 2000, 3900]
        rates, since, last = [], 0, {"error": 0.0, "rows": 0}
        for event in parts:
            share = event["rows"] - last["rows"]
            since += event["error_since_last"] * share
            rates.append(since / event["rows"])
            last = event
        assert rates == pytest.approx([event["error"] for event in parts], abs=0 if learned == 3900 else 0.01)
        assert all(a["updates"] <= b["updates"] <= b["rows"] for a, b in pairwise(parts))
        assert 0 <= parts[0]["seconds"] <= parts[-1]["seconds"] <= wall
        assert all(a["seconds"] <= b["seconds"] for a, b in pairwise(parts))
        check_bytes(parts, sum(path.stat().st_size for path in files) if number == 1 else None)
    check_log_loss(passes[1], result)
    assert passes[1][-1]["error"] == result["error"] == result["mistakes"] / result["rows_learned"]
    assert result["rows"] == 3900 and result["rows_seen"] == result["rows_learned"] * result["passes"]
    assert 0 <= sum(parts[-1]["seconds"] for parts in passes.values()) <= result["seconds"] <= wall


def check_bytes(parts, size):
    """Bytes rise to the sizes of the files together."""
    read = [event["bytes_read"] for event in parts]
    assert all(0 < a <= b for a, b in pairwise(read))
    assert size is None or read[-1] == size


def check_log_loss(parts, result):
    """Sums of the log-loss since the last line are those of the whole, with their signs."""
    total, before = 0.0, 0
    for event in parts:
        assert event["log_loss_since_last"] > 0
        total += event["log_loss_since_last"] * (event["rows"] - before)
        before = event["rows"]
        assert total / before == pytest.approx(event["log_loss"], rel=1e-9 if result["rows_learned"] == 3900 else 0.02)
    assert parts[-1]["log_loss"] == result["log_loss"]


@pytest.fixture
def curve(tmp_path):
    """Data, and the mistakes and the log-loss of predictions before each row, counted one by one in Python."""
    path = tmp_path / "data.svm"
    path.write_text(rows(700, ("-1", "+1"), d=8, seed=3))
    X, y = np.zeros((700, 8)), np.zeros(700, dtype=int)
    for k, line in enumerate(path.read_text().splitlines()):
        label, *features = line.split()
        y[k] = int(label)
        for feature in features:
            column, value = feature.split(":")
            X[k, int(column) - 1] = float(value)
    model, wrong, loss = (
        OnlineClassifier("arow", view=None),
        [0, 1],
        [0.0, np.log(2.0)],
    )  # at the first row nothing is known
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    for x, label in zip(X[1:], y[1:], strict=True):
        probability = model.predict_proba(x[None])[0][(label + 1) // 2]
        wrong.append(wrong[-1] + int(model.predict(x[None])[0] != label))
        loss.append(loss[-1] - np.log(probability))
        model.partial_fit(x[None], [label])
    return path, np.array(wrong), np.array(loss)


def test_the_counts_of_training_are_those_of_counting(ok, curve, tmp_path):
    """After every row, as checkpoints show them."""
    path, wrong, loss = curve
    lines = path.read_text().splitlines(keepends=True)
    for n in (1, 2, 3, 10, 99, 350, 700):
        head = tmp_path / "head.svm"
        head.write_text("".join(lines[:n]))
        result = json.loads(ok("train", "--no-shuffle", head, "--rule=arow", "-q", "--json", "--classes", "-1,1"))
        assert (result["rows"], result["mistakes"]) == (n, wrong[n])
        assert result["log_loss"] == pytest.approx(loss[n] / n, rel=1e-9)


def test_sizes_are_those_of_the_files(ok, data, tmp_path):
    for command in (["train", data, "--rule=arow", "-q"], ["cache", data], ["convert", data, "--to", "jsonl"]):
        path = tmp_path / "file"
        path.unlink(missing_ok=True)
        result = json.loads(ok(*command, "-o", path, "--json"))
        found = result["model_bytes"] if "model_bytes" in result else result["bytes"]
        assert found == path.stat().st_size
        path.unlink()
        assert f"{found:,} bytes" in ok(*command, "-o", path)


@pytest.mark.parametrize("options", [["--rule=arow"], []])
def test_bytes_do_not_run_ahead_of_training(ok, tmp_path, options):
    """Rows that are parsed in one go, or together choose the members of a stack, count as they are trained on."""
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{k % 2} 1:{k % 97 + 1:04} 2:{k * k % 89 + 1:04}\n" for k in range(1500)))
    events = [json.loads(line) for line in ok("train", path, "--json", *options).splitlines()]
    parts = [(event["rows"], event["bytes_read"]) for event in events if event.get("event") == "progress"]
    assert parts == [(1000, path.stat().st_size * 2 // 3), (1500, path.stat().st_size)]
