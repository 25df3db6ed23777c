"""Demonstrations: rows come by themselves."""

import pytest

from tests.serve.running import threaded, wait_until


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of a demo as its server stops
def test_messages_come_and_some_are_labelled(tmp_path):
    with threaded(tmp_path / "trial", "--demo") as server, server.client() as client:
        wait_until(lambda: client.get("/v1/models/messages").json().get("rows", 0) > 20)
        assert client.get("/v1/models/messages").json()["to_label"] > 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_shop_decides_and_learns(tmp_path):
    with threaded(tmp_path / "trial", "--demo", "decisions") as server, server.client() as client:
        facts = lambda: client.get("/v1/models/shop").json().get("decisions", {"rewards": 0})  # noqa: E731
        wait_until(lambda: facts()["rewards"] > 1000)
        found = client.get("/v1/models/shop/evaluate?policy=baseline").json()
        assert found["logged"]["value"] > found["policies"][0]["high"]
