"""Numbers with other marks, groups and units, dates of other forms, and other delimiters: recognized and read."""

import csv
import json
import random
import re
import shlex
import warnings
from datetime import UTC, datetime

import numpy as np
import pytest

from confidently import _core
from confidently.cli import run
from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.formats.number_forms import date_formats, number_form
from confidently.data.label_kind import label_kind
from tests.data import tables
from tests.data.tables import said
from tests.data.test_csv import named_rows

RANDOM = random.Random(3)
VALUES = [RANDOM.choice([1, -1]) * RANDOM.uniform(0, 10 ** RANDOM.randint(1, 7)) for _ in range(300)]
MARKS = [(".", ","), (",", "."), (",", " "), (".", "'"), (",", ""), (".", "_"), (",", "'"), (".", " ")]


def written(value, decimal, thousands, digits=2):
    """A number as these marks write it, by Python's own grouping."""
    return f"{value:,.{digits}f}".translate({ord(","): thousands, ord("."): decimal})


def quiet(path, **options):
    with warnings.catch_warnings(action="ignore"):
        return values_of(path, **options)


def values_of(path, **options):
    """The features of every row, by name."""
    stream = open_stream(path, normalize="none", zeros=True, vocabulary=True, **options)
    return [row for _, row in named_rows(stream)]


def table(path, cells, column="x", delimiter=",", labels=("a", "b")):
    quoted = (f'"{cell}"' if delimiter in cell else cell for cell in cells)
    lines = [f"{labels[k % 2]}{delimiter}{cell}\n" for k, cell in enumerate(quoted)]
    path.write_text(f"label{delimiter}{column}\n" + "".join(lines))
    return path


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("unit", ["", "$%s", "%s €", "%s km/h", "CHF %s", "%s%%", "%s m2"])
def test_numbers_in_any_form_are_those_numbers(marks, unit):
    form = _core.NumberFormat(decimal=marks[0], thousands=marks[1], units=bool(unit))
    for value in VALUES:
        digits = RANDOM.randint(0, 4)
        text = written(abs(value), *marks, digits)
        cell = ("-" if value < 0 else "") + (unit or "%s") % text
        found, name = form.read(cell)
        assert found == float(f"{value:.{digits}f}"), cell
        assert name.decode() == (unit.replace("%s", "").replace("%%", "%").strip() if unit else "")


@pytest.mark.parametrize("marks", MARKS)
def test_what_is_no_number_in_a_form(marks):
    form, decimal, mark = _core.NumberFormat(decimal=marks[0], thousands=marks[1]), *marks
    wrong = [
        "", "-", "a", "1a", decimal, f"1{decimal}", f"1{decimal}2{decimal}3", "--1", "+-1", "1e", "0x1F", "inf", "nan",
    ]  # fmt: skip
    if mark:
        wrong += [f"1{mark}", f"{mark}123", f"1{mark}23", f"1{mark}2345", f"1234{mark}567", f"1{mark}{mark}234"]
        wrong += [f"1{decimal}234{mark}567"]
    for text in wrong:
        assert form.read(text) is None, text
    with_unit = _core.NumberFormat(decimal=marks[0], thousands=marks[1], units=True)
    for text in ["", "km", "31/12/2025", "12:30", "10-20", "5 of 7", "1 km 2 m", "12-", "1.2.3.4"]:
        assert with_unit.read(text) is None, text


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f"])
def test_spaces_without_a_break_are_spaces(space):
    assert _core.NumberFormat(decimal=",", thousands=" ").read(f"\u22121{space}234,5") == (-1234.5, b"")
    assert _core.NumberFormat(units=True).read(f"12{space}km") == (12.0, b"km")


