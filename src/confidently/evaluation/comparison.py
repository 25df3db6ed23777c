"""Comparing many rules, and a stack, in one pass over a stream: every learner trains on every batch.

Learners share no state, so the results are those of training each rule separately, for any number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..arrays import row_numbers, row_starts
from ..data import Batch, DataError, Stream
from ..data.advice import warn_if_sorted
from ..data.class_order import sorted_numbers
from ..data.classes import ClassTable, Name
from ..data.column_advice import warn_of_batch_columns
from ..data.reading import ReaderOptions
from ..data.selection import cut_at, first_together
from ..data.sources.background import processors
from ..estimators.streams import check_values_kept
from ..learner.learner import Learner
from ..learner.recipe import Recipe
from ..learner.streams import StreamLearner
from ..rules import RULES, make_rule
from ..rules.rule import Rule
from ..stack.choice import new_stack
from ..stack.stack import Stack
from ..stack.threads import members_in_turn
from ..views.table import make_view
from ..views.view import View

AUTO = "auto"  # what the stack is called
MIN_SPACING = 50  # rows between the first points of a learning curve
SPACING_DIVISOR = 20  # later points lie (rows seen)/20 rows apart


@dataclass(frozen=True)
class Trial:
    """Results of one learner.

    Attributes
    ----------
    rule : Rule or None
        None for the stack.
    default : bool
        Whether the rule's parameters are the defaults or those passed, not from its grid.
    rows, mistakes, updates : int
        Rows seen; rows predicted wrongly before they were trained on; updates of the Gaussian.
    infeasible : int
        Examples that no classifier could satisfy (classical ellipsoid method).
    log_loss : float
        Mean over the rows of -log of the calibrated probability of the row's label before it was trained on; in
        multilabel data the sum over all labels known so far.
    seconds : float
        Computing time of training, without reading and without waiting for a processor.
    curve : list of (int, float)
        Progressive validation error after so many rows.
    learner : Learner or Stack
        The trained learner.
    """

    rule: Rule | None
    default: bool
    rows: int
    mistakes: int
    updates: int
    infeasible: int
    log_loss: float
    seconds: float
    curve: list[tuple[int, float]]
    learner: Learner | Stack

    @property
    def name(self) -> str:
        """The name of the rule; ``"auto"`` for the stack."""
        return name_of(self.rule)

    @property
    def error(self) -> float:
        """Progressive validation error: mistakes/rows."""
        return self.mistakes / self.rows

    @property
    def parameters(self) -> dict[str, float]:
        """The rule's parameters that are set."""
        return set_parameters(self.rule)


@dataclass(frozen=True)
class Comparison:
    """Results of all learners: trials by progressive validation error, the best first, and the classes, sorted."""

    trials: list[Trial]
    classes: list[Name | None]

    def best_by_rule(self) -> list[Trial]:
        """Return the best trial of every rule, and that of the stack, the best first."""
        found: dict[str, Trial] = {}
        for trial in self.trials:
            found.setdefault(trial.name, trial)
        return list(found.values())

    def best_rule(self) -> Trial:
        """Return the best trial of all rules."""
        return next(trial for trial in self.trials if trial.rule is not None)

    def default_of(self, name: str) -> Trial:
        """Return the trial of a rule with its default parameters, or those passed; ``"auto"`` names the stack's."""
        return next(trial for trial in self.trials if trial.name == name and trial.default)


