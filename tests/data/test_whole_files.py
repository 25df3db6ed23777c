"""Files that appear only when they are complete: their mode, links, leftovers, locks and descriptors."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from confidently import OnlineClassifier
from confidently.data.sources.whole_files import naming, new_file, new_text_file, probe
from tests.command_line import rows

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has other modes, links and signals")


def saves(ok, folder):
    """What writes each kind of file, by the file."""
    data, model = folder / "data.svm", folder / "m.cw"
    data.write_text(rows(100))
    for path in (model, folder / "other.cw"):
        ok("train", data, "--rule=arow", "-q", "-o", path)
    return {
        folder / "a.cw": lambda path: OnlineClassifier().fit(np.eye(4), [0, 1, 0, 1]).save(path),
        folder / "b.cw": lambda path: ok("train", data, "--rule=arow", "-q", "--passes", 2, "-o", path),
        folder / "c.cache": lambda path: ok("cache", data, "-o", path),
        folder / "d.csv": lambda path: ok("convert", data, "-o", path),
        folder / "e.parquet": lambda path: ok("convert", data, "-o", path),
        folder / "f.tsv": lambda path: ok("predict", model, data, "-o", path),
        folder / "g.parquet": lambda path: ok("predict", model, data, "-o", path),
        folder / "h.png": lambda path: ok("inspect", model, "--plot", path),
        folder / "i.cw": lambda path: ok("merge", model, folder / "other.cw", "-o", path),
    }


@POSIX
def test_a_file_keeps_its_mode_and_a_new_one_has_the_mask(ok, tmp_path):
    mask = os.umask(0o027)
    try:
        for path, save in saves(ok, tmp_path).items():
            save(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o640, path
            path.chmod(0o604)
            save(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o604, path
    finally:
        os.umask(mask)


@POSIX
def test_an_unfinished_file_is_not_more_open_than_the_one_it_replaces(tmp_path):
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    with new_file(path) as temporary:
        assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_no_save_leaks_a_descriptor(ok, tmp_path):
    for path, save in saves(ok, tmp_path).items():
        save(path)  # libraries open files when they are imported
        before = os.listdir("/proc/self/fd")
        save(path)
        assert len(os.listdir("/proc/self/fd")) <= len(before), path


@POSIX
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/file")
    for text in ("new", "newer"):
        with new_text_file(tmp_path / "link") as file:
            file.write(text)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "far" / "file").read_text() == text
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == ["file"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), new_text_file(path) as file:
        file.write("new")
        raise ZeroDivisionError
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


def test_probing_leaves_nothing(tmp_path):
    probe(tmp_path / "file")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        probe(tmp_path / "no" / "file")


def test_errors_say_the_name_of_the_file(tmp_path):
    path = tmp_path / "file"
    failed = 5, "Input/output error"
    for error in (OSError(*failed), OSError(*failed, str(tmp_path / ".file.1.deadbeef"))):
        with pytest.raises(OSError) as raised, naming(path):
            raise error
        assert str(raised.value) == f"[Errno 5] Input/output error: '{path}'"
    with pytest.raises(OSError) as raised, naming(path):
        raise OSError(2, "No such file or directory", "another")
    assert raised.value.filename == "another"
    with pytest.raises(BrokenPipeError) as raised, naming(path):
        raise BrokenPipeError(32, "Broken pipe")
    assert raised.value.filename is None


@POSIX
def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_are_not(ok, data, tmp_path):
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead, living = (tmp_path / f".m.cw.{process}.01234567" for process in (done.stdout.strip(), os.getppid()))
    others = [tmp_path / name for name in (".m.cw.x.01234567", ".m.cw.1.0123", ".n.cw.1.01234567", ".m.cw")]
    for path in (dead, living, *others):
        path.touch()
    ok("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    assert not dead.exists() and living.exists() and all(path.exists() for path in others)


def test_what_a_killed_process_left_of_a_cache_is_overwritten(ok, data, tmp_path):
    cache, fresh = tmp_path / "rows.cache", tmp_path / "fresh.cache"
    (tmp_path / "rows.cache.partial").write_bytes(b"x" * 1_000_000)
    for path in (cache, fresh):
        ok("cache", data, "-o", path)
    assert cache.read_bytes() == fresh.read_bytes() and not (tmp_path / "rows.cache.partial").exists()
