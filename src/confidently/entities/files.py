"""Files of entities: an archive with the shared model, the keys, and the arrays of their Gaussians."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.features import Strings
from ..estimators.archive import Archive, ArchiveKind
from .keys import Key

ENTITIES = ArchiveKind("entities.json", 2, "the file of models of entities", "EntityModels.save", oldest=1)
SHARED = "shared"

damage_reported = ENTITIES.damage_reported


@dataclass
class Saved:
    """The contents of a file.

    Attributes
    ----------
    header : dict
        Plain values: settings and counts.
    keys : list of str or int
    arrays : dict of ndarray
        The entities.
    shared : OnlineClassifier or OnlineRegressor
        Fitted.
    """

    header: dict[str, Any]
    keys: list[Key]
    arrays: dict[str, np.ndarray]
    shared: Any


def write(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a file, which appears under its name only when it is complete."""
    header = {name: _plain(value) for name, value in saved.header.items()}
    ENTITIES.write(path, Archive(header, {}, _of_keys(saved.keys) | saved.arrays, {SHARED: saved.shared}))


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file; the errors are those of :meth:`ArchiveKind.read`."""
    found = ENTITIES.read(path)
    with damage_reported(path):
        return Saved(found.header, _keys_of(found.arrays), found.arrays, found.estimators[SHARED])


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [float(one) for one in value] if isinstance(value, list | tuple) else value


def _of_keys(keys: list[Key]) -> dict[str, np.ndarray]:
    if keys and isinstance(keys[0], int):
        return {"keys": np.array(keys, dtype=np.int64)}
    strings = Strings.of([str(key) for key in keys])
    return {"keys.text": strings.text, "keys.start": strings.start}


def _keys_of(arrays: dict[str, np.ndarray]) -> list[Key]:
    if "keys" in arrays:
        found: list[Key] = arrays["keys"].tolist()
        return found
    strings = Strings(arrays["keys.text"], arrays["keys.start"])
    return [one.decode(errors="surrogatepass") for one in strings.encoded()]
