"""CSV and TSV against Python's csv module and a slow twin of what cells become, cut anywhere."""

import csv
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from confidently.data import DataError, open_stream
from confidently.data.warning import DataWarning

MISSING = (
    "?", "na", "n/a", "#n/a", "<na>", "n.a.", "null", "none", "-", "--", ".", "missing", "unknown", "unavailable",
)  # fmt: skip
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def named_rows(stream):
    """Labels and {feature: value} of every row."""
    labels, names, rows = [], [], []
    for batch in stream:
        labels += [label.name for label in batch.new_labels]
        names += list(batch.new_features.names) if batch.new_features else []
        starts = batch.label_start
        for i in range(len(batch)):
            entries = slice(batch.start[i], batch.start[i + 1])
            of_row = batch.labels[i : i + 1] if starts is None else batch.labels[starts[i] : starts[i + 1]]
            values = batch.values[entries].tolist()
            row = {names[k]: x for k, x in zip(batch.columns[entries], values, strict=True)}
            assert len(row) == len(values)
            rows.append(([labels[k] for k in of_row] if batch.targets is None else [], row))
    return rows


def read(path, **options):
    return named_rows(open_stream(path, **{"vocabulary": True, "normalize": "none", **options}))


def features_slowly(row, category=(), text=(), numbers=()):
    features = {}
    for column, written in row.items():
        cell = written.strip(" \t\r")
        if column in text:
            for word in re.findall(r"\w+", written.lower()):
                features[f"{column}:{word}"] = features.get(f"{column}:{word}", 0.0) + 1.0
        elif column not in category and NUMBER.fullmatch(cell):
            if float(cell):
                features[column] = float(cell)
        elif column in numbers and cell.lower() in MISSING:
            pass
        elif cell and (column in category or cell.lower().lstrip("+-") != "nan"):
            features[f"{column}={cell}"] = 1.0
    return features


def kinds_slowly(rows, columns):
    """Columns of codes, at least half of whose first 1,000 cells are no numbers, three of these different; of numbers,
    which more than half are."""
    codes, numbers = [], []
    for column in columns:
        cells = [row[column].strip(" \t\r") for row in rows[:1000]]
        cells = [cell for cell in cells if cell and cell.lower().lstrip("+-") != "nan"]
        cells = [cell for cell in cells if cell.lower() not in MISSING]
        others = [cell for cell in cells if not NUMBER.fullmatch(cell)]
        if 2 * len(others) >= len(cells) and len(set(others)) >= 3:
            codes.append(column)
        if 2 * len(others) < len(cells):
            numbers.append(column)
    return codes, numbers


numbers = st.one_of(st.floats(-1e100, 1e100).map(repr), st.integers(-1000, 1000).map(str))
odd_cells = [
    "", " ", "0", "-0.0", "nan", "NaN", " 5 ", "1e3", "1_000", "0x1", "-", ".", "1.", ".5", "a=b", "ß:1", "007", "NA",
    "?", "n/a",
]  # fmt: skip
cells = numbers | st.sampled_from(odd_cells) | st.text(' abc",\n\t;ÄΩé', max_size=6)
cells = cells.filter(lambda cell: cell.strip(" \t\r").lower().lstrip("+-") not in ("inf", "infinity"))
tables = st.lists(st.tuples(st.sampled_from(["1", "-1", "b"]), cells, cells, cells), min_size=1, max_size=12)


@given(tables, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from([1, 3, 17, 1 << 20]))
@example([("1", '"', '""', ',"\n"')], "\r\n", False, 1)
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_reads_as_the_csv_module_wherever_the_text_is_cut(tmp_path_factory, rows, end, quote_all, chunk_bytes):
    file = tmp_path_factory.mktemp("csv") / "rows.csv"
    with open(file, "w", newline="", encoding="utf-8") as out:
        quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
        csv.writer(out, lineterminator=end, quoting=quoting).writerows([("label", "a", "b", "c d"), *rows])
    with open(file, newline="", encoding="utf-8") as text:
        written = list(csv.DictReader(text))
    codes, numbers = kinds_slowly(written, "a")
    expected = [
        ([int(y) if y != "b" else y], features_slowly(row, ["b", *codes], ["c d"], numbers))
        for row in written
        for y in [row.pop("label")]
    ]
    assert read(file, category="b", text="c d", chunk_bytes=chunk_bytes) == expected


def written(tmp_path, text, name="rows.csv"):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


CODES = ["9e1", "a5", "77", "b0", "a5", "c1"]


