"""Whole models over HTTP: made, deleted and made again, uploaded and downloaded, saved and backed up."""

import json
import random
import shutil
import threading

import pytest

from confidently.cli import run
from confidently.models.model import Model
from confidently.serve.engine.engine import Engine
from confidently.serve.log.event_log import EventLog
from confidently.serve.problems import Problem
from confidently.serve.work import checking, listing, models, teaching
from tests.serve.rows import made, numbered, trained
from tests.serve.running import kind_of, post_lines, teach, threaded, wait_until

FIRST = "/v1/models/m"


# --- make and delete -------------------------------------------------------------------------------------------------


def test_a_model_is_made_once(local):
    server = local()
    first = server("PUT", FIRST, {"rule": "cw_stdev", "classes": ["ham", "spam"]})
    assert first.status_code == 201
    assert server("PUT", FIRST, {"classes": ["ham", "spam"], "rule": "cw_stdev"}).status_code == 200
    assert [one["name"] for one in server("GET", "/v1/models").json()["models"]] == ["m"]
    assert server("GET", FIRST).json()["settings"] == {"rule": "cw_stdev", "classes": ["ham", "spam"]}
    assert server("PUT", "/v1/models/plain", content=b"").status_code == 201


def test_a_deleted_model_is_gone_and_may_be_made_again(local, with_model, tmp_path):
    server = with_model({"view": "none"})
    teach(server, made(30))
    server("POST", "/v1/snapshot")
    assert server("DELETE", FIRST).status_code == 204
    assert kind_of(server("DELETE", FIRST)) == kind_of(server("GET", FIRST)) == "unknown-model"
    assert server("PUT", FIRST, {"rule": "cw_stdev", "view": "none"}).status_code == 201
    rows = made(40, seed=5)
    teach(server, rows)
    expected = trained(tmp_path, rows, "--rule", "cw_stdev", "--view", "none")
    assert server("GET", f"{FIRST}/file").content == expected
    server.stop()
    assert [path.name for path in (tmp_path / "served" / "models").iterdir()] == ["2"]
    assert local()("GET", f"{FIRST}/file").content == expected


