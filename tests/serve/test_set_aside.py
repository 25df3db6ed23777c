"""Rows that a model cannot learn, and models that stop: neither ends the server, or another model."""

import random
import shutil
import threading

import pytest

from confidently.cli import run
from confidently.serve import offline
from confidently.serve.engine.engine import Engine
from confidently.serve.http.handlers import stored
from confidently.serve.log.event_log import EventLog
from confidently.serve.log.events import Event
from confidently.serve.sources.follow import Follower
from confidently.serve.sources.source import FileSource
from confidently.serve.work import checking, teaching
from tests.serve.rows import FAR, FAR_OPTIONS, made
from tests.serve.running import kind_of, lines_of, post_lines, teach, wait_until

MODEL = "/v1/models/m"
TINY = {"features": {"tiny": 1e-90}, "label": "odd"}
LABELS = {
    "scalars": lambda chance: chance.choice("abc"),
    "numbers": lambda chance: chance.choice([0, 1, 7, True, "0"]),
    "fractions": lambda chance: chance.choice([0, 1.5, -7, True, "2.25", 1e-9, 3e20]),
    "sets": lambda chance: chance.choice([[], ["a"], ["a", "b"], ["b", "a"], [1, "a"], "a", 1, True]),
}


def trained(folder, lines, *options):
    source, target = folder / "exported.jsonl", folder / "trained.cw"
    source.write_text("".join(line + "\n" for line in lines))
    assert run(["train", str(source), "--no-shuffle", "--rule=arow", "-o", str(target), *options]) == 0
    return target.read_bytes()


# --- labels of every shape -------------------------------------------------------------------------------------------


SHAPED = {
    "scalars": [
        {}, {"auto": True}, {"covariance": "full"}, {"multiclass": "one-vs-rest"}, {"classes": ["a", "b", "c"]},
    ],
    "numbers": [{}, {"auto": True}, {"classes": ["0", 1, "7"]}, {"dtype": "float32"}],
    "fractions": [{"task": "numbers"}, {"task": "numbers", "auto": True}],
    "sets": [{"multilabel": True} | more for more in (
        {}, {"auto": True}, {"classes": ["a", "b", "1"]}, {"auto": False, "view": "standard"},
    )],
}  # fmt: skip


@pytest.mark.long("15 models of 400 rows")
@pytest.mark.parametrize(("labels", "settings"), [(one, of) for one, all in SHAPED.items() for of in all], ids=str)
def test_models_of_every_kind_learn_labels_of_every_shape(local, tmp_path, settings, labels):
    """Some of the rows are predicted before they are learned, the 65th the first: 400 rows have many of these."""
    server, chance = local(), random.Random(f"{settings} {labels}")
    assert server("PUT", MODEL, settings).status_code == 201
    rows = [{"features": features, "label": LABELS[labels](chance)} for features, _ in made(400, "mixed")]
    for row in rows[:80]:
        answer = server("POST", f"{MODEL}/learn?wait=learned", row)
        assert answer.status_code == 200 and answer.json()["status"] == "learned", answer.text
    told = post_lines(server, f"{MODEL}/learn?wait=learned", rows[80:])
    assert {one["status"] for one in told} == {"learned"}
    assert server("POST", f"{MODEL}/predict", {"features": {"a": 1}}).status_code == 200
    found = server("GET", f"{MODEL}/metrics").json()
    assert found["rows"] == 400 and found["refused"] == 0 and server("GET", MODEL).json()["seq"] == 400
    assert sum(one["rows"] for one in found["reliability"]) > 0
    server.stop()
    assert all(sound for sound, _ in offline.check(tmp_path / "served"))
    again = local()
    assert again("GET", MODEL).json()["seq"] == 400


def test_an_answer_with_the_guessed_labels_in_another_order_is_a_hit(with_model):
    server = with_model({"multilabel": True})
    for k in range(40):
        server("POST", f"{MODEL}/learn?wait=learned", {"features": {"a": 1, "b": k % 2}, "label": ["x", "y"]})
    for k in range(30):
        server("POST", f"{MODEL}/predict", {"id": f"q-{k}", "features": {"a": 1, "word": f"w{k}"}})
    drawn = [row for row in server("GET", f"{MODEL}/queue?n=30").json()["rows"] if row["random"]]
    assert drawn and all(row["guess"] == ["x", "y"] for row in drawn)
    for row in drawn:
        assert server("POST", f"{MODEL}/answers", {"id": row["id"], "label": ["y", "x"]}).status_code == 200
        assert server("POST", f"{MODEL}/answers", {"id": row["id"], "label": ["x", "y"]}).status_code == 200
    assert server("GET", f"{MODEL}/metrics").json()["labelling"]["random"]["accuracy"] == 1.0


