"""Plots: what is drawn is what was measured; matplotlib is imported late."""

import subprocess
import sys
from dataclasses import replace

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from confidently import AutoClassifier, OnlineClassifier, progressive_validation
from confidently.data import open_stream
from confidently.plots import (
    ConfidenceLossDisplay,
    CoverageDisplay,
    DecisionMapDisplay,
    DecisiveWeightsDisplay,
    ErrorBarsDisplay,
    LabelsDisplay,
    LearningCurveDisplay,
    MixtureDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    UpdatesDisplay,
    WeightEllipsesDisplay,
)
from confidently.rules.theory import confidence_loss
from tests.covariance_cases import OVER_WEIGHTS, serves

CANCER = load_breast_cancer()
X, Y = StandardScaler().fit_transform(CANCER.data)[:200], CANCER.target[:200]


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def curves():
    return {
        rule: progressive_validation(OnlineClassifier(rule), X, Y, permutations=3, random_state=0)
        for rule in ("arow", "pa")
    }


def test_learning_curves_draw_means_and_bands(curves):
    ax = pyplot.subplots()[1]
    display = LearningCurveDisplay.from_curves(curves, ax=ax, band=0.9)
    assert display.ax_ is ax
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curves["pa"].mean())
    low, high = curves["pa"].band("error", 0.9)
    edges = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == pytest.approx((low.min(), high.max()))
    again = display.plot()
    assert again is not ax
    assert len(again.lines) == 2
    assert not LearningCurveDisplay(curves, band="none").plot().collections


def test_updates_and_bars_draw_their_numbers(curves):
    ax = UpdatesDisplay.from_curves(curves).ax_
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), curves["arow"].mean("updates"))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curves["arow"].mean("error"))
    bars = ErrorBarsDisplay.from_errors({"a": [0.1, 0.3], "b": [0.5, 0.5]}).ax_
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([20, 50])
    ends = bars.collections[0].get_segments()[0][:, 0]
    assert ends == pytest.approx([20 - 100 * np.std([0.1, 0.3], ddof=1), 20 + 100 * np.std([0.1, 0.3], ddof=1)])


def test_error_against_labels():
    errors = {"confidence": [[0.4, 0.2], [0.2, 0.2]], "any": [0.4, 0.3]}
    ax = LabelsDisplay.from_errors([20, 40], errors, all_labels=0.1).ax_
    confidence, any_, level = ax.lines
    assert_allclose(confidence.get_xydata(), [[20, 0.3], [40, 0.2]])
    assert_allclose(any_.get_ydata(), [0.4, 0.3])
    assert_allclose(level.get_ydata(), 0.1)
    band = ax.collections[0].get_paths()[0].get_extents()
    assert_allclose([band.ymin, band.ymax], [0.3 - 0.1 * np.sqrt(2), 0.3 + 0.1 * np.sqrt(2)])
    assert len(ax.collections) == 1  # one run has no deviation
    with pytest.raises(ValueError, match=r"errors of any must be 3 numbers per run, got shape \(1, 2\)"):
        LabelsDisplay([20, 40, 60], {"any": [0.1, 0.2]})


def test_risk_by_coverage_draws_errors_without_the_least_certain_rows():
    classifier = OnlineClassifier("arow").fit(X[:100], Y[:100])
    margin, variance = classifier.margin_distribution(X[100:])
    wrong = classifier.predict(X[100:]) != Y[100:]
    p = classifier.predict_proba(X[100:])[np.arange(100), classifier.predict(X[100:])]
    ax = None
    certainties = {"probability": p, "confidence": np.abs(margin) / np.sqrt(variance), "margin": np.abs(margin)}
    for certainty, values in certainties.items():
        display = RiskCoverageDisplay.from_estimator(classifier, X[100:], Y[100:], certainty=certainty, ax=ax)
        expected = wrong[np.argsort(-values)].cumsum() / np.arange(1, 101)
        assert_allclose(np.interp(np.arange(1, 101) / 100, *display.ax_.lines[-1].get_data()), expected)
        ax = display.ax_
    assert len(ax.lines) == 3
    assert ax.get_legend().get_texts()[0].get_text().startswith("OnlineClassifier (area 0.0")
    weighted = RiskCoverageDisplay.from_estimator(classifier, X[100:], Y[100:], sample_weight=wrong, name="w")
    assert_allclose(weighted.ax_.lines[0].get_ydata(), 1.0)
    many = RiskCoverageDisplay.from_predictions(np.zeros(5000), np.zeros(5000), np.arange(5000)).ax_.lines[0]
    assert len(many.get_xdata()) == 1000


