"""The text of predictions that compiled code makes is that of Python's patterns."""

import io
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confidently import _core
from confidently.cli.output.predictions import Abstained, Column, Named
from confidently.cli.output.writers import Csv, Lines, Tsv


@pytest.mark.long("150 lists of numbers")
@given(st.lists(st.floats(), max_size=20))
@example([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308])
@example([1e-5, 0.0001, 0.00012345678951, 123456789.5, 999999999.5, 1e9, 0.1 + 0.2, 2.5, 1 - 1e-16, 1 - 1e-9, 1e16])
@settings(max_examples=150)
def test_numbers_are_those_of_the_pattern(numbers):
    expected = "".join(f"{x:.9g}\n" for x in numbers)
    assert _core.table_text([np.array(numbers, dtype=np.float64)], ",") == expected


@pytest.mark.parametrize("kind", [Tsv, Csv])
@pytest.mark.parametrize("names", [["a", "b c", 'd"e\tf,g', None], [-1, 1, 22, 3], ["é", "日本", "x\ny", "%s"]])
def test_lines_are_those_of_the_pattern(kind, names):
    chance = np.random.default_rng(0)
    columns = [Column("class", None, "class"), Column("proba", "a", "number"), Column("margin", None, "number")]
    numbers = chance.integers(0, len(names) + 1, 50)
    table = chance.random((50, 2), dtype=np.float32)  # columns of it are not contiguous
    values = [Named(numbers, [*names, Abstained([])]), table[:, 0], table[:, 1]]
    file = io.StringIO()
    writer = kind(file, columns)
    writer.write(values)
    header = writer.separator.join(column.header for column in columns) + "\n"
    assert file.getvalue() == header + Lines._text(writer, [list(values[0]), *values[1:]])


def test_named_rows_are_a_sequence():
    withheld = Abstained(["a", "b"])
    named = Named(np.array([1, 0, 2]), ["a", "b", withheld])
    assert list(named) == [named[0], named[1], named[2]] == ["b", "a", withheld] and len(named) == 3


def test_names_that_are_not_utf8_are_refused_as_before():
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        Tsv(file, [Column("class", None, "class")]).write([Named(np.array([0]), ["\ud800"])])
