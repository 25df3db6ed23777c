"""Several views, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from math import prod
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

    Only the last may make columns that depend on the rows (``pairs``, ``cosines``, ``first``), only the first may be
    one that tells 0 from a missing value (``ranks``, ``bins``), and none occurs twice.
    """

    name = "chain"
    formula = "the views one after the other"

    parts: tuple[View, ...] = parameter(None, "the views", default=())

    def __post_init__(self) -> None:
        names = [view.name for view in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"a view may occur once, got {', '.join(names)}")
        for view in self.parts[:-1]:
            if view.comes_last:
                raise ValueError(
                    f"the view {view.name} makes columns of its own, so it must be the last, got {', '.join(names)}"
                )

        for view, before in zip(self.parts[1:], self.parts, strict=False):
            if view.comes_first and not before.passes_values:
                raise ValueError(
                    f"the view {view.name} takes values as they are, so it must be the first, got {', '.join(names)}"
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

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        return tuple(f"{view.name}." for view in self.parts)

    def new_arrays(self, n_classes: int) -> Arrays:
        return _joined(view.new_arrays(n_classes) for view in self.parts)

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        grown: Arrays = {}
        for view in self.parts:
            grown |= view.grown(state, new, n_classes)
            new = view.made_columns(new, state, grown)
        return grown

    def n_known(self, state: Arrays) -> int:
        return self.parts[0].n_known(state)

    @property
    def keeps_columns(self) -> bool:  # type: ignore[override]
        return all(view.keeps_columns for view in self.parts)

    @property
    def takes_values(self) -> bool:  # type: ignore[override]
        return any(view.takes_values for view in self.parts)

    @property
    def takes_names(self) -> bool:
        return any(view.takes_names for view in self.parts)

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        return self.parts[-1].column_name(state, column, partial(self.taken_name, state, name_of=name_of))

    def taken_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        for view in self.parts[:-1]:
            name_of = partial(view.column_name, state, name_of=name_of)
        return name_of(column)

    def divided(self, state: Arrays, X: _core.Matrix) -> np.ndarray | None:
        *others, last = self.parts
        for view in others:
            X = view.see(state, X, 0, 1).matrix(view.n_columns(state, X.shape[1]))
        return last.divided(state, X)

    @property
    def sees_labels(self) -> bool:  # type: ignore[override]
        return any(view.sees_labels for view in self.parts)

    @property
    def rows_foreseen(self) -> int:  # type: ignore[override]
        return max((view.rows_foreseen for view in self.parts), default=0)

    @property
    def has_scale(self) -> bool:  # type: ignore[override]
        return any(view.has_scale for view in self.parts)

    def factors(self, state: Arrays) -> np.ndarray | float:
        return prod((view.factors(state) for view in self.parts), start=1.0) if self.keeps_columns else 1.0

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        for view in reversed(self.parts):
            sizes = view.by_feature(state, sizes)
        return sizes

    def n_columns(self, state: Arrays, n_features: int) -> int:
        for view in self.parts:
            n_features = view.n_columns(state, n_features)
        return n_features

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return _joined(view.packed(state, n) for view, n in self._widths(state, n_features))

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        return _joined(view.unpacked(view.arrays(packed), n) for view, n in self._widths(packed, n_features))

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        found: Shapes = {}
        for view, n in self._widths(packed, n_features):
            found |= view.shapes(packed, n, n_classes)
        return found

    def _widths(self, arrays: Arrays, n_features: int) -> Iterator[tuple[View, int]]:
        """Yield the views and how many columns the rows that each is given have."""
        for view in self.parts[:-1]:
            yield view, n_features
            n_features = view.n_columns(arrays, n_features)
        yield self.parts[-1], n_features

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        for view in self.parts:
            yield from view.values(packed)

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        merged: Arrays = {}
        for view in self.parts[:-1]:
            merged |= view.merged(parts, base, n_features, n_classes)
            *parts, base = (one._replace(features=view.columns_in(merged, one)) for one in (*parts, base))
            n_features = view.n_columns(merged, n_features)
        return merged | self.parts[-1].merged(parts, base, n_features, n_classes)

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        for view in self.parts[:-1]:
            part = part._replace(features=view.columns_in(merged, part))
        return self.parts[-1].columns_in(merged, part)

    # --- rows -----------------------------------------------------------------------------------------------------

    def see(self, state: Arrays, X: _core.Matrix, first: int, n: int) -> SeenRows:
        view, *others = self.parts
        seen = view.see(state, X, first, n)
        for other in others:
            seen = other.see(state, seen.matrix(other.n_known(state)), 0, n)
        return seen

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        view, *others = self.parts
        arrays, seen = view.learn(state, rows, undo)
        for other in others:
            changed, seen = other.learn(state | arrays, rows.of(seen.matrix(other.n_known(state))), undo)
            arrays |= changed
        return arrays, seen

    @property
    def pauses(self) -> bool:
        return any(view.pauses for view in self.parts)

    def learns_row(self, state: Arrays) -> bool:
        return all(view.learns_row(state) for view in self.parts)

    def foreseen(self, state: Arrays, X: _core.Matrix, order: np.ndarray) -> Arrays:
        arrays = self.parts[0].foreseen(state, X, order)
        for before, view in zip(self.parts, self.parts[1:], strict=False):
            if not before.passes_values:  # only behind those may a view be that compares values
                break
            seen = SeenRows.joined([before.see(state, X, row, 1) for row in order.tolist()])
            X, order = seen.matrix(view.n_known(state)), np.arange(len(order))
            arrays |= view.foreseen(state, X, order)
        return arrays

    def settled(self, state: Arrays, regression: bool) -> Arrays:
        return _joined(view.settled(state, regression) for view in self.parts)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        for view in self.parts:
            x = view.exported(graph, x, state)
        return x


def _joined(parts: Iterator[Arrays] | Sequence[Arrays]) -> Arrays:
    found: Arrays = {}
    for part in parts:
        found |= part
    return found
