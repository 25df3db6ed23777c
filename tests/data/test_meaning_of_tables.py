"""A table means the same in every container: each rule for its roles, and a model of each reads the others."""

import json
import warnings

import numpy as np
import pytest

from confidently import OnlineClassifier
from confidently.data import DataError, open_stream
from confidently.data.schema import Schema
from tests.command_line import here
from tests.data.test_csv import named_rows

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
N = 60
TEXT, FILES, MEMORY = (
    ("csv", "tsv", "none"), ("csv", "tsv", "jsonl", "parquet", "feather"), ("pandas", "polars", "arrow"),
)  # fmt: skip
CONTAINERS = (*FILES, "none", *MEMORY, "dicts")


def contained(container, folder, columns):
    """The table in a container: the path of a file, or an object."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=kind_of(values)) for name, values in columns.items()})
    path = folder / (f"rows.{container}" if container != "none" else "rows")
    if container in ("csv", "none"):
        frame.to_csv(path, index=False)
    elif container == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif container == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in plain_rows(frame)))
    elif container == "parquet":
        frame.to_parquet(path)
    elif container == "feather":
        frame.to_feather(path)
    elif container == "dicts":
        return plain_rows(frame)
    elif container == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    else:
        return frame if container == "pandas" else pa.Table.from_pandas(frame)
    return path


def kind_of(values):
    return object if any(isinstance(value, str) for value in values) else None


def plain_rows(frame):
    return [
        {name: None if value != value else value for name, value in row.items()} for row in frame.to_dict("records")
    ]


def facts(source, **how):
    """Rows as dicts of features, and their labels or targets, in the order of the data."""
    with warnings.catch_warnings(action="ignore"), open_stream(source, normalize="none", zeros=True, **how) as stream:
        batches = list(stream)
    rows, targets = named_rows(batches), [batch.targets for batch in batches if batch.targets is not None]
    return [row for _, row in rows], np.concatenate(targets).tolist() if targets else [one for (one,), _ in rows]


def cycled(*values):
    return [values[k % len(values)] for k in range(N)]


NUMBERS = [round(0.5 + k % 9 / 4, 2) for k in range(N)]
CLASSES = cycled("a", "b", "b")
DAY = 1 / 365.2425  # in years
RULES = {
    "leading zeros": (
        {"x": cycled("00501", "94110", "02139")}, {}, lambda k: {f"x={('00501', '94110', '02139')[k % 3]}": 1.0},
    ),
    "exponents": ({"x": cycled("48E0160", "31E0134")}, {}, lambda k: {f"x={('48E0160', '31E0134')[k % 2]}": 1.0}),
    "far numbers": (
        {"x": [NUMBERS[k] if k % 5 else -999.9 for k in range(N)]}, {}, lambda k: {"x": NUMBERS[k]} if k % 5 else {},
    ),
    "marks": (
        {"x": [k % 4 if k % 5 else -1 for k in range(N)]}, {"missing": "-1"},
        lambda k: {"x": float(k % 4)} if k % 5 else {},
    ),
    "dates": (
        {"x": cycled("2000-01-03", "2000-01-04T12:00:00Z")}, {},
        lambda k: {"x.time": (2 + k % 2 * 1.5) * DAY, "x.hour": k % 2 * 12.0, "x.weekday": 1.0 + k % 2},
    ),
    "dates of a form": (
        {"x": cycled("03/Jan/2000:06:00:00 +0600", "04/Jan/2000:12:00:00 +0000")}, {},
        lambda k: {"x.time": (2 + k % 2 * 1.5) * DAY, "x.hour": 6.0 + k % 2 * 6, "x.weekday": 1.0 + k % 2},
    ),
    "dates of logs": (
        {"x": cycled("Jan  3 06:00:00", "Jan 14 18:30:00"), "y": cycled("20000103T060000Z", "20000104T120000Z")}, {},
        lambda k: {
            "x.time": (2.25 + k % 2 * (11 + 12.5 / 24)) * DAY, "x.hour": 6.0 + k % 2 * 12.5,
            "y.time": (2.25 + k % 2 * 1.25) * DAY, "y.hour": 6.0 + k % 2 * 6, "y.weekday": 1.0 + k % 2,
        },
    ),
    "dates of two forms": (
        {"x": cycled("1/3/2000", "1/31/2000"), "y": cycled("6:30 AM", "12:15 p.m.")}, {},
        lambda k: {
            "x.time": (2.0, 30.0)[k % 2] * DAY, "x.hour": 0.0, "x.weekday": 1.0, "y.hour": (6.5, 12.25)[k % 2],
        },
    ),
    "times of day": ({"x": cycled("7:30", "18:45:00")}, {}, lambda k: {"x.hour": (7.5, 18.75)[k % 2]}),
    "missing numbers": (
        {"x": [NUMBERS[k] if k % 3 else None for k in range(N)]}, {}, lambda k: {"x": NUMBERS[k]} if k % 3 else {},
    ),
    "words": ({"x": cycled("NA", "red", "blue")}, {}, lambda k: {f"x={('NA', 'red', 'blue')[k % 3]}": 1.0}),
}  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("rule", RULES)
def test_features(tmp_path, rule, container):
    columns, how, expected = RULES[rule]
    rows, labels = facts(contained(container, tmp_path, {**columns, "label": CLASSES}), **how)
    assert labels == CLASSES
    for k, row in enumerate(rows):
        assert row == pytest.approx(expected(k), rel=1e-12), (k, row)


SKIP = {"missing_label": "skip"}
LABELS = {  # labels, how they are read, and what is found of them
    "names with commas": (("Boston, MA", "Salem, MA", "Miami, FL"), {}, ["Boston, MA", "Salem, MA", "Miami, FL"]),
    "words among numbers": (("1.5", "NA", "2.5"), SKIP | {"targets": True}, [1.5, 2.5]),
    "marks": ((1.5, -200.0, 2.5), SKIP | {"targets": True, "missing": "-200"}, [1.5, 2.5]),
    "words as marks": (("a", "n.d.", "b"), SKIP | {"missing": "n.d."}, ["a", "b"]),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("rule", LABELS)
def test_labels(tmp_path, rule, container):
    values, how, expected = LABELS[rule]
    if rule == "names with commas" and container in ("jsonl", "dicts"):
        how = {"multilabel": False}  # where several labels are a list
    _, labels = facts(contained(container, tmp_path, {"x": NUMBERS, "label": cycled(*values)}), **how)
    assert labels == expected * (N // 3)


@pytest.mark.parametrize("container", [c for c in CONTAINERS if c not in ("jsonl", "dicts")])
def test_lists_of_labels(tmp_path, container):
    values = cycled("a", "a,b", "b")
    source = contained(container, tmp_path, {"x": NUMBERS, "label": values})
    with open_stream(source) as stream:
        assert stream.multilabel and [new.name for batch in stream for new in batch.new_labels] == ["a", "b"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_weights_with_a_mark_are_errors(tmp_path, container):
    source = contained(container, tmp_path, {"x": NUMBERS, "w": cycled(1.0, 2.0, -1.0), "label": CLASSES})
    with pytest.raises(DataError, match="weight '-1"):
        facts(source, weight="w", missing="-1")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A folder with the same table in all files, a model of each, and what it predicts of its own file."""
    folder, random = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    towns, codes = random.choice(["a", "b", "c"], N).tolist(), random.choice(["01234", "94110"], N).tolist()
    numbers = [None if k % 7 == 0 else float(x) for k, x in enumerate(random.normal(size=N).round(3))]
    columns = {
        "n": numbers, "k": random.integers(0, 9, N).tolist(), "town": towns, "code": codes,
        "day": [f"2024-{k % 12 + 1:02}-01T10:30" for k in range(N)],
        "label": ["yes" if (x or 0) + (town == "a") > 0.5 else "no" for x, town in zip(numbers, towns, strict=True)],
    }  # fmt: skip
    for container in (*FILES, "none"):
        contained(container, folder, columns)
    for file in FILES:
        done = here("train", f"rows.{file}", "--rule", "arow", "-q", "-o", f"{file}.cw", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("trained", FILES)
def test_a_model_reads_any_container(table, trained):
    expected = here("predict", "csv.cw", "rows.csv", "--proba", "-q", cwd=table).stdout
    for file in (*(f"rows.{file}" for file in FILES), "rows"):
        done = here("predict", f"{trained}.cw", file, "--proba", "-q", "--strict", cwd=table)
        assert (done.returncode, done.stdout) == (0, expected), (file, done.stderr)
    assert "error  " in here("evaluate", f"{trained}.cw", "rows", "--format", "csv", cwd=table).stdout


@pytest.mark.parametrize("container", ["jsonl", "parquet", "pandas", "dicts"])
def test_strings_that_are_numbers_are_a_warning(tmp_path, container):
    """Where numbers are known from strings, as in what csv.DictReader reads; digits alone may be codes."""
    columns = {"x": [f"{x:.2f}" for x in NUMBERS], "zip": cycled("00501", "94110"), "label": CLASSES}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        reading = open_stream(contained(container, tmp_path, columns)).reading
    told = "column 'x' ('0.50'): strings that are numbers, read as categories; convert them to numbers, or use "
    [text] = [str(one.message) for one in found]
    assert text.startswith(told) and reading.numbers == ()


def test_a_model_of_a_table_reads_strings_of_dicts_as_its_cells(tmp_path):
    """Of rows that come one by one to River, which have no first rows, strings are categories."""
    path = tmp_path / "rows.csv"
    path.write_text("x;town;label\n" + "".join(f"{k % 7},5;{'ab'[k % 2]};{'yn'[k % 7 > 2]}\n" for k in range(N)))
    with warnings.catch_warnings(action="ignore"):
        model = OnlineClassifier().fit_stream(path)
    for cell, value in (("4,5", 4.5), ("NA", None), ("", None)):
        rows = [{"x": x, "town": "a"} for x in (cell, value)]
        first, second = model.predict_proba(rows)
        assert first.tolist() == second.tolist()
    river = pytest.importorskip("confidently.river", exc_type=ImportError).OnlineClassifier()
    for k in range(4):
        river.learn_one({"x": ("12,5", "1,234", "NA", 2.5)[k]}, k % 2)
    assert set(river.weights) == {"x=12,5", "x=1,234", "x=NA", "x"}


# --- the schema ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("saved", ["csv", "jsonl", "parquet"])
def test_a_schema_is_for_files_of_all_formats(table, saved):
    assert here("look", f"rows.{saved}", "--save", f"{saved}.json", cwd=table).returncode == 0
    found = Schema.load(table / f"{saved}.json")
    kinds = {column.name: (column.role, column.kind) for column in found.columns}
    number, category = ("feature", "number"), ("feature", "category")
    assert kinds == dict.fromkeys("nk", number) | dict.fromkeys(("town", "code"), category) | {
        "day": ("feature", "date"), "label": ("label", "any"),
    }  # fmt: skip
    for file in FILES:
        how = ["--schema", f"{saved}.json", "--rule", "arow", "-q", "-o", "m.cw"]
        done = here("train", f"rows.{file}", *how, cwd=table)
        assert (done.returncode, done.stderr) == (0, "")
        same = [
            here("predict", model, f"rows.{file}", "--proba", "-q", cwd=table).stdout for model in ("m.cw", "csv.cw")
        ]
        assert same[0] == same[1]