# --- one judgement, on arrival ---------------------------------------------------------------------------------------

USES = {
    "category": {"category": ["c"]}, "text": {"text": ["c"]}, "dates": {"dates": ["c"]}, "drop": {"drop": ["c"]},
    "only": {"only": ["a"]}, "number": {},
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "value",
    [
        b"1e400", b"-1e999", b"9" * 400, b'"\xff"', b'{"d":1e400}', b'["x",1e400]', b'{"\xff":1}',
        b"[" * 101 + b"]" * 101,
    ],
)  # fmt: skip
def test_what_no_decoder_takes_is_refused_on_arrival(with_model, use, value):
    server = with_model({"reading": USES[use]})
    features = b'{"a":1,"c":' + value + b"}"
    for path, body in [
        ("learn", b'{"features":%s,"label":"x"}' % features), ("predict", b'{"id":"p","features":%s}' % features),
        ("explain", b'{"features":%s}' % features),
    ]:  # fmt: skip
        answer = server("POST", f"{MODEL}/{path}", content=body)
        assert answer.status_code == 422 and answer.json()["pointer"] == "/features", answer.text
        if path != "explain":
            [told] = post_lines(server, f"{MODEL}/{path}", body + b"\n")
            assert told["status"] == 422
    assert lines_of(server("GET", f"{MODEL}/examples")) == []
    teach(server, [({"a": 1}, "x")])


def test_a_row_of_an_older_version_that_a_second_decoder_refuses_is_learned_and_shown(with_model, tmp_path, ok):
    """Such rows were acknowledged once; the log of then still serves."""
    server = with_model({"view": "none", "reading": {"category": ["c"], "drop": ["d"]}})
    hosted = server.engine.find("m")
    rows = [b'{"a":%d,"c":1e400,"d":"\xff"}' % k for k in range(200)]
    taught = [
        checking.Taught(
            f"r{k}", row, label := b'"%s"' % b"xy"[k % 2 : k % 2 + 1], 1.0, b'{"label":' + label + b"," + row[1:]
        )
        for k, row in enumerate(rows)
    ]
    server.engine.submit(teaching.learn(server.engine, hosted, taught, wait=True).blocking()).answer()
    assert server("GET", MODEL).json()["rows"] == 200
    assert len(lines_of(server("GET", f"{MODEL}/examples"))) == 200
    assert server("GET", f"{MODEL}/examples/r1").status_code == 200
    file = server("GET", f"{MODEL}/file").content
    server.stop()
    lines = ok("serve", tmp_path / "served", "--export", "m").splitlines()
    assert trained(tmp_path, lines, "--view=none", "--category=c", "--drop=d") == file


# --- set aside -------------------------------------------------------------------------------------------------------


def filled(server, n=60, every=20, **settings):
    """Teach rows, some of which the model cannot learn; return the numbers of the events of these."""
    assert server("PUT", MODEL, FAR | settings).status_code == 201
    aside = []
    for k, (features, label) in enumerate(made(n, "numbers")):
        body = {"id": f"r{k}", "features": features, "label": "spam" if label == "spam" else "ham"}
        assert server("POST", f"{MODEL}/learn?wait=learned", body).json()["status"] == "learned"
        if k % every == 5:
            body = {"id": f"tiny-{k}", **TINY}
            answer = server("POST", f"{MODEL}/learn?wait=learned", body)
            assert answer.status_code == 422 and kind_of(answer) == "set-aside", answer.text
            assert "out of the range" in answer.json()["detail"]
            assert kind_of(server("POST", f"{MODEL}/learn?wait=learned", body)) == "set-aside"
            assert server("POST", f"{MODEL}/learn", body).json()["status"] == "durable"
            aside.append(server("POST", f"{MODEL}/learn", body).json()["seq"])
    return aside


