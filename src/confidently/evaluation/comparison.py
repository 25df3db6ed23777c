"""Many rules side by side on one reading of a stream: every batch is given to every learner.

Each learner is alone with its state, so that the results are those of training each rule by itself, whatever the
number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product, repeat
from typing import Any

from ..data import Batch, DataError, Stream
from ..data.advice import in_any_order
from ..data.classes import ClassTable, Name
from ..data.sources.background import processors
from ..learner.learner import Learner
from ..learner.streams import StreamLearner
from ..rules import RULES, make_rule
from ..rules.rule import Rule

# What ``grid`` tries beside each rule's defaults: every combination of a rule's values. The defaults are among them.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "perceptron": {},
    "pa": {},
    "pa1": {"C": (0.01, 0.1, 1.0, 10.0)},
    "pa2": {"C": (0.01, 0.1, 1.0, 10.0)},
    "sop": {},
    "cw_stdev": {"eta": (0.6, 0.8, 0.95, 0.99)},
    "cw_var": {"eta": (0.6, 0.8, 0.95, 0.99)},
    "arow": {"r": (0.01, 0.1, 1.0, 10.0)},
    "scw1": {"eta": (0.75, 0.9, 0.99), "C": (0.1, 1.0, 10.0)},
    "scw2": {"eta": (0.75, 0.9, 0.99), "C": (0.1, 1.0, 10.0)},
    "nherd": {"C": (0.01, 0.1, 1.0, 10.0)},
    "cellip": {"gamma": (0.01, 0.1, 1.0), "a": (0.5, 1.0)},
    "iellip": {"gamma": (0.01, 0.1, 1.0), "c": (0.01, 0.1, 0.5)},
    "bayespa": {"c": (0.005, 0.05, 0.5, 5.0)},
    "gibbs_pa": {"c": (0.08, 0.8, 8.0, 80.0)},
    "gibbs_pa_exact": {"c": (0.08, 0.8, 8.0, 80.0)},
    "probit": {"noise": (0.01, 0.1, 1.0, 10.0)},
}
FIRST_POINT = 50  # rows between the first points of a learning curve;
NEXT_POINT = 20  # later points are this share, one in so many, of the rows seen apart


@dataclass(frozen=True)
class Trial:
    """How one learner fared.

    Attributes
    ----------
    rule : Rule
    default : bool
        Whether the rule's parameters are those it has by default, or those it was given.
    rows, mistakes, updates : int
        Rows seen; rows predicted wrongly before they were learned; times the Gaussian was moved.
    infeasible : int
        Examples that no classifier could satisfy (classical ellipsoid method).
    log_loss : float
        Mean over the rows of -log of the calibrated probability that the row's label had before it was learned; for
        sets of labels the sum over all labels known so far.
    seconds : float
        Seconds of computing spent in learning: reading is not counted, nor is waiting for a processor.
    curve : list of (int, float)
        Progressive error after so many rows.
    learner : Learner
        What was learned.
    """

    rule: Rule
    default: bool
    rows: int
    mistakes: int
    updates: int
    infeasible: int
    log_loss: float
    seconds: float
    curve: list[tuple[int, float]]
    learner: Learner

    @property
    def error(self) -> float:
        """Progressive error: mistakes/rows."""
        return self.mistakes / self.rows

    @property
    def parameters(self) -> dict[str, float]:
        """The rule's parameters, those that are set."""
        return {name: value for name, value in self.rule.get_params().items() if value is not None}


@dataclass(frozen=True)
class Comparison:
    """How all fared: trials by progressive error, the best first, and the names of the classes."""

    trials: list[Trial]
    classes: list[Name | None]

    def best_by_rule(self) -> list[Trial]:
        """The best trial of every rule, the best first."""
        found: dict[str, Trial] = {}
        for trial in self.trials:
            found.setdefault(trial.rule.name, trial)
        return list(found.values())

    def default_of(self, name: str) -> Trial:
        """The trial of a rule with the parameters it was given."""
        return next(trial for trial in self.trials if trial.rule.name == name and trial.default)


