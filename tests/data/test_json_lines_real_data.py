"""Learning from JSON lines is learning from the same rows as svmlight text, which the test writes by itself."""

import gzip
import json
import math
import random

import numpy as np
import pytest

from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.data.classes import ClassTable
from confidently.data.features import Features
from confidently.learner.learner import Learner
from confidently.learner.streams import StreamLearner, StreamPredictor
from tests.data_sets import SEED, shared_data
from tests.json_rows import Row


def json_file(name, file, rows=600):
    """The first rows of a shuffled file, as lines."""
    with gzip.open(shared_data(name) / file, "rt", encoding="utf-8") as lines:
        lines = list(lines)
    random.Random(SEED).shuffle(lines)
    return lines[:rows]


def criteo(rows=800):
    """Numbers, categories and missing values of advertisements, most of the two kinds within objects."""
    names = ["label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27))]
    with gzip.open(shared_data("criteo_sample") / "criteo.tsv.gz", "rt") as file:
        for _, line in zip(range(rows), file, strict=False):
            cells = dict(zip(names, line.rstrip("\n").split("\t"), strict=True))
            counts = {name: int(cells[name]) if cells[name] else None for name in names[1:14]}
            yield json.dumps(
                {"label": int(cells["label"]), "counts": counts} | {n: cells[n] or None for n in names[14:]}
            )


def a9a(rows=1500):
    """Features by number as an object of counts."""
    with gzip.open(shared_data("a9a") / "train.svm.gz", "rt") as file:
        for _, line in zip(range(rows), file, strict=False):
            label, *features = line.split()
            yield json.dumps({"label": int(label), "f": {n: float(x) for n, x in (f.split(":") for f in features)}})


SETS = {
    "imdb": (lambda: json_file("imdb", "train.jsonl.gz"), {"text": ("text",), "drop": ("id", "rating")}),
    "enron": (
        lambda: json_file("enron_spam", "enron1.jsonl.gz"),
        {"text": ("text",), "drop": ("file",), "category": ("date",)},
    ),
    "newsgroups": (
        lambda: json_file("newsgroups", "train.jsonl.gz"),
        {"text": ("text",), "drop": ("id",), "label": "group"},
    ),
    "criteo": (criteo, {"category": ("counts.I1",)}),
    "a9a": (a9a, {}),
}
LARGE = [pytest.param(name, marks=pytest.mark.long("large text")) for name in ("imdb", "enron", "newsgroups")]


def svmlight_of(rows, columns):
    """Rows of length 1 whose features are numbered as they appear."""
    for row in rows:
        length = math.sqrt(math.fsum(x * x for x in row.features.values())) or 1.0
        numbered = {columns.setdefault(name, len(columns) + 1): x for name, x in row.features.items()}
        features = " ".join(f"{k}:{x / length!r}" for k, x in sorted(numbered.items()))
        yield f"{','.join(map(str, row.labels))} {features}\n"


def learned(path, **how):
    with open_stream(path, chunk_bytes=100_000, **how) as stream:
        learner = StreamLearner(
            Learner(Settings("arow", task="binary"), n_classes=2), ClassTable(), features=Features()
        )
        for _ in learner.learn(stream):
            pass
    return learner


def answers(learner, path, **how):
    answering = StreamPredictor(learner.learner)
    stream = open_stream(path, ignore_labels=True, **how)
    return np.concatenate([learner.learner.decision(answering.matrix(batch)) for batch in stream])


@pytest.mark.parametrize("name", [*LARGE, "criteo", "a9a"])
def test_learning_is_that_from_svmlight(tmp_path, name):
    make, how = SETS[name]
    lines = [line.rstrip("\n") for line in make()]
    cut, columns = len(lines) * 3 // 4, {}
    paths = {part: (tmp_path / f"{part}.jsonl", tmp_path / f"{part}.svm") for part in ("train", "test")}
    for (as_json, as_svmlight), part in zip(paths.values(), (lines[:cut], lines[cut:]), strict=True):
        as_json.write_text("\n".join(part), encoding="utf-8")
        as_svmlight.write_text("".join(svmlight_of([Row(json.loads(line), **how) for line in part], columns)))
    left, right = learned(paths["train"][0], vocabulary=True, **how), learned(paths["train"][1])
    assert left.classes.names == right.classes.names
    assert (left.learner.mistakes, left.learner.updates) == (right.learner.mistakes, right.learner.updates)
    assert left.learner.n_features == right.learner.n_features and left.learner.mistakes < cut * (
        1 - 1 / len(left.classes)
    )
    assert list(left.features.names) == list(columns)[: left.learner.n_features]
    test = answers(left, paths["test"][0], vocabulary=True, features=left.features, freeze=True, **how)
    np.testing.assert_allclose(test, answers(right, paths["test"][1]), rtol=0, atol=1e-9)
