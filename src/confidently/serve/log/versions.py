"""The versions of models in the log: settings, and how far each has come in life."""

from __future__ import annotations

import apsw

from .events import RARE, Event, State, StoredVersion, now


class Versions:
    """The table of versions; of the thread that has the connection.

    Parameters
    ----------
    db : apsw.Connection
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def of(self, model: int) -> list[StoredVersion]:
        """Return the versions of a model, in the order in which they were made."""
        rows = self._db.execute(
            "SELECT model, number, settings, has_file, begun, state, reason, created FROM versions WHERE model = ? "
            "ORDER BY number", (model,),
        )  # fmt: skip
        return [
            StoredVersion(of, number, settings, bool(has_file), begun, State(state), reason, created)
            for of, number, settings, has_file, begun, state, reason, created in rows
        ]

    def live(self, model: int) -> StoredVersion:
        """Return the version that answers."""
        return next(version for version in self.of(model) if version.state == State.LIVE)

    def add(
        self, model: int, settings: bytes, has_file: bool, begun: int, state: State, reason: str
    ) -> StoredVersion:  # fmt: skip
        """Add a version with the next number."""
        number = max((version.number for version in self.of(model)), default=0) + 1
        added = StoredVersion(model, number, settings, has_file, begun, state, reason, now())
        self._db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", added)
        return added

    def begin(self, version: StoredVersion, begun: int, state: State) -> StoredVersion:
        """Begin to train a version from the first row."""
        self._db.execute(
            "UPDATE versions SET begun = ?, state = ? WHERE model = ? AND number = ?",
            (begun, state, version.model, version.number),
        )
        self._forget_aside(version)
        return version._replace(begun=begun, state=state)

    def set_state(self, version: StoredVersion, state: State) -> StoredVersion:
        """Change the state of a version; one that is retired loses what it had set aside."""
        self._db.execute(
            "UPDATE versions SET state = ? WHERE model = ? AND number = ?", (state, version.model, version.number)
        )
        if state == State.RETIRED:
            self._forget_aside(version)
        return version._replace(state=state)

    def set_settings(self, version: StoredVersion, settings: bytes) -> StoredVersion:
        """Change settings that do not matter for what was learned."""
        self._db.execute(
            "UPDATE versions SET settings = ? WHERE model = ? AND number = ?",
            (settings, version.model, version.number),
        )
        return version._replace(settings=settings)

    def _forget_aside(self, version: StoredVersion) -> None:
        self._db.execute(
            f"DELETE FROM events WHERE model = ? AND {RARE} AND kind = {Event.SET_ASIDE} AND version = ?",
            (version.model, version.number),
        )
