"""Tasks that run on workers: training on a cell, and merging changes.

A task depends on its arguments only and returns what it learned. A task that runs again because a worker was lost
returns the same, and its rows count once. Errors in the data are returned too: the first one ends the training without
a stack trace in the worker's log.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..data import Batch, DataError, DataWarning, ReaderOptions, Stream, open_stream
from ..data.formats.files import Path
from ..data.memory.matrix import largest_value
from ..data.selection import first_together, joined, select_rows
from ..data.sources.file_range import FileRange
from ..data.stream import MAX_SKIPPED_SHOWN
from ..learner.learner import Learner
from ..learner.streams import StreamLearner
from ..models.model import Model
from ..stack.class_means import RARITIES
from ..stack.following import SHARE
from ..stack.label_stack import LABEL_COUNTS
from ..stack.members import ROWS, WEIGHTS, Members, parts_of
from ..stack.number_stack import PRODUCTS
from ..stack.stack import HESSIAN, OWN
from ..stack.threads import members_in_turn
from ..tasks.conformal import CONFORMAL
from ..tasks.novelty import VARIANCES
from .change import advanced, change_of, merge_changes, model_bytes
from .first_values import keep_first_values, rows_to_begin

Seed = tuple[int, ...]
Rows = tuple[Any, Any, Any]  # rows, their labels, their weights or None
# arrays of states that only a first pass changes
CALIBRATED = (
    "calibration", CONFORMAL, VARIANCES, RARITIES, WEIGHTS, SHARE, OWN, HESSIAN, PRODUCTS, ROWS, LABEL_COUNTS,
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """How every cell is read and trained on.

    Attributes
    ----------
    reading : ReaderOptions, optional
        For files.
    multilabel : bool
    on_error : "stop" or "skip"
    class_weight : dict, optional
    shuffle : bool
        Whether the rows of a cell are shuffled.
    """

    reading: ReaderOptions | None = None
    multilabel: bool = False
    on_error: str = "stop"
    class_weight: dict[Any, float] | str | None = None
    shuffle: bool = False

    def begun(self, model: Any) -> Any:
        """Return a model from which training begins: of a stack that follows what moves, as those of all cells do."""
        learner = getattr(model, "learner", None)
        if not isinstance(learner, Members) or learner.later is None:
            return model
        stack = copy(learner)
        stack.follow()
        return replace(model, learner=stack)

    def learn(self, base: Any, paths: Sequence[Path | FileRange], calibrate: bool, seed: Seed) -> Any:
        """Return what a copy of the base learns from a cell of files, or a :class:`Failure`."""
        return learn_files(base, paths, self, calibrate, seed)

    def merged(self, base: Any, changes: Sequence[Any]) -> Any:
        """Return the change that some changes are together; ``ValueError``: they cannot be merged."""
        return merge_changes(base, changes)

    def advanced(self, base: Any, change: Any) -> Any:
        """Return the base with a change applied."""
        return advanced(base, change)

    def counts(self, model: Any) -> Counts:
        """Return what a model has seen so far."""
        learner = model.learner
        return Counts(learner.n_seen, learner.mistakes, learner.updates, model_bytes(model))

    def race(self, model: Any, before: int) -> None:
        """Let a stack drop members after a round, ``before`` which it had seen so many rows."""
        if isinstance(model.learner, Members):
            model.learner.race(before)


class Counts(NamedTuple):
    """What a model has seen: rows, mistakes before training on them, and updates; and the bytes of its arrays."""

    rows: int
    mistakes: int
    updates: int
    n_bytes: int


@dataclass
class Learned:
    """What was learned from some cells: the change, as the job has it, and its summary.

    ``rows`` is the number of rows read and ``skipped`` that of invalid rows; ``log_loss`` is the sum over the rows
    before training on them; ``bytes_sent`` is the size of the changes of single cells.
    """

    change: Any
    rows: int = 0
    log_loss: float = 0.0
    bytes_sent: int = 0
    seconds: float = 0.0
    skipped: int = 0
    skipped_examples: list[str] = field(default_factory=list)


@dataclass
class Failure:
    """An error in the data."""

    error: Exception


def choose_by_files(model: Model, paths: Sequence[Path], job: Job) -> Any:
    """Return an untrained model with the features of the first rows of files, and what these rows decide: the members
    of a stack, and the first values of columns."""
    learning = copied(model, job.reading)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # as in learn_files
            with opened(paths, model, learning, job) as stream:
                rows = learning.prepare(first_together(stream, rows_to_begin(model.learner)), for_good=True)
    except (DataError, OSError, ValueError) as error:
        return Failure(error)
    if rows is not None:
        keep_first_values(learning.learner, rows.matrix)
    return replace(model, learner=learning.learner, features=learning.features)


def choose_by_rows(model: Model, heads: Sequence[Rows], estimator: Any) -> Any:
    """Return an untrained model with what these rows decide, as :func:`choose_by_files` does."""
    try:
        trained = _estimator(estimator, model)
        rows = trained._matrix(_joined([head[0] for head in heads]))
        numbers = [np.asarray(head[1], np.float64) for head in heads] if model.learner.task.regression else []
        targets = np.concatenate(numbers).reshape(rows.shape[0], -1) if numbers else None
        trained.learner_.prepare(rows, targets=targets, for_good=True)
        keep_first_values(trained.learner_, rows)
    except (ValueError, TypeError) as error:
        return Failure(error)
    return replace(model, learner=trained.learner_)


@members_in_turn()
def learn_files(base: Model, paths: Sequence[Path | FileRange], job: Job, calibrate: bool, seed: Seed) -> Any:
    """Train a copy of the base on the rows of some files or ranges of files."""
    began = time.monotonic()
    learning = copied(base, job.reading)
    _keep_members(learning.learner)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the survey of the files has reported them
            stream = opened(paths, base, learning, job)
            rows = 0
            with stream:
                for batch in learning.learn(_arranged(stream, job, seed), calibrate):
                    rows += len(batch)
    except (DataError, OSError, ValueError) as error:
        return Failure(error)
    learned = _learned(base, learning, rows, began)
    return replace(learned, skipped=stream.skipped, skipped_examples=stream.skipped_examples)


@members_in_turn()
def learn_rows(
    base: Model, blocks: Sequence[Rows], estimator: Any, job: Job, calibrate: bool, seed: Seed
) -> Learned | Failure:
    """Train a copy of the base on rows, as ``partial_fit`` does."""
    began = time.monotonic()
    X, y, weights = (_joined([block[k] for block in blocks]) for k in range(3))
    if job.shuffle:
        order = np.random.default_rng(seed).permutation(X.shape[0])
        X, y, weights = (None if one is None else _taken(one, order) for one in (X, y, weights))
    trained = _estimator(estimator, base)
    _keep_members(trained.learner_)
    if X.shape[0]:
        closed = {"classes": trained.classes_} if base.learner.task.one_class else {}  # other ones would differ by part
        try:
            trained.partial_fit(X, y, sample_weight=weights, **closed)
        except (ValueError, TypeError) as error:
            return Failure(error)
    if not calibrate:
        _restore_calibration(trained.learner_, base.learner)
    change = change_of(base, replace(base, learner=trained.learner_))
    return Learned(change, X.shape[0], bytes_sent=change.nbytes, seconds=time.monotonic() - began)


def merge_learned(base: Any, found: Sequence[Learned | Failure], job: Job) -> Any:
    """Merge what was learned from several cells."""
    learned: list[Learned] = []
    for one in found:
        if isinstance(one, Failure):
            return one
        learned.append(one)
    try:
        change = job.merged(base, [one.change for one in learned])
    except ValueError as error:
        return Failure(error)
    examples = [example for one in learned for example in one.skipped_examples]
    return Learned(
        change, sum(one.rows for one in learned), sum(one.log_loss for one in learned),
        sum(one.bytes_sent for one in learned), sum(one.seconds for one in learned),
        sum(one.skipped for one in learned),
        examples[:MAX_SKIPPED_SHOWN],
    )  # fmt: skip


def cut(block: Rows, first: int, last: int, size: int) -> Rows:
    """Return the rows of a block from ``first`` to ``last``, as fractions of ``size``."""
    n = block[0].shape[0]
    a, b = n * first // size, n * last // size
    return tuple(None if one is None else _taken(one, slice(a, b)) for one in block)  # type: ignore[return-value]


def count(block: Rows) -> int:
    """Return the number of rows of a block."""
    return int(block[0].shape[0])


def head(block: Rows, n: int) -> Rows:
    """Return the first n rows of a block, or all that there are."""
    return tuple(None if one is None else _taken(one, slice(0, n)) for one in block)  # type: ignore[return-value]


def distinct(y: Any) -> np.ndarray:
    """Return the classes of a block of labels."""
    return np.unique(np.asarray(y))


def _learned(base: Model, learning: StreamLearner, rows: int, began: float) -> Learned:
    model = replace(base, learner=learning.learner, classes=learning.classes.names, features=learning.features)
    change = change_of(base, model)
    return Learned(change, rows, float(learning.log_loss[0]), change.nbytes, time.monotonic() - began)


def opened(paths: Sequence[Path | FileRange], base: Model, learning: StreamLearner, job: Job, **more: Any) -> Stream:
    """Open the files of a cell, to continue training."""
    return open_stream(
        paths, job.reading, multilabel=job.multilabel, on_error=job.on_error, parsers=0,
        largest=largest_value(base.learner.dtype), features=learning.features, targets=base.learner.task.regression,
        classes=[str(name) for name in base.classes] if _skips_classes(base, job) else (), **more,
    )  # fmt: skip


def _estimator(estimator: Any, base: Model) -> Any:
    """Return an estimator with a copy of the base's learner, ready for rows."""
    from sklearn.base import clone  # here, since tasks on files need no scikit-learn and start faster without it

    return clone(estimator)._take_model(replace(base, learner=base.learner.apart()))


