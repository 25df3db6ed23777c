"""The same rows in every format of tables teach what they teach as svmlight."""

import csv
import gzip
import itertools

import numpy as np
import pytest

from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.data.classes import ClassTable
from confidently.data.features import Features
from confidently.learner.learner import Learner
from confidently.learner.streams import StreamLearner
from tests.data_sets import shared_data

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet  # noqa: E402

ROWS = 4000


def a9a():
    with gzip.open(shared_data("a9a") / "train.svm.gz", "rt") as lines:
        for line in itertools.islice(lines, ROWS):
            label, *features = line.split()
            yield label, {f"f{j}": x for j, x in (feature.split(":") for feature in features)}


def table(name, columns=None, delimiter=",", label="label"):
    def rows():
        with gzip.open(shared_data(name.split("/")[0]) / name.split("/")[1], "rt", newline="") as text:
            for row in itertools.islice(csv.DictReader(text, columns, delimiter=delimiter), ROWS):
                yield row.pop(label), row

    return rows


CRITEO = ["label", *(f"I{k}" for k in range(1, 14)), *(f"C{k}" for k in range(1, 27))]
NAMES = [f"C{k}" for k in range(1, 27)]
AVAZU = [
    f"{what}_{kind}" for what in ("site", "app") for kind in ("id", "domain", "category")
]  # hashes: 85751e34 is one
AVAZU += ["device_id", "device_ip", "device_model", "C1", "C14", "id"]
SETS = {
    "a9a": (a9a, ()),
    "criteo_sample": (table("criteo_sample/criteo.tsv.gz", CRITEO, "\t"), NAMES),
    "elec2": (table("elec2/elec2.csv.gz", label="class"), ()),
    "avazu_sample": (table("avazu_sample/avazu.csv.gz", label="click"), AVAZU),
}  # fmt: skip


def write_all(rows, categories, folder):
    """The rows as svmlight, CSV, TSV, Parquet and Feather."""
    rows = list(rows)
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    numbers, features = {}, []
    for _, row in rows:
        found = {}
        for column, cell in row.items():
            if column in categories or not _is_number(cell):
                found |= {f"{column}={cell}": 1.0} if cell else {}
            elif float(cell):
                found[column] = float(cell)
        features.append({numbers.setdefault(name, len(numbers)): x for name, x in found.items()})
    (folder / "rows.svm").write_text("".join(
        f"{label} {' '.join(f'{j + 1}:{x!r}' for j, x in sorted(found.items()))}\n"
        for (label, _), found in zip(rows, features, strict=True)
    ))  # fmt: skip
    for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
        with open(folder / f"rows.{suffix}", "w", newline="") as text:
            writer = csv.writer(text, delimiter=delimiter)
            writer.writerows([["label", *columns], *([y, *(row.get(c, "") for c in columns)] for y, row in rows)])
    arrow = {"label": [y for y, _ in rows]}
    for column in columns:
        cells = [row.get(column) or None for _, row in rows]
        as_numbers = column not in categories and all(cell is None or _is_number(cell) for cell in cells)
        arrow[column] = [cell and float(cell) for cell in cells] if as_numbers else cells
    parquet.write_table(pa.table(arrow), folder / "rows.parquet", row_group_size=1000)
    feather.write_feather(pa.table(arrow), str(folder / "rows.feather"))


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def learned(path, **how):
    with open_stream(path, multilabel=False, **how) as stream:
        features = Features() if stream.reading.named else None
        learner = StreamLearner(Learner(Settings("arow")), ClassTable(), features=features)
        margins = []
        for batch in learner.learn(stream, advise=False):
            margins.append(learner.learner.decision(batch.matrix))
    return learner.learner, np.concatenate(margins)


@pytest.mark.parametrize("name", [
    *(pytest.param(name, marks=pytest.mark.long("large data")) for name in ("a9a", "elec2", "avazu_sample")),
    "criteo_sample",
])  # fmt: skip
def test_every_format_teaches_the_same(tmp_path, name):
    rows, categories = SETS[name]
    write_all(rows(), categories, tmp_path)
    one_batch = {"chunk_bytes": 1 << 26}  # so that margins are those of the last row's model
    expected, margins = learned(tmp_path / "rows.svm", **one_batch)
    assert expected.mistakes > 0 and expected.updates > 0
    for suffix in ("csv", "tsv", "parquet", "feather"):
        how = {"vocabulary": True, "normalize": "none", "category": categories}
        learner, found = learned(tmp_path / f"rows.{suffix}", **one_batch, **how)
        assert (learner.mistakes, learner.updates) == (expected.mistakes, expected.updates), suffix
        np.testing.assert_allclose(found, margins, rtol=1e-9, atol=1e-9, err_msg=suffix)
        cut, _ = learned(tmp_path / f"rows.{suffix}", chunk_bytes=5000, **how)
        np.testing.assert_array_equal(cut.weights, learner.weights)
