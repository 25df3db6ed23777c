"""Edits of the log: batches that are taken out, classes that are renamed, merged or removed.

An edit is an event. It changes nothing that was written before: it says what versions of the model whose training
begins later learn of the rows before it. So an edit can be reverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw
import msgspec

from .events import RARE, Event, StoredVersion, now


class Edit(NamedTuple):
    """One edit: of a batch, which is taken out, or of a class, which gets another name or, with None, is removed."""

    seq: int
    batch: int | None
    source: str | None
    target: str | None
    time: int

    @property
    def note(self) -> bytes:
        """What its event has."""
        what = {"batch": self.batch} if self.batch is not None else {"from": self.source, "to": self.target}
        return msgspec.json.encode(what)

    @classmethod
    def of(cls, seq: int, note: bytes, time: int) -> Edit:
        """Return the edit of an event."""
        found = msgspec.json.decode(note)
        return cls(seq, found.get("batch"), found.get("from"), found.get("to"), time)


@dataclass(frozen=True)
class Edits:
    """Edits that are of consequence, in their order.

    >>> edits = Edits([Edit(7, None, "spm", "spam", 0), Edit(9, None, "old", None, 0)])
    >>> edits.label(6, b'"spm"'), edits.label(8, b'"spm"'), edits.label(6, b'"old"'), edits.label(6, b'["old","spm"]')
    (b'"spam"', b'"spm"', None, b'["spam"]')
    """

    edits: Sequence[Edit] = ()

    def left(self, event: str = "e") -> str:
        """Return SQL, to follow a condition, for whether an event is in no batch that was taken out."""
        out = [edit for edit in self.edits if edit.batch is not None]
        return "".join(f" AND NOT ({event}.batch IS {edit.batch:d} AND {event}.seq < {edit.seq:d})" for edit in out)

    def __bool__(self) -> bool:
        return any(edit.source is not None for edit in self.edits)

    def label(self, seq: int, label: bytes | None) -> bytes | None:
        """Return the label of an event after the edits; None if its class was removed."""
        for edit in self.edits:
            if label is not None and edit.source is not None and seq < edit.seq:
                label = _edited(label, edit.source, edit.target)
        return label

    def classes(self, names: Sequence[Any]) -> list[Any]:
        """Return names of classes after the edits, those of merged classes once."""
        found = list(names)
        for edit in self.edits:
            if edit.source is not None:
                found = _renamed(found, edit.source, edit.target)
        return found


NO_EDITS = Edits()


class Basis(NamedTuple):
    """What a version learns: the log up to now, with the edits and without the erasures up to an event."""

    model: int
    version: int
    until: int
    edits: Edits


def _edited(label: bytes, source: str, target: str | None) -> bytes | None:
    found = msgspec.json.decode(label)
    if isinstance(found, list):
        return msgspec.json.encode(_renamed(found, source, target))
    if _name(found) != source:
        return label
    return None if target is None else msgspec.json.encode(target)


def _renamed(names: list[Any], source: str, target: str | None) -> list[Any]:
    renamed = [target if _name(one) == source else one for one in names]
    found = dict.fromkeys(_name(one) for one in renamed if one is not None)
    kept = {_name(one): one for one in reversed(renamed) if one is not None}
    return [kept[name] for name in found]


def _name(label: Any) -> str:
    return str(int(label) if isinstance(label, bool) else label)


class EditLog:
    """Batches and edits in the log; of the thread that has the connection.

    Parameters
    ----------
    db : apsw.Connection
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def batch(self, model: int, name: str) -> int | None:
        """Return the number of the batch of a name, if there is one."""
        row = self._db.execute("SELECT number FROM batches WHERE model = ? AND name = ?", (model, name)).fetchone()
        return None if row is None else int(row[0])

    def batch_for(self, model: int, name: str) -> int:
        """Return the number of the batch of a name, which is made if it is new."""
        number = self.batch(model, name)
        if number is None:
            self._db.execute("INSERT INTO batches(model, name, created) VALUES (?, ?, ?)", (model, name, now()))
            number = self._db.last_insert_rowid()
        return number

    def batches(self, model: int) -> list[tuple[int, str, int, int, int]]:
        """Return number, name, time, rows and last event of each batch, the newest first."""
        rows = self._db.execute(
            "SELECT b.number, b.name, b.created, count(e.seq), coalesce(max(e.seq), 0) FROM batches b "
            "LEFT JOIN events e ON e.batch = b.number WHERE b.model = ? GROUP BY b.number ORDER BY b.number DESC",
            (model,),
        )
        return list(rows)

    def add(self, model: int, edit: Edit) -> Edit:
        """Append an edit; return it with its event."""
        self._db.execute(
            "INSERT INTO events(model, kind, note, time) VALUES (?, ?, ?, ?)", (model, Event.EDIT, edit.note, now())
        )
        return edit._replace(seq=self._db.last_insert_rowid())

    def revert(self, model: int, seq: int) -> int:
        """Append that an edit no longer counts; return the event of that."""
        self._db.execute(
            "INSERT INTO events(model, kind, example, time) VALUES (?, ?, ?, ?)", (model, Event.REVERT, seq, now())
        )
        return self._db.last_insert_rowid()

    def until(self, model: int, until: int) -> Edits:
        """Return the edits up to an event that were not reverted up to that event."""
        rows = self._db.execute(
            f"SELECT seq, note, time FROM events e WHERE model = ?1 AND {RARE} AND kind = {Event.EDIT} AND seq <= ?2 "
            "AND NOT EXISTS (SELECT 1 FROM events r WHERE r.example = e.seq "
            f"AND r.kind = {Event.REVERT} AND r.seq <= ?2) ORDER BY seq",
            (model, until),
        )
        return Edits([Edit.of(seq, note, time) for seq, note, time in rows])

    def basis(self, version: StoredVersion) -> Basis:
        """Return what a version learns."""
        return Basis(version.model, version.number, version.begun, self.until(version.model, version.begun))
