"""Several views, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..rules.parametric import parameter
from ..rules.ranges import Range
from .columns import Columns
from .graph import Graph
from .view import Arrays, Labelled, Placed, SeenRows, Shapes, View


class Chain(View):
    """Views applied in order: each takes the row that the one before has made.

    Only the last may make other columns than it is given (``pairs``, ``cosines``), and none occurs twice.
    """

    name = "chain"
    formula = "the views one after the other"

    parts: tuple[View, ...] = parameter(None, "the views", default=())

    def __post_init__(self) -> None:
        names = [view.name for view in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"a view may occur once, got {', '.join(names)}")
        for view in self.parts[:-1]:
            if not view.keeps_columns:
                raise ValueError(
                    f"the view {view.name} makes columns of its own, so it must be the last, got {', '.join(names)}"
                )

    @property
    def views(self) -> tuple[View, ...]:
        return self.parts

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the views and, with ``deep``, the parameters of each, as ``pairs__max_terms``."""
        own = {f"{view.name}__{key}": value for view in self.parts for key, value in view.get_params().items()}
        return {"parts": self.parts} | (own if deep else {})

    def with_params(self, **changes: Any) -> Chain:
        of_view: dict[str, dict[str, Any]] = {view.name: {} for view in self.parts}
        for name, value in changes.items():
            view, _, own = name.partition("__")
            if view not in of_view:
                raise ValueError(f"unknown parameter {name!r}; expected one of {', '.join(self.get_params())}")
            of_view[view][own] = value
        return Chain(tuple(view.with_params(**of_view[view.name]) for view in self.parts))

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, Chain) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return repr(list(self.parts))

    def __getstate__(self) -> dict[str, Any]:
        return {"parts": self.parts}

    # --- the arrays -----------------------------------------------------------------------------------------------

    def holds(self, name: str) -> bool:
        return any(view.holds(name) for view in self.parts)

    def new_arrays(self, n_classes: int) -> Arrays:
        return _joined(view.new_arrays(n_classes) for view in self.parts)

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        return _joined(view.grown(state, new, n_classes) for view in self.parts)

    def n_known(self, state: Arrays) -> int:
        return self.parts[0].n_known(state)

    @property
    def keeps_columns(self) -> bool:  # type: ignore[override]
        return self.parts[-1].keeps_columns

    @property
    def takes_values(self) -> bool:  # type: ignore[override]
        return any(view.takes_values for view in self.parts)

    @property
    def takes_names(self) -> bool:
        return any(view.takes_names for view in self.parts)

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        return self.parts[-1].column_name(state, column, name_of)

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        return self.parts[-1].by_feature(state, sizes)

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return self.parts[-1].n_columns(state, n_features)

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return _joined(view.packed(state, n_features) for view in self.parts)

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        return _joined(view.unpacked(view.arrays(packed), n_features) for view in self.parts)

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        found: Shapes = {}
        for view in self.parts:
            found |= view.shapes(packed, n_features, n_classes)
        return found

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        for view in self.parts:
            yield from view.values(packed)

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        return _joined(view.merged(parts, base, n_features, n_classes) for view in self.parts)

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        return self.parts[-1].columns_in(merged, part)

    # --- rows -----------------------------------------------------------------------------------------------------

    def see(self, state: Arrays, X: _core.Matrix, first: int, n: int) -> SeenRows:
        seen = self.parts[0].see(state, X, first, n)
        for view in self.parts[1:]:
            seen = view.see(state, seen.matrix(self.n_known(state)), 0, n)
        return seen

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        arrays, seen = self.parts[0].learn(state, rows, undo)
        for view in self.parts[1:]:
            changed, seen = view.learn(state | arrays, rows.of(seen.matrix(self.n_known(state))), undo)
            arrays |= changed
        return arrays, seen

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        for view in self.parts:
            x = view.exported(graph, x, state)
        return x


def _joined(parts: Iterator[Arrays] | Sequence[Arrays]) -> Arrays:
    found: Arrays = {}
    for part in parts:
        found |= part
    return found
