"""confidently topics train goes on, after a kill, a signal or an error as if never stopped, and with a given model."""

import json

import numpy as np
import pytest

from confidently import load
from confidently.topics.model import TopicModel
from tests.cli.test_cli_topics import counted, written

CLASSES = ("politics", "sport")
STREAM = ("--stream", "--classes", "politics,sport")
MODES = {"in memory": (), "as they come": STREAM, "averaging": (*STREAM, "--classifier", "averaging")}


def with_new_words(path, n=700):
    """Texts with words of their own in every tenth, so that the vocabulary grows to the end."""
    written(path, CLASSES, n=n)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for k in range(0, n, 10):
        rows[k]["text"] += f" w{k} v{k}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def command(path, *options):
    return ["topics", "train", path, "--text", "text", "--topics", 4, "-q", *options]


@pytest.mark.few(1)
@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
@pytest.mark.parametrize("after", [1, 3, 4, 6])
def test_every_checkpoint_leads_to_the_same_model(ok, tmp_path, stopped_after, options, after):
    data, model, whole = (tmp_path / name for name in ("x.jsonl", "m", "whole"))
    with_new_words(data)
    options = (*options, "--passes", 2, "--stop-words", "english")
    ok(*command(data, "-o", whole, *options))
    arguments = command(data, "-o", model, *options, "--checkpoint-every", 190)
    stopped_after(arguments, after)
    assert TopicModel.load(f"{model}.checkpoint").training["position"]["now"]["rows"] % 64 == 0
    ok(*arguments, "--resume", "--jobs", 2)
    assert model.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"x.jsonl", "m", "whole"}


def test_the_vocabulary_is_that_of_the_documents_learned(ok, tmp_path):
    """Wherever the data are cut, at whatever document a checkpoint is due: no word is there before its document."""
    rows = with_new_words(tmp_path / "x.jsonl")
    lines = (tmp_path / "x.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(lines[:333]))
    (tmp_path / "b.jsonl").write_text("".join(lines[333:]))
    ok(*command(tmp_path / "x.jsonl", "-o", tmp_path / "one", *STREAM))
    ok(*command(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-o", tmp_path / "two", *STREAM))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert len(load(tmp_path / "one").features_.names) == len({w for row in rows for w in row["text"].split()})


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["in memory", "as they come"])
def test_starting_from_a_model_is_partial_fit(ok, tmp_path, stream):
    first, new, y = tmp_path / "x.jsonl", tmp_path / "new.jsonl", []
    written(first, CLASSES)
    (tmp_path / "stop").write_text("win the w10 v20")
    ok(*command(first, "-o", tmp_path / "m", "--stop-words", tmp_path / "stop"))
    rows = with_new_words(new, 100)
    ok("topics", "train", new, "--init-model", tmp_path / "m", "-q", "--seed", 5, "-o", tmp_path / "n", *stream)
    mine, model = load(tmp_path / "n"), load(tmp_path / "m")
    words = [name.removeprefix("text:") for name in mine.features_.names]
    X, y = counted([row["text"] for row in rows], words), np.array([row["label"] for row in rows])
    X[:, [words.index(word) for word in ("win", "the", "w10", "v20")]] = 0  # the model's stop words, not all known yet
    order = np.arange(100) if stream else np.random.RandomState(5).permutation(100)
    del model.features_
    for first, last in ((0, 64), (64, 100)):
        seen = np.flatnonzero(X[order[:last]].any(axis=0))[-1] + 1 if stream else X.shape[1]
        known = max(seen, model.n_features_in_)
        model.partial_fit(X[order[first:last], :known], y[order[first:last]])
    np.testing.assert_array_equal(mine.coef_, model.coef_)
    assert mine.n_seen_ == 250 and mine.get_params() == model.get_params()


def test_progress_of_a_training_that_goes_on(ok, tmp_path, stopped_after):
    data, model = tmp_path / "x.jsonl", tmp_path / "m"
    with_new_words(data)
    arguments = command(data, "-o", model, *STREAM, "--passes", 2, "--checkpoint-every", 300)
    stopped_after(arguments, 4)
    arguments.remove("-q")
    *events, result = [json.loads(line) for line in ok(*arguments, "--json", "--resume").splitlines()]
    assert events[0] == {"event": "resume", "pass": 2, "documents": 320}
    assert {(event["event"], event["pass"], event["documents"]) for event in events[1:]} == {("progress", 2, 700)}
    whole = json.loads(ok(*command(data, *STREAM, "--passes", 2, "--json")))
    for name in ("documents", "words", "passes", "vocabulary", "epsilon", "documents_seen"):
        assert result[name] == whole[name]
