"""Disks that fail, and disks that lose power: virtual file systems of SQLite."""

import threading
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import apsw

CALLS = ("write", "sync", "read", "truncate", "size", "open")
BASE = apsw.vfs_names()[0]  # of this system
SECTOR = 512  # bytes that a disk writes whole


class Disk(apsw.VFS):
    """A virtual file system that tells :meth:`called` of every call; a context that registers it."""

    def __init__(self, name):
        super().__init__(name, base=BASE)
        self.name, self.lock = name, threading.RLock()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.unregister()

    def xOpen(self, name, flags):
        path = name if name is None or isinstance(name, str) else name.filename()
        self.called("open", path)
        return File(self, path, name, flags)

    def xDelete(self, name, sync):
        self.called("delete", name)
        super().xDelete(name, sync)

    def called(self, what, path, *details):
        pass


class File(apsw.VFSFile):
    def __init__(self, disk, path, name, flags):
        super().__init__(BASE, name, flags)
        self.disk, self.path = disk, path

    def xWrite(self, data, offset):
        self.disk.called("write", self.path, bytes(data), offset)
        super().xWrite(data, offset)

    def xSync(self, flags):
        self.disk.called("sync", self.path)
        super().xSync(flags)

    def xRead(self, amount, offset):
        self.disk.called("read", self.path)
        return super().xRead(amount, offset)

    def xTruncate(self, size):
        self.disk.called("truncate", self.path, size)
        super().xTruncate(size)

    def xFileSize(self):
        self.disk.called("size", self.path)
        return super().xFileSize()


class FailingDisk(Disk):
    """A disk of which calls of one kind fail, from one of them on, as often as is said.

    Attributes
    ----------
    seen : int
        Calls of that kind.
    """

    def __init__(self, name, call, first=None, times=1, error=apsw.IOError):
        super().__init__(name)
        self.call, self.first, self.times, self.error, self.seen = call, first, times, error, 0
        self.failed = 0

    def called(self, what, path, *details):
        with self.lock:
            if what != self.call:
                return
            self.seen += 1
            if self.first is not None and self.seen >= self.first and self.failed < self.times:
                self.failed += 1
                raise self.error(f"{what} fails")


class RecordingDisk(Disk):
    """A disk that remembers what was written, and when it was made to last; :meth:`after_a_cut` is what power leaves.

    Marks stand for what was acknowledged.
    """

    def __init__(self, name):
        super().__init__(name)
        self.record = []

    def called(self, what, path, *details):
        if what in ("write", "sync", "truncate", "delete", "open"):
            with self.lock:
                self.record.append((what, path, *details))

    def mark(self, what):
        with self.lock:
            self.record.append(("mark", None, what))

    def after_a_cut(self, at, chance, folder):
        """Write the files as a disk may have them that loses power after ``at`` calls; return the marks before.

        Of what was not synced, any part may be there, in any order, torn between sectors.
        """
        files, waiting, marks = {}, defaultdict(list), []
        for what, path, *details in self.record[:at]:
            if what == "mark":
                marks.append(details[0])
            elif what == "open":
                files.setdefault(path, bytearray())
            elif what == "delete":
                files.pop(path, None)
                waiting.pop(path, None)
            elif what == "sync":
                for change in waiting.pop(path, ()):
                    apply(files[path], *change)
            else:
                waiting[path].append((what, *details))
        for path, changes in waiting.items():
            for change in survivors(changes, chance):
                apply(files[path], *change)
        folder.mkdir()
        for path, content in files.items():
            Path(folder, Path(path).name).write_bytes(content)
        return marks


def survivors(changes, chance):
    """What reaches a disk of changes that were not synced: pieces of them, in any order."""
    pieces = []
    for what, *details in changes:
        if what == "truncate":
            pieces.append((what, *details))
            continue
        data, offset = details
        cuts = [0, *range(SECTOR - offset % SECTOR, len(data), SECTOR), len(data)]
        pieces += [("write", data[a:b], offset + a) for a, b in pairwise(cuts)]
    share = chance.choice([0.0, 0.3, 0.7, 1.0])
    kept = [piece for piece in pieces if chance.random() < share]
    if chance.random() < 0.5:
        chance.shuffle(kept)
    return kept


def apply(content, what, *details):
    if what == "truncate":
        del content[details[0] :]
        return
    data, offset = details
    content.extend(bytes(max(offset - len(content), 0)))
    content[offset : offset + len(data)] = data
