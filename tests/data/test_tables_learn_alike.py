"""Real rows teach in every format what they teach as svmlight, whose features the test makes by itself."""

import csv
import gzip
import json
import random
from collections import Counter
from itertools import islice
from math import fsum, sqrt

import numpy as np
import pytest

from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.data.classes import ClassTable
from confidently.data.features import Features
from confidently.learner.learner import Learner
from confidently.learner.streams import StreamLearner, StreamPredictor
from tests.data import tables
from tests.data_sets import SEED, shared_data
from tests.json_rows import Row

pytest.importorskip("pyarrow")
TABLES = ("csv", "tsv", "jsonl", "parquet", "feather")


def opened(name, **how):
    return gzip.open(shared_data(name.split("/")[0]) / name.split("/")[1], "rt", encoding="utf-8", **how)


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def table(name, n, columns=None, delimiter=",", label="label", categories=()):
    """The first rows of a table: numbers where they are, and categories as they are written."""
    with opened(name, newline="") as text:
        rows = list(islice(csv.DictReader(text, columns, delimiter=delimiter), n))
    for row in rows:
        cells = {c: x if c in categories else number(x) for c, x in row.items() if c != label}
        yield {"label": row[label]} | {c: None if x == "" else x for c, x in cells.items()}


def counts(n=1500):
    """Features by number as an object of counts."""
    with opened("a9a/train.svm.gz") as file:
        for line in islice(file, n):
            label, *features = line.split()
            yield {"label": int(label), "f": {j: float(x) for j, x in (f.split(":") for f in features)}}


def texts(name, n=600):
    """The first objects of a shuffled file."""
    with opened(name) as lines:
        lines = list(lines)
    random.Random(SEED).shuffle(lines)
    return map(json.loads, lines[:n])


def nested(rows):
    """Numbers within an object, beside categories."""
    for row in rows:
        numbers = {c: row.pop(c) for c in list(row) if c.startswith("I")}
        yield row | {"counts": {c: x if x is None else int(x) for c, x in numbers.items()}}


def short_texts(name, text, label, weight=None, n=2000):
    with opened(name, newline="") as lines:
        rows = list(islice(csv.DictReader(lines), 75_000))
    for k in np.random.default_rng(0).permutation(len(rows))[:n]:
        yield {"label": rows[k][label], "t": rows[k][text], "w": float(rows[k][weight]) if weight else 1.0}


def n_grams(row):
    """Of one text, counted: lower case, white space as one space, a space at either end, which alone is none."""
    text = f" {' '.join(row['t'].lower().split())} "
    found = Counter(text[k : k + n] for n in (1, 2, 3) for k in range(len(text) - n + 1))
    return {gram: count for gram, count in found.items() if gram != " "}


CRITEO = ["label", *(f"I{k}" for k in range(1, 14)), *(f"C{k}" for k in range(1, 27))]
ADS = {"name": "criteo_sample/criteo.tsv.gz", "columns": CRITEO, "delimiter": "\t", "categories": CRITEO[14:]}
HASHES = [f"{what}_{kind}" for what in ("site", "app") for kind in ("id", "domain", "category")]  # such as 85751e34
HASHES += ["device_id", "device_ip", "device_model", "C1", "C14", "id"]
CHARACTERS = {"text": ("t",), "weight": "w", "analyzer": "char", "ngrams": (1, 3)}
CASES = {  # rows, how they are read, and in which formats
    "criteo": (lambda: table(n=2000, **ADS), {"category": CRITEO[14:]}, TABLES),
    "criteo, nested": (lambda: nested(table(n=800, **ADS)), {"category": ("counts.I1",)}, ("jsonl",)),
    "a9a": (counts, {}, ("jsonl",)),
    "phishing_urls": (lambda: short_texts("phishing_urls/urls.csv.gz", "url", "label"), CHARACTERS, TABLES),
    "elec2": (lambda: table("elec2/elec2.csv.gz", 4000, label="class"), {}, TABLES),
    "avazu": (
        lambda: table("avazu_sample/avazu.csv.gz", 4000, label="click", categories=HASHES), {"category": HASHES}, TABLES
    ),
    "ssa_names": (lambda: short_texts("ssa_names/names.csv.gz", "name", "sex", "count"), CHARACTERS, TABLES),
    "imdb": (lambda: texts("imdb/train.jsonl.gz"), {"text": ("text",), "drop": ("id", "rating")}, ("jsonl",)),
    "enron": (
        lambda: texts("enron_spam/enron1.jsonl.gz"), {"text": ("text",), "drop": ("file",), "category": ("date",)},
        ("jsonl",),
    ),
    "newsgroups": (
        lambda: texts("newsgroups/train.jsonl.gz"), {"text": ("text",), "drop": ("id",), "label": "group"}, ("jsonl",)
    ),
}  # fmt: skip
SHORT = ("criteo", "criteo, nested", "a9a", "phishing_urls")


