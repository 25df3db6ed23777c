"""Erased rows: their content is gone, and what the model has learned of them outlives a kill."""

import threading

from confidently.serve.engine.requests import Request
from confidently.serve.log.event_log import EventLog
from confidently.serve.model.version import Version
from confidently.serve.work.erasing import erase
from confidently.serve.work.versions import train_again
from tests.serve.running import teach as teach_over_http
from tests.serve.running import wait_until
from tests.serve.test_rebuild import ask, model_file, teach
from tests.serve.test_rebuild import trained as trained_on_export

MODEL = "/v1/models/m"


def test_nobody_gets_an_erased_row_before_it_is_overwritten(with_model, monkeypatch):
    server = with_model({"view": "none"})
    secret = {"id": "m-1", "features": {"name": "secret"}, "label": "ham"}
    assert server("POST", f"{MODEL}/learn?wait=learned", secret).status_code == 200
    teach_over_http(server, [({}, "spam")])
    assert server("POST", f"{MODEL}/predict", {"id": "p-1", "features": {"name": "secret"}}).status_code == 200
    monkeypatch.setattr(EventLog, "overwrite", lambda log, example: None)
    for id in ("m-1", "p-1"):
        assert server("DELETE", f"{MODEL}/examples/{id}").status_code == 200
        assert server("GET", f"{MODEL}/examples/{id}").status_code == 410
        assert server("POST", f"{MODEL}/labels", {"id": id, "label": "ham", "correct": True}).status_code == 410
    for path in ("examples", "queue?n=10"):
        assert "secret" not in server("GET", f"{MODEL}/{path}").text
    number = server.engine.find("m").number
    for id in ("m-1", "p-1"):
        stored = ask(server.engine, Request(lambda log, request, id=id: log.find(number, id)))
        assert (stored.features, stored.label, stored.note) == (None, None, None)


def test_no_file_of_the_log_has_what_was_erased(local, tmp_path):
    """While the server runs, too: of short rows and of long ones, learned, predicted, labelled and answered."""
    server, secret = local(), "4711-secret"
    server("PUT", MODEL, {"view": "none"})
    rows = {"short": secret, "..": f"{secret} " * 2000}
    for id, name in rows.items():
        row = {"id": id, "features": {"a": 1, "name": name}, "label": "ham"}
        assert server("POST", f"{MODEL}/learn?wait=learned", row).status_code == 200
        row = {"id": f"p-{id}", "features": {"a": 2, "name": name}}
        assert server("POST", f"{MODEL}/predict", row).status_code == 200
    assert server("POST", f"{MODEL}/labels?wait=learned", {"id": "p-..", "label": "spam"}).status_code == 200

    def found():
        files = [path for path in (tmp_path / "served").rglob("*") if path.is_file()]
        return {path.suffix == ".cw" for path in files if secret.encode() in path.read_bytes()}

    assert found()
    for id in rows:
        erased = server("DELETE", f"{MODEL}/examples/{id.replace('.', '%2E')}")
        assert erased.status_code == 200 and "keeps what it learned" in erased.json()["influence"]
        assert server("DELETE", f"{MODEL}/examples/p-{id}").status_code == 200
    assert found() == {True}, "models know the names of features"
    teach_over_http(server, [({"a": 1}, "ham"), ({"a": 2}, "spam")])
    assert server("POST", f"{MODEL}/rebuild?wait=live").status_code == 200
    assert found() == set()
    server.stop()
    assert found() == set()


def test_a_row_that_is_erased_during_a_rebuild(engines, tmp_path, monkeypatch, capsys):
    engine, hosted = engines()
    teach(engine, hosted, range(4000))
    begun, erased, original = threading.Event(), threading.Event(), Version.learn

    def learn(*arguments, **options):
        original(*arguments, **options)
        begun.set()
        erased.wait()

    monkeypatch.setattr(Version, "learn", learn)
    number = engine.submit(train_again(engine, hosted, "again").blocking()).answer()
    begun.wait()
    seq = erase(engine, hosted, "r3")
    erased.set()
    wait_until(lambda: hosted.live.number == number)
    assert hosted.live.stored.begun >= seq, "the row was erased before the training had an end"
    assert model_file(engine, hosted, tmp_path / "last.cw") == trained_on_export(engine, hosted, tmp_path)
