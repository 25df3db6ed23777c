"""Decisions among named actions: ridge regression from scratch, draws, slots, files, drift and invalid calls."""

import hashlib

import numpy as np
import pytest
from scipy.stats import chisquare

from confidently import ModelFileError
from confidently.bandits import (
    POLICIES,
    Action,
    Actions,
    ContextualBandit,
    DecisionModel,
    EpsilonGreedy,
    Greedy,
    SquareCB,
    flat,
    in_slot,
)
from confidently.bandits.draws import drawn, uniform, with_shares
from confidently.bandits.named_features import FeatureNames

ACTIONS = [Action("a", {"size": 0.5}), Action("b", {"color": "red"}), Action("c", {"color": "blue", "size": -1.0})]


def contexts(n, seed=0):
    """Contexts with a text, numbers, and features that come late."""
    random = np.random.default_rng(seed)
    for i in range(n):
        found = {"city": f"c{random.integers(3)}", "age": float(random.normal() / 4)}
        yield found | ({f"late{i // 20}": 0.5} if i > 10 else {})


def trained(n=80, seed=0, **options):
    """A model, and what it learned: contexts, numbers of actions, and rewards."""
    model, random, rows = DecisionModel(**{"forget": False, **options}), np.random.default_rng(seed), []
    for context in contexts(n, seed):
        k, reward = int(random.integers(3)), float(random.random() < 0.4)
        model.learn(context, ACTIONS[k], reward)
        rows.append((context, k, reward))
    return model, rows


def row_of(names, features):
    """[1, x], with a column per name and one more for all that is unknown."""
    x = np.zeros(len(names) + 2)
    for name, value in flat(features).items():
        if name in names:
            x[1 + names.index(name)] = value
        else:
            x[-1] = np.hypot(x[-1], value)
    return np.concatenate([[1.0], x[1:] / max(1.0, np.linalg.norm(x[1:]))])


def design(shared, context, k, names, action_names):
    x = row_of(names, context)
    return np.kron(x, row_of(action_names, ACTIONS[k].features) if shared else np.eye(3)[k])


@pytest.mark.parametrize("shared", [False, True])
def test_means_and_variances_are_those_of_ridge_regression(shared):
    model, rows = trained(shared=shared)
    names = sorted({name for context, _, _ in rows for name in flat(context)})
    action_names = sorted({name for one in ACTIONS for name in flat(one.features)})
    X = np.array([design(shared, context, k, names, action_names) for context, k, _ in rows])
    y = np.array([reward for _, _, reward in rows])
    covariance = np.linalg.inv(np.eye(X.shape[1]) + X.T @ X / 0.25)
    weights = covariance @ X.T @ y / 0.25
    squares = sum(  # errors of predictions from the rows before
        (y[i] - X[i] @ C @ X[:i].T @ y[:i] / 0.25) ** 2 * 0.25 / (0.25 + X[i] @ C @ X[i])
        for i in range(len(y))
        for C in [np.linalg.inv(np.eye(X.shape[1]) + X[:i].T @ X[:i] / 0.25)]
    )
    noise = (20 * 0.25 + squares) / (20 + len(y))
    for context in ({"city": "c1", "age": 0.3}, {"city": "unseen", "age": 5.0}, {}, None):
        Z = np.array([design(shared, context, k, names, action_names) for k in range(3)])
        mean, variance = model.scores(context, ACTIONS)
        np.testing.assert_allclose(mean, Z @ weights, atol=1e-9)
        np.testing.assert_allclose(variance, np.einsum("ij,jk,ik->i", Z, covariance, Z) * noise / 0.25, rtol=1e-8)


def test_an_unknown_action_is_at_the_prior():
    model = trained()[0]
    mean, variance = model.scores({"city": "c1"}, [Action("new")])
    assert mean == [0.0] and variance == pytest.approx(2.0 * model.noise / 0.25)
    shared = trained(shared=True)[0]
    like, other = shared.scores({"city": "c1"}, [Action("new", {"color": "red"}), ACTIONS[1]])[0]
    assert like == pytest.approx(other)


