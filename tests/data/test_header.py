"""What the names of columns show: which one has the labels, which are no names, and what is above the header."""

import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confidently import OnlineClassifier
from confidently.data import DataError, DataWarning, open_stream
from confidently.data.formats.guess import format_of_files
from tests.data.tables import said, write


def written(tmp_path, columns, suffix):
    """Write 20 rows: of labels a and b, and of numbers in the other columns."""
    rows = [[f"{'ab'[k % 2]}" if name in ("target", "Class", "y", "LABEL") else k % 7 for name in columns]
            for k in range(20)]  # fmt: skip
    return write(tmp_path / f"rows.{suffix}", {name: [row[k] for row in rows] for k, name in enumerate(columns)})


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("columns", [("target", "u"), ("u", "Class"), ("u", "v", "y"), ("u", "LABEL")])
def test_a_usual_name_at_either_end_has_the_labels(tmp_path, columns, suffix):
    path = written(tmp_path, columns, suffix)
    name = next(name for name in columns if name not in "uv")
    with pytest.warns(DataWarning, match=f"labels are read from column '{name}'; use --label for another"):
        model = OnlineClassifier().fit_stream(path)
    assert list(model.classes_) == ["a", "b"] and model.source_["label"] == name
    assert model.n_features_in_ == len(columns) - 1
    assert sum(map(len, model.predict_stream(path))) == 20


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("columns", "how"),
    [(("u", "target", "v"), {}), (("target", "u", "y"), {}), (("u", "target"), {"drop": "target"}), (("u", "v"), {})],
)
def test_otherwise_a_column_must_be_named(tmp_path, columns, how, suffix):
    with pytest.raises(DataError, match=r"no column 'label'|has no label"):
        list(open_stream(written(tmp_path, columns, suffix), **how))


def test_a_column_called_label_is_the_one(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("u,label,target\n" + "1,a,2\n2,b,1\n" * 10)
    [batch] = open_stream(path)
    assert [label.name for label in batch.new_labels] == ["a", "b"]
    assert list(batch.new_features.names) == ["u", "target"]


def test_nameless_columns_are_left_out(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",.u,label,v,\n" + "1,5,a,2,\n2,6,b,1,\n" * 10)
    with pytest.warns(DataWarning, match="a column without a name, as pandas and R write row names, is left out"):
        [batch] = open_stream(path)
    assert list(batch.new_features.names) == [".u", "v"]


@pytest.mark.parametrize("hint", ["sep=;", "sep=,", "sep=\t", "sep=|"])
@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
def test_a_line_for_excel_names_the_delimiter(tmp_path, hint, chunk_bytes):
    path, mark = tmp_path / "rows.csv", hint[-1]
    path.write_text(f"{hint}\r\nlabel,u,v\r\na,1,2\r\n".replace(",", mark).replace(f"sep{mark}", f"sep={mark}"))
    batches = list(open_stream(path, chunk_bytes=chunk_bytes))
    assert [name for batch in batches for name in batch.new_features.names] == ["u", "v"]
    assert open_stream(path).reading.delimiter == mark


def test_quoted_tsv_is_csv_with_tabs(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text('"label"\t"town"\n' + '"a"\t"The ""Hague"""\n' * 10)
    with pytest.warns(DataWarning, match="is read as csv with tabs, because the names of its columns are quoted"):
        [batch] = open_stream(path)
    assert list(batch.new_features.names) == ['town=The "Hague"']


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_lines_above_the_header_are_refused(tmp_path, suffix):
    path, mark = tmp_path / f"rows.{suffix}", "," if suffix == "csv" else "\t"
    path.write_text("exported by hand\n" + "label,u,v\na,1,2\n".replace(",", mark) * 10)
    with pytest.raises(DataError, match="the first line has 1 cell, and the rows have 3 cells; delete what is above"):
        list(open_stream(path))
    path.write_text("label,u\n".replace(",", mark) + "1,a,2\n".replace(",", mark) * 10)
    with pytest.raises(DataError, match="or name the first column, if it has row names as R writes them"):
        list(open_stream(path))


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([1, 2, 3, 4, 5, 99], 99), ([0, 3, 5, 7, -9], -9), ([20, 40, 80, 199], None), ([-3, 2, 5, -9], None),
        ([70, 80, 90, 99], None), ([1, 2, 9], None), ([1.5, 2, 3, 99], None), ([5, 7, 8, 9], None),
    ],
)  # fmt: skip
def test_codes_of_surveys_are_said(tmp_path, values, code, recwarn):
    path = tmp_path / "rows.csv"
    path.write_text("label,q,v\n" + "".join(f"{'ab'[k % 2]},{values[k % len(values)]},{k % 5}\n" for k in range(300)))
    OnlineClassifier().fit_stream(path)
    said = [str(one.message) for one in recwarn if "if it means missing" in str(one.message)]
    expected = f"column 'q' is {code} in {round(100 / len(values))} % of the first rows"
    assert len(said) == (code is not None) and all(text.startswith(expected) for text in said)


