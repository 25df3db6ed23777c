"""Snapshots that are written while rows come in."""

import shutil
import threading
from pathlib import Path

import pytest

from confidently.models import file
from confidently.serve.model import snapshots
from confidently.serve.waiting import Limits
from tests.serve.running import wait_until
from tests.serve.test_rebuild import model_file, teach

MODEL = "/v1/models/m"
KINDS = [{}, {"covariance": "full"}, {"rule": "cw_stdev"}]


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_a_snapshot_is_of_one_moment_while_learning_goes_on(engines, tmp_path, monkeypatch, settings):
    """A start from it learns the rows after it once: they are not in it already."""
    begun, release, write = threading.Event(), threading.Event(), file.write

    def slow(path, header, arrays):
        if snapshots.SNAPSHOT.fullmatch(Path(path).name):
            if begun.is_set():
                raise OSError("there is one snapshot")
            begun.set()
            release.wait()
        write(path, header, arrays)

    monkeypatch.setattr(file, "write", slow)
    engine, hosted = engines(limits=Limits(snapshot_events=200), classes=["ham", "spam"], view="none", **settings)
    teach(engine, hosted, range(300))
    wait_until(begun.is_set)
    teach(engine, hosted, range(300, 600))
    expected = model_file(engine, hosted, tmp_path / "before.cw")
    release.set()
    hosted.live.snapshots.finish()
    shutil.copytree(tmp_path / "served", tmp_path / "killed")
    [found] = (tmp_path / "killed").glob("models/*/*/m-*.cw")
    assert 200 <= snapshots.number_of(found) <= 300
    assert model_file(*engines("killed"), tmp_path / "again.cw") == expected