@pytest.mark.long("thousands of rows byte by byte")
@pytest.mark.few(1)
@pytest.mark.parametrize("chunk_bytes", [1, 100, 1 << 20])
@pytest.mark.parametrize("header", [True, False])
def test_columns_of_codes_are_categories_throughout(tmp_path, chunk_bytes, header):
    lines = [f"1,{code},5\n" for code in CODES * 200]
    lines[7] = "0,5\n"  # an invalid row does not keep the others from being read
    lines.insert(1001, "0,85751e34,NA\n")
    text = "".join(["label,code,n\n", *lines] if header else lines)
    columns = {} if header else {"columns": ["label", "code", "n"]}
    with open_stream(written(tmp_path, text), on_error="skip", chunk_bytes=chunk_bytes, **columns) as stream:
        assert (stream.reading.codes, stream.reading.numbers) == (("code",), ("n",))
    rows = read(written(tmp_path, text), on_error="skip", chunk_bytes=chunk_bytes, **columns)
    assert rows[0] == ([1], {"code=9e1": 1.0, "n": 5.0}) and rows[2] == ([1], {"code=77": 1.0, "n": 5.0})
    assert ([0], {"code=85751e34": 1.0}) in rows
    rows = read(written(tmp_path, text), on_error="skip", chunk_bytes=chunk_bytes, codes=(), **columns)
    assert rows[0] == ([1], {"code": 90.0, "n": 5.0}) and rows[1] == ([1], {"code=a5": 1.0, "n": 5.0})


@pytest.mark.parametrize("cells, codes", [
    (["1", "x", "y", "z"], True), (["1", "x", "y", "y"], False), (["1", "2", "3", "4", "x", "y", "z"], False),
    (["1", "2", "3", "x", "y", "z"], True), (["x", "y", "z"], True), (["x", "y", "nan"], False), (["", "1"], False),
])  # fmt: skip
def test_what_a_column_of_codes_is(tmp_path, cells, codes):
    file = written(tmp_path, "label,c\n" + "".join(f"1,{cell}\n" for cell in cells))
    assert open_stream(file).reading.codes == (("c",) if codes else ())


def test_rows_beyond_the_first_thousand_do_not_tell_codes(tmp_path):
    lines = ["1,5"] * 600 + [f"1,x{k}" for k in range(800)]
    assert open_stream(written(tmp_path, "\n".join(["label,c", *lines]))).reading.codes == ()
    assert open_stream(written(tmp_path, "\n".join(["label,c", *lines[201:]]))).reading.codes == ("c",)


def test_types_of_other_columns_are_not_guessed_from_the_first_rows(tmp_path):
    file = written(tmp_path, "label,x\n" + "1,5\n" * 3000 + "0,red\n0,5\n")
    with pytest.warns(DataWarning, match=r"column 'x' \(red\): categories among numbers or dates; use --category x"):
        rows = read(file, chunk_bytes=100)
    assert rows[0] == ([1], {"x": 5.0}) and rows[-2:] == [([0], {"x=red": 1.0}), ([0], {"x": 5.0})]


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_cells_of_tsv_are_what_stands_between_the_tabs(tmp_path):
    file = written(tmp_path, 'label\tt\tn\r\nx\t"a, b\t1\r\ny\ta""\t"\n', "rows.tsv")
    assert read(file, keep=["t"]) == [(["x"], {'t="a, b': 1.0, "n": 1.0}), (["y"], {'t=a""': 1.0, 'n="': 1.0})]


def test_columns_by_their_roles(tmp_path):
    file = written(tmp_path, "y,w,a,b,c.d\nyes,2,1,2,3\nno,1,4,5,6\n")
    [batch] = open_stream(file, label="y", weight="w", drop=["a"], category="c", keep=["a", "y"], normalize="none")
    assert batch.weights.tolist() == [2, 1] and list(batch.new_features.names) == ["b", "c.d=3", "c.d=6"]
    assert {name: list(kept) for name, kept in batch.kept.items()} == {"a": ["1", "4"], "y": ["yes", "no"]}
    [batch] = open_stream(file, label="y", weight="w", drop=["a", "c"], ignore_labels=True)
    assert batch.weights is None and list(batch.new_features.names) == ["b"] and len(batch.labels) == 0


def test_sets_of_labels_are_split_at_commas(tmp_path):
    file = written(tmp_path, 'label,x\n"a, b",1\n,2\nc,3\n')
    assert read(file, multilabel=True) == [(["a", "b"], {"x": 1.0}), ([], {"x": 2.0}), (["c"], {"x": 3.0})]
    file = written(tmp_path, 'label,x\n"a, b",1\nc,3\n')
    assert [label for label, _ in read(file, multilabel=False)] == [["a, b"], ["c"]]
    with pytest.warns(DataWarning, match="a label with commas, such as 'a, b', is one class; use --multilabel if"):
        assert [label for label, _ in read(file)] == [["a, b"], ["c"]]
    file = written(tmp_path, 'label,x\n"a, b",1\nb,3\na,2\n')  # few labels in many ways
    assert [label for label, _ in read(file)] == [["a", "b"], ["b"], ["a"]]


