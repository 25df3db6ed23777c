"""What a shared model and the entities around it say of rows, by numbers of classes; NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri, stdtrit

from .. import _core
from .hierarchy import columns_of, deviations, unpacked, weights_of
from .keys import Key
from .shared import offsets_of, plain_rows, predictions
from .table import EntityTable

Floats = NDArray[np.float64]
LOGISTIC_VARIANCE = pi / 8  # see core/entities/entities.hpp


class Scores(NamedTuple):
    """What is known of rows.

    Attributes
    ----------
    offsets : array of shape (n, outputs)
        What the shared model predicts: numbers, or log-odds.
    mean, variance : arrays of shape (n, outputs, levels)
        Of the deviations.
    squares : array of shape (n,)
        \\|x\\|^2, with the intercept.
    shared : array of shape (n, outputs)
        The variance of the shared model's scores.
    """

    offsets: Floats
    mean: Floats
    variance: Floats
    squares: Floats
    shared: Floats


class Expected(NamedTuple):
    """The expectation of the targets of rows by the exact posterior, and its variance in units of the noise."""

    mean: Floats
    variance: Floats


def scores_of(
    table: EntityTable, learner: Any, calibration: str | None, matrix: _core.Matrix, keys: Sequence[Key], now: int
) -> Scores | Expected:
    """Return what is known of rows with these keys, before row ``now``."""
    if table.exact:
        plain = plain_rows(learner, matrix, list(learner.seen_rows(matrix)))
        assert plain is not None
        return Expected(*table.expected(keys, plain, now))
    offsets = offsets_of(predictions(learner, matrix, calibration), table.outputs, table.regression)
    found, first = [], 0
    for seen in learner.seen_rows(matrix):
        last = first + seen.shape[0]
        found.append((*table.scores(keys[first:last], seen, now), _shared_variance(learner, seen)))
        first = last
    return Scores(offsets, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def probabilities(table: EntityTable, scores: Scores) -> Floats:
    """Return the probabilities of the classes by number, shape (n, n_classes)."""
    offsets, mean, variance = scores.offsets[:, :, None], scores.mean, scores.variance
    by_level = np.sqrt(1 + LOGISTIC_VARIANCE * variance)
    p = expit(np.concatenate([offsets, (offsets * _sharper(table, scores) + mean) / by_level], axis=2)).swapaxes(1, 2)
    if table.outputs > 1:
        p /= p.sum(axis=2, keepdims=True)
    p = np.einsum("ngk,g->nk", p, table.weights)
    return np.column_stack([1.0 - p, p]) if table.outputs == 1 else p


def margins(table: EntityTable, scores: Scores | Expected) -> tuple[Floats, Floats]:
    """Return mean and variance of log-odds, or of numbers without their noise, shape (n, outputs)."""
    if isinstance(scores, Expected):
        return scores.mean[:, None], table.exact_core.noise * scores.variance[:, None]
    offsets = scores.offsets[:, :, None]
    unit = table.noise[1:] if table.regression else np.ones(len(table.priors))
    mean = scores.mean + (offsets if table.regression else offsets * _sharper(table, scores))
    means = np.concatenate([offsets, mean], axis=2)
    variances = np.concatenate([np.zeros_like(offsets), scores.variance * unit], axis=2)
    center = means @ table.weights
    return center, (variances + (means - center[:, :, None]) ** 2) @ table.weights + scores.shared


def numbers(table: EntityTable, scores: Scores | Expected) -> tuple[Floats, Floats]:
    """Return mean and variance of targets, shape (n,)."""
    if isinstance(scores, Expected):
        return scores.mean, table.exact_core.noise * (1.0 + scores.variance)
    means = np.column_stack([scores.offsets[:, 0], scores.offsets + scores.mean[:, 0]])
    variances = table.noise * np.column_stack([np.ones(len(means)), 1.0 + scores.variance[:, 0]])
    center = means @ table.weights
    return center, (variances + (means - center[:, None]) ** 2) @ table.weights


def intervals(table: EntityTable, mean: Floats, variance: Floats, coverage: float) -> Floats:
    """Return limits between which targets are with this probability, shape (n, 2), given what :func:`numbers` returns.

    Those of the exact posterior are Student's t, with the degrees of freedom of the sum of the noise and of what
    entities deviate by (Satterthwaite 1946). Learned variances count as weights do. With fewer rows limits are
    infinite.
    """
    if not table.exact:
        half = np.sqrt(variance) * ndtri(0.5 + coverage / 2)
        return np.column_stack([mean - half, mean + half])
    core = table.exact_core
    left = core.freedom - len(core.state_of_columns()["variances"])
    if left < 1.0:
        return np.tile([-np.inf, np.inf], (len(mean), 1))
    of_entities = np.maximum(variance / core.noise - 1.0, 0.0)
    freedom = (1.0 + of_entities) ** 2 / (1.0 / left + of_entities**2 / max(len(table), 1))
    half = stdtrit(freedom, 0.5 + coverage / 2) * np.sqrt(variance * core.freedom / left)
    return np.column_stack([mean - half, mean + half])


def deviation(table: EntityTable, key: Key) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Return the features of an entity, 0 the intercept, and mean and variance of its weights, (n, outputs)."""
    if table.exact:
        return _of_weights(table, table.exact_core.one(table.slots[key])[0])
    one = table.one(key)
    weights = table.weights[1:] / max(table.weights[1:].sum(), 1e-300)
    unit = table.noise[1:] if table.regression else np.ones(len(weights))
    mean = one.mean @ weights
    return one.features, mean, (one.variance * unit + (one.mean - mean[:, :, None]) ** 2) @ weights


