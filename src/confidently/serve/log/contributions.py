"""What other servers have contributed to models: of each server what it sent last, and who sent it."""

from __future__ import annotations

import secrets

import apsw
import msgspec

from .events import RARE, Event, now


class Source(msgspec.Struct, frozen=True):
    """Where a contribution is from.

    Attributes
    ----------
    origin : str
        The name of the model of the other server.
    seq : int
        The last event of that server's log that it has.
    rows : int
        How many rows of that server it has.
    digest : str
        The SHA-256 of the contribution.
    own : str
        The name of the model that merged it.
    """

    origin: str
    seq: int
    rows: int
    digest: str
    own: str


class ContributionLog:
    """Contributions in the log; of the thread that has the connection.

    Parameters
    ----------
    db : apsw.Connection
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def origin(self, model: int) -> str:
        """Return the name of a model for other servers, which is made up the first time."""
        row = self._db.execute(
            f"SELECT note FROM events WHERE model = ? AND {RARE} AND kind = {Event.ORIGIN} LIMIT 1", (model,)
        ).fetchone()
        if row is not None:
            return bytes(row[0]).decode()
        found = secrets.token_hex(8)
        self._db.execute(
            "INSERT INTO events(model, kind, note, time) VALUES (?, ?, ?, ?)",
            (model, Event.ORIGIN, found.encode(), now()),
        )
        return found

    def of(self, model: int) -> dict[str, tuple[int, Source]]:
        """Return by origin the event of what was merged last, and its source."""
        rows = self._db.execute(
            f"SELECT seq, note FROM events WHERE model = ? AND {RARE} AND kind = {Event.MERGE}", (model,)
        )
        sources = [(int(seq), msgspec.json.decode(note, type=Source)) for seq, note in rows]
        return {source.origin: (seq, source) for seq, source in sources}

    def add(self, model: int, source: Source, content: bytes) -> int:
        """Append a contribution, in the place of the one before of the same origin; return its event."""
        before = self.of(model).get(source.origin)
        if before is not None:
            self._db.execute("DELETE FROM events WHERE seq = ?1 OR example = ?1", (before[0],))
        self._db.execute(
            "INSERT INTO events(model, kind, features, note, time) VALUES (?, ?, ?, ?, ?)",
            (model, Event.MERGE, content, msgspec.json.encode(source), now()),
        )
        return self._db.last_insert_rowid()
