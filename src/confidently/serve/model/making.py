"""Makes the model of some settings: one that learns labels, or one that decides; untrained, or of a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...models import file
from ...models.model import Model
from . import merged
from .base import HostedModel
from .served import ServedModel
from .settings import DECISIONS, ModelSettings


class Snapshot(NamedTuple):
    """What a snapshot has: what is known of the training, and the model of a file."""

    training: dict[str, Any]
    content: Any

    def model(self, settings: ModelSettings, seq: int) -> HostedModel:
        """Return the model, which has learned the events up to one."""
        if isinstance(self.content, file.Contents):
            return merged.restored(settings, self.content, seq, self.training)
        return _made(settings, self.content, seq, self.training)

    def base(self, settings: ModelSettings) -> HostedModel:
        """Return the model, which was trained elsewhere."""
        return _made(settings, self.content)


def made(settings: ModelSettings) -> HostedModel:
    """Return an untrained model."""
    return _made(settings)


def _made(settings: ModelSettings, *content: Any) -> HostedModel:
    if settings.key is not None:
        from .keyed import KeyedModel  # imported here since scikit-learn is slow to import

        return KeyedModel(settings, *content)
    if settings.task != DECISIONS:
        return ServedModel(settings, *content)
    from .choosing import DecidingModel  # imported here since scikit-learn is slow to import

    return DecidingModel(settings, *content)


def _read_parts(path: Path, kind: str) -> Any:
    """Return the contents of a file of decisions or of entities."""
    if kind == file.ENTITIES:
        from ...entities import files as of_entities  # imported here since scikit-learn is slow to import

        return of_entities.read(path)
    from ...bandits.files import OF_DECISIONS  # imported here since scikit-learn is slow to import

    return OF_DECISIONS.read(path)


def read_snapshot(path: Path) -> Snapshot:
    """Read a model file with its training, if it has one.

    Raises
    ------
    ModelFileError
        If it is damaged, or no model file.
    OSError
        If it cannot be read.
    """
    if (kind := file.kind_of(path)) in (file.DECISIONS, file.ENTITIES):
        saved = _read_parts(path, kind)
        return Snapshot(saved.header.training, saved)
    contents = file.read(path, *Model.kinds)
    training, contents.header.training = dict(contents.header.training), {}
    with file.damage_reported(path):
        return Snapshot(training, contents if merged.is_merged(contents) else Model.from_contents(contents))
