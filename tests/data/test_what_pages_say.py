"""What the pages on formats say about odd files, each sentence tried."""

import pytest

from confidently.data import DataError, open_stream


def read(tmp_path, name, text, **options):
    """Names of features, or their columns, and values."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="\n")
    [batch] = open_stream(file, **{"normalize": "none"} | options)
    names = batch.columns.tolist() if batch.new_features is None else list(batch.new_features.names)
    return names, batch.values.tolist()


@pytest.mark.parametrize("text, columns, values", [
    ("1 1:2#x\n", [0], [2.0]), ("# 1\n\n 1 1:2 # 3:4\n", [0], [2.0]), ("\ufeff1 1:2\n", [0], [2.0]),
    ("1 3:1 1:2 3:4\n", [0, 2], [2.0, 5.0]), ("1 1:0\n", [0], [0.0]), ("1 2147483646:1\n", [2147483645], [1.0]),
    ("1\n", [], []),
])  # fmt: skip
def test_svmlight(tmp_path, text, columns, values):
    assert read(tmp_path, "rows.svm", text) == (columns, values)


@pytest.mark.parametrize("name, line, problem", [
    ("rows.svm", "1 2147483647:1", "index above 2147483646"), ("rows.svm", "1 1:0x1F", "not a number"),
    ("rows.svm", "0.5 1:1", "for numbers use --regression"), ("rows.vw", "0.5 | a", "for numbers use --regression"),
    *(("rows.vw", f"1 | size:{value}", "not a number") for value in ("5x", "-", "1,000", "0x1F", ".x", "+")),
])  # fmt: skip
def test_refused(tmp_path, name, line, problem):
    with pytest.raises(DataError, match=problem):
        read(tmp_path, name, line + "\n")


def test_vw_text(tmp_path):
    assert read(tmp_path, "rows.vw", "0x1F | city:paris 0x1F:2 e:n1\n") == (
        ["city:paris", "0x1F", "e:n1"],
        [1.0, 2.0, 1.0],
    )


@pytest.mark.parametrize("text, options, names", [
    ("I'm a 3.14", {}, ["i", "m", "a", "3", "14"]), ("カタカナ", {}, ["カ", "タ", "ナ"]),
    ("e\u0301 \u00e9", {}, ["e\u0301", "\u00e9"]), ("ab cd", {"analyzer": "char", "ngrams": (2, 2)},
     [" a", "ab", "b ", " c", "cd", "d "]), ("ab cd", {"analyzer": "char"}, ["a", "b", "c", "d"]),
])  # fmt: skip
def test_text(tmp_path, text, options, names):
    assert read(tmp_path, "rows.txt", f"y\t{text}\n", **options)[0] == names


def test_strings_of_tables_that_are_not_utf8(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    buffers = [None, pa.py_buffer(b"\0\0\0\0\3\0\0\0\5\0\0\0"), pa.py_buffer(b"\xe9t\xe9ok")]
    table = pa.table({"label": ["a", "b"], "x": pa.Array.from_buffers(pa.string(), 2, buffers)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    feather.write_feather(table, tmp_path / "rows.feather")
    [batch] = open_stream(tmp_path / "rows.parquet")
    assert list(batch.new_features.names) == ["x=\ufffdt\ufffd", "x=ok"]
    for name, options in (("rows.parquet", {"text": "x"}), ("rows.feather", {})):
        with pytest.raises(DataError):
            list(open_stream(tmp_path / name, **options))
    parquet.write_table(pa.table({"label": ["a"], "x": [[{"u": 1}]]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="cannot be features; drop it"):
        list(open_stream(tmp_path / "rows.parquet"))
    assert read(tmp_path, "rows.jsonl", '{"label": "a", "x": [{"u": 1}, {"u": 2}]}\n') == (["x.u"], [3.0])
