"""What is done in another way on Windows and macOS, tried here with what those systems lack taken away."""

import io
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import rows

from confidently import OnlineClassifier, cli, files, load, model_file
from confidently.cli import going_on, training_data
from confidently.data import background, cache_file, open_stream

PROCESS = Path("/proc/self")
MODULES = (cli, files, model_file, going_on, training_data, cache_file)  # that know which system it is


def is_open(path):
    """Whether this process has a file open, or in its memory."""
    real = os.path.realpath(path)
    descriptors = {os.path.realpath(entry) for entry in (PROCESS / "fd").iterdir()}
    return real in descriptors or f" {real}\n" in (PROCESS / "maps").read_text()


@pytest.fixture
def like_windows(monkeypatch):
    """No locks, no positioned reads, no signal 0; what is open can be neither renamed nor removed."""
    if not (PROCESS / "maps").exists():
        pytest.skip("what is open is told by /proc")

    def closed_only(change):
        def checked(path, *others, **how):
            if any(isinstance(name, (str, Path)) and is_open(name) for name in (path, *others)):
                raise PermissionError(13, "it is open", str(path))
            return change(path, *others, **how)

        return checked

    def kill(*_):
        raise AssertionError("os.kill ends a process on Windows")

    for module in MODULES:
        monkeypatch.setattr(module, "WINDOWS", True)
    monkeypatch.setattr(background, "SIGNAL_SECONDS", 0.01)
    for module, name in ((os, "pread"), (os, "sched_getaffinity"), (os, "sysconf"), (os, "O_DIRECTORY")):
        monkeypatch.delattr(module, name)
    monkeypatch.delattr(mmap, "MAP_POPULATE", raising=False)  # which macOS lacks too
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(os, "kill", kill)
    for name in ("replace", "rename", "unlink", "remove"):
        monkeypatch.setattr(os, name, closed_only(getattr(os, name)))


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text(rows(400), newline="\n")
    return file


def ran(*arguments):
    assert cli.run(list(map(str, arguments))) == 0


def test_the_two_systems_write_the_same_bytes(data, tmp_path, request):
    """Models, caches and predictions, here and there; and nothing else is left in the folder."""

    def written(name):
        folder = tmp_path / name
        folder.mkdir()
        model, cache = folder / "model.cw", folder / "cache"
        ran("train", data, "-q", "--passes", 2, "--holdout", "0.1", "-o", model)
        ran("cache", data, "-o", cache)
        ran("train", cache, "-q", "--start", model, "-o", folder / "more.cw")
        ran("train", data, "-q", "--cache", folder / "own", "--passes", 2, "-o", model)
        ran("predict", model, cache, "--proba", "-o", folder / "answers.csv")
        ran("convert", data, folder / "rows.vw")
        ran("merge", model, folder / "more.cw", "-o", folder / "merged.cw")
        return {file.name: file.read_bytes() for file in folder.iterdir()}

    here = written("here")
    request.getfixturevalue("like_windows")
    assert written("there") == here
    assert set(here) == {"model.cw", "cache", "more.cw", "own", "answers.csv", "rows.vw", "merged.cw"}


def test_a_stopped_training_goes_on(like_windows, data, tmp_path):
    from test_checkpoints import stopped_after  # noqa: F401
