"""The client of the server, against a server."""

import json
import re
import time
from contextlib import ExitStack, suppress
from datetime import date
from decimal import Decimal

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confidently.serve import Client, ServerError
from confidently.serve.client import requests
from confidently.serve.http.api import ROUTES
from tests.serve.running import answering, threaded


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with threaded(tmp_path_factory.mktemp("client") / "served") as found:
        yield found


@pytest.fixture
def spam(server):
    """The client of a new model."""
    with Client(server.url, "spam") as found:
        found.create(classes=["ham", "spam"])
        yield found
        with suppress(ServerError):  # if the test has deleted it
            found.delete()


def rows(n):
    return [{"features": {"word": f"w{k % 7}", "n": k}, "label": ("ham", "spam")[k % 2]} for k in range(n)]


def test_answers_are_in_the_order_of_the_rows_over_several_requests(spam, monkeypatch):
    monkeypatch.setattr(requests, "ROWS_PER_REQUEST", 7)
    given = [{"id": f"m-{k}"} | row for k, row in enumerate(rows(30))]
    given[10]["label"] = "eggs"
    receipts = spam.learn_many(iter(given))
    assert [one.get("id") for one in receipts] == [None if k == 10 else f"m-{k}" for k in range(30)]
    assert receipts[10]["status"] == 422
    again = spam.learn_many(given)
    assert [one.get("seq") for one in again] == [one.get("seq") for one in receipts], "ids make them the same rows"
    shown = spam.predict_many({"features": row["features"]} for row in rows(16))
    assert len(shown) == 16 and all(sum(one["probability"].values()) == pytest.approx(1) for one in shown)
    assert spam.learn_many([]) == spam.predict_many([]) == spam.label_many([]) == []


class Refusing:
    """Refuses the first requests with the statuses that are left, and answers all others."""

    def __init__(self, left, after=None, kind="other"):
        self.left, self.after, self.kind, self.bodies, self.paths = [*left], after, kind, [], []

    def __call__(self, handler, body):
        self.paths.append(handler.path)
        self.bodies.append(body)
        headers = {} if self.after is None else {"Retry-After": self.after}
        if not self.left:
            return 200, headers, b'{"status":"durable"}'
        problem = b'{"type":"urn:confidently:%s","title":"Not now","detail":"why"}' % self.kind.encode()
        return self.left.pop(0), headers, problem


@pytest.fixture
def asking():
    """Makes a client of what answers its requests."""
    with ExitStack() as stack:
        yield lambda answer, **options: Client(stack.enter_context(answering(answer)), "m", **options)


@pytest.fixture
def refusing(asking):
    """Makes servers that refuse at first; returns a client and what has come."""

    def start(*statuses, patience=30.0, **told):
        server = Refusing(statuses, **told)
        return asking(server, patience=patience), server

    return start


@pytest.mark.long("waits between three tries")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 507])
def test_what_the_server_cannot_do_now_is_sent_again(refusing, status):
    """As the same row: its id is chosen once."""
    spam, server = refusing(status, status)
    with spam:
        assert spam.learn({"a": 1}, "ham", weight=2.0) == {"status": "durable"}
    assert len(server.bodies) == 3 and len(set(server.bodies)) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_what_the_server_refuses_is_sent_once(refusing, status):
    spam, server = refusing(status)
    with spam, pytest.raises(ServerError, match="Not now: why") as caught:
        spam.learn({"a": 1}, "ham")
    assert (caught.value.status, len(server.bodies)) == (status, 1)


def test_patience_ends(refusing):
    spam, server = refusing(*[503] * 1000, patience=0.2)
    with spam, pytest.raises(ServerError, match="Not now"):
        spam.learn({"a": 1}, "ham")
    assert 1 < len(server.bodies) < 10


# --- all that the server does ----------------------------------------------------------------------------------------


