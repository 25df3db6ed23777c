"""Files of entities: the shared model, the keys, and the arrays of their Gaussians."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..arrays import lies_within
from ..covariances.state import MAX_MEAN, MAX_VARIANCE
from ..data.sources.json_schema import Count, Interval
from ..estimators.archive import Archive, ArchiveKind
from ..models.file import ENTITIES, Checked, damage_reported
from .keys import Key
from .shared import outputs_of
from .table import EntityTable

KEYS, SHARED = "keys", "shared"
Limit = Annotated[int, Interval(1, 2**62)]


@dataclass(kw_only=True)
class Header(Checked):
    """Plain values: settings and counts."""

    rows: Count
    outputs: Count
    regression: bool
    key: str | None
    entity_variance: float | list[float]
    max_entities: Limit | None
    max_age: Limit | None


KIND = ArchiveKind(ENTITIES, Header)
# Of arrays of the exact posterior, the largest size of a number, such that predictions are finite.
LARGEST = dict.fromkeys(("center", "mean", "shared"), MAX_MEAN) | dict.fromkeys(
    ("variances", "start", "covariance"), MAX_VARIANCE["float64"]
)


@dataclass
class Saved:
    """The contents of a file.

    Attributes
    ----------
    header : dict, or Header in what was read
    keys : list of str or int
    arrays : dict of ndarray
        The entities.
    shared : bytes, or an estimator in what was read
        The model that all share.
    """

    header: Any
    keys: list[Key]
    arrays: dict[str, np.ndarray]
    shared: Any

    def restore(self, table: EntityTable) -> None:
        """Put the entities that were read into an empty table; ``ValueError``: they do not fit together."""
        if self.header.regression != table.regression:
            raise ValueError("the shared model is of another kind than the entities")
        if self.header.outputs != outputs_of(self.shared.learner_):
            raise ValueError("the entities do not fit the classes of the shared model")
        table.grow(self.header.outputs)
        table.restore(self.keys, self.arrays)


def write(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a file, which appears under its name only when it is complete."""
    _check_sizes(saved.arrays)
    header = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in saved.header.items()}
    arrays, lists = dict(saved.arrays), dict[str, list[str]]()
    if saved.keys and isinstance(saved.keys[0], int):
        arrays[KEYS] = np.array(saved.keys, dtype=np.int64)
    else:
        lists[KEYS] = [str(key) for key in saved.keys]
    KIND.write(path, Archive(header, arrays, lists, {SHARED: saved.shared}))


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file; the errors are those of :meth:`ArchiveKind.read`."""
    found = KIND.read(path)
    with damage_reported(path):
        _check_sizes(found.arrays)
        keys: list[Any] = found.lists[KEYS] if KEYS in found.lists else found.arrays.pop(KEYS).tolist()
        return Saved(found.header, keys, found.arrays, found.models[SHARED])


def _check_sizes(arrays: dict[str, np.ndarray]) -> None:
    for name, largest in LARGEST.items():
        if name in arrays and not lies_within(arrays[name].astype(np.float64), -largest, largest):
            raise ValueError(f"{name} of the entities is out of range; rescale the rows")
