"""A served model of entities, such as users: a small model of each key around one that all rows teach.

Rows are learned one by one, since each is predicted before it is learned. So the model is, byte for byte, an
:class:`confidently.entities.EntityModels` that is given the same rows one at a time.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...data.batch import Batch
from ...entities import files, scores
from ...entities.inputs import checked_variances
from ...entities.keys import Key
from ...entities.models import VARIANCES
from ...entities.shared import Block, missing_columns, outputs_of, plain_rows, predictions
from ...entities.table import EntityTable
from ...estimators.archive import content_of
from ...estimators.classifier import OnlineClassifier
from ...learner.streams import StreamLearner
from ...models.explanation import Contribution, Explanation, NumberExplanation
from ...models.inspection import INTERCEPT, Naming
from ..problems import Problem
from .base import Judged
from .early import Early
from .guards import Guards
from .learning import Example, RowLearner, Taken
from .numbers import COVERAGE, NumberAnswer
from .predicted import AnyAnswer, Promises, answers_of
from .rows import key_of
from .served import ServedModel
from .settings import ModelSettings


class KeyedModel(ServedModel):
    """A model of entities that learns and answers; of one thread.

    Parameters
    ----------
    settings : ModelSettings
        With a ``key``.
    content : files.Saved, optional
        What was learned before; by default nothing.
    seq, saved
        As of :class:`ServedModel`.

    Attributes
    ----------
    table : EntityTable
    """

    merge_refusal: ClassVar[str | None] = "models of entities cannot be merged by servers yet; use merge_entities"
    suffix: ClassVar[str] = "ent"

    def __init__(
        self, settings: ModelSettings, content: files.Saved | None = None, seq: int = 0,
        saved: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._key, self._rows = str(settings.key), 0
        self._limits = settings.max_entities, settings.max_age
        self._variances, model = checked_variances(VARIANCES), None
        self._regression = settings.task == "numbers"
        if content is not None:
            header, model = content.header, content.shared.as_model()
            self._variances, self._regression = checked_variances(header.entity_variance), header.regression
            self._rows = header.rows
            drop = dict.fromkeys((*(model.source.get("drop") or ()), self._key))
            model.source = {**model.source, "drop": list(drop)}
        self.table = self._new_table()
        if content is not None:
            content.restore(self.table)
        super().__init__(settings, model, seq, saved)
        if content is None and not self._regression:  # as the file of an estimator has it
            self.estimator = OnlineClassifier()._saved_parameters() | self.estimator

    def _new_table(self) -> EntityTable:
        return EntityTable(self._variances, 1, self._regression, *self._limits)

    def _new_row_learner(self, stream: StreamLearner) -> RowLearner:
        self._learning = KeyedRowLearner(stream, self.guards, self._calibration, self.table, self._key, self._rows)
        return self._learning

    @property
    def entities(self) -> int:
        return len(self.table)

    # --- learning -----------------------------------------------------------------------------------------------------

    def _learn(self, examples: Sequence[Example]) -> None:
        for example in examples:
            super()._learn([example])

    def _begin_again(self, early: Early) -> None:
        self.table, self._rows = self._new_table(), 0
        super()._begin_again(early)

    @property
    def _asks_by_certainty(self) -> bool:
        return True  # probabilities of rows learned are known of the shared model only

    def _counts(self) -> list[float]:
        weight, second, first = self.table.losses.tolist()
        return [self._learning.rows, first, second, *([weight] if self.task.regression else [])]

    @property
    def is_settled(self) -> bool:
        names = self.stream.classes.names
        return super().is_settled and (self.task.regression or (len(names) > 1 and None not in names))

    @property
    def least_rows(self) -> int:
        return 1 if self.early is None else super().least_rows

    # --- answers ------------------------------------------------------------------------------------------------------

    def _answers(self, batch: Batch, lines: Sequence[bytes]) -> list[AnyAnswer]:
        found = self._scores(batch, lines)
        if self.task.regression or isinstance(found, scores.Expected):
            return [*self._number_answers(*scores.numbers(self.table, found))]
        center, spread = scores.margins(self.table, found)
        if self.table.outputs == 1:
            margin, variance = center[:, 0], spread[:, 0]
        else:
            margin, variance = _best_two(center, spread)
        probability = scores.probabilities(self.table, found)[:, : self.stream.learner.n_classes]
        return [*answers_of(self.stream, None, self.asking, margin, variance, probability)]

    def _scores(self, batch: Batch, lines: Sequence[bytes]) -> scores.Scores | scores.Expected:
        answering, keys = self._ready(), [self._learning.key(line) for line in lines]
        matrix = answering.matrix(batch)
        return scores.scores_of(self.table, answering.learner, self._calibration, matrix, keys, self._learning.rows)

    def _number_answers(self, mean: np.ndarray, variance: np.ndarray) -> Iterator[NumberAnswer]:
        limits = self._intervals(mean, variance, COVERAGE)
        parts = zip(mean.tolist(), limits, variance.tolist(), strict=True)
        found = [NumberAnswer(m, low_high, v, False) for m, low_high, v in parts]
        asked = self.asking.of_certainties(answer.certainty for answer in found).tolist()
        return (answer._replace(ask=ask) for answer, ask in zip(found, asked, strict=True))

    def _intervals(self, mean: np.ndarray, variance: np.ndarray, coverage: float) -> list[tuple[float, float] | None]:
        """Return intervals; ``None``: there are too few rows."""
        found = scores.intervals(self.table, mean, variance, coverage).tolist()
        return [(low, high) if math.isfinite(high - low) else None for low, high in found]

    def judged(self, examples: Sequence[Example]) -> Judged:
        answers, stated = self.answers([one.line for one in examples]), list[tuple[float, bool]]()
        for answer, one in zip(answers, examples, strict=True):
            if not isinstance(answer, NumberAnswer):
                stated += answer.judged(one.label)
        return Judged(stated, [])

    def check_promises(self, asked: Promises) -> None:
        wanted = {"set": asked.coverage is not None and not self.task.regression, "max_risk": asked.risk is not None}
        for name in (name for name, value in (wanted | {"novelty": asked.novelty}).items() if value):
            raise Problem("invalid-parameter", f"{name}: a model of entities cannot promise that; leave it out")

    def promises(self, answers: Sequence[AnyAnswer], asked: Promises) -> list[dict[str, Any]]:
        if asked.coverage is None:
            return [{} for _ in answers]
        of_numbers = [one if isinstance(one, NumberAnswer) and one.label is not None else None for one in answers]
        known = [(one.label, one.variance) for one in of_numbers if one is not None]
        mean, variance = np.array(known, np.float64).reshape(-1, 2).T
        limits = iter(self._intervals(mean, variance, asked.coverage))
        return [{"interval": None if one is None else next(limits)} for one in of_numbers]

    def explanation(self, line: bytes, about: Any = None) -> Explanation | NumberExplanation:
        """Explain a row: the shared model's contributions, and what the entity deviates by, in log-odds or numbers."""
        shared, batch = super().explanation(line, about), self._questions.batch([line])
        assert isinstance(shared, Explanation | NumberExplanation)
        found = self._scores(batch, [line])
        if self.table.exact:
            return self._exact_explanation(batch, line, *scores.numbers(self.table, found))
        own = self._deviations(line, shared)
        parts = sorted([*shared.contributions, *own], key=lambda one: -abs(one.mean))
        mean = shared.mean + sum(one.mean for one in own)
        variance = shared.variance + sum(one.variance for one in own)
        if isinstance(shared, NumberExplanation):
            value, spread = (float(one[0]) for one in scores.numbers(self.table, found))
            return NumberExplanation(value, math.sqrt(spread), value - mean, mean, variance, parts)
        [answer] = self.answers([line])
        assert not isinstance(answer, NumberAnswer)
        left = 1.0 - sum(answer.probability.values())  # of a class that no row had so far
        classes = [one | {"probability": answer.probability.get(str(one["name"]), left)} for one in shared.classes]
        return Explanation(answer.label, shared.supported, shared.rival, mean, variance, classes, parts)

    def _exact_explanation(
        self, batch: Batch, line: bytes, mean: np.ndarray, variance: np.ndarray
    ) -> NumberExplanation:
        """Explain a number by the posterior of all weights; values are those around the means of their columns."""
        key, naming, learner = self._learning.key(line), Naming(self.model()), self._ready().learner
        columns, values, missing = batch.columns, batch.values, missing_columns(learner)
        if learner.view is not None and missing is None:
            seen = learner.view.see(learner.state, batch.matrix, 0, 1)
            columns, values = seen.columns, seen.values
        added, parts = scores.added(self.table, key, columns, values, missing), list[Contribution]()
        for j, value in enumerate(added.value.tolist()):
            name = naming.seen(j - 1) if j else INTERCEPT
            both = [(name, added.shared[j], added.of_shared[j])]
            if key in self.table.slots:
                both.append((f"{self._key}={key}: {name}", added.own[j], added.of_own[j]))
            parts += [
                Contribution(label, value, float(weight), float(weight) * value, float(own), True)
                for label, weight, own in both
                if value
            ]
        parts.sort(key=lambda one: -abs(one.mean))
        total = sum(one.variance for one in parts)
        return NumberExplanation(
            float(mean[0]), math.sqrt(float(variance[0])), added.offset, float(mean[0]) - added.offset, total, parts
        )

    def _deviations(self, line: bytes, shared: Explanation | NumberExplanation) -> list[Contribution]:
        """Return what the features of the row add in the entity's own model."""
        key, naming = self._learning.key(line), Naming(self.model())
        if key not in self.table.slots:
            return []
        values = {INTERCEPT: 1.0} | {one.feature: one.value for one in shared.contributions}
        columns, mean, variance = scores.deviation(self.table, key)
        share = float(self.table.weights[1:].sum())
        mean, variance = (self._of_margin(part, shared, sign) for part, sign in ((mean, -1.0), (variance, 1.0)))
        found = []
        for column, m, v in zip(columns.tolist(), (share * mean).tolist(), (share * variance).tolist(), strict=True):
            name = naming.seen(column - 1) if column else INTERCEPT
            if (value := values.get(name)) is not None:
                label = f"{self._key}={key}: {name}"
                found.append(Contribution(label, value, m, m * value, v * value * value, True))
        return found

    def _of_margin(self, part: np.ndarray, shared: Explanation | NumberExplanation, sign: float) -> np.ndarray:
        """Return the column of weights of numbers, or what two columns give for the margin that is explained."""
        if isinstance(shared, NumberExplanation):
            return part[:, 0]
        number = {name: k for k, name in enumerate(self.stream.classes.names)}
        if self.table.outputs == 1:
            return part[:, 0] * (sign if number.get(shared.supported) == 0 else 1.0)
        return part[:, number[shared.supported]] + sign * part[:, number[shared.rival]]

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self._content({}))

    def writer(self, training: dict[str, Any]) -> Callable[[Path], None]:
        return partial(files.write, saved=self._content({"training": training}))

    def _content(self, more: dict[str, Any]) -> files.Saved:
        table = self.table
        header = {
            "rows": self._learning.rows, "outputs": table.outputs, "regression": table.regression, "key": self._key,
            "entity_variance": table.priors, "max_entities": table.max_entities, "max_age": table.max_age, **more,
        }  # fmt: skip
        return files.Saved(header, table.keys, table.state(), content_of(self.model()))


