"""Snapshots that are written while rows come in."""

import shutil
import threading
from pathlib import Path

import pytest

from confidently.models import file
from confidently.serve.model import snapshots
from confidently.serve.offline import check
from confidently.serve.waiting import Limits
from tests.serve.running import teach as teach_over_http
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


@pytest.mark.parametrize("settings", [{"view": "none"}, {"task": "decisions"}], ids=str)
@pytest.mark.parametrize("damage", ["cut", "a bit", "nothing left"])
def test_a_damaged_snapshot_falls_back_to_the_one_before_and_then_to_the_log(
    with_model, local, tmp_path, settings, damage
):
    server = with_model(settings)
    for k in range(12):
        if "task" in settings:
            server("POST", f"{MODEL}/decide", {"id": f"d{k}", "context": {"n": k % 3}, "actions": ["a", f"b{k % 4}"]})
            server("POST", f"{MODEL}/rewards?wait=learned", {"id": f"d{k}", "reward": k % 2})
        else:
            teach_over_http(server, [({"a": k % 5, f"b{k % 3}": 1}, "xy"[k % 2])], k)
        if k in (4, 8):
            server("POST", "/v1/snapshot")
    file = server("GET", f"{MODEL}/file").content
    server.stop()
    folder = next((tmp_path / "served" / "models").glob("*/*"))
    newest, before = snapshots.snapshots(folder)
    for path in (newest, before):
        content = path.read_bytes()
        flipped = content[:400] + bytes([content[400] ^ 1]) + content[401:]
        path.write_bytes({"cut": content[:-20], "a bit": flipped, "nothing left": b""}[damage])
        assert [told for ok, told in check(tmp_path / "served") if not ok]
        copy = shutil.copytree(tmp_path / "served", tmp_path / path.stem)
        again = local(copy)
        assert again("GET", f"{MODEL}/file").content == file
        assert any(f"{path.name} cannot be used" in line for line in again.told)
