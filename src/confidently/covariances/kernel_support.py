"""The support of a kernel learner: the rows it keeps, and the entries of its state for them."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..arrays import row_entries
from .examples import Block
from .settings import Settings
from .state import COUNT, REAL, Shapes, Size, State

ROWS = ("support.values", "support.columns", "support.start")  # in the state, as CSR arrays


def shapes(settings: Settings, n_classes: int, support: int, stored: int) -> Shapes:
    """Return shape and type of the entries that replace weights, for the numbers of support rows and their values."""
    learners = settings.learners(n_classes)
    triangle = support if settings.rule.learns_precision else 0
    real, index, count = REAL, "int32", COUNT
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


def check_support(state: State, size: Size, columns: int) -> None:
    """Raise ``ValueError`` unless the entries of the support fit together."""
    index, start, sides = state["support.columns"], state["support.start"], state["support.sides"]
    ends = start[0] == 0 and start[-1] == len(index) and (np.diff(start) >= 0).all()
    if not ends or (len(index) and not 0 <= index.min() <= index.max() < size.n_features):
        raise ValueError("the support rows do not fit together")
    ascending = np.diff(index) > 0
    ascending[start[1:-1][(start[1:-1] > 0) & (start[1:-1] < len(index))] - 1] = True  # between two rows
    if not ascending.all():
        raise ValueError("columns of a support row do not ascend")
    if len(sides) and not (sides[:, 0].min() >= 0 and sides[:, 1].min() >= -1 and sides.max() < columns):
        raise ValueError("a support row has an unknown class")


def new_entries(settings: Settings, n_classes: int) -> State:
    """Return these entries before training."""
    return {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes(settings, n_classes, 0, 0).items()}


def grow_learners(state: State, more: int) -> None:
    """Add learners for more classes, where every class has its own."""
    for name, axis in (("dual", 2), ("gained", 0), ("triangle", 0)):
        old = state[name]
        widths = [(0, more if a == axis else 0) for a in range(old.ndim)]
        state[name] = np.pad(old, widths)


def csr_rows(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a block's rows as CSR arrays, without the intercept."""
    return _core.take_rows(block.X, block.order, block.first, block.n)


def append_rows(old: list[np.ndarray] | None, rows: tuple[np.ndarray, ...], chosen: np.ndarray) -> list[np.ndarray]:
    """Return CSR arrays of the old rows and the chosen new ones."""
    values, columns, start = rows
    entries, new_start = row_entries(start, chosen)
    if old is None:
        return [values[entries], columns[entries], new_start]
    return [
        np.concatenate([old[0], values[entries]]),
        np.concatenate([old[1], columns[entries]]),
        np.concatenate([old[2], old[2][-1] + new_start[1:]]),
    ]
