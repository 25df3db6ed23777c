"""Stored matrices S with pending rows U, Sigma = scale (S - U'U): the parts that are in use, and what they give."""

from __future__ import annotations

import numpy as np

from .host_arrays import NumpyArrays
from .state import State
from .threads import crew


def rows_in_use(state: State | None, rows: int) -> int:
    """Return how many rows of the weights are in use, out of all; in states of earlier versions, all of them."""
    counts = None if state is None else state.get("block.counts")
    return rows if counts is None or counts.shape != (2,) else min(max(int(counts[0]), 0), rows)


def leading(matrices: np.ndarray, rows: int, used: int, parts: int | None = None) -> np.ndarray:
    """Return the entries of the first features in every part, shape (learners, parts, used, parts, used), a view."""
    whole = matrices.shape[1] // max(rows, 1)
    shaped = matrices.reshape(len(matrices), whole, rows, whole, rows)
    return shaped[:, :parts, :used, :parts, :used]


def leading_rows(pending: np.ndarray, rows: int, used: int, parts: int | None = None) -> np.ndarray:
    """Return the entries of the first features in every part of pending rows, shape (learners, n, parts, used)."""
    shaped = pending.reshape(*pending.shape[:2], pending.shape[2] // max(rows, 1), rows)
    return shaped[:, :, :parts, :used]


def subtract_pending(matrices: np.ndarray, rows: int, used: int, pending: np.ndarray) -> None:
    """Subtract U'U of pending rows, shape (learners, n, parts, used), from matrices, in place."""
    into = leading(matrices, rows, used)
    d = into.shape[1] * used
    compact = np.ascontiguousarray(into).reshape(-1, d, d)
    with crew() as threads:
        NumpyArrays(threads).subtract_gram(
            [(s, np.ascontiguousarray(u, dtype=s.dtype).reshape(-1, d)) for s, u in zip(compact, pending, strict=True)]
        )
    into[:] = compact.reshape(into.shape)


def flushed_matrices(state: State) -> np.ndarray:
    """Return a copy of the stored matrices with pending updates subtracted; the state stays unchanged."""
    matrices, rows = state["covariance"].copy(), len(state["weights"])
    count, used = int(state["pending_rows"][0]), rows_in_use(state, rows)
    if count:
        subtract_pending(matrices, rows, used, leading_rows(state["pending"][:, :count], rows, used))
    return matrices


def quadratic_forms(
    arrays: NumpyArrays, state: State, learner: int, A: np.ndarray, plus: int, minus: int | None = None
) -> np.ndarray:
    """Return z' Sigma z for each row x of A, where z has x at class ``plus`` and -x at ``minus``."""
    rows, sigma = A.shape[1], state["covariance"][learner]
    pending = state["pending"][learner, : state["pending_rows"][0]]
    p = slice(plus * rows, (plus + 1) * rows)
    S, U = sigma[p, p], pending[:, p]
    if minus is not None:
        m = slice(minus * rows, (minus + 1) * rows)
        S, U = S + sigma[m, m] - sigma[p, m] - sigma[m, p], U - pending[:, m]
    AS = arrays.empty("AS", A.shape, A.dtype)
    arrays.multiply([(A, S, AS)])
    v = np.einsum("ij,ij->i", AS, A, dtype=np.float64)
    if len(U):
        AU = A @ U.T
        v -= np.einsum("ij,ij->i", AU, AU, dtype=np.float64)
    return np.maximum(v * state["scale"][learner], 0.0)
