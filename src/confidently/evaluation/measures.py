"""Measures of a model's predictions of labeled batches, of ``evaluate`` and of validations."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import row_numbers
from ..data.class_order import sorted_numbers
from ..data.selection import in_parts
from ..learner.predictor import rows_at_once
from .abstention import COVERAGES, RiskCoverage, risk_coverage
from .metrics import (
    MIN_SCORED_PROBABILITY,
    AbstentionMetrics,
    ClassMetrics,
    GroupMetrics,
    LabelMetrics,
    RegressionMetrics,
    SetMetrics,
    area_under_curve,
)

if TYPE_CHECKING:
    from ..data import Batch
    from ..models.model import Model

COVERAGE = 0.9  # of the intervals of numbers that are measured


class Wanted(NamedTuple):
    """Measures that not every evaluation has; all but coverage need a model of one class per row.

    Attributes
    ----------
    abstain : float, optional
        Measure predictions of at least this probability.
    by_coverage : bool
        Measure the error by the fraction of rows that is predicted.
    coverage : float, optional
        The probability of sets of classes; of intervals of numbers, which are measured in any case.
    max_risk : float, optional
        Measure the answers of which at most this fraction is wrong.
    """

    abstain: float | None = None
    by_coverage: bool = False
    coverage: float | None = None
    by_class: bool = True
    max_risk: float | None = None
    by: str | None = None


def kept(model: Model, wanted: Wanted) -> tuple[str, ...]:
    """Return the columns whose values measures need: those by which they are grouped, and by which they cover."""
    groups = model.learner.groups if wanted.coverage is not None or model.learner.task.regression else None
    columns = [wanted.by, None if groups is None else str(groups.column)]
    return tuple(dict.fromkeys(column for column in columns if column is not None))


def evaluated(model: Model, batches: Iterable[Batch], wanted: Wanted) -> tuple[dict[str, Any], RiskCoverage | None]:
    """Return all measures, overall and by class, and the errors by coverage if they are wanted."""
    if model.learner.task.regression:
        groups = _groups(wanted)
        metrics = _number_metrics(model, batches, wanted.coverage or COVERAGE, groups, wanted.by)
        return metrics.result() | _group_result(wanted, groups), None
    if model.learner.task.multilabel:
        return _evaluate_labels(model, batches, wanted), None
    return _evaluate(model, batches, wanted)


def validated(model: Model, batches: Iterable[Batch]) -> dict[str, Any]:
    """Return rows and the task's measures of a model that is still being trained."""
    task = model.learner.task
    if task.multilabel:
        return _validate_labels(model, batches)
    if task.regression:
        result = _number_metrics(model, batches, COVERAGE).result()
    else:
        metrics = ClassMetrics(len(task.names(model.classes)))
        for batch in _answered(model, batches, Counter()):
            metrics.add(batch.truth, batch.predicted, batch.probabilities)
        result = metrics.result()
    return {name: result[name] for name in ("rows", *task.measures)}


def snapshot_of(model: Model) -> Model:
    """Return a model that may predict unseen features, while the other one stays as it is."""
    snapshot = copy.copy(model)
    snapshot.learner = copy.copy(model.learner)
    snapshot.learner.state = dict(model.learner.state)  # answering may add a feature; arrays are never written to
    return snapshot


def _number_metrics(
    model: Model, batches: Iterable[Batch], coverage: float, groups: GroupMetrics | None = None, by: str | None = None
) -> RegressionMetrics:
    metrics, learner, answering = RegressionMetrics(coverage), model.learner, model.predictor()
    calibrated = model.calibration is not None
    for batch in batches:
        assert batch.targets is not None
        found = learner.number_distribution(answering.matrix(batch))
        values = _values_of_groups(model, batch)
        mean, limits = found.mean[:, 0], learner.intervals(found, coverage, calibrated, values)[:, 0]
        metrics.add(batch.targets, mean, limits)
        if groups is not None:
            (low, high), error = limits.T, np.abs(batch.targets - mean)
            inside = (low <= batch.targets) & (batch.targets <= high)
            groups.add(_values(batch, by), {"mae": error, "coverage": inside, "mean_width": high - low})
    return metrics


