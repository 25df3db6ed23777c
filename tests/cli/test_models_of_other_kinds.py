"""Models of decisions and of entities under the commands for all models."""

import json

import numpy as np
import pytest

import confidently
from confidently.bandits import Action, ContextualBandit, DecisionModel, merge_decisions
from confidently.entities import EntityModels, merge_entities

IDS = ["news", "sport", "games"]


def decisions(n, seed, features=False):
    random = np.random.default_rng(seed)
    for _ in range(n):
        hour, k = ("day", "night")[random.integers(2)], int(random.integers(3))
        actions = [{"id": id, "features": {"kind": id}} if features else id for id in IDS]
        reward = float(random.random() < (0.8 if (hour == "night") == (k == 2) else 0.2))
        context = {"hour": hour, "age": round(random.random(), 2)}
        yield {"context": context, "actions": actions, "chosen": IDS[k], "probability": 1 / 3, "reward": reward}


@pytest.fixture
def logs(tmp_path, ok):
    """Two logs, and a model of each."""
    for name, seed in (("a", 0), ("b", 1)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in decisions(100, seed)))
        ok("train", "--bandit", tmp_path / f"{name}.jsonl", "-o", tmp_path / f"{name}.bandit", "-q")
    return tmp_path


def test_decisions_are_inspected(logs, ok):
    model = DecisionModel.load(logs / "a.bandit")
    facts = json.loads(ok("inspect", logs / "a.bandit", "--json", "--top", "2"))
    actions = [Action(one["action"]) for one in facts["actions"]]
    mean, variance = model.scores({}, actions)
    assert [one["expected"] for one in facts["actions"]] == pytest.approx(mean.tolist())
    assert [one["std"] for one in facts["actions"]] == pytest.approx(np.sqrt(variance).tolist())
    assert {one["feature"] for one in facts["effects"]} < {"hour=day", "hour=night", "age"}
    for one in facts["effects"]:
        added = model.scores({one["feature"]: 1.0}, actions)[0] - mean
        assert one["of_actions"] == pytest.approx(added.tolist())
    text = ok("inspect", logs / "a.bandit")
    assert "rewards   100 in [0, 1], restarts 0" in text and "hour=night" in text and "games" in text


def test_models_of_all_actions_and_without_rewards_are_inspected(tmp_path, ok):
    (tmp_path / "log").write_text("".join(f"{json.dumps(one)}\n" for one in decisions(60, 0, features=True)))
    ok("train", "--bandit", tmp_path / "log", "-o", tmp_path / "m", "-q")
    assert {one["action"] for one in json.loads(ok("inspect", tmp_path / "m", "--json"))["actions"]} == {
        f"kind={id}" for id in IDS
    }
    many = DecisionModel()
    for k in range(25):
        many.learn({}, Action(f"action {k}"), 1.0)
    many.save(tmp_path / "many")
    assert "and 5 more" in (text := ok("inspect", tmp_path / "many")) and "action 20" not in text
    DecisionModel().save(tmp_path / "new")
    assert "No reward was learned." in ok("inspect", tmp_path / "new")


def test_probabilities_of_new_contexts_are_predicted(logs, ok, call):
    model = DecisionModel.load(logs / "a.bandit")
    new = [{"context": one["context"], "actions": one["actions"]} for one in decisions(20, 2)]
    (logs / "new.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in new))
    lines = [json.loads(line) for line in ok("predict", logs / "a.bandit", logs / "new.jsonl").splitlines()]
    for one, line in zip(new, lines, strict=True):
        p = model.probabilities(one["context"], [Action(id) for id in one["actions"]])
        assert line == {
            "preferred": one["actions"][p.argmax()],
            "probabilities": dict(zip(one["actions"], p.round(6).tolist(), strict=True)),
        }
    ok("predict", logs / "a.bandit", logs / "new.jsonl", "-o", logs / "out")
    assert [json.loads(line) for line in (logs / "out").read_text().splitlines()] == lines
    (logs / "wrong.jsonl").write_text(f"{json.dumps(new[0])}\n{{}}\n")
    code, _, err = call("predict", logs / "a.bandit", logs / "wrong.jsonl", "-o", logs / "out")
    assert code == 2 and "line 2: not a context with actions: it lacks 'actions'" in err
    assert len((logs / "out").read_text().splitlines()) == 20  # as it was


def test_models_of_decisions_are_merged(logs, ok):
    parts = [DecisionModel.load(logs / f"{name}.bandit") for name in "ab"]
    found = json.loads(ok("merge", logs / "a.bandit", logs / "b.bandit", "-o", logs / "both", "--json"))
    assert found["rewards"] == 200
    merge_decisions(parts).save(logs / "expected")
    assert (logs / "both").read_bytes() == (logs / "expected").read_bytes()
    ok("train", "--bandit", logs / "b.jsonl", "--init-model", logs / "a.bandit", "-o", logs / "longer", "-q")
    found = json.loads(
        ok("merge", logs / "longer", logs / "a.bandit", "-o", logs / "x", "--json", "--base", logs / "a.bandit")
    )
    assert found["rewards"] == 200


def test_models_of_entities_are_merged(tmp_path, ok):
    random = np.random.default_rng(0)
    for name in "ab":
        lines = [f"{random.integers(5)},{random.normal():.2f},{random.integers(2)}\n" for _ in range(100)]
        (tmp_path / f"{name}.csv").write_text("user,x,label\n" + "".join(lines))
        ok("train", tmp_path / f"{name}.csv", "--key", "user", "-o", tmp_path / f"{name}.ent", "-q")
    assert "rows         200" in ok("merge", tmp_path / "a.ent", tmp_path / "b.ent", "-o", tmp_path / "both")
    merge_entities([EntityModels.load(tmp_path / f"{name}.ent") for name in "ab"]).save(tmp_path / "expected")
    assert (tmp_path / "both").read_bytes() == (tmp_path / "expected").read_bytes()


def test_load_reads_models_of_every_kind(tmp_path):
    bandit = ContextualBandit(["a", "b"])
    bandit.decide([1.0])
    for model in (bandit, DecisionModel(), EntityModels().fit([[1.0], [2.0]], [0, 1], key=["a", "b"])):
        model.save(tmp_path / "model")
        assert type(confidently.load(tmp_path / "model")) is type(model)
