"""The support of a kernel learner: the rows it keeps, and the entries of its state that go with them."""

from __future__ import annotations

import numpy as np

from .. import _core
from .blocks import Block
from .state import Settings, State

ROWS = ("support.values", "support.columns", "support.start")  # in the state, as CSR arrays


def shapes(
    settings: Settings, n_classes: int, support: int, stored: int
) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of the entries a kernel learner has instead of weights, for so many support rows and values."""
    learners = settings.learners(n_classes)
    triangle = support if settings.rule.learns_precision else 0
    real, index, count = np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64)
    return {
        "support.values": ((stored,), real),
        "support.columns": ((stored,), index),
        "support.start": ((support + 1,), count),
        "support.sides": ((support, 2), index),
        "dual": ((support, 1 + settings.average, learners), real),
        "gained": ((learners, support), real),
        "triangle": ((learners, triangle, triangle), real),
        "dropped": ((1,), count),
    }


def new_entries(settings: Settings, n_classes: int) -> State:
    """Nothing learned."""
    return {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes(settings, n_classes, 0, 0).items()}


def grow_learners(state: State, more: int) -> None:
    """Room for more classes of one-vs-rest."""
    for name, axis in (("dual", 2), ("gained", 0), ("triangle", 0)):
        old = state[name]
        widths = [(0, more if a == axis else 0) for a in range(old.ndim)]
        state[name] = np.pad(old, widths)


def taken(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A block's rows as CSR arrays, without the intercept."""
    return _core.take_rows(block.X, block.order, block.first, block.n)


def append_rows(old: list[np.ndarray] | None, rows: tuple[np.ndarray, ...], chosen: np.ndarray) -> list[np.ndarray]:
    """CSR arrays of old rows and some new ones."""
    values, columns, start = rows
    sizes = np.diff(start)[chosen]
    ends = np.cumsum(sizes)
    at = np.repeat(start[chosen] - ends + sizes, sizes) + np.arange(sizes.sum())
    if old is None:
        return [values[at], columns[at], np.concatenate([[0], ends])]
    return [
        np.concatenate([old[0], values[at]]),
        np.concatenate([old[1], columns[at]]),
        np.concatenate([old[2], old[2][-1] + ends]),
    ]