ASKED = [
    (["$12.34", "$7.00", "-$3.50"], "use --units x to read"),
    (["12.3 %", "7 %", "0.5 %"], "use --units x to read"),
    (["12.3 km", "7 km", "0.5 km"], "use --units x to read"),
    (["1,200", "950", "12,000", "3,400"], "use --thousands , to read them as numbers, or --decimal , if the comma is"),
    (["1.234,50 €", "9.999,00 €", "2,10 €"], "use --decimal , --thousands . --units x to read"),
    (["3/4/2025", "1/2/2025"], "use --date-format '%d/%m/%Y' or --date-format '%m/%d/%Y' to read"),
]


@pytest.mark.parametrize(("cells", "option"), ASKED)
def test_numbers_and_dates_in_other_forms_are_asked_about(tmp_path, cells, option):
    path = table(tmp_path / "rows.csv", cells * 4)
    [text] = said(path)
    assert text.startswith(f"column 'x' ({next(c for c in cells if c != '950')}): ") and option in text
    assert text.endswith("; use --category x to leave them")
    assert said(path, category="x") == said(path, drop="x") == []
    later = table(tmp_path / "later.csv", [*["word", "other", "third"] * 400, *cells])
    assert said(later) == []  # behind the rows that decide, in a column of words


DATES = [
    (["31/12/2025", "1/2/2025", "15/06/2024"], "%d/%m/%Y"), (["12/31/2025 10:30", "1/2/2025 11:00"], "%m/%d/%Y %H:%M"),
    (["31.12.25", "01.02.24"], "%d.%m.%y"), (["5 Jan 2024", "31 Dec 2023"], "%d %b %Y"), (["2024.01.05"], "%Y.%m.%d"),
    (["Mon Jan  1 07:13:00 2024", "Tue Jan 16 07:13:00 2024"], "%a %b %d %H:%M:%S %Y"),
    (["Mon, 01 Jan 2024 07:13:00 +0100", "Tue, 02 Jan 2024 07:13:00 GMT"], "%a, %d %b %Y %H:%M:%S %z"),
    (["01/Jan/2024:07:13:00 +0000"], "%d/%b/%Y:%H:%M:%S %z"),
    (["[01/Jan/2024:07:13:00 -0700]"], "[%d/%b/%Y:%H:%M:%S %z]"),
    (["Mon Jan 01 07:13:00.250000 2024"], "%a %b %d %H:%M:%S.%f %Y"),
    (["11/29/2026 2:31 PM", "1/2/2026 12:05 am"], "%m/%d/%Y %I:%M %p"),
    (["11/29/2026, 2:31:07 PM"], "%m/%d/%Y, %I:%M:%S %p"), (["2026-11-29 02:31:00 PM"], "%Y-%m-%d %I:%M:%S %p"),
    (["17/06/29 20:10:40", "17/06/30 01:10:40"], "%d/%m/%y %H:%M:%S"),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "form"), DATES)
def test_dates_in_one_form_are_read(tmp_path, cells, form):
    path = table(tmp_path / "rows.csv", cells * 4)
    [text] = said(path)
    assert text.startswith(f"column 'x': dates and times ({form}), read as the features x.time, x.hour and x.weekday; ")
    assert said(path, category="x") == []
    python = [datetime.strptime(cell.replace("GMT", "+0000"), form) for cell in cells]  # an independent reader
    with warnings.catch_warnings(action="ignore"), open_stream(path, zeros=True, normalize="none") as stream:
        [batch] = stream
    assert list(batch.new_features.names) == ["x.time", "x.hour", "x.weekday"]
    rows = np.asarray(batch.values).reshape(-1, 3)[: len(cells)]
    assert rows[:, 1].tolist() == pytest.approx(
        [t.hour + t.minute / 60 + (t.second + t.microsecond / 1e6) / 3600 for t in python]
    )
    assert rows[:, 2].tolist() == [t.isoweekday() for t in python]
    first = datetime(2000, 1, 1, tzinfo=UTC)
    years = [((t if t.tzinfo else t.replace(tzinfo=UTC)) - first).total_seconds() / (365.2425 * 86400) for t in python]
    assert rows[:, 0].tolist() == pytest.approx(years, rel=1e-12)


