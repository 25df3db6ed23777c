"""Numeric columns of tables are standardized unless a view is named; other rows are as they were."""

import json

import numpy as np
import pytest

from confidently import load
from confidently.cli.options.view import STANDARDIZED
from tests.data import tables

RANDOM = np.random.default_rng(0)
pytestmark = pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")  # of raw columns
ROWS = 3000
AGE = RANDOM.integers(18, 90, ROWS)
INCOME = RANDOM.normal(5e5, 2e5, ROWS).round(2)
SCORE = RANDOM.normal(0.0, 1e3, ROWS).round(2)
LABEL = np.where(SCORE > 0, "yes", "no")


def objects():
    """Rows of numbers, of which the score decides and the income is the largest."""
    columns = {"label": LABEL, "age": AGE, "income": INCOME, "score": SCORE}
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def write(path, rows):
    """Write rows in the format of the path's suffix; in JSON lines, each with its own keys."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    return tables.write(path, {name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_tables_of_numbers_are_standardized(suffix, call, tmp_path):
    path, models = write(tmp_path / f"rows.{suffix}", objects()), [tmp_path / f"{k}.cw" for k in range(3)]
    code, out, err = call("train", path, "--rule=arow", "-o", models[0])
    assert code == 0 and ", view standard, " in out and err.startswith(STANDARDIZED + "\n")
    code, _, err = call("train", path, "--view", "standard", "-o", models[1])
    assert code == 0 and STANDARDIZED not in err
    assert models[0].read_bytes() == models[1].read_bytes()
    code, raw, err = call("train", path, "--view", "none", "-o", models[2])
    assert code == 0 and STANDARDIZED not in err and "view" not in raw
    found = [
        json.loads(call("train", path, "--rule=arow", "-q", "--json", *view)[1]) for view in ([], ["--view", "none"])
    ]
    assert found[0]["error"] < 0.015 and found[1]["error"] > 0.1
    code, out, _ = call("evaluate", models[0], path, "--json")
    assert json.loads(out)["error"] < 0.005


TEXT = [{"label": str(y), "town": f"t{k % 7}", "body": "a note" if k % 3 else "another"} for k, y in enumerate(LABEL)]
WORDS = [{"label": str(y), f"w{k % 40}": 1, f"v{k % 31}": 2} for k, y in enumerate(LABEL)]
LINES = {
    "rows.svm": [f"{1 if y == 'yes' else -1} 1:{a} 2:{s}" for y, a, s in zip(LABEL, AGE, SCORE, strict=True)],
    "rows.vw": [f"{1 if y == 'yes' else -1} |n a:{a} b:{s}" for y, a, s in zip(LABEL, AGE, SCORE, strict=True)],
    "rows.txt": [f"{y}\t{a} years" for y, a in zip(LABEL, AGE, strict=True)],
}


@pytest.mark.parametrize("name", ["text.csv", "text.jsonl", "words.jsonl", "rows.svm", "rows.vw", "rows.txt", "l2.csv"])
def test_other_rows_are_as_they_were(name, call, tmp_path):
    path = tmp_path / name
    if name.startswith(("text", "words")):
        write(path, TEXT if name.startswith("text") else WORDS)
    elif name == "l2.csv":
        write(path, objects())
    else:
        path.write_text("\n".join(LINES[name]) + "\n")
    options = ["--normalize", "l2"] if name == "l2.csv" else []
    models = [tmp_path / "m.cw", tmp_path / "none.cw"]
    code, out, err = call("train", path, "--rule=arow", *options, "-o", models[0])
    assert code == 0 and "view" not in out and STANDARDIZED not in err
    call("train", path, *options, "--view", "none", "-o", models[1])
    assert models[0].read_bytes() == models[1].read_bytes()


def test_labels_and_weights_are_no_columns_of_numbers(ok, tmp_path):
    rows = [{"label": k % 2, "weight": 1.0 + k % 3, "code": k % 4, "town": f"t{k % 7}"} for k in range(ROWS)]
    path = write(tmp_path / "rows.csv", rows)
    assert "view" not in ok("train", path, "--rule=arow", "-q", "--weight", "weight", "--category", "code")
    assert "view standard" in ok("train", path, "--rule=arow", "-q", "--weight", "weight")


def test_text_beside_numbers_is_read(call, tmp_path):
    rows = [row | {"note": "good news" if row["label"] == "yes" else "bad news"} for row in objects()]
    path, model = write(tmp_path / "rows.csv", [row | {"score": 1.0} for row in rows]), tmp_path / "m.cw"
    code, _, err = call("train", path, "--rule=arow", "--text", "note", "--vocabulary", "-o", model)
    assert (
        code == 0
        and err.startswith(STANDARDIZED)
        and json.loads(call("evaluate", model, path, "--json")[1])["error"] == 0
    )
    assert {"age", "income", "note:good"} <= set(load(model).features_.names)


def test_rules_are_compared_on_the_same_view(call, tmp_path):
    path = write(tmp_path / "rows.csv", objects())
    for view, seen in (
        ([], ["standard"]),
        (["--view", "none"], []),
        (["--view", "standard,pairs"], ["standard", "pairs"]),
    ):
        code, out, err = call("compare", path, "--rules", "arow,pa", "--json", *view)
        found = json.loads(out)
        assert code == 0 and [part["name"] for part in found["view"]] == seen
        assert (STANDARDIZED in err) == (not view)
        for trial in found["trials"]:
            alone = json.loads(call("train", "--no-shuffle", path, "--rule", trial["rule"], "-q", "--json", *view)[1])
            assert alone["mistakes"] == trial["mistakes"]