@pytest.mark.parametrize("shared", [False, True])
def test_with_many_features_only_variances_are_kept(shared, monkeypatch):
    """Each step is that of a diagonal covariance, of which the next keeps the diagonal."""
    monkeypatch.setattr("confidently.bandits.action_models.MAX_FULL", 0)
    model, rows = trained(shared=shared)
    names = sorted({name for context, _, _ in rows for name in flat(context)})
    action_names = sorted({name for one in ACTIONS for name in flat(one.features)})
    size = len(design(shared, {}, 0, names, action_names))
    mean, variance = np.zeros(size), np.ones(size)
    for context, k, reward in rows:
        x = design(shared, context, k, names, action_names)
        total = 0.25 + variance @ x**2
        mean += variance * x * (reward - x @ mean) / total
        variance -= (variance * x) ** 2 / total
    context = {"city": "c1", "age": 0.3, "unseen": 0.2}
    Z = np.array([design(shared, context, k, names, action_names) for k in range(3)])
    found = model.scores(context, ACTIONS)
    np.testing.assert_allclose(found[0], Z @ mean, atol=1e-9)
    np.testing.assert_allclose(found[1], Z**2 @ variance * model.noise / 0.25, rtol=1e-8)


@pytest.mark.parametrize("shared", [False, True])
def test_a_model_that_outgrows_its_covariances_keeps_means_and_variances(shared, monkeypatch):
    model = trained(shared=shared)[0]
    grown = model.copy()
    monkeypatch.setattr("confidently.bandits.action_models.MAX_FULL", 0)
    grown._widen()
    assert model.model.full and not grown.model.full
    context = {"city": "c1", "age": 0.2}
    np.testing.assert_allclose(grown.scores(context, ACTIONS)[0], model.scores(context, ACTIONS)[0], atol=1e-12)
    constant = [one.scores({}, [one_action])[1] for one in (model, grown) for one_action in [Action("a")]]
    np.testing.assert_allclose(*constant)  # one weight, which is that of no feature


def test_predictions_do_not_depend_on_units_beyond_1():
    """The scale is a power of two, and a row longer than 1 has length 1."""
    names = FeatureNames()
    assert names.add({"age": 43.0, "x": 0.3}) == []
    assert names.row({"age": 43.0, "x": 0.3}).values == pytest.approx([1.0, 43 / 64, 0.3])
    assert names.add({"age": 100.0}) == [(1, 2.0)]
    assert names.row({"age": 100.0}).values == pytest.approx([1.0, 100 / 128])
    long = names.row({"age": 128.0, "x": 1.0, "new": 1.0})
    assert (long.values[1:] ** 2).sum() + long.unknown == pytest.approx(1.0)


@pytest.mark.parametrize("full", [True, False])
def test_weights_that_are_known_follow_a_new_scale(full, monkeypatch):
    if not full:
        monkeypatch.setattr("confidently.bandits.action_models.MAX_FULL", 0)
    model, action = DecisionModel(forget=False), [Action("a")]
    for k in range(300):
        model.learn({"age": float(k % 2)}, action[0], float(k % 2))
    before, uncertain = model.scores({"age": 1.0}, action)
    assert before > 0.9
    for factor in model.names.add({"age": 2.0}):
        model.model.scale(*factor, of_actions=False)
    np.testing.assert_allclose(model.scores({"age": 1.0}, action), (before, uncertain))
    for factor in model.names.add({"age": 2.0**30}):  # of which nothing is known
        model.model.scale(*factor, of_actions=False)
    mean, variance = model.scores({"age": 2.0**30}, action)
    assert abs(mean) < 100 and variance < 1.5


