"""Replicas: the models of the primary, byte for byte, read-only, whatever restarts."""

import json
import random
from contextlib import ExitStack

import pytest

from confidently.serve.http.api import MODEL as ANY_MODEL
from confidently.serve.http.api import REPLICATED, ROUTES
from tests.serve.rows import made, numbered, trained
from tests.serve.running import NDJSON, lines_of, not_served, running, teach, threaded, wait_until

MODEL = "/v1/models/m"


def learn(client, first, n=60, model="m"):
    teach(client.request, made(n, seed=first), first, model)


def level(primary, replica, model=MODEL):
    """Wait until a replica is as far as its primary; their files must then be the same."""
    keys = ("version", "seq", "rows", "settings", "classes")

    def facts(client):
        answer = client.get(model)
        return [answer.json()[key] for key in keys] if answer.status_code == 200 else answer.status_code

    wait_until(lambda: facts(replica) == facts(primary))
    assert replica.get(f"{model}/file").content == primary.get(f"{model}/file").content
    row = {"features": made(1, seed=99)[0][0]}
    for path in ("predict?set=0.9&novelty=true", "explain"):
        assert replica.post(f"{model}/{path}", json=row).json() == primary.post(f"{model}/{path}", json=row).json()


@pytest.fixture
def pair(tmp_path):
    """Clients of a primary and of its replica, begun with options of the primary; and the primary."""
    with ExitStack() as stack:

        def begin(*options):
            one = stack.enter_context(threaded(tmp_path / "primary", *options))
            other = stack.enter_context(threaded(tmp_path / "replica", "--replica-of", one.url))
            return stack.enter_context(one.client()), stack.enter_context(other.client()), one

        yield begin


def begun_of(primary):
    """What a model of a primary is made of."""
    [found] = primary.get("/v1/replication").json()["models"]
    return found["version"], found["begun"]


OTHERS = [
    {"auto": True},
    {"covariance": "full"},
    {"multilabel": True},
    *({"task": "numbers"} | more for more in ({}, {"auto": True})),
]


@pytest.mark.long("a primary and two replicas")
@pytest.mark.parametrize("settings", [
    {"view": "none"}, *(pytest.param(one, marks=pytest.mark.long("1,160 rows")) for one in OTHERS)
], ids=str)  # fmt: skip
def test_a_replica_has_the_models_of_its_primary(tmp_path, settings):
    rows = numbered(1220) if "task" in settings else made(1220)
    if "multilabel" in settings:
        rows = [(features, [label, "yz"[k % 2]]) for k, (features, label) in enumerate(rows)]
    with threaded(tmp_path / "primary") as one, one.client() as primary:
        primary.put(MODEL, json=settings)
        teach(primary.request, rows[:60])
        with threaded(tmp_path / "replica", "--replica-of", tmp_path / "primary") as other, other.client() as replica:
            level(primary, replica)
            teach(primary.request, rows[60:120], 60)
            level(primary, replica)
            primary.post("/v1/snapshot")
            teach(primary.request, rows[120:], 120)  # what the first rows decide is decided
            level(primary, replica)
            assert other.stop() == 0
        with threaded(tmp_path / "replica", "--replica-of", one.url) as other, other.client() as replica:
            level(primary, replica)  # of a snapshot
            assert replica.get("/readyz").json()["replica_of"] == one.url
            assert 'confidently_replica_behind_events{model="m"} 0.0' in replica.get("/metrics").text


@pytest.mark.long("a replica that catches up seven times")
def test_what_happens_to_models_happens_to_those_of_a_replica(pair):
    primary, replica, _ = pair()
    wait_until(lambda: replica.get("/readyz").status_code == 200)
    primary.put(MODEL, json={"view": "none"})
    learn(primary, 0)
    level(primary, replica)
    assert primary.delete(f"{MODEL}/examples/r3").status_code == 200
    learn(primary, 100)
    level(primary, replica)
    begun = begun_of(primary)
    assert primary.post(f"{MODEL}/rebuild").status_code == 200
    wait_until(lambda: begun_of(primary) != begun)
    level(primary, replica)
    learn(primary, 200)
    level(primary, replica)
    primary.delete(MODEL)
    wait_until(lambda: replica.get(MODEL).status_code == 404)
    primary.put(MODEL, json={"rule": "cw_stdev"})
    learn(primary, 300)
    level(primary, replica)
    primary.put("/v1/models/other", json={"classes": ["ham", "spam"]})
    learn(primary, 400, model="other")
    level(primary, replica, "/v1/models/other")


@pytest.mark.long("four processes")
def test_a_replica_goes_on_while_its_primary_is_away(tmp_path):
    folder = tmp_path / "primary"
    with running(tmp_path / "replica", "--replica-of", folder) as other, other.client() as replica:
        assert replica.get("/readyz").status_code == 503
        for run in range(3):
            with running(folder, "--snapshot-every", 40) as one, one.client() as primary:
                primary.put(MODEL, json={"view": "none"})
                learn(primary, 100 * run)
                level(primary, replica)
                one.kill()
            assert replica.post(f"{MODEL}/predict", json={"features": {"a": 1}}).status_code == 200
        assert other.told[-1].count("cannot be followed now") == 1


