"""Rows read as they are become what other options read."""

import numpy as np
import pytest

from confidently.data import ReaderOptions, open_stream
from confidently.evaluation.comparison import as_read

ROWS = {
    "csv": "a,b,town,y\n1.5,0,Rom,x\n-2,1e-3,Bonn,z\n0,0,,x\n,7,Rom,z\n",
    "text": "x\tred red blue\nz\tgreen\nx\t\nz\tblue green red\n",
    "vw": "1 | a:3 b:0.1 c\n-1 |n a:1e5 |m b:-2\n1 |\n",
    "svmlight": "1 1:3 4:0.5\n-1 2:0 3:7\n1\n",
}


@pytest.mark.parametrize("normalize", ["l2", "none"])
@pytest.mark.parametrize("kind", ROWS)
def test_rows_are_those_that_the_options_read(kind, normalize, tmp_path):
    path = tmp_path / "rows"
    path.write_text(ROWS[kind])
    label = {"label": "y"} if kind == "csv" else {}
    zeros = {"zeros": True} if kind == "csv" else {}
    reading = ReaderOptions(format=kind, normalize=normalize, **label)
    with open_stream(path, reading) as stream:
        (expected,) = stream
    with open_stream(path, ReaderOptions(format=kind, normalize="none", **label, **zeros)) as stream:
        (found,) = (as_read(batch, reading) for batch in stream)
    assert np.array_equal(found.start, expected.start)
    assert (found.labels.tolist(), found.new_labels) == (expected.labels.tolist(), expected.new_labels)
    for row in range(len(expected)):
        ours, theirs = (dict(named(batch, row)) for batch in (found, expected))
        assert ours == pytest.approx(theirs, rel=1e-15, abs=0.0)


def named(batch, row):
    """Yield name, or number, and value of the entries of a row."""
    names = None if batch.new_features is None else list(batch.new_features.names)
    for k in range(batch.start[row], batch.start[row + 1]):
        yield batch.columns[k] if names is None else names[batch.columns[k]], batch.values[k]
