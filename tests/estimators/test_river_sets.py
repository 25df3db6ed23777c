"""Sets of classes and withheld answers of dicts are those of the same model on arrays."""

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed")

import pandas as pd
from sklearn.datasets import load_digits

from confidently import load
from confidently.river import (
    AutoClassifier,
    AutoRegressor,
    OnlineClassifier,
    OnlineMultiLabelClassifier,
    OnlineRegressor,
)

NAMES = np.array([f"d{k}" for k in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7)])


def digits(n):
    """Rows of a few columns, the first n and a hundred more, as dicts."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order][: n + 100, 10:60:4], y[order][: n + 100]
    names = [f"p{k}" for k in range(X.shape[1])]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return rows[:n], rows[n:], y[:n]


@pytest.mark.parametrize("kind, n", [(OnlineClassifier, 1200), (AutoClassifier, 400)])
def test_sets_of_dicts_are_those_of_arrays(kind, n, tmp_path):
    rows, rows_new, y = digits(n)
    model = kind()
    for x, label in zip(rows, NAMES[y].tolist(), strict=True):
        model.learn_one(x, label)
    model.save(tmp_path / "m.cw")
    same = load(tmp_path / "m.cw")
    table = pd.DataFrame(rows_new)[list(same.feature_names_in_)]
    sets, leave = same.predict_set(table, 0.9), same.abstain(table, 0.3)
    assert not sets.all() and 0 < leave.mean() < 1
    for x, inside, left in zip(rows_new, sets, leave, strict=True):
        assert model.predict_set_one(x, coverage=0.9) == set(same.classes_[inside])
        assert model.abstain_one(x, risk=0.3) is bool(left)


def test_sets_of_labels_are_those_of_arrays():
    rows, rows_new, y = digits(600)
    model = OnlineMultiLabelClassifier()
    assert model.predict_set_one(rows[0]) == set()
    for x, k in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, {"odd": k % 2 == 1, "large": k > 4})
    found = [model.predict_set_one(x, 0.8) for x in rows_new]
    learner, names = model._rows.learner, model._rows.table.names
    for x, one in zip(rows_new, found, strict=True):
        p = model.predict_proba_one(x)
        [inside] = learner.conformal.sets(np.array([[p[name][True] for name in names]]), 0.8, by_class=True)
        assert one == {name for name, yes in zip(names, inside, strict=True) if yes}
    assert {frozenset(one) for one in found} > {frozenset({"odd"}), frozenset({"large"})}


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_nothing_is_excluded_before_there_are_rows_enough(kind):
    model, rows = kind(), digits(10)[0]
    assert model.predict_set_one(rows[0]) == set() and model.abstain_one(rows[0])
    model.learn_one(rows[0], "a")
    assert model.predict_set_one(rows[0]) == {"a"} and model.abstain_one(rows[0])
    for x in rows[1:5]:
        model.learn_one(x, "b")
    assert model.predict_set_one(rows[0]) == {"a", "b"} and model.abstain_one(rows[0])


def test_what_cannot_be_promised_is_one_error():
    rows = digits(2)[0]
    for model in (OnlineClassifier(calibration=None), OnlineMultiLabelClassifier(calibration=None)):
        with pytest.raises(ValueError, match="predict_set_one: calibration=None has calibrated nothing"):
            model.predict_set_one(rows[0])
    with pytest.raises(ValueError, match="abstain_one: calibration=None has calibrated nothing"):
        OnlineClassifier(calibration=None).abstain_one(rows[0])
    with pytest.raises(ValueError, match=r"predict_set_one: coverage must be in \(0, 1\), got 90"):
        OnlineClassifier().predict_set_one(rows[0], 90)
    with pytest.raises(ValueError, match=r"abstain_one: risk must be in \(0, 1\), got 0"):
        OnlineClassifier().abstain_one(rows[0], 0)


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor])
def test_novelty_of_dicts_is_that_of_arrays(kind, tmp_path):
    rows, rows_new, y = digits(400)
    model = kind()
    assert model.novelty_one(rows[0]) == 1.0
    for x, k in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, float(k) if kind in (OnlineRegressor, AutoRegressor) else NAMES[k].item())
    model.save(tmp_path / "m.cw")
    same = load(tmp_path / "m.cw")
    far = [{name: 50.0 * value + 9.0 for name, value in x.items()} for x in rows_new[:2]]
    table = pd.DataFrame([*rows_new, *far])[list(same.feature_names_in_)]
    found = [model.novelty_one(x) for x in (*rows_new, *far)]
    np.testing.assert_allclose(found, same.novelty(table), rtol=1e-9)


def test_novelty_of_label_sets_and_without_a_calibration():
    rows, rows_new, y = digits(200)
    model, other = OnlineMultiLabelClassifier(), OnlineClassifier(calibration=None)
    for x, k in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, {"odd": k % 2 == 1, "large": k > 4})
        other.learn_one(x, k)
    assert 0.0 < model.novelty_one(rows_new[0]) <= 1.0
    with pytest.raises(ValueError, match="novelty_one: calibration=None has calibrated nothing"):
        other.novelty_one(rows_new[0])
