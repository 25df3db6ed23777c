"""Power that fails and disks that fail or are full: what was acknowledged is there, and nothing else is promised."""

import random
import time
from contextlib import ExitStack, suppress
from itertools import pairwise

import apsw
import httpx
import msgspec
import pytest

from confidently.serve.engine import log_thread
from confidently.serve.engine.engine import Engine
from confidently.serve.engine.requests import Request
from confidently.serve.log.event_log import EventLog
from confidently.serve.log.events import Event
from confidently.serve.log.log_file import LogError
from confidently.serve.model.settings import ModelSettings
from confidently.serve.problems import Problem
from confidently.serve.waiting import Limits
from confidently.serve.work import answers, checking, listing, models, teaching
from confidently.serve.work.erasing import erase as erase_row
from tests.serve.disk import BASE, CALLS, FailingDisk, RecordingDisk
from tests.serve.rows import made
from tests.serve.running import blocked, kind_of, not_served, threaded, wait_until

# What fails while SQLite closes a file is told to nobody but Python.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
EVERY_OR_SOME = pytest.mark.parametrize(
    "stride", [15, pytest.param(1, marks=pytest.mark.long("every call fails once"))]
)
SETTINGS = ModelSettings(view="none")
ROWS = made(30, "mixed", seed=2)


def learn(engine, k):
    """Learn one row; return when it is durable."""
    features, label = ROWS[k % len(ROWS)]
    hosted = engine.find("spam")
    row = checking.taught(hosted, f"row-{k}", json_of(features), label, 1.0)
    [receipt] = engine.submit(teaching.learn(engine, hosted, [row]).blocking()).answer()
    return receipt


def json_of(features):
    return msgspec.json.encode(features)


def served(folder, vfs=None, limits=None, say=None):
    """An engine with a model."""
    engine = Engine(folder, limits, vfs=vfs, **({} if say is None else {"say": say}))
    engine.start()
    if not engine.hosted:
        make(engine)
    return engine


def make(engine):
    engine.submit(models.create(engine, "spam", SETTINGS).blocking()).answer()


def erase(engine, k):
    erase_row(engine, engine.find("spam"), f"row-{k}")


# --- power -----------------------------------------------------------------------------------------------------------


