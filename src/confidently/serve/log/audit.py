"""The audit log: who has taught, changed or deleted what. It is a file of JSON lines of bounded size."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

FILE = "audit.jsonl"
EARLIER = re.compile(r"audit-([0-9]{12})\.jsonl")  # with the number of its first entry
MAX_BYTES = 16 << 20  # of a file; the next entry begins another one
KEPT = 4  # earlier files
WAITING = 10_000  # entries that a full disk may keep waiting

Taught = tuple[str | None, str, str, str]  # token, action, model and query


class AuditEntry(msgspec.Struct):
    """Who has taught, changed or deleted what.

    ``action`` is the name of the route. Rows and labels that were acknowledged within a second for the same token,
    model and query are one entry, with their number as ``rows``, repeated ones among them; its ``request`` is null.

    Of a followed source, whose name is the ``id``, there are entries ``begin_follow``, ``follow`` and ``end_follow``,
    with the rows since the entry before.
    """

    n: int
    time: float
    token: str | None
    action: str
    model: str | None
    id: str | None
    query: str
    rows: int
    requests: int
    request: str | None


_decoder, _encoder = msgspec.json.Decoder(AuditEntry), msgspec.json.Encoder()


class Audit:
    """The audit log of a directory; of any thread.

    Entries of rows are added up until the next :meth:`flush`; the others are written at once.

    Parameters
    ----------
    folder : path
    say : callable
        Called with a line about an error of the disk.
    """

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda line: None) -> None:
        self.folder, self.path, self.say = folder, folder / FILE, say
        self._lock = threading.Lock()
        self._waiting = list[AuditEntry]()
        self._taught: dict[Taught, tuple[int, int]] = {}  # requests and rows
        self._size = self._complete_last_line()
        self._last = max((entry.n for entry in self._read(self._files()[-2:], 0)), default=0)
        self._is_broken = False

    def taught(self, token: str | None, action: str, model: str, query: str, rows: int) -> None:
        """Note that rows were acknowledged."""
        key = (token, action, model, query)
        with self._lock:
            requests, before = self._taught.get(key, (0, 0))
            self._taught[key] = (requests + 1, before + rows)

    def changed(
        self, token: str | None, action: str, model: str | None, id: str | None, query: str, request: str
    ) -> None:
        """Note that something was changed or deleted, after the rows that were taught before it."""
        self._write_after_taught(AuditEntry(0, 0.0, token, action, model, id, query, 0, 1, request))

    def followed(self, action: str, model: str, source: str, rows: int) -> None:
        """Note that a model follows a source, and how many rows it has learned of it since the entry before."""
        self._write_after_taught(AuditEntry(0, 0.0, None, action, model, source, "", rows, 0, None))

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            self._take_taught()
            self._write()

    def lines(self, after: int = 0) -> Iterator[AuditEntry]:
        """Yield the entries after a number, the oldest first; of any thread."""
        files = self._files()
        begun = sum(int(path.stem[-12:]) <= after + 1 for path in files[:-1])
        return self._read(files[max(begun - 1, 0) :], after)

    # --- the files ---------------------------------------------------------------------------------------------------

    def _files(self) -> list[Path]:
        """Return the files, the oldest first."""
        earlier = [path for path in self.folder.glob("audit-*.jsonl") if EARLIER.fullmatch(path.name)]
        return [*sorted(earlier), self.path]

    def _read(self, files: list[Path], after: int) -> Iterator[AuditEntry]:
        for path in files:
            with suppress(FileNotFoundError), open(path, "rb") as file:
                for line in file:
                    with suppress(msgspec.DecodeError):  # of a line that was cut off
                        entry = _decoder.decode(line)
                        if entry.n > after:
                            yield entry

    def _complete_last_line(self) -> int:
        """End a line that was cut off; return the size of the file."""
        if not self.path.exists():
            return 0
        with open(self.path, "rb+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            if file.read(1) not in (b"", b"\n"):
                size += file.write(b"\n")
            return size

    def _write_after_taught(self, entry: AuditEntry) -> None:
        with self._lock:
            self._take_taught()
            self._add(entry)
            self._write()

    def _take_taught(self) -> None:
        taught, self._taught = self._taught, {}
        for (token, action, model, query), (requests, rows) in taught.items():
            self._add(AuditEntry(0, 0.0, token, action, model, None, query, rows, requests, None))

    def _add(self, entry: AuditEntry) -> None:
        self._last += 1
        entry.n, entry.time = self._last, time.time()
        self._waiting.append(entry)

    def _write(self) -> None:
        if not self._waiting:
            return
        try:
            if self._size > MAX_BYTES:
                self._begin_file()
            content = _encoder.encode_lines(self._waiting)
            with open(self.path, "ab") as file:
                file.write(content)
        except OSError as error:
            if not self._is_broken:
                self.say(f"the audit log cannot be written ({error.strerror}); its entries wait")
            self._is_broken = True
            with suppress(OSError):
                os.truncate(self.path, self._size)  # without what was written of them
            del self._waiting[:-WAITING]
            return
        self._is_broken = False
        self._waiting.clear()
        self._size += len(content)

    def _begin_file(self) -> None:
        """Move the file away, and delete the oldest."""
        first = next((entry.n for entry in self._read([self.path], 0)), self._last)
        os.replace(self.path, self.folder / f"audit-{first:012d}.jsonl")
        self._size = 0
        for old in self._files()[: -1 - KEPT]:
            old.unlink(missing_ok=True)