def test_files_without_a_header_line(tmp_path):
    file = written(tmp_path, b"\xef\xbb\xbf1\t2\tred\n0\t\tblue", "rows.tsv")
    expected = [([1], {"n": 2.0, "c=red": 1.0}), ([0], {"c=blue": 1.0})]
    for size in (1, 100):
        assert read(file, columns=["label", "n", "c"], chunk_bytes=size) == expected


def test_several_files_may_order_their_columns_differently(tmp_path):
    first, second = written(tmp_path, "label,a,b\n1,2,3\n", "1.csv"), written(tmp_path, "b,label,a\n4,0,5", "2.csv")
    assert read([first, second]) == [([1], {"a": 2.0, "b": 3.0}), ([0], {"a": 5.0, "b": 4.0})]


HEADER = "label,x,w\n1,1,1\n\n"
WRONG = [
    ("1,2", "line 4: the row has 2 cells, expected 3"), ("1,2,3,4", "line 4: the row has 4 cells"),
    ("1,inf,1", "line 4, column 'x': cell 'inf' is not finite"),
    ("1,-Infinity,1", "line 4, column 'x': cell '-Infinity' is not finite"),
    ("1,1e200,1", "column 'x': feature '1e200' has a value above 1e+100"),
    ("1,1,x", "column 'w': weight 'x' is not a number from 0 to 1e9"),
    ("1,1,", "column 'w': weight '' is not a number"), ("1,1,-1", "column 'w': weight '-1' is not a number"),
    ("0.5,1,1", "column 'label': label '0.5' is not a class"), ("a\x01,1,1", "column 'label': label"),
    (",1,1", "line 4: the row has no labels"), ('1,"a"b,1', "line 4: text follows the closing quote of 'a'"),
    ('1,"a,1', "line 4: a quote is never closed"), ('1,"a\n\nb\n', "line 4: a quote is never closed"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "problem"), WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, row, problem):
    file = written(tmp_path, HEADER + row + "\n")
    for size in (1, 1 << 20):
        with pytest.raises(DataError, match=re.escape(problem)) as error:
            list(open_stream(file, weight="w", chunk_bytes=size, multilabel=False))
        assert str(error.value).startswith(f"{file}, ") and str(error.value).isprintable()


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
@pytest.mark.parametrize(("row", "problem"), [wrong for wrong in WRONG if "\n" not in wrong[0]])
def test_wrong_rows_can_be_passed_over_and_take_no_other_with_them(tmp_path, row, problem):
    file = written(tmp_path, HEADER + row + '\n0,"a\nb",2\n1,inf,1\n2,3,1')
    expected = [([1], {"x": 1.0}), ([0], {"x=a\nb": 1.0}), ([2], {"x": 3.0})]
    for size in (1, 7, 1 << 20):
        stream = open_stream(file, weight="w", on_error="skip", chunk_bytes=size, vocabulary=True, normalize="none")
        if row.count('"') == 1:  # the quote that the next row opens is taken for the one that closes
            continue
        assert named_rows(stream) == expected
        assert stream.skipped == 2 and problem.removeprefix("line 4") in stream.skipped_examples[0]
        assert "line 7, column 'x'" in stream.skipped_examples[1]


def test_a_lost_quote_costs_one_row(tmp_path):
    file = written(tmp_path, 'label,x\n1,"a\n' + "0,b\n" * 50 + '1,"c"\n0,d\n')
    for size in (1, 64, 1 << 20):
        stream = open_stream(file, on_error="skip", chunk_bytes=size, vocabulary=True)
        rows = named_rows(stream)
        assert stream.skipped == 1 and len(rows) == 52 and rows[-2:] == [([1], {"x=c": 1.0}), ([0], {"x=d": 1.0})]


@pytest.mark.parametrize(("text", "options", "problem"), [
    ("z,x\n1,2\n", {}, "no column 'label' of labels; name it with --label; there are z, x"),
    ("y,x\n1,2\n", {"label": "z"}, "no column 'z' of labels"),
    ("label,x\n1,2\n", {"weight": "w"}, "no column 'w' of weights; there are label, x"),
    ("label,x\n1,2\n", {"drop": "z"}, "no column 'z'; there are label, x"),
    ("label,x\n1,2\n", {"text": ["x", "z"]}, "no column 'z'"), ("label,x\n1,2\n", {"keep": ["z"]}, "no column 'z'"),
    ("label,x,x\n1,2,3\n", {}, "has 2 columns called 'x'"), ("label,x\n", {}, "has no rows, only a header"),
    ("label,x", {}, "has no rows, only a header"), ("label,x\r1,2\r", {}, "carriage returns"),
    ('"label"x,y\n1,2\n', {"on_error": "skip"}, "line 1: text follows the closing quote of 'label'"),
    (b"label,\xff\n1,2\n", {}, "header: byte 0xff is not UTF-8 text"), ("", {}, "is empty"),
])  # fmt: skip
def test_tables_that_cannot_be_read(tmp_path, text, options, problem):
    file = written(tmp_path, text)
    with pytest.raises(DataError, match=re.escape(problem)) as error:
        list(open_stream(file, **options))
    assert str(error.value).startswith(str(file))


