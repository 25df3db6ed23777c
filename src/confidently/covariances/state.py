"""The state of a learner: one dict of arrays, over which saving, copying, growing and merging loop.

Each covariance adds its own entries to the common ones; its module describes them.

=============  =======================  ==========================================================================
entry          shape, type              meaning
=============  =======================  ==========================================================================
scale          (L,) float64             factor of the stored covariance
folded         (L,) float64             product of the scales multiplied into the stored covariance so far
updates        (L,) int64               number of updates
counters       (3,) int64               rows seen, progressive mistakes, examples no classifier could satisfy
calibration    (n,) float64             online calibration (core/learner/calibration.hpp); regression: statistics of the
                                        targets (core/learner/targets.hpp)
weights        (F, planes, K) real      except with a kernel: per feature the mean; diagonal: its variance; averaging:
                                        the sum over updates of (rows seen before) x (change of the mean). Row 0 is
                                        the intercept's, where there is one
=============  =======================  ==========================================================================

K columns: one for two classes, otherwise one per class or number; multilabel: the threshold, then one per label. L
learners: K for one-vs-rest and for softmax (with a shared covariance 1), otherwise 1. F features, the intercept
included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from .. import _core
from ..arrays import lies_within
from ..rules.ranges import Range
from .settings import Settings

State: TypeAlias = "dict[str, np.ndarray]"
Shapes = dict[str, tuple[tuple[int, ...], str]]  # and types, by name

COUNTERS = ("n_seen", "mistakes", "infeasible")
INITIAL_LINE = (1.0, 0.0, 0.0, 0.0, 0.0)  # a, b, Hessian
INITIAL_SLOPE = (1.0, 0.0)  # a, second derivative
# Of the correction w: its knots for two classes and for more, a unit apart; how far it may fall between neighbors.
SIGMOID_KNOTS, TEMPERATURE_KNOTS, MAX_FALL = 14, 11, 0.95
ROUNDING = 1e-9
FIRST_SIGMOID_KNOT, FIRST_TEMPERATURE_KNOT = -6.5, -9.5
SCORE_SIZE = (0.0, 0.0, 0.0)  # mean of |score|, half the size that the slope is made for, weight of the rows
# Then w and the curvature at the knots; of a label too, predictions that were right, and labels predicted or relevant.
INITIAL_SIGMOID = (*INITIAL_LINE, *SCORE_SIZE, *(0.0,) * (2 * SIGMOID_KNOTS))
INITIAL_TEMPERATURE = (*INITIAL_SLOPE, *SCORE_SIZE, *(0.0,) * (2 * TEMPERATURE_KNOTS))
INITIAL_LABEL = (*INITIAL_SIGMOID, 0.0, 0.0)
# Of one number to predict, as in core/learner/targets.hpp: weight of the rows, mean of the targets, sum of their
# squared deviations; rows with a prediction, sum of their error^2/spread, what a row adds to its bin, sums of squared
# and absolute errors; then the bins of standardized errors.
TARGET_STATISTICS, TARGET_BINS = 8, 512
GAIN = 5
INITIAL_TARGET = tuple(float(i == GAIN) for i in range(TARGET_STATISTICS + TARGET_BINS))
REAL, COUNT = "float64", "int64"
# Beyond what training reaches, and such that the predictions for rows of the largest values are finite: no product of
# float32 matrices, and no float64 number, leaves its range.
MAX_MEAN, MAX_SUMMED, MAX_SCALE, MAX_CALIBRATION = 1e110, 1e20, 1e110, 1e80
MAX_VARIANCE = {"float64": 1e90, "float32": 1e18}
MAX_FOLDED = 1e25  # times the largest prior variance, it fits float32; kMaxGrowth of the core is 1e24
COUNTS = Range(0, 2**62, closed_low=True)
MAX_TARGET, MAX_GAIN, MAX_PRECISION = 1e50, 1e110, 1e250
ERRORS = Range(0.0, 1e250, closed_low=True)


class OutOfRange(ValueError):
    """Training that would leave the range of the numbers of a state."""


def out_of_range(dtype: str) -> OutOfRange:
    """Return the error of training that left the range of a type, and was undone."""
    return OutOfRange(
        f"the rows take the model out of the range of {dtype}, which leaves it unchanged; rescale their values, or use "
        "smaller weights of examples, parameters of the rule or prior variance"
    )


class InvalidRows(ValueError):
    """Rows that are found to be invalid while they are scored: reason, row, column and value of the first fault."""

    def __init__(self, fault: tuple[str, int, int, float]) -> None:
        super().__init__(f"{fault[0]} in row {fault[1]}")
        self.fault = fault


class Size(NamedTuple):
    """Numbers of a learner's features, without the intercept, and classes."""

    n_features: int
    n_classes: int


