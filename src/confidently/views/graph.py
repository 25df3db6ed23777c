"""Views in graphs of operators, for predictors that run without this package."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

TINY = 1e-30  # below the norm of every row but empty ones, and within single precision


class Graph(Protocol):
    """A graph under construction, of the operators of ONNX: :class:`confidently.models.onnx_export.Graph`.

    Attributes
    ----------
    unseen : str, optional
        Name of the sum of squares of the terms of a row that have no weight yet, shape (n, 1).
    """

    unseen: str | None

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Add a constant, by default of the type of the graph's real numbers, and return its name."""

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator and return the name of its output."""

    def cast(self, x: str, dtype: Any = None) -> str:
        """Add a conversion to a type, by default that of the graph's real numbers, and return its name."""


def unit_rows(graph: Graph, x: str) -> str:
    """Add rows scaled to unit L2 norm; empty rows stay empty. No square overflows or underflows."""
    tiny = graph.constant([TINY])
    largest = graph.add("Max", graph.add("ReduceMax", graph.add("Abs", x), axes=[1], keepdims=1), tiny)
    scaled = graph.add("Div", x, largest)
    squares = graph.add("ReduceSum", graph.add("Mul", scaled, scaled), graph.constant([1], np.int64), keepdims=1)
    return graph.add("Div", scaled, graph.add("Max", graph.add("Sqrt", squares), tiny))
