"""Alarms: recent rows are worse than those before; they are rare where nothing has changed, and sent to webhooks."""

import hashlib
import hmac
import json
import random
import threading

import msgspec
import pytest

from confidently.serve.engine import webhooks
from confidently.serve.engine.alarming import changed_alarms
from confidently.serve.model.alarms import KINDS, Alarm, Alarms
from tests.serve.running import answering, measured, post_lines, refused, threaded, wait_until

MODEL = "/v1/models/m"


def rows(n, wrong, seed=0):
    """Rows whose label is the sign of a number, except for a fraction."""
    chance = random.Random(seed)
    for _ in range(n):
        x = chance.gauss(0, 1)
        yield {"features": {"x": x}, "label": "up" if (x > 0) != (chance.random() < wrong) else "down"}


def learned(alarms, n, error, chance, each=25):
    """Learn rows whose predictions have probabilities that fit the first error."""
    for _ in range(n // each):
        mistakes = sum(chance.random() < error for _ in range(each))
        alarms.learned(each, (mistakes, 2.5 * mistakes + 0.05 * (each - mistakes)))


# --- when there is one -----------------------------------------------------------------------------------------------


STREAMS = {  # errors, and how many rows have each
    **{f"error {error}": [(error, 30_000)] for error in (0.02, 0.1, 0.4)}, "better rows": [(0.3, 8000), (0.01, 4000)],
    "a model that learns": [(0.05 + 0.4 / (1.0 + k / 4.0), 100) for k in range(300)],
}  # fmt: skip


@pytest.mark.parametrize("parts", STREAMS.values(), ids=STREAMS)
def test_there_is_no_alarm_where_nothing_becomes_worse(parts):
    raised = 0
    for seed in range(6):
        alarms, chance = Alarms(), random.Random(seed)
        for error, n in parts:
            learned(alarms, n, error, chance)
        raised += alarms.raised
    assert raised <= 1


def test_an_alarm_begins_where_rows_become_worse_and_ends_when_that_is_usual():
    alarms, chance = Alarms(), random.Random(1)
    learned(alarms, 8000, 0.05, chance)
    assert alarms.now() == []
    learned(alarms, 1000, 0.2, chance)
    assert {alarm.kind for alarm in alarms.now()} == {"error", "log-loss"} and alarms.raised == 2
    [error] = [alarm for alarm in alarms.now() if alarm.kind == "error"]
    assert "in the last 1,000 rows" in error.detail and error.since > 1e9
    learned(alarms, 9000, 0.2, chance)
    assert alarms.now() == [] and alarms.raised == 2


def test_sets_that_miss_classes_are_an_alarm():
    alarms, chance = Alarms(), random.Random(3)
    for _ in range(200):
        alarms.sampled([chance.random() < 0.9 for _ in range(64)])
    assert alarms.raised == 0
    for _ in range(8):
        alarms.sampled([chance.random() < 0.7 for _ in range(64)])
    assert [alarm.kind for alarm in alarms.now()] == ["coverage"]


def test_a_martingale_that_has_rung_is_an_alarm_for_a_thousand_rows():
    alarms = Alarms()
    alarms.ordered(0, 500)
    assert alarms.now() == []
    for quiet in (3, 999):
        alarms.ordered(1, quiet)
    assert [alarm.kind for alarm in alarms.now()] == ["order"] and alarms.raised == 1
    alarms.ordered(1, 1000)
    assert alarms.now() == []


@pytest.mark.parametrize("n", [1, 100, 4096])
def test_many_rows_at_once_count_as_many(n):
    alarms = Alarms()
    for _ in range(8192 // n):
        alarms.learned(n, (n // 10, 0.3 * n))
    state = alarms.as_dict()
    assert all(part == pytest.approx([n // 10 / n, 0.3]) for part in state["parts"])
    assert len(state["parts"]) == min(8192 // n * n // 100, 60)


def test_a_state_is_kept_as_json():
    alarms, chance = Alarms(), random.Random(4)
    learned(alarms, 5000, 0.05, chance)
    learned(alarms, 1050, 0.3, chance)
    alarms.sampled([True, False])
    again = Alarms(msgspec.json.decode(msgspec.json.encode(alarms.as_dict())))
    assert again.now() == alarms.now() != []
    assert again.as_dict() == alarms.as_dict()
    for one in (alarms, again):
        one.learned(1000, (20, 30.0))
    assert again.as_dict() == alarms.as_dict()


# --- where it is seen ------------------------------------------------------------------------------------------------


def drifted(client):
    """Teach a model rows whose labels become others."""
    client.put(MODEL, json={"view": "none", "classes": ["down", "up"]})
    for some in (rows(4000, 0.05), rows(800, 0.6, seed=1)):
        post_lines(client.request, f"{MODEL}/learn?wait=learned", some)


def test_alarms_are_in_facts_metrics_and_for_prometheus(tmp_path):
    with threaded(tmp_path / "served") as server, server.client() as client:
        drifted(client)
        facts = client.get(MODEL).json()["alarms"]
        assert {"error", "log-loss"} <= {one["kind"] for one in facts}
        assert client.get(f"{MODEL}/metrics").json()["alarms"] == facts
        shown = {key[1]: value for key, value in measured(client.request).items() if key[0] == "confidently_alarm"}
        assert shown == {kind: float(kind in {one["kind"] for one in facts}) for kind in Alarms().kinds}
        assert server.stop() == 0
    with threaded(tmp_path / "served") as server, server.client() as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert client.get(MODEL).json()["alarms"] == facts, "also after a restart"


@pytest.mark.long("5,000 rows")
def test_an_alarm_is_an_event(tmp_path):
    with threaded(tmp_path / "served") as server, server.client() as client:
        client.put(MODEL, json={"view": "none", "classes": ["down", "up"]})
        with client.stream("GET", "/v1/events") as events:
            told = events.iter_lines()
            next(line for line in told if line.startswith("data: "))
            teaching = threading.Thread(target=drifted, args=(client,))
            teaching.start()
            name = next(line for line in told if line == "event: alarm")
            found = json.loads(next(told).removeprefix("data: "))
            teaching.join()
    assert name and found["status"] == "raised" and found["model"] == "m" and found["kind"] in KINDS


def test_alarms_that_began_and_ended_are_told_once():
    first, second = Alarm("error", 1.0, "x"), Alarm("error", 5.0, "y")
    assert changed_alarms({("m", "error"): first}, {("m", "error"): first}) == []
    [began] = changed_alarms({}, {("m", "error"): first})
    assert began == {"status": "raised", "model": "m", "kind": "error", "since": 1.0, "time": 1.0, "detail": "x"}
    ended, again = changed_alarms({("m", "error"): first}, {("m", "error"): second})
    assert (ended["status"], ended["since"]) == ("ended", 1.0) and (again["status"], again["since"]) == ("raised", 5.0)


# --- webhooks --------------------------------------------------------------------------------------------------------

SECRET = b"a secret of many bytes"


@pytest.mark.long("waits for six messages, and thousands of rows")
def test_alarms_are_sent_signed_and_again_until_they_arrive(tmp_path):
    (tmp_path / "secret").write_bytes(SECRET + b"\n")
    elsewhere, found, answers = [], [], [(500, {}), (429, {})]

    def receive(handler, body):
        status, headers = answers.pop(0) if answers else (204, {})
        found.append((handler.path, dict(handler.headers), body, status))
        return status, headers, b""

    with answering(lambda *told: elsewhere.append(told) or (204, {}, b"")) as other, answering(receive) as url:
        answers.insert(1, (307, {"Location": f"{other}/other"}))
        options = ("--webhook", f"{url}/hook?a=1", "--webhook-secret-file", tmp_path / "secret")
        with threaded(tmp_path / "served", *options, limits={"engine.webhooks.FIRST_PAUSE": 0.05}) as server:
            with server.client() as client:
                drifted(client)
                kinds = {alarm["kind"] for alarm in client.get(MODEL).json()["alarms"]}
                wait_until(lambda: sum(status == 204 for *_, status in found) >= len(kinds))
            assert server.stop() == 0
    assert any("an alarm is not sent to 127.0.0.1" in line for line in server.told)
    assert elsewhere == [], "redirects are not followed"
    bodies = [json.loads(body) for _, _, body, _ in found]
    assert bodies[:4] == [bodies[0]] * 4, "the same until it arrives, then the next"
    assert kinds <= {one["kind"] for one in bodies}
    for path, headers, body, _ in found:
        assert path == "/hook?a=1" and headers["Content-Type"] == "application/json"
        signed = headers["Confidently-Timestamp"].encode() + b"." + body
        assert headers["Confidently-Signature"] == "sha256=" + hmac.new(SECRET, signed, hashlib.sha256).hexdigest()


@pytest.mark.long("5,000 rows")
def test_a_webhook_that_does_not_answer_delays_nothing(tmp_path):
    asked, done = threading.Event(), threading.Event()
    hang = lambda handler, body: asked.set() or (done.wait() and (204, {}, b""))  # noqa: E731
    with answering(hang) as url, threaded(tmp_path / "served", "--webhook", url) as server, server.client() as client:
        drifted(client)
        wait_until(asked.is_set)
        told = post_lines(client.request, f"{MODEL}/learn?wait=learned", rows(100, 0.1))
        assert {one["status"] for one in told} == {"learned"}
        assert client.post(f"{MODEL}/predict", json={"features": {"x": 1}}).status_code == 200
        assert server.stop() == 0
        done.set()


@pytest.mark.parametrize("url", [
    "ftp://host/x", "host/x", "https://", "http://user:pw@host/", "http://host:99999/", "http://host/#x", "",
    "http://127.0.0.1:9/", None,
])  # fmt: skip
def test_webhooks_that_cannot_be_are_refused(tmp_path, url):
    """Of wrong addresses, with a secret that is short, and none beside a secret."""
    (tmp_path / "secret").write_text("short\n")
    right = url == "http://127.0.0.1:9/"
    secret = ["--webhook-secret-file", tmp_path / "secret"] if right or url is None else []
    status, told = refused(tmp_path / "served", *([] if url is None else ["--webhook", url]), *secret)
    assert status != 0 and (f"at least {webhooks.MIN_SECRET} bytes, got 5" if right else "--webhook") in told