def test_risk_by_coverage_of_other_classifiers():
    from sklearn.linear_model import LogisticRegression

    other = LogisticRegression().fit(X, Y)
    expected = other.predict_proba(X).max(axis=1).min()
    assert RiskCoverageDisplay.from_estimator(other, X, Y).curve.threshold[-1] == expected
    with pytest.raises(TypeError, match="certainty='margin' needs an OnlineClassifier, got LogisticRegression"):
        RiskCoverageDisplay.from_estimator(other, X, Y, certainty="margin")
    with pytest.raises(ValueError, match="certainty"):
        RiskCoverageDisplay.from_estimator(other, X, Y, certainty="entropy")
    labels = np.column_stack([Y, 1 - Y])
    several = OnlineClassifier().fit(X, labels)
    with pytest.raises(ValueError, match="needs a classifier of one class per row; this one is multilabel"):
        RiskCoverageDisplay.from_estimator(several, X, labels)


@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
def test_ellipses_are_the_covariance(covariance):
    classifier = OnlineClassifier("cw_stdev", covariance).fit(X, Y)
    display = WeightEllipsesDisplay.from_estimator(classifier, [(0, 2)], n_std=2)
    ellipse = display.ax_.patches[0]
    sigma = classifier.covariance_
    sigma = (sigma.toarray() if hasattr(sigma, "toarray") else sigma)[np.ix_([0, 2], [0, 2])]
    np.testing.assert_allclose(display.covariances[0], sigma)
    turns = np.linspace(0, 2 * np.pi, 20)
    circle = np.column_stack([np.cos(turns), np.sin(turns)])
    outline = ellipse.get_patch_transform().transform(circle) - classifier.coef_[0, [0, 2]]
    distance = np.einsum("ij,jk,ik->i", outline, np.linalg.inv(sigma), outline)
    np.testing.assert_allclose(distance, 4)


@pytest.mark.filterwarnings("ignore:rows are sorted by label")
def test_ellipses_of_several_classes_are_in_their_block():
    iris = load_iris()
    several = ("joint", "one-vs-rest")
    for covariance, multiclass in [(c, task) for c in OVER_WEIGHTS for task in several if serves(c, task)]:
        classifier = OnlineClassifier("arow", covariance, multiclass=multiclass).fit(iris.data, iris.target)
        display = WeightEllipsesDisplay.from_estimator(classifier, [(1, 3)], column=2)
        np.testing.assert_allclose(np.diag(display.covariances[0]), classifier.variance_[2, [1, 3]])
        assert display.covariances[0, 0, 1] == pytest.approx(
            classifier.marginal(2).correlation(1, 3) * np.sqrt(classifier.variance_[2, [1, 3]].prod())
        )
    labels = np.eye(3, dtype=int)[iris.target]  # multilabel: weights minus the calibration label's
    classifier = OnlineClassifier("arow", "full").fit(iris.data, labels)
    display = WeightEllipsesDisplay.from_estimator(classifier, [(1, 3)], column=1)
    np.testing.assert_allclose(np.diag(display.covariances[0]), classifier.variance_[1, [1, 3]])
    drawn = classifier.sample_weights(20_000, random_state=0)[:, 1][:, [1, 3]]
    np.testing.assert_allclose(np.cov(drawn.T), display.covariances[0], rtol=0.1, atol=0.01)
    with pytest.raises(NotFittedError):
        WeightEllipsesDisplay.from_estimator(OnlineClassifier())


