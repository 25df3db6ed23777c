"""No command overwrites an input or one output with another, and what cannot be written is found before any work.

The matrix is made of the commands' own options: each option that writes against each that reads or writes.
"""

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from shutil import copytree

import click
import pytest

from confidently.cli import COMMANDS, cli, run
from confidently.cli.options.command import Command
from confidently.cli.options.files import OutputFolder, Reads, Writes
from tests.command_line import COMMAND, rows


def commands():
    """Every command, by what is typed."""
    for name in COMMANDS:
        command = cli.get_command(None, name)
        if isinstance(command, click.Group):
            for below in command.list_commands(None):
                yield f"{name} {below}", command.get_command(None, below)
        else:
            yield name, command


ALL = dict(commands())
# What each command needs besides the options under test.
NEEDED = {
    "train": {"data": "data.svm"}, "predict": {"model_path": "model.cw", "data": "data.svm"},
    "evaluate": {"model_path": "model.cw", "data": "data.svm"}, "compare": {"data": "data.svm"},
    "look": {"data": "data.svm"}, "topics train": {"data": "data.svm"},
    "topics predict": {"model_path": "model.cw", "data": "data.svm"}, "topics show": {"model_path": "model.cw"},
    "convert": {"data": "data.svm", "output_path": "free.svm"}, "inspect": {"model_path": "model.cw"},
    "merge": {"paths": "model.cw", "output_path": "free.cw"},
    "cache": {"data": "data.svm", "output_path": "free.cache"},
    "sample": {"name": "messages", "output_path": "free.jsonl"}, "demo": {}, "serve": {"folder": "served"},
}  # fmt: skip


def of_type(command, kind):
    return [parameter for parameter in command.params if isinstance(parameter.type, kind)]


def typed(name, given):
    """A command line with these parameters."""
    arguments, options = [], []
    for parameter in ALL[name].params:
        if parameter.name in given:
            if isinstance(parameter, click.Argument):
                arguments.append(given[parameter.name])
            else:
                options += [parameter.opts[0], given[parameter.name]]
    return [*name.split(), *arguments, *options]


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "data.svm").write_text(rows(50))
    assert run(["train", str(folder / "data.svm"), "--rule=arow", "-q", "-o", str(folder / "model.cw")]) == 0
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_every_command_checks_its_files():
    assert {name for name, command in ALL.items() if type(command) is not Command} == set()
    writing = {name for name, command in ALL.items() if of_type(command, Writes)}
    assert writing == set(NEEDED), "complete NEEDED"


def test_every_option_that_names_a_file_says_whether_it_is_read_or_written():
    for name, command in ALL.items():
        for parameter in command.params:
            kind = parameter.metavar or ""
            names_a_file = any(word in kind for word in ("FILE", "FOLDER", "MODEL", "DATA"))
            assert names_a_file == isinstance(parameter.type, (Reads, Writes)), (name, parameter.name)
            if isinstance(parameter, click.Option) and isinstance(parameter.type, Writes):
                assert any(word in parameter.help for word in ("Write", "Save", "Cache", "draw")), (
                    name,
                    parameter.name,
                )


def same_file(kind, name):
    """Another name of a file."""
    other = Path(f"other-{name}")
    if kind == "same":
        return name
    if kind == "longer":
        return f"../{Path.cwd().name}/./{name}"
    if kind == "symbolic":
        other.symlink_to(name)
    elif kind == "hard":
        other.hardlink_to(name)
    elif kind == "folder":
        Path("linked").symlink_to(".")
        return f"linked/{name}"
    return str(other)


def pairs(other):
    for name in NEEDED:
        written, found = of_type(ALL[name], Writes), of_type(ALL[name], other)
        for pair in combinations(written, 2) if other is Writes else ((w, f) for w in written for f in found):
            yield pytest.param(
                name, *(parameter.name for parameter in pair), id=f"{name}-{pair[0].name}-{pair[1].name}"
            )


FOLDERS = {"out", "backup", "backup_to"}
KINDS = ["same", "longer", "symbolic", "hard", "folder"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "written", "read"), list(pairs(Reads)))
def test_an_output_is_no_input(call, folder, name, written, read, kind):
    suffix = ".png" if written == "plot" else ".svm"
    if read in {"restore", "verify_backup"} and written not in FOLDERS:
        return  # a folder is no file
    if written in FOLDERS:
        if kind == "hard":
            return
        suffix = ""
        Path("x").mkdir()
    else:
        Path(f"x{suffix}").write_bytes(
            Path("model.cw" if "model" in read or read == "paths" else "data.svm").read_bytes()
        )
    target = same_file(kind, f"x{suffix}")
    before = contents(folder)
    code, out, err = call(*typed(name, NEEDED[name] | {read: f"x{suffix}", written: target}))
    assert (code, out) == (2, "") and "is also an input; pass another file name to -" in err, err
    assert contents(folder) == before


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "first", "second"), list(pairs(Writes)))
def test_an_output_is_no_other_output(call, folder, name, first, second, kind, exists):
    if exists and len({first, second} & {"backup", "backup_to"}) == 1:
        return  # a folder is no file
    if kind == "hard" and (not exists or {first, second} <= FOLDERS):
        return
    if exists and {first, second} <= FOLDERS:
        Path("x").mkdir()
    elif exists:
        Path("x").write_bytes(Path("model.cw").read_bytes())
    target = same_file(kind, "x")
    before = contents(folder)
    code, out, err = call(*typed(name, NEEDED[name] | {first: "x", second: target}))
    assert (code, out) == (2, "") and "is also written by -" in err, err
    assert contents(folder) == before


