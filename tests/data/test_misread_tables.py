"""Tables that may be misread: the right thing is read, or an error or one short warning says what is doubtful."""

import os
import threading
import warnings

import pytest

from confidently.data import DataError, DataWarning, open_stream
from confidently.data.formats.guess import format_of_files

ROW, ONE, MIXED = "looks like a row and not like a header", "has one column", "categories among numbers or dates"
QUOTES, NULLS = "single quotes, as in ", "has null bytes"


def rows_of(*texts):
    return "".join(f"{text}\n" for text in texts)


def read(path, **how):
    """What was said, the names of features, and the number of rows."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with open_stream(path, ignore_labels=True, normalize="none", vocabulary=True, **how) as stream:
            batches = list(stream)
    names = [name for batch in batches if batch.new_features is not None for name in batch.new_features.names]
    return [str(one.message) for one in found], names, sum(map(len, batches))


def written(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(("first", "row", "said"), [
    ("123,TEST,text", "345,TEST,other", True),  # a number above numbers, and a word that comes again
    ("0,hello,2", "1,hello,3", True), ("0,hello,u", "1,hello,u", True), ("p,x,s", "p,x,t", True),
    ("x,2000-12-12", "y,2001-12-13", True), ("1,2", "5,3", True), ("7,u", "8,v", True),
    ("0,1,2", "5,3,4", False),  # as pandas writes them
    ("0,1,label", "5,3,a", False), ("country,2020", "x,3", False), ("400,450,500,label", "5,3,1,a", False),
    ("u,n,w", "u,1,w", False), ("name,town", "ann,town hall", False), ("day,value", "2000-12-12,3", False),
])  # fmt: skip
def test_a_first_row_that_is_no_header(tmp_path, first, row, said, end):
    found, _, n = read(written(tmp_path, f"{first}\n{row}{end}"))
    assert n == 1 and any(ROW in text for text in found) == said


@pytest.mark.parametrize("text", [",,\n1,2,3\n1,2,3\n", "a,b\n1,2\n"])
def test_an_empty_header_and_one_row_are_none(tmp_path, text):
    assert not any(ROW in one for one in read(written(tmp_path, text))[0])


@pytest.mark.parametrize(("text", "problem"), [
    ("x;y\n# no row\n1;3\n6;7\n", "line 2: the row has 1 cell, expected 2; # begins a comment only above the header"),
    ("# a file\nx;y\n1;3#5;7\n6;7\n2;1\n", "line 3: the row has 3 cells, expected 2"),
    ("x\ty\tz\n1\tu\tv\n2\tu\t'v\tw'\n", "line 3: the row has 4 cells, expected 3"),
    ("x;y;z\n1;2;3\n;;;;;4\n1;2;3\n", "line 3: the row has 6 cells, expected 3"),
    ('x|y\n"1|2\n3|4"\n5|6\n', "line 2: the row has 1 cell, expected 2"),
])  # fmt: skip
def test_delimiters_with_comments_and_odd_rows(tmp_path, text, problem):
    with pytest.raises(DataError) as error:
        read(written(tmp_path, text))
    assert problem in str(error.value)


def test_comments_among_rows_may_be_skipped(tmp_path):
    path = written(tmp_path, "x;v\n# no row\n1;3\n# nor this\n6;7\n")
    assert read(path, on_error="skip") == ([], ["x", "v"], 2)


def test_the_delimiter_that_all_rows_have_comes_first(tmp_path):
    text = rows_of("x;v, w", "# no row", "# nor this", *["1,5;2"] * 6, *["3;2"] * 3)
    assert read(written(tmp_path, text), on_error="skip", decimal=",") == ([], ["x", "v, w"], 9)


@pytest.mark.parametrize(("text", "hint"), [
    ('"x;y"\n"1;2"\n', "separated by ';', expected ','; use --delimiter ';'"),
    ("x\n1|2\n3|4\n", "separated by '|', expected ','; use --delimiter '|'"),
    (" # a\n1;3\n # b\n1;3\n5;6\n7;8\n", "separated by ';'"),
])  # fmt: skip
def test_one_column_that_may_be_several(tmp_path, text, hint):
    [said] = [one for one in read(written(tmp_path, text))[0] if ONE in one]
    assert hint in said


def test_a_header_behind_a_hash_above_quoted_cells(tmp_path):
    text = '##made\n#CHROM,POS,GT\n1,28736,"0/1:525,204"\n2,35144,"1/1:401,175"\n'
    _, names, n = read(written(tmp_path, text))
    assert n == 2 and names == ["CHROM", "POS", "GT=0/1:525,204", "GT=1/1:401,175"]


@pytest.mark.parametrize(("text", "said"), [
    ("i,'town'\n1,Lund\n2,Delft\n", True), ("i,town\n1,'Lund'\n2,'Delft'\n3,Lund\n", True),
    ("i,town\n1,'Lund'\n2,Delft\n", True), ("i,town\n1,'Lund'\n2,Delft\n3,Lund\n", False),
    ("i,text\n1,'tis\n2,it's\n", False),
])  # fmt: skip
def test_single_quotes(tmp_path, text, said):
    assert any(QUOTES in one for one in read(written(tmp_path, text))[0]) == said


def test_tsv_with_quoted_cells_is_csv_with_tabs(tmp_path):
    text = rows_of("i\ttown", '"1"\t"The ""Hague"""', '"2"\t"Lund"', '""\t"Delft"')
    said, names, n = read(written(tmp_path, text, "rows.tsv"))
    assert n == 3 and names == ["i", 'town=The "Hague"', "town=Lund", "town=Delft"]
    assert said == [f"{tmp_path}/rows.tsv is read as csv with tabs, because the cells of some columns are quoted"]
    said, names, _ = read(written(tmp_path, rows_of("i\ttown", '1\t"Lund"', "2\tDelft"), "rows.tsv"))
    assert not said and 'town="Lund"' in names


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_null_bytes(tmp_path, encoding):
    path = written(tmp_path, "x,town\n1,Köln\n2,Lund\n".encode(encoding))
    with pytest.raises(DataError), pytest.warns(DataWarning, match="use --encoding utf-16-le or utf-16-be if"):
        list(open_stream(path))
    assert read(path, encoding=encoding) == ([], ["x", "town=Köln", "town=Lund"], 2)
    assert NULLS in read(written(tmp_path, "x,town\n1,a\0b\n2,Lund\n"))[0][0]


