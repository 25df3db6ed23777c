"""The block that the next rows continue: the rows determine where blocks begin and end, wherever a call ends.

A dense covariance learns rows in blocks (:mod:`confidently.covariances.batch_products`). Its weights and pending rows
are those after the last row at any time. What else the rest of the block needs are entries of the state:

===============  ===========================  =====================================================================
block.counts     (2,) int64                   rows of the weights that examples have used so far; pending rows before
                                              the block
block.weights    (F', planes, K) real         the weights before the block
block.products   (L, parts, n, parts F') real  the n rows of the block, each at every part, times S - U'U before it
block.updates    (L,) int64                   numbers of updates in the block
block.sides      (L, u, 2) int32              their directions, as positions in the block; -1: none
block.shares     (L, u, u) float64            d_w p_w(z_u) of the updates before each
block.steps      (L, u, 2 + m) float64        d, the rows seen before, and the steps of the means
===============  ===========================  =====================================================================

F' is the first number in ``block.counts``. Between two blocks, all but ``block.counts`` have no entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..rules.ranges import Range
from .state import COUNT, COUNTS, REAL, Shapes, State, within

PREFIX = "block."
MAX_NUMBER = 1e300


@dataclass(eq=False)  # it holds arrays, of which == is no truth value
class OpenBlock:
    """A block of which some rows have been learned, or none.

    Attributes
    ----------
    rows : int
    pending : int
        Pending rows before the block.
    weights, products : array
        See above.
    updates : list of dict
        What the core has found in the rows so far, one dict per learner.
    """

    rows: int = 0
    pending: int = 0
    weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    products: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 0)))
    updates: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, state: State) -> OpenBlock:
        """Return the block of a state."""
        products = state["block.products"]
        updates = []
        for learner, n in enumerate(state["block.updates"].tolist()):
            sides, steps = state["block.sides"][learner, :n], state["block.steps"][learner, :n]
            updates.append({
                "plus": np.ascontiguousarray(sides[:, 0]), "minus": np.ascontiguousarray(sides[:, 1]),
                "share": np.ascontiguousarray(state["block.shares"][learner, :n, :n]).ravel(),
                "weight": np.ascontiguousarray(steps[:, 0]), "age": np.ascontiguousarray(steps[:, 1]),
                "mean": np.ascontiguousarray(steps[:, 2:].T).ravel(), "factor": 1.0,
            })  # fmt: skip
        return cls(products.shape[2], int(state["block.counts"][1]), state["block.weights"], products, updates)

    def entries(self, used: int, dtype: str) -> State:
        """Return the entries of the state, given the rows of the weights in use."""
        if not self.rows:
            return closed(used, dtype)
        numbers = [len(learned["plus"]) for learned in self.updates]
        learners, most = len(numbers), max(numbers)
        steps = max(len(learned["mean"]) // n if n else 0 for learned, n in zip(self.updates, numbers, strict=True))
        found = {
            "block.counts": np.array([used, self.pending]),
            "block.weights": self.weights,
            "block.products": self.products,
            "block.updates": np.array(numbers),
            "block.sides": np.full((learners, most, 2), -1, dtype=np.int32),
            "block.shares": np.zeros((learners, most, most)),
            "block.steps": np.zeros((learners, most, 2 + steps)),
        }
        for learner, (learned, n) in enumerate(zip(self.updates, numbers, strict=True)):
            found["block.sides"][learner, :n, 0], found["block.sides"][learner, :n, 1] = (
                learned["plus"],
                learned["minus"],
            )
            found["block.shares"][learner, :n, :n] = learned["share"].reshape(n, n)
            of_update = found["block.steps"][learner, :n]
            of_update[:, 0], of_update[:, 1], of_update[:, 2:] = (
                learned["weight"], learned["age"], learned["mean"].reshape(steps, n).T,
            )  # fmt: skip
        return found


def closed(used: int, dtype: str) -> State:
    """Return the entries of a state between two blocks."""
    return {
        "block.counts": np.array([used, 0]),
        **{name: np.zeros(shape, kind) for name, (shape, kind) in shapes(dtype).items() if name != "block.counts"},
    }


def shapes(dtype: str, arrays: State | None = None, *, learners: int = 0, parts: int = 0, planes: int = 0,
           columns: int = 0) -> Shapes:  # fmt: skip
    """Return shape and type of the entries; ``arrays`` determines how many rows and updates there are, if any."""
    found = {} if arrays is None else arrays
    products, sides, steps = (found.get(f"block.{name}") for name in ("products", "sides", "steps"))
    rows = products.shape[2] if products is not None and products.ndim == 4 else 0
    updates = sides.shape[1] if sides is not None and sides.ndim == 3 else 0
    numbers = steps.shape[2] if steps is not None and steps.ndim == 3 else 0
    used = int(found["block.counts"][0]) if rows else 0
    n = learners if rows else 0
    return {
        "block.counts": ((2,), COUNT),
        "block.weights": ((used, planes, columns) if rows else (0, 0, 0), dtype),
        "block.products": ((n, parts, rows, parts * used) if rows else (0, 0, 0, 0), dtype),
        "block.updates": ((n,), COUNT),
        "block.sides": ((n, updates, 2) if rows else (0, 0, 2), "int32"),
        "block.shares": ((n, updates, updates) if rows else (0, 0, 0), REAL),
        "block.steps": ((n, updates, numbers) if rows else (0, 0, 2), REAL),
    }


def check(state: State, rows: int, rows_per_block: int, may_wait: int, means: int) -> None:
    """Raise ``ValueError`` unless the entries of a file could be those of a learner with ``rows`` rows of weights."""
    used, pending = state["block.counts"].tolist()
    if not 0 <= used <= rows:
        raise ValueError(f"block.counts must be in 0 to {rows}, got {used}")
    n = state["block.products"].shape[2]
    if not n:
        return
    most, updates = state["block.sides"].shape[1], state["block.updates"]
    if n >= rows_per_block or not 0 <= pending <= min(may_wait, int(state["pending_rows"][0])):
        raise ValueError(f"block.products must have fewer rows than {rows_per_block}, got {n} after {pending} pending")
    if (updates < 0).any() or int(updates.max()) != most or most > 2 * n:
        raise ValueError(f"block.updates does not fit the block: {updates.tolist()} of {most}, after {n} of its rows")
    if most and state["block.steps"].shape[2] != 2 + means:
        raise ValueError(f"block.steps must be {2 + means} wide, got {state['block.steps'].shape[2]}")
    sides, parts = state["block.sides"], state["block.products"].shape[1]
    for learner, count in enumerate(updates.tolist()):
        own = sides[learner, :count]
        known = (own >= 0) & (own < parts * rows_per_block) & (own % rows_per_block < n)
        both = own[:, 1] >= 0
        if not (known[:, 0].all() and (known[:, 1] | (own[:, 1] == -1)).all() and (both == both[:1]).all()):
            raise ValueError("the updates of a block are of other rows")


def values(state: State, largest_mean: float) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of the entries."""
    yield "block.counts", state["block.counts"], COUNTS
    yield "block.weights", state["block.weights"][:, :1], within(largest_mean)
    for name in ("weights", "products", "shares", "steps"):
        yield f"block.{name}", state[f"block.{name}"], within(MAX_NUMBER)