def _restore_calibration(learner: Any, base: Any) -> None:
    """Undo what rows that were seen before have changed in calibrations and in the weights of a stack's members."""
    for part, before in zip(parts_of(learner), parts_of(base), strict=True):
        kept = {name: before.state[name].copy() for name in CALIBRATED if name in before.state}
        if isinstance(part, Learner):
            kept["calibration"] = part.task.restored_calibration(part.state["calibration"], kept["calibration"])
        part.state |= kept


def _keep_members(learner: Any) -> None:
    """Let a stack drop no members: all rows of a round decide on them."""
    if isinstance(learner, Members):
        learner.dropped = None


def copied(base: Model, reading: ReaderOptions | None) -> StreamLearner:
    """Return a copy of the base's learner, ready for a stream."""
    features = None if base.features is None else base.features.copy()
    return replace(base, learner=base.learner.apart(), features=features).stream_learner(reading)


def _skips_classes(base: Model, job: Job) -> bool:
    return job.on_error != "stop" and not base.learner.task.regression and base.source.get("closed", False)


def _arranged(batches: Any, job: Job, seed: Seed) -> Any:
    """Return the batches in the order and with the weights for training."""
    if job.class_weight is not None:
        from ..estimators.streams import weighted  # here, as above

        batches = weighted(batches, job.class_weight)
    return _shuffled(list(batches), seed) if job.shuffle else batches


def _shuffled(batches: list[Batch], seed: Seed) -> list[Batch]:
    """Return one batch of all rows in random order; its first row declares all labels and features."""
    if not batches:
        return []
    whole = joined(batches)
    shuffled = select_rows(whole, np.random.default_rng(seed).permutation(len(whole)))
    shuffled.new_labels = [new._replace(row=0) for new in whole.new_labels]
    if whole.new_features is not None:
        shuffled.new_features = whole.new_features._replace(row=np.zeros_like(whole.new_features.row))
    shuffled.skipped, shuffled.skipped_examples = whole.skipped, whole.skipped_examples
    return [shuffled]


def _taken(rows: Any, which: Any) -> Any:
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def _joined(parts: Sequence[Any]) -> Any:
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)