@pytest.mark.long("eight processes")
def test_kills_of_replicas_and_primaries_end_in_the_same_models(tmp_path):
    chance, folder = random.Random(0), tmp_path / "primary"
    for run in range(4):
        with running(folder, "--snapshot-every", 100) as one, one.client() as primary:
            primary.put(MODEL, json={"view": "none"})
            with running(tmp_path / "replica", "--replica-of", folder) as other, other.client() as replica:
                learn(primary, 1000 * run)
                if chance.random() < 0.5:
                    other.kill()
                learn(primary, 1000 * run + 500)
                if other.process.poll() is None:
                    level(primary, replica)
            one.kill()


@pytest.mark.long("a primary and a replica")
def test_a_replica_refuses_all_that_is_not_a_question(pair):
    primary, replica, one = pair()
    primary.put(MODEL, json={"view": "none"})
    learn(primary, 0)
    level(primary, replica)
    for route in ROUTES:
        if route.name not in REPLICATED:
            path = route.path.replace(ANY_MODEL, MODEL).replace("{id}", "r1")
            answer = replica.request(route.method, path)
            assert (answer.status_code, answer.json()["type"]) == (403, "urn:confidently:read-only"), route
            assert one.url in answer.json()["detail"]
    shadow = [client.post(f"{MODEL}/predict?version=2", json={}).json()["detail"] for client in (primary, replica)]
    assert shadow[0] == shadow[1] and "unknown parameter 'version'" in shadow[0], "only one version answers"
    body = {"id": "p1", "features": {"a": 1}}
    assert replica.post(f"{MODEL}/predict", json=body).status_code == 403
    lines = "".join(json.dumps(one) + "\n" for one in (body, {"features": {"a": 1}}))
    first, second = lines_of(replica.post(f"{MODEL}/predict", content=lines, headers=NDJSON))
    assert first["status"] == 403 and second["label"] in ("ham", "spam")


@pytest.mark.long("a primary and two replicas")
def test_a_replica_needs_a_token_of_a_primary_that_has_tokens(tmp_path, ok):
    token = json.loads(ok("serve", "--new-token", "replica", "predict,learn,admin", "--json"))
    (tmp_path / "tokens").write_text(token["line"] + "\n")
    (tmp_path / "token").write_text(token["token"] + "\n")
    header = {"Authorization": f"Bearer {token['token']}"}
    with (
        threaded(tmp_path / "primary", "--token-file", tmp_path / "tokens") as one,
        one.client(headers=header) as primary,
    ):
        primary.put(MODEL, json={"view": "none"})
        learn(primary, 0)
        with threaded(tmp_path / "without", "--replica-of", one.url) as other, other.client() as replica:
            wait_until(lambda: any("401" in line for line in other.told))
            assert replica.get("/readyz").status_code == 503
        options = ["--replica-of", one.url, "--replica-token-file", tmp_path / "token"]
        with threaded(tmp_path / "with", *options) as other, other.client() as replica:
            level(primary, replica)


def test_what_replicas_ask(with_model):
    server = with_model()
    assert server("GET", "/v1/models/no/replication/snapshot").status_code == 404
    ended = server("GET", f"{MODEL}/replication/learned?version=7")  # which is not the one that answers
    assert (ended.status_code, ended.content) == (200, b"")
    [found] = server("GET", "/v1/replication").json()["models"]
    assert (found["name"], found["version"], found["begun"], found["has_file"]) == ("m", 1, 0, False)


@pytest.mark.long("a primary and a replica")
def test_a_model_that_began_with_a_file_is_followed(pair, tmp_path):
    trained(tmp_path, made(50))
    (tmp_path / "trained.cw").rename(tmp_path / "m.cw")
    primary, replica, _ = pair("--model", tmp_path / "m.cw")
    level(primary, replica)
    learn(primary, 100)
    level(primary, replica)


@pytest.mark.long("a primary and two replicas")
def test_replicas_share_a_port(tmp_path):
    with threaded(tmp_path / "primary") as one, one.client() as primary:
        primary.put(MODEL, json={"view": "none"})
        learn(primary, 0)
        with threaded(tmp_path / "a", "--replica-of", one.url) as first:
            port = first.url.rpartition(":")[2]
            with (
                threaded(tmp_path / "b", "--replica-of", one.url, "--port", port) as second,
                second.client() as replica,
            ):
                assert first.url == second.url
                level(primary, replica)


def test_a_directory_with_models_is_no_replica(tmp_path):
    with threaded(tmp_path / "served") as one, one.client() as primary:
        primary.put(MODEL, json={})
        one.stop()
    status, told = not_served(tmp_path / "served", "--replica-of", "http://127.0.0.1:1")
    assert status == 2 and "has models of its own" in told