def test_columns_that_are_dropped_may_have_one_name(tmp_path):
    assert read(written(tmp_path, "label,x,x,y\n1,2,3,4\n"), drop="x") == [([1], {"y": 4.0})]


def test_bytes_that_are_no_utf8_do_not_matter_in_dropped_columns(tmp_path):
    path = written(tmp_path, b"label,x,y\n1,caf\xe9,2\n")
    assert read(path, drop="x") == [([1], {"y": 2.0})]
    with pytest.raises(DataError, match="line 2, column 'x': byte 0xe9 is not UTF-8 text"):
        read(path)


@pytest.mark.long("130 MB")
def test_a_row_without_end_does_not_fill_the_memory(tmp_path):
    file = written(tmp_path, b'label,x\n1,"' + b"a,b,\n" * (13 << 20) + b"\n")
    with pytest.raises(DataError, match="line 2: a quote is never closed"):
        list(open_stream(file))
    file.write_bytes(b"label,x\n1," + b"a" * (66 << 20) + b"\n")
    with pytest.raises(DataError, match="line 2 is longer than 64 MiB"):
        list(open_stream(file))


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_features_of_a_skipped_row_are_not_there(tmp_path):
    file = written(tmp_path, "label,a,b\n1,1,inf\n1,x,1\n1,2,x\n")
    stream = open_stream(file, on_error="skip", vocabulary=True, normalize="none")
    assert named_rows(stream) == [([1], {"a=x": 1.0, "b": 1.0}), ([1], {"a": 2.0, "b=x": 1.0})]


def test_unknown_features_are_forgotten_with_their_batch(tmp_path):
    from confidently.data.features import Features

    file = written(tmp_path, "label,a,b\n" + "1,1,1\n" * 5)
    known = Features.named(["b"])
    stream = open_stream(file, vocabulary=True, features=known, freeze=True, chunk_bytes=6)
    for batch in stream:
        assert batch.new_features is not None and list(batch.new_features.names) == ["a"]
        np.testing.assert_array_equal(batch.columns, [0, 1] * len(batch))


def test_spaces_before_a_quoted_cell_do_not_count(tmp_path):
    text = 'label, "a" ,\t"b,c",note\n1, "1.5",  "x, ""y""" , "see, you"\n'
    plain = 'label,a,"b,c",note\n1,1.5,"x, ""y""","see, you"\n'
    for chunk_bytes in (1, 3, 1 << 20):
        rows = read(written(tmp_path, text), text="note", chunk_bytes=chunk_bytes)
        assert rows == [([1], {"a": 1.5, 'b,c=x, "y"': 1.0, "note:see": 1.0, "note:you": 1.0})]
        assert rows == read(written(tmp_path, plain), text="note", chunk_bytes=chunk_bytes)
    with pytest.raises(DataError, match="line 2: text follows the closing quote of 'x'"):
        read(written(tmp_path, 'label,a\n1, "x" y\n'))
    assert read(written(tmp_path, 'label\ta\n1\t "1.5"\n', "rows.tsv")) == [([1], {'a="1.5"': 1.0})]


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_blank_lines_before_the_header_are_skipped(tmp_path, name):
    table = "label,a\n1,2\n\nx,3,4\n" if name.endswith("csv") else "label\ta\n1\t2\n\nx\t3\t4\n"
    for before, n in (("\n", 1), ("\ufeff\r\n \n", 2), ("\ufeff", 0), ("\n" * 5000, 5000)):
        for chunk_bytes in (1, 7, 1 << 20):
            file = written(tmp_path, before + table, name)
            assert read(file, on_error="skip", chunk_bytes=chunk_bytes) == [([1], {"a": 2.0})]
            with pytest.raises(DataError, match=f"^{file}, line {n + 4}: the row has 3 cells, expected 2"):
                read(file, chunk_bytes=chunk_bytes)
    for blank in ("\n", "\r\n\n", " \n", "\ufeff\n", "\n "):
        with pytest.raises(DataError, match=f"^{file} has only blank lines$"):
            read(written(tmp_path, blank, name))
