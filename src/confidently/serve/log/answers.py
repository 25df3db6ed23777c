"""What people have answered about rows, as the log has it: answers that wait, second ones, skips, and who gave them."""

from __future__ import annotations

import apsw

from .events import AFTER_ANSWER, RARE, Event, labeller_in


class AnswerLog:
    """The events of labelling; of the thread that has the connection.

    Parameters
    ----------
    db : apsw.Connection
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def waiting_of(self, example: int) -> tuple[int, bytes, bytes] | None:
        """Return event, label and note of an answer that is neither undone nor learned."""
        found = self._db.execute(
            f"SELECT seq, kind, label, note FROM events WHERE example = ? AND kind IN {AFTER_ANSWER} "
            "ORDER BY seq DESC LIMIT 1",
            (example,),
        ).fetchone()
        return (found[0], found[2], found[3]) if found is not None and found[1] == Event.ANSWER else None

    def waiting(self, model: int) -> list[tuple[int, int, str, bytes, bytes]]:
        """Return event, example, id, label and note of the answers that are neither undone nor learned."""
        rows = self._db.execute(
            "SELECT a.seq, a.example, x.id, a.label, a.note FROM events a JOIN events x ON x.seq = a.example "
            f"WHERE a.model = ? AND a.{RARE} AND a.kind = {Event.ANSWER} AND a.label IS NOT NULL AND NOT EXISTS "
            f"(SELECT 1 FROM events b WHERE b.example = a.example AND b.kind IN {AFTER_ANSWER} AND b.seq > a.seq) "
            "ORDER BY a.seq",
            (model,),
        )
        return list(rows)

    def given(self, model: int) -> list[tuple[int, str, bytes, bytes]]:
        """Return example, id, label and note of the answers that were not undone."""
        rows = self._db.execute(
            "SELECT a.example, x.id, a.label, a.note FROM events a JOIN events x ON x.seq = a.example "
            f"WHERE a.model = ? AND a.{RARE} AND a.kind = {Event.ANSWER} "
            "AND a.note IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events b WHERE b.example = a.example "
            f"AND b.kind IN ({Event.ANSWER}, {Event.UNDO}) AND b.seq > a.seq) ORDER BY a.seq",
            (model,),
        )
        return list(rows)

    def skips(self, model: int) -> list[tuple[str, bytes]]:
        """Return the id of the example and the note of each skip: who, and why."""
        rows = self._db.execute(
            "SELECT x.id, a.note FROM events a JOIN events x ON x.seq = a.example "
            f"WHERE a.model = ? AND a.{RARE} AND a.kind = {Event.SKIP} AND a.note IS NOT NULL",
            (model,),
        )
        return list(rows)

    def opinions(self, model: int) -> list[tuple[int, bytes, bytes]]:
        """Return example, label and note of the second answers."""
        rows = self._db.execute(
            f"SELECT example, label, note FROM events WHERE model = ? AND {RARE} AND kind = {Event.OPINION} "
            "AND note IS NOT NULL ORDER BY seq",
            (model,),
        )
        return list(rows)

    def opinions_of(self, example: int) -> list[tuple[int, bytes, bytes]]:
        """Return event, label and note of the second answers to an example."""
        rows = self._db.execute(
            f"SELECT seq, label, note FROM events WHERE example = ? AND kind = {Event.OPINION} AND note IS NOT NULL",
            (example,),
        )
        return list(rows)

    def labeller_of(self, example: int) -> str | None:
        """Return who gave the last label or answer of an example, if that is known."""
        row = self._db.execute(
            "SELECT note FROM events WHERE example = ? AND label IS NOT NULL "
            f"AND kind IN ({Event.LABEL}, {Event.CORRECTION}, {Event.ANSWER}) ORDER BY seq DESC LIMIT 1",
            (example,),
        ).fetchone()
        return None if row is None else labeller_in(row[0])
