"""Measures of the predictions of estimators for labeled data."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..data.warning import warn
from ..estimators.base_classifier import BaseOnlineClassifier
from ..estimators.base_regressor import BaseOnlineRegressor
from ..rules.ranges import UNIT, check_number
from ..tasks.conformal import NO_ANSWERS
from .measures import Wanted, evaluated, kept, snapshot_of


def evaluate(
    estimator: Any, data: Any, *, coverage: float | None = None, by_class: bool = True, risk: float | None = None,
    by: str | None = None, strict: bool = False, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Compare an estimator's predictions with the labels of files, a frame or dicts, in one pass over them.

    Memory does not grow with the data; with two classes the area under the ROC curve needs every score.

    Parameters
    ----------
    estimator : estimator
        An :class:`OnlineClassifier`, :class:`AutoClassifier`, :class:`OnlineRegressor` or :class:`AutoRegressor`.
    data, options
        As ``paths`` and options of :func:`confidently.data.open_stream`, except for how rows are read, which is known.
    coverage : float, optional
        Of a classifier: measure the sets of :meth:`OnlineClassifier.predict_set`, too. Of a regressor: the probability
        of the intervals that are measured, by default 0.9.
    by_class : bool
        Of these sets: as for :meth:`OnlineClassifier.predict_set`.
    risk : float, optional
        Measure the answers that :meth:`OnlineClassifier.abstain` does not withhold, too.
    by : str, optional
        Measure rows, errors and coverage for each value of this column, too; above 64 values, of the others together.
    strict : bool
        As for ``predict_stream``.

    Returns
    -------
    dict
        What ``confidently evaluate --json`` prints: rows, ``error``, ``accuracy``, ``log_loss``, ``macro_f1`` and
        measures by class; of label sets F1 and the like; of numbers ``rmse``, ``mae``, ``r2`` and ``interval``. Every
        row counts once, whatever its weight. Rows of unknown classes are errors, and not in the log-loss.

    Raises
    ------
    confidently.data.DataError, OSError
        For invalid data.
    ValueError, TypeError
        For another estimator, a probability outside (0, 1), or one that the estimator cannot keep.

    Examples
    --------
    >>> import pandas as pd
    >>> from confidently import OnlineClassifier
    >>> frame = pd.DataFrame({"town": ["Delft", "Lund"] * 50, "label": ["yes", "no"] * 50})
    >>> found = evaluate(OnlineClassifier().fit(frame, "label"), frame)
    >>> found["rows"], found["error"], [entry["name"] for entry in found["classes"]]
    (100, 0.0, ['no', 'yes'])
    """
    if not isinstance(estimator, BaseOnlineClassifier | BaseOnlineRegressor):
        raise TypeError(f"evaluate takes a classifier or regressor of this package, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    for name, value in (("coverage", coverage), ("risk", risk)):
        if value is not None:
            check_number("evaluate", name, value, UNIT)
    model = snapshot_of(estimator.as_model())
    if isinstance(estimator, BaseOnlineClassifier):
        _check_promises(estimator, coverage, by_class, risk)
    elif risk is not None:
        raise ValueError("risk is for classifiers, whose answers are right or wrong")
    wanted, reading = Wanted(coverage=coverage, by_class=by_class, max_risk=risk, by=by), estimator._label_options()
    with estimator._open(data, freeze=True, strict=strict, keep=kept(model, wanted), **reading, **options) as stream:
        return evaluated(model, stream, wanted)[0]


def _check_promises(estimator: Any, coverage: float | None, by_class: bool, risk: float | None) -> None:
    """Raise or warn as the methods do whose predictions are measured."""
    if coverage is None and risk is None:
        return
    learned = estimator._calibrated("evaluate")
    if risk is not None and estimator._is_multilabel:
        raise ValueError("risk: rows have several labels, which are not right or wrong as a whole; use coverage")
    if coverage is not None and (text := learned.warning(coverage, by_class)):
        warn(f"evaluate: {text}")
    estimator._warn_of_doubt("evaluate")
    if risk is not None and learned.least_probability(risk) > 1.0:
        warn(f"evaluate: every row is left unanswered: {NO_ANSWERS.format(risk)}")