def test_decisive_weights_are_named_as_in_the_data(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"label": 1, "text": "aye aye"}\n{"label": 0, "text": "no"}\n' * 20)
    streamed = OnlineClassifier(view=None).fit_stream(open_stream(path, text=["text"]))
    assert DecisiveWeightsDisplay.from_estimator(streamed).names == ["text:no", "text:aye"]
    frame = OnlineClassifier(view=None).fit(pd.DataFrame({"small": [1.0, -1.0], "large": [5.0, -5.0]}), [1, 0])
    assert DecisiveWeightsDisplay.from_estimator(frame, top=1).names == ["large"]
    numbered = OnlineClassifier(view=None).fit([[1.0, 5.0], [-1.0, -5.0]], [1, 0])
    assert DecisiveWeightsDisplay.from_estimator(numbered).names == ["1", "0"]


def test_decisive_weights_are_the_largest_in_standard_deviations():
    classifier = OnlineClassifier("arow").fit(X, Y)
    display = DecisiveWeightsDisplay.from_estimator(classifier, CANCER.feature_names, top=5)
    best = np.argsort(-np.abs(classifier.coef_[0]) / np.sqrt(classifier.variance_[0]))[:5]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(CANCER.feature_names[best])
    np.testing.assert_allclose(display.variance, classifier.variance_[0, best], rtol=1e-12)
    with pytest.raises(ValueError, match="30 features"):
        DecisiveWeightsDisplay.from_estimator(classifier, ["a"])


def test_the_map_is_the_margin_distribution():
    classifier = OnlineClassifier("arow", "full").fit(X[:, :2], Y)
    display = DecisionMapDisplay.from_estimator(classifier, X[:, :2], Y, resolution=15)
    mean, variance = classifier.margin_distribution([[display.x[3], display.y[11]]])
    assert display.mean[11, 3] == pytest.approx(mean[0])
    assert display.standard_deviation[11, 3] == pytest.approx(np.sqrt(variance[0]))
    spread = display.standard_deviation
    assert DecisionMapDisplay(display.x, display.y, display.mean, spread, "standard_deviation").plot() is not None
    drawn = DecisionMapDisplay.from_estimator(classifier, X[:, :2], resolution=15, samples=4, random_state=7)
    weights = classifier.sample_weights(4, random_state=7)[2, 0]
    assert drawn.samples.shape == (4, 15, 15)
    assert drawn.samples[2, 11, 3] == pytest.approx(weights @ [drawn.x[3], drawn.y[11], 1.0])
    assert len(drawn.ax_.collections) == len(display.ax_.collections) + 4
    with pytest.raises(ValueError, match="two features"):
        DecisionMapDisplay.from_estimator(classifier, X)


def test_reliability_counts():
    truth, p = np.array([0, 0, 1, 1, 1]), np.array([0.05, 0.15, 0.12, 0.95, 1.0])
    display = ReliabilityDisplay.from_predictions(truth, {"a": p})
    np.testing.assert_allclose(display.predicted["a"], [0.05, 0.135, 0.975])
    np.testing.assert_allclose(display.frequency["a"], [0, 0.5, 1])
    assert display.rows["a"].tolist() == [1, 2, 2]
    iris = load_iris()
    many = ReliabilityDisplay.from_estimators(
        {"a": OnlineClassifier(shuffle=True, random_state=0).fit(iris.data, iris.target)}, iris.data, iris.target
    )
    assert many.rows["a"].sum() == 450
    with pytest.raises(ValueError, match="between 0 and 1"):
        ReliabilityDisplay({"a": [2.0]}, [1])


def test_loss_is_the_theory():
    display = ConfidenceLossDisplay.from_phis([0.7])
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), confidence_loss(display.margins, 0.7))


def test_the_mixture_is_stacked_by_memory():
    curve = progressive_validation(AutoClassifier(), X, Y, at=20)
    (mixture,) = curve.mixtures
    display = MixtureDisplay.from_curve(curve)
    tops = np.cumsum(mixture.shares, axis=1)
    for k, area in enumerate(display.ax_.collections):
        vertices = area.get_paths()[0].vertices
        points = np.column_stack([mixture.rows, tops[:, k]])
        assert all(np.isclose(vertices, point).all(axis=1).any() for point in points)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["5,000 rows", "300 rows", "50 rows"]
    assert not display.ax_.lines
    weights = MixtureDisplay.from_curve(curve, quantity="weights").ax_
    assert len(weights.collections) == len(mixture.by_memory())
    assert weights.get_legend().get_texts()[0].get_text() == "forget nothing"
    bars = MixtureDisplay(replace(mixture, moves=[(30, 80), (120, None)])).plot().lines
    assert [bar.get_xdata().tolist() for bar in bars] == [[30, 80], [120, 200]]