def test_dates_of_logs_may_begin_with_the_year(tmp_path):
    """The logs of Spark do; read as days, 17 would be the only one, of the years 2001 to 2028."""
    cells = [f"17/06/{day:02} 20:10:40" for day in range(1, 29)]
    [text] = said(table(tmp_path / "rows.csv", cells))
    assert "use --date-format '%d/%m/%y %H:%M:%S' or --date-format '%y/%m/%d %H:%M:%S' to read" in text
    assert date_formats([f"{day:02}/06/17" for day in range(1, 29)]) == ["%d/%m/%y"]


def test_forms_of_several_columns_do_not_read_each_other(tmp_path):
    """Together they are read where each cell is of the form of its column alone."""
    path = tmp_path / "rows.csv"
    path.write_text("label,a,b\n" + "x,31/12/2025,2:30 PM\ny,1/2/2025,11:00 AM\n" * 9)
    [text] = said(path)
    assert text.startswith("columns 'a', 'b': dates and times (%d/%m/%Y|%I:%M %p), read as ")
    path.write_text("label,a,b\n" + "x,31/12/2025,12/31/2025\ny,1/2/2025,2/1/2025\n" * 9)
    assert [text[:10] for text in said(path)] == ["column 'a'", "column 'b'"]
    with pytest.raises(ValueError, match="only an hour, got '%M'; use"):
        ReaderOptions(format="csv", date_format="%d/%m/%Y|%M")


@pytest.mark.parametrize("cells", [
    ["1-2", "3-4"], ["02:30", "11:00"], ["1.2.3", "1.2.4"], ["A12", "B7", "C3"],
    ["10.0.0.1", "10.0.0.2"], ["1/2", "3/4"], ["red", "blue"], ["", "NA"],
    ["2024Q1", "2024Q2"], ["1a2b", "3c4d", "5e6f7"],
])  # fmt: skip
def test_other_cells_are_not_asked_about(tmp_path, cells):
    assert said(table(tmp_path / "rows.csv", cells * 4)) == []


CLEAR = [
    (["6191,30", "12,5", "7,25"], (",", ""), "a decimal comma"),
    (["1.234,56", "12,5", "1.000.000,00"], (",", "."), "a decimal comma and points between thousands"),
    (["1 234,56", "12,5", "1 000 000,00"], (",", " "), "a decimal comma and spaces between thousands"),
    (["1'234.50", "9'999.00", "2'000.10"], (".", "'"), 'a decimal point and "\'" between thousands'),
    (["1,234.50", "9,999.00", "17.10"], (".", ","), "a decimal point and ',' between thousands"),
]


@pytest.mark.parametrize(("cells", "marks", "form"), CLEAR)
def test_numbers_in_the_only_form_that_fits_are_read(tmp_path, cells, marks, form):
    path = table(tmp_path / "rows.csv", cells * 7)
    [text] = said(path)
    assert text.startswith(
        f"column 'x' ({cells[0]}): numbers with {form}, read as such; use --category x to read every"
    )
    decimal, thousands = marks
    expected = [float(cell.replace(thousands, "").replace(decimal, ".")) for cell in cells]  # as Python reads them
    asked = quiet(path, decimal=decimal, thousands=thousands)
    assert quiet(path) == asked and [row["x"] for row in asked[:3]] == expected
    assert said(path, category="x") == said(path, decimal=decimal, thousands=thousands) == []
    assert label_kind([path], ReaderOptions(format="csv", label="x")).fraction == expected[0]


