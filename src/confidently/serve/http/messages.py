"""Parts of messages that several handlers share; the messages of one are beside it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Id = Annotated[str, Meta(min_length=1, max_length=256, description="names a row of the model; used once")]
LabellerName = Annotated[str, Meta(min_length=1, max_length=64, description="who labels")]
Text = Annotated[str, Meta(min_length=1, max_length=256)]
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Label = Annotated[
    Number | float | bool | Text | list[Number | Text],
    Meta(description="a class; where rows have several labels, a list of them; where numbers are predicted, a number"),
]
Guess = int | float | str | list[int | str]
Features = Annotated[
    msgspec.Raw,
    Meta(
        description="a JSON object, read as a line of JSON lines: numbers, strings, lists, objects",
        extra_json_schema={"type": "object"},
    ),
]


class LearnBody(Struct, forbid_unknown_fields=True):
    """A row with its label."""

    features: Features
    label: Label
    id: Id | None = None
    weight: Annotated[float, Meta(ge=0.0, le=1e9)] = 1.0


class Receipt(Struct):
    """What became of a row: its event in the log, and whether it is durable, learned or parked."""

    id: str
    seq: int
    status: str


class ProgressiveMeans(Struct, kw_only=True):
    """Means over rows that were predicted before they were learned: of classes the first two, of numbers the others."""

    error: float | UnsetType | None = UNSET
    log_loss: float | UnsetType | None = UNSET
    mae: float | UnsetType | None = UNSET
    rmse: float | UnsetType | None = UNSET
