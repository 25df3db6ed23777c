"""A request means the same in Python, on the server and in a log."""

import json
from itertools import product

import pytest

from confidently.bandits import Action, DecisionModel, play, read_decisions
from tests.serve.test_decisions import SHOP

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
