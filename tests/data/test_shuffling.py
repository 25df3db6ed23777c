"""Shuffled streams: the rows in an order of the seed, and the model of a file in that order."""

import json
import warnings

import numpy as np
import pytest

from confidently import OnlineClassifier
from confidently.data import DataWarning, open_stream
from confidently.data.selection import skip_rows
from confidently.data.shuffling import shuffled
from tests.command_line import here
from tests.data.test_csv import named_rows

LETTERS = "abcdefgh"


def lines(n, labels="xyz"):
    """Rows sorted by label, each with its number and a word that appears late."""
    label = np.sort(np.random.default_rng(0).integers(len(labels), size=n))
    return [
        {"label": labels[label[k]], "row": k + 1, f"word{k // 7}": 1, LETTERS[k % 8]: 1 + label[k] / 2}
        for k in range(n)
    ]


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def opened(path, **options):
    return open_stream(path, **({"vocabulary": True, "normalize": "none"} | options))


def order_of(batches):
    return [int(row["row"]) for _, row in named_rows(batches)]


@pytest.mark.long("9,000 rows, five times")
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "n, buffer", [(1, 2), (2, 2), (9, 2), (10, 4), (100, 40), (100, 7), (100, 1000), (9000, 10_000)]
)
def test_every_row_comes_once_in_an_order_of_the_seed(tmp_path, n, buffer):
    file, rows = tmp_path / "rows.jsonl", lines(n)
    written(file, rows)
    in_order = named_rows(opened(file))
    found = named_rows(opened(file).shuffle(buffer, seed=3))
    assert sorted(found, key=lambda row: row[1]["row"]) == in_order
    assert n < 10 or found != in_order
    for chunk_bytes in (100, 5000):
        assert named_rows(opened(file, chunk_bytes=chunk_bytes).shuffle(buffer, seed=3)) == found
    if n > 9:
        assert order_of(opened(file).shuffle(buffer, seed=4)) != [row["row"] for _, row in found]


def test_a_buffer_for_all_rows_is_a_permutation_and_a_small_one_is_local(tmp_path):
    file = written(tmp_path / "rows.jsonl", lines(2000))
    whole = np.array(order_of(opened(file).shuffle(4000)))
    assert abs(np.corrcoef(whole, np.arange(2000))[0, 1]) < 0.1
    local = np.array(order_of(opened(file).shuffle(100)))
    assert np.corrcoef(local, np.arange(2000))[0, 1] > 0.95
    assert 30 < np.abs(local - np.arange(2000)).mean() < 200


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("view", [None, "standard"])
def test_the_model_is_that_of_a_file_in_this_order(tmp_path, view, multilabel):
    rows = lines(900)
    if multilabel:
        for k, row in enumerate(rows):
            row["label"] = [row["label"], "even"] if k % 2 == 0 else [row["label"]]
    file = written(tmp_path / "rows.jsonl", rows)
    options = {"drop": "row", "zeros": True, "multilabel": multilabel}
    order = order_of(opened(file, multilabel=multilabel).shuffle(300, seed=1))
    same = written(tmp_path / "same.jsonl", [rows[k - 1] for k in order])
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        one = OnlineClassifier(view=view).fit_stream(opened(file, **options).shuffle(300, seed=1))
        other = OnlineClassifier(view=view).fit_stream(opened(same, **options))
    assert one.classes_.tolist() == other.classes_.tolist() and one.mistakes_ == other.mistakes_
    found, expected = (dict(zip(model.features_.names, model.coef_.T.tolist(), strict=True)) for model in (one, other))
    assert found.keys() == expected.keys()
    for name, weights in expected.items():
        np.testing.assert_allclose(found[name], weights, rtol=1e-9, atol=1e-12)


def test_new_labels_are_announced_at_their_first_rows(tmp_path):
    rows = [row for batch in opened(written(tmp_path / "r.jsonl", lines(9000, "abcdefghij"))).shuffle(9000) for row in
            [(batch, new) for new in batch.new_labels]]  # fmt: skip
    for number, (batch, new) in enumerate(rows):
        assert np.flatnonzero(batch.labels == number)[0] == new.row


def test_rows_can_be_skipped_as_resuming_does(tmp_path):
    file = written(tmp_path / "rows.jsonl", lines(500))
    whole = named_rows(opened(file).shuffle(100))
    for first in (1, 49, 50, 51, 333):
        batches = skip_rows(opened(file, multilabel=False).shuffle(100), first)
        assert named_rows(batches) == whole[first:]


def test_what_cannot_be_shuffled(tmp_path):
    stream = opened(written(tmp_path / "rows.jsonl", lines(50)))
    for buffer in (1, 0, 2.5):
        with pytest.raises(ValueError, match=f"the buffer must have 2 rows or more, got {buffer}"):
            stream.shuffle(buffer)
    with pytest.raises(ValueError, match="must have 2 rows"):
        shuffled([], 1, 0)
    stream.shuffle()
    with pytest.raises(ValueError, match="read or shuffled already; open it again"):
        stream.shuffle()
    stream = opened(tmp_path / "rows.jsonl")
    next(stream)
    with pytest.raises(ValueError, match="read or shuffled already; open it again"):
        stream.shuffle()


def sorted_file(path, n=3000):
    random = np.random.default_rng(0)
    path.write_text("".join(
        f"{label} " + " ".join(f"{j + 1}:{x:.3f}" for j, x in enumerate(random.normal(0.4 * label, 1, 5))) + "\n"
        for label in (-1, 1) for _ in range(n // 2)
    ))  # fmt: skip
    return path


def trained(tmp_path, *options, name="m.cw"):
    found = here("train", tmp_path / "rows.svm", "--rule=arow", "-q", "-o", tmp_path / name, "--json", *options)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout), found.stderr, (tmp_path / name).read_bytes()


def test_the_command_line_shuffles_every_pass_and_resumes(tmp_path):
    sorted_file(tmp_path / "rows.svm")
    _, warned, plain = trained(tmp_path, "--no-shuffle")
    assert "rows are sorted by label" in warned and "--shuffle with a buffer of many rows" in warned
    _, warned, shuffled_once = trained(tmp_path, "--shuffle")
    assert warned == "" and shuffled_once != plain
    assert trained(tmp_path, "--shuffle", "--shuffle-buffer", "100000", "--seed", "0")[2] == shuffled_once
    assert trained(tmp_path, "--shuffle", "--seed", "1")[2] != shuffled_once
    assert "sorted by label" in trained(tmp_path, "--shuffle", "--shuffle-buffer", "20")[1]
    long = ["--shuffle", "--passes", "3", "--shuffle-buffer", "500", "--checkpoint-every", "700"]
    _, _, whole = trained(tmp_path, *long)
    assert trained(tmp_path, *long, "--holdout", "0.1", name="h.cw")[2] != whole


def test_compare_shuffles_as_train_does(ok, tmp_path):
    path = written(tmp_path / "rows.jsonl", lines(600, "ab"))
    options = ["--shuffle", "--shuffle-buffer", 50, "--seed", 3]
    compared = json.loads(ok("compare", path, "--rules", "arow", "--auto", "-q", "--json", *options))
    mistakes = {trial["rule"]: trial["mistakes"] for trial in compared["trials"]}
    assert mistakes["arow"] == json.loads(ok("train", path, "--rule=arow", "--json", "-q", *options))["mistakes"]
    assert mistakes["auto"] == json.loads(ok("train", "--auto", path, "--json", "-q", *options))["mistakes"]
