"""Backups on a schedule, kills in the middle of one, and a check that restores and compares."""

import json
import random
import shutil
import time

import apsw
import pytest

from confidently.serve import offline
from confidently.serve.work.backups import UNFINISHED
from tests.serve.rows import made
from tests.serve.running import not_served, running, teach, threaded, wait_until

MODEL = "/v1/models/m"
HOURS = 1e-5  # 36 milliseconds


def whole(folder):
    return sorted(path for path in folder.glob("served-*") if path.is_dir())


def turned_into_a_file(folder):
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.write_text("a file where the folder was")
    except OSError:  # the server has made it again
        return False
    return True


def learn(client, first, n=40):
    teach(client.request, made(n, seed=first), first)


def verified(folder):
    found = list(offline.verify_backup(folder))
    assert all(ok for ok, _ in found), found
    return found


def test_backups_come_on_schedule_and_the_newest_are_kept(tmp_path):
    folder = tmp_path / "backups"
    options = ["--backup-to", folder, "--backup-every", HOURS, "--backup-keep", 2]
    with threaded(tmp_path / "served", *options) as server, server.client() as client:
        client.put(MODEL, json={"view": "none"})
        learn(client, 0)
        seen = set(whole(folder))
        enough = len(seen) + 2  # the second one begins after the rows
        wait_until(lambda: seen.update(whole(folder)) or len(seen) >= max(enough, 4))
        assert 1 <= len(whole(folder)) <= 3
        told = client.get("/metrics").text
        assert "confidently_backups_failed_total 0.0" in told and "confidently_last_backup_seconds 1" in told
        assert server.stop() == 0
    assert len(whole(folder)) == 2 and not list(folder.glob(f"{UNFINISHED}*"))
    found = verified(whole(folder)[-1])
    assert any("model m: 40 learn" in text for _, text in found), found


def test_the_time_of_the_last_backup_is_known_after_a_restart(tmp_path):
    folder = tmp_path / "backups"
    for _ in range(2):
        with threaded(tmp_path / "served", "--backup-to", folder) as server, server.client() as client:
            wait_until(lambda: whole(folder))
            assert "confidently_last_backup_seconds 1" in client.get("/metrics").text
            time.sleep(0.1)
            assert server.stop() == 0
        assert len(whole(folder)) == 1


@pytest.mark.long("six processes that are killed")
@pytest.mark.parametrize("seed", [0, 1])
def test_kills_leave_whole_backups_only(tmp_path, seed):
    folder, chance = tmp_path / "backups", random.Random(seed)
    options = ["--backup-to", folder, "--backup-every", HOURS, "--backup-keep", 3, "--snapshot-every", 50]
    unfinished = 0
    for run in range(6):
        with running(tmp_path / "served", *options) as server, server.client() as client:
            client.put(MODEL, json={"view": "none"})
            until = time.monotonic() + 0.1 + 0.4 * chance.random()
            for k in range(1000):
                learn(client, 10_000 * run + 40 * k)
                if time.monotonic() > until:
                    break
            server.kill()
        unfinished += len(list(folder.glob(f"{UNFINISHED}*")))
        assert len(whole(folder)) <= 4
    assert unfinished > 0  # kills that came in the middle
    assert whole(folder)
    for path in whole(folder):
        verified(path)
    with running(tmp_path / "served", "--backup-to", folder) as server:
        assert not list(folder.glob(f"{UNFINISHED}*"))
        assert server.stop() == 0


def test_a_backup_that_fails_is_told_and_leaves_the_others(tmp_path):
    folder = tmp_path / "backups"
    options = ["--backup-to", folder, "--backup-every", HOURS, "--backup-keep", 1]
    with threaded(tmp_path / "served", *options) as server, server.client() as client:
        wait_until(lambda: whole(folder))
        wait_until(lambda: turned_into_a_file(folder))
        wait_until(lambda: any("no backup was written" in line for line in server.told))
        assert "confidently_last_backup_seconds 0" in client.get("/metrics").text
        folder.unlink()
        folder.mkdir()
        wait_until(lambda: whole(folder))
        assert server.stop() == 0


@pytest.mark.long("verifies two backups")
def test_a_backup_of_erased_and_rebuilt_rows_is_verified(tmp_path, ok):
    with threaded(tmp_path / "served") as server, server.client() as client:
        client.put(MODEL, json={"view": "none"})
        learn(client, 0)
        client.post("/v1/snapshot")
        assert client.delete(f"{MODEL}/examples/r3").status_code == 200
        learn(client, 100)
        client.post("/v1/snapshot")
        assert client.post("/v1/backup", json={"name": "one"}).status_code == 201
        told = ok("serve", "--verify-backup", tmp_path / "served" / "backups" / "one")
        assert "the same model of the snapshot of event" in told and "of its rows" not in told
        client.post(f"{MODEL}/rebuild")
        learn(client, 200)
        assert client.post("/v1/backup", json={"name": "two"}).status_code == 201
    parts = json.loads(ok("serve", "--verify-backup", tmp_path / "served" / "backups" / "two", "--json"))
    assert parts["sound"]


def test_a_backup_whose_snapshot_is_of_other_rows_is_found(tmp_path, call):
    with threaded(tmp_path / "served") as server, server.client() as client:
        client.put(MODEL, json={"view": "none"})
        learn(client, 0)
        client.post("/v1/snapshot")
        client.post("/v1/backup", json={"name": "one"})
    folder = tmp_path / "served" / "backups" / "one"
    db = apsw.Connection(str(folder / "events.db"))
    db.execute("UPDATE events SET label = '\"other\"' WHERE id = 'r5'")
    db.execute("UPDATE events SET label = CAST(label AS BLOB)")
    db.close()
    status, told, _ = call("serve", "--verify-backup", folder)
    different = "DAMAGED model m, version 1: DIFFERENT models of the snapshot of event 40, of its rows"
    assert status == 2 and different in told


def test_wrong_options_are_told(tmp_path, call):
    status, _, told = call("serve", tmp_path / "served", "--backup-keep", "3")
    assert status == 2 and "--backup-keep needs --backup-to" in told
    (tmp_path / "file").write_text("")
    status, told = not_served(tmp_path / "served", "--backup-to", tmp_path / "file")
    assert status in (1, 2) and "file" in told
