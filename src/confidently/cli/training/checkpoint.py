"""Checkpoints: the model of an unfinished training, in a file beside the model file.

A checkpoint is a model file whose header has the position of the training. With validation, the best model so far is a
file of its own, which is written first.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from ...data.cache.origin import Source
from ...data.sources.json_schema import Count, conform
from ...data.sources.whole_files import remove_leftovers
from ...models.file import damage_reported
from ..inputs import Kind, load_model, reported
from ..options.files import BEST_CHECKPOINT, CHECKPOINT
from .position import Position

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel


class Run(TypedDict):
    """The options of a training and the fingerprints of its data."""

    options: dict[str, Any]
    data: list[Source]
    validation: list[Source]


class Training(TypedDict):
    """What a checkpoint has besides the model."""

    run: Run
    position: Position


class Checkpoints:
    """The checkpoint of one training.

    Parameters
    ----------
    output : str
        The model file.
    every : int, optional
        Rows between two checkpoints.
    run : Run
        The training's options and the fingerprints of its data. A checkpoint of another training is rejected.
    """

    def __init__(self, output: str, every: int | None, run: Run) -> None:
        self.path, self.best_path = Path(output + CHECKPOINT), Path(output + BEST_CHECKPOINT)
        self.output, self.every, self.run = output, every, run

    def load(self, kind: Kind = "linear") -> tuple[Model | TopicModel, Model | TopicModel | None, Position] | None:
        """Load the model to continue with, the best model so far if there was a validation, and the position.

        ``None`` if there is no checkpoint.

        Raises
        ------
        click.UsageError
            If options or data have changed, or the checkpoint's second file is missing.
        BadInput
            If a file is damaged.
        """
        if not self.path.exists():
            return None
        model = load_model(str(self.path), kind)
        if not model.training:
            raise click.UsageError(f"{self.path} is a model, not a checkpoint; move it, or omit --resume")
        with reported():
            training = check_training(self.path, model)
        position = training["position"]
        if changes := _changes(training["run"], self.run):
            raise click.UsageError(
                f"{self.path} is the checkpoint of another training: {'; '.join(changes)}; restore that, or omit "
                "--resume to train from scratch"
            )
        begun, passes = position.passes + bool(position.now.rows), self.run["options"]["--passes"]
        if passes < begun:
            raise click.UsageError(
                f"--passes: {self.path} has begun pass {begun}, got {passes}; use {begun} or more, or omit --resume to "
                "train from scratch"
            )
        best = None
        if position.best is not None:
            if not self.best_path.exists():
                raise click.UsageError(
                    f"{self.best_path}: missing part of {self.path}; omit --resume to train from scratch"
                )
            best = load_model(str(self.best_path), kind)
        return model, best, position

    def save(self, model: Model | TopicModel, best: Model | TopicModel | None, position: Position) -> None:
        """Write both files atomically, the best model before the checkpoint that needs it."""
        if best is not None:
            best.save(self.best_path)
        replace(model, training={"run": self.run, "position": position.as_dict()}).save(self.path)

    def remove(self) -> None:
        """Remove the checkpoint of a finished training."""
        for path in (self.path, self.best_path):
            path.unlink(missing_ok=True)
            remove_leftovers(path)
        remove_leftovers(self.output)


def check_training(path: Path, model: Model | TopicModel) -> Training:
    """Return what a checkpoint has besides its model; a ``ModelFileError`` if it is damaged."""
    with damage_reported(path):
        training: Training = conform(model.training, Training, "training")
        passes = conform(training["run"]["options"].get("--passes"), Count, "--passes")
        training["position"].check(model.learner, passes)
        return training


def _changes(was: Run, now: Run) -> list[str]:
    """Return the differences between two trainings as text, except in the number of passes, which may change."""
    found = []
    for name in dict.fromkeys([*was["options"], *now["options"]]):
        if name == "--passes":
            continue
        left, right = was["options"].get(name), now["options"].get(name)
        if left != right:
            found.append(f"{name} was {_text(left)} and is {_text(right)}")
    what: Literal["data", "validation"]
    for what in ("data", "validation"):
        left, right = [source["path"] for source in was[what]], [source["path"] for source in now[what]]
        if left != right:
            found.append(f"the {what} were {' '.join(left) or 'none'} and are {' '.join(right) or 'none'}")
            continue
        for then, there in zip(was[what], now[what], strict=True):
            if then != there:
                found.append(f"{there['path']} has changed since")
    return found


def _text(value: Any) -> str:
    if value in (None, [], ()):
        return "not set"
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
