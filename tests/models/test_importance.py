"""The importance of features, compared with closed forms and with differences of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.feature_selection import RFE, SelectFromModel

from confidently import (
    AutoClassifier,
    AutoRegressor,
    Categories,
    Cosines,
    OnlineClassifier,
    OnlineRegressor,
    load,
    make_view,
)
from confidently.models.importance import importances, importances_by_name

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(600, 5))
Y = {"line": X[:, 1] > 0, "xor": X[:, 1] * X[:, 3] > 0, "classes": np.digitize(X[:, 1] + X[:, 3], [-1, 1])}


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("y", Y.values(), ids=Y)
def test_those_of_a_line_are_squared_weights_times_what_rows_taught(y: np.ndarray, covariance: str) -> None:
    own: dict[str, Any] = {"fit_intercept": False, "view": None, "shuffle": False, "prior_variance": 0.25}
    model = OnlineClassifier("logistic", covariance, **own).fit(X, y)
    if covariance == "diag":
        gained = 1.0 / model.variance_ - 4.0
    else:
        gained = np.diagonal(np.linalg.inv(model.covariance_), axis1=-2, axis2=-1).reshape(-1, 5) - 4.0
    parts = (model.coef_**2 * gained).mean(axis=0)
    assert model.feature_importances_ == pytest.approx(parts / parts.sum(), rel=1e-9)


def test_those_of_a_rule_without_variances_are_squared_effects() -> None:
    model = OnlineClassifier("pa1", view=None).fit(X, Y["line"])
    assert model.feature_importances_ == pytest.approx(model.coef_[0] ** 2 / (model.coef_**2).sum(), rel=1e-12)
    model = OnlineClassifier("pa1", view="idf").fit(np.abs(X) * (X > 0.5), Y["line"])  # which multiplies rare ones
    effects = model.coef_[0] * model.view_.factors(model.learner_.state)
    assert model.feature_importances_ == pytest.approx(effects**2 / (effects**2).sum(), rel=1e-12)


def test_frequent_words_are_more_important_than_rare_ones_that_say_as_much() -> None:
    texts = ["often a"] * 300 + ["never b"] * 300 + ["rare a"] * 3
    model = OnlineClassifier("logistic").fit(texts, [1] * 300 + [0] * 300 + [1] * 3)
    found = dict(zip(model.features_.name_of().values(), model.feature_importances_, strict=True))
    assert found["often"] > 20 * found["rare"] > 0.0


def test_those_of_a_standardized_column_do_not_depend_on_its_unit() -> None:
    units = np.array([1.0, 1e6, 1.0, 1.0, 1e-6])
    found = [
        OnlineRegressor(view="standard").fit(X * unit, X[:, 1] + X[:, 2] / 2).feature_importances_
        for unit in (1.0, units)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9) and found[0][1:3] == pytest.approx([0.8, 0.2], abs=0.03)


@pytest.mark.parametrize("unit_norm", [False, True])
def test_those_of_cosines_are_total_effects(unit_norm: bool) -> None:
    model = OnlineClassifier(view=make_view([Cosines(n=200, scale=0.5, unit_norm=unit_norm)])).fit(X, Y["classes"])
    rows, others = np.random.default_rng(1).normal(size=(2, 3000, 5))
    changes = []
    for j in range(5):
        moved = rows.copy()
        moved[:, j] = others[:, j]
        changes.append(model.decision_function(moved) - model.decision_function(rows))
    squares = np.square(changes).mean(axis=(1, 2))
    assert model.feature_importances_ == pytest.approx(squares / squares.sum(), abs=0.03)


@pytest.mark.parametrize("y", Y.values(), ids=Y)
def test_a_stack_finds_the_columns_that_decide(y: np.ndarray) -> None:
    stack = AutoClassifier(random_state=0).fit(X, y)
    important = {"line": [1], "xor": [1, 3], "classes": [1, 3]}[next(name for name, own in Y.items() if own is y)]
    assert stack.feature_importances_.sum() == pytest.approx(1.0)
    assert stack.feature_importances_[important].sum() > 0.85


def test_those_of_a_stack_are_squares_of_what_members_add() -> None:
    line = OnlineClassifier("arow", view=None)  # without variances of its own, the third has values of 1
    stack = AutoClassifier(members=[line, OnlineClassifier("logistic", view=None), OnlineClassifier("pa1", view=None)])
    stack.fit(X, Y["line"])
    effects = np.zeros(5)
    for member, weight in zip(stack.learner_.members, stack.weights_, strict=True):
        slope, mean = member.state["calibration"][0], np.abs(member.mean()[0, :5])
        if member.settings.rule.learns_precision:
            gained = 1 / member.variance()[0] - 1 / member.unseen_variances()[0]
            mean = mean * np.sqrt(gained[:5] / gained[5])  # the intercept's value is 1
        effects += weight * slope * mean
    assert stack.feature_importances_ == pytest.approx(effects**2 / (effects**2).sum(), rel=1e-9)


@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
def test_those_of_a_stack_follow_what_changes_its_predictions(kind: type) -> None:
    generator = np.random.default_rng(3)
    rows, others = generator.normal(size=(2, 1500, 4))
    y = np.exp(rows[:, 0] + rows[:, 1] / 2 + generator.normal(size=1500) / 8)  # whose logarithm members learn
    model = kind(random_state=0).fit(rows, y > 1.5 if kind is AutoClassifier else y)
    changes = []
    for j in range(4):
        moved = rows.copy()
        moved[:, j] = others[:, j]
        before, after = (
            logit(model.predict_proba(x)[:, 1].clip(1e-9, 1 - 1e-9)) if kind is AutoClassifier else model.predict(x)
            for x in (rows, moved)
        )
        changes.append(np.mean((after - before) ** 2))
    assert model.feature_importances_ == pytest.approx(np.array(changes) / sum(changes), abs=0.12)
    assert model.feature_importances_[2:].max() < 0.03


def test_a_column_of_noise_is_not_important_beside_a_text_that_decides() -> None:
    words = np.array(["good", "bad", "warm", "slow", "nice", "cold", "kind", "rude", "table", "menu"])
    texts = [" ".join(GENERATOR.permutation(words)[:6]) for _ in range(1000)]
    frame = pd.DataFrame({"noise": GENERATOR.normal(size=1000), "note": texts})
    with pytest.warns(UserWarning, match=r"column 'note': text, read as its words"):
        model = AutoClassifier(random_state=0).fit(frame, ["good" in text for text in texts])
    assert model.feature_importances_[0] < 0.02


def test_a_column_has_the_sum_of_its_features() -> None:
    words = np.array(["good", "bad", "warm", "slow", "nice", "cold", "kind", "rude", "table", "menu"])
    texts = [" ".join(GENERATOR.permutation(words)[:6]) for _ in range(300)]
    frame = pd.DataFrame({"city": GENERATOR.choice(["Rome", "Oslo"], 300), "size": X[:300, 0], "note": texts})
    with pytest.warns(UserWarning, match=r"column 'note': text, read as its words"):
        model = OnlineClassifier().fit(frame, ["good" in text for text in texts])
    by_feature = dict(zip(model.features_.name_of().values(), importances(model.as_model()), strict=True))
    by_column = dict.fromkeys(frame.columns, 0.0)
    for name, part in by_feature.items():
        by_column[name.partition(":")[0].partition("=")[0]] += part
    assert model.feature_importances_ == pytest.approx(list(by_column.values()), rel=1e-12)
    by_name = importances_by_name(model.as_model())
    assert next(iter(by_name)) == "note:good" and sum(by_name.values()) == pytest.approx(1.0)
    assert by_name["city"] == pytest.approx(by_column["city"], rel=1e-12)


def test_values_of_a_category_share_its_statistic() -> None:
    people = np.arange(2000) % 100
    frame = pd.DataFrame({"who": [f"p{k}" for k in people], "size": GENERATOR.normal(size=2000)})
    model = OnlineClassifier("logistic", view=make_view([Categories(n=0), "standard"])).fit(frame, people % 7 < 3)
    parts = (model.coef_[0] ** 2 * (1 / model.variance_[0] - 1)) / (
        model.coef_[0] ** 2 * (1 / model.variance_[0] - 1)
    ).sum()
    assert sorted(model.feature_importances_) == pytest.approx(sorted(parts), rel=1e-9)


@pytest.mark.parametrize("kind", [AutoClassifier, OnlineClassifier, AutoRegressor, OnlineRegressor])
def test_scikit_learn_selects_by_them(kind: type, tmp_path: object) -> None:
    target = Y["line"] if "Classifier" in kind.__name__ else 3 * X[:, 1] + X[:, 3]
    assert not hasattr(kind(), "feature_importances_")
    model = kind().fit(X, target)
    assert SelectFromModel(kind(), importance_getter="feature_importances_").fit(X, target).get_support()[1]
    assert RFE(kind(), n_features_to_select=1).fit(X, target).get_support().tolist() == [
        False,
        True,
        False,
        False,
        False,
    ]
    model.save(f"{tmp_path}/model")
    assert (load(f"{tmp_path}/model").feature_importances_ == model.feature_importances_).all()


def test_a_kernel_has_none() -> None:
    model = OnlineClassifier(covariance="kernel").fit(X[:60], Y["line"][:60])
    assert not hasattr(model, "feature_importances_")
    stack = AutoClassifier(members=[OnlineClassifier(covariance="kernel"), OnlineClassifier()]).fit(
        X[:60], Y["line"][:60]
    )
    assert stack.feature_importances_.argmax() == 1
