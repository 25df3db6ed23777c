"""Dates and times become numbers: against Python's datetime, and alike in every format of tables."""

import datetime as dt
import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confidently.data import DataError, DataWarning, ReaderOptions, open_stream
from confidently.data.reading import DATE_PARTS
from tests.data.tables import write
from tests.data.test_csv import named_rows

BEGINNING, YEAR = dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.timedelta(days=365.2425)


def read(path, **options):
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        return [row for _, row in named_rows(open_stream(path, **{"vocabulary": True, "normalize": "none"} | options))]


def features_slowly(moment, column="when"):
    """The features of a moment, by Python's datetime."""
    utc = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    values = (
        (utc - BEGINNING) / YEAR, (moment - midnight) / dt.timedelta(hours=1), moment.isoweekday(),
    )  # fmt: skip
    return {f"{column}.{part}": value for part, value in zip(DATE_PARTS, values, strict=True) if value}


def written(tmp_path, cells, name="rows.csv"):
    file = tmp_path / name
    file.write_text("label,when\n" + "".join(f"a,{cell}\n" for cell in cells))
    return file


zones = st.none() | st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
moments = st.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29), timezones=zones)


@given(st.lists(moments, min_size=1, max_size=5), st.sampled_from("T "), st.sampled_from(["auto", "minutes"]))
def test_text_becomes_what_datetime_says(tmp_path_factory, moments, between, digits):
    text = [moment.isoformat(between, digits) for moment in moments]
    found = read(written(tmp_path_factory.mktemp("dates"), text))
    for row, cell in zip(found, text, strict=True):
        expected = features_slowly(dt.datetime.fromisoformat(cell))
        assert row.keys() == expected.keys()
        assert all(math.isclose(row[name], expected[name], rel_tol=1e-14, abs_tol=1e-9) for name in row)


@pytest.mark.parametrize("text, expected", [
    ("2024-02-29", "2024-02-29"), ("20240229", "2024-02-29"), ("20240229T1030", "2024-02-29T10:30"),
    ('"2024-02-29T10:30:15,25"', "2024-02-29T10:30:15.25"), ("2024-02-29t10:30z", "2024-02-29T10:30+00:00"),
    ("2024-02-29 10:30-0530", "2024-02-29T10:30-05:30"), ("2024-02-29 10:30+02", "2024-02-29T10:30+02:00"),
    ("20240229T103015.5", "2024-02-29T10:30:15.5"), ("1709202615", "2024-02-29T10:30:15"),
    ("1709202615000", "2024-02-29T10:30:15"), ("1709202615.5", "2024-02-29T10:30:15.5"),
    ("1709202615000000000", "2024-02-29T10:30:15"), ("-1", "1969-12-31T23:59:59"), (" 2024-02-29 ", "2024-02-29"),
    ("2024/02/29", "2024-02-29"), ("2024/02/29 10:30", "2024-02-29T10:30"),
])  # fmt: skip
def test_other_forms_of_dates(tmp_path, text, expected):
    [row] = read(written(tmp_path, [text]), dates="when")
    assert row == pytest.approx(features_slowly(dt.datetime.fromisoformat(expected)))


@pytest.mark.parametrize("text, hour", [("10:30", 10.5), ("10:30:36", 10.51), ("23:59:60", 24.0), ("06:00+02:00", 6.0)])
def test_a_time_without_a_date_has_an_hour_only(tmp_path, text, hour):
    assert read(written(tmp_path, [text, "2024-01-01"]), dates="when")[0] == {"when.hour": hour}


@pytest.mark.parametrize("text", [
    "2023-02-29", "2024-13-01", "2024-01-32", "2024-1-", "01/05/2024", "2024-01-05T", "2024-01-05T25:00", "24-01-05",
    "2024-01-05T10:60", "2024-01-05T10:30:", "2024-01-05T10:30:15.", "2024-01-05T10:30+", "2024-01-05T10:30+2:00",
    "2024-01-05T10:30+02:", "2024-01-05x10:30", "2024-01", "1030", "10:3", "2024-01-05 ten", "2024-0105", "202401-05",
    "2024/01-05", "2024-01/05", "2024/1/", "2024.01.05", "2024/0105",
])  # fmt: skip
def test_what_is_no_date_is_a_category(tmp_path, text):
    if text == "1030":  # seconds since 1970, unless behind a date
        text = "T1030"
    assert read(written(tmp_path, [text, "2024-01-01"]), dates="when")[0] == {f"when={text}": 1.0}


@pytest.mark.parametrize("cells, dates", [
    (["2024-01-05", "", "NA", "2024-01-05T10:30"], True), (["2024-01-05", "5"], False), (["2024-01-05", "x"], False),
    (["2024/01/05", "2024-01-05"], True), (["10:30", "11:30"], False),
    (["20240105", "20240106"], False), (["", "nan"], False),
])  # fmt: skip
def test_which_columns_of_csv_hold_dates(tmp_path, cells, dates):
    file = written(tmp_path, cells)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        reading = open_stream(file).reading
    assert (reading.dates, reading.header) == (("when",) if dates else (), ("when",))
    said = "column 'when': dates and times, read as the features when.time, when.hour and when.weekday; use --category"
    others = [text for one in found if not (text := str(one.message)).startswith(said)]
    assert len(found) - len(others) == dates and all("dates and other cells" in text for text in others)
    assert reading.codes == ()
    for options in ({"category": "when"}, {"codes": ()}, {"drop": "when"}):
        assert open_stream(file, **options).reading.dates == ()