@pytest.mark.long("a hundred cuts of the power")
def test_power_that_fails_at_any_moment_takes_nothing_acknowledged(tmp_path):
    with RecordingDisk("recording") as disk:
        engine = served(tmp_path / "served", "recording")
        disk.mark(("made", None))
        for k in range(13):
            learn(engine, k)
            disk.mark(("learned", f"row-{k}"))
            if k % 6 == 5:  # which writes everything from the file of new pages to the database
                erase(engine, k - 1)
                disk.mark(("erased", f"row-{k - 1}"))
        engine.stop()
        chance, cuts = random.Random(7), range(1, len(disk.record) + 1)
        assert len(cuts) > 100
        for at in [*cuts[::2], *cuts[:: len(cuts) // 30]]:
            folder = tmp_path / f"cut-{at}-{chance.random()}"
            check_log(folder, disk.after_a_cut(at, chance, folder), f"power fails after {at} of {len(cuts)} calls")


def check_log(folder, marks, when):
    log = EventLog(folder)
    try:
        assert log.faults() == [], when
        if not marks:
            return
        spam = log.model("spam")
        assert spam is not None, f"{when}: the model is lost"
        number = spam.number
        erased = {id for what, id in marks if what == "erased"}
        for what, id in marks:
            if what == "learned":
                stored = log.find(number, id)
                assert stored is not None and stored.kind == Event.LEARN, f"{when}: {id} is lost"
                assert (stored.features is None) >= (id in erased), f"{when}: {id} is there again"
    finally:
        log.close()


# --- errors of the disk ----------------------------------------------------------------------------------------------


def session(folder, vfs):
    """Make a model and learn ten rows; return the ids acknowledged, the problems, and why the engine failed."""
    acknowledged, problems = [], []
    try:
        engine = Engine(folder, vfs=vfs)
    except (LogError, OSError, apsw.Error) as error:
        return acknowledged, [error], "not started"
    failed = []
    engine.failure.notify = lambda: failed.append(engine.failure.reason)
    try:
        engine.start()
    except Exception as error:
        return acknowledged, [error], "not started"
    for k in range(-1, 10):
        try:
            if k < 0:
                make(engine)
            else:
                learn(engine, k)
                acknowledged.append(f"row-{k}")
        except Problem as problem:
            problems.append(problem)
    try:
        engine.stop()
    except apsw.Error as error:
        problems.append(error)
    return acknowledged, problems, failed[0] if failed else None


def stored_ids(folder):
    engine = Engine(folder)
    engine.start()
    try:
        hosted = engine.hosted.get("spam")
        if hosted is None:
            return []
        rows, _ = engine.submit(listing.export(hosted, 0, 100).blocking()).answer()
        return [row["id"] for row in rows]
    finally:
        engine.stop()


@EVERY_OR_SOME
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("times", [1, 10**9])
def test_after_an_error_of_the_disk_nothing_is_acknowledged_and_nothing_acknowledged_is_lost(
    tmp_path, call, times, stride
):
    """A disk that says after one error that all is well may have lost what it could not write."""
    with FailingDisk("counting", call) as disk:
        acknowledged, problems, _ = session(tmp_path / "whole", "counting")
        calls = disk.seen
    assert len(acknowledged) == 10 and not problems
    failed = 0
    for nth in range(1, calls + 1, stride):
        folder = tmp_path / str(nth)
        with FailingDisk(f"failing-{nth}", call, nth, times) as disk:
            acknowledged, problems, reason = session(folder, disk.name)
            assert disk.failed
        if reason is not None and reason != "not started":
            failed += 1
            kinds = {problem.kind for problem in problems if isinstance(problem, Problem)}
            assert kinds <= {"log-failed", "unknown-model"}
        assert len(acknowledged) == 10 or problems, "a fault was met in silence"
        assert len(acknowledged) == 10 or reason is not None or call not in ("write", "sync", "truncate")
        assert acknowledged == [f"row-{k}" for k in range(len(acknowledged))], "acknowledged after an error"
        assert stored_ids(folder)[: len(acknowledged)] == acknowledged
    assert failed > 0 or call not in ("write", "sync")


def test_what_waits_behind_an_error_of_the_disk_is_not_acknowledged(tmp_path):
    """Only one call fails, but the rows of the next transaction, which was on its way, are refused too."""
    with FailingDisk("behind", "sync") as disk:
        engine = served(tmp_path / "served", "behind")
        release, hosted = blocked(engine), engine.find("spam")
        rows = [[checking.taught(hosted, f"{part}-{k}", b"{}", "ham", 1.0) for k in range(512)] for part in range(3)]
        waiting = [engine.submit(teaching.learn(engine, hosted, part).blocking()) for part in rows]
        disk.first, disk.seen = 1, 0
        release.set()
        for request in waiting:
            with pytest.raises(Problem, match="log cannot be written") as caught:
                request.answer()
            assert caught.value.status == 503
        assert disk.failed == 1
        engine.stop()


@pytest.mark.long("waits for four tries")
def test_answers_wait_while_the_disk_is_full(local, monkeypatch):
    """They are tried again now and then, not all the time, and learned once there is room."""
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.1)
    monkeypatch.setattr(log_thread, "FULL_SECONDS", 0.3)
    with FailingDisk("answers", "write", error=apsw.FullError) as disk:
        server = local(vfs="answers")
        server("PUT", "/v1/models/m", {})
        server("POST", "/v1/models/m/predict", {"id": "q", "features": {"a": 1}})
        rollback, tries = server.engine.log.rollback, []
        monkeypatch.setattr(server.engine.log, "rollback", lambda: (tries.append(time.monotonic()), rollback()))
        server("POST", "/v1/models/m/answers", {"id": "q", "label": "x"})
        disk.first, disk.times, disk.seen = 1, 10**9, 0
        wait_until(lambda: len(tries) == 4)
        disk.first = None
        wait_until(lambda: server("GET", "/v1/models/m/examples").text.count('"q"') == 1)
        assert all(later - earlier >= 0.3 for earlier, later in pairwise(tries))
        server.stop()


@pytest.mark.long("waits until the disk is tried again")
def test_a_model_that_a_full_disk_does_not_delete_lives_on(tmp_path):
    with FailingDisk("kept", "write", error=apsw.FullError) as disk:
        engine = served(tmp_path / "served", "kept")
        learn(engine, 0)
        disk.first, disk.times, disk.seen = 1, 10**9, 0
        with pytest.raises(Problem, match="disk is full"):
            engine.submit(models.delete(engine, engine.find("spam")).blocking()).answer()
        disk.first = None
        assert learn(engine, 1).status == "durable"
        assert engine.find("spam").deleted is False
        engine.submit(models.delete(engine, engine.find("spam")).blocking()).answer()
        assert engine.hosted == {}
        engine.stop()


def test_rows_beside_a_request_with_a_fault_are_learned_once(tmp_path):
    """What was written together is written again one by one; the model must not learn what the first try had noted."""
    engine = served(tmp_path / "served")
    hosted, release = engine.find("spam"), blocked(engine)

    def fault(log, request):
        raise ZeroDivisionError("a fault")

    rows = [checking.taught(hosted, f"row-{k}", json_of(ROWS[k][0]), ROWS[k][1], 1.0) for k in range(6)]
    before = [engine.submit(teaching.learn(engine, hosted, [row]).blocking()) for row in rows[:3]]
    faulty = engine.submit(Request(fault).blocking())
    after = [engine.submit(teaching.learn(engine, hosted, [row]).blocking()) for row in rows[3:]]
    release.set()
    with pytest.raises(ZeroDivisionError):
        faulty.answer()
    assert [request.answer()[0].status for request in (*before, *after)] == ["durable"] * 6
    wait_until(lambda: not hosted.waiting)
    engine.ask(Request(lambda log, request: None).blocking()).answer()
    assert hosted.model.stream.learner.n_seen == 6
    assert hosted.metrics.rows == 6
    engine.stop()


@EVERY_OR_SOME
def test_a_full_disk_at_every_write(tmp_path, stride):
    with FailingDisk("room", "write", error=apsw.FullError) as disk:
        session(tmp_path / "whole", "room")
        calls = disk.seen
    for nth in range(1, calls + 1, stride):
        folder = tmp_path / str(nth)
        with FailingDisk(f"full-{nth}", "write", nth, error=apsw.FullError) as disk:
            acknowledged, problems, reason = session(folder, disk.name)
        assert reason in (None, "not started")
        assert all(problem.status in (507, 404) for problem in problems if isinstance(problem, Problem))
        assert stored_ids(folder) == acknowledged


def test_an_error_of_the_disk_ends_the_server_with_status_1(tmp_path):
    with ExitStack() as stack:
        disk = stack.enter_context(FailingDisk("later", "sync"))
        stack.callback(apsw.set_default_vfs, BASE)
        apsw.set_default_vfs("later")
        server = stack.enter_context(threaded(tmp_path / "served"))
        client = stack.enter_context(server.client())
        assert client.put("/v1/models/spam", json={}).status_code == 201
        disk.first, disk.times, disk.seen = 3, 10**9, 0
        row, statuses = {"features": {"a": 1}, "label": "x"}, [200]
        with suppress(httpx.TransportError):
            while statuses[-1] == 200:
                answer = client.post("/v1/models/spam/learn", json=row | {"id": f"row-{len(statuses) - 1}"})
                statuses.append(answer.status_code)
            assert (answer.status_code, kind_of(answer)) == (503, "log-failed")
        server.thread.join(60)
        assert server.status == 1 and any("stopped: the log cannot be written" in line for line in server.told)
    acknowledged = statuses[1:].count(200)
    assert stored_ids(tmp_path / "served")[:acknowledged] == [f"row-{k}" for k in range(acknowledged)]
    assert 0 < acknowledged < 10


# --- damage ----------------------------------------------------------------------------------------------------------


def filled(folder, n=6):
    engine = served(folder)
    for k in range(n):
        learn(engine, k)
    engine.stop()
    return folder


@pytest.mark.parametrize("damage", ["text", "page"])
def test_a_damaged_log_is_told_in_one_sentence(tmp_path, damage):
    folder = filled(tmp_path / "served")
    path = folder / "events.db"
    if damage == "text":
        path.write_bytes(b"this is no database" * 100)
    else:
        content = bytearray(path.read_bytes())
        content[8192 : 8192 + 2000] = bytes(2000)  # the second page maps the others, for shrinking
        path.write_bytes(content)
    status, told = not_served(folder)
    assert status in (1, 2)
    assert "is damaged" in told and "restore a backup" in told


def test_snapshots_that_cannot_be_written_do_not_stop_the_server(tmp_path):
    said = []
    engine = served(tmp_path / "served", limits=Limits(snapshot_events=1), say=said.append)
    folder = engine.find("spam").live.folder
    folder.rmdir()
    folder.write_text("a file where the folder should be")
    for k in range(20):
        learn(engine, k)
        time.sleep(0.005)
    engine.stop()
    assert 1 <= sum("the snapshot was not written" in line for line in said) <= 2
    folder.unlink()
    assert stored_ids(tmp_path / "served") == [f"row-{k}" for k in range(20)]
