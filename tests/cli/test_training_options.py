"""confidently train: validation, early stop, rows held out, rows that are skipped, options of reading."""

import json

import numpy as np
import pytest

from confidently.cli.training.data import Holdout
from confidently.models.model import Model
from tests.command_line import rows


@pytest.fixture
def noisy(tmp_path):
    """Labels one in four of which is wrong: more passes make the model worse."""
    random = np.random.default_rng(0)
    lines = []
    for line in rows(600, d=60).splitlines():
        label, features = line.split(" ", 1)
        lines.append(f"{int(label) * (-1 if random.random() < 0.25 else 1)} {features}")
    path = tmp_path / "noisy.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def validated(out):
    """Events of validation, and the result, of --json."""
    *events, result = [json.loads(line) for line in out.splitlines()]
    return [event for event in events if event["event"] == "validation"], result


@pytest.mark.parametrize(
    ("share", "expected"), [("0.1", [9, 19, 29]), ("1/3", [2, 5, 8]), ("0.5", [1, 3, 5]), ("0.4", [2, 4, 7])]
)
def test_rows_held_out(share, expected):
    holdout = Holdout(share)
    assert np.flatnonzero(holdout.mask(0, 1000))[:3].tolist() == expected
    parts = [holdout.mask(first, 100) for first in range(0, 1000, 100)]
    np.testing.assert_array_equal(np.concatenate(parts), holdout.mask(0, 1000))


def test_rows_held_out_are_validated_and_not_learned(ok, noisy, tmp_path):
    lines = noisy.read_text().splitlines(keepends=True)
    learned, held = tmp_path / "learned.svm", tmp_path / "held.svm"
    learned.write_text("".join(line for i, line in enumerate(lines) if i % 10 != 9))
    held.write_text("".join(lines[9::10]))
    one, two = tmp_path / "one.cw", tmp_path / "two.cw"
    events, result = validated(
        ok("train", "--no-shuffle", noisy, "--rule=arow", "--holdout", "0.1", "--passes", 3, "-o", one, "--json")
    )
    others, _ = validated(
        ok("train", "--no-shuffle", learned, "--rule=arow", "--validation", held, "--passes", 3, "-o", two, "--json")
    )
    assert events == others and [event["pass"] for event in events] == [1, 2, 3]
    assert (result["rows"], result["rows_learned"]) == (600, 540)
    one, two = Model.load(one), Model.load(two)
    assert one.header() == two.header()
    for name, array in one.learner.state.items():
        np.testing.assert_array_equal(array, two.learner.state[name])
    evaluation = json.loads(ok("evaluate", tmp_path / "two.cw", held, "--json"))
    assert {name: evaluation[name] for name in ("rows", "error", "log_loss")}.items() <= events[-1].items()


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c"), ("1,2", "2", "", "3,1")])
def test_validation_leaves_the_training_as_it_is(ok, tmp_path, labels):
    data, more, plain, validated = (tmp_path / name for name in ("d.svm", "more.svm", "plain.cw", "validated.cw"))
    data.write_text(rows(200, labels))
    more.write_text(rows(50, labels, d=300))  # with features the training does not have
    ok("train", data, "--rule=arow", "-q", "--passes", 2, "-o", plain)
    result = json.loads(
        ok("train", data, "--rule=arow", "-q", "--passes", 2, "-o", validated, "--validation", more, "--json")
    )
    assert plain.read_bytes() == validated.read_bytes()
    assert result["validation"]["rows"] == 50 and 0 < result["validation"]["log_loss"] < 3


@pytest.mark.parametrize("patience", [1, 3])
def test_early_stop_keeps_the_best_model(ok, noisy, tmp_path, patience):
    options = ["--holdout", "0.2", "--rule", "pa", "--json"]
    stopped = ["--early-stop", "--patience", patience, "-o", tmp_path / "stopped.cw"]
    events, result = validated(ok("train", noisy, "--rule=arow", *options, "--passes", 40, *stopped))
    losses = [event["log_loss"] for event in events]
    best = int(np.argmin(losses)) + 1
    assert result["stopped_early"] and len(losses) == best + patience
    assert [event["best"] for event in events] == [i == np.argmin(losses[: i + 1]) for i in range(len(losses))]
    assert result["validation"] == {name: events[best - 1][name] for name in ("pass", "rows", "error", "log_loss")}
    ok("train", noisy, "--rule=arow", *options, "-q", "--passes", best, "-o", tmp_path / "best.cw")
    assert (tmp_path / "stopped.cw").read_bytes() == (tmp_path / "best.cw").read_bytes()


def test_invalid_rows_are_skipped(ok, call, data, tmp_path):
    lines = data.read_text().splitlines(keepends=True)
    bad, cache = tmp_path / "bad.svm", tmp_path / "cache"
    bad.write_text("".join([*lines[:100], "1 1:x\n", *lines[100:], "1 2:nan\n"]))
    ok("train", data, "--rule=arow", "-q", "-o", tmp_path / "good.cw", "--passes", 2)
    ok("train", bad, "--rule=arow", "-q", "-o", tmp_path / "m.cw", "--on-error", "skip", "--passes", 2)
    assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "good.cw").read_bytes()
    for options in (("limit=2",), ("skip", "--cache", cache), ("skip", "--cache", cache)):
        result = json.loads(ok("train", bad, "--rule=arow", "-q", "--json", "--on-error", *options))
        assert result["rows"] == 300 and result["skipped"] == 2 and "line 302" in result["skipped_examples"][1]
    code, _, err = call("train", bad, "--rule=arow", "-q", "--on-error", "limit=1")
    assert code == 2 and "more than 1 invalid row;" in err
    assert call("train", bad, "--rule=arow", "-q", "--cache", cache)[0] == 2  # the cache does not hide what is wrong
