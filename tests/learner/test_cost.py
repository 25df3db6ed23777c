"""The cost of matrices of several classes, and the warning before a long training."""

import json
import warnings

import numpy as np
import pytest

from confidently import CostWarning, OnlineClassifier
from confidently.learner import cost

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 30))
Y = (X @ RANDOM.normal(size=(30, 12))).argmax(axis=1)
LABELS = np.eye(12, dtype=int)[Y]


@pytest.fixture
def at_once(monkeypatch):
    """Warn of trainings of any length."""
    monkeypatch.setattr(cost, "MIN_OPERATIONS", 0)
    monkeypatch.setattr(cost, "MIN_SECONDS", 0.0)


@pytest.mark.parametrize(("multiclass", "y", "kept"), [
    ("joint", Y, "one matrix of 372 x 372 numbers for 12 classes and 31 weights of each: 1.1 MB"),
    ("joint", LABELS, "one matrix of 403 x 403 numbers for 12 classes and 31 weights of each: 1.3 MB"),
])  # fmt: skip
def test_a_long_training_is_announced_and_not_changed(at_once, multiclass, y, kept):
    with pytest.warns(CostWarning) as found:
        warned = OnlineClassifier("arow", "full", multiclass=multiclass, passes=2).fit(X, y)
    (message,) = (str(warning.message) for warning in found)
    assert message.startswith(f'covariance="full" keeps {kept}, and up to about ')
    assert "seconds for 800 rows, at " in message and message.endswith("keeps one matrix of 31 x 31")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)
        silent = OnlineClassifier("arow", "full", multiclass=multiclass, passes=2).fit(X, y)
    assert np.array_equal(warned.coef_, silent.coef_) and warned.n_seen_ == silent.n_seen_ == 800
    assert warned.learner_.state["covariance"].nbytes / 1e6 == pytest.approx(float(kept.split()[-2]), abs=0.06)


@pytest.mark.parametrize(
    "settings",
    [{"covariance": "shared"}, {"covariance": "diag"}, {"covariance": "full"}, {"rule": "pa1", "covariance": "full"}],
)
def test_cheap_covariances_are_not_announced(at_once, settings):
    OnlineClassifier(**settings).fit(X, Y)
    OnlineClassifier(**settings | {"multiclass": "joint"}).fit(X, Y == 0)


def test_short_trainings_are_not_announced():
    OnlineClassifier("arow", "full", multiclass="joint").fit(X, Y)


def test_the_command_line_says_the_speed_of_large_matrices(ok, tmp_path):
    path = tmp_path / "rows.csv"
    lines = [",".join([*(f"{x:.3f}" for x in row), f"c{label}"]) for row, label in zip(X, Y, strict=True)]
    path.write_text(",".join([*(f"x{k}" for k in range(30)), "label"]) + "\n" + "\n".join(lines) + "\n")
    said = ok("train", path, "--covariance", "full", "--multiclass", "joint", "--json").splitlines()
    (found,) = (json.loads(line) for line in said if '"event": "covariance"' in line)
    assert (found["matrices"], found["size"], found["bytes"]) == (1, 372, 8 * 372**2)
    assert found["rows_per_second"] > 0
