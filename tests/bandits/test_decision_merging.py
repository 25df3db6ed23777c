"""Merged models of decisions against one model that learned all rewards."""

import numpy as np
import pytest

from confidently import MergeError
from confidently.bandits import Action, DecisionModel, merge_decisions

ACTIONS = [Action(id, {"size": size, id: 1.0}) for id, size in (("a", 0.5), ("b", -3.0), ("c", 1.0), ("d", 9.0))]


def rows(first, last):
    """Contexts, actions and rewards; names appear in another order in each part, and one action in one part only."""
    random = np.random.default_rng(0)
    found = []
    for i in range(last):
        context = {f"f{(j + 3 * (i // 40)) % 7}": float(random.normal()) for j in random.permutation(5)}
        found.append((context, ACTIONS[random.integers(3 + (i > 80))], float(random.random())))
    return found[first:last]


def trained(first, last, base=None, **options):
    model = DecisionModel(forget=False, **options) if base is None else base.copy()
    for row in rows(first, last):
        model.learn(*row)
    return model


def assert_alike(one, other, **tolerance):
    for context, _, _ in rows(0, 5):
        for found, expected in zip(one.scores(context, ACTIONS), other.scores(context, ACTIONS), strict=True):
            np.testing.assert_allclose(found, expected, **tolerance)


@pytest.fixture(params=[False, True], ids=["own", "shared"])
def shared(request):
    return request.param


def unit(row):
    """The row without units beyond 1, so that no scale grows on the way, which is where orders matter."""
    context, action, reward = row
    return {name: np.clip(x, -1, 1) for name, x in context.items()}, action._replace(features={action.id: 1.0}), reward


@pytest.fixture
def units(monkeypatch):
    original = rows
    monkeypatch.setattr(f"{__name__}.rows", lambda first, last: [unit(row) for row in original(first, last)])


@pytest.mark.usefixtures("units")
def test_merging_is_training_on_all(shared):
    whole, parts = trained(0, 120, shared=shared), [trained(a, a + 40, shared=shared) for a in (0, 40, 80)]
    merged = merge_decisions(parts)
    merged.squares, merged.n_squares = whole.squares, whole.n_squares  # of predictions, which parts make with less
    assert merged.n_learned == 120
    assert_alike(merged, whole, atol=1e-8)


@pytest.mark.usefixtures("units")
def test_merging_counts_the_base_once(shared):
    base = trained(0, 40, shared=shared)
    merged = merge_decisions([trained(40, 80, base), trained(80, 120, base)], base)
    whole = trained(0, 120, shared=shared)
    merged.squares, merged.n_squares = whole.squares, whole.n_squares
    assert merged.n_learned == 120
    assert_alike(merged, whole, atol=1e-8)
    assert merge_decisions([base], base).n_squares == base.n_squares


def test_a_merged_model_continues(shared, tmp_path):
    """With scales that differ between the parts."""
    merged = merge_decisions([trained(0, 60, shared=shared), trained(60, 120, shared=shared)])
    merged.save(tmp_path / "model")
    again = DecisionModel.load(tmp_path / "model")
    for model in (merged, again):
        model.learn({"f0": 1.0, "new": 2.0}, Action("e", {"new": 1.0}), 1.0)
    assert_alike(merged, again, rtol=0)
    alone = trained(0, 120, shared=shared)
    correlation = np.corrcoef(*(m.scores(rows(0, 1)[0][0], ACTIONS)[0] for m in (merged, alone)))[0, 1]
    assert correlation > 0.9


def weights_of(model):
    """Mean and variance of each weight, in the order of features and arms."""
    parts = model.model.parts()
    return parts["weights"][np.lexsort((parts["arm"], parts["feature"]))]


def test_models_without_covariances(shared, monkeypatch):
    """The product of Gaussians with diagonal covariances; one that has all of them gives up those."""
    parts = [trained(0, 60, shared=shared)]
    monkeypatch.setattr("confidently.bandits.action_models.MAX_FULL", 0)
    parts.append(trained(0, 60, shared=shared))
    merged = merge_decisions(parts)
    assert not merged.model.full
    double = merge_decisions([parts[1], parts[1]])
    context = [{f"f{j}": 1.0} for j in range(7)]
    for one in context:
        before, after = (model.scores(one, ACTIONS)[1] / model.noise for model in (parts[1], double))
        assert (after[:3] < before[:3]).all()
    one, both = (weights_of(model) for model in (parts[1], double))
    np.testing.assert_allclose(1 / both[:, 1] - 1, 2 * (1 / one[:, 1] - 1), atol=1e-9)
    np.testing.assert_allclose(both[:, 0] / both[:, 1], 2 * one[:, 0] / one[:, 1])


def test_what_cannot_be_merged():
    with pytest.raises(MergeError, match="differ in shared or reward_range"):
        merge_decisions([DecisionModel(), DecisionModel(shared=True)])
    again = DecisionModel()
    again.n_restarts = 1
    with pytest.raises(MergeError, match="began again after its base"):
        merge_decisions([again], DecisionModel())
    assert merge_decisions([DecisionModel(), DecisionModel()]).n_learned == 0