def _of_weights(table: EntityTable, sums: Floats | None) -> tuple[NDArray[np.int32], Floats, Floats]:
    mean, covariance = weights_of(table.exact_core.state_of_columns(), sums)
    variance = table.exact_core.noise * np.diag(covariance)
    return np.arange(len(mean), dtype=np.int32), mean[:, None], variance[:, None]


class Added(NamedTuple):
    """What weights add to the expectation of a number by the exact posterior, by column; 0 is the intercept.

    Attributes
    ----------
    value, shared, own : arrays of shape (d,)
        The row around the means of its columns, the weights that entities share, and what the entity deviates by.
    of_shared, of_own : arrays of shape (d,)
        What they add to the variance of the expectation.
    offset : float
        What the expectation is for weights 0.
    """

    value: Floats
    shared: Floats
    own: Floats
    of_shared: Floats
    of_own: Floats
    offset: float


def added(table: EntityTable, key: Key, columns: Any, values: Any, missing: Any) -> Added:
    """Return what weights add for a row with these columns and values, whose other ones are 0, or else ``missing``."""
    core = table.exact_core
    state = core.state_of_columns()
    d = columns_of(state)
    x = -state["center"][:d]
    x[0] = 1.0
    if missing is not None:
        x[1:][missing[: d - 1] > 0] = 0.0
    known = np.asarray(columns) < d - 1
    at = np.asarray(columns)[known] + 1
    x[at] = np.asarray(values)[known] - state["center"][at]
    slot = table.slots.get(key)
    sums = np.zeros((d + 1) * (d + 2) // 2) if slot is None else core.one(slot)[0]
    [mean], [covariance], [between] = deviations(state, unpacked(sums, d, d))
    shared, noise = state["covariance"].reshape(d, d), core.noise
    of_shared, of_own = noise * x * (shared @ x), noise * x * ((covariance + between + between.T) @ x)
    return Added(x, state["shared"], mean, of_shared, of_own, float(state["center"][d]))


def _sharper(table: EntityTable, scores: Scores) -> Floats:
    """Return what log-odds are multiplied by so that their expectation over deviations at the prior is that before."""
    return np.sqrt(1 + LOGISTIC_VARIANCE * scores.squares[:, None] * np.array(table.priors))[:, None, :]


def _shared_variance(learner: Any, seen: _core.Matrix) -> Floats:
    """Return the variance of the log-odds or numbers that the shared model predicts, shape (n, outputs)."""
    if learner.task.regression:
        return np.asarray(learner._score_distribution(seen)[1] * learner.variance_unit())
    return learner.logit_deviations_of(seen) ** 2
