"""Progressive validation: predict every row, then train on it, and count the mistakes."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import log
from sys import maxsize
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from ..data import Stream
from ..data.classes import ClassTable
from ..data.memory.labels import check_labels, class_numbers, class_weights, distinct, is_multilabel, labels_of_rows
from ..data.memory.matrix import as_matrix
from ..data.selection import cut_at
from ..estimators.auto import AutoClassifier
from ..estimators.base_regressor import BaseOnlineRegressor
from ..estimators.classifier import OnlineClassifier
from ..estimators.mira import MIRA
from ..estimators.streams import check_values_kept, open_to_learn
from ..learner.learner import Learner
from ..learner.streams import StreamLearner
from ..stack.following import WINDOW_ROWS
from ..stack.history import MixturePoint, mixture_of
from ..stack.stack import Stack

N_POINTS = 100  # of a curve over a matrix
ROWS_PER_POINT = 1000  # of a curve over a stream
COUNTS = ("mistakes", "updates", "log_loss")
ONLINE = (OnlineClassifier, AutoClassifier)  # whose learners count mistakes and log-loss themselves


@dataclass(frozen=True)
class MixtureCurve:
    """How the mixture of a stack moved in one run, after the numbers of rows of its curve.

    Attributes
    ----------
    rows : int array of shape (n_points,)
        Rows trained on.
    windows : tuple of int
        The rows of the windows of the mixture, ascending.
    shares : float array of shape (n_points, n_windows)
        Of the windows; they add up to 1.
    members : list of str
        All members, those that were dropped included.
    forget : float array of shape (n_members,)
        The fraction of what it knows that each member forgets per row; 0: all rows count equally.
    weights : float array of shape (n_points, n_members)
        Of the members; 0 after they were dropped.
    moves : list of (int, int or None)
        When the mixture had moved to shorter memories: the first row, counted from 1, and the first one after that;
        ``None`` if it has not moved back.
    """

    rows: np.ndarray
    windows: tuple[int, ...]
    shares: np.ndarray
    members: list[str]
    forget: np.ndarray
    weights: np.ndarray
    moves: list[tuple[int, int | None]]

    def by_memory(self) -> dict[float, np.ndarray]:
        """Return the fraction of the absolute weights that members of each ``forget`` have, of shape (n_points,).

        The members that forget most come first.
        """
        sizes = np.abs(self.weights)
        fractions = sizes / sizes.sum(axis=1, keepdims=True)
        return {f: fractions[:, self.forget == f].sum(axis=1) for f in sorted(set(self.forget.tolist()), reverse=True)}


@dataclass(frozen=True)
class ProgressiveCurve:
    """Cost of one or more runs of a learner after given numbers of rows.

    Attributes
    ----------
    rows : int array of shape (n_points,)
        Rows trained on.
    mistakes : float array of shape (n_runs, n_points)
        Number of rows predicted wrongly before they were trained on.
    updates : float array of shape (n_runs, n_points)
        Number of updates; nan where the learner does not count them.
    log_loss : float array of shape (n_runs, n_points)
        Sum of -log of the predicted probability of each row's label before it was trained on, in multilabel data over
        all labels; nan without such probabilities and after the first pass.
    models : list
        The trained learner of each run.
    mixtures : list of MixtureCurve or None
        How the mixture of each run moved; ``None`` for single learners and for label sets.
    """

    rows: np.ndarray
    mistakes: np.ndarray
    updates: np.ndarray
    log_loss: np.ndarray
    models: list[Any] = field(default_factory=list, repr=False, compare=False)
    mixtures: list[MixtureCurve] | None = field(default=None, repr=False, compare=False)

    @property
    def error(self) -> np.ndarray:
        """Progressive validation error: mistakes per row; shape (n_runs, n_points)."""
        return self.mistakes / self.rows

    def mean(self, quantity: str = "error") -> np.ndarray:
        """Return the mean over the runs of ``error``, ``mistakes``, ``updates`` or ``log_loss``; shape (n_points,)."""
        return getattr(self, quantity).mean(axis=0)

    def standard_deviation(self, quantity: str = "error") -> np.ndarray:
        """Return the sample standard deviation over the runs; nan for one run."""
        values = getattr(self, quantity)
        return values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(self.rows), np.nan)

    def band(self, quantity: str = "error", confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the pointwise confidence interval of the mean over row orders.

        mean +- t s/sqrt(R), with Student's t of R - 1 degrees of freedom for R runs; nan for one run.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}")
        from scipy.stats import t

        runs, mean = len(self.mistakes), self.mean(quantity)
        half = t.ppf((1 + confidence) / 2, max(runs - 1, 1)) * self.standard_deviation(quantity) / np.sqrt(runs)
        return mean - half, mean + half


def progressive_validation(
    model: Any, X: Any, y: Any = None, *, classes: Any = None, permutations: int | None = None, passes: int = 1,
    at: int | Sequence[int] | None = None, random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> ProgressiveCurve:  # fmt: skip
    """Predict every row, then train on it: an honest error without held-out data.

    Parameters
    ----------
    model : estimator
        An :class:`OnlineClassifier`, an :class:`AutoClassifier`, a :class:`MIRA`, or any classifier with
        ``partial_fit`` (slow: it predicts row by row). It is cloned, not changed. The members of an AutoClassifier are
        chosen by the columns of the first 1000 rows of each run, as :meth:`AutoClassifier.fit_stream` does; labels have
        no part in that, so every row is still predicted before its label is used.
    X : array, sparse matrix, data frame, list of dicts, paths, or :class:`confidently.data.Stream`
        Rows; a stream (one run, one pass, :class:`OnlineClassifier` and :class:`AutoClassifier` only) needs no ``y``.
    y : array of shape (n,), or indicator matrix; str
        Labels, or the name of the column that has them: a frame, dicts or files are then run over as a stream.
    classes : array, optional
        All possible classes; by default those in ``y``, or those of the stream as they appear.
    permutations : int, optional
        Number of runs, each with its own random order in every pass. By default one run in the given order.
    passes : int
        Number of passes of each run over the rows.
    at : int or sequence of int, optional
        Rows between two points of the curves, or the numbers of rows at the points. The last row always has a point.
        Default: about 100 points; for a stream, one every 1,000 rows.
    random_state : int, RandomState or None
        Seed of the orders, which are the same for every model.
    n_jobs : int, optional
        Number of runs at the same time, in threads.

    Returns
    -------
    ProgressiveCurve

    Raises
    ------
    ValueError, TypeError
        For invalid parameters or data.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = progressive_validation(
    ...     OnlineClassifier("arow"), StandardScaler().fit_transform(X), y, permutations=5, random_state=0
    ... )
    >>> low, high = curve.band("error")
    >>> bool(0.02 < low[-1] < curve.mean()[-1] < high[-1] < 0.06)
    True

    References
    ----------
    Blum, Kalai & Langford, Beating the hold-out, COLT 1999.
    """
    if isinstance(model, BaseOnlineRegressor):
        name = type(model).__name__
        raise TypeError(f"progressive_validation is for classifiers, got {name}, whose rmse_ and mae_ are progressive")
    if isinstance(X, Stream) or isinstance(y, str):
        if not isinstance(model, ONLINE):
            raise TypeError(f"a stream needs an OnlineClassifier or an AutoClassifier, got {type(model).__name__}")
        with X if isinstance(X, Stream) else open_to_learn(X, model.dtype, model._scaled, label=y) as stream:
            return _over_stream(model, stream, classes, at)
    if y is None:
        raise ValueError("a matrix of rows needs y; only a stream of confidently.data includes its labels")
    for name, value in (("passes", passes), ("permutations", 1 if permutations is None else permutations)):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{name} must be an integer >= 1, got {value!r}")
    check_labels(y)
    X, y = X if hasattr(X, "tocsr") else np.asarray(X), np.asarray(y)
    n = len(y)
    rows = _points(at, n * passes, -(-n * passes // N_POINTS))
    generator = check_random_state(random_state)
    if permutations is None:
        orders = [np.tile(np.arange(n), passes)]
    else:
        orders = [np.concatenate([generator.permutation(n) for _ in range(passes)]) for _ in range(permutations)]
    known = None if is_multilabel(y) else distinct(y) if classes is None else np.unique(classes)
    run = _run_online if isinstance(model, ONLINE) else _run_counting if isinstance(model, MIRA) else _run_any
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(run)(clone(model), X, y, known, order, rows, n) for order in orders
    )
    counts = {name: np.array([r[0][name] for r in found]) for name in COUNTS}
    mixtures = [mixture for *_, mixture in found if mixture is not None]
    return ProgressiveCurve(rows, **counts, models=[r[1] for r in found], mixtures=mixtures or None)


def _points(at: int | Sequence[int] | None, total: int, stride: int) -> np.ndarray:
    """Return the numbers of rows at which a curve has a point."""
    if at is None or isinstance(at, numbers.Integral):
        stride = stride if at is None else int(at)
        if stride < 1:
            raise ValueError(f"at must be a number of rows >= 1, got {at!r}")
        return np.append(np.arange(stride, total, stride), total)
    rows = np.unique(np.append(np.asarray(at, dtype=np.int64), total))
    if rows[0] < 1 or rows[-1] > total:
        raise ValueError(f"at must be numbers of rows between 1 and {total}, got {rows[0]} to {rows[-1]}")
    return rows


def _run_online(
    model: OnlineClassifier | AutoClassifier,
    X: Any,
    y: np.ndarray,
    known: np.ndarray | None,
    order: np.ndarray,
    rows: np.ndarray,
    n: int,
) -> tuple[dict[str, list[float]], OnlineClassifier | AutoClassifier, MixtureCurve | None]:
    """Run the compiled learner from point to point. The first row creates it and has the loss of a uniform guess.

    One row does not show what the columns are, so a stack begins again, with members that the first rows choose.
    """
    model.partial_fit(X[order[:1]], y[order[:1]], classes=known)
    learner: Learner | Stack = model.learner_
    done, cost = 1, np.zeros(1)
    cost[0] = y.shape[1] * log(2) if known is None else log(len(known))
    if isinstance(model, AutoClassifier):
        learner = model.learner_ = model._fresh_learner(X, learner.n_classes, multilabel=known is None)
        learner.prepare(as_matrix(X[order[: learner.rows_to_prepare]], learner.dtype))
        done, cost[0] = 0, 0.0
    labels, start = labels_of_rows(y) if known is None else (class_numbers(y, model.classes_), None)
    weights = class_weights(model.class_weight, model.classes_, y, known is None)
    matrix, values = as_matrix(X, learner.dtype), model._values(X)
    curves: dict[str, list[float]] = {name: [] for name in COUNTS}
    points = []
    for row in rows:
        for first, last in _within_passes(done, int(row), n):
            part = np.ascontiguousarray(order[first:last], dtype=np.int64)
            calibrate = first < n and model.calibration is not None
            learner.learn(
                matrix, labels, start, class_weight=weights, order=part, calibrate=calibrate, log_loss=cost,
                values=values,
            )  # fmt: skip
        done = max(done, int(row))
        found = learner.mistakes, learner.updates, cost[0] if row <= n else np.nan
        for name, value in zip(COUNTS, found, strict=True):
            curves[name].append(float(value))
        points.append(mixture_of(learner))
    return curves, model, _mixture_curve(rows, points, learner)


def _mixture_curve(
    rows: np.ndarray, points: list[MixturePoint | None], learner: Learner | Stack
) -> MixtureCurve | None:
    """Return the curve of mixtures at points; ``None`` if the learner has none."""
    known = [point for point in points if point is not None]
    if not known or not isinstance(learner, Stack) or learner.moves is None:
        return None
    forget = {name: f for point in known for name, f in point.forget.items()}
    weights = [[point.weights.get(name, 0.0) for name in forget] for point in known]
    return MixtureCurve(
        rows, WINDOW_ROWS, np.array([point.shares for point in known]), list(forget), np.array(list(forget.values())),
        np.array(weights), learner.moves.spans(),
    )  # fmt: skip


def _within_passes(first: int, last: int, n: int) -> list[tuple[int, int]]:
    """Return rows first to last - 1 as ranges that end where the first pass ends."""
    return [(a, b) for a, b in ((first, min(last, n)), (max(first, n), last)) if a < b]


def _run_counting(
    model: Any, X: Any, y: np.ndarray, known: np.ndarray, order: np.ndarray, rows: np.ndarray, n: int
) -> tuple[dict[str, list[float]], Any, None]:
    """Run a learner that counts its mistakes itself."""
    curves: dict[str, list[float]] = {name: [] for name in COUNTS}
    done = 0
    for row in rows:
        model.partial_fit(X[order[done:row]], y[order[done:row]], classes=known)
        done = row
        for name, value in zip(COUNTS, (model.mistakes_, model.updates_, np.nan), strict=True):
            curves[name].append(float(value))
    return curves, model, None


def _run_any(
    model: Any, X: Any, y: np.ndarray, known: np.ndarray, order: np.ndarray, rows: np.ndarray, n: int
) -> tuple[dict[str, list[float]], Any, None]:
    """Run any classifier with partial_fit, row by row; the first row, before any training, counts as wrong."""
    wrong = np.ones(len(order))
    for k, i in enumerate(order):
        x, label = X[i : i + 1], y[i : i + 1]
        if k:
            wrong[k] = np.any(model.predict(x) != label)
        model.partial_fit(x, label, classes=known)
    mistakes = wrong.cumsum()[rows - 1]
    nothing = [np.nan] * len(rows)
    return {"mistakes": mistakes.tolist(), "updates": nothing, "log_loss": nothing}, model, None


def _over_stream(
    model: OnlineClassifier | AutoClassifier, stream: Stream, classes: Any, at: int | Sequence[int] | None
) -> ProgressiveCurve:
    """Run once over a stream of batches, which are cut where a point is due."""
    table = ClassTable([] if classes is None else list(classes), stream.multilabel, closed=classes is not None)
    learner = clone(model)._new_learner(0, len(table), stream.multilabel, model._default_view(stream))
    check_values_kept(learner.view, stream.reading)
    learning = StreamLearner(learner, table, model.multiclass, reading=stream.reading)
    due_after = partial(_due_after, ROWS_PER_POINT if at is None else at)
    points, mixtures, seen, due = [], list[MixturePoint | None](), 0, due_after(0)
    for part in learning.learn(stream, divide=lambda batches: cut_at(batches, 0, due_after)):
        seen += len(part)
        if seen == due:
            points.append(_point(seen, learning))
            mixtures.append(mixture_of(learning.learner))
            due = due_after(seen)
    if seen and (not points or points[-1][0] < seen):
        points.append(_point(seen, learning))
        mixtures.append(mixture_of(learning.learner))
    rows, mistakes, updates, log_loss = np.array(points, dtype=np.float64).reshape(-1, 4).T
    mixture = _mixture_curve(rows.astype(np.int64), mixtures, learning.learner)
    return ProgressiveCurve(
        rows.astype(np.int64), mistakes[None], updates[None], log_loss[None], [learning.learner],
        None if mixture is None else [mixture],
    )  # fmt: skip


def _point(seen: int, learning: StreamLearner) -> tuple[float, ...]:
    return seen, learning.learner.mistakes, learning.learner.updates, learning.log_loss[0]


def _due_after(at: int | Sequence[int], seen: int) -> int:
    """Return the number of rows at which the next point is due after so many."""
    if not isinstance(at, int | np.integer):
        return min((int(row) for row in at if int(row) > seen), default=maxsize)
    if at < 1:
        raise ValueError(f"at must be a number of rows >= 1, got {at!r}")
    return (seen // int(at) + 1) * int(at)