def initial_calibration(settings: Settings, n_classes: int) -> tuple[float, ...]:
    """Return the calibration before training."""
    if settings.task == "binary":
        return INITIAL_SIGMOID
    if settings.regression:
        return INITIAL_TARGET * n_classes
    return INITIAL_LABEL * n_classes if settings.multilabel else INITIAL_TEMPERATURE


def upgraded_calibration(settings: Settings, n_classes: int, calibration: np.ndarray) -> np.ndarray:
    """Return the calibration of a model file of format 5 or before with a correction of 0; others as they are."""
    now: tuple[float, ...] = INITIAL_SIGMOID if settings.task == "binary" else INITIAL_LABEL
    before: tuple[float, ...] = INITIAL_LINE
    if settings.several:
        now, before = INITIAL_TEMPERATURE, INITIAL_SLOPE
    labels = n_classes if settings.multilabel else 1
    if settings.regression or calibration.shape != (labels * len(before),):
        return calibration
    upgraded = np.tile(now, (labels, 1))
    upgraded[:, : len(before)] = calibration.reshape(labels, len(before))
    return upgraded.ravel()


def common_shapes(settings: Settings, n_classes: int) -> Shapes:
    """Return shape and type of the entries that every covariance has."""
    learners = settings.learners(n_classes)
    return {
        "scale": ((learners,), REAL),
        "folded": ((learners,), REAL),
        "updates": ((learners,), COUNT),
        "counters": ((len(COUNTERS),), COUNT),
        "calibration": ((len(initial_calibration(settings, n_classes)),), REAL),
    }


def common_entries(settings: Settings, n_classes: int) -> State:
    """Return these entries before training."""
    learners = settings.learners(n_classes)
    return {
        "scale": np.array([1.0] * learners),
        "folded": np.array([1.0] * learners),
        "updates": np.zeros((learners,), COUNT),
        "counters": np.zeros((len(COUNTERS),), COUNT),
        "calibration": np.array(initial_calibration(settings, n_classes)),
    }