def test_one_form_is_found_for_all_columns(tmp_path):
    """As it is for a column of numbers with points, which a decimal comma would make categories of."""
    path = tmp_path / "rows.csv"
    path.write_text("label;a;b;c\n" + "x;1,200;6191,30;1.234,50 €\ny;2,300;12,5;7,00 €\n" * 5)
    first, second = said(path)
    assert first.startswith("columns 'a' (1,200), 'b' (6191,30): numbers with a decimal comma, read as such; ")
    assert "'c' (1.234,50 €): " in second and "--decimal , --thousands . --units c" in second
    path.write_text("label;a;b\n" + "x;1.5;6191,30\ny;2.5;12,5\n" * 5)
    [text] = said(path)
    assert "'b' (6191,30): numbers in a form that is not recognized" in text and "use --decimal , to read" in text
    path.write_text("label,a\n" + 'x,"1,2"\ny,"3,4"\n' * 5)  # perhaps lists
    assert "use --decimal , to read" in said(path)[0]


@pytest.mark.parametrize("marks", MARKS[:6])
def test_tables_in_another_form_are_those_in_the_plain_one(tmp_path, marks):
    decimal, thousands = marks
    plain = table(tmp_path / "plain.csv", [f"{value:.2f}" for value in VALUES])
    other = table(tmp_path / "other.csv", [written(value, *marks) for value in VALUES])
    assert quiet(other, decimal=decimal, thousands=thousands) == values_of(plain)
    with_units = table(tmp_path / "units.csv", [written(value, *marks) + " km" for value in VALUES])
    assert quiet(with_units, decimal=decimal, thousands=thousands, units="x") == values_of(plain)
    targets = {"label": "x", "targets": True, "decimal": decimal, "thousands": thousands}
    found = np.concatenate([batch.targets for batch in open_stream(other, **targets)])
    assert found.tolist() == [float(f"{value:.2f}") for value in VALUES]
    found = np.concatenate([batch.targets for batch in open_stream(with_units, units="x", **targets)])
    assert found.tolist() == [float(f"{value:.2f}") for value in VALUES]


def test_weights_have_the_same_marks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label;w;x\na;0,5;1,5\nb;2;2,5\n")
    [batch] = open_stream(path, decimal=",", weight="w")
    assert batch.weights.tolist() == [0.5, 2.0]


def test_a_number_in_another_form_behind_the_first_rows_is_an_error(tmp_path):
    plain = [str(k) for k in range(1, 1001)]
    for cell in ("1,200", "12 %", "$5", "1_000"):
        path = table(tmp_path / "rows.csv", [*plain, cell.replace(" ", "")])
        with pytest.raises(
            DataError, match=r"line 1002, column 'x': cell .* is a number in another form than those of the"
        ):
            quiet(path)
        assert quiet(path, category="x")[-1] == {f"x={cell.replace(' ', '')}": 1.0}
    with pytest.raises(DataError, match=r"line 1002.*use --decimal, --thousands or --units"):
        quiet(table(tmp_path / "rows.csv", [str(k) + ",5" for k in range(1000)] + ["1.5,5"]), decimal=",")
    words = quiet(table(tmp_path / "rows.csv", [*plain, "many"]))
    assert words[-1] == {"x=many": 1.0}


def test_numbers_among_which_others_were_said_stay_what_they_were_said_to_be(tmp_path):
    path = table(tmp_path / "rows.csv", ["1", "2", "1,200", "3"])
    [text] = said(path)
    assert "use --thousands , " in text
    with warnings.catch_warnings(action="ignore"):
        reading = open_stream(path).reading
    assert (reading.numbers, reading.mixed) == (("x",), ("x",))
    assert quiet(path)[2] == {"x=1,200": 1.0} and quiet(path, thousands=",")[2] == {"x": 1200.0}


