"""Models with an encoder: rows hold texts, and the log their vectors."""

import asyncio
import json
import threading

import numpy as np
import pytest

from confidently import OnlineClassifier, encoders, load
from confidently.encoders import KNOWN, PROBES, Known
from confidently.samples.tickets import tickets
from confidently.serve.log.vectors import KEY, vector_in, with_vector, without_vector
from confidently.serve.offline import check
from confidently.serve.problems import Problem
from confidently.serve.sources.demo import Heads
from tests.encoders import Vectors
from tests.serve.running import NDJSON, as_lines, lines_of, post_lines, wait_until

ROWS = [{"features": {"text": row["text"], "site": row["site"]}, "label": row["team"]} for row in tickets(200)]
TEXTS = [row["features"]["text"] for row in ROWS]
MODEL = "/v1/models/teams"


class Source(Vectors):
    """An encoder that may be taken away, and that may wait."""

    def __init__(self):
        super().__init__()
        self.gone, self.go = False, threading.Event()
        self.go.set()

    def load(self):
        if self.gone:
            raise ImportError("No module named 'made'")
        return self.encode

    def encode(self, texts):
        assert self.go.wait(60)
        return super().encode(texts)


@pytest.fixture
def source(monkeypatch):
    """An encoder that is known by its name."""
    source = Source()
    monkeypatch.setitem(KNOWN, "made", Known("wordllama", source.load))
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    return source


def forget(source, monkeypatch):
    """Forget what was encoded, as a new process has."""
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    source.encoded.clear()


def versions(server):
    return server("GET", f"{MODEL}/versions").json()["versions"]


def taught(server, settings=None, rows=ROWS):
    assert server("PUT", MODEL, {"encoder": "made"} | (settings or {})).status_code == 201
    found = post_lines(server, f"{MODEL}/learn?wait=learned", rows)
    assert all(one.get("status") == "learned" for one in found), found
    return server


@pytest.fixture
def server(source, local):
    """A server with a model of an encoder that has learned rows."""
    return taught(local())


@pytest.mark.parametrize(
    "settings, options",
    [({}, ["--rule", "arow"]), pytest.param({"auto": True}, ["--auto"], marks=pytest.mark.long("stacks"))],
)
def test_a_model_is_the_one_that_train_makes(settings, options, source, local, ok, tmp_path):
    server = taught(local(), settings)
    facts = server("GET", MODEL).json()
    assert facts["encoder"] == "made (16 dimensions)" and facts["features"] == 16
    assert facts["settings"] == {"encoder": "made"} | settings
    (tmp_path / "served.cw").write_bytes(server("GET", f"{MODEL}/file").content)
    (tmp_path / "rows.jsonl").write_text(as_lines({"label": row["label"], **row["features"]} for row in ROWS))
    options = [*options, "--no-shuffle", "--encoder", "made", "--quiet"]
    ok("train", tmp_path / "rows.jsonl", *options, "-o", tmp_path / "trained.cw")
    served, trained = load(tmp_path / "served.cw"), load(tmp_path / "trained.cw")
    np.testing.assert_array_equal(served.predict_proba(TEXTS), trained.predict_proba(TEXTS))
    assert served.source_ | {"closed": False} == trained.source_ | {"closed": False}
    asked = server("POST", f"{MODEL}/predict", {"features": {"text": TEXTS[0]}}).json()
    assert asked["label"] == served.predict(TEXTS[:1])[0]
    assert asked["probability"] == pytest.approx(
        dict(zip(served.classes_, served.predict_proba(TEXTS[:1])[0], strict=True))
    )


def test_the_log_has_vectors_that_nobody_sees(server):
    [stored] = server.engine.log._db.execute("SELECT features FROM events WHERE kind = 2 LIMIT 1").fetchone()
    np.testing.assert_allclose(vector_in(stored), Vectors().encode(TEXTS[:1])[0], rtol=1e-6)
    assert json.loads(without_vector(stored)) == ROWS[0]["features"]
    assert json.loads(stored)[KEY].startswith("made ") and len(stored) < len(without_vector(stored)) + 130
    row = server("POST", f"{MODEL}/predict", {"id": "one", "features": {"text": "a new printer"}}).json()
    assert row["id"] == "one"
    shown = [
        server("GET", f"{MODEL}/examples").text, server("GET", f"{MODEL}/examples/one").text,
        server("GET", f"{MODEL}/rows?limit=200").text, server("GET", f"{MODEL}/queue?n=5&labeller=me").text,
        *(server("GET", f"{MODEL}/exchange/prodigy?rows={rows}").text for rows in ("learned", "waiting")),
    ]  # fmt: skip
    assert all("printer" in text and KEY not in text for text in shown), shown
    searched = server("GET", f"{MODEL}/rows?text=made&limit=5").json()["rows"]
    assert all("made" in str(row["features"]) for row in searched)


