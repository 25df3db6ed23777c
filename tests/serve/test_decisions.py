"""Decisions: which action is chosen, how it gets its reward, and what of that can be wrong."""

import json
import threading
from itertools import product

import numpy as np
import pytest

from confidently.bandits import Action, Actions, DecisionModel, play, read_decisions
from confidently.bandits.policies import DEFAULT_POLICY, POLICIES, make_policy
from confidently.serve.log.events import Event
from confidently.serve.model.deciding import shares
from confidently.serve.model.logged_decisions import decided_in
from confidently.serve.model.settings import Deciding
from confidently.serve.waiting import Limits
from tests.serve.running import NDJSON, as_lines, post_lines, wait_until

SHOP = "/v1/models/shop"
ACTIONS = ["news", "sport", "games"]
LIKES = {"reader": "news", "fan": "sport"}


def decided(one, id, context=None, actions=ACTIONS, **more):
    body = {"id": id, "actions": actions} | ({} if context is None else {"context": context}) | more
    answer = one("POST", f"{SHOP}/decide", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rewarded(one, id, reward, **options):
    return one("POST", f"{SHOP}/rewards?wait=learned", {"id": id, "reward": reward}, **options)


def refused(answer):
    found = answer.json()
    return answer.status_code, found["type"].rpartition(":")[2], found.get("pointer")


# --- what is learned -------------------------------------------------------------------------------------------------


def teach(one, n=200, begun=0):
    random = np.random.default_rng(begun)
    for k in range(begun, begun + n):
        who = str(random.choice(list(LIKES)))
        found = decided(one, f"d{k}", {"who": who})
        assert rewarded(one, f"d{k}", float(found["chosen"] == LIKES[who])).json()["status"] == "learned"


def decision(one, id):
    """What the log keeps of a decision."""
    [hosted] = one.engine.hosted.values()
    found = one.engine.writer.write(lambda log, request: log.find(hosted.number, id))
    return None if found is None else decided_in(found.note)


# --- what is decided -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_probabilities_are_those_of_the_policy(name):
    mean, variance = np.array([0.1, 0.5, 0.4]), np.array([0.3, 0.1, 0.2])
    actions = Actions([Action("a"), Action("b", cost=0.3), Action("c")])
    found = shares(Deciding(name=name), mean, variance, actions, np.arange(3))
    assert found == pytest.approx(make_policy(name).propensities(mean - [0.0, 0.3, 0.0], variance))


def test_least_shares_are_kept():
    mean, variance = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    actions = Actions([Action("a", min_share=0.2), Action("b"), Action("c")])
    found = shares(Deciding(name="greedy", least_share=0.3), mean, variance, actions, np.arange(3))
    assert found == pytest.approx([0.2, 0.7, 0.1])


def test_an_apprentice_takes_the_baseline_learns_and_is_compared(local):
    one, would = local(), []
    one("PUT", SHOP, {"task": "decisions", "policy": {"apprentice": True}})
    for k in range(60):
        found = decided(one, f"d{k}", baseline="sport")
        assert (found["chosen"], found["probability"]) == ("sport", 1.0)
        would.append(found["would"])
        rewarded(one, f"d{k}", 1.0 + k % 2)
    assert counts(one)["match_rate"] == pytest.approx(would.count("sport") / 60)
    assert 0 < would.count("sport") < 60 and set(would) <= {*ACTIONS}
    assert decided(one, "last", baseline="games")["reward"] < decided(one, "other", baseline="sport")["reward"]


def test_decisions_that_the_log_cannot_take_are_refused_and_lines_wait(local):
    one = local(limits=Limits(waiting_rows=2))
    assert one("PUT", SHOP, {"task": "decisions"}).status_code == 201
    one.engine.waiting.add(2, 0)
    assert refused(one("POST", f"{SHOP}/decide", {"id": "a", "actions": ACTIONS}))[:2] == (503, "overloaded")
    timer = threading.Timer(0.3, one.engine.waiting.add, (-2, 0))
    timer.start()
    found = in_lines(one, [{"id": f"d{k}", "actions": ACTIONS} for k in range(5)])
    timer.join()
    assert [each["id"] for each in found] == [f"d{k}" for k in range(5)]


def test_the_policy_changes_without_training_again(shop):
    teach(shop, 30)
    answer = shop("PUT", SHOP, {"task": "decisions", "policy": {"name": "greedy"}})
    assert (answer.status_code, answer.json()["rows"]) == (200, 30)
    assert max(decided(shop, "greedy", {"who": "fan"})["probabilities"].values()) == 1.0


def test_a_decision_names_its_policy_also_by_default(shop):
    decided(shop, "default")
    shop("PUT", SHOP, {"task": "decisions", "policy": {"name": "lin_ucb", "parameters": {"alpha": 2.0}}})
    decided(shop, "bound")
    kept = [shop("GET", f"{SHOP}/rows/{id}").json()["prediction"]["decision"]["policy"] for id in ("default", "bound")]
    assert [one["name"] for one in kept] == [DEFAULT_POLICY.name, "lin_ucb"]
    assert [one["parameters"] for one in kept] == [DEFAULT_POLICY.get_params(), {"alpha": 2.0}]


# --- several in lines ------------------------------------------------------------------------------------------------


def in_lines(one, bodies):
    return post_lines(one, f"{SHOP}/decide", bodies)


def test_decisions_in_lines_are_those_of_one_after_the_other(shop, local, tmp_path):
    """In their order, also where the request has slots; a repeated line gets the first decision."""
    teach(shop, 40)
    copy = local(shop.copy(tmp_path / "copy"))
    slots = [{"id": "top"}, {"id": "side", "excluded": ["games"]}]
    bodies = [
        {"id": f"visit-{k}", "context": {"who": ["fan", "reader"][k % 2]}, "actions": ACTIONS[: 2 + k % 2]}
        | ({"slots": slots} if k % 5 == 4 else {}) | ({"baseline": "sport", "deferred": True} if k % 7 == 6 else {})
        for k in range(600)
    ]  # fmt: skip
    found = in_lines(shop, bodies)
    assert found == in_lines(shop, bodies) == in_lines(shop, [*bodies[:3], *bodies[:3], *bodies[3:]])[3:]
    alone = [copy("POST", f"{SHOP}/decide", body).json() for body in bodies[::10]]
    assert found[::10] == alone


def test_a_line_that_cannot_be_decided_fails_alone(shop):
    good = {"id": "a", "actions": ACTIONS, "context": {"x": 1}}
    slots = [{"id": "1"}, {"id": "2"}, {"id": "3"}, {"id": "4"}]
    deep = b'{"id":"g","actions":["a"],"context":{"x":' + b"[" * 3000 + b"]" * 3000 + b"}}"
    wrong = [
        (good, "a"), (good | {"actions": ["other"]}, "other-content"), ({"id": "b"}, "invalid-body"),
        (good | {"id": "c", "actions": ["x", "x"]}, "invalid-body"),
        (good | {"id": "d", "slots": slots}, "invalid-body"),
        (good | {"id": "e", "excluded": ACTIONS}, "invalid-body"), (good | {"id": "f"}, "f"),
    ]  # fmt: skip
    content = as_lines(body for body, _ in wrong).encode() + b"[]\n{\n" + deep + b"\n"
    found = in_lines(shop, content + json.dumps({"actions": ["only"]}).encode())
    kinds = [one.get("id") or one["type"].rpartition(":")[2] for one in found]
    assert kinds[: len(wrong)] == [kind for _, kind in wrong]
    assert kinds[len(wrong) : -1] == ["invalid-body", "invalid-json", "invalid-json"]
    assert found[-1]["chosen"] == "only" and found[-1]["id"]
    assert found[3]["pointer"] == "/actions/1"
    assert decision(shop, "d/1") is None, "no slot of a request whose last one fails is stored"
    assert counts(shop)["decisions"] == 3


def test_other_models_decide_no_lines(with_model):
    one = with_model({}, name=SHOP)
    answer = one("POST", f"{SHOP}/decide", content=as_lines([{"actions": ACTIONS}]), headers=NDJSON)
    assert refused(answer)[:2] == (409, "other-task")


# --- rewards ---------------------------------------------------------------------------------------------------------


def test_rewards_come_in_lines(shop):
    in_lines(shop, [{"id": f"d{k}", "actions": ACTIONS} for k in range(3)])
    told = post_lines(shop, f"{SHOP}/rewards", [{"id": id, "reward": 1} for id in ("d0", "d9", "d2")])
    assert [one.get("status") for one in told] == ["durable", 404, "durable"]


def deadline(one, seconds, **policy):
    policy = {"deadline": seconds, **policy}
    assert one("PUT", SHOP, {"task": "decisions", "policy": policy}).status_code == 200


def test_a_decision_without_a_reward_gets_the_default_one(shop, moved):
    deadline(shop, 60, default_reward=-1.0)
    for id in ("late", "in time"):
        decided(shop, id)
    rewarded(shop, "in time", 1.0)
    decided(shop, "deferred", deferred=True)
    moved[0] = 61_000
    wait_until(lambda: shop("GET", SHOP).json()["rows"] == 2)
    kept = shop("GET", f"{SHOP}/examples/late").json()
    assert (kept["label"], kept["history"][-1]["by"]) == (-1.0, "deadline")
    assert refused(rewarded(shop, "late", 1.0)) == (409, "late-reward", "/id")
    assert shop("GET", f"{SHOP}/examples/deferred").json()["label"] is None

    assert shop("POST", f"{SHOP}/activate", {"id": "deferred"}).status_code == 200
    moved[0] = 110_000
    assert shop("GET", SHOP).json()["rows"] == 2
    moved[0] = 130_000
    wait_until(lambda: shop("GET", SHOP).json()["rows"] == 3)


def test_a_clock_that_goes_back_gives_nothing_twice(shop, moved):
    deadline(shop, 60)
    decided(shop, "d")
    moved[0] = 61_000
    wait_until(lambda: shop("GET", SHOP).json()["rows"] == 1)
    moved[0] = -1_000_000
    [hosted] = shop.engine.hosted.values()
    before = hosted.rewarded_until
    wait_until(lambda: hosted.rewarded_until < before)
    decided(shop, "e")
    moved[0] = 61_000
    wait_until(lambda: shop("GET", SHOP).json()["rows"] == 2)


def test_activating_twice_is_activating_once(shop):
    decided(shop, "d", deferred=True)
    first = shop("POST", f"{SHOP}/activate", {"id": "d"}).json()
    assert shop("POST", f"{SHOP}/activate", {"id": "d"}).json() == first
    events = shop.engine.writer.write(lambda log, request: log.counts(1))
    assert events[Event.ACTIVATED.name.lower()] == 1


# --- what cannot be decided ------------------------------------------------------------------------------------------


def test_ten_thousand_actions_are_decided(shop):
    found = decided(shop, "many", {"who": "fan"}, [f"a{k}" for k in range(10_000)])
    assert len(found["probabilities"]) == 10_000


# --- what is counted -------------------------------------------------------------------------------------------------


def counts(one):
    return one("GET", SHOP).json()["decisions"]


def test_decisions_and_rewards_are_counted(shop, local, moved):
    deadline(shop, 60, default_reward=-1.0)
    for k in range(5):
        decided(shop, f"d{k}", actions=["only"] if k else ["other"])
    for k in (0, 1, 1):
        rewarded(shop, f"d{k}", 1.0)
    decided(shop, "d0", actions=["other"])
    before = counts(shop)
    assert (before["decisions"], before["rewards"], before["shares"]) == (5, 2, {"only": 0.8, "other": 0.2})
    assert before["match_rate"] is None and before["default_rewards"] == 0
    shop("POST", "/v1/snapshot")
    moved[0] = 61_000
    wait_until(lambda: counts(shop)["default_rewards"] == 3)
    found = counts(shop)
    assert (found["rewards"], found["mean_reward"], found["recent_mean_reward"]) == (5, -0.2, -0.2)
    assert shop("GET", f"{SHOP}/metrics").json()["decisions"] == found
    told = shop("GET", "/metrics").text
    assert 'confidently_decisions_total{model="shop"} 5.0' in told
    assert 'confidently_default_rewards_total{model="shop"} 3.0' in told
    shop.stop()
    assert counts(local()) == found


def test_rewards_that_come_as_labels_count_at_once(shop, local):
    for k, label in enumerate((0.5, "2.5", True)):
        decided(shop, f"d{k}")
        assert shop("POST", f"{SHOP}/labels?wait=learned", {"id": f"d{k}", "label": label}).status_code == 200
    found = counts(shop)
    assert (found["rewards"], found["mean_reward"]) == (3, pytest.approx(4.0 / 3.0))
    shop.stop()
    assert counts(local()) == found


# --- the same in Python, on the server and in a log ------------------------------------------------------------------

CONTEXT = {"who": "fan", "hour": 9}
REQUESTS = {  # what is sent, and what Python is given
    "texts": ({"context": CONTEXT, "actions": ["a", "b", "c"]}, CONTEXT, ["a", "b", "c"]),
    "objects": ({"context": CONTEXT, "actions": [{"id": "a"}, "b"]}, CONTEXT, [Action("a"), "b"]),
    "integers": ({"context": CONTEXT, "actions": [1, "2", {"id": 3}]}, CONTEXT, [1, Action("2"), "3"]),
    "features": (
        {"context": CONTEXT, "actions": [{"id": "a", "features": {"size": 2}}, {"id": "b", "features": None}]},
        CONTEXT, [Action("a", {"size": 2}), "b"],
    ),
    "costs": (
        {"context": CONTEXT, "actions": [{"id": "a", "cost": 0.4}, "b"]}, CONTEXT, [Action("a", cost=0.4), "b"],
    ),
    "fewer, in another order": ({"context": CONTEXT, "actions": ["c", "a"]}, CONTEXT, ["c", "a"]),
    "a new one": ({"context": CONTEXT, "actions": ["a", "new"]}, CONTEXT, ["a", "new"]),
    "one excluded": (
        {"context": CONTEXT, "actions": ["a", "b", "c"], "excluded": ["b"]}, CONTEXT,
        ["a", Action("b", excluded=True), "c"],
    ),
    "no context": ({"actions": ["a", "b", "c"]}, None, ["a", "b", "c"]),
    "null": ({"context": None, "actions": ["a", "b", "c"]}, None, ["a", "b", "c"]),
    "an empty context": ({"context": {}, "actions": ["a", "b", "c"]}, {}, ["a", "b", "c"]),
    "a new feature": ({"context": {"new": True}, "actions": ["a", "b"]}, {"new": True}, ["a", "b"]),
}  # fmt: skip


@pytest.fixture
def both(local, tmp_path):
    """A model, and a server that has it."""
    model, one = DecisionModel(), local()
    for k in range(60):
        context = {"who": ("fan", "reader")[k % 2], "hour": k % 24}
        model.learn(context, ["a", "b", "c", 1, 2][k % 5], k % 5 == 2 * (k % 2))
    model.save(tmp_path / "model")
    answer = one("PUT", f"{SHOP}/file", content=(tmp_path / "model").read_bytes())
    assert answer.status_code == 201, answer.text
    return model, one


@pytest.mark.parametrize(("body", "context", "actions"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_means_the_same_everywhere(both, tmp_path, body, context, actions):
    model, one = both
    found, p = model.decide(context, actions, "visit"), model.probabilities(context, actions)
    answer = one("POST", f"{SHOP}/decide", body | {"id": "visit"}).json()
    ids = [str(part["id"] if isinstance(part, dict) else part) for part in body["actions"]]
    excluded = body.get("excluded", [])
    assert answer["probabilities"] == {id: share for id, share in zip(ids, p, strict=True) if id not in excluded}
    assert (str(answer["chosen"]), answer["probability"]) == (ids[found.chosen], found.probability)
    offered = [{"id": part, "excluded": True} if part in excluded else part for part in body["actions"]]
    said_of_actions = {name: value for name, value in body.items() if name != "excluded"} | {"actions": offered}
    for chosen, line in product(set(ids) - {*excluded}, (body, said_of_actions)):
        line = line | {"chosen": chosen, "probability": 0.5, "reward": 1}
        (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
        told = play(model, read_decisions(tmp_path / "log.jsonl"), learn=False)
        assert told["action_dist"][0, 0] == p[ids.index(chosen)]
