"""Texts of strangers in tables that are opened in a spreadsheet: --csv-safe."""

import csv
import io
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confidently.cli import run
from confidently.data import open_stream
from confidently.data.writing import write_rows
from confidently.spreadsheets import harmless

FORMULAS = [
    "=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@SUM(A1:A9)", "\t=1+1", "\r=1", "\n@a", "=", "-x", "＝1",
    "a;=1+1", "a\t@b", 'a;"=1', "-1.5;=2", "-1.5x", "-1,2",
]  # fmt: skip
PLAIN = ["", "win", "a=b", "a-b", "a@b.org", "-1.5", "+3e-4", "-.5", "1-1", "-0", "10;-5", "'=1", 'say "="', "e;x"]


def computed(cell):
    """Whether a spreadsheet computes a cell: it begins as a formula, and not all of it is a number."""
    if not cell.lstrip("\t\r\n").startswith(tuple("=+-@＝＋－＠")):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return "_" in cell


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_text(text):
    assert harmless(text) != text and harmless(text).replace("'", "") == text.replace("'", "")


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_and_numbers_stay(text):
    assert harmless(text) == text


@given(st.text("=+-@＝\t\r\n;,\"' a1.e_", max_size=12), st.sampled_from(",;\t"))
@example(';"=1', ";")
@example("-1_0", ",")
@example('"=1"', "\t")
@example("-1,=1", ",")
@example("1;-1,=1", ";")
@settings(max_examples=300)
def test_no_cell_is_computed_wherever_a_spreadsheet_cuts(text, separator):
    """Spreadsheets of some countries cut at semicolons, others ask."""
    file = io.StringIO(newline="")
    csv.writer(file).writerow(["first", harmless(text)])
    file.seek(0)
    for row in csv.reader(file, delimiter=separator):
        assert not any(computed(cell.rstrip('"')) for cell in row), row  # the last quote is the writer's


@pytest.fixture
def folder(tmp_path):
    rows = [{"label": ("=A1", "-1")[k % 2], "@text": FORMULAS[k % 5], "n": -1.5 * k} for k in range(30)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data, model = str(tmp_path / "rows.jsonl"), str(tmp_path / "a.cw")
    assert run(["train", data, "--rule=arow", "-o", model, "-q", "--category", "@text"]) == 0
    return tmp_path


def cells(path, separator):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=separator))


@pytest.mark.parametrize(("kind", "separator"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("numbers", [[], ["--proba", "--margin"], ["--ranking"], ["--abstain", "0.9"]], ids=" ".join)
def test_predictions(folder, kind, separator, numbers):
    out = folder / f"out.{kind}"
    command = ["predict", str(folder / "a.cw"), str(folder / "rows.jsonl"), "-o", str(out), "--keep", "@text", *numbers]
    assert run(command) == 0
    plain = cells(out, separator)
    assert any(computed(cell) for row in plain for cell in row)
    assert run([*command, "--csv-safe"]) == 0
    safe = cells(out, separator)
    mark = "-"  # where it abstains
    assert not any(computed(cell) for row in safe for cell in row if cell != mark)
    assert any(cell == "-1" for row in safe for cell in row) or {"--abstain", "--ranking"} & set(numbers)
    assert [[cell.replace("'", "") for cell in row] for row in safe] == [
        [cell.replace("'", "") for cell in row] for row in plain
    ]


@pytest.mark.parametrize(("kind", "separator"), [("csv", ","), ("tsv", "\t")])
def test_converted_data(folder, kind, separator):
    rows = [{"label": "=A1", "=x": -1.5}, {"label": "-1", "=x": -2, "y": 1}]
    (folder / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = folder / f"out.{kind}"
    command = ["convert", str(folder / "few.jsonl"), "-o", str(out)]
    assert run(command) == 0
    assert any(computed(cell) for row in cells(out, separator) for cell in row)
    assert run([*command, "--csv-safe"]) == 0
    safe = cells(out, separator)
    assert not any(computed(cell) for row in safe for cell in row)
    assert safe[1][0] == "'=A1" and safe[2][0] == "-1"
    assert "'=x" in safe[0] and safe[1][safe[0].index("'=x")] == "-1.5"


def test_tags_and_labels_of_vw_text(folder):
    (folder / "a.vw").write_text("1 '=tag | a:-1\n-1 '-3 | b\n")
    assert run(["convert", str(folder / "a.vw"), "-o", str(folder / "a.csv"), "--csv-safe"]) == 0
    assert (folder / "a.csv").read_text() == "label,tag,a,b\n1,'=tag,-1,\n-1,-3,,1\n"


def test_several_labels_in_a_cell(folder):
    (folder / "m.jsonl").write_text('{"label": ["a", "=b"], "x": 1}\n{"label": ["-1", "@c"], "x": 1}\n')
    assert run(["convert", str(folder / "m.jsonl"), "-o", str(folder / "m.csv"), "--multilabel", "--csv-safe"]) == 0
    assert [row[0] for row in cells(folder / "m.csv", ",")] == ["label", "a,'=b", "-1,'@c"]


def test_formats_that_spreadsheets_do_not_open(folder, capsys):
    for command in (
        ["predict", "a.cw", "rows.jsonl", "--json"],
        ["predict", "a.cw", "rows.jsonl", "-o", "a.parquet"],
        ["convert", "rows.jsonl", "-o", "a.svm"],
    ):
        given_ = [str(folder / part) if "." in part else part for part in command]
        assert run([*given_, "--csv-safe"]) == 2
        assert "--csv-safe is for csv and tsv, got the format" in capsys.readouterr().err
    with pytest.raises(ValueError, match="safe is for csv and tsv, got the kind 'vw'"):
        write_rows(str(folder / "a.vw"), "vw", lambda: open_stream(folder / "rows.jsonl"), safe=True)
