"""The file of a binary cache: a header, blocks of arrays and an index, all covered by checksums.

docs/cache-file.md describes the format, and :mod:`confidently.data.cache.building` the meaning of the arrays.
"""

from __future__ import annotations

import io
import json
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from isal.isal_zlib import crc32

from ... import _core
from ..batch import DataError
from ..sources.json_schema import Count, conform, parse
from ..sources.whole_files import PARTIAL, WINDOWS, commit, naming
from .origin import MAGIC

CACHE_FORMAT = 1
END_MAGIC = MAGIC[::-1]
ALIGNMENT = 64  # of the header's end and of every array: a cache line
PROLOGUE = struct.Struct("<16sQII")  # magic, size and CRC-32 of the header, CRC-32 of the prologue before it
TRAILER = struct.Struct("<QQII16s")  # offset, size and CRC-32 of the index, CRC-32 of the trailer before it, magic

Arrays: TypeAlias = "dict[str, np.ndarray]"
KINDS = {  # the types of arrays, as the index has them, and their names
    "<f8": "float64", "<f4": "float32", "<i8": "int64", "<i4": "int32", "<u4": "uint32", "|u1": "uint8",
}  # fmt: skip
Kind = Literal["<f8", "<f4", "<i8", "<i4", "<u4", "|u1"]  # of an array, as NumPy writes it


class CacheFileError(DataError):
    """A cache is damaged, truncated, of another version, or being written."""


class Block(NamedTuple):
    """The offset, size and checksum of a block, its arrays (name: type and length) and other details."""

    offset: Count
    bytes: Count
    crc32: Count
    arrays: dict[str, tuple[Kind, Count]]
    details: dict[str, Any]


class CacheWriter:
    """Writes a cache under a temporary name, and renames it when it is finished.

    Parameters
    ----------
    path : path
    header : dict
        What is known before the first block, as JSON can hold it.

    Raises
    ------
    CacheFileError
        If another process is writing this file.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any]) -> None:
        self.path = Path(path).resolve()
        self.partial = self.path.with_name(self.path.name + PARTIAL)
        # without a buffer: memory for one might be refused while the file may still be that of another process
        self.file: io.FileIO | io.BufferedWriter = open(self.partial, "ab", buffering=0)  # noqa: SIM115 (it stays open)
        try:
            _lock(self.file.fileno(), self.path)
        except BaseException:
            self.file.close()
            raise
        try:
            self.file.truncate(0)
            self.file = io.BufferedWriter(self.file)
            self.blocks: list[Block] = []
            text = json.dumps({"format": CACHE_FORMAT, **header}).encode()
            text += b" " * (-(PROLOGUE.size + len(text)) % ALIGNMENT)
            start = PROLOGUE.pack(MAGIC, len(text), crc32(text), 0)[:-4]
            self.file.write(start + struct.pack("<I", crc32(start)) + text)
            self.offset = PROLOGUE.size + len(text)
        except BaseException:
            self.discard()
            raise

    def add(self, arrays: Arrays, details: dict[str, Any]) -> None:
        """Append a block."""
        crc, size = 0, 0
        with naming(self.path):
            for array in arrays.values():
                for piece in (array.data.cast("B") if array.size else b"", bytes(-array.nbytes % ALIGNMENT)):
                    self.file.write(piece)
                    crc, size = crc32(piece, crc), size + len(piece)
        kinds = {name: (kind_of(array), len(array)) for name, array in arrays.items()}
        self.blocks.append(Block(self.offset, size, crc, kinds, details))
        self.offset += size

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the index, sync the file to disk and rename it."""
        index = json.dumps({"blocks": self.blocks, **summary}).encode()
        trailer = struct.pack("<QQI", self.offset, len(index), crc32(index))
        with naming(self.path):
            self.file.write(index + trailer + struct.pack("<I", crc32(trailer)) + END_MAGIC)
            self.file.flush()
        if WINDOWS:
            self.file.close()
        commit(self.partial, self.path)
        self.file.close()  # only now: until then it is locked

    def discard(self) -> None:
        """Remove the file unless it is finished."""
        if not self.file.closed:
            if WINDOWS:
                self._close()
            self.partial.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        with suppress(OSError):  # of a full disk, which was raised before
            self.file.close()


def kind_of(array: np.ndarray) -> Kind:
    """Return the type of an array as the index has it."""
    return array.dtype.newbyteorder("<").str  # type: ignore[return-value]


