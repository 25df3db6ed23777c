"""Memory and disk of deleted models, which the system gets back at once."""

import os
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from confidently.serve.log.log_file import FILE
from tests.serve.running import running, teach, wait_until

CLASSES, ROWS, WORDS = 40, 400, 100  # weights of all words in all classes take 26 MB
MODEL = "/v1/models/m"


def resident(server):
    """Bytes of memory that a server's process has."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    pytest.skip("the system does not say how much memory a process has")


def stored(folder):
    """Bytes of all files of a folder, of which some may be deleted meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


def fill(client):
    assert client.put(MODEL, json={"view": "none", "reading": {"vocabulary": True}}).status_code == 201
    for first in range(0, ROWS, 100):
        words = {k: {f"w{k * WORDS + j}": 1 for j in range(WORDS)} for k in range(first, first + 100)}
        teach(client.request, [(features, f"c{k % CLASSES}") for k, features in words.items()], first)
    assert client.post(f"{MODEL}/predict", json={"features": {"w1": 1}}).status_code == 200
    assert client.post("/v1/snapshot").status_code == 200


@pytest.mark.long("weights of 26 MB")
def test_a_deleted_model_gives_back_its_memory_and_its_disk(tmp_path):
    folder = tmp_path / "served"
    with running(folder) as server, server.client() as client:
        if not Path(f"/proc/{server.process.pid}/status").exists():
            pytest.skip("the system does not say how much memory a process has")
        weights = 16 * CLASSES * ROWS * WORDS
        fill(client)
        full = resident(server)
        client.delete(MODEL)  # from now on there is what every process keeps
        wait_until(lambda: stored(folder) < 200_000 and resident(server) < full - weights / 2)
        before = resident(server)
        fill(client)
        assert resident(server) > before + weights
        assert stored(folder) > 1_000_000
        assert client.delete(MODEL).status_code == 204
        wait_until(lambda: resident(server) < before + weights / 4)
        wait_until(lambda: stored(folder) < 200_000)
        assert server.stop() == 0


def test_a_kill_before_the_disk_is_freed_leaves_that_to_the_next_start(local, tmp_path, monkeypatch):
    server = local()
    monkeypatch.setattr(server.engine.log, "shrink", lambda: iter(()))
    server("PUT", MODEL, {})
    for k in range(100):
        server("POST", f"{MODEL}/learn", {"features": {"text": "x" * 10_000}, "label": k % 2})
    assert server("DELETE", MODEL).status_code == 204
    server.stop()
    assert stored(tmp_path / "served") > 1_000_000
    local()
    assert stored(tmp_path / "served") < 200_000


def test_the_file_of_an_earlier_version_keeps_its_pages_for_later_rows(local, tmp_path):
    local().stop()
    with closing(apsw.Connection(str(tmp_path / "served" / FILE))) as db:
        db.execute("PRAGMA auto_vacuum = NONE; VACUUM")
    server = local()
    for name in ("a", "b"):
        server("PUT", f"/v1/models/{name}", {})
        for k in range(100):
            server("POST", f"/v1/models/{name}/learn", {"features": {"text": "x" * 10_000}, "label": k % 2})
        assert server("DELETE", f"/v1/models/{name}").status_code == 204
    server.stop()
    assert 1_000_000 < stored(tmp_path / "served") < 1_900_000