@pytest.mark.long("8,000 decisions one by one")
def test_weights_of_features_of_actions_follow_a_new_scale(monkeypatch):
    for max_full in (1 << 20, 0):
        monkeypatch.setattr("confidently.bandits.action_models.MAX_FULL", max_full)
        model, values = DecisionModel(shared=True, forget=False), np.random.default_rng(0).uniform(-1, 1, 4000)
        for z in values:
            model.learn({}, Action("", {"z": z}), 0.5 + z / 3)
        half = [Action("", {"z": 0.5})]
        before = model.scores({}, half)[0]
        model.learn({}, Action("", {"z": 2.0}), 0.5 + 2 / 3)
        assert before == pytest.approx(0.5 + 0.5 / 3, abs=0.02) == model.scores({}, half)[0]


# --- deciding ------------------------------------------------------------------------------------------------------


@pytest.mark.long("2,000 decisions of each policy")
@pytest.mark.parametrize("policy", POLICIES)
def test_choices_have_their_probabilities_and_are_those_of_their_ids(policy):
    model = trained(policy=policy, seed=3)[0]
    found = [model.decide({"city": "c1"}, ACTIONS, str(i)) for i in range(2000)]
    p = found[0].probabilities
    assert p.sum() == pytest.approx(1.0)
    assert all(one.probability == p[one.chosen] and one.preferred == one.chosen for one in found)
    counts = np.bincount([one.chosen for one in found], minlength=3)
    assert (counts[p == 0] == 0).all()
    if (p > 0).sum() > 1:
        assert chisquare(counts[p > 0], 2000 * p[p > 0] / p.sum()).pvalue > 1e-4
    assert [model.decide({"city": "c1"}, ACTIONS, str(i)).chosen for i in range(50)] == [
        one.chosen for one in found[:50]
    ]


def test_draws_are_the_same_on_every_machine():
    digest = hashlib.blake2b(b"0:a", digest_size=8).digest()
    assert uniform(0, "a") == int(digest.hex(), 16) // 2**11 / 2**53
    assert len({uniform(seed, id) for seed, id in ((0, "a"), (1, "a"), (0, "\udc80"))}) == 3
    draws = np.array([uniform(0, str(i)) for i in range(10_000)])
    assert chisquare(np.histogram(draws, 20, (0, 1))[0]).pvalue > 1e-3


def test_costs_shares_and_exclusions():
    model = DecisionModel(Greedy(), forget=False)
    for k in range(60):
        model.learn({}, ACTIONS[k % 3], [0.9, 0.8, 0.1][k % 3])
    probabilities = lambda *actions: model.probabilities({}, actions).round(12).tolist()  # noqa: E731
    a, b, c = ACTIONS
    assert probabilities(a, b, c) == [1, 0, 0]
    assert probabilities(a._replace(cost=0.2), b, c) == [0, 1, 0]
    assert probabilities(a._replace(excluded=True), b, c) == [0, 1, 0]
    assert probabilities(a, b._replace(min_share=0.2), c) == [0.8, 0.2, 0]
    assert probabilities(a, b._replace(min_share=0.2, excluded=True), c) == [1, 0, 0]
    assert probabilities(*(one._replace(min_share=0.5) for one in ACTIONS)) == pytest.approx([1 / 3] * 3)
    model.min_share = 0.1
    assert probabilities(a, b._replace(min_share=0.2), c) == pytest.approx([0.7, 0.2, 0.1])
    model.min_share = 0.9
    assert probabilities(a, b, c) == pytest.approx([1 / 3] * 3)
    assert probabilities(a, b._replace(min_share=0.5), c) == pytest.approx([2 / 7, 3 / 7, 2 / 7])  # of 1/3, 1/2, 1/3
    assert model.probabilities({}, ACTIONS, "greedy").sum() == pytest.approx(1.0)
    np.testing.assert_allclose(with_shares(np.array([0.5, 0.5]), np.array([0.0, 0.4])), [0.3, 0.7])


def test_a_baseline_is_chosen_for_certain_and_the_policy_says_what_it_prefers():
    model = trained(policy="greedy")[0]
    best = model.decide({}, ACTIONS, "x").chosen
    found = model.decide({}, ACTIONS, "x", baseline=(best + 1) % 3)
    assert (found.chosen, found.probability, found.preferred) == ((best + 1) % 3, 1.0, best)
    assert found.probabilities.tolist() == np.eye(3)[found.chosen].tolist()