def _evaluate(model: Model, batches: Iterable[Batch], wanted: Wanted) -> tuple[dict[str, Any], RiskCoverage | None]:
    metrics, sets, abstaining, groups = (
        ClassMetrics(len(model.classes)),
        _set_metrics(model, wanted),
        _abstaining(model, wanted),
        _groups(wanted),
    )
    binary, scores, truths, right, certain = model.learner.task.binary, [], [], [], []
    unknown: Counter[Any] = Counter()
    for batch, truth, score, predicted, probabilities in _answered(model, batches, unknown):
        metrics.add(truth, predicted, probabilities)
        probability = probabilities[np.arange(len(predicted)), predicted]
        if binary:
            scores.append(score[truth >= 0])
            truths.append(truth[truth >= 0] == 1)
        for one in abstaining.values():
            one.add(truth == predicted, probability)
        measured = {"error": truth != predicted}
        if sets is not None:
            known = truth[:, None] == np.arange(len(model.classes))
            found = _sets(model, batch, probabilities, wanted)
            sets.add(found, known, (truth < 0).astype(np.int64))
            measured |= _measured_sets(found, known)
        if groups is not None:
            groups.add(_values(batch, wanted.by), measured)
        if wanted.by_coverage:
            right.append(truth == predicted)
            certain.append(probability)
    result: dict[str, Any] = metrics.result()
    if binary:
        result["auc"] = area_under_curve(np.concatenate(scores), np.concatenate(truths))
    result |= {name: one.result() for name, one in abstaining.items()}
    if wanted.max_risk is not None:
        found = result["max_risk"]
        result["max_risk"] = {"risk": wanted.max_risk, **found}
        if found["probability"] > 1.0:  # infinite, which JSON has not
            result["max_risk"]["probability"] = None
    curve = None
    if wanted.by_coverage:
        correct = np.concatenate(right)
        curve = risk_coverage(np.ones_like(correct), correct, np.concatenate(certain))
        result["risk_coverage"] = [
            {"coverage": c, "error": curve.error_at(c), "probability": curve.threshold_at(c)} for c in COVERAGES
        ]
        result["risk_coverage_area"] = curve.area
    order = sorted_numbers(model.classes)
    listed: dict[str, Any] = {"unknown_classes": _by_rows(unknown), "classes": _by_class(model, metrics, sets)}
    if metrics.confusion is not None:
        listed["confusion"] = metrics.confusion[np.ix_(order, order)].tolist()
    return result | _set_result(sets) | _group_result(wanted, groups) | listed, curve


def _evaluate_labels(model: Model, batches: Iterable[Batch], wanted: Wanted) -> dict[str, Any]:
    metrics, names, sets = LabelMetrics(len(model.classes)), Counter[Any](), _set_metrics(model, wanted)
    groups = _groups(wanted)
    for answers in _answered(model, batches, names):
        relevant, unknown = _relevant_labels(answers, len(model.classes))
        metrics.add(relevant, unknown, answers.scores, answers.predicted)
        exact = (answers.predicted == relevant).all(axis=1) & (unknown == 0)
        measured = {"subset_accuracy": exact}
        if sets is not None:
            found = _sets(model, answers.batch, answers.probabilities, wanted)
            sets.add(found, relevant, unknown)
            measured |= _measured_sets(found, relevant)
        if groups is not None:
            groups.add(_values(answers.batch, wanted.by), measured, {"coverage": relevant.sum(axis=1) + unknown})
    listed = {"unknown_classes": _by_rows(names), "classes": _by_class(model, metrics, sets)}
    return metrics.result() | _set_result(sets) | _group_result(wanted, groups) | listed


def _set_metrics(model: Model, wanted: Wanted) -> SetMetrics | None:
    """Return the measures of sets, if they are wanted."""
    return None if wanted.coverage is None else SetMetrics(wanted.coverage, len(model.classes))


def _sets(model: Model, batch: Batch, probabilities: np.ndarray, wanted: Wanted) -> np.ndarray:
    values = _values_of_groups(model, batch)
    return model.learner.conformal.sets(probabilities, wanted.coverage, wanted.by_class, values)


def _values_of_groups(model: Model, batch: Batch) -> list[str] | None:
    """Return the values of a batch's rows by which sets or intervals cover, if there is such a column."""
    groups = model.learner.groups
    known = None if groups is None else batch.kept.get(str(groups.column))  # None: validation of what needs no values
    return None if known is None else list(known)


def _set_result(sets: SetMetrics | None) -> dict[str, Any]:
    return {} if sets is None else {"set": sets.result()}


