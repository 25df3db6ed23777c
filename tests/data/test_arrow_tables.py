"""Parquet, Feather and Arrow streams: what columns become, against the same rows as CSV and as Python's objects."""

import datetime
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confidently import _core
from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.request import ReadRequest
from tests.data.test_csv import named_rows

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, ipc, parquet  # noqa: E402

DAY = datetime.date(2020, 1, 2)


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


WRITE = {
    "rows.parquet": lambda table, path: parquet.write_table(table, path, row_group_size=3),
    "rows.feather": lambda table, path: feather.write_feather(table, str(path), chunksize=4, compression="lz4"),
    "rows.arrow": write_stream,
}


def read(path, **options):
    return named_rows(open_stream(path, **{"vocabulary": True, "normalize": "none", **options}))


def expected(row, text=()):
    """Features of a row of Python's objects."""
    found = {}

    def put(name, value):
        found[name] = found.get(name, 0.0) + value

    def add(name, value):
        match value:
            case None | "":
                pass
            case bool() | int() | float():
                if value == value and value != 0:
                    put(name, float(value))
            case str() if name in text:
                for word in re.findall(r"\w+", value.lower()):
                    put(f"{name}:{word}", 1.0)
            case str():
                put(f"{name}={value}", 1.0)
            case list():
                for k, element in enumerate(value):
                    add(name if isinstance(element, str) else f"{name}.{k}", element)
            case dict():
                for key, part in value.items():
                    add(f"{name}.{key}", part)

    for name, value in row.items():
        add(name, value)
    return found


words = st.sampled_from(["a", "b b", "", "ä\n", '"', "c,d"])
reals = st.floats(-1e100, 1e100) | st.just(float("nan"))
inner = st.fixed_dictionaries({"w": words})
COLUMNS = {
    "label": (pa.string(), st.sampled_from(["x", "y"])),
    "real": (pa.float64(), st.none() | reals),
    "single": (pa.float32(), st.none() | st.floats(-100, 100, width=32)),
    "whole": (pa.int16(), st.none() | st.integers(-100, 100)),
    "flag": (pa.bool_(), st.none() | st.booleans()),
    "word": (pa.string(), st.none() | words),
    "big": (pa.large_string(), st.none() | words),
    "coded": (pa.dictionary(pa.int8(), pa.string()), st.none() | words),
    "text": (pa.string(), st.none() | words),
    "words": (pa.list_(pa.string()), st.none() | st.lists(st.none() | words, max_size=3)),
    "reals": (pa.large_list(pa.float64()), st.none() | st.lists(st.none() | reals, max_size=3)),
    "pair": (pa.list_(pa.int32(), 2), st.none() | st.lists(st.none() | st.integers(-9, 9), min_size=2, max_size=2)),
    "part": (
        pa.struct({"n": pa.int8(), "in": pa.struct({"w": pa.string()})}),
        st.none() | st.fixed_dictionaries({"n": st.none() | st.integers(-9, 9), "in": st.none() | inner}),
    ),
    "nothing": (pa.null(), st.none()),
}  # fmt: skip
SCHEMA = pa.schema({name: kind for name, (kind, _) in COLUMNS.items()})
rows_of_objects = st.lists(
    st.fixed_dictionaries({name: of for name, (_, of) in COLUMNS.items()}), min_size=1, max_size=9
)


@pytest.mark.long("writes and reads fifty tables")
@given(rows_of_objects, st.sampled_from(sorted(WRITE)), st.sampled_from([1, 300, 1 << 20]))
def test_columns_become_what_their_values_say(tmp_path_factory, rows, name, chunk_bytes):
    if name == "rows.parquet":  # which cannot hold a null in place of a list of fixed length
        rows = [row | {"pair": row["pair"] or [None, None]} for row in rows]
    path = tmp_path_factory.mktemp("arrow") / name
    WRITE[name](pa.Table.from_pylist(rows, schema=SCHEMA), path)
    wanted = [([row["label"]], expected({k: v for k, v in row.items() if k != "label"}, ["text"])) for row in rows]
    assert read(path, text="text", chunk_bytes=chunk_bytes) == wanted


