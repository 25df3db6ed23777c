"""Versions of a model: shadows, promotion, rollback. Each is, byte for byte, what training on the log makes."""

import shutil
import threading

import apsw
import pytest

from confidently.serve.engine.requests import Request
from confidently.serve.engine.trainer import Trainer
from confidently.serve.log.event_log import EventLog
from confidently.serve.log.events import FIRST_SCHEMA, Event
from confidently.serve.model.hosted import Hosted
from confidently.serve.model.version import Version
from tests.serve.rows import made, trained
from tests.serve.running import kind_of, lines_of, teach, wait_until

MODEL = "/v1/models/m"
SCW = {"rule": "scw1", "view": "none"}
ROWS = made(700)


def versions(server):
    return {one["version"]: one for one in server("GET", f"{MODEL}/versions").json()["versions"]}


def is_level(server, number):
    return lambda: versions(server)[number]["progress"] == 1.0


def change(server, method, path, body=None):
    """Ask for a change of versions and wait for it; return its answer."""
    mark = "&" if "?" in path else "?"
    answer = server(method, f"{MODEL}/{path}{mark}wait=live", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def server(with_model):
    found = with_model({"view": "none"})
    teach(found, ROWS[:400])
    return found


def file_of(server):
    return server("GET", f"{MODEL}/file").content


def test_settings_that_do_not_change_what_is_learned_count_at_once(server, local, tmp_path, capsys):
    changed = {"view": "none", "ask": 1.0, "strict": ["no-known-feature"]}
    answer = server("PUT", MODEL, changed)
    assert (answer.status_code, answer.json()["settings"], answer.json()["others"]) == (200, changed, 0)
    assert server("POST", f"{MODEL}/predict", {"features": ROWS[0][0]}).json()["ask"]
    assert kind_of(server("POST", f"{MODEL}/predict", {"features": {"never": "seen"}})) == "no-known-feature"
    server.stop()
    again = local()
    assert again("GET", MODEL).json()["settings"] == changed
    assert again("POST", f"{MODEL}/predict", {"features": ROWS[0][0]}).json()["ask"]
    assert file_of(again) == trained(tmp_path, ROWS[:400], "--view=none")
    assert again("PUT", MODEL, {"view": "none", "ask": 0.0}).status_code == 200
    assert not again("POST", f"{MODEL}/predict", {"features": ROWS[0][0]}).json()["ask"]


def test_a_promotion_while_rows_and_questions_keep_coming(server, tmp_path, capsys):
    server("PUT", MODEL, SCW)
    rows, done, faults = iter(range(400, 100_000)), threading.Event(), []

    def more():
        while not done.is_set():
            k = next(rows)
            features, label = ROWS[k % len(ROWS)]
            for path, body in [
                ("predict", {"features": features}), ("learn", {"id": f"r{k}", "features": features, "label": label})
            ]:  # fmt: skip
                answer = server("POST", f"{MODEL}/{path}", body)
                if answer.status_code != 200:
                    faults.append(answer.text)

    threads = [threading.Thread(target=more) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in (2, 1, 2):
        change(server, "POST", f"versions/{number}/promote")
    done.set()
    for thread in threads:
        thread.join()
    assert not faults
    learnt = [(one["features"], one["label"]) for one in lines_of(server("GET", f"{MODEL}/examples"))]
    assert len(learnt) > 400
    assert file_of(server) == trained(tmp_path, learnt, "--rule=scw1", "--view=none")
    wait_until(is_level(server, 1))
    assert versions(server)[1]["rows"] == len(learnt)
    assert server.engine.waiting.rows == server.engine.waiting.size == 0


def test_a_row_that_somebody_waits_for_is_learned_by_the_version_that_answers_then(server):
    server("PUT", MODEL, SCW)
    wait_until(is_level(server, 2))
    hosted = server.engine.find("m")
    hosted.live.row_seconds = 10.0
    release = threading.Event()

    server.engine.ask(Request(lambda log, request: release.wait()))
    row, answers = {"features": ROWS[401][0], "label": ROWS[401][1]}, []
    learn = lambda: answers.append(server("POST", f"{MODEL}/learn?wait=learned", row))  # noqa: E731
    waiting = threading.Thread(target=learn)
    waiting.start()
    wait_until(lambda: hosted.live.waiting)
    server("POST", f"{MODEL}/versions/2/promote")
    wait_until(lambda: server.engine.learner._queue.requests)  # to take the new version
    release.set()
    waiting.join()
    assert answers[0].json()["status"] == "learned"
    wait_until(lambda: hosted.live.number == 2)
    assert hosted.metrics.rows == 401


def erase(server):
    assert server("DELETE", f"{MODEL}/examples/r7").status_code == 200


def promote(server):
    change(server, "POST", "versions/2/promote")


def rebuild(server):
    change(server, "POST", "rebuild")


def take_out(server):
    change(server, "DELETE", "batches/x")


KILLS = {
    "an erasure before its snapshot": (Version, "save", erase),
    "an erasure before its row is overwritten": (EventLog, "overwrite", erase),
    "a promotion before it is in the log": (Trainer, "_promoted", promote),
    "a promotion after that": (Hosted, "promoted", promote),
    "a rebuild before snapshots with erased rows are forgotten": (Hosted, "promoted", rebuild),
    "a batch that is taken out": (Trainer, "_train", take_out),
}


@pytest.mark.parametrize(("owner", "step", "act"), KILLS.values(), ids=KILLS)
def test_a_kill_at_any_step(server, local, tmp_path, monkeypatch, owner, step, act):
    """A copy of the directory is what a kill leaves; the next start completes what was begun."""
    original, killed = getattr(owner, step), tmp_path / "killed"
    teach(server, ROWS[400:420], 400, query="&batch=x")
    if act is promote:
        server("PUT", MODEL, SCW)
        wait_until(is_level(server, 2))
    elif act is rebuild:
        erase(server)
    before = file_of(server)

    def copied(*arguments):
        if not killed.exists():
            shutil.copytree(tmp_path / "served", killed)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, copied)
        act(server)
    version, file = server("GET", MODEL).json()["version"], file_of(server)
    assert (file == before) == (act is erase)
    for _ in range(2):
        again = local(killed)
        wait_until(lambda again=again: again("GET", MODEL).json()["version"] == version)
        assert file_of(again) == file
        assert again("GET", f"{MODEL}/examples").text == server("GET", f"{MODEL}/examples").text
        again.stop()
    log = EventLog(killed)
    assert log.to_overwrite(1) == [] and (log.find(1, "r7").features is None) == (act in (erase, rebuild))
    log.close()


def test_a_version_that_fails_leaves_the_others_alone(server, monkeypatch):
    learn_stored = Version.learn_stored

    def full(self, *arguments):
        if self.number == 2:
            raise MemoryError
        return learn_stored(self, *arguments)

    monkeypatch.setattr(Version, "learn_stored", full)
    server("PUT", MODEL, SCW)
    wait_until(lambda: versions(server)[2]["failed"])
    answer = server("POST", f"{MODEL}/versions/2/promote?wait=live")
    assert kind_of(answer) == "model-failed" and "the memory is full" in answer.json()["detail"]
    assert server("POST", f"{MODEL}/predict", {"features": {"a": 1}}).status_code == 200
    assert server("DELETE", f"{MODEL}/versions/2").status_code == 200


def test_a_model_has_few_versions_at_a_time(server):
    rules = ["scw1", "cw_stdev", "pa1", "perceptron", "arow"]
    answers = [server("PUT", MODEL, {"rule": rule, "view": "standard"}) for rule in rules]
    assert [answer.status_code for answer in answers] == [202] * 4 + [409]
    assert kind_of(answers[-1]) == "too-many-versions"


def test_a_log_of_the_first_version_of_the_schema_is_brought_up_to_date(server, local, tmp_path):
    """Its model has one version, which has learned its rows after the last rebuild."""
    server("POST", "/v1/snapshot")
    server("DELETE", f"{MODEL}/examples/r3")
    teach(server, ROWS[400:450], 400)
    expected = file_of(server)
    server.stop()
    folder, old = tmp_path / "served", tmp_path / "old"
    (old / "models" / "1").mkdir(parents=True)
    for path in (folder / "models" / "1" / "1").glob("*.cw"):
        shutil.copy(path, old / "models" / "1" / path.name)
    db = apsw.Connection(str(old / "events.db"))
    db.execute(FIRST_SCHEMA)
    db.execute(f"ATTACH '{folder / 'events.db'}' AS now")
    columns = "m.number, name, settings, has_file, m.created, deleted"
    db.execute(f"INSERT INTO models SELECT {columns} FROM now.models m, now.versions")
    names = "seq, model, kind, id, example, features, label, weight, note, time"
    db.execute(f"INSERT INTO events({names}) SELECT {names} FROM now.events")
    db.execute("PRAGMA user_version = 1")
    db.close()
    again = local(old)
    assert file_of(again) == expected
    assert versions(again)[1]["state"] == "live" and versions(again)[1]["reason"] == "made"
    assert [path.name for path in (old / "models" / "1").iterdir()] == ["1"]
    assert again.engine.log.last_of(1, Event.PROMOTED) == 0
