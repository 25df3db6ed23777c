"""Names of others never reach the terminal with control characters in them."""

import ast
import json
import os
import pty
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import confidently
from confidently import OnlineClassifier, OnlineMedLDA, load
from confidently.cli import COMMANDS
from confidently.data import DataError, open_stream
from confidently.models.file import ModelFileError
from confidently.printable import printable
from tests.command_line import COMMAND, shown_on
from tests.model_files import contents_of, write_contents

# the title of the window, the clipboard, colors, C1's form of these, text from right to left, the end of a line
EVIL = "\x1b]0;t\x07\x1b[31m\x9b31m\x85\u2028\u202e\u2066\u200f\x7f\x08\r"
NAMES = [f"{EVIL}{k}" for k in range(3)]
CLASSES = [f"spam{EVIL}", f"ham{EVIL}"]


def is_raw(character):
    return character != "\n" and printable(character) != character


@pytest.fixture
def hostile(tmp_path, ok):
    """Models, data and a folder whose names have control characters."""
    folder = tmp_path / f"folder{EVIL}"
    folder.mkdir()
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (60, 3)).astype(float), columns=NAMES)
    y = np.array(CLASSES)[rng.integers(0, 2, 60)]
    OnlineClassifier().fit(X, y).save(folder / "m.cw")
    OnlineClassifier(covariance="kernel").fit(X[:20], y[:20]).save(folder / "k.cw")
    OnlineMedLDA(2, random_state=0).fit(X, y).save(folder / "t.cw")
    with open(folder / "data.jsonl", "w") as file:
        for row, label in zip(X.to_numpy(), y, strict=True):
            file.write(json.dumps({"label": label[:3], **dict(zip(NAMES, row.tolist(), strict=True))}) + "\n")
    (folder / "bad.csv").write_text(f"label,{EVIL.strip()}\n1,{EVIL.strip()}\n".replace("\r", ""))
    (folder / "unknown\x1b[31m").write_text("!")
    ok("train", folder / "data.jsonl", "--no-shuffle", "--rule=arow", "-q", "-o", folder / "named.cw")
    header, arrays = contents_of(folder / "named.cw")
    write_contents(folder / "named.cw", header | {"classes": CLASSES}, arrays)  # readers refuse such labels
    return folder


RUNS = {
    "look": ["look {f}/data.jsonl", "look {f}/data.jsonl --json", "look {f}/bad.csv", "look {f}/missing"],
    "train": ["train {f}/data.jsonl -o {f}/new.cw", "train {f}/bad.csv", "train {f}/unknown\x1b[31m",
              "train {f}/data.jsonl --classes a,b", "train {f}/missing", "train {f}/data.jsonl --rule x\x1b[31m",
              "train {f}/data.jsonl -o {f}/new.cw --resume", "train --\x1b[31m",
              "train --bandit {f}/data.jsonl", "train --bandit {f}/bad.csv --policy x\x1b[31m"],
    "predict": ["predict {f}/data.jsonl {f}/data.jsonl", "predict {f}/m.cw {f}/missing",
                "predict {f}/named.cw {f}/data.jsonl --output-format json"],
    "evaluate": ["evaluate {f}/named.cw {f}/data.jsonl", "evaluate {f}/named.cw {f}/data.jsonl --json"],
    "compare": ["compare {f}/data.jsonl --rules arow,pa", "compare {f}/bad.csv --rules arow"],
    "topics": ["topics show {f}/t.cw", "topics show {f}/t.cw --json", "topics show {f}/m.cw",
               "topics show {f}/t.cw --plot {f}/t.png",
               "topics train {f}/data.jsonl --topics 2 --format json -o {f}/t2.cw"],
    "serve": ["serve {f}/none\x1b[31m --check", "serve {f}/none --export x", "serve --new-token \x1b[31m a",
              "serve {f} --port 0 --token-file {f}/bad.csv"],
    "convert": ["convert {f}/data.jsonl -o {f}/out.vw", "convert {f}/data.jsonl -o {f}/out.\x1b"],
    "inspect": ["inspect {f}/m.cw", "inspect {f}/m.cw --json", "inspect {f}/k.cw", "inspect {f}/m.cw --class x",
                "inspect {f}/m.cw --plot {f}/p.png", "inspect {f}/named.cw --row {row}",
                "inspect {f}/named.cw --row {row} --plot {f}/r.png", "inspect {f}/data.jsonl"],
    "merge": ["merge {f}/new.cw {f}/m.cw -o {f}/o.cw", "merge {f}/new.cw {f}/new.cw -o {f}/o.cw"],
    "cache": ["cache {f}/data.jsonl -o {f}/c.cache", "cache {f}/bad.csv -o {f}/c.cache"],
    "rules": ["rules x\x1b[31m"],
    "sample": ["sample x\x1b[31m -o {f}/s", "sample messages -o {f}/\x1b[31m",
               "sample messages --rows 2 -o {f}/\x1b.jsonl"],
    "demo": ["demo --out {f}/bad.csv"],
    "doctor": ["doctor"],
    "completion": ["completion x\x1b[31m"],
}  # fmt: skip


