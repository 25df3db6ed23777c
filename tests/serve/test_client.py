"""The client of the server, against a server."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from confidently.serve import Client, client
from confidently.serve.client import ServerError
from tests.serve.running import running


@pytest.fixture
def spam(tmp_path):
    with running(tmp_path / "served") as server, Client(server.url, "spam") as found:
        found.create(classes=["ham", "spam"])
        yield found


def rows(n):
    return [{"features": {"word": f"w{k % 7}", "n": k}, "label": ("ham", "spam")[k % 2]} for k in range(n)]


def test_many_rows_are_sent_by_a_statement(spam):
    spam.learn_many(rows(20))
    assert [(one["features"], one["label"]) for one in spam.examples()] == [
        (r["features"], r["label"]) for r in rows(20)
    ]


def test_many_predictions_and_labels_are_sent_by_statements(spam):
    spam.learn_many(rows(20))
    spam.predict_many({"id": f"p-{k}", "features": {"word": "w1"}} for k in range(5))
    spam.label_many({"id": f"p-{k}", "label": "ham"} for k in range(5))
    assert [one["id"] for one in spam.examples()][20:] == [f"p-{k}" for k in range(5)]


def test_answers_are_in_the_order_of_the_rows_over_several_requests(spam, monkeypatch):
    monkeypatch.setattr(client, "ROWS_PER_REQUEST", 7)
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


def test_what_the_server_refuses_is_an_error(spam, tmp_path):
    spam.delete()
    for call in (spam.learn_many, spam.predict_many, spam.label_many):
        with pytest.raises(ServerError, match="There is no such model"):
            call(rows(1))
    with pytest.raises(ServerError, match="There is no such model"):
        list(spam.examples())


class Refusing(BaseHTTPRequestHandler):
    """Refuses the first requests with the statuses that are left, and answers all others."""

    left, bodies = (), ()

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        body = b'{"status":"durable"}' if not self.left else b'{"title":"Not now","detail":"why"}'
        self.send_response(self.left.pop(0) if self.left else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def refusing():
    """Makes servers that refuse at first; returns a client and the bodies that come."""
    servers = []

    def start(*statuses, patience=30.0):
        handler = type("Handler", (Refusing,), {"left": list(statuses), "bodies": []})
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{servers[-1].server_port}"
        return Client(url, "m", patience=patience), handler.bodies

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 507])
def test_what_the_server_cannot_do_now_is_sent_again(refusing, status):
    """As the same row: its id is chosen once."""
    spam, bodies = refusing(status, status)
    with spam:
        assert spam.learn({"a": 1}, "ham", weight=2.0) == {"status": "durable"}
    assert len(bodies) == 3 and len(set(bodies)) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_what_the_server_refuses_is_sent_once(refusing, status):
    spam, bodies = refusing(status)
    with spam, pytest.raises(ServerError, match="Not now: why") as caught:
        spam.learn({"a": 1}, "ham")
    assert (caught.value.status, len(bodies)) == (status, 1)


def test_patience_ends(refusing):
    spam, bodies = refusing(*[503] * 1000, patience=0.2)
    with spam, pytest.raises(ServerError, match="Not now"):
        spam.learn({"a": 1}, "ham")
    assert 1 < len(bodies) < 10
