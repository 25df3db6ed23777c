"""Decisions as the log has them: what was activated, what is overdue, what was decided and rewarded.

Of decisions among many actions, the list of actions is stored once, however often it was sent, and the numbers of each
action are stored beside the note.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from .events import RARE, Event

UNREWARDED = (
    f"NOT EXISTS (SELECT 1 FROM events b WHERE b.example = e.seq AND b.kind IN ({Event.LABEL}, {Event.ERASURE}))"
)


class Choice(NamedTuple):
    """What is kept of a decision among many actions beside its note: their list as JSON, and the numbers of each."""

    actions: bytes
    numbers: bytes


class DecisionLog:
    """The events of decisions; of the thread that has the connection.

    Parameters
    ----------
    db : apsw.Connection
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def keep(self, event: int, model: int, digest: bytes, choice: Choice) -> None:
        """Keep what a decision has beside its note; the digest is that of the list, which is stored once."""
        row = self._db.execute("SELECT number FROM lists WHERE model = ? AND digest = ?", (model, digest)).fetchone()
        if row is None:
            values = (model, digest, choice.actions)
            self._db.execute("INSERT INTO lists(model, digest, content) VALUES (?, ?, ?)", values)
            row = (self._db.last_insert_rowid(),)
        self._db.execute("INSERT INTO choices VALUES (?, ?, ?)", (event, row[0], choice.numbers))

    def choice_of(self, event: int) -> Choice | None:
        """Return what a decision has beside its note, if there is anything."""
        row = self._db.execute(
            "SELECT l.content, c.numbers FROM choices c JOIN lists l ON l.number = c.list WHERE c.event = ?", (event,)
        ).fetchone()
        return None if row is None else Choice(*row)

    def actions(self, number: int) -> bytes:
        """Return a list of actions by its number, as JSON."""
        [(content,)] = self._db.execute("SELECT content FROM lists WHERE number = ?", (number,))
        return content

    def forget(self, event: int) -> None:
        """Delete what a decision has beside its note, with the list if no other decision has it."""
        for (number,) in self._db.execute("DELETE FROM choices WHERE event = ? RETURNING list", (event,)).fetchall():
            unused = "number = ?1 AND NOT EXISTS (SELECT 1 FROM choices WHERE list = ?1)"
            self._db.execute(f"DELETE FROM lists WHERE {unused}", (number,))

    def forget_model(self, model: int) -> None:
        """Delete what the decisions of a model have beside their notes."""
        self._db.execute("DELETE FROM choices WHERE list IN (SELECT number FROM lists WHERE model = ?)", (model,))
        self._db.execute("DELETE FROM lists WHERE model = ?", (model,))

    def activation_of(self, example: int) -> tuple[int, int] | None:
        """Return event and time of the activation of a deferred decision, if there was one."""
        return self._db.execute(
            f"SELECT seq, time FROM events WHERE example = ? AND kind = {Event.ACTIVATED}", (example,)
        ).fetchone()

    def ids_below(self, model: int, id: str) -> Iterator[str]:
        """Yield what follows an id and a slash in the ids of a model."""
        for (found,) in self._db.execute(
            "SELECT id FROM events WHERE model = ? AND id > ? AND id < ? ORDER BY id",
            (model, f"{id}/", f"{id}0"),  # which follows the slash
        ):
            yield found[len(id) + 1 :]

    def overdue(self, model: int, since: int, until: int) -> list[tuple[int, bytes]]:
        """Return event and features of the decisions without a reward that began to count between two times."""
        rows = self._db.execute(
            f"SELECT e.seq, e.features FROM events e WHERE e.model = ?1 AND e.kind = {Event.PREDICTION} "
            "AND e.features IS NOT NULL AND e.time >= ?2 AND e.time < ?3 AND e.note ->> '$.decision' IS NOT NULL "
            f"AND NOT coalesce(e.note ->> '$.decision.deferred', 0) AND {UNREWARDED} "
            "UNION ALL SELECT e.seq, e.features FROM events a JOIN events e ON e.seq = a.example "
            f"WHERE a.model = ?1 AND a.{RARE} AND a.kind = {Event.ACTIVATED} AND a.time >= ?2 AND a.time < ?3 "
            f"AND e.features IS NOT NULL AND {UNREWARDED} ORDER BY 1",
            (model, since, until),
        )
        return list(rows)

    def after(self, model: int, after: int) -> Iterator[tuple[int, bytes | None, bytes | None]]:
        """Yield event, note and label of predictions, which have no label, and of labels after an event, in order."""
        yield from self._db.execute(
            f"SELECT seq, note, label FROM events WHERE model = ? AND seq > ? AND (kind = {Event.PREDICTION} "
            f"OR kind = {Event.LABEL} AND label IS NOT NULL) ORDER BY seq", (model, after),
        )  # fmt: skip
