"""Everything a learner knows, as one dict of arrays: saving, copying, growing and merging loop over it.

=============  =======================  ==========================================================================
entry          shape, type              meaning
=============  =======================  ==========================================================================
weights        (F, planes, K) real      per feature: the mean; diagonal covariance: its variance; averaging: the sum
                                        over updates of (rows seen before) x (change of the mean). Row 0 is the
                                        intercept, where there is one
covariance     (L, D, D) real           full and shared covariance only: S, to the last bit symmetric
pending        (L, P, D) real           full and shared covariance only: rows U whose U'U is still to be taken off S
pending_rows   (1,) int64               how many of them there are
scale          (L,) float64             the covariance is this number times what is stored (times S - U'U)
folded         (L,) float64             product of the scales multiplied into the store so far
kept           (L,) float64             only if the learner forgets: what is left of the precision that the store has
                                        beyond a feature's that was never met (core/covariances/forgetting.hpp)
updates        (L,) int64               updates made
counters       (3,) int64               rows seen, progressive mistakes, examples no classifier could satisfy
calibration    (n,) float64             progressive calibration (core/learner/calibration.hpp)
=============  =======================  ==========================================================================

K columns: one for two classes, else one a class; multilabel: the calibration label, then one a label. L learners:
K for one-vs-rest, else 1. D: K F for a full joint covariance, else F. P: room for half a block's updates.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..rules.rule import Rule
from .devices import NumpyArrays

State = dict[str, np.ndarray]

TASKS = {
    "binary": _core.Task.binary,
    "joint": _core.Task.joint,
    "one-vs-rest": _core.Task.one_vs_rest,
    "multilabel": _core.Task.multilabel,
}
COVARIANCES = ("diag", "full", "shared", "kernel")
DENSE = ("full", "shared")
COUNTERS = ("n_seen", "mistakes", "infeasible")
# Rows learned at a time with a dense covariance: an eighth of its size within these bounds, and no more
# places (rows x classes sharing it) than keep their Gram matrix small.
BLOCK_SHARE, MIN_BLOCK, MAX_BLOCK, MAX_PLACES = 8, 64, 256, 1024
SMALL = 100  # D up to which a dense covariance is learned row by row
SIGMOID_START = np.array([1.0, 0.0, 0.0, 0.0, 0.0])  # a, b, Hessian
TEMPERATURE_START = np.array([1.0, 0.0])  # a, second derivative


@dataclass(frozen=True)
class Settings:
    """What a learner is, as opposed to what it has learned."""

    rule: Rule
    covariance: str = "diag"
    task: str = "binary"
    prior_variance: float = 1.0
    fit_intercept: bool = True
    average: bool = False
    min_variance: float = 1e-12
    dtype: str = "float64"
    block_size: int | None = None
    kernel: Any = None
    kernel_params: dict[str, Any] | None = None
    budget: int | None = None
    forget: float = 0.0

    @property
    def geometry(self) -> str:
        """How Sigma is stored: a rule that gains no precision leaves it at its prior, so nothing need be."""
        if self.covariance == "kernel":
            return "kernel"
        return self.covariance if self.rule.learns_precision else "identity"

    @property
    def planes(self) -> int:
        return 1 + (self.geometry == "diag") + self.average

    @property
    def dense(self) -> bool:
        return self.geometry in DENSE

    def columns(self, n_classes: int) -> int:
        """Columns of weights for so many classes or labels."""
        return {"binary": 1, "multilabel": n_classes + 1}.get(self.task, n_classes)

    def covariance_size(self, rows: int, columns: int) -> int:
        """D of a learner's covariance matrix, for so many features (the intercept's included) and columns."""
        return rows * columns if self.geometry == "full" and self.task != "one-vs-rest" else rows

    def learners(self, n_classes: int) -> int:
        return n_classes if self.task == "one-vs-rest" else 1

    def rows_per_block(self, rows: int, columns: int) -> int:
        """Rows of so many features (the intercept's included) that a dense covariance learns at a time."""
        size = self.covariance_size(rows, columns)
        chosen = self.block_size or min(max(size // BLOCK_SHARE, MIN_BLOCK), MAX_BLOCK)
        return max(1, min(chosen, MAX_PLACES * rows // max(size, 1)))

    def row_by_row(self, rows: int, columns: int) -> bool:
        """Whether a dense covariance over so many features is so small that products of matrices do not pay."""
        return self.block_size is None and self.covariance_size(rows, columns) <= SMALL

    def core(self, dense: bool = False) -> _core.Learner:
        """The compiled learner row by row; unless ``dense``, it knows a dense covariance's weights only."""
        return _core.Learner(
            self.rule.compiled,
            self.geometry if dense or not self.dense else "identity",
            TASKS[self.task],
            intercept=self.fit_intercept,
            average=self.average,
            prior_variance=float(self.prior_variance),
            min_variance=float(self.min_variance),
            forget=self.forget,
        )


def calibration_start(settings: Settings, n_classes: int) -> np.ndarray:
    """Untrained calibration."""
    if settings.task == "binary":
        return SIGMOID_START.copy()
    return np.tile(SIGMOID_START, n_classes) if settings.task == "multilabel" else TEMPERATURE_START.copy()


def expected_shapes(
    settings: Settings, n_features: int, n_classes: int, arrays: State | None = None
) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of every entry of a state; how much a kernel learner holds must be told from its arrays."""
    rows, columns, learners = (
        n_features + settings.fit_intercept,
        settings.columns(n_classes),
        settings.learners(n_classes),
    )
    real, number, count = np.dtype(settings.dtype), np.dtype(np.float64), np.dtype(np.int64)
    shapes: dict[str, tuple[tuple[int, ...], np.dtype]] = {
        "scale": ((learners,), number),
        "folded": ((learners,), number),
        "updates": ((learners,), count),
        "counters": ((len(COUNTERS),), count),
        "calibration": (calibration_start(settings, n_classes).shape, number),
    }
    if settings.forget:
        shapes["kept"] = ((learners,), number)
    if settings.geometry == "kernel":
        from .kernel_support import shapes as kernel_shapes

        assert arrays is not None
        return shapes | kernel_shapes(
            settings, n_classes, len(arrays["support.start"]) - 1, len(arrays["support.values"])
        )
    shapes["weights"] = ((rows, settings.planes, columns), real)
    if settings.dense:
        size = settings.covariance_size(rows, columns)
        shapes["covariance"] = ((learners, size, size), real)
        shapes["pending"] = ((learners, pending_room(settings, rows, columns), size), real)
        shapes["pending_rows"] = ((1,), count)
    return shapes


def new_state(settings: Settings, n_features: int, n_classes: int) -> State:
    """The prior: mean 0, covariance ``prior_variance`` I, nothing seen."""
    rows, columns, learners = (
        n_features + settings.fit_intercept,
        settings.columns(n_classes),
        settings.learners(n_classes),
    )
    state = {
        "scale": np.ones(learners),
        "folded": np.ones(learners),
        "updates": np.zeros(learners, dtype=np.int64),
        "counters": np.zeros(len(COUNTERS), dtype=np.int64),
        "calibration": calibration_start(settings, n_classes),
    }
    if settings.forget:
        state["kept"] = np.ones(learners)
    if settings.geometry == "kernel":
        from .kernel_support import new_entries

        return state | new_entries(settings, n_classes)
    state["weights"] = prior_weights(settings, state, rows, columns)
    if settings.dense:
        state["covariance"] = prior_covariance(settings, state, rows, columns)
        nothing_pending(settings, state, rows, columns)
    return state


def prior_weights(settings: Settings, state: State, rows: int, columns: int) -> np.ndarray:
    """Weights of which nothing was learned. They stand in the store as if they had been there from the start: the
    ellipsoid rules' scale covers them too."""
    weights = np.zeros((rows, settings.planes, columns), dtype=settings.dtype)
    if settings.geometry == "diag":
        weights[:, 1] = settings.prior_variance * np.maximum(state["folded"], settings.min_variance)
    return weights


def diagonal_variances(settings: Settings, state: State, stored: np.ndarray, learner: int | slice) -> np.ndarray:
    """What stored variances of the diagonal geometry mean, for the learner or learners of their columns (last axis)."""
    found = stored.astype(np.float64)
    if settings.forget:
        found = found / _faded(settings, state, found, learner)
    scaled: np.ndarray = np.maximum(found * state["scale"][learner], settings.min_variance * settings.prior_variance)
    return scaled


def _faded(settings: Settings, state: State, stored: np.ndarray, learner: int | slice) -> np.ndarray:
    """By what forgetting divides stored variances; 1 for those of features never met."""
    kept, folded = state["kept"][learner], np.maximum(state["folded"][learner], settings.min_variance)
    share: np.ndarray = kept + (1.0 - kept) / (settings.prior_variance * folded) * stored
    return share


def flush_forgetting(settings: Settings, state: State) -> None:
    """Store what is forgotten, so that variances are the scale times what is stored; the old array stays as it is."""
    if not settings.forget:
        return
    weights = state["weights"].copy()
    weights[:, 1] /= _faded(settings, state, weights[:, 1].astype(np.float64), slice(None))
    state["weights"], state["kept"] = weights, np.ones_like(state["kept"])


def prior_covariance(settings: Settings, state: State, rows: int, columns: int) -> np.ndarray:
    """Covariance matrices of which nothing was learned."""
    learners = len(state["scale"])
    size = settings.covariance_size(rows, columns)
    check_memory(learners * size * size * np.dtype(settings.dtype).itemsize, settings.covariance, size)
    covariance = np.zeros((learners, size, size), dtype=settings.dtype)
    covariance[:, np.arange(size), np.arange(size)] = settings.prior_variance * state["folded"][:, None]
    return covariance


def updates_per_row(settings: Settings) -> int:
    """Most updates of one covariance by one row."""
    return 2 if settings.task == "multilabel" else 1


def pending_room(settings: Settings, rows: int, columns: int) -> int:
    """Rows that may be pending: half a block's updates, beyond which taking them off costs less than carrying them."""
    return settings.rows_per_block(rows, columns) * updates_per_row(settings) // 2


def nothing_pending(settings: Settings, state: State, rows: int, columns: int) -> None:
    """Make room for rows to be taken off dense covariances."""
    learners, size, _ = state["covariance"].shape
    state["pending"] = np.zeros((learners, pending_room(settings, rows, columns), size), dtype=settings.dtype)
    state["pending_rows"] = np.zeros(1, dtype=np.int64)


def flushed_covariance(state: State) -> np.ndarray:
    """A copy of the stored covariances with what was pending taken off; the state stays as it is."""
    covariance = state["covariance"].copy()
    rows = int(state["pending_rows"][0])
    for sigma, pending in zip(covariance, state["pending"], strict=True):
        if rows:
            NumpyArrays().subtract_gram(sigma, pending[:rows])
    return covariance


def memory_bytes() -> int:
    """Bytes of memory this machine has; a very large number where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**62


def check_memory(needed: int, covariance: str, size: int) -> None:
    """Refuse a covariance that does not fit, before it is allocated."""
    there = memory_bytes()
    if needed > there:
        raise MemoryError(
            f'covariance="{covariance}" over {size} weights needs {needed:,} bytes and this machine has {there:,}; use '
            'covariance="diag", hash the features into fewer columns or, with many classes, use covariance="shared"'
        )


def grow_features(settings: Settings, state: State, n_features: int) -> None:
    """Add features at the prior."""
    old = state["weights"]
    rows, columns = n_features + settings.fit_intercept, old.shape[2]
    weights = prior_weights(settings, state, rows, columns)
    weights[: len(old)] = old
    if settings.dense:
        _embed_covariance(settings, state, len(old), rows, columns)
    state["weights"] = weights


def grow_classes(settings: Settings, state: State, n_classes: int) -> None:
    """Add classes or labels at the prior, after those there are."""
    more = settings.learners(n_classes) - len(state["scale"])
    for name in ("scale", "folded", *(["kept"] if settings.forget else [])):
        state[name] = np.concatenate([state[name], np.ones(more)])
    state["updates"] = np.concatenate([state["updates"], np.zeros(more, dtype=np.int64)])
    if settings.task == "multilabel":
        calibration = calibration_start(settings, n_classes)
        calibration[: len(state["calibration"])] = state["calibration"]
        state["calibration"] = calibration
    if settings.geometry == "kernel":
        from .kernel_support import grow_learners

        return grow_learners(state, more)
    old = state["weights"]
    rows, known, columns = old.shape[0], old.shape[2], settings.columns(n_classes)
    weights = prior_weights(settings, state, rows, columns)
    weights[..., :known] = old
    if settings.geometry == "full":
        _embed_covariance(settings, state, rows, rows, columns)
    state["weights"] = weights


def split_binary(binary: Settings, multiclass: Settings, state: State) -> None:
    """Turn a binary learner into a multiclass one of its two classes that believes the same.

    Joint: the classes' means are -w/2 and w/2 and their covariances Sigma/2 each, so that the margin between them has
    the mean and variance it had. One-vs-rest: -w and w, Sigma each. A covariance that stays at its prior is not halved,
    nor are features still at their prior: those that come later start there too, and whether there was room for a
    feature before its first row must not matter.
    """
    joint = multiclass.task == "joint"
    share = 0.5 if joint else 1.0
    flush_forgetting(binary, state)
    old, untouched = state["weights"][..., 0], np.flatnonzero(~touched(binary, state))
    weights = np.stack([0.0 - share * old, share * old], axis=2)  # no -0.0, which features that come later do not have
    if multiclass.geometry == "diag":
        weights[:, 1] = share * old[:, 1, None]
        weights[untouched, 1] = old[untouched, 1, None]
    state["weights"] = weights
    if binary.dense:
        whole = flushed_covariance(state)[0]
        sigma = share * whole
        sigma[untouched, untouched] = whole[untouched, untouched]
        state["covariance"] = _split_covariance(sigma, multiclass)
        nothing_pending(multiclass, state, len(old), 2)
    if not joint:
        for name in ("scale", "folded", "updates", *(["kept"] if binary.forget else [])):
            state[name] = np.repeat(state[name], 2)
    slope, curvature = state["calibration"][[0, 2]]
    spread = 1 if joint else 2  # one-vs-rest: the difference of the two scores is twice the binary one
    state["calibration"] = np.array([slope / spread, curvature * spread**2])


def touched(settings: Settings, state: State) -> np.ndarray:
    """Which features' weights have left the prior, of a learner of one column."""
    weights = state["weights"]
    moved: np.ndarray = (weights != prior_weights(settings, state, 1, 1)).any(axis=(1, 2))
    if settings.dense:
        sigma = flushed_covariance(state)[0]
        prior = (settings.prior_variance * state["folded"]).astype(sigma.dtype)
        moved |= (np.diagonal(sigma) != prior) | (np.count_nonzero(sigma, axis=1) > 1)
    return moved


def _split_covariance(sigma: np.ndarray, multiclass: Settings) -> np.ndarray:
    if multiclass.geometry == "shared":
        return sigma[None]
    if multiclass.task == "one-vs-rest":
        return np.stack([sigma, sigma])
    n = len(sigma)
    whole = np.zeros((1, 2 * n, 2 * n), dtype=sigma.dtype)
    whole[0, :n, :n] = whole[0, n:, n:] = sigma
    return whole


def _embed_covariance(settings: Settings, state: State, old_rows: int, rows: int, columns: int) -> None:
    """Put the old covariance in its place within one of more weights."""
    old, new = flushed_covariance(state), prior_covariance(settings, state, rows, columns)
    state["covariance"] = new
    nothing_pending(settings, state, rows, columns)
    if old_rows == 0:
        return
    blocks, old_blocks = new.shape[1] // rows, old.shape[1] // old_rows
    target = new.reshape(len(new), blocks, rows, blocks, rows)
    target[: len(old), :old_blocks, :old_rows, :old_blocks, :old_rows] = old.reshape(
        len(old), old_blocks, old_rows, old_blocks, old_rows
    )
