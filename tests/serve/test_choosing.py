"""The life of a model of decisions: it is at any time the ``DecisionModel`` that has learned the rewards of the log."""

import itertools
import json

import numpy as np
import pytest

from confidently.bandits import Action, DecisionModel
from confidently.serve.model.choosing import DecidingModel
from confidently.serve.model.learning import Example
from confidently.serve.model.settings import ModelSettings
from confidently.serve.offline import check
from tests.serve.rows import rewarded
from tests.serve.running import lines_of, threaded, wait_until

SHOP = "/v1/models/shop"
KINDS = ["red", "blue", "green"]
NUMBER = itertools.count()


def asked(server, *given, **options):
    return getattr(server, "request", server)(*given, **options)


def decide_and_reward(server, n, batch=None, with_features=False):
    """Decisions with slots and features that come and go, and their rewards; return the ids."""
    random, found = np.random.default_rng(n), []
    for _ in range(n):
        number = next(NUMBER)
        context = {"who": f"w{number % 3}", "hour": number % 24} | ({f"new{number // 20}": True} if number % 3 else {})
        actions = [f"a{number % 5}", "b", "c"]
        if with_features:
            actions = [{"id": id, "features": {"kind": random.choice(KINDS), "price": len(id) * 3.5}} for id in actions]
        body = {"id": f"d{number}", "context": context, "actions": actions}
        if number % 4 == 0:
            body["slots"] = [{"id": "top", "features": {"size": 2}}, {"id": "side"}]
        answer = asked(server, "POST", f"{SHOP}/decide", json=body)
        assert answer.status_code == 200, answer.text
        ids = [f"d{number}/top", f"d{number}/side"] if number % 4 == 0 else [f"d{number}"]
        for id in ids:
            rewards = f"{SHOP}/rewards?wait=learned" + (f"&batch={batch}" if batch else "")
            given = {"id": id, "reward": float(random.integers(3)) / 2}
            assert asked(server, "POST", rewards, json=given).status_code == 200
        found += ids
    return found


def file_of(server):
    answer = asked(server, "GET", f"{SHOP}/file")
    assert answer.status_code == 200, answer.text
    return answer.content


def rows_of(server):
    return lines_of(asked(server, "GET", f"{SHOP}/examples"))


@pytest.mark.long("twenty decisions of each kind of arms")
@pytest.mark.parametrize(("arms", "with_features", "shared"), [
    ("auto", False, False), ("auto", True, True), ("own", True, False), ("shared", False, True),
])  # fmt: skip
def test_actions_with_features_share_a_model(local, with_model, tmp_path, arms, with_features, shared):
    one = with_model({"task": "decisions", "arms": arms}, name=SHOP)
    decide_and_reward(one, 10, with_features=with_features)
    one("POST", "/v1/snapshot")
    decide_and_reward(one, 10, with_features=with_features)
    assert file_of(one) == rewarded(tmp_path, rows_of(one), shared=shared)
    before = one("POST", f"{SHOP}/predict", {"features": {"arm": "b", "context": {"who": "w1"}}}).json()
    one.stop()
    again = local()
    assert again("POST", f"{SHOP}/predict", {"features": {"arm": "b", "context": {"who": "w1"}}}).json() == before
    assert file_of(again) == rewarded(tmp_path, rows_of(again), shared=shared)


@pytest.mark.long("a replica that catches up twice")
def test_a_replica_makes_the_same_predictions(tmp_path):
    with threaded(tmp_path / "primary") as one, one.client() as primary:
        primary.put(SHOP, json={"task": "decisions"})
        decide_and_reward(primary, 10)
        primary.post("/v1/snapshot")
        decide_and_reward(primary, 10)
        with threaded(tmp_path / "replica", "--replica-of", tmp_path / "primary") as other, other.client() as replica:
            for _ in range(2):
                decide_and_reward(primary, 5)
                wait_until(lambda: (found := replica.get(SHOP)).status_code == 200 and
                           found.json()["rows"] == primary.get(SHOP).json()["rows"])  # fmt: skip
                assert file_of(replica) == file_of(primary)
            row = {"features": {"arm": "b", "context": {"who": "w1"}}}
            for path in ("predict", "explain"):
                found = [client.post(f"{SHOP}/{path}", json=row).json() for client in (primary, replica)]
                assert found[0] == found[1]
            paths = [f"{SHOP}/evaluate?policy=uniform&policy=always:b&periods=2", f"{SHOP}/evaluate?policy=none"]
            for path in paths:  # which the primary answers
                answers = [client.get(path) for client in (primary, replica)]
                assert answers[0].status_code == answers[1].status_code
                told = [{name: one for name, one in answer.json().items() if name != "request"} for answer in answers]
                assert told[0] == told[1]


