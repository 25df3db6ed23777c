"""Logs of decisions: the forms of their lines, and what a model that plays them gives to estimators."""

import gzip
import json

import numpy as np
import pytest

from confidently.bandits import Action, DecisionModel, EpsilonGreedy, evaluate_policy, in_slot, play, read_decisions
from confidently.data import DataError, DataWarning

FULL = {
    "id": "visit 1", "context": {"age": 30}, "chosen": "b", "probability": 0.25, "reward": 1,
    "actions": ["a", {"id": "b", "features": {"size": 2}, "cost": 0.5}, {"id": "c", "excluded": True}],
}  # fmt: skip
PERSONALIZER = {
    "_label_cost": -1.0, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1, "EventId": "x",
    "a": [2, 1], "p": [0.8, 0.2], "c": {"FromUrl": [{"hour": 3}], "_multi": [{"i": {"id": 1}}, {"i": {"id": 2}}]},
}  # fmt: skip


def written(path, *records):
    path.write_text("".join(f"{json.dumps(one)}\n\n" for one in records))
    return path


def test_lines_of_json_are_read(tmp_path):
    first, second = read_decisions(written(tmp_path / "log", FULL, FULL | {"reward": None, "context": None}))
    assert first.context == {"age": 30} and first.chosen == 1 and first.probability == 0.25 and first.reward == 1
    assert first.actions == [Action("a"), Action("b", {"size": 2}, 0.5), Action("c", excluded=True)]
    assert second.reward is None
    (tmp_path / "log.gz").write_bytes(gzip.compress((tmp_path / "log").read_bytes()))
    again = [one._replace(place=one.place.replace("log.gz", "log")) for one in read_decisions(tmp_path / "log.gz")]
    assert again == [first, second] and first.place == f"{tmp_path / 'log'}, line 1"


def exported(**changes):
    """A line that Personalizer exported, of the request that its client has sent."""
    features = [[{"price": 2}, {"kind": {"hot": True}}], [{"price": 3, "_secret": 1}]]
    actions = [
        {"_tag": f"drink {k}", "i": {"constant": 1, "id": f"drink {k}"}, "j": one} for k, one in enumerate(features)
    ]
    context = {"FromUrl": [{"hour": 3}, {"user": {"age": 30}}, {"user": {"tier": "gold"}}], "_multi": actions}
    return PERSONALIZER | {"c": context} | changes


def test_lines_of_personalizer_are_read_as_the_requests_were(tmp_path):
    first, second = read_decisions(written(tmp_path / "log", PERSONALIZER, exported()))
    assert first.context == {"hour": 3} and [one.id for one in first.actions] == ["1", "2"]
    assert second.context == {"hour": 3, "user": {"age": 30, "tier": "gold"}}
    assert second.actions == [
        Action("drink 0", {"price": 2, "kind": {"hot": True}}), Action("drink 1", {"price": 3})
    ]  # fmt: skip
    for one in (first, second):
        assert (one.chosen, one.probability, one.reward, one.weight) == (1, 0.8, 1.0, 1.0)


def test_events_that_were_not_activated_or_dropped_and_lines_without_a_decision(tmp_path):
    alone = {"RewardValue": 1.0, "EnqueuedTimeUtc": "2026-02-04T16:31:29Z", "EventId": "y", "Observations": []}
    lines = (
        exported(_skipLearn=True),
        exported(pdrop=0.9),
        {"checkpoint_info": {"reward_function": 0}},
        alone,
        exported(),
    )
    with pytest.warns(DataWarning, match="log: 1 reward of decisions in other files; left out"):
        found = list(read_decisions(written(tmp_path / "log", *lines)))
    assert [one.weight for one in found] == pytest.approx([10.0, 1.0])
    without = {name: value for name, value in exported().items() if not name.startswith("_label")}
    (one,) = read_decisions(written(tmp_path / "log", without))
    assert (one.chosen, one.probability, one.reward) == (1, 0.8, None)
    with pytest.raises(DataError, match=r"line 1: not a decision: .*(pdrop|zero)"):
        list(read_decisions(written(tmp_path / "log", exported(pdrop=1))))


