"""The log of events: one SQLite database, whose order is the order in which models learn.

Every method runs in the one thread that has the connection. Nothing is durable, and nothing may be acknowledged, before
:meth:`EventLog.commit` has returned.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec

from ..problems import Problem
from .answers import AnswerLog
from .browse import RowLog
from .contributions import ContributionLog
from .decisions import DecisionLog
from .edits import Basis, EditLog
from .events import KINDS, LABELS, NOT_SET_ASIDE, RARE, Event, Row, Stored, StoredModel, now
from .log_file import FILE, faults, open_log
from .vectors import without_vector
from .versions import Versions

MAX_SEQ = 2**63 - 1
PAGES_PER_STEP = 256  # of work on the file between two commits


class EventLog:
    """The database of one directory.

    Parameters
    ----------
    folder : path
    vfs : str, optional
        The name of a virtual file system of SQLite.

    Attributes
    ----------
    versions : Versions
    edits : EditLog
    rows : RowLog
    answers : AnswerLog
    decisions : DecisionLog
    contributions : ContributionLog

    Raises
    ------
    LogError
        If another process has it open and does not close it within two seconds, or it is damaged or of a later version.
    OSError
        If the directory cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], vfs: str | None = None) -> None:
        self.path = Path(folder) / FILE
        self._db = open_log(folder, vfs)
        self.versions, self.edits = Versions(self._db), EditLog(self._db)
        self.rows, self.answers, self.decisions = RowLog(self._db), AnswerLog(self._db), DecisionLog(self._db)
        self.contributions = ContributionLog(self._db)

    def close(self) -> None:
        """Close the database; what was not committed is lost."""
        with suppress(apsw.Error):  # the file of new pages, which was not written to the database, has everything
            self._db.close(True)

    # --- transactions ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction."""
        self._db.execute("BEGIN")

    def commit(self) -> None:
        """Make everything since :meth:`begin` durable."""
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Undo everything since :meth:`begin`."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    # --- models ------------------------------------------------------------------------------------------------------

    def models(self) -> list[StoredModel]:
        """Return the models that were not deleted."""
        rows = self._db.execute("SELECT number, name, created FROM models WHERE deleted IS NULL ORDER BY number")
        return [StoredModel(*row) for row in rows]

    def model(self, name: str) -> StoredModel | None:
        """Return the model of a name, unless it was deleted."""
        return next((stored for stored in self.models() if stored.name == name), None)

    def add_model(self, name: str) -> int:
        """Add a model; return its number, which no other model ever gets."""
        self._db.execute("INSERT INTO models(name, created) VALUES (?, ?)", (name, now()))
        return self._db.last_insert_rowid()

    def unmake_model(self, number: int) -> None:
        """Remove a model that was added in this transaction."""
        self._db.execute("DELETE FROM models WHERE number = ?", (number,))
        self._db.execute("DELETE FROM versions WHERE model = ?", (number,))

    def delete_model(self, number: int) -> None:
        """Delete a model with all its events."""
        self._db.execute("UPDATE models SET deleted = ? WHERE number = ?", (now(), number))
        self._db.execute("DELETE FROM events WHERE model = ?", (number,))
        for table in ("positions", "versions", "batches"):
            self._db.execute(f"DELETE FROM {table} WHERE model = ?", (number,))
        self.decisions.forget_model(number)

    # --- followed sources --------------------------------------------------------------------------------------------

    def position(self, model: int, source: str) -> int:
        """Return the position up to which a model has learned a source."""
        found = self._db.execute(
            "SELECT position FROM positions WHERE model = ? AND source = ?", (model, source)
        ).fetchone()
        return 0 if found is None else int(found[0])

    def set_position(self, model: int, source: str, position: int) -> None:
        """Store the position up to which a model has learned a source."""
        self._db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (model, source, position))

    # --- examples ----------------------------------------------------------------------------------------------------

    def find(self, model: int, id: str) -> Stored | None:
        """Return the event that has an id; without its features, label and note if it is erased."""
        row = self._db.execute(
            "SELECT seq, kind, features, label, weight, note, time FROM events WHERE model = ? AND id = ?", (model, id)
        ).fetchone()
        if row is None:
            return None
        found = Stored(id, row[0], Event(row[1]), *row[2:])
        if found.features is not None and self.erasure_of(found.seq) is not None:
            return found._replace(features=None, label=None, note=None)
        return found

    def get(self, model: int, id: str, pointer: str | None = None) -> Stored:
        """Return the event that has an id.

        Raises
        ------
        Problem
            If there is none; the pointer says where the id stands in the request.
        """
        found = self.find(model, id)
        if found is None:
            raise Problem("unknown-id", f"no row has the id {id!r}", pointer)
        return found

    def label_of(self, example: int) -> tuple[int, bytes] | None:
        """Return the last label of an example and its event, if it has one: a correction counts, an answer does not."""
        return self._db.execute(
            f"SELECT seq, label FROM events WHERE label IS NOT NULL AND (seq = ?1 AND kind = {Event.LEARN} OR seq IN "
            f"(SELECT seq FROM events WHERE example = ?1 AND kind IN {LABELS})) ORDER BY seq DESC LIMIT 1",
            (example,),
        ).fetchone()

    def history(self, example: int) -> list[tuple[int, Event, bytes | None, bytes | None, int]]:
        """Return event, kind, label, note and time of everything about an example, in order."""
        rows = self._db.execute(
            "SELECT seq, kind, label, note, time FROM events WHERE seq = ?1 OR example = ?1 ORDER BY seq", (example,)
        )
        return [(seq, Event(kind), *rest) for seq, kind, *rest in rows]

    def add(
        self, model: int, kind: Event, id: str | None = None, example: int | None = None,
        features: bytes | None = None, label: bytes | None = None, weight: float | None = None,
        note: bytes | None = None, batch: int | None = None, version: int | None = None,
    ) -> int:  # fmt: skip
        """Append an event; return its number."""
        self._db.execute(
            "INSERT INTO events(model, kind, id, example, features, label, weight, note, time, batch, version) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (model, kind, id, example, features, label, weight, note, now(), batch, version),
        )
        return self._db.last_insert_rowid()

    def unpark(self, seq: int) -> None:
        """Delete a parked label or an old prediction, whose id a row takes, or a second answer."""
        self._db.execute("DELETE FROM events WHERE seq = ?", (seq,))
        self.decisions.forget(seq)

    def erasure_of(self, example: int) -> int | None:
        """Return the event with which an example was erased."""
        row = self._db.execute(
            f"SELECT seq FROM events WHERE example = ? AND kind = {Event.ERASURE} LIMIT 1", (example,)
        ).fetchone()
        return None if row is None else int(row[0])

    def is_taught(self, example: int) -> bool:
        """Return whether models learn an example: it came with a label, or got one."""
        row = self._db.execute(
            f"SELECT 1 FROM events WHERE seq = ?1 AND kind = {Event.LEARN} OR seq IN "
            f"(SELECT seq FROM events WHERE example = ?1 AND kind IN {LABELS}) LIMIT 1",
            (example,),
        ).fetchone()
        return row is not None

    def overwrite(self, example: int) -> None:
        """Overwrite the features, labels and notes of an erased example."""
        self._db.execute(
            "UPDATE events SET features = NULL, label = NULL, note = NULL WHERE seq = ?1 OR example = ?1 "
            f"OR kind = {Event.SET_ASIDE} AND example IN (SELECT seq FROM events WHERE example = ?1)", (example,),
        )  # fmt: skip
        self.decisions.forget(example)

    def to_overwrite(self, model: int) -> list[tuple[int, int]]:
        """Return the examples that are erased and not overwritten yet, and the events of their erasure."""
        rows = self._db.execute(
            f"SELECT example, seq FROM events WHERE model = ? AND kind = {Event.ERASURE} AND note IS NOT NULL",
            (model,),
        )
        return list(rows)

    def expire(self, model: int, before: int) -> list[str]:
        """Overwrite the features of predictions older than a time that have no label; return their ids."""
        rows: Any = self._db.execute(
            f"UPDATE events SET features = NULL, note = NULL WHERE model = ? AND kind = {Event.PREDICTION} "
            "AND features IS NOT NULL AND time < ? AND NOT EXISTS (SELECT 1 FROM events b WHERE b.example = events.seq "
            f"AND b.kind IN ({Event.LABEL}, {Event.ANSWER})) "
            "RETURNING seq, id",
            (model, before),
        )
        found = []
        for seq, id in rows.fetchall():
            self.decisions.forget(seq)
            found.append(id)
        return found

    # --- set aside ---------------------------------------------------------------------------------------------------

    def set_aside(self, model: int, version: int, seq: int, reason: str) -> None:
        """Exclude an event, since a version of the model could not learn it."""
        if self.why_aside(version, seq) is None:
            self.add(model, Event.SET_ASIDE, example=seq, note=msgspec.json.encode(reason), version=version)

    def why_aside(self, version: int, seq: int) -> str | None:
        """Return why an event was set aside by a version, or None if it was not."""
        row = self._db.execute(
            f"SELECT note FROM events WHERE example = ? AND kind = {Event.SET_ASIDE} AND version = ? LIMIT 1",
            (seq, version),
        ).fetchone()
        return None if row is None else reason_in(row[0])

    def n_aside(self, model: int, version: int) -> int:
        """Return the number of events that a version of a model has set aside."""
        of_version = f"model = {model:d} AND {RARE} AND kind = {Event.SET_ASIDE} AND version = {version:d}"
        return int(self._value(f"SELECT count(*) FROM events WHERE {of_version}"))

    def aside(self, model: int, version: int, after: int, limit: int) -> list[Row]:
        """Return the next events that a version has set aside, in the order of that.

        ``example`` is the event of setting aside, ``note`` the reason; what is erased has neither features nor label,
        nor has a contribution of another server.
        """
        rows: list[tuple[Any, ...]] = self._db.execute(
            "SELECT e.seq, e.kind, coalesce(e.id, x.id), coalesce(e.features, x.features), e.label, "
            "coalesce(e.weight, x.weight, 1.0), e.time, a.seq, a.note, coalesce(e.example, e.seq) "
            "FROM events a JOIN events e ON e.seq = a.example LEFT JOIN events x ON x.seq = e.example "
            f"WHERE a.model = ? AND a.{RARE} AND a.kind = {Event.SET_ASIDE} AND a.version = ? AND a.seq > ? "
            "ORDER BY a.seq LIMIT ?",
            (model, version, after, limit),
        ).fetchall()
        erased = {example for example, _ in self.to_overwrite(model)}
        found = [(Row(row[0], Event(row[1]), *row[2:9]), row[9]) for row in rows]
        found = [(row._replace(features=None) if row.kind == Event.MERGE else row, example) for row, example in found]
        return [
            row._replace(features=None, label=None, note=None) if example in erased else row for row, example in found
        ]

    # --- reading in order --------------------------------------------------------------------------------------------

    def taught(self, basis: Basis, after: int, limit: int) -> list[Row]:
        """Return the next events that a version learns, merges, and the erasures of what it learned, in order.

        Labels are those after the edits that are of consequence for it. Rows that its basis excludes, and those that
        are erased but not overwritten yet, have no features. Contributions of other servers are merged again even
        where they were set aside before, since they then take the place of earlier ones.
        """
        erased = {example for example, seq in self.to_overwrite(basis.model) if seq <= basis.until}
        rows = self._rows(
            f"e.model = ? AND e.seq > ? AND (e.kind IN ({Event.LEARN}, {Event.LABEL}, {Event.CORRECTION}) "
            f"AND {NOT_SET_ASIDE} {basis.edits.left()} OR e.kind = {Event.MERGE} "
            f"OR e.kind = {Event.ERASURE} AND (x.kind = {Event.LEARN} "
            f"OR EXISTS (SELECT 1 FROM events b WHERE b.example = e.example AND b.kind IN {LABELS})))",
            (basis.model, after, basis.version, limit),
        )
        if erased:
            rows = [row._replace(features=None, label=None) if row.example in erased else row for row in rows]
        return [row._replace(label=basis.edits.label(row.seq, row.label)) for row in rows] if basis.edits else rows

    def last_of(self, model: int, kind: Event) -> int:
        """Return the last event of a kind; 0 if there was none."""
        [(found,)] = self._db.execute(
            f"SELECT coalesce(max(seq), 0) FROM events WHERE model = ? AND {RARE} AND kind = ?", (model, kind)
        )
        return int(found)

    def last_note(self, model: int, kind: Event) -> bytes | None:
        """Return the note of the last event of a kind that has one."""
        row = self._db.execute(
            f"SELECT note FROM events WHERE model = ? AND {RARE} AND kind = ? AND note IS NOT NULL "
            "ORDER BY seq DESC LIMIT 1", (model, kind),
        ).fetchone()  # fmt: skip
        return None if row is None else row[0]

    def unlabelled(self, model: int, limit: int) -> list[Row]:
        """Return the newest predictions without a label or an answer, the newest first."""
        return self._rows(
            f"e.model = ? AND e.kind = {Event.PREDICTION} AND e.features IS NOT NULL AND NOT EXISTS "
            f"(SELECT 1 FROM events b WHERE b.example = e.seq AND b.kind IN ({Event.LABEL}, {Event.ERASURE}))",
            (model, limit), "e.time DESC, e.seq DESC",
        )  # fmt: skip

    def predictions(self, model: int, after: int) -> Iterator[tuple[int, bool]]:
        """Yield the stored predictions after an event, and whether they asked for a label."""
        for seq, note in self._db.execute(
            f"SELECT seq, note FROM events WHERE model = ? AND kind = {Event.PREDICTION} AND seq > ? "
            "AND note IS NOT NULL ORDER BY seq", (model, after),
        ):  # fmt: skip
            yield seq, bool(msgspec.json.decode(note)["ask"])

    def last(self) -> int:
        """Return the number of the last event."""
        return int(self._value("SELECT coalesce(max(seq), 0) FROM events"))

    def counts(self, model: int) -> dict[str, int]:
        """Return the number of events of each kind."""
        rows = self._db.execute("SELECT kind, count(*) FROM events WHERE model = ? GROUP BY kind", (model,))
        return {Event(kind).name.lower(): n for kind, n in rows}

    def _rows(self, which: str, values: tuple[Any, ...], order: str = "e.seq") -> list[Row]:
        rows = self._db.execute(
            "SELECT e.seq, e.kind, coalesce(e.id, x.id), coalesce(e.features, x.features), e.label, "
            "coalesce(e.weight, x.weight, 1.0), e.time, coalesce(e.example, e.seq), e.note "
            f"FROM events e LEFT JOIN events x ON x.seq = e.example WHERE {which} ORDER BY {order} LIMIT ?",
            values,
        )
        return [Row(seq, KINDS[kind], *rest) for seq, kind, *rest in rows]

    # --- the file ----------------------------------------------------------------------------------------------------

    def copy_to(self, path: str | os.PathLike[str]) -> Generator[None]:
        """Copy the database into a new file, some pages at a time; yield between them."""
        with closing(apsw.Connection(os.fspath(path))) as target, target.backup("main", self._db, "main") as backup:
            while not backup.done:
                backup.step(PAGES_PER_STEP)
                yield None

    def truncate(self) -> None:
        """Write everything to the database and empty the file before it, which may hold what was overwritten."""
        with suppress(apsw.FullError, apsw.BusyError, apsw.LockedError):  # it will be done later
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def shrink(self) -> Generator[None]:
        """Give unused pages of the file back to the file system, some at a time; yield between them.

        Files of versions before this one keep them for later rows.
        """
        free = left = self._value("PRAGMA freelist_count")
        while left:
            self._db.execute(f"PRAGMA incremental_vacuum({PAGES_PER_STEP})").fetchall()
            before, left = left, self._value("PRAGMA freelist_count")
            if left == before:
                break
            yield None
        if left < free:
            self.truncate()

    def faults(self) -> list[str]:
        """Return what is wrong with the file; empty if nothing is."""
        return faults(self._db)

    def _value(self, statement: str) -> Any:
        [(value,)] = self._db.execute(statement)
        return value


def reason_in(note: bytes | None) -> str:
    """Return the reason in the note of an event that sets another one aside."""
    return "erased" if note is None else str(msgspec.json.decode(note))


def same_json(first: bytes | None, second: bytes | None) -> bool:
    """Return whether two texts are the same JSON, whatever the order of keys, the spaces and vectors."""
    if first is None or second is None or first == second:
        return first == second
    first, second = without_vector(first), without_vector(second)
    try:
        return bool(msgspec.json.decode(first) == msgspec.json.decode(second))
    except ValueError:  # of an older version, which accepted numbers and bytes that this decoder rejects
        return False


def refuse_other_content(id: str) -> Problem:
    """Return the problem of an id that was used with another content."""
    return Problem("other-content", f"the id {id!r} was used with other content; use a new id for a new row", "/id")