def _measured_sets(sets: np.ndarray, true: np.ndarray) -> dict[str, np.ndarray]:
    """Return how many true classes or labels are in the set of each row, and its size."""
    return {"coverage": (sets & true).sum(axis=1), "mean_size": sets.sum(axis=1)}


def _groups(wanted: Wanted) -> GroupMetrics | None:
    """Return the measures by the value of a column, if they are wanted."""
    return None if wanted.by is None else GroupMetrics()


def _values(batch: Batch, column: str | None) -> list[str]:
    """Return the values of a batch's rows in the column by which measures are grouped."""
    return list(batch.kept[str(column)])


def _group_result(wanted: Wanted, groups: GroupMetrics | None) -> dict[str, Any]:
    return {} if groups is None else {"by": {"column": wanted.by, "groups": groups.result()}}


def _abstaining(model: Model, wanted: Wanted) -> dict[str, AbstentionMetrics]:
    """Return the measures of abstention that are wanted, by the name of their option."""
    found = {} if wanted.abstain is None else {"abstain": AbstentionMetrics(wanted.abstain)}
    if wanted.max_risk is not None:
        found["max_risk"] = AbstentionMetrics(model.learner.conformal.least_probability(wanted.max_risk))
    return found


def _validate_labels(model: Model, batches: Iterable[Batch]) -> dict[str, Any]:
    """Measures of predicted probabilities; the log-loss is a mean over labels too."""
    rows, wrong, loss = 0, 0, 0.0
    for answers in _answered(model, batches, Counter()):
        relevant, unknown = _relevant_labels(answers, len(model.classes))
        p = answers.probabilities
        given = np.maximum(np.where(relevant, p, 1.0 - p), MIN_SCORED_PROBABILITY)
        loss -= float(np.log(given).mean(axis=1).sum()) if relevant.shape[1] else 0.0
        wrong += int(((answers.predicted != relevant).any(axis=1) | (unknown > 0)).sum())
        rows += len(p)
    return {"rows": rows, "error": wrong / rows, "log_loss": loss / rows}


class Answers(NamedTuple):
    """The model's predictions for a batch and its class numbers of the labels, -1 for labels it does not know."""

    batch: Batch
    truth: np.ndarray
    scores: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray


def _answered(model: Model, batches: Iterable[Batch], unknown: Counter[Any]) -> Iterator[Answers]:
    """Yield a model's predictions for labeled data; count the labels that it does not know."""
    number = {name: k for k, name in enumerate(model.classes) if name is not None}
    names, number_of = list[Any](), np.empty(0, dtype=np.int64)
    answering, calibration = model.predictor(), model.calibration
    learner = answering.learner
    by_probability = learner.decides_by_probability(calibration)
    for batch in in_parts(batches, rows_at_once(len(model.classes))):
        names += [new.name for new in batch.new_labels]
        number_of = np.append(number_of, [number.get(new.name, -1) for new in batch.new_labels]).astype(np.int64)
        numbers = number_of[batch.labels]
        label, rows = np.unique(batch.labels[numbers < 0], return_counts=True)
        unknown.update(dict(zip([names[k] for k in label.tolist()], rows.tolist(), strict=True)))
        scores, probabilities = learner.decision_and_probabilities(answering.matrix(batch), calibration)
        decided = learner.decided(scores, probabilities if by_probability else None)
        yield Answers(batch, numbers, scores, decided, probabilities)


def _relevant_labels(answers: Answers, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows' labels as booleans (rows, labels), and the number of unknown labels of each row."""
    batch, label = answers.batch, answers.truth
    assert batch.label_start is not None  # the rows are multilabel
    row = row_numbers(batch.label_start)
    relevant = np.zeros((len(batch), n_labels), dtype=bool)
    relevant[row[label >= 0], label[label >= 0]] = True
    return relevant, np.bincount(row[label < 0], minlength=len(batch))


def _by_rows(unknown: Counter[Any]) -> list[dict[str, Any]]:
    """Return the unknown classes with their numbers of rows, most rows first."""
    return [{"name": name, "rows": rows} for name, rows in unknown.most_common()]


def _by_class(model: Model, metrics: ClassMetrics | LabelMetrics, sets: SetMetrics | None) -> list[dict[str, Any]]:
    measured = metrics.by_class()
    of_sets: list[dict[str, Any]] = [{}] * len(measured) if sets is None else sets.by_class()
    return [{"name": model.classes[k], **measured[k], **of_sets[k]} for k in sorted_numbers(model.classes)]