def compare(
    stream: Stream,
    rules: Sequence[str | Rule] | None = None,
    *,
    auto: bool = False,
    grid: bool = False,
    multiclass: str | None = None,
    classes: Sequence[Name] = (),
    view: str | View | Sequence[str | View] | None = None,
    reading: ReaderOptions | None = None,
    threads: int | None = None,
    progress: Callable[[Batch, Contender], None] | None = None,
    **settings: Any,
) -> Comparison:
    """Train many rules on one stream at the same time.

    Parameters
    ----------
    stream : Stream
        Of :func:`confidently.data.open_stream`; it is read once.
    rules : sequence of str or Rule, optional
        By default all of ``confidently.RULES``.
    auto : bool
        Also train the stack of :class:`confidently.AutoClassifier`. Its members have settings and views of their own,
        and scale rows themselves: open the stream with ``normalize="none"`` and, if columns have names, ``zeros=True``.
    grid : bool
        Also try every combination of the values in each rule's :meth:`~confidently.Rule.grid`. The best of
        a grid is selected by the error that is reported for it, which makes this error slightly optimistic.
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        How three or more classes are learned; by default as each rule does, and ``covariance="full"`` is "shared".
    classes : sequence of int or str
        All classes in their order, if they are known beforehand.
    view : str, View or list of these, optional
        What every rule's learner sees of a row, as in :class:`confidently.OnlineClassifier`; by default the row.
    reading : ReaderOptions, optional
        How the rules' learners would read the rows, if the stream has read them as they are for the stack.
    threads : int, optional
        Learners that train at the same time; by default one per processor. Does not change the results.
    progress : callable, optional
        Called after each batch with the batch and the learner with the fewest mistakes so far.
    **settings
        Settings of every rule's learner: ``covariance``, ``prior_variance``, ...; ``dtype`` is also the stack's.

    Returns
    -------
    Comparison

    Raises
    ------
    DataError
        If the stream raises it.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> import tempfile
    >>> from confidently.data import open_stream
    >>> with tempfile.NamedTemporaryFile("w", suffix=".svm") as file:
    ...     _ = file.write("+1 1:1\\n-1 2:1\\n" * 100)
    ...     file.flush()
    ...     with open_stream(file.name) as stream:
    ...         found = compare(stream, ["pa", "arow"])
    >>> [(trial.rule.name, trial.mistakes) for trial in found.trials]
    [('arow', 2), ('pa', 2)]
    """
    seen_as, view = stream.reading if reading is None else reading, make_view(view)
    check_values_kept(view, seen_as)

    def table() -> ClassTable:
        return ClassTable(classes, stream.multilabel, closed=bool(classes))

    contenders = [
        Contender(rule, default, Recipe.of(rule, view, multiclass, **settings).stream_learner(table(), reading=seen_as))
        for rule, default in contending_rules(rules, grid)
    ]
    if auto:
        classes_of_stack = table()
        dtype = settings.get("dtype", "float64")
        stack = new_stack(len(classes_of_stack), dtype=dtype, multilabel=stream.multilabel)
        stack.shuffled = stream.is_shuffled
        contenders.append(Contender(None, True, StreamLearner(stack, classes_of_stack, reading=stream.reading)))
    with ThreadPoolExecutor(threads or processors(), thread_name_prefix="confidently-learner") as pool:
        viewed = contenders[0].learner.wants_columns
        advised = warn_of_batch_columns(warn_if_sorted(stream), seen_as, viewed)
        for batch in first_together(advised, contenders[-1].learner.rows_to_prepare):
            seen = batch if reading is None else as_read(batch, reading)
            each = [batch if contender.rule is None else seen for contender in contenders]
            list(pool.map(Contender.learn, contenders, each))  # a list, so that errors are raised here
            if progress is not None:
                progress(batch, min(contenders, key=Contender.order))
    if contenders[0].rows == 0:
        raise DataError("there are no rows to train on: all were skipped")
    found = contenders[0].stream_learner.classes
    found.check()
    contenders.sort(key=Contender.order)
    names = [found.names[k] for k in sorted_numbers(found.names)]
    return Comparison([contender.trial() for contender in contenders], names)


def name_of(rule: Rule | None) -> str:
    """Return the name of a rule, or of the stack."""
    return AUTO if rule is None else rule.name


def set_parameters(rule: Rule | None) -> dict[str, float]:
    """Return a rule's parameters that are set; a stack has none."""
    parameters = {} if rule is None else rule.get_params()
    return {name: value for name, value in parameters.items() if value is not None}


