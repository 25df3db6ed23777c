"""Contributions: what a model has learned of the rows of its own server, as model files that other servers merge.

A contribution is all that the model has learned of these rows, not what is new. A later one takes the place of an
earlier one, so no row counts twice, in whatever order, and however often, contributions arrive.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, NamedTuple, Self

import msgspec

from ...models import file
from ...models.file import LINEAR, REGRESSION
from ...models.model import Model

ENTRY = "contribution"  # of the training in the header of a file
Seq = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Origin = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a contribution says of itself.

    Attributes
    ----------
    origin : str
        The name of the model for other servers.
    seq : int
        The last event of its log that it has.
    settings : str
        Those settings that matter for what is learned, as JSON; equal for equal settings.
    """

    origin: Origin
    seq: Seq
    settings: str


class Contribution(NamedTuple):
    """What a server has contributed: a model, what is stated of it, and the file that has both."""

    stated: Stated
    model: Model
    content: bytes

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return what a file has.

        Raises
        ------
        ModelFileError
            If it is damaged, or no file of a contribution.
        """
        found = file.decoded("the contribution", content, LINEAR, REGRESSION)
        entry = found.header.training.get(ENTRY)
        if entry is None:
            raise file.ModelFileError(
                "the file is no contribution, since it does not say of which server it is; download one with "
                "GET .../contribution"
            )
        with file.damage_reported(found.path):
            stated = msgspec.convert(entry, Stated)
        model = Model.from_contents(found)
        model.training = {}
        return cls(stated, model, content)

    @property
    def rows(self) -> int:
        """How many rows it was trained on, with those of a file that it began with."""
        return int(self.model.learner.n_seen)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()


def file_of(model: Model, training: dict[str, Any]) -> bytes:
    """Return the content of a model file, with what is given of its training."""
    model.check_values()
    header = model.header() | {"training": training}
    return file.encoded(header, model.arrays())