def test_models_of_earlier_versions_read_as_they_did():
    old = ReaderOptions(format="csv", numbers=("x",), header=("x",), codes=()).as_dict()
    for name in ("mixed", "delimiter", "decimal", "thousands", "units", "unit_names", "date_format", "missing_label"):
        del old[name]
    reading = ReaderOptions.from_dict(old)
    assert reading.mixed == ("x",) and reading.delimiter is None and reading.missing_label == "error"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_columns_with_units(tmp_path, suffix):
    def write(cells):
        given = [x if x is None or suffix == "jsonl" else str(x) for x in cells]
        labels = [*"ab" * len(cells)][: len(cells)]
        return tables.write(tmp_path / f"rows.{suffix}", {"label": labels, "x": given})

    path = write(["1.5 km", "2 km", None, "3", "NA", "-4 km"])
    assert values_of(path, units="x") == [{"x": 1.5}, {"x": 2.0}, {}, {"x": 3.0}, {}, {"x": -4.0}]
    reading = open_stream(path, units="x").reading
    assert reading.unit_names == ("km",)
    place = {"jsonl": "line 2, column ", "csv": "line 3", "tsv": "line 3"}.get(suffix, "row 2")
    with pytest.raises(DataError, match=f"{place}.*cell '2 m' has another unit than 'km'"):
        values_of(write(["1 km", "2 m"]), units="x")
    with pytest.raises(DataError, match=f"{place}.*cell 'far' is not a number"):
        values_of(write(["1 km", "far"]), units="x")
    stored = ReaderOptions.from_dict(reading.as_dict())
    with pytest.raises(DataError, match="'2 m' has another unit than 'km'"):  # of the model, in further data
        list(open_stream(write(["2 m", "3 m"]), stored, ignore_labels=True, freeze=True))
    comma = write(["1.000,5 km", "2 km"])
    assert values_of(comma, units="x", decimal=",", thousands=".") == [{"x": 1000.5}, {"x": 2.0}]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_dates_of_a_form(tmp_path, suffix):
    def write(cells):
        labels = [*"ab" * len(cells)][: len(cells)]
        return tables.write(tmp_path / f"rows.{suffix}", {"label": labels, "x": cells})

    form = {"date_format": "%d/%m/%Y %I:%M %p", "dates": "x"}
    rows = values_of(write(["31/12/2025 10:30 PM", "1/2/2024 12:05 am", "", "2024-02-01T00:05"]), **form)
    plain = values_of(write(["2025-12-31T22:30", "2024-02-01T00:05", "", "2024-02-01T00:05"]), dates="x")
    assert rows == plain
    for wrong in ("31/02/2025 10:30 PM", "2025/31/12", "1738000000", "10:30 PM"):
        with pytest.raises(DataError, match=f"{wrong}' is not a date of the form '%d/%m/%Y %I:%M %p'"):
            values_of(write(["31/12/2025 10:30 PM", wrong]), **form)


def test_columns_of_dates_of_a_form_are_found(tmp_path):
    path = table(tmp_path / "rows.csv", ["31/12/2025", "", "01/02/2024"], "day")
    with warnings.catch_warnings(action="ignore"):
        assert open_stream(path, date_format="%d/%m/%Y").reading.dates == ("day",)
    with pytest.raises(DataError, match=r"no column has dates of the form '%m/%d/%Y' \(--date-format\)"):
        open_stream(path, date_format="%m/%d/%Y")