class KeyedRowLearner(RowLearner):
    """Teaches rows to a learner that all share and to the entities of their keys, one by one.

    Parameters
    ----------
    stream, guards
        As of :class:`RowLearner`.
    calibration : str or None
        Of the shared learner.
    table : EntityTable
    key : str
        The name of the key.
    rows : int
        Those learned before.

    Attributes
    ----------
    rows : int
        Those learned so far.
    """

    def __init__(
        self, stream: StreamLearner, guards: Guards, calibration: str | None, table: EntityTable, key: str, rows: int
    ) -> None:  # fmt: skip
        self._calibration, self._table, self._name, self.rows = calibration, table, key, rows
        self._key: Key = ""
        super().__init__(stream, guards, calibrate=calibration is not None)

    def _restart(self) -> None:
        self._labels: list[Any] = []
        super()._restart()

    def _divide(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self._predicted = predictions(self._stream.learner, batch.matrix, self._calibration)
            yield batch

    def learn(self, examples: Sequence[Example]) -> Taken:
        [example] = examples
        try:
            self._key = self.key(example.line)
        except ValueError as error:
            return Taken(0, error=error)
        return super().learn(examples)

    def key(self, line: bytes) -> Key:
        """Return the key of a row: a string, unless the model began with integers.

        Raises
        ------
        ValueError
            If there is none, or one of another type.
        """
        found = key_of(line, self._name)
        if not isinstance(next(iter(self._table.slots), ""), int):
            return str(found)
        if isinstance(found, int):
            return found
        raise ValueError(f"{self._name}: the keys of this model are integers, got {found!r}")

    def _learn_part(self, part: Batch) -> None:
        super()._learn_part(part)
        learner, table = self._stream.learner, self._table
        self._labels += [label.name for label in part.new_labels]
        labels, targets = None, part.targets
        if targets is None:
            names = [self._labels[number] for number in part.labels.tolist()]
            labels = np.array([self._stream.classes.number(name) for name in names], dtype=np.int32)
        else:
            targets = targets.reshape(len(part))
        seen = list(learner.seen_rows(part.matrix))
        table.grow(outputs_of(learner))
        plain = plain_rows(learner, part.matrix, seen)
        block = Block(slice(0, 1), self._predicted, seen, labels, targets, part.weights, [], plain)
        table.learn_block(block, [self._key], self.rows)
        self.rows += 1


def _best_two(center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the log-odds of the best class less those of the second."""
    rows, order = np.arange(len(center)), np.argsort(-center, axis=1, kind="stable")
    best, second = order[:, 0], order[:, 1]
    return center[rows, best] - center[rows, second], spread[rows, best] + spread[rows, second]
