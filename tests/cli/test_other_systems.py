"""What works differently on Windows and macOS, tested here without the features that those systems lack."""

import errno
import io
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from confidently import OnlineClassifier, cli, load
from confidently.cli.training import data as training_data
from confidently.cli.training import saving
from confidently.data.cache import file as cache_file
from confidently.data.sources import background
from confidently.data.sources import whole_files as files

PROCESS = Path("/proc/self")
MODULES = (cli, files, saving, training_data, cache_file)  # that know which system it is


def is_open(path):
    """Whether this process has a file open, or in its memory."""
    real = os.path.realpath(path)
    descriptors = {os.path.realpath(entry) for entry in (PROCESS / "fd").iterdir()}
    return real in descriptors or f" {real}\n" in (PROCESS / "maps").read_text()


@pytest.fixture
def like_windows(monkeypatch):
    """No locks, no positioned reads, no signal 0; what is open can be neither renamed nor removed."""
    if not (PROCESS / "maps").exists():
        pytest.skip("needs /proc, which lists open files")

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


def test_the_same_bytes_everywhere(ok, data, tmp_path, request):
    """Models, caches and predictions, here and there; and nothing else is left in the folder."""

    def written(name):
        folder = tmp_path / name
        folder.mkdir()
        model, cache = folder / "model.cw", tmp_path / "cache"
        ok("cache", data, "-o", cache)
        ok("train", data, "--rule=arow", "-q", "--passes", 2, "--holdout", "0.1", "-o", folder / "held.cw")
        ok("train", data, "--rule=arow", "-q", "--cache", cache, "--passes", 2, "-o", model)
        ok("train", cache, "-q", "--init-model", model, "-o", folder / "more.cw")
        ok("predict", model, cache, "--proba", "-o", folder / "answers.csv")
        ok("convert", data, "-o", folder / "rows.vw")
        ok("merge", model, folder / "more.cw", "-o", folder / "merged.cw")
        return {file.name: file.read_bytes() for file in [cache, *folder.iterdir()]}

    here = written("here")
    (tmp_path / "cache").unlink()
    request.getfixturevalue("like_windows")
    assert written("there") == here
    assert set(here) == {"cache", "held.cw", "model.cw", "more.cw", "answers.csv", "rows.vw", "merged.cw"}


def test_a_stopped_training_goes_on(ok, stopped_after, like_windows, data, tmp_path):
    arguments = ["train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw", "--passes", 3, "--checkpoint-every", 100,
                 "--early-stop", "--holdout", "0.2"]  # fmt: skip
    stopped_after(arguments, 4)
    ok(*arguments, "--resume")
    assert {file.name for file in tmp_path.iterdir()} == {"data.svm", "m.cw"}


def test_an_abandoned_cache_leaves_nothing(like_windows, tmp_path):
    writer = cache_file.CacheWriter(tmp_path / "cache", {})
    writer.discard()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_training_left_is_removed_without_a_signal(like_windows, tmp_path):
    dead, open_one = tmp_path / ".m.cw.4000000.0123abcd", tmp_path / f".m.cw.{os.getpid()}.0123abcd"
    dead.touch()
    with open(open_one, "xb"):
        files.remove_leftovers(tmp_path / "m.cw")
        assert list(tmp_path.iterdir()) == [open_one]


def test_a_model_is_saved_over_the_file_it_was_loaded_from(like_windows, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    OnlineClassifier().fit(X, X[:, 0] > 0).save(tmp_path / "m.cw")
    again = load(tmp_path / "m.cw")
    again.partial_fit(X, X[:, 0] > 0).save(tmp_path / "m.cw")
    assert load(tmp_path / "m.cw").n_seen_ == 80


def test_pipes_are_utf8_with_plain_line_ends():
    stored = io.BytesIO()
    stream = io.TextIOWrapper(stored, encoding="cp1252", newline="\r\n")
    cli.write_utf8(stream)
    stream.write("Ωμέγα\n")
    stream.flush()
    assert stored.getvalue() == "Ωμέγα\n".encode()
    cli.write_utf8(io.StringIO())  # as where standard output is caught: left as it is


def test_a_reader_that_has_gone(like_windows, monkeypatch):
    """Windows says that the argument is invalid; for a file with that name it is an error as on any system."""
    assert cli.is_broken_pipe(OSError(errno.EINVAL, "Invalid argument"))
    assert not cli.is_broken_pipe(OSError(errno.EINVAL, "Invalid argument", "a file"))
    assert not cli.is_broken_pipe(OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(cli, "WINDOWS", False)
    assert cli.is_broken_pipe(BrokenPipeError())
    assert not cli.is_broken_pipe(OSError(errno.EINVAL, "Invalid argument"))


def test_how_to_go_on_is_said_as_the_shell_takes_it(like_windows, monkeypatch):
    arguments = ["train", "C:\\my data\\rows.svm", "-o", "m.cw"]
    assert saving.quoted(arguments) == 'train "C:\\my data\\rows.svm" -o m.cw'
    monkeypatch.setattr(saving, "WINDOWS", False)
    assert saving.quoted(arguments) == "train 'C:\\my data\\rows.svm' -o m.cw"