@pytest.mark.long("a training for each name and form")
@pytest.mark.parametrize("name", ["x", "wait (min)", "a, b", "it's", 'size "all"', "Größe"])
@pytest.mark.parametrize("form", ["{},5", "{} km", "28/02/{}", "some words that are many, number {}"])
def test_what_a_warning_tells_to_type_is_understood(tmp_path, name, form):
    """By a shell, and by the options: with it, the warning is gone."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.cw"
    with open(path, "w", newline="") as file:
        cells = [["ab"[k % 2], form.format(1900 + k)] for k in range(120)]
        csv.writer(file, delimiter=";").writerows([["label", name], *cells])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        [_] = open_stream(path)
    [text] = [str(one.message) for one in told]
    for remedy in re.findall(r"(--[a-z].*?) to (?:read|leave)", text):
        options = shlex.split(remedy)
        with warnings.catch_warnings(record=True) as now:
            warnings.simplefilter("always")
            assert run(["train", str(path), "--rule=arow", *options, "-q", "-o", str(model)]) == 0, remedy
        assert text not in [str(one.message) for one in now]


DELIMITED = [
    ("label;x;y\na;1;2\nb;3;4\n", ";"), ("label\tx\ty\na\t1\t2\nb\t3\t4\n", "\t"),
    ('label\tx\ty\na\t"1"\t2\nb\t\t"4"\n', "\t"), ("label|x|y\na|1|2\nb|3|4\n", "|"),
    ("label,x;y\na,1;2\nb,3;4\n", ","), ("label;x, all;y\na;1,5;2\nb;3,5;4\n", ";"), ("label;x\na;1,5\nb;2,5\n", ";"),
    ('"label";"x;y"\n"a";"1;2"\n"b";"3"\n', ";"), ("label,text\na,one; two; three\nb,four|five\n", ","),
    ("\n\nlabel;x\n\na;1\nb;2\n", ";"), ("\ufefflabel;x\r\na;1\r\nb;2\r\n", ";"), ("label\na\nb\n", ","),
]  # fmt: skip


@pytest.mark.parametrize(("text", "mark"), DELIMITED)
def test_the_delimiter_is_found(tmp_path, text, mark):
    (tmp_path / "rows.csv").write_bytes(text.encode())
    with warnings.catch_warnings(action="ignore"):
        reading = open_stream(tmp_path / "rows.csv").reading
    assert reading.delimiter == mark
    if mark != "," and '"' not in text and "," not in text:
        rows = quiet(tmp_path / "rows.csv")
        (tmp_path / "commas.csv").write_bytes(text.replace(mark, ",").encode())
        assert rows == quiet(tmp_path / "commas.csv")


def test_empty_quoted_and_other_cells_between_tabs(tmp_path):
    (tmp_path / "rows.csv").write_text('label\tx\ty\na\t"1"\t2\nb\t\t"4"\nb\t\t\nc\t"p\tq"\t\n')
    assert quiet(tmp_path / "rows.csv")[1:] == [{"y": 4.0}, {}, {"x=p\tq": 1.0}]


def test_a_delimiter_is_that_of_all_files(tmp_path):
    first, second = table(tmp_path / "1.csv", ["1", "2"], delimiter=";"), table(tmp_path / "2.csv", ["1", "2"])
    with pytest.raises(DataError, match=r"2.csv has no column 'label'.* use --delimiter ','\)"):
        quiet([first, second])
    assert len(quiet([first, table(tmp_path / "3.csv", ["3"], delimiter=";")])) == 3


WRONG = [
    ({"format": "jsonl", "delimiter": ";"}, "delimiter is for csv and tsv; jsonl has no cells"),
    ({"format": "csv", "delimiter": "e"}, "delimiter must be one of"),
    ({"format": "csv", "delimiter": ";;"}, "delimiter must be one of"),
    ({"format": "csv", "decimal": "x"}, "unknown decimal 'x'; expected one of '.', ','"),
    ({"format": "csv", "thousands": "x"}, "unknown thousands 'x'"),
    ({"format": "csv", "thousands": "."}, "decimal and thousands must differ"),
    ({"format": "parquet", "decimal": ","}, "decimal is for csv and tsv, and for columns that units names"),
    ({"format": "svmlight", "units": "x"}, "units is for formats with named columns"),
    ({"format": "jsonl", "date_format": "%d/%m/%Y"}, "date_format is for columns of dates; in jsonl, name them"),
    ({"format": "csv", "date_format": "%d/%q/%Y"}, "date_format: unknown %q in '%d/%q/%Y'; expected one of %d, %m"),
    (
        {"format": "csv", "date_format": "dd/mm/yyyy"},
        "date_format needs a day and a month, or only an hour, got 'dd/mm/yyyy'",
    ),
]


@pytest.mark.parametrize(("options", "problem"), WRONG)
def test_what_does_not_fit_together_is_refused(options, problem):
    with pytest.raises(ValueError, match=problem):
        ReaderOptions(**options)


def test_forms_of_no_cells():
    assert number_form([]) is None and date_formats([]) == []


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_texts_of_columns_of_numbers_are_cells_in_objects(tmp_path):
    """What ``csv.DictReader`` makes of a table is read as the table: numbers, missing ones, words, other uses."""
    path, objects = tmp_path / "rows.csv", tmp_path / "rows.jsonl"

    def cells(k):
        number = f"{k // 7}.{k * 37 % 1000:03},{k % 10}" if k % 3 else f" {k},5 "
        word = {0: "unknown", 1: "NA", 2: ""}.get(k % 11, f"{k}")
        mixed = "1 kg" if k % 9 == 0 else f"{k}"
        day = f"{k % 28 + 1}/1/2024"
        return ["ab"[k % 2], f"{k},5 km", number, word, mixed, f"A{k}", f"{k}", f"{k}", f"{k} {k}", day]

    names = ["label", "unit", "number", "word", "mixed", "code", "category", "drop", "text", "day"]
    with open(path, "w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([names, *map(cells, range(300))])
    stream = open_stream(
        path, decimal=",", thousands=".", units="unit", category="category", drop="drop", text="text",
        date_format="%d/%m/%Y", normalize="none",
    )  # fmt: skip
    reading, rows = stream.reading.of_objects(), named_rows(stream)
    assert {"number", "word"} <= set(reading.numbers) and (reading.decimal, reading.delimiter) == (",", None)
    assert ReaderOptions(format="csv", decimal=",", delimiter=";").of_objects().decimal == "."
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file, delimiter=";"))
    for given in (lines, [line | {"number": None if k < 9 else line["number"]} for k, line in enumerate(lines)]):
        objects.write_text("".join(json.dumps(line) + "\n" for line in given))
        found = named_rows(open_stream(objects, reading))
        for k, ((_, row), (_, other)) in enumerate(zip(rows, found, strict=True)):
            assert {name: x for name, x in row.items() if given is lines or k >= 9 or name != "number"} == other
    for cell in ("1_000", "5 %", "inf"):
        last = [*cells(300)[:2], cell, *cells(300)[3:]]
        objects.write_text(json.dumps(dict(zip(names, last, strict=True))) + "\n")
        path.write_text("\n".join(map(";".join, [names, last])) + "\n")
        told = []
        for source, how in ((path, stream.reading), (objects, reading)):
            with pytest.raises(DataError) as error:
                list(open_stream(source, how))
            told.append(str(error.value).split(": ", 1)[1])
        assert told[0] == told[1] and told[0].startswith(f"cell '{cell}' is ")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(("form", "option"), [
    ("${}.50", "use --units x to read them as numbers"), ("{},5", "use --decimal , --units x to read them as numbers"),
    ("1,{:03}", "use --thousands , --units x to read"), ("{} km", "use --units x to read them as numbers"),
    ("{}", None), ("a{}", None),
])  # fmt: skip
def test_strings_with_numbers_and_dates_are_asked_about(tmp_path, suffix, form, option):
    cells = [form.format(1900 + k if "/" in form else k) for k in range(1, 121)]
    path = tables.write(tmp_path / f"rows.{suffix}", {"label": ["a", "b"] * 60, "x": cells})
    texts = said(path, multilabel=False)
    if option is None:
        assert texts == []
    else:
        assert (
            len(texts) == 1 and option in texts[0] and texts[0].startswith(f"column 'x' ({cells[0]}) has 120 different")
        )
        assert said(path, multilabel=False, category="x") == []
