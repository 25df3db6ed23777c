"""Random cosines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..memory import require_memory
from ..rules.parametric import parameter
from ..rules.ranges import POSITIVE, Range, check_integer
from .columns import ZERO, Columns
from .graph import Graph, unit_rows
from .room import appended, joined
from .view import COUNT, Arrays, Placed, Shapes, View

DIRECTION, PHASE, KEY = "cosines.direction", "cosines.phase", "cosines.key"
WHOLE = Range(0, 2**63, closed_low=True)
BY_NUMBER = 0  # the key of a column whose number decides


class Cosines(View):
    """Random features whose products approximate a Gaussian kernel: nonlinear borders for many dense columns.

    sqrt(2/n) cos(w_c'x/||x|| + b_c) for c = 1 to n, with w_c ~ N(0, scale I) and b_c uniform in [0, 2 pi): the product
    of two rows tends to exp(-scale ||x - z||^2/2) for rows of unit L2 norm as n grows (Rahimi & Recht, NIPS 2007).
    Nothing is learned. The directions of a table's columns that are read from files follow from the seed and their
    names, whatever their order, and those of others from the seed and their numbers. They are not saved.

    Parameters
    ----------
    n : int, default=1000
        Number of cosines.
    scale : float, default=4.0
        Variance of the directions, > 0.
    seed : int, default=0
    unit_norm : bool, default=True
        Whether rows are scaled to unit L2 norm before.
    max_columns : int, optional
        Later columns than the first so many are left out, whatever a stream brings. By default all are used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from confidently import OnlineClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> linear, cosines = OnlineClassifier(view="standard"), OnlineClassifier(view="standard,cosines")
    >>> [bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9) for model in (linear, cosines)]
    [False, True]
    """

    name = "cosines"
    formula = "sqrt(2/n) cos(w_c'x + b_c) of x with unit L2 norm, with w_c and b_c random"
    keeps_columns = False
    comes_last = True
    mixes_columns = True
    has_scale = True

    n: int = parameter(Range(1, 2**20, closed_low=True, closed_high=True), "number of cosines", default=1000)
    scale: float = parameter(POSITIVE, "variance of the directions", default=4.0)
    seed: int = parameter(WHOLE, "seed of the directions", default=0)
    unit_norm: bool = parameter(None, "whether rows have unit L2 norm", default=True)
    max_columns: int | None = parameter(
        Range(1, 2**31, closed_low=True), "number of columns that are used; by default all", default=None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Cosines", "n", self.n, 1)
        check_integer("Cosines", "seed", self.seed, 0)
        if self.max_columns is not None:
            check_integer("Cosines", "max_columns", self.max_columns, 1)

    def new_arrays(self, n_classes: int) -> Arrays:
        return self._drawn(np.zeros(0, COUNT))

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        if not len(new):
            return self.arrays(state)
        known = len(state[DIRECTION])
        own, used = np.full(len(new), BY_NUMBER), self._n_used(len(state[KEY]) + len(new)) - known
        if new.names is not None and (new.kind != ZERO).any():
            own = np.where(new.kind == ZERO, BY_NUMBER, new.keys)
        keys = joined(state[KEY], own)
        if used and (keys[: known + used] == BY_NUMBER).any():
            return self._drawn(keys)
        self._require_memory(known + used)
        directions = appended(state[DIRECTION], used)
        for j, key in enumerate(own[:used].tolist(), known):
            directions[j] = self._direction(key)
        return {PHASE: state[PHASE], KEY: keys, DIRECTION: directions}

    def _n_used(self, n_features: int) -> int:
        """Return the number of columns that are used, of so many."""
        return n_features if self.max_columns is None else min(n_features, self.max_columns)

    def _drawn(self, keys: np.ndarray) -> Arrays:
        """Return phases and directions, of which each depends on the seed and its key or number only."""
        all_keys, keys = keys, keys[: self._n_used(len(keys))]
        self._require_memory(len(keys))
        generator = np.random.default_rng(self.seed)
        phase = generator.uniform(0.0, 2.0 * np.pi, self.n)
        by_number = int((keys == BY_NUMBER).any()) * len(keys)
        directions = np.zeros((len(keys), self.n))
        directions[:by_number] = np.sqrt(self.scale) * generator.standard_normal((by_number, self.n))
        for j in np.flatnonzero(keys != BY_NUMBER):
            directions[j] = self._direction(int(keys[j]))
        return {PHASE: phase, KEY: all_keys, DIRECTION: directions}

    def _direction(self, key: int) -> np.ndarray:
        """Return the direction of a column with a name: a normal number for each cosine."""
        return np.sqrt(self.scale) * np.random.default_rng([self.seed, key]).standard_normal(self.n)

    def _require_memory(self, n_features: int) -> None:
        require_memory(8 * self.n * n_features, "the directions of the cosines", "use fewer of them, or another view")

    def n_known(self, state: Arrays) -> int:
        return len(state[KEY])

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        return f"cosine {column}"

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        found = np.zeros(self.n_known(state))
        found[: len(state[DIRECTION])] = sizes.max(initial=0.0)  # every cosine is made of all features
        return found

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return self.n

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return {KEY: state[KEY]} if (state[KEY] != BY_NUMBER).any() else {}

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        return self._drawn(packed.get(KEY, np.full(n_features, BY_NUMBER)))

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        return {KEY: ((n_features,), COUNT)} if KEY in packed else {}

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        if KEY in packed:
            yield KEY, packed[KEY], WHOLE

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        keys = np.full(n_features, BY_NUMBER)
        for part in (*parts, base):
            own = part.arrays.get(KEY, np.full(len(part.features), BY_NUMBER))
            if ((own == BY_NUMBER) & (part.features != np.arange(len(own)))).any():
                raise ValueError(
                    "the cosines of a column depend on its number, and the models number their columns differently; "
                    "train them on rows whose columns come in the same order, or on tables in files"
                )
            keys[part.features] = np.maximum(keys[part.features], own)
        return {KEY: keys} if (keys != BY_NUMBER).any() else {}

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        return np.arange(self.n)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        x = unit_rows(graph, x) if self.unit_norm else x
        unused = np.zeros((len(state[KEY]) - len(state[DIRECTION]), self.n))
        product = graph.add("MatMul", x, graph.constant(np.concatenate([state[DIRECTION], unused])))
        cosine = graph.add("Cos", graph.add("Add", product, graph.constant(state[PHASE])))
        return graph.add("Mul", cosine, graph.constant(np.sqrt(2.0 / self.n)))
