"""What a file is, by its first bytes and its suffix, for messages about files of the wrong kind."""

from __future__ import annotations

import os
from pathlib import PurePath

from ..formats.table import BY_NAME, format_of_suffix
from .compression import compression_of

HEAD_BYTES = 4096  # that show what a file is
MODEL = b'{"__metadata__":{"confidently":'  # how the header of a model file begins, after its size in eight bytes
SIZE_BYTES = 8
ZIP = b"PK\x03\x04"
TITLES = {
    b"\x89confidently": "a cache",
    b"PAR1": "Parquet data",
    b"ARROW1": "Feather data",
    ZIP: "a zip archive",
    b"\x93NUMPY": "a NumPy array",
    b"\x80": "a pickle",
    b"\x89HDF": "HDF5 data",
    b"SQLite format 3": "an SQLite database",
}
SUFFIXES = {".npz": "NumPy arrays", ".onnx": "an ONNX graph", ".xlsx": "an Excel workbook"}


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a regular file begins as a model file does."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(HEAD_BYTES)[SIZE_BYTES:].startswith(MODEL)


def may_be_safetensors(head: bytes) -> bool:
    """Return whether first bytes are those of a safetensors file, which model files are: a size and an object."""
    return head[SIZE_BYTES : SIZE_BYTES + 1] == b"{"


def binary_title(path: str | os.PathLike[str], head: bytes) -> str | None:
    """Return what a file that is no text is, if that is known; of zip archives, only some are."""
    suffix = PurePath(path).suffix.lower()
    if b"\0" not in head or (head.startswith(ZIP) and suffix not in SUFFIXES):
        return None
    return SUFFIXES.get(suffix) or next((title for magic, title in TITLES.items() if head.startswith(magic)), None)


def description(path: str | os.PathLike[str], head: bytes) -> str:
    """Return what a file is, as the object of a sentence.

    Examples
    --------
    >>> description("rows.csv.gz", b"\\x1f\\x8b"), description("rows", b"1,2,3"), description("rows", b"\\xff\\x00")
    ('CSV data (gzip)', 'text', 'a file of an unknown kind')
    """
    if not head:
        return "an empty file"
    compression = compression_of(head, os.fspath(path))
    suffix = PurePath(path).suffix.lower()
    found = SUFFIXES.get(suffix) or next((title for magic, title in TITLES.items() if head.startswith(magic)), None)
    if found is not None:
        return found
    if compression is None and not _is_text(head):
        return "a file of an unknown kind"
    name = format_of_suffix(path)
    title = "text" if name is None else f"{BY_NAME[name].title} data"
    return title if compression is None else f"{title} ({compression})" if name else f"{compression} data"


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.end == len(head) and b"\0" not in head  # cut within a character
    return b"\0" not in head