def table_of(**columns):
    return pa.table({"label": [1, 0, 1], **columns})


@pytest.mark.parametrize("name", WRITE)
def test_roles_of_columns(tmp_path, name):
    table = pa.table({
        "y": [True, False, True], "w": pa.array([1, 2, 3], pa.int8()), "zip": [10, 20, 10], "day": [DAY] * 3,
        "code": pa.array(["p", "q", "p"]).dictionary_encode(), "x": [1.5, None, 2.5], "a": [{"b": 1}, {"b": 2}, None],
    })  # fmt: skip
    WRITE[name](table, tmp_path / name)
    how = {"label": "y", "weight": "w", "category": ["zip", "day"], "drop": ["a"], "keep": ["day", "x", "w"]}
    batches = list(open_stream(tmp_path / name, normalize="none", chunk_bytes=1 << 20, **how))
    assert [x for batch in batches for x in batch.weights] == [1, 2, 3]
    names = [name for batch in batches if batch.new_features for name in batch.new_features.names]
    assert names == ["zip=10", "day=2020-01-02", "code=p", "x", "zip=20", "code=q"]
    kept = {what: [text for batch in batches for text in batch.kept[what]] for what in how["keep"]}
    assert kept == {"day": ["2020-01-02"] * 3, "x": ["1.5", "", "2.5"], "w": ["1", "2", "3"]}
    assert [label.name for batch in batches for label in batch.new_labels] == [1, 0]


@pytest.mark.parametrize("name", WRITE)
def test_lists_are_kept_as_json(tmp_path, name):
    """One text per row, however long its list is."""
    lists = {"x": [[1, 2], [], None], "s": [["p", "ü"], ["q", None], ["r"]]}
    WRITE[name](pa.table({"label": [1, 0, 1], **lists}), tmp_path / name)
    batches = list(open_stream(tmp_path / name, keep=["x", "s"]))
    kept = {what: [text for batch in batches for text in batch.kept[what]] for what in lists}
    assert kept == {"x": ["[1,2]", "[]", ""], "s": ['["p","ü"]', '["q",null]', '["r"]']}


@pytest.mark.parametrize(("labels", "names"), [
    (pa.array([1.0, 0.0, 1.0]), [[1], [0], [1]]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), [["a"], ["b"], ["a"]]),
    (pa.array([["a", "b"], [], None]), [["a", "b"], [], []]), (pa.array([[3, 1], [2], [3]]), [[3, 1], [2], [3]]),
    (pa.array(["a,b", "b,c", "a,c"]), [["a", "b"], ["b", "c"], ["a", "c"]]),
])  # fmt: skip
def test_labels_of_all_types(tmp_path, labels, names):
    parquet.write_table(pa.table({"label": labels, "x": [1, 2, 3]}), tmp_path / "rows.parquet")
    assert [label for label, _ in read(tmp_path / "rows.parquet")] == names


@pytest.mark.parametrize(("column", "options", "problem"), [
    (pa.array([1.0, float("inf"), 2.0]), {}, r"row 2, column 'x': value 'inf' is not finite"),
    (pa.array([1.0, -1e200, 2.0]), {}, r"row 2, column 'x': feature '-\S*' has a value above"),
    (pa.array([1.0, -1.0, 2.0]), {"weight": "x"}, r"row 2, column 'x': weight '-1' is not a number"),
    (pa.array([1.0, None, 2.0]), {"weight": "x"}, r"row 2, column 'x': weight '' is missing"),
    (pa.array(["a", None, "b"]), {"label": "x", "drop": "label"}, r"row 2: the row has no labels"),
    (pa.array([1.0, 0.5, 1.0]), {"label": "x", "drop": "label"}, r"row 2, column 'x': label '0.5' is not a class"),
])  # fmt: skip
def test_wrong_rows_are_named_and_can_be_passed_over(tmp_path, column, options, problem):
    for name, write in WRITE.items():
        file = tmp_path / name
        write(table_of(x=column), file)
        for size in (1, 1 << 20):
            with pytest.raises(DataError, match=f"^{file}, {problem}"):
                list(open_stream(file, multilabel=False, chunk_bytes=size, **options))
            stream = open_stream(file, on_error="skip", chunk_bytes=size, **options)
            assert sum(map(len, stream)) == 2 and stream.skipped == 1 and re.search(problem, stream.skipped_examples[0])