def write(rows, path):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    tables.write(path, {column: [row.get(column) for row in rows] for column in columns})


def svmlight_of(rows, how, numbers):
    """Rows of length 1 whose features are numbered as they appear."""
    own = {name: value for name, value in how.items() if name not in ("analyzer", "ngrams")}
    for row in rows:
        features = n_grams(row) if "analyzer" in how else Row(row, **own).features
        length = sqrt(fsum(x * x for x in features.values())) or 1.0
        numbered = sorted((numbers.setdefault(name, len(numbers) + 1), x / length) for name, x in features.items())
        yield f"{row[how.get('label', 'label')]} cost:{row.get('w', 1.0)} " + " ".join(
            f"{j}:{x!r}" for j, x in numbered
        )


def learned(path, **how):
    with open_stream(path, multilabel=False, **how) as stream:
        features = Features() if stream.reading.named else None
        learner = StreamLearner(Learner(Settings("arow")), ClassTable(), features=features)
        for _ in learner.learn(stream, advise=False):
            pass
    return learner


def answers(model, path, **how):
    answering = StreamPredictor(model.learner)
    with open_stream(path, ignore_labels=True, features=model.features, freeze=True, **how) as stream:
        return np.concatenate([model.learner.decision(answering.matrix(batch)) for batch in stream])


@pytest.mark.parametrize("name", [
    name if name in SHORT else pytest.param(name, marks=pytest.mark.long("more data")) for name in CASES
])  # fmt: skip
def test_every_format_teaches_the_same(tmp_path, name):
    make, how, formats = CASES[name]
    rows, numbers = list(make()), {}
    lines = [f"{line}\n" for line in svmlight_of(rows, how, numbers)]
    train, test = slice(len(rows) * 3 // 4), slice(len(rows) * 3 // 4, None)
    for part, file in ((train, "train.svm"), (test, "test.svm")):
        (tmp_path / file).write_text("".join(lines[part]))
    expected = learned(tmp_path / "train.svm")
    counted = {name: getattr(expected.learner, name) for name in ("mistakes", "updates", "n_features")}
    margins = answers(expected, tmp_path / "test.svm")  # which may add a feature for all that are unknown
    assert 0 < expected.learner.mistakes < len(rows) * 3 // 4 * (1 - 1 / len(expected.classes))
    for suffix in formats:
        files = tmp_path / f"train.{suffix}", tmp_path / f"test.{suffix}"
        for file, part in zip(files, (train, test), strict=True):
            write(rows[part], file)
        model = learned(files[0], vocabulary=True, **how)
        assert {name: getattr(model.learner, name) for name in counted} == counted, suffix
        assert list(map(str, model.classes.names)) == list(map(str, expected.classes.names))
        if "analyzer" not in how and suffix == "jsonl":
            assert list(model.features.names) == list(numbers)[: model.learner.n_features]
        cut = learned(files[0], vocabulary=True, chunk_bytes=7001, **how)
        np.testing.assert_array_equal(cut.learner.weights, model.learner.weights, err_msg=suffix)
        found = answers(model, files[1], vocabulary=True, **how)
        np.testing.assert_allclose(found, margins, rtol=1e-8, atol=1e-8, err_msg=suffix)
