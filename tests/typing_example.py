"""A program as users write it, with types: mypy checks it in tests/test_typing.py, which runs it too."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from confidently import (
    AROW,
    MIRA,
    RULES,
    AutoClassifier,
    AutoRegressor,
    CWStdev,
    OnlineClassifier,
    OnlineMedLDA,
    OnlineRegressor,
    load,
    make_rule,
    merge,
    progressive_validation,
    step,
)
from confidently.bandits import ContextualBandit, DecisionModel
from confidently.data import Batch, Stream, open_stream
from confidently.entities import EntityModels
from confidently.evaluation.progressive import ProgressiveCurve
from confidently.rules.rule import Rule

Floats = NDArray[np.float64]


def main(folder: Path) -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 10)
    y = np.array(["ham", "spam"] * 10)

    assert_type(CWStdev(eta=0.9), CWStdev)
    assert_type(CWStdev().with_params(phi=1.0), CWStdev)
    assert_type(make_rule("arow", r=0.1), Rule)
    assert_type(RULES["arow"], type[Rule])
    assert_type(step("arow", 0.5, 1.0), tuple[float, float, float] | None)

    classifier = assert_type(OnlineClassifier(AROW(r=0.1), covariance="full").fit(X, y), OnlineClassifier)
    mean, variance = assert_type(classifier.margin_distribution(X), tuple[Floats, Floats])
    assert mean.shape == variance.shape == (20,)
    assert_type(classifier.predict_proba(X), Floats)
    assert_type(classifier.decision_function(X), Floats)
    assert_type(classifier.coef_, NDArray[np.floating])
    assert_type(classifier.n_seen_, int)
    assert_type(merge([classifier, classifier]), OnlineClassifier)
    assert_type(AutoClassifier().fit(X, y).weights_, Floats)
    assert_type(MIRA().fit(X, y), MIRA)
    assert_type(progressive_validation(classifier, X, y), ProgressiveCurve)
    regressor = OnlineRegressor().fit(X, X[:, 0])
    assert_type(regressor, OnlineRegressor)
    assert_type(regressor.predict(X), Floats)
    assert_type(regressor.predict(X, return_std=True), tuple[Floats, Floats])
    assert_type(regressor.predict_interval(X, 0.9), Floats)
    assert_type(AutoRegressor().fit(X, X[:, 0]).predict(X), Floats)
    assert_type(OnlineMedLDA(2).fit((10 * X).astype(int), y), OnlineMedLDA)

    classifier.save(folder / "spam.cw")
    model = load(folder / "spam.cw")
    assert_type(
        model, OnlineClassifier | AutoClassifier | OnlineRegressor | AutoRegressor | OnlineMedLDA | ContextualBandit
        | DecisionModel | EntityModels
    )  # fmt: skip
    if isinstance(model, OnlineClassifier):
        assert_type(model.partial_fit(X, y), OnlineClassifier)

    (folder / "mail.txt").write_text("spam\tfree money now\nham\tsee you at noon\n" * 10)
    with assert_type(open_stream(folder / "mail.txt"), Stream) as stream:
        assert_type(next(stream), Batch)
    classifier = assert_type(OnlineClassifier().fit_stream(open_stream(folder / "mail.txt")), OnlineClassifier)
    for found in classifier.predict_stream(folder / "mail.txt"):
        assert_type(found, Any)


def mistakes() -> None:
    """What must not pass: an ignore without an error is an error."""
    CWStdev(eta="high")  # type: ignore[arg-type] # a number is needed
    CWStdev().eta = 0.5  # type: ignore[misc] # rules do not change
    AROW(R=1.0)  # type: ignore[call-arg] # no such parameter
    step("arow", 0.5)  # type: ignore[call-arg] # the variance is missing
    OnlineClassifier("arow", covarianc="diag")  # type: ignore[call-arg] # no such parameter
    from confidently import OnlineClasifier  # type: ignore[attr-defined] # noqa: F401 # no such name