@pytest.mark.parametrize("n_slots", [1, 3, 4])
def test_each_slot_is_a_decision_among_the_actions_that_are_left(n_slots):
    model = trained(shared=True, policy=EpsilonGreedy(0.5))[0]
    for i in range(50):
        model.learn(in_slot({"city": "c1"}, {"place": "top"}), ACTIONS[i % 3], i % 3 == 0)
    actions = [*ACTIONS, Action("d", excluded=True), Action("e", cost=0.1, min_share=0.2)]
    slots = [{"place": "top"}, {"place": "side"}, {}, "a name"][:n_slots]
    for i in range(20):
        found, left = model.decide_slots({"city": "c1"}, slots, actions, str(i)), list(actions)
        for k, one in enumerate(found):
            expected = model.probabilities(in_slot({"city": "c1"}, slots[k]), left)
            np.testing.assert_allclose(one.probabilities, expected)
            assert one.chosen == one.preferred == drawn(expected, uniform(model.seed, f"{i}/{k}"))
            assert one.probability == one.probabilities[one.chosen] > 0.0
            left[one.chosen] = left[one.chosen]._replace(excluded=True)
        assert len({one.chosen for one in found}) == n_slots and 3 not in {one.chosen for one in found}
    baselines = [2, 0, 4, 1][:n_slots]
    found = model.decide_slots({}, slots, actions, "x", baselines=baselines)
    assert [(one.chosen, one.probability) for one in found] == [(k, 1.0) for k in baselines]
    with pytest.raises(ValueError, match="slots: 5 for 4 actions"):
        model.decide_slots({}, [{}] * 5, actions, "x")


def test_explanations_add_up():
    for shared in (False, True):
        model = trained(shared=shared, reward_range=(-1.0, 3.0))[0]
        found = model.explain({"city": "c1", "age": 0.2, "unseen": 1.0}, ACTIONS[1])
        assert set(found) == {"", "city=c1", "age"}
        assert sum(found.values()) == pytest.approx(
            model.scores({"city": "c1", "age": 0.2, "unseen": 1.0}, ACTIONS)[0][1]
        )
        assert list(found) == sorted(found, key=lambda name: -abs(found[name]))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("full", [True, False])
def test_contributions_add_up_to_mean_and_variance(shared, full, monkeypatch):
    if not full:
        monkeypatch.setattr("confidently.bandits.decision_model.FullModel.fits", lambda *args: False)
    model, context = trained(shared=shared, reward_range=(-1.0, 3.0))[0], {"city": "c1", "age": 0.2, "new": 1.0, "x": 9}
    found = model.contributions(context, ACTIONS[1])
    assert set(found) == {"", "city=c1", "age", "new", "x"} and found["new"][0] == 0.0
    mean, variance = (part[1] for part in model.scores(context, ACTIONS))
    assert np.sum(list(found.values()), axis=0) == pytest.approx([mean, variance])
    assert found["new"][1] > 0


