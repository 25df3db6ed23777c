"""The state of a learner: one dict of arrays, over which saving, copying, growing and merging loop.

Each covariance adds its own entries to the common ones; its module describes them.

=============  =======================  ==========================================================================
entry          shape, type              meaning
=============  =======================  ==========================================================================
scale          (L,) float64             factor of the stored covariance
folded         (L,) float64             product of the scales multiplied into the stored covariance so far
updates        (L,) int64               number of updates
counters       (3,) int64               rows seen, progressive mistakes, examples no classifier could satisfy
calibration    (n,) float64             online calibration (core/tasks/calibration.hpp); regression: statistics of the
                                        targets (core/tasks/targets.hpp)
conformal      (n,) float64             scores of true classes, of which sets are made (core/tasks/conformal.hpp)
variances      (n,) float64             how uncertain margins were, counted (core/tasks/margin_variances.hpp)
weights        (F, planes, K) real      except with a kernel: per feature the mean; diagonal: its variance; averaging:
                                        the sum over updates of (rows seen before) x (change of the mean). Row 0 is
                                        the intercept's, where there is one
=============  =======================  ==========================================================================

K columns: one for two classes, otherwise one per class or number; multilabel: the threshold, then one per label. L
learners: K for one-vs-rest and for softmax (with a shared covariance 1), otherwise 1. F features, the intercept
included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from .. import _core
from ..arrays import lies_within
from ..rules.ranges import Range
from ..tasks import novelty
from ..tasks.conformal import CONFORMAL
from ..tasks.novelty import VARIANCES
from .settings import Settings

PLACES = ".places"  # the end of the name of places in the array of that name
State: TypeAlias = "dict[str, np.ndarray]"
Shapes = dict[str, tuple[tuple[int, ...], str]]  # and types, by name

COUNTERS = ("n_seen", "mistakes", "infeasible")
REAL, COUNT = "float64", "int64"
# Beyond what training reaches, and such that the predictions for rows of the largest values are finite: no product of
# float32 matrices, and no float64 number, leaves its range.
MAX_MEAN, MAX_SUMMED, MAX_SCALE = 1e110, 1e20, 1e110
MAX_VARIANCE = {"float64": 1e90, "float32": 1e18}
MAX_FOLDED = 1e25  # times the largest prior variance, it fits float32; kMaxGrowth of the core is 1e24
COUNTS = Range(0, 2**62, closed_low=True)
MAX_PRECISION = 1e250


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


def common_shapes(settings: Settings, n_classes: int) -> Shapes:
    """Return shape and type of the entries that every covariance has."""
    learners = settings.learners(n_classes)
    return {
        "scale": ((learners,), REAL),
        "folded": ((learners,), REAL),
        "updates": ((learners,), COUNT),
        "counters": ((len(COUNTERS),), COUNT),
        "calibration": ((len(settings.task.initial_calibration(n_classes)),), REAL),
        CONFORMAL: ((len(settings.task.initial_conformal(n_classes)),), REAL),
        VARIANCES: ((novelty.SIZE,), REAL),
    }


def common_entries(settings: Settings, n_classes: int) -> State:
    """Return these entries before training."""
    learners = settings.learners(n_classes)
    return {
        "scale": np.array([1.0] * learners),
        "folded": np.array([1.0] * learners),
        "updates": np.zeros((learners,), COUNT),
        "counters": np.zeros((len(COUNTERS),), COUNT),
        "calibration": np.array(settings.task.initial_calibration(n_classes)),
        CONFORMAL: settings.task.initial_conformal(n_classes),
        VARIANCES: novelty.untrained(),
    }


def common_values(settings: Settings, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of these entries."""
    yield "scale", state["scale"], Range(0.0, MAX_SCALE)
    yield "folded", state["folded"], Range(0.0, MAX_FOLDED, closed_low=True)
    yield "updates", state["updates"], COUNTS
    yield "counters", state["counters"], COUNTS
    yield from settings.task.calibration_values(state["calibration"])
    yield from settings.task.conformal_values(state[CONFORMAL])
    yield from novelty.values(state[VARIANCES])


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


def without_base(name: str, array: np.ndarray, base: np.ndarray) -> State:
    """Return the numbers of an array that differ from those of a broadcast one, and their places as another entry.

    Nothing, if that takes half of the array's space or more.
    """
    bits = f"i{array.itemsize}"  # -0 is not 0
    moved = np.flatnonzero(array.view(bits) != base.view(bits)).astype(np.int64, copy=False)
    if len(moved) * (array.itemsize + moved.itemsize) >= array.nbytes / 2:
        return {}
    return {name: array.reshape(-1)[moved], name + PLACES: moved}


def put_places(base: np.ndarray, arrays: State, name: str) -> None:
    """Replace what :func:`without_base` has made by the array; ``ValueError`` unless it fits ``base``, its others."""
    put_rows(base.reshape(-1), arrays.pop(name + PLACES), arrays[name], name)
    arrays[name] = base


def grow_common(settings: Settings, state: State, n_classes: int) -> int:
    """Add classes or labels to these entries; return the number of added learners."""
    more = settings.learners(n_classes) - len(state["scale"])
    for name in ("scale", "folded"):
        state[name] = np.concatenate([state[name], np.array([1.0] * more)])
    state["updates"] = np.concatenate([state["updates"], np.zeros((more,), "int64")])
    state["calibration"] = settings.task.grown_calibration(state["calibration"], n_classes)
    state[CONFORMAL] = settings.task.placed_conformal(state[CONFORMAL], np.arange(n_classes), n_classes)
    return more


def split_common(state: State, multiclass: Settings) -> None:
    """Convert these entries of a binary learner into those of a multiclass one with the same beliefs."""
    if multiclass.independent:
        for name in ("scale", "folded", "updates"):
            state[name] = np.concatenate([state[name], state[name]])
    state["calibration"] = multiclass.task.split_calibration(state["calibration"])
