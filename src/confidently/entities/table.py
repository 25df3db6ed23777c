"""The entities of a model: their keys, their Gaussians, and which of them are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import is_definite
from ..memory import require_memory
from .hierarchy import MAX_COLUMNS, as_moments, columns_of
from .keys import KINDS, Key, kind_of_keys
from .shared import Block, Plain, offsets_of

Floats = NDArray[np.float64]
NEVER = 2**62  # rows, as the age of the oldest entity that is not forgotten
ENTITY_BYTES = 200  # of an entity without its features: the key, its place in the table, and two lists
KEY_BYTES = 130  # of a key and its number
ENTITIES_PER_CHECK = 2**16  # new ones between checks of the memory
SPARE_BYTES = 2**27  # that must be left
REMEDY = "forget some (max_entities, max_age), use fewer features, or fewer variances"
BY_ENTITY = "size", "rows", "last"  # arrays of a state with a number per entity
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

    Numbers of few columns have the exact posterior; classes, and numbers of a shared model or of rows that it does not
    suit, have moments, a mean and a variance of each weight.

    Parameters
    ----------
    priors : sequence of float
        Prior variances of the weights of entities that have moments, each > 0, ascending.
    outputs : int
        Scores per row.
    regression : bool
    max_entities, max_age : int, optional

    Attributes
    ----------
    slots : dict
        The number of each entity in the core.
    exact : bool
        Whether entities have the exact posterior. Rows that it does not suit end that.
    """

    core: _core.Entities | _core.Hierarchy

    def __init__(
        self, priors: Sequence[float], outputs: int, regression: bool, max_entities: int | None, max_age: int | None
    ) -> None:
        self.priors, self.outputs, self.regression = tuple(priors), outputs, regression
        self.max_entities, self.max_age = max_entities, max_age
        self.slots: dict[Key, int] = {}
        self.exact = regression
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
        evidence: Floats = self._moments.state_of_levels()["evidence"]
        shares: Floats = np.exp(evidence - evidence.max())
        shares /= shares.sum()
        return shares

    @property
    def noise(self) -> Floats:
        """Of numbers: the variance of the noise at each level."""
        squares, weight = self._moments.state_of_levels()["noise"].reshape(-1, 2).T
        return np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0)

    @property
    def losses(self) -> Floats:
        """Rows, and the sums of their progressive losses: log-loss and mistakes, or squared and absolute errors."""
        core = self.core
        state = core.state_of_columns() if isinstance(core, _core.Hierarchy) else core.state_of_levels()
        return state["losses"]

    @property
    def exact_core(self) -> _core.Hierarchy:
        """The entities, if they have the exact posterior."""
        assert isinstance(self.core, _core.Hierarchy)
        return self.core

    @property
    def _moments(self) -> _core.Entities:
        assert isinstance(self.core, _core.Entities)
        return self.core

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
        columns = min(features + 1, MAX_COLUMNS)
        own = (features + 1) * (4 + 8 * len(self.priors) * self.outputs)
        each = ENTITY_BYTES + (4 * (columns + 1) * (columns + 2) if self.exact else own)
        what = f"a model of {len(self.slots) + new:,} entities with {features:.0f} features each"
        require_memory(self.core.bytes + int(new * each), what, REMEDY)

    def learn(
        self, keys: Sequence[Key], matrix: _core.Matrix, offsets: Floats, labels: NDArray[np.int32] | None,
        targets: Floats | None, weight: Floats | None, now: int,
    ) -> None:  # fmt: skip
        """Train moments on rows with these keys, whose numbers begin with ``now``."""
        self._forget_old(now)
        self._moments.learn(self._numbered(keys), matrix, offsets, labels, targets, weight, now)
        self._forget_some()

    def learn_exactly(self, keys: Sequence[Key], plain: Plain, targets: Floats, weight: Floats | None, now: int) -> int:
        """Train the exact posterior on rows as :meth:`learn` does; return how many there were before one too wide."""
        before = 0
        for matrix in plain.matrices:
            n, done, stopped = matrix.shape[0], 0, -1
            rows = slice(before, before + n)
            of_rows = None if weight is None else weight[rows]
            while done < n and done != stopped:
                stopped, slots = done, np.zeros(n, dtype=np.int32)
                slots[done:] = self._numbered(keys[before + done : before + n])
                done = self.exact_core.learn(slots, matrix, plain.missing, targets[rows], of_rows, done, now + before)
                self._drop_forgotten()
            before += done
            if done < n:
                break
        self._forget_some()
        return before

    def learn_block(self, block: Block, keys: Sequence[Key], before: int) -> None:
        """Train on a block, before the first row of whose call there were so many rows."""
        done, weight = 0, block.weight
        if self.exact:
            if block.plain is not None and block.targets is not None:
                done = self.learn_exactly(keys, block.plain, block.targets, weight, before + block.rows.start)
            if done == len(keys):
                return
            self.lose_exactness()
        if done:
            weight = np.ones(len(keys)) if weight is None else weight.copy()
            weight[:done] = 0.0
        offsets, first = offsets_of(block.predicted, self.outputs, self.regression), 0
        for matrix in block.seen:
            rows = slice(first, first + matrix.shape[0])
            labels = None if block.labels is None else block.labels[rows]
            targets = None if block.targets is None else block.targets[rows]
            of_rows = None if weight is None else weight[rows]
            now = before + block.rows.start + first
            self.learn(keys[rows], matrix, offsets[rows], labels, targets, of_rows, now)
            first = rows.stop

    def lose_exactness(self) -> None:
        """Continue with the mean and the variance of each weight."""
        if not self.exact:
            return
        core = self.exact_core
        state, noise, self.exact = core.state(), core.noise, False
        self.core = self._new_core()
        self.core.restore(as_moments(state, len(self.priors), noise))

    def settle(self, now: int) -> None:
        """Make what is learned of all entities together from those that were put together, before row ``now``."""
        if self.exact:
            self.exact_core.settle(now)
            self._drop_forgotten()

    def expected(self, keys: Sequence[Key], plain: Plain, now: int) -> tuple[Floats, Floats]:
        """Return the expectation of targets, and its variance in units of the noise, by the exact posterior."""
        slots, first = self._known(keys), 0
        mean, variance = np.empty((2, len(slots)))
        for matrix in plain.matrices:
            rows = slice(first, first + matrix.shape[0])
            self.exact_core.predict(slots[rows], matrix, plain.missing, now, mean[rows], variance[rows])
            first = rows.stop
        return mean, variance

    def scores(self, keys: Sequence[Key], matrix: _core.Matrix, now: int) -> tuple[Floats, Floats, Floats]:
        """Return mean and variance of the deviations of rows, (n, outputs, levels), and |x|^2 with the intercept."""
        slots = self._known(keys)
        shape = len(slots), self.outputs, len(self.priors)
        mean, variance, squares = np.empty(shape), np.empty(shape), np.empty(len(slots))
        self._moments.scores(slots, matrix, now, mean, variance, squares)
        return mean, variance, squares

    def rows_of(self, key: Key) -> tuple[int, int]:
        """Return the number of the last row of an entity, and how many there were."""
        *_, last, rows = self.core.one(self.slots[key])
        return last, rows

    def one(self, key: Key) -> OneEntity:
        """Return the moments of the entity with a key."""
        features, weights, last, rows = self._moments.one(self.slots[key])
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
        return self.core.state() | {"swept": np.array([self._swept], dtype=np.int64)}

    def restore(self, keys: Sequence[Key], state: dict[str, np.ndarray]) -> None:
        """Continue with keys and what :meth:`state` returned."""
        if len(set(keys)) != len(keys) or len(keys) != len(state["last"]):
            raise ValueError("the keys do not fit the entities")
        self.exact = "sums" in state
        self.core = self._new_core()
        self.core.restore(state)
        if self.exact and not is_definite(state["covariance"].reshape(1, d := columns_of(state), d)):
            raise ValueError("the covariance of the shared weights is not positive definite")
        self.slots = {key: number for number, key in enumerate(keys)}
        self._swept = int(state["swept"].item())

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"core": self.core.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self.core = self._new_core()
        self.core.restore(saved["core"])

    def _new_core(self) -> _core.Entities | _core.Hierarchy:
        age = NEVER if self.max_age is None else self.max_age
        if self.exact:
            return _core.Hierarchy(age)
        return _core.Entities(np.array(self.priors, dtype=np.float64), self.outputs, self.regression, age)

    def _known(self, keys: Sequence[Key]) -> NDArray[np.int32]:
        """Return the numbers of entities, -1 for unknown ones."""
        get = self.slots.get
        return np.array([get(key, -1) for key in keys], dtype=np.int32)

    def _forget_old(self, now: int) -> None:
        if self.max_age is not None and now - self._swept > self.max_age:
            self._keep(np.flatnonzero(now - self.core.last <= self.max_age))
            self._swept = now

    def _drop_forgotten(self) -> None:
        if self.exact_core.forgot:
            self._keep(np.flatnonzero(self.exact_core.last >= 0))

    def _forget_some(self) -> None:
        if self.max_entities is not None and len(self.slots) > self.max_entities:
            newest = np.argsort(-self.core.last, kind="stable")[: max(self.max_entities * KEPT_EIGHTHS // 8, 1)]
            self._keep(np.sort(newest))

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

    def part(self, numbers: NDArray[np.intp]) -> EntityTable:
        """Return a table with some of the entities, in this order."""
        found, keys = self.empty(), self.keys
        found.grow(self.outputs)
        found.restore([keys[k] for k in numbers.tolist()], picked(self.state(), numbers))
        return found

    def empty(self) -> EntityTable:
        """Return a table with the same settings, without entities."""
        return EntityTable(self.priors, 1, self.regression, self.max_entities, self.max_age)

    def _keep(self, numbers: NDArray[np.intp]) -> None:
        if len(numbers) == len(self.slots):
            return
        keys = self.keys
        self.core.keep(numbers.astype(np.int32))
        self.slots = {keys[k]: number for number, k in enumerate(numbers.tolist())}


def picked(state: dict[str, np.ndarray], numbers: NDArray[np.intp]) -> dict[str, np.ndarray]:
    """Return the state of some entities, in this order."""
    found = {name: state[name][numbers] for name in BY_ENTITY if name in state}
    if "sums" in state:
        d = columns_of(state)
        sums = state["sums"].reshape(-1, (d + 1) * (d + 2) // 2)
        return state | found | {"sums": np.ascontiguousarray(sums[numbers]).ravel()}
    sizes, starts = found["size"], np.cumsum(state["size"])[numbers] - found["size"]
    first = np.cumsum(sizes) - sizes
    features = np.arange(int(sizes.sum())) + np.repeat(starts - first, sizes)
    width = len(state["cells"]) // max(len(state["features"]), 1)
    cells = state["cells"].reshape(len(state["features"]), width)[features]
    return state | found | {"features": state["features"][features], "cells": cells.ravel()}