def test_an_export_may_have_the_vectors(server, source, tmp_path):
    rows = lines_of(server("GET", f"{MODEL}/examples?vectors=true"))
    assert [row["features"]["text"] for row in rows] == TEXTS
    np.testing.assert_allclose(rows[0]["features"]["vector"], Vectors().encode(TEXTS[:1])[0], rtol=1e-6)
    source.encoded.clear()
    other = "/v1/models/again"
    assert server("PUT", other, {"encoder": "made"}).status_code == 201
    body = [{"features": row["features"], "label": row["label"]} for row in rows]
    post_lines(server, f"{other}/learn?wait=learned", body)
    assert not source.encoded
    first, second = (load_file(server, f"/v1/models/{name}/file", tmp_path) for name in ("teams", "again"))
    np.testing.assert_array_equal(first.predict_proba(TEXTS), second.predict_proba(TEXTS))


def load_file(server, path, folder):
    (folder / "model.cw").write_bytes(server("GET", path).content)
    return load(folder / "model.cw")


def test_a_replay_needs_no_encoder(server, source, local, monkeypatch):
    server("POST", f"{MODEL}/predict", {"id": "one", "features": {"text": "a new printer"}})
    server.stop()
    folder = server.engine.folder
    for snapshot in (folder / "models").rglob("*.cw"):
        snapshot.unlink()
    forget(source, monkeypatch)
    source.gone = True
    assert all(sound for sound, _ in check(folder))
    server = local()
    assert server("GET", MODEL).json()["rows"] == 200 and not source.encoded
    refused = server("POST", f"{MODEL}/predict", {"features": {"text": "a new printer"}})
    assert refused.status_code == 503 and refused.json()["type"].endswith("no-encoder")
    assert "needs a package that is missing (No module named 'made'); run pip install" in refused.json()["detail"]
    refused = server("POST", f"{MODEL}/learn", {"features": {"text": "a new printer"}, "label": "printer"})
    assert refused.status_code == 503
    vector = Vectors().encode(["a new printer"])[0].tolist()  # which its sender may have
    assert server("POST", f"{MODEL}/predict", {"features": {"vector": vector}}).status_code == 200
    labelled = server("POST", f"{MODEL}/labels?wait=learned", {"id": "one", "label": "printer"})
    assert labelled.json()["status"] == "learned" and not source.encoded
    source.gone = False
    after = server("POST", f"{MODEL}/predict", {"features": {"text": TEXTS[0]}})
    assert after.status_code == 200


def test_another_encoder_of_the_name_is_one_clear_error(server, monkeypatch):
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    monkeypatch.setitem(KNOWN, "made", Known("wordllama", lambda: Vectors(8).encode))
    refused = server("POST", f"{MODEL}/predict", {"features": {"text": "a"}}).json()
    assert refused["type"].endswith("no-encoder") and "gives other vectors than that of the model" in refused["detail"]
    assert server("PUT", MODEL, {"encoder": "made"}).status_code == 202  # a shadow with the new one


def test_a_later_version_of_the_encoder_is_the_same_model(server, monkeypatch):
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    monkeypatch.setattr(encoders, "_version_of", lambda module: "2.0")
    assert server("PUT", MODEL, {"encoder": "made"}).status_code == 200
    assert server("POST", f"{MODEL}/predict", {"features": {"text": "a"}}).status_code == 200
    again = server("POST", f"{MODEL}/learn", {"id": "x", "features": {"text": "a"}, "label": "vpn"}).json()
    monkeypatch.setattr(encoders, "_BY_NAME", {})
    monkeypatch.setattr(encoders, "_version_of", lambda module: "3.0")
    assert server("POST", f"{MODEL}/learn", {"id": "x", "features": {"text": "a"}, "label": "vpn"}).json() == again


def test_versions_with_and_without_an_encoder_learn_the_same_rows(server, source):
    encoded = len(source.encoded)
    assert server("PUT", MODEL, {"encoder": "made", "rule": "cw_stdev"}).status_code == 202
    assert server("PUT", MODEL, {"reading": {"text": ["text"]}}).status_code == 202
    assert server("POST", f"{MODEL}/learn?wait=learned", {"features": {"text": "a printer"}, "label": "printer"})
    wait_until(lambda: all(version["rows"] == 201 for version in versions(server)))
    assert len(source.encoded) == encoded + 1  # the new row, once
    words = next(version for version in versions(server) if "encoder" not in version["settings"])
    assert server("POST", f"{MODEL}/versions/{words['version']}/promote").status_code == 200
    wait_until(lambda: server("GET", MODEL).json()["version"] == words["version"])
    facts = server("GET", MODEL).json()
    assert facts["encoder"] is None and 50 < facts["features"] < 500  # words, and no vectors
    assert server("POST", f"{MODEL}/predict", {"features": {"text": TEXTS[0]}}).json()["label"] == ROWS[0]["label"]


