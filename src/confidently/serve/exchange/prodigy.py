"""The form of Prodigy: a JSON object per line, with a text, a label or accepted options, and an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from .record import Labelled, content_id, one_of, own_id, own_name

TOOL = "prodigy"


class Option(Struct):
    """A choice that was offered."""

    id: int | str
    text: str = ""


class Record(Struct, omit_defaults=True):
    """A text with an answer. ``features`` has the columns beside the text, in what was exported from here."""

    text: str
    label: str | UnsetType = UNSET
    options: list[Option] | UnsetType = UNSET
    accept: list[int | str] | UnsetType = UNSET
    answer: Annotated[str, Meta(description="accept, reject or ignore")] | UnsetType = UNSET
    id: Annotated[Any, Meta(description="that of the row, in what was exported from here")] = None
    features: dict[str, Any] = {}
    annotator: int | str | None = msgspec.field(name="_annotator_id", default=None)
    session: int | str | None = msgspec.field(name="_session_id", default=None)
    timestamp: int | None = msgspec.field(name="_timestamp", default=None)


def labelled(record: Record, column: str, multilabel: bool, classes: Sequence[str] = ()) -> Labelled | None:
    """Return the row of a record; None if it has no answer that says which label is right.

    A rejected label says it only if there are two classes.

    Parameters
    ----------
    record : Record
    column : str
        Of the text.
    multilabel : bool
        Whether rows have several labels.
    classes : sequence of str
        All allowed labels; empty: any.

    Raises
    ------
    ValueError
        If its form is another one.
    """
    label = _label(record, multilabel, classes)
    if label is None:
        return None
    features = msgspec.json.encode({column: record.text} | record.features)
    who = record.annotator or record.session
    return Labelled(
        own_id(record.id) or content_id(TOOL, features), features, label, None if who is None else own_name(str(who))
    )


def _label(record: Record, multilabel: bool, classes: Sequence[str]) -> str | list[str] | None:
    if record.answer not in ("accept", "reject"):
        return None
    if not isinstance(record.accept, UnsetType):
        return None if record.answer == "reject" else one_of([str(one) for one in record.accept], multilabel)
    if isinstance(record.label, UnsetType):
        raise ValueError('expected "label" or "accept"')
    if multilabel:
        raise ValueError('"label" is about one label, and rows of the model have several; send "accept"')
    if record.answer == "accept":
        return record.label
    others = [name for name in classes if name != record.label]
    return others[0] if len(classes) == 2 and len(others) == 1 else None


def exported(row: Mapping[str, Any], column: str, classes: Sequence[str]) -> Record:
    """Return a row as a record: labelled, or with the classes as options.

    Parameters
    ----------
    row : mapping
        ``id``, ``features``, and ``label``, ``by`` and ``time``, or none of these.
    column : str
        Of the text.
    classes : sequence of str

    Raises
    ------
    ValueError
        If the row has no text.
    """
    features = dict(row["features"])
    text = features.pop(column, None)
    if not isinstance(text, str):
        raise ValueError(f"the row {row['id']!r} has no text in its column {column!r}; name that of texts: text=...")
    found = Record(text, id=row["id"], features=features)
    label, by = row.get("label"), row.get("by")
    if label is None or isinstance(label, list):
        found.options = [Option(name, name) for name in classes]
    if label is not None:
        found.answer, found.timestamp = "accept", int(row["time"])
        found.annotator = found.session = by
        if isinstance(label, list):
            found.accept = list(label)
        else:
            found.label = str(label)
    return found