def listed(server):
    return lines_of(server("GET", f"{MODEL}/set-aside"))


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_a_row_that_cannot_be_learned_is_set_aside_counted_and_shown(local, tmp_path, ok, monkeypatch, covariance):
    """In the middle of a block of rows, too, as dense covariances learn them."""
    server, options = local(), [*FAR_OPTIONS, f"--covariance={covariance}"]
    aside = filled(server, covariance=covariance)
    wait_until(lambda: len(listed(server)) == len(aside))
    assert [(one["event"], one["features"], one["label"]) for one in listed(server)] == [
        (seq, TINY["features"], TINY["label"]) for seq in aside
    ]
    assert all(one["reason"].startswith("the rows take the model out of the range") for one in listed(server))
    [first, second] = [lines_of(server("GET", f"{MODEL}/set-aside?{query}")) for query in (
        "limit=1", f"after={listed(server)[0]['seq']}"
    )]  # fmt: skip
    assert [one["event"] for one in first + second] == aside
    everything = listed(server)
    monkeypatch.setattr(stored, "ROWS_PER_CHUNK", 2)
    assert listed(server) == everything, "whatever the number of rows that are read at once"
    facts = server("GET", MODEL).json()
    assert (facts["refused"], facts["rows"], facts["failed"]) == (len(aside), 60, None)
    assert sorted(facts["classes"]) == ["ham", "spam"]
    assert f'confidently_refused_total{{model="m"}} {len(aside)}.0' in server("GET", "/metrics").text
    assert not {one["seq"] for one in lines_of(server("GET", f"{MODEL}/examples"))} & set(aside)
    file = server("GET", f"{MODEL}/file").content
    server.stop()
    lines = ok("serve", tmp_path / "served", "--export", "m").splitlines()
    assert trained(tmp_path, lines, *options) == file
    again = local()
    assert again("GET", f"{MODEL}/file").content == file
    assert again("GET", MODEL).json()["refused"] == len(aside)
    assert again("POST", f"{MODEL}/rebuild?wait=live").status_code == 200
    assert again("GET", f"{MODEL}/file").content == file
    assert len(listed(again)) == again("GET", MODEL).json()["refused"] == len(aside)


def test_of_many_lines_only_the_refused_ones_are_not_told_as_learned(with_model):
    server = with_model(FAR)
    rows = [{"id": f"r{k}", "features": {"a": k % 7, "b": 1}, "label": "xy"[k % 2]} for k in range(1200)]
    bad = {3, 700, 1199}
    sent = [{"id": f"r{k}", **TINY} if k in bad else row for k, row in enumerate(rows)]
    told = post_lines(server, f"{MODEL}/learn?wait=learned", sent)
    assert {k for k, one in enumerate(told) if one["status"] == 422} == bad
    assert {one["status"] for k, one in enumerate(told) if k not in bad} == {"learned"}


def test_a_killed_server_judges_the_same_rows_again(local, tmp_path, ok):
    """The log of a kill may lack what was set aside; a start, a check and an export find it."""
    server = local()
    aside = filled(server)
    file = server("GET", f"{MODEL}/file").content
    server.stop()
    engine = Engine(tmp_path / "served")
    engine.log._db.execute("DELETE FROM events WHERE kind = ?", (Event.SET_ASIDE,))
    engine.log.close()
    for snapshot in (tmp_path / "served").rglob("m-*.cw"):
        snapshot.unlink()
    told = ok("serve", tmp_path / "served", "--check")
    assert all(f"event {seq} will be set aside: the rows take" in told for seq in aside)
    lines = ok("serve", tmp_path / "served", "--export", "m").splitlines()
    assert trained(tmp_path, lines, *FAR_OPTIONS) == file
    assert "will be set aside" not in ok("serve", tmp_path / "served", "--check")
    again = local()
    assert [one["event"] for one in listed(again)] == aside
    assert again("GET", f"{MODEL}/file").content == file


def test_a_snapshot_knows_what_the_log_was_not_told(local, tmp_path):
    """A kill between a snapshot and the commit that records what was set aside before it."""
    server = local()
    server.engine.learner.record = lambda hosted: None
    aside = filled(server)
    assert listed(server) == []
    assert server("POST", "/v1/snapshot").status_code == 200
    shutil.copytree(tmp_path / "served", tmp_path / "killed")
    file = server("GET", f"{MODEL}/file").content
    again = local(tmp_path / "killed")
    assert [one["event"] for one in listed(again)] == aside
    assert again("GET", MODEL).json()["refused"] == len(aside)
    assert again("GET", f"{MODEL}/file").content == file
    server.stop()
    log = EventLog(tmp_path / "served")
    assert all(log.why_aside(1, seq) for seq in aside), "what the log was not told it is told at the end"
    log.close()