def test_actions_that_are_kept_follow_the_model():
    model, kept = trained(shared=True)[0], Actions([*ACTIONS, Action("d", {"new": 1.0})])
    model.probabilities({}, kept)
    model.learn({}, Action("d", {"new": 1.0}), 1.0)
    for found, expected in zip(
        model.scores({}, kept), model.scores({}, [*ACTIONS, Action("d", {"new": 1.0})]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    other = trained(shared=True, seed=5)[0]
    np.testing.assert_array_equal(other.scores({}, kept)[0][:3], other.scores({}, ACTIONS)[0])


def test_rewards_of_another_range_give_the_same_decisions():
    narrow, wide = (trained(n=0, reward_range=r)[0] for r in ((0, 1), (-50, 150)))
    random = np.random.default_rng(0)
    for context in contexts(60):
        k, reward = int(random.integers(3)), float(random.random())
        narrow.learn(context, ACTIONS[k], reward)
        wide.learn(context, ACTIONS[k], -50 + 200 * reward)
    np.testing.assert_allclose(wide.probabilities({}, ACTIONS), narrow.probabilities({}, ACTIONS), atol=1e-9)
    np.testing.assert_allclose(wide.scores({}, ACTIONS)[0], -50 + 200 * narrow.scores({}, ACTIONS)[0])


# --- replay and files ----------------------------------------------------------------------------------------------


def played(model, first, last):
    """Decide and learn; return the choices with their probabilities."""
    random, found = np.random.default_rng(9), []
    for i, (context, u) in enumerate(zip(contexts(last), random.random(last), strict=True)):
        if i < first:
            continue
        one = model.decide(context, ACTIONS, str(i))
        found.append((one.chosen, one.probability))
        model.learn(context, ACTIONS[one.chosen], float(u < (0.8 if (one.chosen == 0) == (i < 150) else 0.1)))
    return found


@pytest.mark.long("900 decisions one by one")
@pytest.mark.few(1)
@pytest.mark.parametrize("max_full", [1 << 20, 3000, 0])  # 3000: it is outgrown on the way
@pytest.mark.parametrize("shared", [False, True])
def test_a_replay_and_a_loaded_model_give_the_same_decisions(shared, max_full, tmp_path, monkeypatch):
    monkeypatch.setattr("confidently.bandits.action_models.MAX_FULL", max_full)
    options = {"policy": SquareCB(), "shared": shared, "min_share": 0.02, "seed": 4}
    whole = played(first := DecisionModel(**options), 0, 300)
    assert played(DecisionModel(**options), 0, 300) == whole
    half = DecisionModel(**options)
    played(half, 0, 160)
    half.save(tmp_path / "half")
    copied = half.copy()
    again = DecisionModel.load(tmp_path / "half")
    again.save(tmp_path / "again")
    assert (tmp_path / "half").read_bytes() == (tmp_path / "again").read_bytes()
    assert played(again, 160, 300) == whole[160:] == played(copied, 160, 300)
    assert (again.n_learned, again.n_restarts) == (first.n_learned, first.n_restarts) == (300, first.n_restarts)


def test_other_files_are_refused(tmp_path):
    bandit = ContextualBandit(["a", "b"])
    bandit.decide([1.0])
    bandit.save(tmp_path / "bandit")
    with pytest.raises(ModelFileError, match="expected a model of decisions, got a bandit; use ContextualBandit"):
        DecisionModel.load(tmp_path / "bandit")
    DecisionModel().save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="expected a bandit, got a model of decisions"):
        ContextualBandit.load(tmp_path / "model")
    assert DecisionModel.load(tmp_path / "model").n_learned == 0


# --- drift ---------------------------------------------------------------------------------------------------------


def earned(model, n, good):
    """Play n decisions among five actions, of which one is good; return the mean reward."""
    actions = Actions([Action(f"{k}") for k in range(5)])
    random, total = np.random.default_rng(7), 0.0
    for i in range(n):
        chosen = model.decide({"x": 1.0}, actions, f"{model.n_learned} {i}").chosen
        reward = float(random.random() < (0.8 if chosen == good else 0.2))
        model.learn({"x": 1.0}, Action(f"{chosen}"), reward)
        total += reward / n
    return total


@pytest.mark.long("5,600 decisions one by one")
def test_after_a_change_a_model_begins_again_with_the_latest_rewards():
    model, fresh = DecisionModel(), DecisionModel()
    assert earned(model, 2000, good=1) > 0.75 and model.n_restarts == 0
    assert earned(model, 400, good=3) > 0.9 * earned(fresh, 400, good=3)
    assert model.n_restarts == 1
    keeps = DecisionModel(forget=False)
    earned(keeps, 2000, good=1)
    assert earned(keeps, 400, good=3) < 0.6 * earned(DecisionModel(), 400, good=3)


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("actions", "message"), [
    ([], "at least one"), ("abc", "expected a sequence of at least one, got 'abc'"),
    ([Action("a"), Action("b"), Action("a")], "'a' is there twice"),
    ([Action("a", excluded=True)], "all are excluded"), ([Action("a", cost=float("nan"))], "costs must be finite"),
    ([Action("a", min_share=1.5)], r"min_share must be in \[0, 1\]"),
    ([Action("a", {"x": float("inf")})], "feature 'x' must be finite"),
])  # fmt: skip
def test_invalid_actions_are_refused(actions, message):
    with pytest.raises(ValueError, match=message):
        DecisionModel().decide({}, actions, "x")