def test_a_curve_without_a_mixture_is_refused(curves):
    with pytest.raises(ValueError, match="the curve has no mixture"):
        MixtureDisplay.from_curve(curves["arow"])
    with pytest.raises(ValueError, match="unknown quantity 'error'; expected one of shares, weights"):
        MixtureDisplay(None, "error")


def test_coverage_and_sizes_are_those_of_the_last_rows():
    classes, labels = np.array(["a", "b", "c"]), np.array(["a", "b", "c", "a", "other"])
    sets = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 0]], dtype=bool)
    display = CoverageDisplay.from_sets(labels, sets, classes=classes, coverage=0.8, window=2, alarms=[3])
    assert display.covered.tolist() == [True, False, True, False, False]
    line, level, alarm = display.ax_.lines
    assert line.get_xdata().tolist() == [2, 3, 4, 5] and line.get_ydata().tolist() == [0.5, 0.5, 0.5, 0.0]
    assert set(level.get_ydata()) == {0.8} and set(alarm.get_xdata()) == {3}
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["alarm"]
    sizes = CoverageDisplay.from_sets(labels, sets, classes=classes, window=2, quantity="size", color="k").ax_
    (line,) = sizes.lines
    assert line.get_ydata().tolist() == [1.0, 2.0, 1.5, 1.0] and line.get_color() == "k"
    assert sizes.get_ylabel() == "mean size of the sets" and sizes.get_legend() is None


@pytest.mark.parametrize("options", [{"quantity": "x"}, {"band": 2.0}, {"band": "x"}])
def test_bad_options(curves, options):
    with pytest.raises(ValueError, match=r"must be|expected one of"):
        LearningCurveDisplay(curves, **options)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: UpdatesDisplay({"a": [1]}, {"b": [1]}), r"must have the same learners, got \['a'\] and \['b'\]"),
    (lambda: WeightEllipsesDisplay([[0.0, 1.0]], np.eye(2), ["a"]), r"must have shapes \(1, 2\) and \(1, 2, 2\)"),
    (lambda: DecisionMapDisplay([0], [0], [[0]], [[1]], "median"), "unknown quantity 'median'; expected one of"),
    (lambda: ReliabilityDisplay({"a": [0.5]}, [1], bins=0), "bins must be at least 1, got 0"),
    (lambda: CoverageDisplay([True], [1], window=2), "window must be from 1 to 1 row, got 2"),
    (lambda: CoverageDisplay([True], [1], coverage=1.0, window=1), r"coverage must be in \(0, 1\), got 1.0"),
    (lambda: CoverageDisplay([True], [1], window=1, quantity="width"), "quantity: expected one of 'coverage', 'size'"),
    (lambda: CoverageDisplay([True], [1, 2]), r"must have the same shape \(n,\), got \(1,\) and \(2,\)"),
    (
        lambda: CoverageDisplay.from_sets([0, 1], [[True], [True]]),
        r"sets of 2 rows and 2 classes must have the shape \(2, 2\), got \(2, 1\)",
    ),
    (
        lambda: DecisionMapDisplay.from_estimator(OnlineClassifier().fit(X[:3, :2], [0, 1, 2]), X[:3, :2]),
        "a map needs a classifier of two classes, got one with more",
    ),
])  # fmt: skip
def test_numbers_that_cannot_be_drawn(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.long("a process of its own")
def test_matplotlib_is_imported_late_and_its_absence_reported():
    code = """
import sys
sys.modules["matplotlib.pyplot"] = None
from confidently.plots import ConfidenceLossDisplay
assert "matplotlib" not in sys.modules
try:
    ConfidenceLossDisplay.from_phis()
except ImportError as error:
    assert "pip install '.[plots]'" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