# For Label Studio, for replicas, and for the page.
OTHERS = {route.name for route in ROUTES if route.name.startswith(("backend_", "personalizer_"))} | {
    "get_followed", "get_snapshot", "get_learned", "post_sample",
}  # fmt: skip


class Recording(httpx.HTTPTransport):
    """Notes the addresses and the parameters of what is sent."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def handle_request(self, request):
        for route in ROUTES:
            path = re.sub(r"\\\{(m|id)\\\}", r"[^/]+", re.escape(route.path))
            if route.method == request.method and re.fullmatch(path, request.url.raw_path.decode().partition("?")[0]):
                self.seen.setdefault(route.name, set()).update(request.url.params.keys())
        return super().handle_request(request)


def use_everything(spam, folder):
    """Call each method of a client with each of its parameters."""
    spam.create(classes=["ham", "spam"])
    tried = spam.try_many([*rows(2), {"features": {"word": "w1"}, "label": "eggs"}])
    assert (tried["rows"], tried["good"], spam.info()["rows"]) == (3, 2, 0)
    assert spam.try_many(rows(2), settings={"task": "numbers"})["good"] == 0
    spam.learn_many(rows(20), wait=True)
    spam.learn({"word": "w1"}, "ham", wait=True)
    question = {"word": "w1", "n": 3}
    asked = spam.predict(question, "p-1", coverage=0.9, max_risk=0.5, novelty=True, top_k=1)
    assert asked["id"] == "p-1" and len(asked["probability"]) == 1
    assert spam.explain(question, "ham")["predicted"] in ("ham", "spam")
    assert spam.label("p-1", "ham", park=True, wait=True)["status"] == "learned"
    assert spam.label("p-1", "spam", correct=True)["id"] == "p-1"
    assert spam.example("p-1")["label"] == "spam"
    every = {"text": "w1", "label": "spam", "predicted": "ham", "by": "ann", "state": "stored"}
    every |= {"batch": "b", "outcome": "any", "since": 0, "until": 2**40}
    assert spam.rows(before=2**50, limit=5, **every)["rows"] == [] and spam.facets(**every)
    assert len(spam.rows(limit=5)["rows"]) == 5 and spam.row("p-1")
    assert len(list(spam.examples(after=3, limit=5, vectors=True))) == 5 and not list(spam.set_aside(after=1, limit=2))
    spam.predict_many([{"id": "a/../ü?", "features": {"word": "x"}}, {"id": "..", "features": {"word": "y"}}])
    assert {row["id"] for row in spam.queue(5, "ann", seat="", hold=["..", "a/../ü?"])["rows"]} == {"..", "a/../ü?"}
    assert spam.answer("..", "ham", "ann")["id"] == ".." and spam.undo("..", "ann", seat="", second=False)["id"] == ".."
    assert spam.skip("a/../ü?", "ann", reason="unclear")["seq"] > 0
    assert len(list(spam.audit(after=0, limit=1))) == 1
    assert spam.example("a/../ü?")["features"] == {"word": "x"} and spam.erase("..")["id"] == ".."
    assert spam.metrics()["rows"] <= spam.info()["rows"]  # it learns meanwhile
    assert len(spam.label_studio_tasks("waiting", control="kind", target="body")) == 1
    task = {"data": {"word": "w1", "n": 5}, "annotations": []}
    assert spam.import_label_studio([task], columns=["word"], control="kind")["rows"] == 0
    assert len(spam.prodigy_records("learned", text="word")) == len(list(spam.examples()))
    assert spam.import_prodigy([{"text": "w1", "answer": "ignore"}], text="word")["skipped"] == 1
    own = spam.contribution()
    with pytest.raises(ServerError, match="of this model itself"):
        spam.merge(own, wait=True)
    spam.create(classes=["ham", "spam"], prior_variance=2.0)
    assert [one["version"] for one in spam.versions()] == [2, 1]
    assert spam.promote(2, wait=True)["state"] == spam.rollback(wait=True)["state"] == "live"
    assert spam.retire(2)["state"] == "retired" and spam.rebuild(wait=True)["state"] == "live"
    assert [one["batch"] for one in spam.batches()] == [spam.batch]
    edit = spam.take_out(wait=True)["edit"]
    assert spam.info()["rows"] == 0 and [one["batch"] for one in spam.edits()] == [spam.batch]
    spam.revert(edit, wait=True)
    assert spam.info()["rows"] == 23
    assert [one["name"] for one in spam.models()] == [one["name"] for one in next(spam.events())] == ["spam"]
    assert spam.snapshot().keys() == {"spam"} and spam.backup("first").endswith("first")
    spam.download(folder / "spam.cw")
    spam.delete()
    assert spam.upload(folder / "spam.cw")["name"] == "spam"
    spam.delete()
    spam.create()
    spam.learn_many([{"features": {"n": 1}, "label": label} for label in ("ham", "eggs", "spam")], wait=True)
    spam.rename_class("ham", "egg", wait=True)
    spam.remove_class("eggs", wait=True)
    assert {one["label"] for one in spam.examples()} == {"egg", "spam"}


def decide_everything(shop):
    """Call each method about decisions."""
    shop.create(task="decisions")
    found = shop.decide({"who": "fan"}, ["news", {"id": "sport", "features": {"live": True}}], "visit-1", deferred=True)
    assert found["chosen"] in ("news", "sport")
    assert shop.activate("visit-1")["id"] == "visit-1"
    assert shop.reward("visit-1", 1, wait=True)["status"] == "learned"
    both = shop.decide(None, ["a", "b", "c"], "page", excluded=["c"], slots=[{"id": "top"}, {"id": "side"}])
    requests = [{"actions": ["a", "b"], "context": {"n": np.int64(k)}, "id": f"many-{k}"} for k in range(3)]
    many = shop.decide_many([*requests, {"actions": []}, {"actions": ["a"], "context": None}])
    assert [one.get("status", one.get("id")) for one in many[:4]] == ["many-0", "many-1", "many-2", 422]
    assert many[0] == shop.decide({"n": 0}, ["a", "b"], "many-0") and many[4]["chosen"] == "a"
    given = [*({"id": one["id"], "reward": 0.5} for one in both["slots"]), {"id": "none", "reward": 1}]
    assert [one["status"] for one in shop.reward_many(given)] == ["durable", "durable", 404]
    found = shop.evaluate(["baseline", "lin_ucb:alpha=0.5"], periods=2, reward_range=(-1, 2.5))
    assert [one["policy"] for one in found["policies"]] == ["baseline", "lin_ucb:alpha=0.5"]


@pytest.mark.long("every route of the server")
def test_the_client_does_all_that_the_server_does(tmp_path):
    """Every route is used, with every parameter, by a method."""
    recording = Recording()
    with threaded(tmp_path / "served") as server:
        with Client(server.url, "spam", transport=recording) as spam:
            use_everything(spam, tmp_path)
        with Client(server.url, "shop", transport=recording) as shop:
            decide_everything(shop)
    assert recording.seen == {
        route.name: {name for name, _ in route.query} for route in ROUTES if route.name not in OTHERS
    }


@pytest.mark.long("a server of its own")
def test_what_is_asked_for_is_sent_at_once(spam):
    """Nothing waits for an iterator to be consumed."""
    spam.learn_many(row for row in rows(30))
    spam.examples()
    spam.delete()
    for call in (spam.examples, spam.set_aside):
        with pytest.raises(ServerError, match="There is no such model"):
            call()


def test_exports_are_read_in_pages(spam, monkeypatch):
    monkeypatch.setattr(requests, "ROWS_PER_PAGE", 7)
    spam.learn_many(rows(30))
    found = list(spam.examples())
    assert [one["features"]["n"] for one in found] == list(range(30))
    assert [one["features"]["n"] for one in spam.examples(limit=14)] == list(range(14))
    assert [one["features"]["n"] for one in spam.examples(after=found[9]["seq"], limit=8)] == list(range(10, 18))


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.long("a batch taken out, trained from the log")
def test_each_client_has_a_batch_of_its_own(spam):
    url = spam._server._http.base_url
    with Client(url, "spam") as other, Client(url, "spam", batch=None) as no:
        assert re.fullmatch(r"client-\d{4}-\d\d-\d\d-[0-9a-f]{8}", spam.batch) and other.batch != spam.batch
        spam.learn_many(rows(10))
        other.learn({"word": "wrong"}, "ham")
        no.learn({"word": "kept"}, "spam")
        no.predict({"word": "later"}, "p-1")
        other.label("p-1", "spam")
        assert {one["batch"]: one["rows"] for one in spam.batches()} == {spam.batch: 10, other.batch: 2}
        other.take_out(wait=True)
        assert [one["features"]["word"] for one in spam.examples()][10:] == ["kept"]
        with pytest.raises(ValueError, match="no batch of its own"):
            no.take_out()


# --- what rows may be ------------------------------------------------------------------------------------------------

VALUES = {
    "half": np.float32(0.5), "count": np.int64(3), "flag": np.bool_(True), "word": np.str_("tea"), "nan": float("nan"),
    "none": None, "gone": pd.NA, "never": pd.NaT, "list": np.array([1, 2]), "deep": {"a": (np.float64(1.0),)},
    "day": date(2026, 1, 2), "moment": pd.Timestamp("2026-01-02 03:04"), "price": Decimal("1.25"),
}  # fmt: skip
SENT = {
    "half": 0.5, "count": 3, "flag": True, "word": "tea", "nan": None, "none": None, "gone": None, "never": None,
    "list": [1, 2], "deep": {"a": [1.0]}, "day": "2026-01-02", "moment": "2026-01-02T03:04:00", "price": 1.25,
}  # fmt: skip


@pytest.mark.long("a server of its own")
def test_values_are_sent_as_confidently_reads_them(spam):
    spam.learn(VALUES, np.str_("ham"))
    spam.learn_many([{"features": VALUES, "label": "ham"}])
    spam.predict(VALUES, "p-1")
    assert [one["features"] for one in spam.examples()] == [SENT, SENT]
    assert spam.example("p-1")["features"] == SENT


@pytest.mark.long("a server for each value")
@pytest.mark.parametrize(
    ("value", "message"), [(float("inf"), "'n' is inf"), (b"x", "'n' holds a bytes"), (object(), "'n' holds a object")]
)
def test_values_without_a_counterpart_are_refused(spam, value, message):
    for call in (lambda f: spam.learn(f, "ham"), spam.predict, spam.explain):
        with pytest.raises((TypeError, ValueError), match=message):
            call({"n": value})
    for call in (spam.learn_many, spam.predict_many):
        with pytest.raises((TypeError, ValueError), match=f"row 2: {message}"):
            call([{"features": {"n": 1}, "label": "ham"}, {"features": {"n": value}, "label": "ham"}])
    with pytest.raises(TypeError, match="expected a dict, got 7"):
        spam.predict(7)
    with pytest.raises(TypeError, match="row 1: expected a dict, got 'word'"):
        spam.learn_many(["word"])


def frames():
    columns = {"word": ["a", None], "n": [1.0, float("nan")], "class": ["ham", "spam"], "key": [1, 2], "w": [2.0, 1.0]}
    found = pd.DataFrame(columns)
    tables = {"pandas": found, "polars": pl.DataFrame(columns), "arrow": pa.table(columns)}
    return tables | {"dicts": found.to_dict("records")}


@pytest.mark.long("a server for each kind of table")
@pytest.mark.parametrize("kind", frames())
def test_tables_are_rows(spam, kind):
    given = frames()[kind]
    receipts = spam.learn_many(given, label="class", id="key", weight="w")
    assert [one["id"] for one in receipts] == ["1", "2"]
    found = list(spam.examples())
    assert [(one["features"], one["label"], one["weight"]) for one in found] == [
        ({"word": "a", "n": 1.0}, "ham", 2.0), ({"word": None, "n": None}, "spam", 1.0)
    ]  # fmt: skip
    if kind != "dicts":
        for call in (spam.learn_many, spam.try_many):
            with pytest.raises(ValueError, match="name its column of labels"):
                call(given)
        asked = spam.predict_many(given, id="key")
        assert [one["type"] for one in asked] == ["urn:confidently:other-content"] * 2, "there are rows with these ids"
    with pytest.raises(ValueError, match="row 1: there is no column 'klass'; the columns are word, n, class, key, w"):
        spam.learn_many(given, label="klass")


def test_labels_of_columns_with_missing_ones_are_whole_numbers(server):
    with Client(server.url, "m") as model:
        model.create()
        told = model.learn_many(pd.DataFrame({"n": [1, 2, 3], "y": [0.0, 1.0, None]}), label="y")
        assert [one.get("status") for one in told] == ["durable", "durable", 422]
        assert [one["label"] for one in model.examples()] == [0, 1]


# --- requests that are repeated --------------------------------------------------------------------------------------


@pytest.mark.long("waits for a second")
def test_the_server_may_ask_for_a_longer_pause(refusing):
    spam, server = refusing(503, after="1")
    began = time.monotonic()
    with spam:
        spam.learn({"a": 1}, "ham")
    assert len(server.bodies) == 2 and time.monotonic() - began >= 1.0
    spam, server = refusing(503, after="1000")
    with spam, pytest.raises(ServerError, match="Not now"):
        spam.learn({"a": 1}, "ham")
    assert len(server.bodies) == 1, "patience is shorter than that"


def test_what_would_be_done_twice_is_not_sent_again(refusing):
    """An answer that was lost may be that of a rollback, which the next one would roll back."""
    for status in (500, 502, 503, 504, 507):
        spam, server = refusing(status)
        with spam, pytest.raises(ServerError, match="Not now"):
            spam.rollback()
        assert len(server.bodies) == 1
    spam, server = refusing(503, kind="overloaded")
    with spam:
        assert spam.rollback() == {"status": "durable"}
    assert len(server.bodies) == 2, "the server says that it has done nothing"


def test_the_path_of_a_proxy_is_kept(refusing):
    spam, server = refusing()
    for base in ("/base", "/base/"):
        with Client(f"{str(spam._server._http.base_url).rstrip('/')}{base}", "m") as below:
            below.learn({"a": 1}, "ham")
    assert [path.partition("?")[0] for path in server.paths] == ["/base/v1/models/m/learn"] * 2


@pytest.fixture
def ending(asking):
    """Makes servers that answer the first requests for some of their lines only, and then say why they end."""

    def start(problem):
        bodies = []

        def answer(handler, body):
            bodies.append(body.splitlines())
            told = [b'{"id":"%d"}' % json.loads(line)["features"]["n"] for line in bodies[-1]]
            return 200, {}, b"".join(b"%s\n" % line for line in ([*told[:2], problem] if len(bodies) < 3 else told))

        return asking(answer, patience=5.0), bodies

    return start


def test_rows_without_an_answer_are_sent_again(ending):
    """A server that stops ends its answer; the rows after that were not learned, or are known by their ids."""
    spam, bodies = ending(b'{"status":503,"title":"The server is stopping"}')
    with spam:
        told = spam.learn_many(rows(7))
    assert [one["id"] for one in told] == [str(k) for k in range(7)]
    assert [len(body) for body in bodies] == [7, 5, 3]
    assert bodies[1] == bodies[0][2:] and bodies[2] == bodies[1][2:]
    spam, bodies = ending(b'{"status":404,"title":"There is no such model","detail":"it was deleted"}')
    with spam, pytest.raises(ServerError, match="There is no such model: it was deleted"):
        spam.learn_many(rows(7))
    assert len(bodies) == 1
