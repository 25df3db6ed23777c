"""Model files: a safetensors file with arrays, and everything else as JSON in its metadata. Nothing is pickled.

The metadata entry ``confidently`` is the header: the format version, the entries of the model
(:class:`confidently.models.model.SavedModel`), the CRC-32 of every array and, last, that of the header itself. The
arrays are the learner's, under their own names, and the names of features (``features.*``).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.features import Features, Strings
from ..data.sources.whole_files import new_file
from ..rules.ranges import UnknownChoice

FORMAT = 3  # 1 had the names of features in its header, 2 had no forgetting
KEY = "confidently"
UNEXPECTED_KIND = {  # messages about a model of another kind than expected
    "linear": "expected a topic model, got a classifier; use confidently predict, inspect or evaluate",
    "topics": "expected a classifier, got a topic model; use confidently topics predict or confidently topics show",
}
HEADER_CHECK = ', "header_crc32": '  # start of the header's last entry, the CRC-32 of everything before it


class ModelFileError(ValueError):
    """An invalid model file: damaged, truncated, of another program or of a later version."""


@dataclass
class Contents:
    """Contents of a model file whose checksums are right.

    Attributes
    ----------
    path : str or path
        The file, for error messages.
    header : dict
        Everything that is not an array.
    arrays : dict of ndarray
        The learner's arrays, by name.
    features : Features, optional
        Names of the features, where they have any.
    """

    path: str | os.PathLike[str]
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    features: Features | None

    @property
    def kind(self) -> str:
        """``"linear"``, the default of headers, or ``"topics"``."""
        kind: str = self.header.get("kind", "linear")
        return kind


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file, which replaces the one of its name only when it is complete."""
    from safetensors.numpy import save as serialize  # imported here since it is slow to import

    checksums = {name: _checksum(array) for name, array in arrays.items()}
    text = json.dumps({"format": FORMAT, **header, "crc32": checksums})
    content = serialize(arrays, metadata={KEY: _signed(text)})
    with new_file(path) as temporary:
        Path(temporary).write_bytes(content)


def read(path: str | os.PathLike[str], *kinds: str) -> Contents:
    """Read a model file of one of these kinds.

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged or truncated, was written by a later version, or is of another kind.
    OSError
        If it cannot be read.
    """
    from safetensors import SafetensorError, safe_open  # imported here since it is slow to import

    with open(path, "rb"):  # raises the system's own error for a missing or unreadable file, or a directory
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            header = _header(path, file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it has no __iter__)
    except SafetensorError as error:
        raise ModelFileError(f"{path}: not a model file, or damaged ({error})") from error
    contents = Contents(path, header, arrays, None)
    if contents.kind not in kinds:
        unknown = f"unknown kind of model, got {contents.kind!r}; upgrade confidently"
        raise ModelFileError(f"{path}: {UNEXPECTED_KIND.get(contents.kind, unknown)}")
    with damage_reported(path):
        _check_sums(header["crc32"], arrays)
        contents.features = _features(header, arrays)
    return contents


@contextmanager
def damage_reported(path: object) -> Iterator[None]:
    """Turn the errors that a damaged file causes into a ``ModelFileError``."""
    try:
        yield
    except UnknownChoice as error:
        raise ModelFileError(f"{path}: {error}; the file is of a later version of confidently, or damaged") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, MemoryError) as error:
        raise ModelFileError(f"{path}: damaged model file ({type(error).__name__}: {error})") from error


def checked_arrays(
    arrays: dict[str, np.ndarray], expected: dict[str, tuple[tuple[int, ...], np.dtype]]
) -> dict[str, np.ndarray]:
    """Return the expected arrays, each of the right shape and type, finite, and writable.

    Raises
    ------
    KeyError, ValueError
        If an array is missing, or is not as expected.
    """
    for name, (shape, dtype) in expected.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{name} is {array.dtype}{list(array.shape)}, not {np.dtype(dtype)}{list(shape)}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are not finite")
        if not array.flags.writeable or not array.flags.c_contiguous:
            arrays[name] = array.copy()
    return {name: arrays[name] for name in expected}


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _signed(header: str) -> str:
    """Return the JSON of a header with its own CRC-32 as the last entry."""
    return f"{header[:-1]}{HEADER_CHECK}{zlib.crc32(header.encode())}}}"


def _check_sums(expected: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if expected[name] != _checksum(array):
            raise ValueError(f"the checksum of {name} is wrong")


def _features(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Features | None:
    """Take the names of features out of the arrays and return them, checked."""
    if header["format"] == 1:
        names = header["feature_names"]
        return None if names is None else Features.named(names)
    found = {name: arrays.pop(name) for name in list(arrays) if name.startswith("features.")}
    if not found:
        return None
    key, column, text, start = (found[f"features.{name}"] for name in ("key", "column", "text", "start"))
    types = [array.dtype for array in (key, column, text, start)]
    if types != [np.uint32, np.int32, np.uint8, np.int64] or any(array.ndim != 1 for array in found.values()):
        raise ValueError("the names of features have the wrong types")
    ascending = len(column) == 0 or (column[0] >= 0 and (np.diff(column) > 0).all() and column[-1] < len(key))
    fits = len(start) == len(column) + 1 and start[0] == 0 and (np.diff(start) >= 0).all() and start[-1] == len(text)
    if not (ascending and fits):
        raise ValueError("the names of features do not fit together")
    return Features(key, column, Strings(text, start), bounded=not header["source"].get("vocabulary", True))


def _header(path: object, metadata: dict[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise ModelFileError(f"{path}: not a model file of confidently, but another safetensors file")
    text = metadata[KEY]
    try:
        if text != _signed(text.rpartition(HEADER_CHECK)[0] + "}"):
            raise ValueError("wrong checksum")
        header: dict[str, Any] = json.loads(text)
        version = header["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{path}: damaged model file, the header cannot be read ({error})") from error
    if version not in range(1, FORMAT + 1):
        raise ModelFileError(
            f"{path}: unknown format, got {version!r}; this version of confidently reads formats up to {FORMAT}, so "
            "upgrade it or train again"
        )
    return header
