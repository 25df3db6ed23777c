"""Rows over HTTP: predict, learn, label, correct, park, erase, export; every id is used once."""

import json
import threading

import pytest

from confidently.serve.engine.requests import Request
from confidently.serve.http.handlers import stored
from confidently.serve.waiting import Limits
from tests.serve.rows import made, trained
from tests.serve.running import NDJSON, kind_of, lines_of, post_lines, wait_until


def asking(server):
    """Make a model, and return what asks a server about it by the last part of the address."""
    assert server("PUT", "/v1/models/spam", {"view": "none"}).status_code == 201

    def ask(method, path, body=None, **options):
        return server(method, f"/v1/models/spam{path}", body, **options)

    ask.server = server
    return ask


@pytest.fixture
def spam(local):
    return asking(local())


def row(id=None, label="ham", **features):
    found = {"features": features or {"a": 1}, "label": label}
    return found if id is None else found | {"id": id}


def question(id, **features):
    return {"id": id, "features": features or {"a": 1}}


def exported(ask):
    return [(one["id"], one["features"], one["label"], one["weight"]) for one in lines_of(ask("GET", "/examples"))]


# --- learn -----------------------------------------------------------------------------------------------------------


def test_the_header_idempotency_key_stands_for_an_id(spam):
    sent = [spam("POST", "/learn", row(a=k), headers={"Idempotency-Key": f"k{k // 2}"}) for k in (0, 0, 2)]
    assert [answer.json()["id"] for answer in sent] == ["k0", "k0", "k1"]
    assert kind_of(spam("POST", "/learn", row(a=9), headers={"Idempotency-Key": "k0"})) == "other-content"
    assert spam("POST", "/learn", row("mine"), headers={"Idempotency-Key": "k0"}).json()["id"] == "mine"
    assert kind_of(spam("POST", "/learn", row(), headers={"Idempotency-Key": "k" * 257})) == "invalid-parameter"


def test_an_id_that_looks_like_the_servers_own_is_not_given_again(spam):
    given = spam("POST", "/learn", row()).json()["id"]
    prefix, _, number = given.rpartition("-")
    taken = f"{prefix}-{int(number) + 1}"
    assert spam("POST", "/learn", row(taken)).status_code == 200
    assert spam("POST", "/learn", row()).json()["id"] not in (given, taken)


def test_a_row_that_is_sent_again_is_not_called_learned_before_it_is(spam):
    release, sent = threading.Event(), row("m-1", a=1)
    spam.server.engine.ask(Request(lambda log, request: release.wait()))  # of the thread that learns
    try:
        assert spam("POST", "/learn", sent).json()["status"] == "durable"
        assert spam("POST", "/learn?wait=learned", sent).json()["status"] == "durable"
    finally:
        release.set()
    wait_until(lambda: spam("POST", "/learn?wait=learned", sent).json()["status"] == "learned")


@pytest.mark.parametrize("features", [
    50_000, pytest.param(1_000_000, marks=pytest.mark.long("a million features")), {"text": "w " * 1_000_000},
    {"<script>alert(1)</script>": "<img src=x onerror=alert(1)>"}, {"": 1, " ": 2, "é\u2028": "\u202e"}, {},
], ids=["features", "many features", "text", "html", "odd", "empty"])  # fmt: skip
def test_a_row_of_any_size_within_the_limit_is_kept_as_it_is(spam, features):
    if isinstance(features, int):
        features = {f"{k}": 1 for k in range(features)}
    assert spam("POST", "/learn?wait=learned", row("m", **{}) | {"features": features}).status_code == 200
    [(_, found, _, _)] = exported(spam)
    assert found == features


# --- predict, label --------------------------------------------------------------------------------------------------


def test_a_prediction_without_an_id_is_not_kept(spam):
    answer = spam("POST", "/predict", {"features": {"a": 1}}).json()
    assert (answer["id"], answer["label"], answer["probability"], answer["ask"]) == (None, None, {}, True)
    assert spam("GET", "/queue").json()["rows"] == []


def test_labels_that_are_numbers_and_sets(with_model):
    server = with_model()
    for label in (1, True, "1"):
        assert server("POST", "/v1/models/m/learn", row("one", label)).status_code == 200
    server("POST", "/v1/models/m/learn?wait=learned", row("two", 0, a=-1))
    assert server("GET", "/v1/models/m").json()["classes"] == ["0", "1"]
    server("PUT", "/v1/models/sets", {"multilabel": True})
    for label in (["a", "b"], ["b", "a"]):
        assert server("POST", "/v1/models/sets/learn", row("one", label)).status_code == 200
    assert server("POST", "/v1/models/sets/learn?wait=learned", row("none", [], a=2)).status_code == 200
    assert server("POST", "/v1/models/sets/predict", {"features": {"a": 1}}).json()["label"] == ["a", "b"]