@pytest.mark.parametrize(("cells", "shown"), [
    (["1.5", "T", "0.5", "2", "T"], "T"), (["14", "12", "B7", "B7"], "B7"),
    (["1"] * 2000 + ["bad"], "bad"),  # behind the rows that show the kind
    (["2024-01-01"] * 1500 + ["soon"], "soon"), (["1", "NA", "2", "3"], ""), (["1", "x", "y", "x"], ""),
    (["x", "y", "z", "1"], ""),
])  # fmt: skip
def test_columns_of_more_than_one_kind(tmp_path, cells, shown):
    path = written(tmp_path, rows_of("x,v", *(f"{cell},{k % 3}" for k, cell in enumerate(cells))))
    for size in (7, 1 << 20):
        said = [one for one in read(path, chunk_bytes=size)[0] if MIXED in one]
        expected = f"column 'x' ({shown}): {MIXED}; use --category x for all cells, or --missing {shown} for a missing "
        assert said == ([expected + "value"] if shown else [])
        assert len("".join(said)) <= 150
    if shown:
        assert not any(MIXED in one for how in ({"category": "x"}, {"missing": shown}) for one in read(path, **how)[0])


def test_a_skipped_row_says_nothing_of_its_cells(tmp_path):
    path = written(tmp_path, rows_of("x,v", *["1,2"] * 1200, "odd", "odd,1e200", "1,2"))
    assert read(path, on_error="skip") == ([], ["x", "v"], 1201)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["2005-9-19", "2005-10-3", "2006-01-9"], "dates and times, read as the features x.time"),
        (["2005/9/19", "2005-10-03 10:30"], "dates and times, read as the features x.time"),
        (["90.01.31", "02.12.30"], "dates and times (%y.%m.%d), read as"),
        (["31.12.25", "1.2.03"], "dates and times (%d.%m.%y), read as"),
        (["2024-03-08", "03/10/2024", "2024-03-09"], "dates and other cells, read as categories; use --dates x"),
        (["00:18:11", "00:20:00", "00:59:59"], "times of day or durations, read as categories; use --dates x to read"),
        (["02:30", "11:00"], None),
    ],
)
def test_dates_in_other_forms(tmp_path, cells, said):
    found = read(written(tmp_path, rows_of("x,v", *(f"{cell},{k % 3}" for k, cell in enumerate(cells)))))[0]
    assert (said is None and not found) or any(f"{said}" in one for one in found)


