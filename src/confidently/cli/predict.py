"""``confidently predict``: what a model says of a stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .common import (
    ABSENT,
    check_output,
    class_names,
    data_argument,
    json_option,
    load_model,
    model_argument,
    open_for,
    output,
    reported,
)

if TYPE_CHECKING:
    import numpy as np

    from .. import _core
    from ..model_file import Model


@click.command()
@model_argument
@data_argument
@click.option("--proba", is_flag=True, help="Add the probability of every class (or label).")
@click.option(
    "--margin", is_flag=True, help="Add the margin: one for two classes, positive for the second; else one a class."
)
@click.option(
    "--variance", is_flag=True, help="Add the variance of every margin under the model's Gaussian over weights."
)
@click.option("-o", "--output", "output_path", metavar="FILE", help="Write to this file instead of standard output.")
@json_option
def predict(
    model_path: str,
    data: tuple[str, ...],
    proba: bool,
    margin: bool,
    variance: bool,
    output_path: str | None,
    as_json: bool,
) -> None:
    """Predict the class of every row.

    A line a row; sets of labels are separated by commas. DATA are files, or - for standard input. svmlight rows begin
    with a label even where it is not known: it is not looked at, so any will do. With --proba, --margin or --variance
    a heading names the columns, separated by tabs. Features the model has never met have weights of mean 0 and the
    prior's variance: they leave the margins as they are and make them less certain.
    """
    check_output(output_path, [model_path, *data])
    model = load_model(model_path)
    prediction = Prediction(model, proba, margin, variance)
    with reported(), output(output_path) as file:
        if not as_json and prediction.columns():
            file.write("\t".join(["class", *prediction.columns()]) + "\n")
        for matrix in _matrices(model, data):
            lines = prediction.json_lines(matrix) if as_json else prediction.lines(matrix)
            file.write("\n".join(lines) + "\n")
            if file is sys.stdout:
                file.flush()


def _matrices(model: Model, data: tuple[str, ...]) -> Iterator[_core.Matrix]:
    from ..streaming import Answering

    answering = Answering(model.learner)
    with open_for(model, data, ignore_labels=True) as stream:
        for batch in stream:
            yield answering.matrix(batch)


class Prediction:
    """What is asked about every row, and how it is written."""

    def __init__(self, model: Model, proba: bool, margin: bool, variance: bool) -> None:
        self.model, self.learner, self.names = model, model.learner, class_names(model)
        self.proba, self.margin, self.variance = proba, margin, variance
        self.task = model.learner.settings.task

    def columns(self) -> list[str]:
        """Headings of the columns after the prediction."""
        each = [""] if self.task == "binary" else [f":{name}" for name in self.names]
        found = [f"proba:{name}" for name in self.names] if self.proba else []
        found += [f"margin{suffix}" for suffix in each] if self.margin else []
        return found + ([f"variance{suffix}" for suffix in each] if self.variance else [])

    def lines(self, matrix: _core.Matrix) -> list[str]:
        """A line a row: the prediction, then the numbers asked for."""
        import numpy as np

        predicted = self._predicted(matrix)
        text = [",".join(map(_text, p)) if self.task == "multilabel" else _text(p) for p in predicted]
        if not self.columns():
            return text
        numbers = np.column_stack([np.asarray(n) for n in self._numbers(matrix).values()]).tolist()
        return ["\t".join([name, *map(_number, row)]) for name, row in zip(text, numbers, strict=True)]

    def json_lines(self, matrix: _core.Matrix) -> list[str]:
        """A JSON object a row."""
        key = "labels" if self.task == "multilabel" else "class"
        rows: list[dict[str, Any]] = [{key: p} for p in self._predicted(matrix)]
        for name, numbers in self._numbers(matrix).items():
            for row, found in zip(rows, numbers.tolist(), strict=True):
                row[name] = dict(zip(self.names, found, strict=True)) if isinstance(found, list) else found
        return [json.dumps(row) for row in rows]

    def _predicted(self, matrix: _core.Matrix) -> list[Any]:
        predicted, names = self.learner.predict(matrix), self.model.classes
        if self.task == "multilabel":
            return [[names[k] for k in row.nonzero()[0]] for row in predicted]
        return [names[k] for k in predicted.tolist()]

    def _numbers(self, matrix: _core.Matrix) -> dict[str, np.ndarray]:
        found = {"proba": probabilities(self.model, matrix)} if self.proba else {}
        if self.variance:
            mean, spread = self.learner.margin_distribution(matrix)
            found |= ({"margin": mean} if self.margin else {}) | {"variance": spread}
        elif self.margin:
            found["margin"] = self.learner.decision(matrix)
        return found


def probabilities(model: Model, matrix: _core.Matrix) -> np.ndarray:
    """Probability of every class (or label), a column each."""
    import numpy as np

    p = model.learner.probabilities(matrix, model.estimator.get("calibration", "progressive"))
    return np.column_stack([1.0 - p, p]) if model.learner.settings.task == "binary" else p


def _text(name: int | str | None) -> str:
    return ABSENT if name is None else str(name)


def _number(x: float) -> str:
    return f"{x:.9g}"