def test_several_instances_are_answered_in_their_order_and_a_bad_one_alone(spam):
    spam("POST", "/learn", row("m-0", "ham", a=1))
    spam("POST", "/learn?wait=learned", row("m-1", "spam", a=-1))
    instances = [{"features": {"a": 1}}, {"features": {"a": [[1e200]]}}, {"features": {"a": -1}, "id": "q"}]
    found = spam("POST", "/predict", {"instances": instances}).json()["predictions"]
    assert [one.get("label", one.get("status")) for one in found] == ["ham", 422, "spam"]
    assert found[1]["pointer"] == "/instances/1/features"


# --- many rows -------------------------------------------------------------------------------------------------------


def test_of_many_lines_a_bad_one_fails_alone(spam, tmp_path):
    rows = made(1500)
    lines = [json.dumps(row(f"m-{k}", label, **features)) for k, (features, label) in enumerate(rows)]
    lines[700:700] = ["rubbish", "", '{"features": {"a": NaN}}', json.dumps(row("m-0", "other"))]
    answer = spam("POST", "/learn?wait=learned", content="\n".join(lines), headers=NDJSON)
    assert answer.headers["content-type"] == NDJSON["Content-Type"]
    told = lines_of(answer)
    assert len(told) == 1503, "a line for each but the empty one"
    assert [one["status"] for one in told[700:703]] == [400, 400, 422]
    assert [one["id"] for one in told[:700] + told[703:]] == [f"m-{k}" for k in range(1500)]
    assert {one["status"] for one in told[:700] + told[703:]} == {"learned"}
    assert spam("GET", "/file").content == trained(tmp_path, rows, "--view", "none")
    found = post_lines(spam, "/predict", [*({"id": f"q-{k}", "features": {"a": k}} for k in range(600)), []])
    assert [one.get("id") for one in found] == [*(f"q-{k}" for k in range(600)), None]
    told = post_lines(spam, "/labels", [{"id": f"q-{k}", "label": "ham"} for k in (*range(600), 999)])
    assert [one["status"] for one in told] == ["durable"] * 600 + [404]


# --- export, erasure, expiry -----------------------------------------------------------------------------------------


def test_the_export_goes_on_after_erased_rows(spam, monkeypatch):
    monkeypatch.setattr(stored, "ROWS_PER_CHUNK", 2)
    for k in range(7):
        spam("POST", "/learn", row(f"m-{k}"))
    for k in (1, 2, 3):
        assert spam("DELETE", f"/examples/m-{k}").status_code == 200
    assert [one["id"] for one in lines_of(spam("GET", "/examples"))] == ["m-0", "m-4", "m-5", "m-6"]
    assert [one["id"] for one in lines_of(spam("GET", "/examples?limit=3"))] == ["m-0", "m-4", "m-5"]


def test_a_prediction_expires_and_its_row_may_come_again(local, moved):
    """Unless it was erased: its id stays used."""
    ask = asking(local(limits=Limits(keep_predictions=60.0)))
    for id in ("late", "again", "asked", "gone"):
        ask("POST", "/predict", question(id, text=f"{id} secret"))
    ask("POST", "/predict", question("labelled"))
    ask("POST", "/labels", {"id": "labelled", "label": "ham"})
    assert ask("DELETE", "/examples/gone").status_code == 200
    moved[0] = 61_000
    assert kind_of(ask("POST", "/labels", {"id": "late", "label": "ham"})) == "expired"
    assert ask("POST", "/learn", row("again", text="again secret")).status_code == 200
    assert ask("POST", "/predict", question("asked", other=1)).status_code == 200
    assert ask("POST", "/labels", {"id": "labelled", "label": "ham"}).status_code == 200
    assert kind_of(ask("POST", "/learn", row("gone", text="gone secret"))) == "other-content"
    answer = ask("POST", "/labels", {"id": "gone", "label": "ham"})
    assert kind_of(answer) == "expired" and "was erased" in answer.json()["detail"]
    assert [one["id"] for one in lines_of(ask("GET", "/examples"))] == ["labelled", "again"]
    assert "late" not in [one["id"] for one in ask("GET", "/queue").json()["rows"]]


def test_predictions_are_kept_for_seconds(local, moved):
    limits = Limits(keep_predictions=60.0)
    server = local(limits=limits)
    asking(server)("POST", "/predict", question("early"))
    moved[0] = 30_000
    server.stop()
    server = local(limits=limits)  # which looks at once for what has expired
    server("POST", "/v1/models/spam/predict", question("late"))
    assert server("POST", "/v1/models/spam/labels", {"id": "early", "label": "ham"}).status_code == 200
