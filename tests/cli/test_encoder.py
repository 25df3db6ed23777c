"""``--encoder``: commands that learn and predict the vectors of texts."""

import csv
import json

import numpy as np
import pytest

from confidently import AutoClassifier, OnlineClassifier, encoders, load
from confidently.encoders import KNOWN, Known
from confidently.samples.tickets import tickets
from tests.encoders import Vectors

ROWS = [{"label": row["team"], "text": row["text"]} for row in tickets(300)]
TEXTS, TEAMS = [row["text"] for row in ROWS], [row["label"] for row in ROWS]


@pytest.fixture
def vectors(monkeypatch):
    """An encoder that is known by its name, and whose vectors may change."""
    source = Vectors()
    monkeypatch.setitem(KNOWN, "made", Known("wordllama", lambda: source.encode))
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    return source


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.long("a stack of texts")
@pytest.mark.parametrize("options, kind", [([], AutoClassifier), (["--rule", "arow"], OnlineClassifier)])
def test_a_model_has_the_name_of_its_encoder(options, kind, vectors, rows, ok, tmp_path):
    model = tmp_path / "model.cw"
    ok("train", "--no-shuffle", rows, "--encoder", "made", "-o", model, "--quiet", *options)
    assert "encoder     made (16 dimensions)\n" in ok("inspect", model)
    evaluated = json.loads(ok("evaluate", model, rows, "--json"))
    assert evaluated["rows"] == 300 and evaluated["error"] < 0.2
    again = load(model)
    assert type(again) is kind and again.encoder == "made"
    assert ok("predict", model, rows).split("\n")[:-1] == again.predict(TEXTS).tolist()
    in_python = kind(encoder="made", **({"shuffle": False, "passes": 1})).fit(TEXTS, TEAMS)
    np.testing.assert_array_equal(again.predict_proba(TEXTS), in_python.predict_proba(TEXTS))


def test_formats_with_texts_are_learned_alike(vectors, rows, ok, tmp_path):
    table, lines = tmp_path / "rows.csv", tmp_path / "rows.txt"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "subject", "label"])
        writer.writerows([k, row["text"], row["label"]] for k, row in enumerate(ROWS))
    lines.write_text("".join(f"{row['label']}\t{row['text']}\n" for row in ROWS))
    found = []
    for path, options in ((rows, []), (table, ["--text", "subject"]), (lines, [])):
        ok("train", path, "--encoder", "made", "--rule", "arow", "-o", tmp_path / "model.cw", "--quiet", *options)
        found.append(ok("predict", tmp_path / "model.cw", path, "--proba", "--margin"))
    assert found[0] == found[1] == found[2]


def test_passes_caches_and_continued_training(vectors, rows, ok, tmp_path):
    once, twice, cached = (tmp_path / f"{name}.cw" for name in ("once", "twice", "cached"))
    ok("train", rows, "--encoder", "made", "--rule", "arow", "--passes", "2", "-o", twice, "--quiet")
    assert sorted(set(vectors.encoded)) == sorted({*TEXTS, *encoders.PROBES})
    before = len(vectors.encoded)
    ok("cache", rows, "--encoder", "made", "-o", tmp_path / "rows.cache")
    ok("train", tmp_path / "rows.cache", "--rule", "arow", "--passes", "2", "-o", cached, "--quiet")
    assert len(vectors.encoded) == before
    assert twice.read_bytes() == cached.read_bytes()
    ok("train", tmp_path / "rows.cache", "-o", once, "--quiet")
    assert load(once).encoder == "made"
    ok("train", rows, "--init-model", twice, "-o", once, "--quiet")
    assert load(once).n_seen_ == 900


def test_an_encoder_that_has_changed_is_one_clear_error(vectors, rows, call, ok, tmp_path, monkeypatch):
    ok("train", rows, "--encoder", "made", "-o", tmp_path / "model.cw", "--quiet")
    monkeypatch.setitem(KNOWN, "made", Known("wordllama", lambda: Vectors(8).encode))
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    for command in (["predict"], ["evaluate"], ["train", "-o", tmp_path / "again.cw", "--quiet", "--init-model"]):
        code, _, told = call(*command, tmp_path / "model.cw", rows)
        assert code == 2 and "gives other vectors than that of the model, made (16 dimensions)" in told, told
    monkeypatch.delitem(KNOWN, "made")
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    code, _, told = call("predict", tmp_path / "model.cw", rows)
    assert code == 2 and told.startswith("confidently: error: unknown encoder 'made'; expected wordllama")


def test_a_cache_without_vectors_has_none(vectors, rows, ok, tmp_path):
    from confidently.data import DataError

    ok("cache", rows, "--text", "text", "-o", tmp_path / "rows.cache")
    with pytest.raises(DataError, match="is a cache of rows that no encoder has read; build it with one"):
        OnlineClassifier(encoder="made").fit_stream(tmp_path / "rows.cache")
    ok("cache", rows, "-o", tmp_path / "vectors.cache", "--encoder", "made")
    model = OnlineClassifier(encoder="made").fit_stream(tmp_path / "vectors.cache")
    assert model.score(TEXTS, TEAMS) > 0.8
    with pytest.raises(DataError, match=r"encoder is made \(16 dimensions\) there, None here"):
        OnlineClassifier().fit_stream(rows, text="text").partial_fit_stream(tmp_path / "vectors.cache")
