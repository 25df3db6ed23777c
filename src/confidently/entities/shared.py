"""The shared model: it is trained block by block, and predicts each block before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data import Batch
from ..data.memory.labels import class_numbers
from ..data.memory.matrix import as_matrix
from ..data.selection import joined
from ..estimators.gaussian import GaussianEstimator
from ..learner.learner import Learner
from ..learner.streams import StreamLearner
from ..views.center import KINDS, Center
from ..views.columns import MISSING

Floats = NDArray[np.float64]
ROWS_PER_BLOCK = 4096  # that one state of the shared model predicts
BLOCK_FRACTION = 8  # a block has at most this fraction of the rows before, since the first rows teach most
MIN_PROBABILITY = 1e-6  # of a class of which the shared model knows nothing


class Plain(NamedTuple):
    """Rows as the exact posterior of entities takes them, which centers them itself.

    Attributes
    ----------
    matrices : list of matrices
    missing : int8 array, optional
        Whether absent values of a column are not known, rather than 0.
    """

    matrices: list[_core.Matrix]
    missing: NDArray[np.int8] | None


class Block(NamedTuple):
    """Rows that were predicted by the shared model, and on which it was then trained.

    Attributes
    ----------
    rows : slice
        Which of the rows of the call.
    predicted : array of shape (n, n_classes or 1)
        The probabilities of the classes so far, by number, or the numbers.
    seen : list of matrices
        The rows as the shared model sees them.
    plain : Plain, optional
        The rows as the exact posterior takes them, if the shared model suits it.
    labels : int32 array, optional
        Class numbers.
    targets : array of shape (n,), optional
    weight : array of shape (n,), optional
    kept : list of str
        The keys, if rows are those of files.
    """

    rows: slice
    predicted: Floats
    seen: list[_core.Matrix]
    labels: NDArray[np.int32] | None
    targets: Floats | None
    weight: Floats | None
    kept: list[str]
    plain: Plain | None = None


def outputs_of(learner: Learner) -> int:
    """Return the deviations of an entity, one per score: two classes and numbers have one."""
    return 1 if learner.task.regression or learner.n_classes <= 2 else int(learner.n_classes)


def block_rows(before: int) -> int:
    """Return the rows of the next block, given those before."""
    return min(max(before // BLOCK_FRACTION, 1), ROWS_PER_BLOCK)


def plain_rows(learner: Learner, matrix: _core.Matrix, seen: list[_core.Matrix]) -> Plain | None:
    """Return rows as the exact posterior takes them; ``None`` with a shared model other than least squares."""
    settings = learner.settings
    if settings.rule.name != "ridge" or settings.forget:
        return None
    missing = missing_columns(learner)
    return Plain(seen if missing is None else [matrix], missing)


def missing_columns(learner: Learner) -> NDArray[np.int8] | None:
    """Return whether absent values of a column are not known, rather than 0; ``None``: rows are taken as seen."""
    return (learner.state[KINDS] == MISSING).astype(np.int8) if isinstance(learner.view, Center) else None


def predictions(learner: Learner | None, matrix: _core.Matrix, calibration: str | None) -> Floats:
    """Return the probabilities of the classes by number, or numbers, before any row 0 for two classes and numbers."""
    n = matrix.shape[0]
    if learner is not None and learner.task.regression:
        return np.zeros((n, 1)) if learner.n_seen == 0 else learner.numbers(matrix)
    if learner is None or learner.n_classes < 2 or learner.n_seen == 0:
        return np.full((n, 2), 0.5)
    return learner.probabilities(matrix, calibration)


def offsets_of(predicted: Floats, outputs: int, regression: bool) -> Floats:
    """Return predictions as what deviations are added to: numbers, or log-odds, of class 1 if there are two classes."""
    if regression:
        return np.ascontiguousarray(predicted)
    p = np.full((len(predicted), max(outputs, 2)), MIN_PROBABILITY)
    p[:, : predicted.shape[1]] = np.clip(predicted, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    log_odds: Floats = np.log(p) - np.log1p(-p)
    return np.ascontiguousarray(log_odds[:, 1:] if outputs == 1 else log_odds)


def blocks_of_array(
    shared: GaussianEstimator, X: Any, y: Any, classes: Any, weight: Any, before: int
) -> Iterator[Block]:
    """Train on the rows of an array or a sparse matrix, and yield their blocks."""
    n, first = X.shape[0], 0
    while first < n:
        last = min(n, first + block_rows(before + first))
        rows = X[first:last]
        matrix, learner = as_matrix(rows, shared.dtype), vars(shared).get("learner_")
        if learner is None:
            predicted = np.zeros((last - first, 1)) if shared.predicts_numbers else np.full((last - first, 2), 0.5)
        else:
            predicted = predictions(learner, matrix, shared.calibration)
        of_rows = None if weight is None else weight[first:last]
        options = {} if shared.predicts_numbers else {"classes": classes}
        shared.partial_fit(rows, y[first:last], sample_weight=of_rows, **options)
        labels, targets = None, None
        if shared.predicts_numbers:
            targets = np.ascontiguousarray(y[first:last], dtype=np.float64)
        else:
            names = shared._class_order.by_number
            labels = np.ascontiguousarray(class_numbers(y[first:last], names), dtype=np.int32)
        seen = list(shared.learner_.seen_rows(matrix))
        plain = plain_rows(shared.learner_, matrix, seen)
        yield Block(slice(first, last), predicted, seen, labels, targets, of_rows, [], plain)
        first = last


def blocks_of_stream(
    learning: StreamLearner, batches: Iterable[Batch], calibration: str | None, before: int, key: str | None = None,
    check_order: bool = True,
) -> Iterator[Block]:  # fmt: skip
    """Train on the batches of a stream, and yield their blocks; ``key`` is the column of keys that was kept."""
    waiting: deque[tuple[slice, Floats]] = deque()
    names: list[Any] = []

    def cut(batches: Iterator[Batch]) -> Iterator[Batch]:
        done = 0
        for part in _blocks(batches, before):
            predicted = predictions(learning.learner, part.matrix, calibration)
            waiting.append((slice(done, done + len(part)), predicted))
            done += len(part)
            yield part

    for part in learning.learn(batches, divide=cut, check_order=check_order):
        rows, predicted = waiting.popleft()
        names += [label.name for label in part.new_labels]
        labels = None
        if part.targets is None:
            numbers = np.array([learning.classes.number(name) for name in names], dtype=np.int32)
            labels = np.ascontiguousarray(numbers[part.labels])
        seen = list(learning.learner.seen_rows(part.matrix))
        kept = [] if key is None else list(part.kept[key])
        targets = None if part.targets is None else part.targets.reshape(len(part))  # those in memory have a column
        plain = plain_rows(learning.learner, part.matrix, seen)
        yield Block(rows, predicted, seen, labels, targets, part.weights, kept, plain)


def _blocks(batches: Iterable[Batch], before: int) -> Iterator[Batch]:
    """Yield the same rows as blocks, whose sizes follow from the rows before, not from those of the batches."""
    parts, held, size = list[Batch](), 0, block_rows(before)
    for batch in batches:
        first = 0
        while first < len(batch):
            last = min(len(batch), first + size - held)
            parts.append(batch.rows(first, last))
            held, first = held + last - first, last
            if held == size:
                yield joined(parts)
                before += size
                parts, held, size = [], 0, block_rows(before)
    if parts:
        yield joined(parts)


def trained_apart(shared: GaussianEstimator, n_rows: int, before: int) -> GaussianEstimator:
    """Return what to train on rows so that an error leaves the estimator as it was: a copy, if there are blocks."""
    return deepcopy(shared) if n_rows > block_rows(before) else shared