def compare(
    stream: Stream,
    rules: Sequence[str | Rule] | None = None,
    *,
    grid: bool = False,
    multiclass: str = "joint",
    classes: Sequence[Name] = (),
    threads: int | None = None,
    progress: Callable[[Batch, Contender], None] | None = None,
    **settings: Any,
) -> Comparison:
    """Learn one stream with many rules at the same time.

    Parameters
    ----------
    stream : Stream
        Of :func:`confidently.data.open_stream`; it is read once.
    rules : sequence of str or Rule, optional
        By default all of ``confidently.RULES``.
    grid : bool
        Try every combination of the parameter values in ``GRIDS`` as well. The best of a grid was
        chosen by the very error it is shown with, which flatters it a little.
    multiclass : {"joint", "one-vs-rest"}
        How three or more classes are learned.
    classes : sequence of int or str
        All classes there are, in their order, if known beforehand.
    threads : int, optional
        Learners that work at the same time; by default as many as there are processors. Changes no result.
    progress : callable, optional
        Called with each batch when all have learned it, and the learner with the fewest mistakes so far.
    **settings
        Of every learner: ``covariance``, ``prior_variance``, ...

    Returns
    -------
    Comparison

    Raises
    ------
    DataError
        As the stream does.
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
    contenders = [
        Contender(rule, default, ClassTable(classes, stream.multilabel, closed=bool(classes)), multiclass, settings)
        for rule, default in contending_rules(rules, grid)
    ]
    with ThreadPoolExecutor(threads or processors(), thread_name_prefix="confidently-learner") as pool:
        for batch, parts in _cut_at_points(in_any_order(stream)):
            list(pool.map(Contender.learn, contenders, repeat(parts)))  # a list, so that errors are raised here
            if progress is not None:
                progress(batch, min(contenders, key=Contender.order))
    if contenders[0].rows == 0:
        raise DataError("there are no rows to learn from: all were passed over")
    contenders.sort(key=Contender.order)
    return Comparison([contender.trial() for contender in contenders], contenders[0].stream_learner.classes.names)


def contending_rules(rules: Sequence[str | Rule] | None, grid: bool) -> list[tuple[Rule, bool]]:
    """The rules with all parameters to be tried, each once, and whether these are the given ones.

    Examples
    --------
    >>> [(str(rule), default) for rule, default in contending_rules(["arow"], grid=True)]
    [('AROW(r=0.1)', True), ('AROW(r=0.01)', False), ('AROW(r=1.0)', False), ('AROW(r=10.0)', False)]
    """
    found: dict[Rule, bool] = {}
    for rule in map(make_rule, RULES if rules is None else rules):
        found[rule] = True
        values = GRIDS[rule.name] if grid else {}
        for combination in product(*values.values()) if values else ():
            found.setdefault(rule.with_params(**dict(zip(values, combination, strict=True))), False)
    return list(found.items())


class Contender:
    """A learner that is handed a stream piece by piece, and keeps account of how it fares."""

    def __init__(
        self, rule: Rule, default: bool, classes: ClassTable, multiclass: str, settings: dict[str, Any]
    ) -> None:
        self.rule, self.default = rule, default
        task = "multilabel" if classes.multilabel else multiclass if len(classes) > 2 else "binary"
        learner = Learner(rule, task=task, n_classes=len(classes), **settings)
        self.stream_learner = StreamLearner(learner, classes, multiclass)
        self.rows, self.seconds = 0, 0.0
        self.curve: list[tuple[int, float]] = []
        self._steps = self.stream_learner.learn(self._given())

    def _given(self) -> Iterator[Batch]:
        while True:
            yield self._batch

    def learn(self, parts: Sequence[Batch]) -> None:
        """Learn the next rows; each part but the last ends where the learning curve has a point."""
        began = time.thread_time()
        for part in parts:
            self._batch = part
            next(self._steps)
            self.rows += len(part)
            if part is not parts[-1]:
                self._mark()
        self.seconds += time.thread_time() - began

    @property
    def learner(self) -> Learner:
        return self.stream_learner.learner

    @property
    def log_loss(self) -> float:
        """The log-loss of all rows together."""
        return float(self.stream_learner.log_loss[0])

    def order(self) -> tuple[int, float]:
        """By this the best come first."""
        return self.learner.mistakes, self.log_loss

    def _mark(self) -> None:
        self.curve.append((self.rows, self.learner.mistakes / self.rows))

    def trial(self) -> Trial:
        """The account."""
        if not self.curve or self.curve[-1][0] < self.rows:
            self._mark()
        learner = self.learner
        return Trial(
            self.rule, self.default, self.rows, learner.mistakes, learner.updates, learner.infeasible,
            self.log_loss / self.rows, self.seconds, self.curve, learner,
        )  # fmt: skip


def _cut_at_points(stream: Iterable[Batch]) -> Iterator[tuple[Batch, list[Batch]]]:
    """Batches, and their rows in parts that end where learning curves have points; what is left over is the last.

    Where points lie depends on nothing but the count of rows.
    """
    rows, due = 0, FIRST_POINT
    for batch in stream:
        parts, first = [], 0
        while rows + len(batch) >= due:
            parts.append(batch.rows(first, due - rows))
            first = due - rows
            due += max(FIRST_POINT, due // NEXT_POINT)
        parts.append(batch.rows(first, len(batch)))
        rows += len(batch)
        yield batch, parts
