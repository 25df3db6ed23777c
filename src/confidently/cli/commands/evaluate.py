"""``confidently evaluate``: how right a model is about a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..common import (
    class_names,
    data_argument,
    json_option,
    load_model,
    model_argument,
    open_for,
    percent,
    reported,
    table,
)

if TYPE_CHECKING:
    import numpy as np

    from ...data import Batch
    from ...evaluation.metrics import ClassMetrics, LabelMetrics
    from ...models.model import Model

MAX_CLASSES_SHOWN = 30  # in the table of classes
MAX_CLASSES_CROSSED = 12  # in the table of true against predicted classes
NAMES = {
    "error": "error",
    "log_loss": "log-loss",
    "auc": "AUC",
    "subset_accuracy": "exact sets",
    "micro_f1": "micro-F1",
    "micro_precision": "precision",
    "micro_recall": "recall",
    "hamming_loss": "Hamming loss",
    "ranking_loss": "ranking loss",
}


@click.command()
@model_argument
@data_argument
@json_option
def evaluate(model_path: str, data: tuple[str, ...], as_json: bool) -> None:
    """Compare a model's predictions with the labels of data.

    DATA are files, or - for standard input. Memory does not grow with them, except with two classes: the area under
    the ROC curve (AUC) needs every score. Rows of classes the model does not know count as errors, and log-loss leaves
    them out.
    """
    model = load_model(model_path)
    with reported():
        result = _labels(model, data) if model.learner.settings.task == "multilabel" else _classes(model, data)
    click.echo(json.dumps(result) if as_json else _text(result))


def numbered(model: Model, data: Sequence[str], multilabel: bool) -> Iterator[tuple[Batch, np.ndarray]]:
    """Batches with the model's numbers of their labels, -1 for those it does not know."""
    import numpy as np

    number = {name: k for k, name in enumerate(model.classes) if name is not None}
    number_of = np.empty(0, dtype=np.int64)
    with open_for(model, data, multilabel=multilabel) as stream:
        for batch in stream:
            number_of = np.append(number_of, [number.get(new.name, -1) for new in batch.new_labels]).astype(np.int64)
            yield batch, number_of[batch.labels]


def _classes(model: Model, data: tuple[str, ...]) -> dict[str, Any]:
    import numpy as np

    from ...evaluation.metrics import ClassMetrics, area_under_curve
    from ...learner.streams import Answering
    from ..output.answers import probabilities

    answering, metrics = Answering(model.learner), ClassMetrics(len(class_names(model)))
    binary, scores, truths = model.learner.settings.task == "binary", [], []
    for batch, truth in numbered(model, data, multilabel=False):
        matrix = answering.matrix(batch)
        metrics.add(truth, model.learner.predict(matrix), probabilities(model, matrix))
        if binary:
            scores.append(model.learner.decision(matrix)[truth >= 0])
            truths.append(truth[truth >= 0] == 1)
    result: dict[str, Any] = metrics.result()
    if binary:
        result["auc"] = area_under_curve(np.concatenate(scores), np.concatenate(truths))
    return result | {"classes": _named(model, metrics), "confusion": metrics.confusion.tolist()}


def relevant_labels(batch: Batch, label: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Sets of labels as booleans (rows, labels), and how many labels of each row are not known."""
    import numpy as np

    from ...arrays import row_numbers

    assert batch.label_start is not None  # rows have sets of labels
    row = row_numbers(batch.label_start)
    relevant = np.zeros((len(batch), n_labels), dtype=bool)
    relevant[row[label >= 0], label[label >= 0]] = True
    return relevant, np.bincount(row[label < 0], minlength=len(batch))


def _labels(model: Model, data: tuple[str, ...]) -> dict[str, Any]:
    from ...evaluation.metrics import LabelMetrics
    from ...learner.streams import Answering

    n_labels = len(model.classes)
    answering, metrics = Answering(model.learner), LabelMetrics(n_labels)
    for batch, label in numbered(model, data, multilabel=True):
        relevant, unknown = relevant_labels(batch, label, n_labels)
        metrics.add(relevant, unknown, model.learner.decision(answering.matrix(batch)))
    return metrics.result() | {"classes": _named(model, metrics)}


def _named(model: Model, metrics: ClassMetrics | LabelMetrics) -> list[dict[str, Any]]:
    return [{"name": name, **entry} for name, entry in zip(class_names(model), metrics.by_class(), strict=True)]


def _text(result: dict[str, Any]) -> str:
    rows = [["rows", f"{result['rows']:,}"]]
    for key, name in NAMES.items():
        if result.get(key) is not None:
            share = key in ("error", "subset_accuracy")
            rows.append([name, percent(result[key]) if share else f"{result[key]:.4f}"])
    for key, name in {"rows_of_unknown_classes": "rows of unknown classes", "unknown_labels": "unknown labels"}.items():
        if result.get(key):
            rows.append([name, f"{result[key]:,}"])
    parts = [table(rows), _class_table(result["classes"])]
    if "confusion" in result and len(result["classes"]) <= MAX_CLASSES_CROSSED:
        names = [entry["name"] for entry in result["classes"]]
        crossed = [[name, *map(str, row)] for name, row in zip(names, result["confusion"], strict=True)]
        parts.append(table([["true \\ predicted", *names], *crossed]))
    return "\n\n".join(parts)


def _class_table(classes: list[dict[str, Any]]) -> str:
    shown = (
        sorted(classes, key=lambda entry: -entry["rows"])[:MAX_CLASSES_SHOWN]
        if len(classes) > MAX_CLASSES_SHOWN
        else classes
    )
    lines = [
        [
            entry["name"],
            f"{entry['rows']:,}",
            *("-" if entry[k] is None else percent(entry[k]) for k in ("precision", "recall")),
        ]
        for entry in shown
    ]
    text = table([["class", "rows", "precision", "recall"], *lines])
    return text + (f"\n({len(classes) - len(shown)} smaller ones not shown)" if len(shown) < len(classes) else "")