def test_marks_of_missing_values(tmp_path):
    path = tmp_path / "rows.csv"

    def read(t, elevation, **how):
        lines = [f"{t[k % len(t)]},{elevation[k % len(elevation)]},{'ab'[k % 2]}\n" for k in range(210)]
        path.write_text("t,elevation,label\n" + "".join(lines))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            stream = open_stream(path, **how)
            list(stream)
        return stream.reading.missing, [str(one.message) for one in found if "outside" in str(one.message)]

    plain, marked = [*range(1, 30)], [*range(1, 30), -200]
    missing, [text] = read(marked, plain)
    assert missing == ("-200",) and text.startswith(
        "column 't': -200, far outside the other numbers, is read as a missing"
    )
    missing, [text] = read(marked, [-300, -200, 0, 150])
    assert missing == () and text.endswith(
        "and in column 'elevation' it is not; use --missing -200 if it means a missing value"
    )
    assert read(marked, [-200, 50, 60])[0] == ("-200",)  # outside here, too
    assert read(marked, plain, missing="none") == (("none",), [])
    assert read([*plain, *range(30, 60), 199], plain)[0] == read([*range(0, 300, 7), 999], plain)[0] == ()


def test_comments_and_headers(tmp_path):
    def names(text, file="rows.csv", **how):
        (tmp_path / file).write_text(text)
        with warnings.catch_warnings(action="ignore"):
            return [name for batch in open_stream(tmp_path / file, **how) for name in batch.new_features.names]

    rows = "1,2,a\n3,4,b\n"
    assert names("# made by hand\n#\nx,y,label\n" + rows) == ["x", "y"]
    assert names("# made by hand\n# x,y,label\n" + rows) == ["x", "y"]  # as NumPy writes it
    assert names("##format\n#x\ty\tlabel\n" + rows.replace(",", "\t"), "rows.tsv") == ["x", "y"]
    assert names("#,y,label\n" + rows) == ["#", "y"]
    assert names("#made\n" + rows, columns=("x", "y", "label")) == ["x", "y"]
    path = tmp_path / "row.csv"
    for header, is_row in (("5.1,3.2,a", True), ("2019,2020,label", False), ("x,3,label", False), ("3,2,label", True)):
        path.write_text(header + "\n" + "1,2,a\n3,4,b\n" * 9)
        assert (
            any("looks like a row and not like a header" in text for text in said(path, ignore_labels=True)) == is_row
        )


def test_formats_by_first_lines(tmp_path):
    texts = {
        "csv": "x,label\n1,a\n2,b\n", "tsv": "x\ty\tlabel\n1\t2\ta\n", "jsonl": '{"label": "a", "x": 1}\n',
        "svmlight": "1 3:4.5 7:1\n-1 2:1 # none\n", "vw": "1 |a x:2 y\n-1 'tag |b z\n",
        "text": "spam\tbuy now\nham\thi\n",
    }  # fmt: skip
    for name, text in {
        **texts,
        "svmlight ": "a qid:1 1: .5\n",
        "text ": "__label__a b c\n",
        "csv ": "# c\nx;label\n1;a\n",
    }.items():
        (tmp_path / "rows").write_text(text)
        assert format_of_files([tmp_path / "rows"]) == name.strip()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "rows")
    assert format_of_files([tmp_path / "rows"]) == "parquet"
    (tmp_path / "rows.txt").write_text(texts["csv"])
    with pytest.raises(DataError, match="the first lines look like csv: use --format csv"):
        list(open_stream(tmp_path / "rows.txt"))
