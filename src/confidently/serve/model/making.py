"""Makes the model of some settings: one that learns labels, or one that decides; untrained, or of a snapshot."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from ...models.model import Model
from .base import HostedModel
from .served import ServedModel
from .settings import DECISIONS, ModelSettings


class Snapshot(NamedTuple):
    """What a snapshot has: what is known of the training, and the model of a file."""

    training: dict[str, Any]
    content: Any

    def model(self, settings: ModelSettings, seq: int) -> HostedModel:
        """Return the model, which has learned the events up to one."""
        return _made(settings, self.content, seq, self.training)

    def base(self, settings: ModelSettings) -> HostedModel:
        """Return the model, which was trained elsewhere."""
        return _made(settings, self.content)


def made(settings: ModelSettings) -> HostedModel:
    """Return an untrained model."""
    return _made(settings)


def _made(settings: ModelSettings, *content: Any) -> HostedModel:
    if settings.task != DECISIONS:
        return ServedModel(settings, *content)
    from .choosing import DecidingModel  # imported here since scikit-learn is slow to import

    return DecidingModel(settings, *content)


def read_snapshot(path: Path) -> Snapshot:
    """Read a model file with its training, if it has one.

    Raises
    ------
    ModelFileError
        If it is damaged, or no model file.
    OSError
        If it cannot be read.
    """
    if zipfile.is_zipfile(path):
        from ...bandits import files  # imported here since scikit-learn is slow to import

        saved = files.read(path)
        return Snapshot(saved.header.pop("training", {}), saved)
    model = Model.load(path)
    training, model.training = dict(model.training), {}
    return Snapshot(training, model)
