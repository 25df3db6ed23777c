"""The client of the server, against a server."""

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
