"""What a shared model and the entities around it say of rows, by numbers of classes; NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .. import _core
from .keys import Key
from .shared import offsets_of, predictions
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


def scores_of(
    table: EntityTable, learner: Any, calibration: str | None, matrix: _core.Matrix, keys: Sequence[Key], now: int
) -> Scores:
    """Return what is known of rows with these keys, before row ``now``."""
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


def margins(table: EntityTable, scores: Scores) -> tuple[Floats, Floats]:
    """Return mean and variance of log-odds, or of numbers without their noise, shape (n, outputs)."""
    offsets = scores.offsets[:, :, None]
    unit = table.noise[1:] if table.regression else np.ones(len(table.priors))
    mean = scores.mean + (offsets if table.regression else offsets * _sharper(table, scores))
    means = np.concatenate([offsets, mean], axis=2)
    variances = np.concatenate([np.zeros_like(offsets), scores.variance * unit], axis=2)
    center = means @ table.weights
    return center, (variances + (means - center[:, :, None]) ** 2) @ table.weights + scores.shared


def numbers(table: EntityTable, scores: Scores) -> tuple[Floats, Floats]:
    """Return mean and variance of targets, shape (n,)."""
    means = np.column_stack([scores.offsets[:, 0], scores.offsets + scores.mean[:, 0]])
    variances = table.noise * np.column_stack([np.ones(len(means)), 1.0 + scores.variance[:, 0]])
    center = means @ table.weights
    return center, (variances + (means - center[:, None]) ** 2) @ table.weights


def deviation(table: EntityTable, key: Key) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Return the features of an entity, 0 the intercept, and mean and variance of its weights, (n, outputs)."""
    one = table.one(key)
    weights = table.weights[1:] / max(table.weights[1:].sum(), 1e-300)
    unit = table.noise[1:] if table.regression else np.ones(len(weights))
    mean = one.mean @ weights
    return one.features, mean, (one.variance * unit + (one.mean - mean[:, :, None]) ** 2) @ weights


def _sharper(table: EntityTable, scores: Scores) -> Floats:
    """Return what log-odds are multiplied by so that their expectation over deviations at the prior is that before."""
    found: Floats = np.sqrt(1 + LOGISTIC_VARIANCE * scores.squares[:, None] * np.array(table.priors))[:, None, :]
    return found


def _shared_variance(learner: Any, seen: _core.Matrix) -> Floats:
    """Return the variance of the log-odds or numbers that the shared model predicts, shape (n, outputs)."""
    if learner.task.regression:
        return np.asarray(learner._score_distribution(seen)[1] * learner.variance_unit())
    found: Floats = learner.logit_deviations_of(seen) ** 2
    return found
