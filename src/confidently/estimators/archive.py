"""Model files of several parts: a header, arrays, lists of strings, and the files of models as arrays of bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.features import Strings
from ..models import file
from ..models.file import Checked
from ..models.model import SavedModel
from .loading import loaded

MODEL, TEXT, START = "model.", ".text", ".start"  # start of names of models; ends of names of lists


@dataclass
class Archive:
    """The contents of a file.

    Attributes
    ----------
    header : dict, or the dataclass of a kind in what was read
        Plain values.
    arrays : dict of ndarray
    lists : dict of list of str
        By name.
    models : dict of bytes, or of estimators in what was read
        By name.
    """

    header: Any
    arrays: dict[str, np.ndarray]
    lists: dict[str, list[str]] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ArchiveKind:
    """A kind of file: its name in :data:`confidently.models.file.KINDS`, and what its header has."""

    name: str
    header: type[Checked]

    def write(self, path: str | os.PathLike[str], contents: Archive) -> None:
        """Write a file, which appears under its name only when it is complete."""
        arrays = dict(contents.arrays)
        for name, strings in contents.lists.items():
            encoded = Strings.of(strings)
            arrays |= {name + TEXT: encoded.text, name + START: encoded.start}
        for name, content in contents.models.items():
            arrays[MODEL + name] = np.frombuffer(content, np.uint8)
        file.write(path, {"kind": self.name, **contents.header}, arrays)

    def read(self, path: str | os.PathLike[str]) -> Archive:
        """Read a file.

        Raises
        ------
        ModelFileError
            If it is of another kind, is damaged, or was written by a later version.
        OSError
            If it cannot be read.
        """
        found = file.read(path, self.name, schema=self.header)
        with file.damage_reported(path):
            return _unpacked(found.header, found.arrays)


def content_of(model: SavedModel) -> bytes:
    """Return what the file of a model has; ``ValueError``: loading would refuse it."""
    model.check_values()
    return file.encoded(model.header(), model.arrays())


def _unpacked(header: Checked, arrays: dict[str, np.ndarray]) -> Archive:
    """Return the parts of a file, whose arrays are taken."""
    found = Archive(header, {})
    for name in list(arrays):
        if name.startswith(MODEL):
            content = arrays.pop(name).tobytes()
            found.models[name.removeprefix(MODEL)] = loaded(name, content)
        elif name.endswith(TEXT):
            own = name.removesuffix(TEXT)
            strings = file.checked_strings(arrays.pop(name), arrays.pop(own + START))
            found.lists[own] = [one.decode(errors="surrogatepass") for one in strings.encoded()]
    found.arrays = arrays
    return found