def contending_rules(rules: Sequence[str | Rule] | None, grid: bool) -> list[tuple[Rule, bool]]:
    """Return the rules with all parameters to try, each once, and whether these are the ones passed.

    Examples
    --------
    >>> [(str(rule), default) for rule, default in contending_rules(["arow"], grid=True)]
    [('AROW(r=0.1)', True), ('AROW(r=0.01)', False), ('AROW(r=1.0)', False), ('AROW(r=10.0)', False)]
    """
    found: dict[Rule, bool] = {}
    for rule in map(make_rule, RULES if rules is None else rules):
        found[rule] = True
        values = rule.grid() if grid else {}
        for combination in product(*values.values()) if values else ():
            found.setdefault(rule.with_params(**dict(zip(values, combination, strict=True))), False)
    return list(found.items())


class Contender:
    """A learner that trains on a stream part by part and records its results."""

    def __init__(self, rule: Rule | None, default: bool, stream_learner: StreamLearner) -> None:
        self.rule, self.default, self.stream_learner = rule, default, stream_learner
        self.rows, self.seconds = 0, 0.0
        self.curve: list[tuple[int, float]] = []
        self._due = MIN_SPACING  # rows up to the next point
        self._steps = stream_learner.learn(self._batches(), advise=False, divide=self._divided, gather=False)

    def _batches(self) -> Iterator[Batch]:
        while True:
            yield self._batch

    def _divided(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the same rows in parts that end where the curve has a point; only the count of rows decides where."""
        return cut_at(batches, 0, lambda rows: self._due)

    def learn(self, batch: Batch) -> None:
        """Train on the next rows, in this thread only: other learners use the other processors."""
        began, end = time.thread_time(), self.rows + len(batch)
        self._batch = batch
        with members_in_turn():
            while self.rows < end:
                self.rows += len(next(self._steps))
                if self.rows == self._due:
                    self._add_point()
                    self._due += max(MIN_SPACING, self._due // SPACING_DIVISOR)
        self.seconds += time.thread_time() - began

    @property
    def learner(self) -> Learner | Stack:
        return self.stream_learner.learner

    @property
    def name(self) -> str:
        """The name of the rule; ``"auto"`` for the stack."""
        return name_of(self.rule)

    @property
    def parameters(self) -> dict[str, float]:
        """The rule's parameters that are set."""
        return set_parameters(self.rule)

    @property
    def log_loss(self) -> float:
        """Sum of the log-loss over all rows."""
        return float(self.stream_learner.log_loss[0])

    def order(self) -> tuple[int, float]:
        """Return the key by which the best learner sorts first."""
        return self.learner.mistakes, self.log_loss

    def _add_point(self) -> None:
        self.curve.append((self.rows, self.learner.mistakes / self.rows))

    def trial(self) -> Trial:
        """Return the results."""
        if not self.curve or self.curve[-1][0] < self.rows:
            self._add_point()
        learner = self.learner
        return Trial(
            self.rule, self.default, self.rows, learner.mistakes, learner.updates, learner.infeasible,
            self.log_loss / self.rows, self.seconds, self.curve, learner,
        )  # fmt: skip


def as_read(batch: Batch, reading: ReaderOptions) -> Batch:
    """Return what ``reading`` makes of rows that were neither scaled nor had their zeros dropped.

    Columns of numbers that were only 0 so far have a number, so others may have larger ones than by ``reading``.

    Parameters
    ----------
    batch : Batch
        Read with ``normalize="none"`` and, if columns have names, ``zeros=True``.
    reading : ReaderOptions
    """
    values, columns, start = batch.values, batch.columns, batch.start
    if reading.file_format.columns and not reading.zeros and not values.all():
        kept = values != 0.0
        values, columns, start = values[kept], columns[kept], row_starts(kept)[start]
    if reading.normalize == "l2":
        row = row_numbers(start)
        length = np.sqrt(np.bincount(row, values.astype(np.float64) ** 2, minlength=len(batch)))  # summed in order
        length[length == 0.0] = 1.0
        values = values / length[row]
    return replace(batch, values=values, columns=columns, start=start)