class CacheHeader:
    """The beginning of a cache, whose index is not read.

    Attributes
    ----------
    header : dict
        What was known before the first block.

    Raises
    ------
    CacheFileError
        If it is not a cache, is damaged or truncated, or has another version.
    OSError
        If it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.file = open(path, "rb")  # noqa: SIM115 (it stays open)
        try:
            self.size = os.fstat(self.file.fileno()).st_size
            self.header, self.first = self._read_header()
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def damaged(self, why: str) -> CacheFileError:
        """Return the error of a damaged file."""
        return CacheFileError(f"{self.path} is a damaged cache file ({why}); rebuild it")

    def _read_header(self) -> tuple[dict[str, Any], int]:
        start = self.file.read(PROLOGUE.size)
        if start[: len(MAGIC)] != MAGIC:
            raise CacheFileError(f"{self.path} is not a cache file")
        if len(start) < PROLOGUE.size:
            raise self.damaged("it ends in its header")
        _, size, crc, own_crc = PROLOGUE.unpack(start)
        if crc32(start[:-4]) != own_crc or size > self.size:
            raise self.damaged("its first bytes have changed")
        header = self._read_json(PROLOGUE.size, size, crc, "header")
        if header.get("format") != CACHE_FORMAT:
            raise CacheFileError(
                f"{self.path} is a cache file of format {header.get('format')!r}; this version of confidently reads "
                f"format {CACHE_FORMAT}; rebuild it"
            )
        return header, PROLOGUE.size + size

    def _read_json(self, offset: int, size: int, crc: int, what: str) -> dict[str, Any]:
        text = self._read(offset, size)
        if len(text) != size or crc32(text) != crc:
            raise self.damaged(f"its {what} has changed")
        try:
            found: dict[str, Any] = parse(text, dict[str, Any])
        except ValueError as error:
            raise self.damaged(f"its {what} is invalid: {error}") from None
        return found

    def _read(self, offset: int, size: int) -> bytes:
        self.file.seek(offset)
        return self.file.read(size)


class CacheFile(CacheHeader):
    """A finished cache, whose blocks are read one at a time into memory that no other process can change.

    Attributes
    ----------
    summary : dict
        What was known after the last block.
    blocks : list of Block
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.memory = _core.MemoryPool()  # of blocks: the system clears and maps the pages of fresh memory
        try:
            self.summary = self._read_index(self.first)
        except BaseException:
            self.file.close()
            raise

    def arrays(self, block: Block) -> Arrays:
        """Return the arrays of a block, read-only, after checking its checksum."""
        content = self.memory.bytes(block.bytes)
        self.file.seek(block.offset)
        if self.file.readinto(content.data) != block.bytes or crc32(content) != block.crc32:
            raise self.damaged(f"the bytes of its block at {block.offset} have changed")
        found, offset = {}, 0
        for name, (kind, length) in block.arrays.items():
            size = length * np.dtype(KINDS[kind]).itemsize
            found[name] = _part(content[offset : offset + size], kind)
            offset += size + -size % ALIGNMENT
        return found

    def _read_index(self, first: int) -> dict[str, Any]:
        if self.size < first + TRAILER.size:
            raise self.damaged("it is truncated")
        trailer = self._read(self.size - TRAILER.size, TRAILER.size)
        offset, size, crc, own_crc, magic = TRAILER.unpack(trailer)
        if magic != END_MAGIC or crc32(trailer[:20]) != own_crc or offset + size + TRAILER.size != self.size:
            raise self.damaged("its last bytes have changed, or it is truncated")
        summary = self._read_json(offset, size, crc, "index")
        try:
            self.blocks = _blocks(summary.pop("blocks", None))
            self._check_blocks(first, offset)
        except ValueError as error:
            raise self.damaged(f"its index is invalid: {error}") from None
        return summary

    def _check_blocks(self, first: int, end: int) -> None:
        """Check that blocks follow each other without gaps and have the size of their arrays."""
        for block in self.blocks:
            needed = 0
            for kind, length in block.arrays.values():
                size = np.dtype(KINDS[kind]).itemsize * length
                needed += size + -size % ALIGNMENT
            if block.offset != first or block.bytes != needed:
                raise ValueError(f"the block at {block.offset} does not fit")
            first += block.bytes
        if first != end:
            raise ValueError("blocks are missing")


def _part(content: np.ndarray, kind: Kind) -> np.ndarray:
    """Return bytes of a block as a read-only array."""
    found: np.ndarray = np.asarray(content).view(kind)
    found.flags.writeable = False
    return found


def _blocks(given: Any) -> list[Block]:
    """Return the blocks of an index; a ``ValueError`` if it is not of that form.

    There is one for every few thousand rows, so the usual ones are not checked value by value against types.
    """
    if isinstance(given, list) and all(map(_is_usual, given)):
        return [
            Block._make([*numbers, {name: tuple(of) for name, of in arrays.items()}, details])
            for *numbers, arrays, details in given
        ]
    return conform(given, list[Block], "blocks")


def _is_usual(block: Any) -> bool:
    if not isinstance(block, list) or len(block) != len(Block._fields):
        return False
    *numbers, arrays, details = block
    return (
        isinstance(arrays, dict) and isinstance(details, dict) and all(map(_is_count, numbers))
        and all(map(_is_array, arrays.values()))
    )  # fmt: skip


def _is_array(of: Any) -> bool:
    return isinstance(of, list) and len(of) == 2 and type(of[0]) is str and of[0] in KINDS and _is_count(of[1])


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 <= number < 2**63


def _lock(descriptor: int, path: Path) -> None:
    """Keep other processes from writing the same file, if the system has locks; they end with the process."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CacheFileError(f"{path} is being written by another process; wait for it, or name another file") from None
