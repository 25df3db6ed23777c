"""``confidently look`` says of data what ``confidently train`` does with them."""

import json
import os
import shlex
import sys

import pandas as pd
import pytest

from confidently import load
from tests.command_line import rows

pytestmark = pytest.mark.filterwarnings("always::confidently.data.DataWarning")
N = 1500
TABLE = {
    "label": ["yes" if k % 3 else "no" for k in range(N)],
    "age": [str(20 + k % 50) if k % 10 else ("NA" if k % 20 else "") for k in range(N)],
    "town": [("Delft", "Lund", "Bonn")[k % 3] if k % 4 else "" for k in range(N)],
    "day": [f"2026-01-{1 + k % 28:02d}" for k in range(N)],
    "code": [f"{k % 7:x}a{k % 9}" if k % 2 else f"{k % 5}" for k in range(N)],
    "note": [f"the word w{k % 11}" for k in range(N)],
}


@pytest.fixture
def files(tmp_path):
    frame = pd.DataFrame(TABLE)
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    typed = frame.assign(
        age=pd.to_numeric(frame["age"], errors="coerce"),
        day=pd.to_datetime(frame["day"]),
        town=frame["town"].replace("", None),
        old=frame["age"] > "40",
    )
    typed.to_parquet(tmp_path / "table.parquet")
    with open(tmp_path / "table.jsonl", "w") as file:
        for row in typed.assign(day=frame["day"]).to_dict("records"):
            file.write(json.dumps({name: None if value != value else value for name, value in row.items()}) + "\n")
    (tmp_path / "rows.svm").write_text(rows(N, d=12))
    (tmp_path / "texts.txt").write_text("a\tred green\nb\tblue\n" * 30)
    (tmp_path / "prices.csv").write_text("label,size\n" + "".join(f"{k / 8},{k % 5}\n" for k in range(100)))
    (tmp_path / "sets.csv").write_text("label,size\n" + '"a,b",1\na,2\n,3\n' * 20)
    return tmp_path


def looked(ok, *arguments):
    return json.loads(ok("look", *arguments, "--json"))


def by_name(found):
    return {column["name"]: column for column in found["columns"]}


COLUMNS = {"age": "number", "town": "category", "day": "date", "code": "category", "note": "text"}


@pytest.mark.parametrize("name", ["table.csv", "semicolons.csv", "table.parquet", "table.jsonl"])
def test_columns_have_their_types_and_counts(ok, files, name):
    options = ["--dates", "day"] if name == "table.jsonl" else []
    found = looked(ok, files / name, "--text", "note", *options)
    columns, extra = by_name(found), {} if name.endswith("csv") else {"old": "boolean"}
    assert {name: column["type"] for name, column in columns.items()} == COLUMNS | extra
    first = pd.DataFrame(TABLE)[:1000]
    for name in COLUMNS:
        present = first[name][~first[name].isin(["", "NA"])]
        assert (columns[name]["missing"], columns[name]["distinct"]) == (1000 - len(present), present.nunique())
    assert columns["town"]["examples"] == ["Lund", "Bonn", "Delft"]
    assert (found["rows"], found["complete"]) == (1000, False)
    classes = [{"class": name, "rows": int((first["label"] == name).sum())} for name in ("no", "yes")]
    assert found["label"] == {"column": "label", "kind": "classes", "classes": classes}


READ = [
    ("table.csv", ["--text", "note"]), ("rows.svm", []), ("texts.txt", []), ("prices.csv", []), ("sets.csv", []),
    *(pytest.param(name, options, marks=pytest.mark.long("a stack of a large table")) for name, options in (
        ("table.csv", ["--label", "town", "--missing-label", "skip"]), ("semicolons.csv", []), ("table.parquet", []),
        ("table.csv", ["--label", "age", "--drop", "note", "--missing-label", "skip"]), ("table.jsonl", []))),
]  # fmt: skip


@pytest.mark.long("a stack of each table")
@pytest.mark.parametrize(("name", "options"), READ)
def test_training_reads_what_was_shown(ok, files, monkeypatch, name, options):
    """The command that is proposed runs, and its model has the kind of labels, the columns and the delimiter."""
    monkeypatch.chdir(files)
    found = looked(ok, name, *options)
    program, *arguments = shlex.split(found["command"])
    assert program == "confidently"
    ok(*arguments, "-q")
    model = load(arguments[-1])
    source, kind = model.source_, found["label"]["kind"]
    assert type(model).__name__ == ("AutoRegressor" if kind == "numbers" else "AutoClassifier")
    if kind != "numbers":
        assert list(map(str, model.classes_)) == [str(one["class"]) for one in found["label"]["classes"]]
    assert (source["format"], source["delimiter"]) == (found["format"], found["delimiter"])
    columns = by_name(found)
    if source.get("header"):
        assert set(source["header"]) == set(columns)
    for uses, kind in (("dates", "date"), ("text", "text"), ("codes", "category")):
        for column in source.get(uses) or ():
            assert columns[column]["type"] == kind


