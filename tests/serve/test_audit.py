"""The audit log: who has taught, changed or deleted what; its size, and what a kill or a full disk leaves of it."""

from itertools import count

import pytest

from confidently.serve.http.api import ROUTES
from confidently.serve.http.tokens import Guard, read_tokens
from confidently.serve.log import audit
from confidently.serve.log.audit import FILE, KEPT, Audit
from tests.serve.running import NDJSON, as_lines, lines_of, running, wait_until
from tests.serve.test_network import FIRST, row
from tests.serve.test_tokens import bearer, token_file


def without_times(entries):
    return [(one["token"], one["action"], one["model"], one["id"], one["rows"], one["requests"]) for one in entries]


@pytest.fixture
def audited(local, tmp_path):
    """A server, and the headers of two tokens: of ann for all models, of bob for those of his team."""
    path, made = token_file(tmp_path, ("ann", "predict,learn,label,admin"), ("bob", "learn,admin", "team-*"))
    return local(guard=Guard(read_tokens(path))), *map(bearer, made)


def entries_of(server, headers, query=""):
    server.engine.audit.flush()
    return lines_of(server("GET", f"/v1/audit{query}", headers=headers))


@pytest.mark.long("entries are written once a second")
def test_it_tells_who_taught_changed_and_deleted_what(audited):
    server, ann, bob = audited
    server("PUT", FIRST, {}, headers=ann)
    server("PUT", "/v1/models/team-a", {}, headers=bob)
    for k in range(3):
        server("POST", f"{FIRST}/learn", row(f"m-{k}"), headers=ann)
    lines = as_lines([row("t-1"), {"features": 7, "label": "x"}, row("t-2")])
    server("POST", "/v1/models/team-a/learn?wait=learned", content=lines, headers=bob | NDJSON)
    server("POST", f"{FIRST}/predict", {"id": "p", "features": {"a": 1}}, headers=ann)
    server("POST", f"{FIRST}/labels", {"id": "p", "label": "ham"}, headers=ann)
    server("DELETE", f"{FIRST}/examples/m-1", headers=ann)
    for refused in (server("DELETE", FIRST, headers=bob), server("POST", f"{FIRST}/learn", {}, headers=ann)):
        assert refused.status_code in (403, 422)
    server("DELETE", FIRST, headers=ann)
    found = entries_of(server, ann)
    assert without_times(found) == [
        ("ann", "put_model", "m", None, 0, 1), ("bob", "put_model", "team-a", None, 0, 1),
        ("ann", "learn", "m", None, 3, 3), ("bob", "learn", "team-a", None, 2, 1), ("ann", "label", "m", None, 1, 1),
        ("ann", "delete_example", "m", "m-1", 0, 1), ("ann", "delete_model", "m", None, 0, 1),
    ]  # fmt: skip
    assert [one["n"] for one in found] == [*range(1, 8)]
    assert [one["query"] for one in found] == ["", "", "", "wait=learned", "", "", ""]
    assert [one["request"] is None for one in found] == [False, False, True, True, True, False, False]
    times = [one["time"] for one in found]
    assert times == sorted(times)
    assert [one["n"] for one in entries_of(server, ann, "?after=4&limit=2")] == [5, 6]
    assert [one["model"] for one in entries_of(server, bob)] == ["team-a"] * 2


def test_every_route_that_may_change_something_is_told_of():
    """Those that are not are read, predict or decide; rows that are taught are counted where they are acknowledged."""
    rewards = {"reward", "personalizer_reward", "personalizer_reward_slots"}
    told = {route.name for route in ROUTES if route.changes} | {"learn", "label"} | rewards
    assert {route.name for route in ROUTES if route.method != "GET"} - told == {
        "predict", "explain", "backend_predict", "backend_setup", "decide", "activate",
        "personalizer_rank", "personalizer_rank_slots", "personalizer_activate", "personalizer_activate_slots",
    }  # fmt: skip


@pytest.mark.long("two processes")
def test_its_numbers_go_on_after_a_kill(tmp_path):
    for expected in (["put_model", "learn"], ["put_model", "learn", "put_model"]):
        with running(tmp_path / "served") as server, server.client() as client:
            client.put(FIRST, json={})
            if len(expected) == 2:
                client.post(f"{FIRST}/learn", json=row("m"))
            wait_until(lambda: [one["action"] for one in lines_of(client.get("/v1/audit"))] == expected)  # noqa: B023
            found = lines_of(client.get("/v1/audit"))
            assert [one["n"] for one in found] == [*range(1, len(expected) + 1)]
            server.kill()
        with open(tmp_path / "served" / FILE, "ab") as file:
            file.write(b'{"n":9')  # a line that is not complete


def test_its_size_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "MAX_BYTES", 1000)
    log, numbers = Audit(tmp_path), count(1)
    for k in range(200):
        log.changed("ann", "put_model", f"m-{k}", None, "", f"id-{next(numbers)}")
    files = sorted(tmp_path.iterdir())
    assert len(files) == KEPT + 1 and all(path.stat().st_size < 1300 for path in files)
    kept = [entry.n for entry in log.lines()]
    assert kept == [*range(kept[0], 201)] and len(kept) > 20
    for after in range(kept[0] - 1, 201):
        assert [entry.n for entry in log.lines(after)] == [*range(after + 1, 201)]
    again = Audit(tmp_path)
    again.changed("ann", "put_model", "m", None, "", "x")
    assert [entry.n for entry in again.lines(199)] == [200, 201]


def test_a_disk_that_is_full_loses_no_entries(tmp_path):
    told = []
    log = Audit(tmp_path / "missing", told.append)
    for k in range(3):
        log.taught("ann", "learn", "m", "", k)
        log.flush()
    assert len(told) == 1 and "the audit log cannot be written" in told[0]
    (tmp_path / "missing").mkdir()
    log.changed("ann", "put_model", "m", None, "", "x")
    assert [(entry.n, entry.rows) for entry in log.lines()] == [(1, 0), (2, 1), (3, 2), (4, 0)]
    assert [entry.n for entry in Audit(tmp_path / "missing").lines()] == [1, 2, 3, 4]
