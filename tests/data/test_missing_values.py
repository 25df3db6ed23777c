"""What tables write for a missing number is missing, and what hexadecimal numbers are taken for is said once."""

import warnings

import pytest

from confidently.data import DataWarning, open_stream
from tests.command_line import here
from tests.data.tables import said, write
from tests.data.test_csv import read, written

TOKENS = [
    "?", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "Null", "\\N", "None", "none", "nan", "NaN", "",
]  # fmt: skip


def table(cells, column="x"):
    return f"label,{column}\n" + "".join(f"a,{cell}\n" for cell in cells)


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
@pytest.mark.parametrize("token", TOKENS)
def test_among_numbers_they_are_missing(tmp_path, token):
    rows = read(written(tmp_path, table(["1", token, "2", "x", "5", token])))
    assert [row for _, row in rows] == [{"x": 1.0}, {}, {"x": 2.0}, {"x=x": 1.0}, {"x": 5.0}, {}]


@pytest.mark.parametrize("token", ["?", "NA", "n/a", "None"])
def test_among_categories_they_are_categories(tmp_path, token):
    for cells in (["a", token, "b"], ["1", token, "a", "b"], [token, token, token], ["1", token, "x"]):
        file = written(tmp_path, table(cells))
        assert said(file) == []
        assert [row for _, row in read(file)][1] == {f"x={token}": 1.0}
    for options in ({"category": "x"}, {"codes": ()}):
        file = written(tmp_path, table(["1", token, "2"]))
        assert said(file, **options) == []
        assert [row for _, row in read(file, **options)][1] == {f"x={token}": 1.0}


def test_they_are_missing_in_later_rows_too_and_said_once(tmp_path):
    file = written(tmp_path, table(["1"] * 1000 + ["NA"]))
    assert said(file) == []
    assert read(file)[-1] == (["a"], {})
    file = written(tmp_path, table(["?"] + ["1"] * 3 + ["NA"]))
    text = (
        "column 'x' (?): among numbers, ?, NA, N/A, NULL, \\N, None and NaN in any case are missing values, as empty "
        "cells are; use --category x to read every value as a category"
    )
    assert said(file) == [text]
    out = here("train", file, "--rule=arow", "-o", tmp_path / "m.cw")
    assert out.stderr.count("missing values") == 1


def test_hexadecimal_numbers_are_said(tmp_path):
    file = written(tmp_path, table(["1", "0x1F", "2"]))
    text = "column 'x' (0x1F): numbers with separators and hexadecimal ones are read as categories; write them with "
    assert said(file) == [f"{text}digits and a decimal point only"]
    assert read_quietly(file)[1] == {"x=0x1F": 1.0}


def read_quietly(path):
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        return [row for _, row in read(path)]


def test_models_of_earlier_versions_read_as_they_did(tmp_path):
    """They have no list of columns of numbers or dates, and know the cells as categories."""
    file = written(tmp_path, "label,x,when\n" + "a,1,2024-01-05\nb,NA,2024-01-06\n" * 3)
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        reading = open_stream(file).reading
    assert (reading.numbers, reading.dates) == (("x",), ("when",))
    old = {name: value for name, value in reading.as_dict().items() if name not in ("numbers", "dates", "header")}
    stream = open_stream(file, type(reading).from_dict(old), vocabulary=True)
    assert [name for batch in stream for name in batch.new_features.names] == [
        "x", "when=2024-01-05", "x=NA", "when=2024-01-06",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_dates_in_strings_are_said(tmp_path, suffix):
    days = [f"2024-01-{day:02}" for day in range(1, 31)] * 5
    file = write(tmp_path / f"rows.{suffix}", {"label": ["a"] * 150, "when": days})
    text = (
        "column 'when': dates and times, read as the features when.time, when.hour and when.weekday; use --category "
        "when to read every value as a category"
    )
    assert said(file) == [text]
    assert said(file, dates="when") == said(file, category="when") == []


def test_dates_one_after_the_other_are_no_ids(tmp_path):
    import datetime

    first = datetime.date(2020, 1, 1)
    lines = [f"{'ab'[k % 2]},{first + datetime.timedelta(days=k)},{k % 7}" for k in range(400)]
    out = here("train", written(tmp_path, "label,when,n\n" + "\n".join(lines)), "--rule=arow", "-o", tmp_path / "m.cw")
    assert "an id" not in out.stderr and out.stderr.count("dates and times") == 1


def test_a_number_that_looks_like_a_timestamp_can_be_read_as_a_date(tmp_path):
    lines = [f"{'ab'[k % 2]},{1_700_000_000 + 977 * k},{k % 7}" for k in range(400)]
    file = written(tmp_path, "label,when,n\n" + "\n".join(lines))
    out = here("train", file, "--rule=arow", "-o", tmp_path / "m.cw")
    assert "leave it out with --drop, or read it as dates with --dates" in out.stderr
    out = here("train", file, "--rule=arow", "-o", tmp_path / "m.cw", "--dates", "when", "--json")
    assert "timestamp" not in out.stderr and '"features": 4' in out.stdout