def test_keys_within_objects_and_lists_have_a_column_each(ok, tmp_path):
    """Keys may have an equals sign or a point; what is in a list belongs to the list."""
    rows = [{"label": "a", "x=y": 2, "o": [{"k": 1}, {"k": 2}], "z": [1, 2], "n": {"t": "u=v", "b": True}}]
    rows.append({"label": "b", "a.b": 1.5, "z": [3], "tags": ["p", "q"]})
    (tmp_path / "nested.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    types = {"x=y": "number", "o": "number", "z": "number", "n.t": "category", "n.b": "boolean"}
    found = by_name(looked(ok, tmp_path / "nested.jsonl"))
    assert {name: column["type"] for name, column in found.items()} == types | {"a.b": "number", "tags": "category"}
    assert found["z"] == {
        "name": "z", "type": "number", "missing": 0, "distinct": 2, "examples": ["[1, 2]", "[3]"],
    }  # fmt: skip


def test_columns_of_texts_are_text(ok, tmp_path):
    path = tmp_path / "tickets.csv"
    lines = [f"{k},a message of some words number {k},{'ab'[k % 2]}" for k in range(100)]
    path.write_text("\n".join(["id,the message,label", *lines]))
    found = looked(ok, path)
    assert found["command"] == f"confidently train {path} -o tickets.cw"
    assert [(column["name"], column["type"]) for column in found["columns"]] == [
        ("id", "number"),
        ("the message", "text"),
    ]


@pytest.mark.parametrize("text", ["label,a\nx,1\ny\n", "label,a\n", "", '{"a": 1}\n{"label": "x", "a": 1}\n'])
def test_errors_are_those_of_training(call, files, text):
    path = files / ("wrong.jsonl" if text.startswith("{") else "wrong.csv")
    path.write_text(text)
    (code, out, err), trained = call("look", path), call("train", path, "-q")
    assert (code, out, err) == (2, "", trained[2])


@pytest.mark.long("a stack of each table")
@pytest.mark.parametrize("name", ["table.csv", "table.jsonl", "ids.csv"])
def test_warnings_are_those_of_training(call, files, name):
    """Of dates, missing values, long texts, and columns of ids."""
    note = "This row has a text of its own, with the number"
    frame = pd.DataFrame(TABLE).assign(row=range(N), note=[f"{note} {k}" for k in range(N)])
    frame.to_csv(files / "ids.csv", index=False)
    (_, _, looked), (_, _, trained) = call("look", files / name), call("train", files / name, "-q")
    assert looked.splitlines() == [line for line in trained.splitlines() if "warning" in line]
    assert name != "ids.csv" or ("'row'" in looked and "'note'" in looked and "'age' (NA)" in looked)


def test_of_many_columns_the_first_are_shown(ok, tmp_path):
    """Rows whose keys are words have as many columns as a language."""
    rows = ({"label": "ab"[k % 2], **{f"w{j}": 1 for j in range(k, 2500, 3)}} for k in range(6))
    (tmp_path / "wide.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = looked(ok, tmp_path / "wide.jsonl")
    assert (found["n_columns"], len(found["columns"]), found["features"]) == (2500, 1000, 2500)
    assert all(column["missing"] == (5 if int(column["name"][1:]) < 3 else 4) for column in found["columns"])
    assert "and 2,450 more columns" in ok("look", tmp_path / "wide.jsonl")


def test_the_first_of_several_files_is_shown(ok, files):
    found = looked(ok, files / "prices.csv", files / "prices.csv")
    assert (found["rows"], found["complete"], len(found["files"])) == (100, False, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="a file with a hole takes its whole size")
def test_only_the_beginning_is_read(ok, tmp_path):
    """Of a file of 10 GB, whose end is a hole that could not be read."""
    path = tmp_path / "large.csv"
    pd.DataFrame(TABLE).to_csv(path, index=False)
    with open(path, "ab") as file:
        file.write(path.read_bytes().split(b"\n", 1)[1] * 20)
    expected = json.loads(ok("look", path, "--json"))
    os.truncate(path, 10**10)
    assert json.loads(ok("look", path, "--json")) == expected and not expected["complete"]
