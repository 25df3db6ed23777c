"""The entities of a model: their keys, their Gaussians, and which of them are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..memory import require_memory
from .keys import KINDS, Key, kind_of_keys
from .shared import Block, offsets_of

Floats = NDArray[np.float64]
NEVER = 2**62  # rows, as the age of the oldest entity that is not forgotten
ENTITY_BYTES = 200  # of an entity without its features: the key, its place in the table, and two lists
KEY_BYTES = 130  # of a key and its number
ENTITIES_PER_CHECK = 2**16  # new ones between checks of the memory
SPARE_BYTES = 2**27  # that must be left
REMEDY = "forget some (max_entities, max_age), use fewer features, or fewer variances"
KEPT_EIGHTHS = 7  # of the most entities, when there are more


class OneEntity(NamedTuple):
    """One entity.

    Attributes
    ----------
    features : int32 array of shape (n,)
        0 is the intercept, and j + 1 the column j.
    mean, variance : arrays of shape (n, outputs, levels)
    last, rows : int
        The number of its last row, and how many there were.
    """

    features: NDArray[np.int32]
    mean: Floats
    variance: Floats
    last: int
    rows: int


class EntityTable:
    """Entities by key.

    Parameters
    ----------
    priors : sequence of float
        Prior variances of the weights of entities, each > 0, ascending.
    outputs : int
        Scores per row.
    regression : bool
    max_entities, max_age : int, optional

    Attributes
    ----------
    slots : dict
        The number of each entity in the core.
    """

    def __init__(
        self, priors: Sequence[float], outputs: int, regression: bool, max_entities: int | None, max_age: int | None
    ) -> None:
        self.priors, self.outputs, self.regression = tuple(priors), outputs, regression
        self.max_entities, self.max_age = max_entities, max_age
        self.slots: dict[Key, int] = {}
        self.core = self._new_core()
        self._swept = 0  # the row before which entities were last dropped for their age

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def keys(self) -> list[Key]:
        """All keys, by number."""
        return list(self.slots)

    @property
    def weights(self) -> Floats:
        """The weights of no deviation and of each prior variance, by how well they predicted; they add up to 1."""
        evidence: Floats = self.core.state_of_levels()["evidence"]
        shares: Floats = np.exp(evidence - evidence.max())
        shares /= shares.sum()
        return shares

    @property
    def noise(self) -> Floats:
        """Of numbers: the variance of the noise at each level."""
        squares, weight = self.core.state_of_levels()["noise"].reshape(-1, 2).T
        found: Floats = np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0)
        return found

    def check_kind(self, keys: Sequence[Key]) -> None:
        """Raise ``TypeError`` if keys have another type than those before."""
        found, before = kind_of_keys(keys), kind_of_keys(list(self.slots)[:1]) if self.slots else None
        if found is not None and before is not None and found is not before:
            raise TypeError(
                f"key: the keys of this model are {KINDS[before]}, got {keys[0]!r}; convert the keys to {KINDS[before]}"
            )

    def check_memory(self, keys: Sequence[Key], features: float) -> None:
        """Raise ``MemoryError`` if there is none for the new ones of these keys, with so many features each."""
        if len(keys) < 2**16:
            return
        new = sum(key not in self.slots for key in set(keys))
        if self.max_entities is not None:
            new = min(new, max(self.max_entities - len(self.slots), 0))
        each = ENTITY_BYTES + (features + 1) * (4 + 8 * len(self.priors) * self.outputs)
        what = f"a model of {len(self.slots) + new:,} entities with {features:.0f} features each"
        require_memory(self.core.bytes + int(new * each), what, REMEDY)

    def learn(
        self, keys: Sequence[Key], matrix: _core.Matrix, offsets: Floats, labels: NDArray[np.int32] | None,
        targets: Floats | None, weight: Floats | None, now: int,
    ) -> None:  # fmt: skip
        """Train on rows with these keys, whose numbers begin with ``now``."""
        if self.max_age is not None and now - self._swept > self.max_age:
            self._keep(np.flatnonzero(now - self.core.last <= self.max_age))
            self._swept = now
        self.core.learn(self._numbered(keys), matrix, offsets, labels, targets, weight, now)
        if self.max_entities is not None and len(self.slots) > self.max_entities:
            newest = np.argsort(-self.core.last, kind="stable")[: max(self.max_entities * KEPT_EIGHTHS // 8, 1)]
            self._keep(np.sort(newest))

    def learn_block(self, block: Block, keys: Sequence[Key], before: int) -> None:
        """Train on a block, before the first row of whose call there were so many rows."""
        offsets, first = offsets_of(block.predicted, self.outputs, self.regression), 0
        for matrix in block.seen:
            rows = slice(first, first + matrix.shape[0])
            labels = None if block.labels is None else block.labels[rows]
            targets = None if block.targets is None else block.targets[rows]
            weight = None if block.weight is None else block.weight[rows]
            now = before + block.rows.start + first
            self.learn(keys[rows], matrix, offsets[rows], labels, targets, weight, now)
            first = rows.stop

    def scores(self, keys: Sequence[Key], matrix: _core.Matrix, now: int) -> tuple[Floats, Floats, Floats]:
        """Return mean and variance of the deviations of rows, (n, outputs, levels), and |x|^2 with the intercept."""
        get = self.slots.get
        slots = np.array([get(key, -1) for key in keys], dtype=np.int32)
        shape = len(slots), self.outputs, len(self.priors)
        mean, variance, squares = np.empty(shape), np.empty(shape), np.empty(len(slots))
        self.core.scores(slots, matrix, now, mean, variance, squares)
        return mean, variance, squares

    def one(self, key: Key) -> OneEntity:
        """Return the entity with a key."""
        features, weights, last, rows = self.core.one(self.slots[key])
        cells = weights.reshape(-1, self.outputs, len(self.priors), 2).astype(np.float64)
        return OneEntity(features, cells[..., 0], cells[..., 1], last, rows)

    def grow(self, outputs: int) -> None:
        """Make room for more classes, whose weights start at the prior."""
        if outputs == self.outputs:
            return
        state = self.core.state()
        cells = state["cells"].reshape(-1, self.outputs, len(self.priors), 2)
        if self.outputs == 1:  # the score of class 1, and the opposite of that of class 0
            cells = np.concatenate([cells * np.array([-1, 1], np.float32), cells], axis=1)
        wider = np.zeros((len(cells), outputs, len(self.priors), 2), np.float32)
        wider[..., 1] = np.array(self.priors, np.float32)
        wider[:, : cells.shape[1]] = cells
        self.outputs = outputs
        self.core = self._new_core()
        self.core.restore(state | {"cells": wider.ravel()})

    def copied(self) -> EntityTable:
        """Return a copy that learns on its own."""
        other = copy(self)
        other.slots, other.core = dict(self.slots), other._new_core()
        other.core.restore(self.core.state())
        return other

    def state(self) -> dict[str, np.ndarray]:
        """Return everything but the keys as arrays."""
        return self.core.state() | {"swept": np.array(self._swept, dtype=np.int64)}

    def restore(self, keys: Sequence[Key], state: dict[str, np.ndarray]) -> None:
        """Continue with keys and what :meth:`state` returned."""
        if len(set(keys)) != len(keys) or len(keys) != len(state["size"]):
            raise ValueError("the keys do not fit the entities")
        self.core.restore(state)
        self.slots = {key: number for number, key in enumerate(keys)}
        self._swept = int(state["swept"])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"core": self.core.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self.core = self._new_core()
        self.core.restore(saved["core"])

    def _new_core(self) -> _core.Entities:
        age = NEVER if self.max_age is None else self.max_age
        return _core.Entities(np.array(self.priors, dtype=np.float64), self.outputs, self.regression, age)

    def _numbered(self, keys: Sequence[Key]) -> NDArray[np.int32]:
        """Return the numbers of entities, the new ones of which are added."""
        slots, before = self.slots, len(self.slots)
        numbers = [slots.setdefault(key, len(slots)) for key in keys]
        if len(slots) > before:
            self.core.add(len(slots) - before)
            if len(slots) // ENTITIES_PER_CHECK > before // ENTITIES_PER_CHECK:
                what = f"the model, now of {len(slots):,} entities,"
                require_memory(self.core.bytes + KEY_BYTES * len(slots) + SPARE_BYTES, what, REMEDY)
        return np.array(numbers, dtype=np.int32)

    def _keep(self, numbers: NDArray[np.intp]) -> None:
        if len(numbers) == len(self.slots):
            return
        keys = self.keys
        self.core.keep(numbers.astype(np.int32))
        self.slots = {keys[k]: number for number, k in enumerate(numbers.tolist())}
