"""The first columns of growing rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..rules.parametric import parameter
from ..rules.ranges import Range, check_integer
from .columns import Columns
from .graph import Graph
from .room import joined
from .view import COUNT, NUMBER, Arrays, Placed, Shapes, View

PLACE, SIZE, KEPT = "first.place", "first.size", "first.kept"


class First(View):
    """The first n columns that appeared; later ones are left out.

    For learners whose cost grows with the square of the columns, such as those of a full covariance, on streams that
    bring new columns now and then.

    Parameters
    ----------
    n : int, default=128
        Number of columns. A merged model has the columns of all its models.

    Examples
    --------
    >>> from confidently import OnlineClassifier
    >>> model = OnlineClassifier(covariance="full", view="standard,first")
    """

    name = "first"
    formula = "the first n columns of x"
    keeps_columns = False
    comes_last = True

    n: int = parameter(Range(1, 2**30, closed_low=True, closed_high=True), "number of columns", default=128)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("First", "n", self.n, 1)

    def new_arrays(self, n_classes: int) -> Arrays:
        return {PLACE: np.empty(0, dtype=NUMBER), SIZE: np.zeros(1, dtype=COUNT)}

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        size = self.n_columns(state, 0)
        more = min(len(new), max(self.n - size, 0))
        place = np.full(len(new), -1, dtype=NUMBER)
        place[:more] = np.arange(size, size + more)
        return {PLACE: joined(state[PLACE], place), SIZE: state[SIZE] + more}

    def n_known(self, state: Arrays) -> int:
        return len(state[PLACE])

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        return name_of(int(_kept(state)[column]))

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        found = np.zeros(self.n_known(state))
        found[_kept(state)] = sizes
        return found

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return int(state[SIZE][0])

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return {KEPT: _kept(state)}

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        kept, place = packed[KEPT], np.full(n_features, -1, dtype=NUMBER)
        if len(kept) and not (kept.min() >= 0 and kept.max() < n_features and len(np.unique(kept)) == len(kept)):
            raise ValueError(f"{KEPT} must be different features, from 0 to {n_features - 1}")
        place[kept] = np.arange(len(kept))
        return {PLACE: place, SIZE: np.array([len(kept)], dtype=COUNT)}

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        return {KEPT: ((len(packed[KEPT]),), NUMBER)}

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        kept = np.concatenate([_kept_in(part) for part in (base, *parts)])
        _, appearance = np.unique(kept, return_index=True)
        return {KEPT: kept[np.sort(appearance)]}

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        order = np.argsort(merged[KEPT])
        return order[np.searchsorted(merged[KEPT], _kept_in(part), sorter=order)]

    # --- rows -----------------------------------------------------------------------------------------------------

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        return graph.add("Gather", x, graph.constant(_kept(state), np.int64), axis=1)


def _kept(state: Arrays) -> np.ndarray:
    """Return the numbers of the features that are kept, by column."""
    features = np.flatnonzero(state[PLACE] >= 0).astype(NUMBER)
    kept = np.empty(len(features), dtype=NUMBER)
    kept[state[PLACE][features]] = features
    return kept


def _kept_in(part: Placed) -> np.ndarray:
    """Return the numbers of a part's kept features in the merged model."""
    return part.features[part.arrays[KEPT]].astype(NUMBER)