def test_an_erased_row_that_was_set_aside_has_no_reason_either(with_model):
    server = with_model(FAR)
    server("POST", f"{MODEL}/predict", {"id": "q", "features": TINY["features"]})
    answer = server("POST", f"{MODEL}/labels?wait=learned", {"id": "q", "label": "odd"})
    assert kind_of(answer) == "set-aside"
    wait_until(lambda: len(listed(server)) == 1)
    server("DELETE", f"{MODEL}/examples/q")
    [one] = listed(server)
    assert (one["features"], one["label"], one["reason"]) == (None, None, "erased")
    rows = server.engine.log._db.execute("SELECT note FROM events WHERE kind = ?", (Event.SET_ASIDE,)).fetchall()
    assert rows == [(None,)]


# --- faults of the program, and of the machine -----------------------------------------------------------------------


def test_a_model_without_memory_stops_and_the_others_go_on(local, monkeypatch):
    server = local()
    for name in ("m", "other"):
        server("PUT", f"/v1/models/{name}", {"view": "none"})
        teach(server, [({"a": k}, "xy"[k % 2]) for k in range(4)], model=name)
    learner = type(server.engine.find("m").model.stream.learner)
    learn, bad = learner.learn, server.engine.find("m").model.stream.learner

    def full(self, *arguments, **options):
        if self is bad:
            raise MemoryError
        return learn(self, *arguments, **options)

    monkeypatch.setattr(learner, "learn", full)
    row = {"id": "r9", "features": {"a": 9}, "label": "x"}
    answer = server("POST", f"{MODEL}/learn?wait=learned", row)
    assert (answer.status_code, kind_of(answer)) == (503, "model-failed")
    assert "the memory is full" in answer.json()["detail"]
    for path, body in [("predict", {"features": {"a": 1}}), ("learn", row), ("explain", {"features": {"a": 1}})]:
        assert kind_of(server("POST", f"{MODEL}/{path}", body)) == "model-failed"
    assert kind_of(server("GET", f"{MODEL}/file")) == "model-failed"
    assert "memory" in server("GET", MODEL).json()["failed"]
    assert len(lines_of(server("GET", f"{MODEL}/examples"))) == 5, "the row is durable"
    assert server("GET", "/readyz").status_code == 200
    assert 'confidently_failed{model="m"} 1.0' in server("GET", "/metrics").text
    assert server("POST", "/v1/models/other/learn?wait=learned", row).json()["status"] == "learned"
    assert server("POST", "/v1/models/other/predict", {"features": {"a": 1}}).status_code == 200
    assert server("POST", f"{MODEL}/rebuild?wait=live").status_code == 200
    assert server("GET", MODEL).json()["failed"] is None
    assert server("GET", MODEL).json()["rows"] == 5
    assert server("POST", f"{MODEL}/predict", {"features": {"a": 1}}).status_code == 200
    assert server.engine.waiting.rows == 0
    monkeypatch.undo()
    server.stop()
    again = local()
    assert [again("GET", f"/v1/models/{name}").json()["rows"] for name in ("m", "other")] == [5, 5]


def test_rows_that_wait_for_a_model_that_stops_are_answered(with_model, monkeypatch):
    server = with_model({"view": "none"})
    hosted, entered, release = server.engine.find("m"), threading.Event(), threading.Event()
    learner = type(hosted.model.stream.learner)

    def slow(self, *arguments, **options):
        entered.set()
        release.wait()
        raise MemoryError

    monkeypatch.setattr(learner, "learn", slow)
    rows = [checking.taught(hosted, f"r{k}", b'{"a":1}', "x", 1.0) for k in range(3)]
    requests = [teaching.learn(server.engine, hosted, [row], wait=True).blocking() for row in rows]
    waiting = [server.engine.submit(requests[0])]
    entered.wait()
    waiting += [server.engine.submit(request) for request in requests[1:]]
    wait_until(lambda: len(hosted.waiting) == 2)
    release.set()
    wait_until(lambda: all(request._answered.is_set() for request in waiting))
    for request in waiting:
        with pytest.raises(Exception, match="has stopped"):
            request.answer()
    assert server.engine.waiting.rows == 0
    assert server("GET", "/readyz").status_code == 200