def test_every_command_is_run():
    assert set(RUNS) == set(COMMANDS)


def arguments_of(run, folder):
    row = json.dumps({"label": CLASSES[0], NAMES[0]: 1.0, f"new{EVIL}": 2.0})
    return [part.format(f=folder, row=row) for part in run.split(" ")]


@pytest.mark.long("runs every command")
def test_no_control_character_is_printed(hostile, call):
    for run in (run for runs in RUNS.values() for run in runs):
        code, out, err = call(*arguments_of(run, hostile))
        assert not [c for c in out + err if is_raw(c)], (run, out, err)
        assert code in (0, 2) and (out or err), run
        assert code == 0 or err.splitlines()[-1].startswith("confidently: error: "), (run, err)


def test_the_runs_show_what_they_are_to_show(hostile, call):
    """Without names in the output the test above would see nothing."""
    _, out, _ = call("inspect", hostile / "m.cw")
    assert r"\x1b]0;t\x07\x1b[31m\x9b31m" in out and r"spam\x1b" in out and "folder\\x1b" in out


@pytest.mark.long("starts a process on a terminal")
def test_predictions_are_data_in_pipes_and_text_on_a_terminal(hostile, call):
    arguments = ["predict", str(hostile / "named.cw"), str(hostile / "data.jsonl"), "--output-format", "csv"]
    code, piped, err = call(*arguments)
    assert code == 0 and CLASSES[0] in piped, err
    here, there = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=there, stderr=subprocess.PIPE)
    os.close(there)
    found = shown_on(here)
    assert process.wait() == 0, process.stderr.read()
    process.stderr.close()
    shown = found.decode().replace("\r\n", "\n")  # the terminal's own line ends
    assert r"spam\x1b]0;t\x07" in shown and not [c for c in shown if is_raw(c)]


def test_messages_of_errors_are_safe_in_python(hostile):
    (hostile / "broken.cw").write_text("x")
    with pytest.raises(ModelFileError) as error:
        load(hostile / "broken.cw")
    assert not [c for c in str(error.value) if is_raw(c)] and r"folder\x1b" in str(error.value)
    (hostile / "bad.svm").write_text("1 1:x\n")
    with pytest.raises(DataError) as error:
        list(open_stream(hostile / "bad.svm"))
    assert not [c for c in str(error.value) if is_raw(c)]


@pytest.mark.filterwarnings("default")
def test_warnings_are_safe(call, monkeypatch):
    from confidently.cli.commands import rules

    monkeypatch.setattr(rules.rules, "callback", lambda **_: warnings.warn(EVIL, UserWarning, stacklevel=1))
    _, _, err = call("rules")
    assert r"warning: \x1b]0;t" in err and not [c for c in err if is_raw(c)]


def test_commands_print_through_one_function():
    """`say` escapes control characters; rich's console and the writers of predictions are given escaped text."""
    folder, found = Path(confidently.__file__).parent / "cli", []
    allowed = {"output/text.py": ["click.echo"], "output/live.py": ["self.console.print"]}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            printing = name.endswith((".echo", ".secho", "console.print", ".style")) or name in ("print", "echo")
            direct = name.startswith(("sys.stdout.write", "sys.stderr.write"))
            if (printing or direct) and name not in allowed.get(str(path.relative_to(folder)), ()):
                found.append(f"{path}:{node.lineno}: use say, which escapes control characters, not {name}")
    assert not found, "\n".join(found)


@pytest.mark.long("all characters there are")
def test_exactly_the_control_characters_are_escaped():
    marks = {"\u061c", "\u200e", "\u200f"}  # of the direction of text, besides those that embed, override or isolate it
    embedding = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for character in map(chr, range(sys.maxunicode + 1)):
        control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        control |= character in marks or unicodedata.bidirectional(character) in embedding
        assert (printable(character) != character) == control, hex(ord(character))
        assert printable(character).isascii() or not control