# --- rows ------------------------------------------------------------------------------------------------------------


def test_what_can_be_decided_can_be_rewarded(with_model):
    one = with_model({"task": "decisions"}, name=SHOP)
    for number, context in enumerate(['{"a":1,"a":2}', '{"a":1e60}', '{"a":%s}' % ("9" * 400), '{"a":{"b":[1,"x"]}}']):
        content = f'{{"id":"d{number}","actions":["x"],"context":{context}}}'
        if one("POST", f"{SHOP}/decide", content=content).status_code == 200:
            answer = one("POST", f"{SHOP}/rewards?wait=learned", {"id": f"d{number}", "reward": 1.0})
            assert answer.status_code == 200, answer.text


def learned(n, **settings):
    """A model that has learned rows, and its settings."""
    model, random = DecidingModel(ModelSettings(task="decisions", **settings)), np.random.default_rng(0)
    for k in range(n):
        arm, size = f"a{random.integers(3)}", float(random.normal())
        line = {"label": size * (arm == "a1"), "context": {"size": size}, "arm": arm}
        model.learn([Example(json.dumps(line).encode(), 1.0, k + 1)])
    return model


def test_errors_are_those_before_learning():
    model, again = learned(0), DecisionModel()
    for k in range(30):
        context, action, reward = {"x": k % 5}, Action(f"a{k % 2}"), float(k % 3)
        line = json.dumps({"label": reward, "context": context, "arm": action.id}).encode()
        counts = model.learn([Example(line, 1.0, k + 1)])
        error = reward - again.scores(context, [action])[0][0]
        again.learn(context, action, reward)
        if k >= 10:  # all features are known
            assert counts == (1, pytest.approx((abs(error), error**2, 1.0)), False)
        elif k == 0:
            assert counts.sums == (0.0, 0.0, 0.0)


def test_an_explanation_adds_up():
    model = learned(50)
    found = model.explanation(b'{"context":{"size":0.5,"new":1},"arm":"a1"}')
    assert found.offset + sum(one.mean for one in found.contributions) == pytest.approx(found.predicted)
    assert found.variance > sum(one.variance for one in found.contributions) > 0.0
    assert [(one.feature, one.known) for one in found.contributions] == [("size", True), ("new", False)]
    assert found.predicted == model.answers([b'{"context":{"size":0.5,"new":1},"arm":"a1"}'])[0].label


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_a_model_that_was_trained_elsewhere_goes_on(local, tmp_path, shared):
    model = DecisionModel("lin_ucb", shared=shared, reward_range=(0.0, 2.0))
    for k in range(30):
        model.learn({"who": f"w{k % 3}"}, Action(f"a{k % 2}", {"size": k % 5}), float(k % 3))
    model.save(tmp_path / "shop.bandit")
    one = local()
    answer = one("PUT", f"{SHOP}/file", content=(tmp_path / "shop.bandit").read_bytes())
    assert answer.status_code == 201, answer.text
    assert (answer.json()["task"], answer.json()["settings"]["policy"]["name"]) == ("decisions", "lin_ucb")
    assert file_of(one) == (tmp_path / "shop.bandit").read_bytes()
    offered = [Action(id, {"size": 2}) for id in ("a0", "a1", "a2")]
    actions = [{"id": one.id, "features": one.features} for one in offered]
    for k in range(20):
        choice = model.decide({"who": "w1"}, offered, f"d{k}")
        found = one("POST", f"{SHOP}/decide", {"id": f"d{k}", "context": {"who": "w1"}, "actions": actions}).json()
        assert (found["chosen"], found["probability"]) == (offered[choice.chosen].id, choice.probability)
        one("POST", f"{SHOP}/rewards?wait=learned", {"id": f"d{k}", "reward": float(k % 2)})
        model.learn({"who": "w1"}, offered[choice.chosen], float(k % 2))
    model.save(tmp_path / "after.bandit")
    assert file_of(one) == (tmp_path / "after.bandit").read_bytes()
    one("POST", "/v1/snapshot")
    one.stop()
    assert [told for ok, told in check(tmp_path / "served") if not ok] == []
    assert file_of(local()) == (tmp_path / "after.bandit").read_bytes()
