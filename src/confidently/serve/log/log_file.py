"""The file of the log: opening it, and checking that a server has made it, since it may come from elsewhere."""

from __future__ import annotations

import os
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from ...wording import counted
from .events import SCHEMA_VERSION, SCHEMAS, Event, State

FILE = "events.db"
STOP_SECONDS = 2  # to wait for a server that is about to stop
BUSY_SENTENCE = "another server uses this directory; stop it first, or choose another directory"
OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"
STRANGE = {  # what no server writes
    "model": "typeof(name) != 'text' OR typeof(created) != 'integer'",
    "version": (
        "typeof(settings) != 'blob' OR typeof(has_file) != 'integer' OR typeof(begun) != 'integer' "
        f"OR state NOT IN {tuple(map(str, State))} OR typeof(reason) != 'text' OR typeof(created) != 'integer'"
    ),
    "event": (
        "typeof(model) != 'integer' OR typeof(kind) != 'integer' OR typeof(time) != 'integer' "
        f"OR kind NOT BETWEEN {min(Event)} AND {max(Event)} OR typeof(id) NOT IN ('text', 'null') "
        "OR typeof(example) NOT IN ('integer', 'null') OR typeof(features) NOT IN ('blob', 'null') "
        "OR typeof(label) NOT IN ('blob', 'null') OR typeof(note) NOT IN ('blob', 'null') "
        "OR weight IS NOT NULL AND (typeof(weight) != 'real' OR weight NOT BETWEEN 0 AND 1e9) "
        "OR typeof(batch) NOT IN ('integer', 'null') OR typeof(version) NOT IN ('integer', 'null')"
    ),
    "list": "typeof(model) != 'integer' OR typeof(digest) != 'blob' OR typeof(content) != 'blob'",
    "choice": "typeof(numbers) != 'blob' OR list NOT IN (SELECT number FROM lists)",
}


class LogError(Exception):
    """The log cannot be opened; the message is one sentence for the user."""


def open_log(folder: str | os.PathLike[str], vfs: str | None = None) -> apsw.Connection:
    """Return a connection to the log of a directory, created if there is none; parameters and errors: EventLog."""
    path = Path(folder) / FILE
    try:
        db = apsw.Connection(os.fspath(path), vfs=vfs, statementcachesize=64)
        try:
            _prepare(db, path)
        except BaseException:
            db.close(True)
            raise
    except apsw.BusyError:
        raise LogError(f"{folder}: {BUSY_SENTENCE}") from None
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise damaged(path, error) from None
    except (apsw.IOError, apsw.FullError) as error:
        raise LogError(f"{path} cannot be opened ({error})") from None
    except apsw.CantOpenError:
        raise PermissionError(13, "cannot be opened for writing", os.fspath(path)) from None
    except apsw.ReadOnlyError:
        raise PermissionError(13, "cannot be written", os.fspath(path)) from None
    return db


def damaged(path: Path, error: apsw.Error) -> LogError:
    """Return the error of a log that SQLite finds damaged."""
    return LogError(f"{path} is damaged ({error}); restore a backup")


def faults(db: apsw.Connection) -> list[str]:
    """Return what is wrong with the file: its pages, as SQLite finds, or its values; empty if nothing is."""
    found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)")]
    if found != ["ok"]:
        return found
    return [
        f"{counted(n, one)} of the log cannot be what a server wrote"
        for one, condition in STRANGE.items()
        for (n,) in db.execute(f"SELECT count(*) FROM {one}s WHERE {condition}")
        if n
    ]


def _prepare(db: apsw.Connection, path: Path) -> None:
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)  # a stranger may have written the file
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # statements are planned once, not again for every value
    db.execute("PRAGMA cell_size_check = ON")
    db.set_busy_timeout(1000 * STOP_SECONDS)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    db.execute("PRAGMA secure_delete = ON")  # erased rows are overwritten
    db.execute("PRAGMA cache_size = -16384")
    [(version,)] = db.execute("PRAGMA user_version")
    if version > SCHEMA_VERSION:
        raise LogError(f"{path} is of a later version of confidently; upgrade it")
    _check_schema(db, path, version)
    db.execute("BEGIN IMMEDIATE")  # takes the lock, which is kept
    for schema in SCHEMAS[version:]:
        db.execute(schema)
    if version < SCHEMA_VERSION:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")


def _check_schema(db: apsw.Connection, path: Path, version: int) -> None:
    """Raise a ``LogError`` unless the file has exactly the tables and indexes of a log of a version."""
    other = set(db.execute(OBJECTS)) ^ _schema(version)
    if other:
        kind, name = min(other)[:2]
        raise LogError(
            f"{path} is not a log of confidently: the {kind} {name[:80]!r} is not one that a server makes; "
            "restore a backup that you trust"
        )


@cache
def _schema(version: int) -> frozenset[Any]:
    """Return what the schema of a log of a version is made of; of none, nothing."""
    with closing(apsw.Connection(":memory:")) as db:
        for schema in SCHEMAS[:version]:
            db.execute(schema)
        return frozenset(db.execute(OBJECTS))
