"""What ``evaluate`` measures is computed again from predictions, with scikit-learn where it has the measure."""

import json

import numpy as np
import pytest
from sklearn import metrics

from confidently import OnlineClassifier, OnlineRegressor
from tests.command_line import here
from tests.evaluation.test_labeled_data import FRAME, PRICES, SETS

TRAIN, NEW = slice(300), slice(300, None)
GROUPS = sorted(set(FRAME["town"][NEW]))


def measured(estimator, frame, folder, *options, n_new=100):
    """A fitted estimator and the measures of new rows."""
    fitted = estimator.fit_stream(frame[TRAIN])
    fitted.save(folder / "model.cw")
    frame[NEW][:n_new].to_parquet(folder / "new.parquet")
    done = here("evaluate", folder / "model.cw", folder / "new.parquet", "--json", *options)
    assert done.returncode == 0, done.stderr
    return fitted, json.loads(done.stdout)


def by_town(found):
    assert found["by"]["column"] == "town" and [one["value"] for one in found["by"]["groups"]] == GROUPS
    return found["by"]["groups"]


def test_measures_of_classes(tmp_path):
    options = "--abstain", 0.7, "--set", 0.8, "--max-risk", 0.3, "--by", "town"
    fitted, found = measured(OnlineClassifier(), FRAME, tmp_path, *options)
    new, y = FRAME[NEW].drop(columns="label"), FRAME["label"][NEW].to_numpy()
    p, predicted, town = fitted.predict_proba(new), fitted.predict(new), new["town"].to_numpy()
    wrong, top, sets = predicted != y, p.max(axis=1), fitted.predict_set(new, 0.8)
    inside = sets[np.arange(100), (y == "yes").astype(int)]
    assert (found["rows"], found["accuracy"]) == (100, pytest.approx(metrics.accuracy_score(y, predicted)))
    assert found["error"] == pytest.approx(wrong.mean()) and found["rows_of_unknown_classes"] == 0
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, p, labels=["no", "yes"]))
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y == "yes", p[:, 1]))
    assert found["confusion"] == metrics.confusion_matrix(y, predicted).tolist()
    sure = top >= 0.7
    assert found["abstain"] == {
        "probability": 0.7, "rows_predicted": sure.sum(), "coverage": sure.mean(),
        "error": pytest.approx(wrong[sure].mean()),
    }  # fmt: skip
    answered = top >= (found["max_risk"]["probability"] or 2.0)
    assert found["max_risk"]["rows_predicted"] == answered.sum()
    assert found["set"]["coverage"] == inside.mean() and found["set"]["mean_size"] == sets.sum(axis=1).mean()
    for one in by_town(found):
        own = town == one["value"]
        assert one == {
            "value": one["value"], "rows": own.sum(), "error": pytest.approx(wrong[own].mean()),
            "coverage": pytest.approx(inside[own].mean()), "mean_size": pytest.approx(sets[own].sum(axis=1).mean()),
        }  # fmt: skip
    for k, one in enumerate(found["classes"]):
        own = y == one["name"]
        assert one["precision"] == pytest.approx((y[predicted == one["name"]] == one["name"]).mean())
        assert (one["rows"], one["recall"]) == (own.sum(), pytest.approx((predicted[own] == one["name"]).mean()))
        assert one["coverage"] == pytest.approx(sets[own, k].mean())


def test_measures_of_numbers(tmp_path):
    fitted, found = measured(OnlineRegressor(), PRICES, tmp_path, "--by", "town")
    new, y = PRICES[NEW].drop(columns="label"), PRICES["label"][NEW].to_numpy()
    predicted, (low, high) = fitted.predict(new), fitted.predict_interval(new, 0.9).T
    error, inside, width = np.abs(y - predicted), (low <= y) & (y <= high), high - low
    assert found["rmse"] == pytest.approx(metrics.mean_squared_error(y, predicted) ** 0.5)
    assert found["mae"] == pytest.approx(error.mean()) and found["r2"] == pytest.approx(metrics.r2_score(y, predicted))
    assert found["interval"] == {
        "probability": 0.9, "coverage": pytest.approx(inside.mean()), "mean_width": pytest.approx(width.mean()),
    }  # fmt: skip
    for one in by_town(found):
        own = new["town"].to_numpy() == one["value"]
        assert one == {
            "value": one["value"], "rows": own.sum(), "mae": pytest.approx(error[own].mean()),
            "coverage": pytest.approx(inside[own].mean()), "mean_width": pytest.approx(width[own].mean()),
        }  # fmt: skip


def test_measures_of_label_sets(tmp_path):
    fitted, found = measured(OnlineClassifier(), SETS, tmp_path)
    new, names = SETS[NEW].drop(columns="label"), fitted.classes_
    y = np.array([[name in row for name in names] for row in SETS["label"][NEW]])
    p, predicted = fitted.predict_proba(new), fitted.predict(new).astype(bool)
    assert (found["rows"], found["subset_accuracy"]) == (100, pytest.approx((predicted == y).all(axis=1).mean()))
    for name in ("f1", "precision", "recall"):
        score = getattr(metrics, f"{name}_score")
        assert found[f"micro_{name}"] == pytest.approx(score(y, predicted, average="micro"))
        for one, expected in zip(found["classes"], score(y, predicted, average=None), strict=True):
            assert name == "f1" or one[name] == pytest.approx(expected)
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
    assert found["hamming_loss"] == pytest.approx(metrics.hamming_loss(y, predicted))
    assert found["ranking_loss"] == pytest.approx(metrics.label_ranking_loss(y, p), abs=1e-12)
