"""``confidently evaluate``: measures of a model's predictions."""

from __future__ import annotations

import json
from typing import Any

import click

from ..inputs import load_predictor, reported
from ..options.arguments import data_argument, json_option, model_argument
from ..options.command import Command
from ..output.text import percent, say, table

MAX_CLASSES_IN_TABLE = 30  # in the table of classes
MAX_CONFUSION = 12  # classes in the table of true against predicted classes
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
UNKNOWN_COUNTS = {"rows_of_unknown_classes": "rows of unknown classes", "unknown_labels": "unknown labels"}


@click.command(cls=Command)
@model_argument
@data_argument
@json_option
def evaluate(model_path: str, data: tuple[str, ...], as_json: bool) -> None:
    """Compare a model's predictions with the labels of data.

    DATA are files, or - for standard input. Memory does not grow with the data, except with two classes: the area
    under the ROC curve (AUC) needs every score. Rows of unknown classes count as errors and are left out of the
    log-loss.
    """
    model = load_predictor(model_path)
    from ..output.measures import evaluate_model

    with reported():
        result = evaluate_model(model, data)
    say(json.dumps(result) if as_json else _text(result))


def _text(result: dict[str, Any]) -> str:
    rows = [["rows", f"{result['rows']:,}"]]
    for key, name in NAMES.items():
        if result.get(key) is not None:
            is_fraction = key in ("error", "subset_accuracy")
            rows.append([name, percent(result[key]) if is_fraction else f"{result[key]:.4f}"])
    rows += [[name, f"{result[key]:,}"] for key, name in UNKNOWN_COUNTS.items() if result.get(key)]
    parts = [table(rows), _class_table(result["classes"])]
    if "confusion" in result and len(result["classes"]) <= MAX_CONFUSION:
        names = [entry["name"] for entry in result["classes"]]
        crossed = [[name, *map(str, row)] for name, row in zip(names, result["confusion"], strict=True)]
        parts.append(table([["true \\ predicted", *names], *crossed]))
    return "\n\n".join(parts)


def _class_table(classes: list[dict[str, Any]]) -> str:
    shown = classes
    if len(classes) > MAX_CLASSES_IN_TABLE:
        shown = sorted(classes, key=lambda entry: -entry["rows"])[:MAX_CLASSES_IN_TABLE]
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
