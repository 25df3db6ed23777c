"""Power cuts: what a disk may hold if the power fails after any of the recorded operations.

What was written to a file and not synced may be there or not, wholly or in part. Names that were created, changed or
removed since the folder was last synced may be so or not, in their order. No other help is expected of the file system.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Operation(NamedTuple):
    """One record of faults.c."""

    kind: str
    inode: int
    other: int
    data: bytes


def operations(log: bytes) -> list[Operation]:
    """Return the records of a log, in order."""
    found, at = [], 0
    while at < len(log):
        end = log.index(b"\n", at)
        kind, inode, other, size = log[at:end].split()
        at = end + 1 + int(size)
        found.append(Operation(kind.decode(), int(inode), int(other), log[end + 1 : at]))
    return found


@dataclass
class File:
    """A file: what it holds, and what of it is on the disk for sure."""

    content: bytes = b""
    synced: bytes = b""

    def after_power_cut(self) -> Iterator[bytes]:
        """Yield what may be found: all, what was synced, and something between."""
        half = self.content[: len(self.content) // 2]
        yield from dict.fromkeys([self.content] if self.content == self.synced else [self.content, self.synced, half])


Names = dict[str, File]


@dataclass
class Disk:
    """A folder, as the process sees it and as it may be found after a power cut."""

    names: Names
    pending: list[Names] = field(default_factory=list)  # what the names were, since the folder was synced
    files: dict[int, File] = field(default_factory=dict)
    complete: dict[str, set[bytes]] = field(default_factory=dict)  # contents that appeared under a name

    @classmethod
    def holding(cls, contents: dict[str, bytes]) -> Disk:
        """Return a disk with files that were synced long ago."""
        disk = cls({name: File(content, content) for name, content in contents.items()})
        disk.complete = {name: {content} for name, content in contents.items()}
        return disk

    def apply(self, operation: Operation) -> None:
        """Change the disk as an operation does."""
        kind, inode, other, data = operation
        names = [Path(path.decode()).name for path in data.split(b"\0")] if kind in "cru" else []
        if kind in "cru":
            self.pending.append(dict(self.names))
        if kind == "c":
            self.names[names[0]] = self.files[inode] = File()
        elif kind == "w":
            file = self.files[inode]
            file.content = file.content[:other].ljust(other, b"\0") + data + file.content[other + len(data) :]
        elif kind == "t":
            self.files[inode].content = self.files[inode].content[:other]
        elif kind == "s":
            self.files[inode].synced = self.files[inode].content
        elif kind == "d":
            self.pending = []
        elif kind == "r":
            file = self.names.pop(names[0])
            self.names[names[1]] = file
            self.complete.setdefault(names[1], set()).add(file.content)
        elif kind == "u":
            del self.names[names[0]]

    def after_power_cut(self) -> Iterator[Names]:
        """Yield the names that may be found."""
        yield from [*self.pending, self.names]


def check_power_cuts(log: bytes, before: dict[str, bytes], finished: dict[str, bytes]) -> int:
    """Check every power cut; return how many there were.

    Whatever has a final name is whole: what it was before, or what was renamed to it. After the last operation it is
    the finished file.
    """
    disk, n = Disk.holding(before), 0
    steps = operations(log)
    for k, operation in enumerate(steps):
        disk.apply(operation)
        for names in disk.after_power_cut():
            for name, file in names.items():
                if name.startswith(".") or name.endswith(".partial"):
                    continue
                for found in file.after_power_cut():
                    n += 1
                    assert found in disk.complete[name], f"{name} is torn if the power fails after operation {k + 1}"
    for names in disk.after_power_cut():
        for name, content in finished.items():
            assert set(names[name].after_power_cut()) == {content} or names[name].synced == content, f"{name} is lost"
            assert names[name].content == content, f"{name} is lost"
    return n