def test_invalid_calls_are_refused_and_change_nothing(tmp_path):
    model = trained()[0]
    model.save(tmp_path / "before")
    for call, error, message in [
        (lambda: model.learn({"x": float("nan")}, ACTIONS[0], 1.0), ValueError, "feature 'x' must be finite"),
        (lambda: model.learn({"x": {1, 2}}, ACTIONS[0], 1.0), TypeError, "feature 'x': expected a number"),
        (lambda: model.learn({"new": 1.0}, ACTIONS[0], float("nan")), ValueError, "the reward must be finite"),
        (lambda: model.learn({"new": 1.0}, ACTIONS[0], 1e9), ValueError, "within 1e[+]06 ranges"),
        (lambda: model.decide_slots({}, [{}] * 4, ACTIONS, "x"), ValueError, "4 for 3 actions"),
        (lambda: model.decide({"x": 1e60}, ACTIONS, "x"), ValueError, "at most 1e[+]50"),
        (lambda: model.decide({}, ["a", True], "x"), TypeError, "expected an Action, a text or an integer, got True"),
        (lambda: model.learn({}, None, 1.0), TypeError, "expected an Action, a text or an integer, got None"),
        (lambda: model.learn({}, Action(1), 1.0), TypeError, "the id of an action must be a text, got 1"),
    ]:
        with pytest.raises(error, match=message):
            call()
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    with pytest.raises(ValueError, match="reward_range: expected two numbers"):
        DecisionModel(reward_range=(1.0, 1.0))
    with pytest.raises(ValueError, match="min_share must be in"):
        DecisionModel(min_share=2.0)


def test_a_hundred_thousand_actions():
    actions = Actions([Action(str(k)) for k in range(100_000)])
    model = DecisionModel("square_cb")
    model.learn({"x": 1.0}, Action("7"), 1.0)
    found = model.decide({"x": 1.0}, actions, "x")
    assert found.probabilities.argmax() == 7 and found.probabilities.sum() == pytest.approx(1.0)


def test_features_are_named_as_json_has_them():
    assert flat(None) == {} and flat("red") == {"red": 1.0}
    assert flat({"a": [1, 2.5], "b": [{"c": "x"}, {"d": None}], "e": np.float32(2), "f": False}) == {
        "a.0": 1.0, "a.1": 2.5, "b.c=x": 1.0, "e": 2.0, "f": 0.0,
    }  # fmt: skip
    assert flat([{"a": 1}, {"a": 2}]) == {"a": 3.0}


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_a_weight_counts_as_so_many_equal_rewards(shared):
    models = [DecisionModel(shared=shared, forget=False) for _ in range(2)]
    random = np.random.default_rng(0)
    for context in contexts(30):
        action, reward = ACTIONS[random.integers(3)], float(random.random())
        models[0].learn(context, action, reward, weight=3.0)
        for _ in range(3):
            models[1].learn(context, action, reward)
    actions = Actions(ACTIONS)
    found = [np.array(one.model.scores(one.names.row(flat(context)), actions.rows(one.actions))) for one in models]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_learning_returns_what_was_expected():
    model, _ = trained(reward_range=(-1.0, 3.0))
    [mean], _ = model.scores({"city": "c1"}, [ACTIONS[1]])
    assert model.learn({"city": "c1"}, ACTIONS[1], 2.0) == pytest.approx(mean)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_weight_is_a_number_from_0(weight):
    model = DecisionModel()
    with pytest.raises(ValueError, match="weight"):
        model.learn({"a": 1}, ACTIONS[0], 1.0, weight)
    assert model.n_learned == 0