def test_a_date_in_a_column_of_dates_may_be_missing_or_malformed_later(tmp_path):
    rows = read(written(tmp_path, ["2024-01-05"] * 1001 + ["?", "null", "soon"]))
    assert rows[1001:] == [{}, {}, {"when=soon": 1.0}]


def test_a_column_named_as_dates_must_have_one(tmp_path):
    problem = "column 'when' has no dates in its first rows, got '01/05/2024'; expected ISO 8601, such as 2024-01-31"
    with pytest.raises(DataError, match=problem):
        open_stream(written(tmp_path, ["NA", "01/05/2024"]), dates="when")
    assert read(written(tmp_path, ["NA", ""]), dates="when") == [{}, {}]
    with pytest.raises(ValueError, match="dates is for formats with named columns"):
        ReaderOptions(format="svmlight", dates="when")


PARTS = [
    ({"category": ["when.hour", "when.weekday"]}, ["when.time", "when.hour=22", "when.weekday=5", "n"]),
    ({"drop": "when.time"}, ["when.hour", "when.weekday", "n"]), ({"only": ["when.hour", "n"]}, ["when.hour", "n"]),
    ({"only": "when"}, ["when.time", "when.hour", "when.weekday"]), ({"drop": "when"}, ["n"]),
]  # fmt: skip
FORMATS = ("csv", "tsv", "jsonl", "parquet", "feather")


def write_all(folder, moments):
    pa = pytest.importorskip("pyarrow")
    columns = {"label": ["a"] * len(moments), "when": moments, "n": [1.5 * k for k in range(len(moments))]}
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), folder / "rows.parquet", row_group_size=2)
    write(folder / "rows.feather", columns)
    for suffix in ("csv", "tsv", "jsonl"):
        text = [moment and moment.isoformat() for moment in moments]
        write(folder / f"rows.{suffix}", columns | {"when": text})


MOMENTS = [
    dt.datetime(2024, 1, 5, 22, 10, 31, 123457), None, dt.datetime(1969, 12, 31, 23, 59, 59, 1),
    dt.datetime(2024, 7, 1), dt.datetime(1900, 2, 28, 6),
]  # fmt: skip


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("zone", [None, dt.UTC, dt.timezone(dt.timedelta(hours=-5, minutes=-30))])
def test_every_format_reads_the_same_numbers(tmp_path, zone, zeros):
    write_all(tmp_path, [moment and moment.replace(tzinfo=zone) for moment in MOMENTS])
    rows = [read(tmp_path / f"rows.{suffix}", dates="when", zeros=zeros) for suffix in FORMATS]
    assert [list(row) for row in rows[0]] == [list(row) for row in rows[-1]]
    assert rows == [rows[0]] * len(FORMATS)
    assert rows[0][1] == {"n": 1.5} and len(rows[0][0]) == 3 + zeros


@pytest.mark.parametrize("options, names", PARTS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_the_features_of_dates_can_be_chosen(tmp_path, suffix, options, names):
    write_all(tmp_path, MOMENTS)
    asked = {} if options.get("drop") == "when" else {"dates": "when"}
    first = read(tmp_path / f"rows.{suffix}", zeros=True, **options, **asked)[0]
    assert list(first) == names


@pytest.mark.parametrize("kind, text", [
    ("date32", "2024-01-05"), ("date64", "2024-01-05"), ("timestamp[s]", "2024-01-05 22:10:31"),
    ("timestamp[ms]", "2024-01-05 22:10:31.123"), ("timestamp[us]", "2024-01-05 22:10:31.123457"),
    ("timestamp[ns]", "2024-01-05 22:10:31.123457"), ("time32[s]", "22:10:31"), ("time64[us]", "22:10:31.123457"),
    ("string", "2024-01-05 22:10:31"), ("int64", "1704492631"), ("double", "1704492631.5"),
])  # fmt: skip
def test_types_of_arrow(tmp_path, kind, text):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    types = {f"timestamp[{unit}]": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")}
    types |= {"date32": pa.date32(), "date64": pa.date64(), "double": pa.float64(), "int64": pa.int64()}
    types |= {"time32[s]": pa.time32("s"), "time64[us]": pa.time64("us")}
    cells = [dt.time.fromisoformat(text) if text[2] == ":" else text, None] * 2
    column = pa.array(cells) if text[2] == ":" or kind == "string" else pa.array(cells).cast(types[kind])
    column = column.cast(types.get(kind, pa.string())).slice(2)
    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"label": ["a"] * 2, "when": column}), file)
    asked = {"dates": "when"} if kind in ("string", "int64", "double") else {}
    expected = read(written(tmp_path, [text, ""]), dates="when")
    assert read(file, **asked) == expected and expected[0]
    assert expected[1] == {}