def common_values(settings: Settings, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of these entries."""
    yield "scale", state["scale"], Range(0.0, MAX_SCALE)
    yield "folded", state["folded"], Range(0.0, MAX_FOLDED, closed_low=True)
    yield "updates", state["updates"], COUNTS
    yield "counters", state["counters"], COUNTS
    if settings.regression:
        yield from target_statistics(state["calibration"])
        return
    has_offset = not settings.several
    size = len(INITIAL_LABEL if settings.multilabel else INITIAL_SIGMOID if has_offset else INITIAL_TEMPERATURE)
    calibration = state["calibration"].reshape(-1, size)
    line, knots = (len(INITIAL_LINE), SIGMOID_KNOTS) if has_offset else (len(INITIAL_SLOPE), TEMPERATURE_KNOTS)
    first, not_negative = line + len(SCORE_SIZE), Range(0.0, math.inf, closed_low=True)
    yield "the slope of the calibration", calibration[:, 0], Range(0.0, MAX_CALIBRATION)
    if has_offset:
        yield "the offset of the calibration", calibration[:, 1], within(MAX_CALIBRATION)
    yield "the curvature of the calibration", calibration[:, line - 1], not_negative
    yield "the size of the scores", calibration[:, line:first], not_negative
    correction = calibration[:, first : first + knots]
    yield "the correction of the calibration", correction, within(MAX_CALIBRATION)
    yield "the fall of the correction", -np.diff(correction), Range(-math.inf, MAX_FALL + ROUNDING, closed_high=True)
    yield "the curvature of the correction", calibration[:, first + knots : first + 2 * knots], not_negative
    yield "the predictions of labels", calibration[:, first + 2 * knots :], not_negative


def target_statistics(calibration: np.ndarray) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of what a regression knows about its targets."""
    targets = calibration.reshape(-1, len(INITIAL_TARGET))
    yield "the mean of the targets", targets[:, 1], within(MAX_TARGET)
    yield "the statistics of the targets", np.delete(targets, (1, GAIN), axis=1), ERRORS
    yield "the weight of an error", targets[:, GAIN], Range(0.0, MAX_GAIN)


def within(size: float) -> Range:
    """Return the numbers of at most a size."""
    return Range(-size, size, closed_low=True, closed_high=True)


def check_within(name: str, values: np.ndarray, allowed: Range) -> None:
    """Raise ``ValueError`` unless all numbers of an array are in a range."""
    for value in (float(values.min()), float(values.max())) if values.size else ():
        if not allowed.includes(value):
            raise ValueError(f"{name} must be in {allowed}, got {value:g}")


def check_rows(rows: np.ndarray, n: int) -> None:
    """Raise ``ValueError`` unless an array from a file has numbers of rows, ascending, of a table of ``n``."""
    fits = str(rows.dtype) == "int64" and rows.ndim == 1
    if not (fits and lies_within(rows, 0, n - 1) and _core.ascend(rows, strictly=True)):
        raise ValueError(f"the numbers of stored rows must ascend within 0 to {n - 1}")


def put_rows(whole: np.ndarray, rows: np.ndarray, stored: np.ndarray, name: str) -> None:
    """Store the rows of a table that a file has; ``ValueError`` unless they are rows of this table and of its type."""
    check_rows(rows, len(whole))
    shape = len(rows), *whole.shape[1:]
    if stored.shape != shape or str(stored.dtype) != str(whole.dtype):
        found, needed = (f"{array.dtype}{list(size)}" for array, size in ((stored, stored.shape), (whole, shape)))
        raise ValueError(f"{name} is {found}, not {needed}")
    whole[rows] = stored


def grow_common(settings: Settings, state: State, n_classes: int) -> int:
    """Add classes or labels to these entries; return the number of added learners."""
    more = settings.learners(n_classes) - len(state["scale"])
    for name in ("scale", "folded"):
        state[name] = np.concatenate([state[name], np.array([1.0] * more)])
    state["updates"] = np.concatenate([state["updates"], np.zeros((more,), "int64")])
    if settings.multilabel:
        calibration = np.tile(INITIAL_LABEL, n_classes)
        calibration[: len(state["calibration"])] = state["calibration"]
        state["calibration"] = calibration
    return more


def split_common(state: State, multiclass: Settings) -> None:
    """Convert these entries of a binary learner into those of a multiclass one with the same beliefs."""
    if multiclass.independent:
        for name in ("scale", "folded", "updates"):
            state[name] = np.concatenate([state[name], state[name]])
    slope, _, curvature = state["calibration"][:3].tolist()
    # one-vs-rest: the difference of the two scores is twice the binary one
    factor = 2 if multiclass.task == "one-vs-rest" else 1
    state["calibration"] = np.array([slope / factor, curvature * factor**2, *INITIAL_TEMPERATURE[len(INITIAL_SLOPE) :]])