@pytest.mark.parametrize(("column", "options", "problem"), [
    (pa.array([b"a", b"b", b"c"]), {}, "binary, which cannot be features; drop it"),
    (pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int8())), {}, "map<string, int8.*drop it"),
    (pa.array([[DAY]] * 3), {}, "these cannot be features; drop it, or read it as a category"),
    (pa.array([1, 2, 3], pa.duration("s")), {}, "these cannot be features; drop it, or read it as a category"),
    (pa.array([[1], [2], [3]]), {"dates": "x"}, "expected dates or times"),
    (pa.array([[[1]], [], []]), {}, "cannot be features"), (pa.array([1, 2, 3]), {"text": "x"}, "expected text"),
    (pa.array(["1", "2", "3"]), {"weight": "x"}, "expected numbers for weights"),
])  # fmt: skip
def test_columns_that_are_refused_can_be_dropped(tmp_path, column, options, problem):
    file = tmp_path / "rows.parquet"
    parquet.write_table(table_of(x=column, z=[1, 2, 3]), file)
    with pytest.raises(DataError, match=rf"rows.parquet: column 'x' holds .*{problem}"):
        list(open_stream(file, **options))
    assert len(read(file, drop="x")) == 3


def test_decimals_are_numbers_and_row_labels_of_pandas_are_none(tmp_path):
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "rows.parquet"
    frame = pandas.DataFrame({"label": [1, 0], "c": pandas.Categorical(["u", None])}, index=[7, 9])
    frame["d"] = pandas.Series([1.25, None], dtype=pandas.ArrowDtype(pa.decimal128(5, 2)), index=[7, 9])
    frame.to_parquet(file)
    assert read(file) == [([1], {"c=u": 1.0, "d": 1.25}), ([0], {})]


@pytest.mark.parametrize("name", WRITE)
def test_damaged_files_are_one_error(tmp_path, name):
    file = tmp_path / name
    random = np.random.default_rng(0)
    WRITE[name](pa.table({"label": random.integers(0, 2, 900), "x": random.normal(size=900)}), file)
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"no table at all, only text\n" * 20, whole[:3]):
        file.write_bytes(content)
        with pytest.raises(DataError, match=f"^{file} "):
            list(open_stream(file))
    file.write_bytes(b"FEA1" + bytes(100))
    with pytest.raises(DataError, match=rf"^{file}"):
        list(open_stream(file))


@pytest.mark.parametrize("name", WRITE)
def test_tables_without_rows_or_labels(tmp_path, name):
    file = tmp_path / name
    WRITE[name](table_of(x=[1, 2, 3]).slice(0, 0), file)
    with pytest.raises(DataError, match="has no rows"):
        list(open_stream(file))
    WRITE[name](pa.table({"z": [1], "x": [2]}), file)
    with pytest.raises(DataError, match=r"no column 'label' of labels; .*; there are z, x"):
        list(open_stream(file))
    assert len(list(open_stream(file, ignore_labels=True))) == 1
    with pytest.raises(FileNotFoundError):
        list(open_stream(tmp_path / "missing.parquet"))


@pytest.mark.parametrize("first", [-1, 1, 2**63 - 1])
def test_validity_bits_that_are_not_there_are_damage(first):
    reader = _core.ArrowReader(ReadRequest().options(ReaderOptions()), ReaderOptions().ngram_options())
    reader.describe([_core.ColumnUse("x", _core.Use.value, [])])
    column = _core.ArrowColumn(0, numbers=np.ones(8), valid=np.full(1, 255, np.uint8), valid_first=first)
    with pytest.raises(ValueError, match="buffers of a column are damaged"):
        reader.feed(8, [column])
