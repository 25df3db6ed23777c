"""What a served model says of a row whose label is a number: the number, an interval around it, its variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...models.explanation import NumberExplanation, explain_number
from ...models.stack_explanation import NumberStackExplanation, explain_number_stack
from ...stack.number_stack import NumberStack
from ...tasks.targets import Prediction
from .asking import Asking

MIN_WIDTH = 1e-300
COVERAGE = 0.9  # of intervals, unless another one is asked for
LEVELS = tuple(k / 10 for k in range(1, 10))  # of coverage that are compared with the labels
NO_RISK = "max_risk: numbers are not right or wrong; use set, the coverage of intervals"


Limits = tuple[float | None, float | None]


class NumberAnswer(NamedTuple):
    """What a model says of a row.

    Attributes
    ----------
    label : float or None
        The expected number; None before the first row.
    interval : tuple of float or None, or None
        Lower and upper limit, between which the number is with the probability :data:`COVERAGE`; None where there is no
        limit.
    variance : float or None
        Of the number around ``label``; None where the model does not know it.
    ask : bool
        Whether the prediction is among the least certain ones (:class:`confidently.serve.model.asking.Asking`).
    center : float or None
        The expected number before it was kept within the bounds; None: it is ``label``.
    size : float
        Of the noise, relative to other rows.
    """

    label: float | None
    interval: Limits | None
    variance: float | None
    ask: bool
    center: float | None = None
    size: float = 1.0

    @property
    def certainty(self) -> float:
        """One over the width of the interval, which is wider where larger numbers are expected, if errors grow so."""
        if self.interval is None:
            return 0.0
        low, high = self.interval
        return 0.0 if low is None or high is None else 1.0 / max(high - low, MIN_WIDTH)


NOTHING = NumberAnswer(None, None, None, True)


def number_answers(learner: Any, found: Prediction, calibrated: bool, asking: Asking) -> list[NumberAnswer]:
    """Return what a model says of rows, given their distributions."""
    limits = learner.intervals(found, COVERAGE, calibrated)[:, 0].tolist()
    variances = (learner.number_deviations(found, calibrated)[:, 0] ** 2).tolist()
    answers = [
        NumberAnswer(mean, _limits(low, high), _finite(variance), False, center, size)
        for mean, (low, high), variance, center, size in zip(
            found.mean[:, 0].tolist(), limits, variances, found.centers[:, 0].tolist(), found.sizes[:, 0].tolist(),
            strict=True,
        )
    ]  # fmt: skip
    asked = asking.of_certainties(answer.certainty for answer in answers).tolist()
    return [answer._replace(ask=ask) for answer, ask in zip(answers, asked, strict=True)]


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _limits(low: float, high: float) -> Limits | None:
    """Return limits, of which those that are infinite are None; None if both are."""
    found = _finite(low), _finite(high)
    return None if found == (None, None) else found


def intervals_of(
    answers: Sequence[NumberAnswer], coverage: float, learner: Any, calibrated: bool
) -> list[Limits | None]:
    """Return intervals around answers, perhaps of an earlier model, by what a learner knows of errors now."""
    known = [answer for answer in answers if answer.label is not None and answer.variance is not None]
    if not known:
        return [None] * len(answers)
    mean = np.array([[answer.label] for answer in known], np.float64)
    variance = np.array([[answer.variance] for answer in known], np.float64)
    center = np.array([[one.label if one.center is None else one.center] for one in known], np.float64)
    size = np.array([[one.size] for one in known], np.float64)
    per_spread = learner.number_deviations(Prediction(np.zeros((1, 1)), np.ones((1, 1))), calibrated) ** 2
    predicted = Prediction(mean, variance / per_spread, center, size)
    limits = iter(learner.intervals(predicted, coverage, calibrated)[:, 0].tolist())
    found: list[Limits | None] = []
    for answer in answers:
        there = answer.label is not None and answer.variance is not None
        found.append(_limits(*next(limits)) if there else None)
    return found


def judged_intervals(
    answers: Sequence[NumberAnswer], labels: Sequence[bytes], learner: Any, calibrated: bool
) -> list[tuple[float, bool]]:
    """Return of intervals of several coverages around answers each coverage, and whether the label is inside."""
    numbers = [float(msgspec.json.decode(label)) for label in labels]
    return [
        (level, (limits[0] is None or limits[0] <= number) and (limits[1] is None or number <= limits[1]))
        for level in LEVELS
        for limits, number in zip(intervals_of(answers, level, learner, calibrated), numbers, strict=True)
        if limits is not None
    ]


def explained_number(model: Any, batch: Any, about: Any) -> NumberExplanation | NumberStackExplanation:
    """Return what each feature of a row adds to the number that is predicted."""
    explain = explain_number_stack if isinstance(model.learner, NumberStack) else explain_number
    return explain(model, batch, about)
