"""Character n-grams of a column of text teach in every format what they teach as svmlight."""

import csv
import gzip
import itertools
import json
from collections import Counter

import numpy as np
import pytest

from tests.data.test_tables_learn_alike import learned
from tests.data_sets import shared_data

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet  # noqa: E402

ROWS, SHORTEST, LONGEST = 2000, 1, 3


def sampled(name, text, label, weight=None, of=75_000):
    """Rows of a CSV file in a random order: label, text and weight."""
    folder, file = name.split("/")
    with gzip.open(shared_data(folder) / file, "rt", newline="") as lines:
        rows = [
            (row[label], row[text], float(row[weight]) if weight else 1.0)
            for row in itertools.islice(csv.DictReader(lines), of)
        ]
    order = np.random.default_rng(0).permutation(len(rows))[:ROWS]
    return [rows[k] for k in order]


SETS = {
    "phishing_urls": lambda: sampled("phishing_urls/urls.csv.gz", "url", "label"),
    "ssa_names": lambda: sampled("ssa_names/names.csv.gz", "name", "sex", "count"),  # weights from 5 to thousands
}


def n_grams(text):
    """Of one text, counted: lower case, white space as one space, a space at either end, which alone is none."""
    text = f" {' '.join(text.lower().split())} "
    lengths = range(SHORTEST, LONGEST + 1)
    grams = (text[k : k + n] for n in lengths for k in range(len(text) - n + 1))
    return Counter(gram for gram in grams if gram != " ")


def write_all(rows, folder):
    numbers = {}
    counts = [{numbers.setdefault(gram, len(numbers)) + 1: n for gram, n in n_grams(t).items()} for _, t, _ in rows]
    numbered = [" ".join(f"{j}:{n}" for j, n in sorted(found.items())) for found in counts]
    lines = zip(rows, numbered, strict=True)
    (folder / "rows.svm").write_text("".join(f"{label} cost:{w} {features}\n" for (label, _, w), features in lines))
    number = {
        rows[0][0]: 2,
        **{label: label for label in "01"},
    }  # as words are numbered: the second is the positive one
    lines = zip(rows, numbered, strict=True)
    (folder / "rows.vw").write_text("".join(f"{number.get(y, 1)} {w} | {x}\n" for (y, _, w), x in lines))
    for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
        with open(folder / f"rows.{suffix}", "w", newline="") as text:
            csv.writer(text, delimiter=delimiter).writerows([("label", "t", "w"), *rows])
    objects = (json.dumps(dict(zip(("label", "t", "w"), row, strict=True))) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text("".join(objects))
    (folder / "rows.txt").write_text("".join(f"{label}\t{text}\n" for label, text, _ in rows))
    table = pa.table(dict(zip(("label", "t", "w"), map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(table, folder / "rows.parquet", row_group_size=300)
    feather.write_feather(table, str(folder / "rows.feather"))


@pytest.mark.parametrize("name", SETS)
def test_every_format_teaches_the_same(tmp_path, name):
    rows = SETS[name]()
    write_all(rows, tmp_path)
    expected, margins = learned(tmp_path / "rows.svm", chunk_bytes=1 << 26)
    assert 0 < expected.mistakes < ROWS / 2 < ROWS == expected.n_seen
    unweighted = all(w == 1.0 for _, _, w in rows)
    how = {"normalize": "none", "vocabulary": True, "analyzer": "char", "ngrams": (SHORTEST, LONGEST)}
    table = {**how, "text": "t", "weight": "w"}
    ways = dict.fromkeys(("csv", "tsv", "jsonl", "parquet", "feather"), table)
    ways |= {"vw": {"normalize": "none", "vocabulary": True}} | ({"txt": how} if unweighted else {})
    for suffix, way in ways.items():
        learner, found = learned(tmp_path / f"rows.{suffix}", chunk_bytes=1 << 26, **way)
        assert (learner.mistakes, learner.updates) == (expected.mistakes, expected.updates), suffix
        np.testing.assert_allclose(found, margins, rtol=1e-8, atol=1e-8, err_msg=suffix)
        cut, _ = learned(tmp_path / f"rows.{suffix}", chunk_bytes=7001, **way)
        np.testing.assert_array_equal(cut.weights, learner.weights, err_msg=suffix)