def files_beside():
    for name in NEEDED:
        for parameter in of_type(ALL[name], Writes):
            for suffix in parameter.type.beside:
                yield name, parameter.name, suffix


@pytest.mark.parametrize(("name", "written", "suffix"), list(files_beside()))
def test_files_beside_an_output_are_no_inputs_and_no_outputs(call, folder, name, written, suffix):
    """Training to m writes m.checkpoint, and removes it at the end."""
    beside = Path(f"x{suffix}")
    beside.write_bytes(Path("data.svm").read_bytes())
    before = contents(folder)
    base = NEEDED[name] | {written: "x"}
    for other in of_type(ALL[name], (Reads, Writes)):
        if other.name != written:
            code, _, err = call(*typed(name, base | {other.name: str(beside)}))
            assert code == 2 and f"{beside} is also " in err, err
    assert contents(folder) == before
    beside.unlink()
    beside.mkdir()
    code, _, err = call(*typed(name, base))
    assert code == 2 and f"{beside} is a directory" in err


def test_a_cache_is_not_overwritten_by_its_model(call, ok, folder):
    ok("train", "data.svm", "--rule=arow", "-q", "--cache", "rows.cache", "-o", "model.cw")
    before = contents(folder)
    code, _, err = call("train", "data.svm", "--rule=arow", "-q", "--cache", "rows.cache", "-o", "rows.cache")
    assert code == 2 and "rows.cache is also written by" in err and contents(folder) == before


def test_files_of_a_folder_a_glob_a_uri_and_standard_input_are_inputs(call, folder):
    Path("many").mkdir()
    Path("many/a.svm").write_text(rows(20))
    before = contents(folder)
    for given in ("many", "many/*.svm", f"file://{folder}/many/a.svm"):
        code, _, err = call("convert", given, "-o", "many/a.svm")
        assert code == 2 and "many/a.svm is also an input" in err, given
    with open("many/a.svm") as file:
        command = [*COMMAND, "train", "-", "--rule=arow", "-q", "-o", "many/a.svm"]
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "many/a.svm is also an input" in done.stderr
    assert contents(folder) == before


def outputs():
    for name in NEEDED:
        for parameter in of_type(ALL[name], Writes):
            yield pytest.param(name, parameter, id=f"{name}-{parameter.name}")


@pytest.mark.parametrize(("name", "parameter"), list(outputs()))
def test_what_cannot_be_written_is_found_before_any_work(call, folder, monkeypatch, name, parameter):
    is_folder = isinstance(parameter.type, OutputFolder)
    end = ".png" if parameter.name == "plot" else ""
    Path(f"loop{end}").symlink_to(f"loop{end}")
    Path(f"nowhere{end}").symlink_to("no/where")
    Path(f"directory{end}").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(f"pipe{end}")
    wrong = {f"loop{end}": "cannot be written", f"data.svm/x{end}": "cannot be written"}
    if not is_folder:
        wrong |= {
            f"nowhere{end}": "does not exist", f"no/x{end}": "directory no does not exist",
            f"pipe{end}": "not a regular", f"directory{end}": "is a directory", f"{'x' * 250}{end}": "name too long",
        }  # fmt: skip
    monkeypatch.setattr(ALL[name], "callback", None)  # no work begins
    before = contents(folder)
    for path, problem in wrong.items():
        code, out, err = call(*typed(name, NEEDED[name] | {parameter.name: path}))
        assert (code, out) == (2, "") and err.count("\n") == 1, err
        assert path in err and problem in err.replace("File name", "name"), err
    assert contents(folder) == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_file_without_permission_is_found_before_any_work(call, folder):
    Path("closed").mkdir(mode=0o500)
    Path("kept.cw").write_bytes(b"")
    Path("kept.cw").chmod(0o400)
    for path, problem in (("closed/m.cw", "directory closed is not writable"), ("kept.cw", "kept.cw is read-only")):
        code, _, err = call("train", "missing.svm", "--rule=arow", "-o", path)
        assert code == 2 and problem in err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no device without room")
def test_a_full_or_read_only_folder_is_found_before_any_work(call, folder):
    code, _, err = call("train", "missing.svm", "--rule=arow", "-o", "/proc/m.cw")
    assert code == 2 and err.startswith("confidently: error: /proc/m.cw cannot be written")