@pytest.mark.parametrize(("cells", "codes"), [
    (["+318855443322", "+552244331122", "+12233445567", "+4930123456", "+12025550100"], True),
    (["1026999921509573722112", "1026999921510461210624"] * 3, True),
    (["1700000000000000001", "1700000000000000002"] * 3, False),  # nanoseconds
    (["+1", "+2", "-3", "+4", "+5"], False),
])  # fmt: skip
def test_numbers_that_are_codes(tmp_path, cells, codes):
    path = written(tmp_path, rows_of("x,v", *(f"{cell},{k % 3}" for k, cell in enumerate(cells))))
    with warnings.catch_warnings(action="ignore"):
        assert open_stream(path, ignore_labels=True).reading.codes == (("x",) if codes else ())


def test_tables_with_bars_are_no_vw_text(tmp_path):
    table = rows_of(*(f"{k}|15{k}|0.04|TRUCK|egular courts | above the|" for k in range(9)))
    assert format_of_files([written(tmp_path, table, "rows")]) == "csv"
    for text in ("1 |a x:1 |b y\n0 |a x:2 |b z\n", "1 'one|a x\n0 'two|a y\n", "|a x\n|b y | z\n"):
        assert format_of_files([written(tmp_path, text, "rows")]) == "vw"


def test_times_of_day_in_cells_are_no_features_of_svmlight(tmp_path):
    """Behind a day there may be one before a colon, as the number of a feature."""
    for mark, row in ((";", "03.01.2026 21:00;8,7;warm"), (",", "2026-01-03 21:00:00,8.7,warm")):
        table = rows_of(mark.join(("day", "x", "label")), *[row] * 9)
        assert format_of_files([written(tmp_path, table, "rows")]) == "csv"
    for text in ("1 1:0.5 2:-3e-2\n-1 3:1\n", "a,b qid:7 1: .50\nb 2:nan # c:d\n"):
        assert format_of_files([written(tmp_path, text, "rows")]) == "svmlight"


@pytest.mark.parametrize(("lines", "is_table"), [
    (["Filesystem 1K-blocks Used", *(f"/dev/vd{k}  {100 * k} {k}" for k in range(9))], True),
    ([f"he said {k % 3} words and no more" for k in range(9)], True),
    (["a text", "and another one of several words"], False),
])  # fmt: skip
def test_columns_between_spaces_have_an_error_of_their_own(tmp_path, lines, is_table):
    with pytest.raises(DataError, match="no tab between its label and its text") as error:
        list(open_stream(written(tmp_path, rows_of(*lines), "rows.txt")))
    assert ("convert them, such as with tr -s ' ' '\\t' < FILE > FILE.tsv" in str(error.value)) is is_table


def test_a_pipe_is_read_as_a_file_is(tmp_path):
    text = rows_of("x;v;c", "1;T;77", *(f"{k};{k % 7};{('9e1', 'a5', '77', 'b0', 'c1')[k % 5]}" for k in range(3000)))
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(text))
    writer.start()
    found = read(pipe)
    writer.join()
    assert found == read(written(tmp_path, text)) and MIXED in found[0][0] and found[2] == 3001
    assert "c=9e1" in found[1]