def test_each_version_learns_vectors_of_its_own_encoder(server, monkeypatch, tmp_path):
    monkeypatch.setitem(KNOWN, "other", Known("wordllama", lambda: lambda texts: -(Vectors(16).encode(texts) ** 2)))
    assert server("PUT", MODEL, {"encoder": "other"}).status_code == 202
    new = {"features": {"text": "a new printer"}, "label": "printer"}
    server("POST", f"{MODEL}/learn?wait=learned", new)
    wait_until(lambda: all(version["rows"] == 201 for version in versions(server)))
    server("POST", f"{MODEL}/versions/{versions(server)[0]['version']}/promote")
    wait_until(lambda: server("GET", MODEL).json()["encoder"] == "other (16 dimensions)")
    served = load_file(server, f"{MODEL}/file", tmp_path)
    (tmp_path / "rows.jsonl").write_text(as_lines({"label": row["label"], **row["features"]} for row in [*ROWS, new]))
    alone = OnlineClassifier(encoder="other").fit_stream(tmp_path / "rows.jsonl")
    np.testing.assert_array_equal(served.predict_proba(TEXTS), alone.predict_proba(TEXTS))


def test_a_version_stops_without_the_encoder_that_it_needs(source, local, monkeypatch):
    server = local()
    assert server("PUT", MODEL, {"encoder": "made"}).status_code == 201
    assert server("PUT", MODEL, {"reading": {"text": ["text"]}}).status_code == 202
    server("POST", f"{MODEL}/versions/2/promote")
    wait_until(lambda: server("GET", MODEL).json()["version"] == 2)
    post_lines(server, f"{MODEL}/learn?wait=learned", ROWS)  # which get no vectors
    forget(source, monkeypatch)
    source.gone = True
    server("PUT", MODEL, {"encoder": "made"})
    server("POST", f"{MODEL}/versions/1/promote")
    assert server("POST", f"{MODEL}/predict", {"features": {"text": "a"}}).status_code == 200  # by the other version
    wait_until(lambda: any("No module named 'made'" in str(one["failed"]) for one in versions(server)))


def test_rows_from_before_are_encoded_when_they_are_learned(source, local):
    server = local()
    assert server("PUT", MODEL, {"reading": {"text": ["text"]}}).status_code == 201
    post_lines(server, f"{MODEL}/learn?wait=learned", ROWS)
    assert server("PUT", MODEL, {"encoder": "made"}).status_code == 202
    wait_until(lambda: versions(server)[0]["rows"] == 200)
    assert versions(server)[0]["settings"] == {"encoder": "made"}
    assert sorted(source.encoded[2 * len(PROBES) :]) == sorted(set(TEXTS))


@pytest.mark.parametrize("features", [
    {"text": "a", KEY: "x"}, {"vector": [1.0]}, {"vector": "abc"}, {"vector": [1e39] * 16},
])  # fmt: skip
def test_invalid_vectors(features, source, local):
    server, name = taught(local(), rows=ROWS[:20]), [*features][-1]
    told = "is the server's; rename it" if name == KEY else "expected a list of 16 numbers"
    for path, body in (("predict", {"features": features}), ("learn", {"features": features, "label": "vpn"})):
        refused = server("POST", f"{MODEL}/{path}", body)
        assert refused.status_code == 422 and told in refused.json()["detail"], refused.text
        assert refused.json()["pointer"] == f"/features/{name}"
        assert told in post_lines(server, f"{MODEL}/{path}", [body])[0]["detail"]


def test_a_vector_of_the_row_takes_the_place_of_that_of_its_text(server, source):
    before = len(source.encoded)
    vector = Vectors().encode(TEXTS[:1])[0].tolist()
    given = server("POST", f"{MODEL}/predict", {"features": {"text": "unseen words", "vector": vector}}).json()
    assert given["label"] == server("POST", f"{MODEL}/predict", {"features": {"text": TEXTS[0]}}).json()["label"]
    assert len(source.encoded) == before


def test_blank_and_missing_texts_are_rows_of_zeros(server):
    found = [
        server("POST", f"{MODEL}/predict", {"features": features}).json()["probability"]
        for features in ({}, {"text": ""}, {"text": " "}, {"text": None}, {"other": 1}, {"vector": [0.0] * 16})
    ]
    assert all(one == found[0] for one in found)
    assert server("GET", MODEL).json()["guards"]["no-known-feature"]["asked"] == 6