def test_a_model_that_cannot_be_loaded_does_not_keep_the_others_from_it(local, tmp_path, call):
    server = local()
    for name in ("m", "other"):
        server("PUT", f"/v1/models/{name}", {"view": "none"})
        teach(server, [({"a": k}, "xy"[k % 2]) for k in range(4)], model=name)
    file = server("GET", f"{MODEL}/file").content
    server("PUT", "/v1/models/uploaded/file", content=file)
    folder = server.engine.find("uploaded").folder
    server.stop()
    (folder / "base.cw").write_bytes(file[:-20])
    status, out, _ = call("serve", tmp_path / "served", "--check")
    assert status == 2 and "DAMAGED model uploaded: it cannot be served" in out
    again = local()
    assert any("uploaded" in line and "the other models are served" in line for line in again.told)
    assert kind_of(again("POST", "/v1/models/uploaded/predict", {"features": {"a": 1}})) == "model-failed"
    assert again("POST", f"{MODEL}/predict", {"features": {"a": 1}}).status_code == 200
    assert again("DELETE", "/v1/models/uploaded").status_code == 204


# --- the text of numbers ---------------------------------------------------------------------------------------------

NUMBERS = ["1.50", "1e3", "-0", "0.10", "1E+2", "100000000000000000000", "1.0", "-0.0", "7"]


def written(k, number):
    """A row as text, in whose columns are numbers as people write them."""
    return f'{{"n":{k % 5}.50,"code":{number},"words":{number},"name":"caf\\u00e9 é\x7f","label":{k % 2}}}'


@pytest.mark.parametrize("way", ["learn", "follow"])
def test_numbers_keep_their_text(local, with_model, tmp_path, way):
    options = ("--category=code", "--text=words", "--view=none")
    lines = [written(k, NUMBERS[k % len(NUMBERS)]) for k in range(90)]
    settings = {"view": "none", "reading": {"category": ["code"], "text": ["words"]}}
    server = with_model(settings)
    if way == "learn":
        for line in lines:
            features, label = line[:-11] + "}", line[-2]
            body = f'{{"features":{features},"label":{label}}}'.encode()
            assert server("POST", f"{MODEL}/learn?wait=learned", content=body).status_code == 200
    else:
        (tmp_path / "grows.jsonl").write_text("".join(line + "\n" for line in lines))
        follower = Follower(
            server.engine, server.engine.find("m"), FileSource(tmp_path / "grows.jsonl"), server.told.append
        )
        follower.start()
        wait_until(lambda: server("GET", MODEL).json()["rows"] == 90)
        follower.stop()
        assert follower.refused == 0
    file = server("GET", f"{MODEL}/file").content
    assert file == trained(tmp_path, lines, *options), "the rows as they came"
    server.stop()
    exported = list(offline.export(tmp_path / "served", "m"))
    assert all(line.isascii() for line in exported)
    assert trained(tmp_path, exported, *options) == file
    assert local()("GET", f"{MODEL}/file").content == file


@pytest.mark.long("sixty rows of a stack one by one")
@pytest.mark.parametrize("settings", [{"auto": True}, pytest.param(
    {"auto": True, "multilabel": True}, marks=pytest.mark.long("stacks of label sets")
)], ids=str)  # fmt: skip
def test_a_row_of_the_largest_weight_leaves_a_stack_finite(local, settings):
    """Its likelihood, to the power of the weight, is below the range for every window of the mixture."""
    server, several = local(), "multilabel" in settings
    server("PUT", MODEL, settings)
    for k, (features, label) in enumerate(made(60, "mixed")):
        row = {"features": features, "label": [label] if several else label, "weight": 1e9 if k % 20 == 7 else 1.0}
        assert server("POST", f"{MODEL}/learn?wait=learned", row).status_code in (200, 422)
    for features, _ in made(5, "mixed", seed=1):
        found = server("POST", f"{MODEL}/predict", {"features": features}).json()
        assert all(p is not None and 0.0 <= p <= 1.0 for p in found["probability"].values()), found
    model = server.engine.find("m").model.model()
    model.check_values()
