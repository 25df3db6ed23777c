"""What a served model says of a row: label, probabilities, margin, and whether to ask for the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...arrays import predicted_numbers
from ...data.class_order import sorted_numbers
from ...learner.streams import StreamLearner
from ...tasks.conformal import ConformalSets
from .asking import Asking
from .numbers import NumberAnswer
from .rows import label_names


class Answer(NamedTuple):
    """What a model says of a row.

    Attributes
    ----------
    label : int, str, list or None
        The class; multilabel: the labels; None before the first row.
    probability : dict
        By class, sorted.
    margin, variance : float
        Of the class sorted last against the other; of more classes, of the best against the second; of labels, of the
        least certain one.
    ask : bool
        Whether the prediction is among the least certain ones (:class:`confidently.serve.model.asking.Asking`).
    """

    label: Any
    probability: dict[str, float]
    margin: float
    variance: float
    ask: bool

    @property
    def certainty(self) -> float:
        """|m|/sqrt(v)."""
        return abs(self.margin) / self.variance**0.5 if self.variance > 0 else 0.0

    @classmethod
    def of(cls, note: bytes) -> AnyAnswer:
        """Return the answer that an event of a prediction keeps."""
        kept = msgspec.json.decode(note)
        kept.pop("decision", None)
        return cls(**kept) if "probability" in kept else NumberAnswer(**kept)

    def judged(self, label: bytes) -> list[tuple[float, bool]]:
        """Return the probability of what is predicted, and whether it is the label; of label sets, of every label."""
        names = label_names(label)
        if isinstance(self.label, list):
            return [(p, name in names) for name, p in self.probability.items()]
        name = str(self.label)
        return [(self.probability[name], names == [name])] if self.probability else []


AnyAnswer = Answer | NumberAnswer
NOTHING = Answer(None, {}, 0.0, 0.0, True)


class Promises(NamedTuple):
    """What is promised of predictions.

    Attributes
    ----------
    coverage : float, optional
        Of their sets.
    risk : float, optional
        Of those that are relied on.
    novelty : bool
        Whether they have p-values of rows as some of those learned.
    """

    coverage: float | None = None
    risk: float | None = None
    novelty: bool = False

    def of(self, answers: Sequence[Answer], names: Sequence[Any], learned: ConformalSets) -> list[dict[str, Any]]:
        """Return for each prediction its ``set``, of classes by name, and whether to ``abstain``, if asked for."""
        found: list[dict[str, Any]] = [{} for _ in answers]
        if self.coverage is not None and answers:
            shown = [str(name) for name in names]
            p = np.array([[answer.probability.get(name, 0.0) for name in shown] for answer in answers])
            inside, ranked = learned.sets(p, self.coverage, by_class=True), np.argsort(-p, axis=1, kind="stable")
            for own, order, one in zip(inside.tolist(), ranked.tolist(), found, strict=True):
                one["set"] = [names[k] for k in order if own[k] and names[k] is not None]
        if self.risk is not None:
            least = learned.least_probability(self.risk)
            for answer, one in zip(answers, found, strict=True):
                one["abstain"] = max(answer.probability.values(), default=0.0) < least
        return found


def answers_of(
    stream: StreamLearner, calibration: str | None, asking: Asking, margin: np.ndarray, variance: np.ndarray,
    probability: np.ndarray,
) -> list[Answer]:  # fmt: skip
    """Return what a model says of rows, given the margins, their variances and the probabilities of the classes."""
    task = stream.learner.task
    names = task.names(stream.classes.names)
    order = [k for k in sorted_numbers(names) if names[k] is not None]
    shown = [str(names[k]) for k in order]
    if task.multilabel:
        relevant = _decided(stream, calibration, margin, probability).tolist()
        labels: list[Any] = [[names[k] for k in order if row[k]] for row in relevant]
        certain = certainty(margin, variance)
        least = np.argmin(certain, axis=1) if certain.shape[1] else np.zeros(len(margin), dtype=int)
        rows = np.arange(len(margin))
        margin, variance = margin[rows, least], variance[rows, least]
    elif task.binary:
        labels = [names[k] for k in _decided(stream, calibration, margin, probability).tolist()]
        if None in names:
            labels = [next((name for name in names if name is not None), None)] * len(labels)
        elif order[0] == 1:  # class 0 is sorted last
            margin = -margin
    else:
        labels = [names[k] for k in predicted_numbers(probability).tolist()]
    if calibration is None or task.multilabel:
        asked = asking.of_certainties(certainty(margin, variance).tolist())
    else:
        asked = asking.of_probabilities(stream.learner.conformal, probability)
    return [
        Answer(label, dict(zip(shown, row, strict=True)), m, v, ask)
        for label, row, m, v, ask in zip(
            labels, probability[:, order].tolist(), margin.tolist(), variance.tolist(), asked.tolist(), strict=True
        )
    ]


def certainty(margin: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return by how many standard deviations margins differ from zero; 0 where nothing is known of the deviation."""
    return np.divide(np.abs(margin), np.sqrt(variance), out=np.zeros_like(margin), where=variance > 0.0)


def _decided(stream: StreamLearner, calibration: str | None, margin: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return the numbers of the predicted classes, or booleans for labels."""
    learner = stream.learner
    found: np.ndarray
    found = learner.decided(margin, probability if learner.decides_by_probability(calibration) else None)
    return found