def test_a_line_of_several_slots_is_a_decision_for_each(tmp_path):
    slots = [{"_id": "large", "j": [{"size": 3}]}, {"_id": "small"}]
    outcomes = [
        {"_label_cost": -1.0, "_id": "large", "_a": [1, 0], "_p": [0.7, 0.3]},
        {"_id": "small", "_a": [0], "_p": [1]},
    ]
    context = exported()["c"] | {"_slots": slots}
    large, small = read_decisions(written(tmp_path / "log", {"c": context, "_outcomes": outcomes}))
    assert large.context == in_slot({"hour": 3, "user": {"age": 30, "tier": "gold"}}, {"size": 3})
    assert [(one.chosen, one.probability, one.reward) for one in (large, small)] == [(1, 0.7, 1.0), (0, 1.0, None)]
    assert [[action.excluded for action in one.actions] for one in (large, small)] == [[False, False], [False, True]]


def test_text_of_vowpal_wabbit_is_read(tmp_path):
    text = "shared |u fan:0.5\n|p news\n0:-1:0.25 |p sport\n\n|p news\n|p sport\n\n"
    (tmp_path / "log.vw").write_text(text)
    first, second = read_decisions(tmp_path / "log.vw")
    assert (first.chosen, first.probability, first.reward) == (1, 0.25, 1.0)
    assert list(first.context.values()) == [0.5] and second.reward is None and second.context == {}
    assert first.actions[0].features == second.actions[0].features != first.actions[1].features


@pytest.mark.parametrize(("change", "message"), [
    ({"probability": 0}, r"probability must be in \(0, 1\], got 0.0"), ({"probability": None}, "not a decision"),
    ({"reward": "1"}, "reward must be a finite number or null, got '1'"),
    ({"chosen": "d"}, "chosen 'd' is not among the actions"), ({"actions": []}, "not among the actions"),
    ({"actions": ["b", "b"]}, "'b' is there twice"), ({"context": {"x": 1e99}}, "feature 'x' must be finite"),
])  # fmt: skip
def test_invalid_lines_are_refused_with_their_numbers(tmp_path, change, message):
    with pytest.raises(DataError, match=rf"log, line 3: not a decision: .*{message}|log, line 3: {message}"):
        list(read_decisions(written(tmp_path / "log", FULL, FULL | change)))
    for line, problem in ((b"{}", "it lacks 'actions'"), (b"[1]", "expected an object"), (b"{", "not a decision")):
        (tmp_path / "log").write_bytes(json.dumps(FULL).encode() + b"\n" + line + b"\n")
        with pytest.raises(DataError, match=f"log, line 2: .*{problem}"):
            list(read_decisions(tmp_path / "log"))
    (tmp_path / "log").write_text(json.dumps(PERSONALIZER | {"_labelIndex": 2}))
    with pytest.raises(DataError, match="the chosen action 2 is not one of 2"):
        list(read_decisions(tmp_path / "log"))


def log_of(n, seed=0):
    """Uniform choices among a varying number of actions, of which "a" is good."""
    random = np.random.default_rng(seed)
    for _ in range(n):
        ids = list("abcd")[: random.integers(2, 5)]
        chosen = ids[random.integers(len(ids))]
        reward = int(random.random() < (0.8 if chosen == "a" else 0.3))
        yield FULL | {"actions": ids, "chosen": chosen, "probability": 1 / len(ids), "reward": reward}


def test_play_gives_what_estimators_of_all_actions_give(tmp_path):
    """Two actions, the chosen one and the others together, give the same doubly robust estimate."""
    decisions = list(read_decisions(written(tmp_path / "log", *log_of(200))))
    model = DecisionModel(EpsilonGreedy(0.3), forget=False)
    play(model, decisions[:100], learn=True)
    found = play(model, decisions[100:], learn=False)
    terms = []
    for one in decisions[100:]:
        p, q = model.probabilities(one.context, one.actions), model.scores(one.context, one.actions)[0]
        terms.append(p @ q + p[one.chosen] / one.probability * (one.reward - q[one.chosen]))
    values = {one.estimator: one for one in evaluate_policy(**found)}
    np.testing.assert_allclose(values["dr"].value, np.mean(terms), atol=1e-9)
    assert model.n_learned == 100


def test_a_policy_that_learns_from_a_log_is_valued_before_each_reward(tmp_path):
    decisions = list(read_decisions(written(tmp_path / "log", *log_of(1500), FULL | {"reward": None})))
    model = DecisionModel()
    values = {one.estimator: one for one in evaluate_policy(**play(model, decisions, learn=True))}
    assert model.n_learned == values["snipw"].rounds == 1500
    assert 0.7 < values["snipw"].value < 0.85 and values["dr"].low < 0.8 < values["dr"].high
    greedy = evaluate_policy(**play(model, decisions, learn=False, policy="greedy"))
    assert greedy[1].value == pytest.approx(0.8, abs=0.05)
