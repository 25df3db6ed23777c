"""``evaluate`` measures what the command does, on files as on frames, and leaves the estimator as it is."""

import json

import numpy as np
import pandas as pd
import pytest

from confidently import MIRA, AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, evaluate
from confidently.data import DataWarning
from tests.command_line import here

RANDOM = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame({"town": RANDOM.choice(["Delft", "Lund", "Paris"], N), "age": RANDOM.normal(40, 10, N)})
FRAME["label"] = np.where((FRAME["town"] == "Delft") ^ (FRAME["age"] > 45), "yes", "no")
PRICES = FRAME.assign(label=FRAME["age"] + 3 * (FRAME["town"] == "Lund"))
LABELS = zip(FRAME["label"] == "yes", FRAME["age"] > 30, strict=True)
SETS = FRAME.assign(label=[["a"] * yes + ["b"] * old for yes, old in LABELS])


@pytest.mark.parametrize(
    ("estimator", "frame"),
    [
        (OnlineClassifier(), FRAME), (AutoClassifier(), FRAME), (OnlineClassifier(calibration=None), FRAME),
        (OnlineRegressor(), PRICES), (AutoRegressor(), PRICES), (OnlineClassifier(), SETS), (AutoClassifier(), SETS),
    ],
)  # fmt: skip
def test_the_measures_are_those_of_the_command(tmp_path, estimator, frame):
    model, file = tmp_path / "model.cw", tmp_path / "new.parquet"
    new = frame[200:].assign(town="Oslo")
    new.to_parquet(file)
    fitted = estimator.fit_stream(frame[:200])
    fitted.save(model)
    before = {name: array.copy() for name, array in fitted.learner_.state.items()}
    expected = json.loads(here("evaluate", model, file, "--json").stdout)
    assert evaluate(fitted, file) == evaluate(fitted, new) == expected
    assert fitted.learner_.state.keys() == before.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(fitted.learner_.state[name], array)


def test_promises_are_measured(tmp_path):
    model, file = tmp_path / "model.cw", tmp_path / "rows.parquet"
    FRAME.to_parquet(file)
    fitted = OnlineClassifier().fit(FRAME, "label")
    fitted.save(model)
    asked = ["--set", "0.8", "--max-risk", "0.2", "--by", "town"]
    expected = json.loads(here("evaluate", model, file, *asked, "--json").stdout)
    assert evaluate(fitted, FRAME, coverage=0.8, risk=0.2, by="town") == expected
    together = json.loads(here("evaluate", model, file, *asked, "--set-together", "--json").stdout)
    assert evaluate(fitted, FRAME, coverage=0.8, risk=0.2, by="town", by_class=False) == together != expected
    assert evaluate(OnlineRegressor().fit(PRICES, "label"), PRICES, coverage=0.5)["interval"]["probability"] == 0.5
    few = OnlineClassifier().fit(FRAME[:5], "label")
    with pytest.warns(DataWarning, match="evaluate: "):
        assert evaluate(few, FRAME, coverage=0.99, risk=0.01)["max_risk"]["rows_predicted"] == 0


@pytest.mark.parametrize(("estimator", "options", "message"), [
    (MIRA(), {}, "evaluate takes a classifier or regressor of this package, got MIRA"),
    (OnlineRegressor().fit(PRICES, "label"), {"risk": 0.1}, "risk is for classifiers"),
    (OnlineClassifier().fit(FRAME, "label"), {"coverage": 2}, "evaluate: coverage must be"),
    (OnlineClassifier(calibration=None).fit(FRAME, "label"), {"coverage": 0.9}, "calibration=None has calibrated"),
    (OnlineClassifier().fit_stream(SETS), {"risk": 0.1}, "risk: rows have several labels"),
    (OnlineClassifier(), {}, "is not fitted yet"),
    (OnlineClassifier().fit(FRAME, "label"), {"format": "csv"}, "format"),
])  # fmt: skip
def test_one_error_for_what_cannot_be_measured(estimator, options, message):
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        evaluate(estimator, FRAME, **options)
