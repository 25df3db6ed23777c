"""Random cosines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..memory import require_memory
from ..rules.parametric import parameter
from ..rules.ranges import POSITIVE, Range, check_integer
from .columns import Columns
from .graph import Graph, unit_rows
from .view import Arrays, Placed, Shapes, View

DIRECTION, PHASE = "cosines.direction", "cosines.phase"
WHOLE = Range(0, 2**63, closed_low=True)


class Cosines(View):
    """Random features whose products approximate a Gaussian kernel: nonlinear borders for many dense columns.

    sqrt(2/n) cos(w_c'x/||x|| + b_c) for c = 1 to n, with w_c ~ N(0, scale I) and b_c uniform in [0, 2 pi): the product
    of two rows tends to exp(-scale ||x - z||^2/2) for rows of unit L2 norm as n grows (Rahimi & Recht, NIPS 2007).
    Nothing is learned; the directions follow from the seed and are not saved.

    Parameters
    ----------
    n : int, default=1000
        Number of cosines.
    scale : float, default=4.0
        Variance of the directions, > 0.
    seed : int, default=0
    unit_norm : bool, default=True
        Whether rows are scaled to unit L2 norm before.

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

    n: int = parameter(Range(1, 2**20, closed_low=True, closed_high=True), "number of cosines", default=1000)
    scale: float = parameter(POSITIVE, "variance of the directions", default=4.0)
    seed: int = parameter(WHOLE, "seed of the directions", default=0)
    unit_norm: bool = parameter(None, "whether rows have unit L2 norm", default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Cosines", "n", self.n, 1)
        check_integer("Cosines", "seed", self.seed, 0)

    def new_arrays(self, n_classes: int) -> Arrays:
        return self._drawn(0)

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        return self._drawn(len(state[DIRECTION]) + len(new)) if len(new) else self.arrays(state)

    def _drawn(self, n_features: int) -> Arrays:
        """Return phases and directions, which do not depend on how many columns there are."""
        require_memory(8 * self.n * n_features, "the directions of the cosines", "use fewer of them, or another view")
        generator = np.random.default_rng(self.seed)
        phase = generator.uniform(0.0, 2.0 * np.pi, self.n)
        return {PHASE: phase, DIRECTION: np.sqrt(self.scale) * generator.standard_normal((n_features, self.n))}

    def n_known(self, state: Arrays) -> int:
        return len(state[DIRECTION])

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        return f"cosine {column}"

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        return np.full(self.n_known(state), sizes.max(initial=0.0))  # every cosine is made of all features

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return self.n

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return {}

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        return self._drawn(n_features)

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        return {}

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        if any((part.features != np.arange(len(part.features))).any() for part in (*parts, base)):
            raise ValueError(
                "the cosines of a column depend on its number, and the models number their columns differently; train "
                "them on rows whose columns come in the same order"
            )
        return {}

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        return np.arange(self.n)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        x = unit_rows(graph, x) if self.unit_norm else x
        product = graph.add("MatMul", x, graph.constant(state[DIRECTION]))
        cosine = graph.add("Cos", graph.add("Add", product, graph.constant(state[PHASE])))
        return graph.add("Mul", cosine, graph.constant(np.sqrt(2.0 / self.n)))