def test_a_text_without_a_vector_is_refused(server, source):
    source.word = lambda word: np.full(16, np.nan)
    refused = server("POST", f"{MODEL}/learn", {"features": {"text": "unseen"}, "label": "vpn"}).json()
    assert refused["type"].endswith("invalid-row")
    assert "returned NaN or infinity for the text 'unseen'" in refused["detail"]
    body = [{"features": {"text": text}, "label": "vpn"} for text in (TEXTS[0], "new", TEXTS[1])]
    assert ["seq" in one for one in post_lines(server, f"{MODEL}/learn", body)] == [True, False, True]


def test_an_encoder_that_takes_long_keeps_nobody_waiting(server, source):
    assert server("PUT", "/v1/models/other", {}).status_code == 201

    async def run():
        source.go.clear()
        async with server.client() as client:
            slow = asyncio.create_task(client.post(f"{MODEL}/predict", json={"features": {"text": "unseen"}}))
            quick = [
                await client.post("/v1/models/other/learn?wait=learned", json={"features": {"a": k}, "label": k % 2})
                for k in range(5)
            ]
            health = await client.get(f"{MODEL}")
            waits = not slow.done()
            source.go.set()
            return [*quick, health, await slow], waits

    answers, waits = asyncio.run(run())
    assert waits and [answer.status_code for answer in answers] == [200] * 7


@pytest.mark.parametrize(("settings", "told"), [
    ({"reading": {"ngrams": [1, 2]}}, "an encoder makes features of the text only; leave out ngrams"),
    ({"reading": {"drop": ["a"]}}, "drop: with an encoder, only the text of a row counts"),
    ({"reading": {"text": ["a", "b"]}}, "an encoder reads one column, got a, b"), ({"encoder_info": None}, ""),
])  # fmt: skip
def test_settings(settings, told, source, local):
    found = local()("PUT", MODEL, {"encoder": "made"} | settings)
    assert found.status_code == (422 if told else 201) and told in found.text


def test_a_model_of_numbers(source, local):
    server = local()
    assert server("PUT", MODEL, {"encoder": "made", "task": "numbers"}).status_code == 201
    rows = [{"features": {"text": text}, "label": len(text)} for text in TEXTS]
    post_lines(server, f"{MODEL}/learn?wait=learned", rows)
    assert isinstance(server("POST", f"{MODEL}/predict", {"features": {"text": TEXTS[0]}}).json()["label"], float)


def test_an_uploaded_model_brings_its_encoder(source, local, tmp_path):
    model = OnlineClassifier(encoder="made").fit(TEXTS, [row["label"] for row in ROWS])
    model.save(tmp_path / "model.cw")
    server = local()
    assert server("PUT", f"{MODEL}/file", content=(tmp_path / "model.cw").read_bytes()).status_code == 201
    asked = server("POST", f"{MODEL}/predict", {"features": {"text": TEXTS[0]}}).json()
    assert asked["label"] == model.predict(TEXTS[:1])[0]
    post_lines(server, f"{MODEL}/learn?wait=learned", ROWS[:9])
    assert server("GET", MODEL).json()["rows"] == 9


def test_a_dry_run(server):
    for name, settings in (("teams", ""), ("new", '&settings={"encoder":"made"}')):
        path = f"/v1/models/{name}/learn?dry_run=true{settings}"
        found = server("POST", path, content=as_lines(ROWS[:9]), headers=NDJSON).json()
        assert found["rows"] == found["good"] == 9


def test_vectors_have_no_words_to_explain(server):
    refused = server("POST", f"{MODEL}/explain", {"features": {"text": TEXTS[0]}})
    assert refused.status_code == 422 and "learns vectors, whose numbers have no names" in refused.json()["detail"]


def test_round_trip_of_vectors():
    vector = np.array([1.5, -0.0, 3e38], np.float32)
    for features in (b"{}", b" { } ", b'{"a":"\\"__vector__\\":\\"x"}', '{"é":1}'.encode()):
        row = with_vector(features, 'some "name" 1', vector)
        assert json.loads(row)[KEY].startswith('some "name" 1 ')
        np.testing.assert_array_equal(vector_in(row), vector)
        assert json.loads(without_vector(row)) == json.loads(features)
        assert vector_in(features) is None and without_vector(features) == features


def test_the_demo_of_tickets(local):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    engine = local().engine
    demo = Heads(engine, seconds=0.0)
    demo.start()
    try:
        hosted = engine.hosted["tickets"]
        wait_until(lambda: hosted.metrics.rows >= 20 and len(hosted.labelling) >= 10)
    finally:
        demo.stop()
    assert str(hosted.model.reading.encoder).startswith("wordllama ")


def test_the_demo_of_tickets_needs_the_encoder(source, local, monkeypatch, tmp_path):
    source.gone = True
    monkeypatch.setitem(KNOWN, "wordllama", Known("wordllama", source.load))
    with pytest.raises(Problem, match="the encoder wordllama needs a package that is missing"):
        Heads(local().engine)
