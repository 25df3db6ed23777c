"""Checkpoints: a model in the middle of its training, beside the file it is to become.

A checkpoint is a model file whose header says where the training stands. The best model of a training with validation
stands in a file of its own, which is written first.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ...data.sources.whole_files import remove_leftovers
from ..common import model_type
from .position import Position

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel

SUFFIX, BEST_SUFFIX = ".checkpoint", ".checkpoint.best"


class Checkpoints:
    """The checkpoint of one training.

    Parameters
    ----------
    output : str
        The model file to be.
    every : int, optional
        Rows between two checkpoints.
    run : dict
        What the training is: its options and the fingerprints of its data. A checkpoint of another is refused.
    """

    def __init__(self, output: str, every: int | None, run: dict[str, Any]) -> None:
        self.path, self.best_path = Path(output + SUFFIX), Path(output + BEST_SUFFIX)
        self.output, self.every, self.run = output, every, run

    def load(
        self, kind: Literal["linear", "topics"] = "linear", position_type: type[Position] = Position
    ) -> tuple[Model | TopicModel, Model | TopicModel | None, Position] | None:
        """The model to go on with, the best so far if there was a validation, and where they stand.

        ``None`` if there is no checkpoint.

        Raises
        ------
        click.UsageError
            If options or data are not what they were, or the checkpoint's second file is missing.
        """
        if not self.path.exists():
            return None
        model = model_type(kind).load(self.path)
        if not model.training:
            raise click.UsageError(f"{self.path} is a model, but no checkpoint: move it, or leave out --resume")
        if changes := _changes(model.training["run"], self.run):
            raise click.UsageError(
                f"{self.path} is the checkpoint of another training: {'; '.join(changes)}; go back to what it was, or "
                "start anew without --resume"
            )
        position, best = position_type.from_dict(model.training["position"]), None
        if position.best is not None:
            if not self.best_path.exists():
                raise click.UsageError(
                    f"{self.best_path} belongs to {self.path} and is missing: start anew without --resume"
                )
            best = model_type(kind).load(self.best_path)
        return model, best, position

    def save(self, model: Model | TopicModel, best: Model | TopicModel | None, position: Position) -> None:
        """Write both files, each whole or not at all; the one a checkpoint needs is there before it."""
        if best is not None:
            best.save(self.best_path)
        replace(model, training={"run": self.run, "position": position.as_dict()}).save(self.path)

    def remove(self) -> None:
        """The training is over."""
        for path in (self.path, self.best_path):
            path.unlink(missing_ok=True)
            remove_leftovers(path)
        remove_leftovers(self.output)


def _changes(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs between two trainings, in words."""
    found = []
    for name in dict.fromkeys([*was["options"], *now["options"]]):
        left, right = was["options"].get(name), now["options"].get(name)
        if left != right:
            found.append(f"{name} was {_told(left)} and is {_told(right)}")
    for what in ("data", "validation"):
        left, right = [source["path"] for source in was[what]], [source["path"] for source in now[what]]
        if left != right:
            found.append(f"the {what} were {' '.join(left) or 'none'} and are {' '.join(right) or 'none'}")
            continue
        for then, there in zip(was[what], now[what], strict=True):
            if then != there:
                found.append(f"{there['path']} has changed since")
    return found


def _told(value: Any) -> str:
    if value in (None, [], ()):
        return "not given"
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
