"""Refusals of the command line that no other test provokes: one line, exit code 2, and no output."""

import os
import sys
from importlib import util
from types import SimpleNamespace

import pytest

from confidently.cli import run
from confidently.cli.options import plot


@pytest.fixture
def folder(tmp_path, data):
    return tmp_path


def refused(call, folder, arguments):
    code, out, err = call(*(str(a).format(folder=folder, data=folder / "data.svm") for a in arguments))
    assert (code, out) == (2, "") and err.startswith("confidently: error: ") and err.count("\n") == 1
    return err


def test_a_file_that_may_not_be_written(call, folder, monkeypatch):
    (folder / "m.cw").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # permissions do not bind an administrator
    assert "m.cw is read-only; pass another file name to -o" in refused(
        call, folder, ["train", "{data}", "--rule=arow", "-o", "{folder}/m.cw"]
    )


@pytest.mark.parametrize(("module", "arguments"), [(plot, ["compare", "{data}", "--plot", "{folder}/p.png"])])
def test_pictures_without_matplotlib(call, folder, monkeypatch, module, arguments):
    monkeypatch.setattr(module, "can_plot", lambda: False)
    assert "matplotlib is not installed; run pip install '.[plots]'" in refused(call, folder, arguments)


def test_parquet_without_pyarrow(call, ok, folder, monkeypatch):
    ok("train", folder / "data.svm", "--rule=arow", "-q", "-o", folder / "m.cw")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    arguments = ["predict", "{folder}/m.cw", "{data}", "--output-format", "parquet", "-o", "{folder}/p.parquet"]
    assert "pyarrow is not installed; run pip install pyarrow" in refused(call, folder, arguments)
    assert not (folder / "p.parquet").exists()


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (TimeoutError("no scheduler answers at tcp://127.0.0.1:1"), "no scheduler answers at tcp://127.0.0.1:1"),
        (None, "four workers in a row failed on one partition (out of memory?): "),
    ],
)
def test_a_cluster_that_fails(call, folder, monkeypatch, error, problem):
    cluster = pytest.importorskip("confidently.distributed.cluster", reason="Dask is not installed")
    scheduler = pytest.importorskip("distributed.scheduler")

    def connected(client, workers):
        raise error or scheduler.KilledWorker("learn-1-0", SimpleNamespace(address="tcp://127.0.0.1:2"), 3)

    monkeypatch.setattr(cluster, "connected", connected)
    assert problem in refused(call, folder, ["train", "{data}", "--rule=arow", "-q", "--workers", "2"])


def test_a_cluster_without_dask(call, folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("confidently.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *more: None if name == "distributed" else find(name, *more))
    err = refused(call, folder, ["train", "{data}", "--rule=arow", "-q", "--workers", "2"])
    assert "pip install '.[dask]'" in err


def test_a_checkpoint_without_its_best_model(call, folder, stopped_after):
    arguments = [
        "train", folder / "data.svm", "--rule=arow", "-q", "-o", folder / "m.cw", "--passes", 3, "--holdout", "0.2",
    ]  # fmt: skip
    arguments += ["--early-stop", "--checkpoint-every", 100]
    stopped_after(arguments, 4)
    os.remove(folder / "m.cw.checkpoint.best")
    err = refused(call, folder, [*arguments, "--resume"])
    assert "m.cw.checkpoint.best: missing part of" in err and "omit --resume to train from scratch" in err


def test_errors_that_are_not_the_user_s_stay_as_they_are(monkeypatch):
    def fails(rule):
        raise RuntimeError("a mistake in the program")

    monkeypatch.setattr("confidently.cli.commands.rules._detailed", fails)
    with pytest.raises(RuntimeError, match="a mistake in the program"):
        run(["rules", "arow"])
