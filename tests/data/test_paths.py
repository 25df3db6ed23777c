"""Which files are meant by a path, a glob, a folder or a URI; and where their bytes come from."""

import gzip
import re

import pytest

from confidently.data import DataError, open_stream
from confidently.data.formats.table import format_of
from confidently.data.sources import paths, source
from confidently.data.sources.paths import expand_paths

FILES = ["a.csv", "b/c.csv.gz", "b/d/e.csv", "b/notes.md", "b/.hidden.csv", "b/_temporary/f.csv", "b/g.csv"]


@pytest.fixture
def folder(tmp_path):
    for k, name in enumerate(FILES):
        file = tmp_path / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = f"label,x\n{k % 2},{k + 1}\n".encode()
        file.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    return tmp_path / "in"


def inside(folder, files):
    return [str(file).removeprefix(str(folder)).removeprefix("/") for file in files]


@pytest.mark.parametrize(("pattern", "files"), [
    ("a.csv", ["a.csv"]), ("*.csv", ["a.csv"]), ("*/*.csv", ["b/g.csv"]), ("b/*.csv*", ["b/c.csv.gz", "b/g.csv"]),
    ("b/?.csv", ["b/g.csv"]), ("b/[a-f].csv.gz", ["b/c.csv.gz"]), ("**/e.csv", ["b/d/e.csv"]),
    ("b", ["b/c.csv.gz", "b/d/e.csv", "b/g.csv"]), ("", ["a.csv", "b/c.csv.gz", "b/d/e.csv", "b/g.csv"]),
])  # fmt: skip
def test_globs_and_folders_are_their_files_sorted(folder, pattern, files):
    pytest.importorskip("pyarrow")
    path = str(folder / pattern) if pattern else str(folder)
    assert inside(folder, expand_paths(path)) == files
    assert inside(folder, [uri.removeprefix("file://") for uri in expand_paths(f"file://{path}")]) == files
    values = [batch.values[0] for batch in open_stream(path, normalize="none")]
    assert values == [FILES.index(name) + 1 for name in files]
    assert [batch.values[0] for batch in open_stream(f"file://{path}", normalize="none")] == values


def test_paths_keep_their_order_and_what_exists_is_no_glob(folder):
    odd = folder / "[a].csv"
    odd.write_text("label,x\n1,1\n")
    given = [folder / "b/g.csv", odd, folder / "a.csv", "-"]
    assert expand_paths(given) == given


@pytest.mark.parametrize("pattern", ["*.svm", "nothing*", "b/empty"])
@pytest.mark.parametrize("before", ["", "file://"])
def test_what_means_no_file_is_one_error(folder, pattern, before):
    (folder / "b/empty").mkdir()
    with pytest.raises(DataError, match=r"(matches no file|has no data files)$") as error:
        open_stream(f"{before}{folder}/{pattern}")
    assert str(error.value).startswith(f"{before}{folder}/{pattern} ")


def test_files_of_one_stream_have_one_format(folder):
    (folder / "z.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"must have one format, got .*(csv|parquet).*(csv|parquet)"):
        open_stream(folder)
    assert format_of(["x.tsv.zst", "-", "y.TSV"]) == "tsv" and format_of(["-"]) == "svmlight"


@pytest.fixture
def mock_file_system(monkeypatch):
    """pyarrow's file system in memory, as if it were a bucket."""
    fs = pytest.importorskip("pyarrow.fs")
    system = fs._MockFileSystem()

    def of(uri):
        return system, uri.removeprefix("s3://")

    monkeypatch.setattr(source, "file_system", of)
    monkeypatch.setattr(paths, "file_system", of)
    return system


def test_a_bucket_is_read_like_a_folder(mock_file_system):
    mock_file_system.create_dir("bucket/day")
    for name, row in (("2", "0,2"), ("1", "1,1"), ("10", "1,3")):
        with mock_file_system.open_output_stream(f"bucket/day/{name}.csv") as file:
            file.write(f"label,x\n{row}\n".encode())
    for path in ("s3://bucket", "s3://bucket/day", "s3://bucket/day/*.csv", "s3://bucket/**/*.csv"):
        files = expand_paths(path)
        assert files == [f"s3://bucket/day/{name}.csv" for name in ("1", "10", "2")]
        assert [batch.values[0] for batch in open_stream(path, normalize="none")] == [1, 3, 2]
    with pytest.raises(FileNotFoundError):
        list(open_stream("s3://bucket/none.csv"))


def test_a_uri_of_no_known_file_system_is_one_error():
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=re.escape("nowhere://x/y.csv cannot be read: ")):
        open_stream("nowhere://x/y.csv")