def test_a_model_that_is_deleted_while_rows_come_in_keeps_nobody_waiting(local):
    server = local()
    other = "/v1/models/other"
    server("PUT", other, {})
    for _ in range(3):
        server("PUT", FIRST, {"covariance": "full"})
        statuses = []

        def send(k, statuses=statuses):
            for n in range(20):
                row = {"id": f"{k}-{n}", "features": {f"f{n}": 1}, "label": "x"}
                statuses.append(server("POST", f"{FIRST}/learn?wait=learned", row).status_code)

        senders = [threading.Thread(target=send, args=(k,)) for k in range(4)]
        for sender in senders:
            sender.start()
        assert server("DELETE", FIRST).status_code == 204
        for sender in senders:
            sender.join()
        assert set(statuses) <= {200, 404}
    teach(server, made(10), model="other")
    assert server("GET", other).json()["waiting"] == 0
    assert server.engine.waiting.rows == server.engine.waiting.size == 0


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.long("3,000 rows, or a stack")
@pytest.mark.parametrize(
    ("settings", "options", "n"), [({}, [], 3000), ({"auto": True, "trees": False}, ["--auto", "--no-trees"], 120)],
    ids=str,
)  # fmt: skip
def test_a_downloaded_model_has_all_rows_that_were_acknowledged(local, tmp_path, settings, options, n):
    """Those that wait to be learned, too: many, or few that wait for others."""
    server, rows = local(), made(n, "mixed")
    server("PUT", FIRST, settings)
    for first, last in [(0, n // 2), (n // 2, n - 1), (n - 1, n)]:
        told = post_lines(server, f"{FIRST}/learn", [{"features": x, "label": label} for x, label in rows[first:last]])
        assert {one["status"] for one in told} == {"durable"}
        assert server("GET", f"{FIRST}/file").content == trained(tmp_path, rows[:last], *options)


@pytest.mark.parametrize("end", ["stops", "deleted", "closed"])
def test_a_download_that_waits_for_rows_is_answered_whatever_happens(with_model, tmp_path, monkeypatch, end):
    server = with_model({"view": "none"})
    teach(server, made(20))
    hosted, entered, release = server.engine.find("m"), threading.Event(), threading.Event()
    learner, names = type(hosted.model.stream.learner), iter(range(9))
    real = learner.learn

    def slow(self, *arguments, **options):
        entered.set()
        release.wait()
        if end == "stops":
            raise MemoryError
        real(self, *arguments, **options)

    def send():
        row = checking.taught(hosted, f"more-{next(names)}", b'{"a":1}', "ham", 1.0)
        server.engine.submit(teaching.learn(server.engine, hosted, [row], wait=False).blocking()).answer()

    monkeypatch.setattr(learner, "learn", slow)
    send()
    entered.wait()
    send()
    question = server.engine.ask(models.download(hosted, tmp_path / "served.cw").blocking())
    ending = threading.Thread(target=server.stop)
    if end == "deleted":
        server("DELETE", FIRST)
    elif end == "closed":
        ending.start()
        wait_until(lambda: server.engine.stopping)
    release.set()
    if end == "closed":
        question.answer()
        assert Model.load(tmp_path / "served.cw").learner.n_seen == 22
        ending.join()
        return
    with pytest.raises(Problem, match={"stops": "has stopped", "deleted": "was deleted"}[end]):
        question.answer()


def test_an_uploaded_model_of_a_table_reads_texts_as_its_cells(local, tmp_path):
    """Rows may be what ``csv.DictReader`` makes of the table, with its decimal commas, or have numbers."""
    chance = random.Random(8)
    costs = [f"{chance.gauss(0, 9):.2f}".replace(".", ",") for _ in range(90)]
    rows = [[chance.choice("ab"), cost, chance.randrange(9)] for cost in costs]
    table, said = tmp_path / "rows.csv", tmp_path / "said.jsonl"
    table.write_text("label;cost;floor\n" + "".join(f"{label};{cost};{floor}\n" for label, cost, floor in rows))
    options = ["--rule=arow", "--no-shuffle", "--decimal", ",", "-q"]
    assert run(["train", str(table), *options, "-o", str(tmp_path / "m.cw")]) == 0
    assert run(["predict", str(tmp_path / "m.cw"), str(table), "--proba", "-o", str(said)]) == 0
    expected = [json.loads(line)["proba"] for line in said.read_text().splitlines()]
    server = local()
    server("PUT", f"{FIRST}/file", content=(tmp_path / "m.cw").read_bytes())
    texts = [{"cost": cost, "floor": str(floor)} for _, cost, floor in rows]
    numbers = [{"cost": float(cost.replace(",", ".")), "floor": floor} for _, cost, floor in rows]
    for features in (texts, numbers):
        body = {"instances": [{"features": one} for one in features]}
        found = [one["probability"] for one in server("POST", f"{FIRST}/predict", body).json()["predictions"]]
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, rel=1e-12)
    answer = server("POST", f"{FIRST}/learn", {"features": {"cost": "1_000"}, "label": "a"})
    assert kind_of(answer) == "invalid-row"
    assert answer.json()["detail"].startswith("cell '1_000' is a number in another")
    teach(server, list(zip(texts, [label for label, *_ in rows], strict=True)))
    file = server("GET", f"{FIRST}/file").content
    server.stop()
    assert local()("GET", f"{FIRST}/file").content == file


@pytest.mark.long("stacks of 1,100 rows")
def test_an_uploaded_stack_is_explained_and_learns_some_rows_at_once(local, tmp_path):
    """As one that the server has made."""
    server, rows = local(), made(1100, "mixed")
    server("PUT", f"{FIRST}/file", content=trained(tmp_path, rows[:1000], "--auto"))
    teach(server, rows[1000:])
    server("PUT", "/v1/models/own", {"auto": True})
    teach(server, rows, model="own")
    of_upload, of_own = (
        server("POST", f"/v1/models/{name}/explain", {"features": {"a": 1, "subject": "win"}}) for name in ("m", "own")
    )
    assert of_upload.status_code == 200, of_upload.text
    assert of_upload.json() == of_own.json() and of_own.json()["members"]
    found = [server.engine.find(name).model.least_rows for name in ("m", "own")]
    assert found[0] == found[1] > 1


@pytest.mark.parametrize("options", [
    ["--text", "subject", "--bits", "12"], ["--regression", "--rule", "ridge"],
    pytest.param(["--regression"], marks=pytest.mark.long("a stack")),
], ids=str)  # fmt: skip
def test_an_uploaded_model_goes_on_as_training_would(local, tmp_path, options):
    rows = numbered(300, "mixed") if "--regression" in options else made(300, "text")
    first = trained(tmp_path, rows[:200], *options)
    (tmp_path / "first.cw").write_bytes(first)
    server = local()
    made_of_it = server("PUT", f"{FIRST}/file", content=first)
    assert made_of_it.status_code == 201
    assert made_of_it.json()["task"] == ("numbers" if "--regression" in options else "binary")
    assert server("PUT", f"{FIRST}/file", content=first).status_code == 200
    assert kind_of(server("PUT", f"{FIRST}/file", content=first[:-1])) == "invalid-body"
    assert server("GET", f"{FIRST}/file").content == first
    teach(server, rows[200:250])
    server.stop()
    server = local()
    teach(server, rows[250:], first=50)
    expected = trained(tmp_path, rows[200:], "--init-model", str(tmp_path / "first.cw"))
    assert server("GET", f"{FIRST}/file").content == expected
    assert [path.name for path in (tmp_path / "served").glob(".passing-*")] == []


def test_an_explanation_adds_up(with_model):
    server = with_model({"view": "none"})
    teach(server, made(50))
    body = {"features": {"a": 1.0, "subject": "win", "never": 1}}
    found = server("POST", f"{FIRST}/explain", body).json()
    predicted = server("POST", f"{FIRST}/predict", body).json()
    assert found["predicted"] == predicted["label"]
    assert abs(found["mean"]) == pytest.approx(abs(predicted["margin"]))
    assert sum(one["mean"] for one in found["contributions"]) == pytest.approx(found["mean"])
    assert kind_of(server("POST", f"{FIRST}/explain", body | {"about": "nothing"})) == "invalid-body"


# --- snapshot, backup ------------------------------------------------------------------------------------------------


def test_a_snapshot_saves_every_model(local, tmp_path):
    server = local()
    for name in ("a", "b"):
        server("PUT", f"/v1/models/{name}", {"view": "none"})
        teach(server, made(20), model=name)
    found = server("POST", "/v1/snapshot").json()["snapshots"]
    assert found == {"a": 20, "b": 40}
    files = {path.name for path in (tmp_path / "served" / "models").rglob("m-*.cw")}
    assert files == {"m-000000000020.cw", "m-000000000040.cw"}


@pytest.mark.long("180 rows over HTTP, and three backups")
@pytest.mark.parametrize("snapshot_every", [10, pytest.param(50_000, marks=pytest.mark.long("waits for 180 rows"))])
def test_a_backup_while_rows_come_in_is_the_server_of_one_moment(tmp_path, snapshot_every):
    rows = made(4000)
    acknowledged = []
    with threaded(tmp_path / "served", "--snapshot-every", snapshot_every) as server:
        with server.client() as client:
            client.put(FIRST, json={"view": "none"})

        def send():
            with server.client() as client:
                for k, (features, label) in enumerate(rows):
                    if stopping.is_set():
                        return
                    body = {"id": f"row-{k}", "features": features, "label": label}
                    assert client.post(f"{FIRST}/learn", json=body).status_code == 200
                    acknowledged.append(f"row-{k}")

        stopping = threading.Event()
        sender = threading.Thread(target=send)
        sender.start()
        with server.client() as client:
            for n in range(3):
                wait_until(lambda n=n: len(acknowledged) >= 60 * (n + 1))
                before = len(acknowledged)
                answer = client.post("/v1/backup", json={"name": f"b{n}"})
                assert answer.status_code == 201
                assert answer.json() == {"path": f"backups/b{n}"}
                check_backup(tmp_path, tmp_path / "served" / "backups" / f"b{n}", rows, before)
            assert kind_of(client.post("/v1/backup", json={"name": "b0"})) == "other-content"
        stopping.set()
        sender.join()
        assert server.stop() == 0


def test_a_backup_that_fails_leaves_nothing(with_model, tmp_path, monkeypatch):
    server = with_model()

    def failing(log, path):
        yield None
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(EventLog, "copy_to", failing)
        assert kind_of(server("POST", "/v1/backup", {"name": "b"})) == "disk-full"
    assert list((tmp_path / "served" / "backups").iterdir()) == []
    assert server("POST", "/v1/backup", {"name": "b"}).status_code == 201


def check_backup(folder, backup, rows, at_least):
    shutil.copytree(backup, folder / backup.name)
    said = []
    engine = Engine(folder / backup.name, say=said.append)
    try:
        engine.start()
        assert not any("cannot be used" in line for line in said)
        hosted = engine.find("m")
        found, _ = engine.submit(listing.export(hosted, 0, 10_000).blocking()).answer()
        assert [one["id"] for one in found] == [f"row-{k}" for k in range(len(found))]
        assert len(found) >= at_least
        engine.ask(models.download(hosted, folder / f"{backup.name}.cw").blocking()).answer()
        expected = trained(folder, rows[: len(found)], "--view", "none")
        assert (folder / f"{backup.name}.cw").read_bytes() == expected
    finally:
        engine.stop()


@pytest.mark.long("60 requests of each view")
@pytest.mark.parametrize("view", ["bins", "ranks", "pairs", "standard", "none", "cosines"])
def test_a_row_of_unseen_features_is_explained_with_every_view(with_model, view):
    server = with_model({"view": view})
    for k in range(60):
        server("POST", f"{FIRST}/learn?wait=learned", {"features": {"x": k % 7, "y": 1}, "label": "ab"[k % 2]})
    features = {"x": 2, "never": 3.5, "word": "new"}
    answer = server("POST", f"{FIRST}/explain", {"features": features})
    assert answer.status_code == 200, answer.text
    unknown = {str(one["feature"]).split()[0] for one in answer.json()["contributions"] if not one["known"]}
    assert view in ("pairs", "cosines") or {"never", "word=new"} <= unknown
