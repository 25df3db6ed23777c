"""The arrays of the exact posterior of entities (core/entities/hierarchy.hpp): single entities, merging, moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
State = dict[str, np.ndarray]
MAX_COLUMNS = 16  # with the intercept, as in core/entities/small_factor.hpp
MEMORY = 2000.0  # rows that count in what decays, as in core/tasks/calibration.hpp
ENTITIES_AT_ONCE = 2**14


@dataclass(frozen=True)
class Moments:
    """What is known of columns and targets, the last entry: weight, mean, squares around it, and center of the sums."""

    count: Floats
    mean: Floats
    squares: Floats
    center: Floats


def columns_of(state: State) -> int:
    """Return the number of columns, with the intercept."""
    return len(state["variances"])


def unpacked(sums: Floats, own: int, d: int, columns: NDArray[np.intp] | None = None) -> Floats:
    """Return the sums of (x, y)(x, y)' of each entity, shape (n, d + 1, d + 1); its ``own`` columns are among d."""
    at = np.append(np.arange(own) if columns is None else columns, d)
    rows, others = np.tril_indices(own + 1)
    triangles = sums.reshape(-1, len(rows))
    found = np.zeros((len(triangles), d + 1, d + 1))
    found[:, at[rows], at[others]] = triangles
    found[:, at[others], at[rows]] = triangles
    return found


def packed(whole: Floats) -> Floats:
    """Return the lower triangles of matrices."""
    rows, columns = np.tril_indices(whole.shape[1])
    return np.ascontiguousarray(whole[:, rows, columns]).ravel()


def moved(whole: Floats, by: Floats) -> Floats:
    """Return sums around a center that is further by so much."""
    shift = np.eye(len(by))
    shift[1:, 0] = -by[1:]
    found: Floats = shift @ whole @ shift.T
    diagonal = np.arange(len(by))
    found[:, diagonal, diagonal] = np.maximum(found[:, diagonal, diagonal], 0.0)  # rounding
    return found


def deviations(state: State, sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what entities deviate by, around the center: mean, covariance, and covariance with the shared weights.

    Covariances are in units of the noise.
    """
    d, lag = columns_of(state), np.diag(1 / state["variances"])
    P, h = sums[:, :d, :d], sums[:, :d, d]
    C = np.linalg.inv(P + lag)
    own = C @ P  # of the shared weights, what the entity's rows explain
    mean = np.einsum("njk,nk->nj", C, h) - own @ state["shared"]
    between = -own @ state["covariance"].reshape(d, d)
    return mean, C - between @ own.swapaxes(1, 2), between


def recentered(state: State, other: State) -> State:
    """Return a state whose sums have the columns and the center of another one, whose first columns are its own."""
    own, d = columns_of(state), columns_of(other)
    by = other["center"].copy()
    by[:own] -= state["center"][:own]
    by[d] -= state["center"][own]
    fresh = other["count"] == 0  # columns without a value so far, or only in the other's rows
    fresh[own:d] |= other["count"][own:d] < other["count"][d]
    by[fresh] = 0.0
    whole = moved(unpacked(state["sums"], own, d), by)
    return state | {"sums": packed(whole)}


def weights_of(state: State, sums: Floats | None) -> tuple[Floats, Floats]:
    """Return mean and covariance, in units of the noise, of the deviation of an entity with sums, or of what is shared.

    They are those of rows as they are given: what the center adds is in the intercept.
    """
    d = columns_of(state)
    uncentered = np.eye(d)
    uncentered[0, 1:] = -state["center"][1:d]
    if sums is None:
        mean, covariance = state["shared"], state["covariance"].reshape(d, d)
        return uncentered @ mean + state["center"][d] * np.eye(d)[0], uncentered @ covariance @ uncentered.T
    [mean], [covariance], _ = deviations(state, unpacked(sums, d, d))
    return uncentered @ mean, uncentered @ covariance @ uncentered.T


def as_moments(state: State, levels: int, noise: float) -> State:
    """Return the state of core/entities/entities.hpp with the same means and variances, at every level."""
    d, n = columns_of(state), len(state["last"])
    cells = np.empty((n, d, levels, 2), np.float32)
    for first in range(0, n, ENTITIES_AT_ONCE):
        part = slice(first, first + ENTITIES_AT_ONCE)
        mean, covariance, _ = deviations(state, unpacked(state["sums"].reshape(n, -1)[part], d, d))
        cells[part, :, :, 0] = mean[:, :, None]
        cells[part, :, :, 1] = np.diagonal(covariance, axis1=1, axis2=2)[:, :, None]
    weight = min(float(state["totals"][1]), MEMORY)
    return {
        "size": np.full(n, d, np.int32),
        "features": np.tile(np.arange(d, dtype=np.int32), n),
        "cells": cells.ravel(),
        "evidence": np.zeros(levels + 1),
        "noise": np.tile([noise * weight, weight], levels + 1),
        **{name: state[name] for name in ("last", "rows", "losses")},
    }


def merged_sums(
    states: Sequence[State], columns: Sequence[NDArray[np.intp]], places: Sequence[NDArray[np.intp]], n_entities: int,
    n_bases: int, missing: NDArray[np.bool_],
) -> State:  # fmt: skip
    """Return sums, moments and variances of the entities of several states: the base's, and what each has added.

    Parameters
    ----------
    states : sequence of dict
        Those of a base first, if there is one.
    columns, places : sequences of int arrays
        The columns of each, with the intercept, and its entities in the merged state.
    missing : bool array of shape (d,)
        Columns whose absent values are not known, rather than 0.
    """
    d = len(missing)
    known = [_moments(state, d, at, missing) for state, at in zip(states, columns, strict=True)]
    whole = _merged_moments(known, n_bases)
    before, total = np.zeros((2, n_entities, d + 1, d + 1))
    for k, (state, at, place) in enumerate(zip(states, columns, places, strict=True)):
        by = whole.mean - np.where(known[k].count > 0, known[k].center, whole.mean)
        own = moved(unpacked(state["sums"], len(at), d, at), np.append(0.0, by[1:]))
        if k < n_bases:
            before[place] = total[place] = own
        else:
            total[place] += own - before[place]
    diagonal = np.arange(d + 1)
    total[:, diagonal, diagonal] = np.maximum(total[:, diagonal, diagonal], 0.0)
    weight = np.array([float(state["totals"][1]) for state in states]) + 1e-9
    variances = np.ones(d)
    for j in range(d):
        has = [k for k, at in enumerate(columns) if j in at]
        logs = [float(np.log(states[k]["variances"][columns[k] == j][0])) for k in has]
        variances[j] = np.exp(np.average(logs, weights=weight[has])) if has else 1.0
    first = states[0]
    start, weights, covariance = np.ones(d), np.zeros(d), np.eye(d)
    start[columns[0]], weights[columns[0]] = first["start"], first["shared"]
    covariance[np.ix_(columns[0], columns[0])] = first["covariance"].reshape((len(columns[0]),) * 2)
    return {
        "sums": packed(total), "center": whole.mean, "count": whole.count, "mean": whole.mean,
        "squares": whole.squares, "variances": variances, "start": start, "shared": weights,
        "covariance": covariance.ravel(), "totals": first["totals"], "schedule": _sum(states, n_bases, "schedule"),
    }  # fmt: skip


def _sum(states: Sequence[State], n_bases: int, name: str) -> np.ndarray:
    base = states[0][name] if n_bases else np.zeros_like(states[0][name])
    return base + np.sum([state[name] - base for state in states[n_bases:]], axis=0)


def _moments(state: State, d: int, columns: NDArray[np.intp], missing: NDArray[np.bool_]) -> Moments:
    """Return the moments of all columns: one that a state lacks was 0 in its rows, unless absent values are missing."""
    at = np.append(columns, d)
    found = Moments(*np.zeros((4, d + 1)))
    found.count[:d] = np.where(missing, 0.0, state["count"][-1])
    for name, array in vars(found).items():
        array[at] = state[name]
    found.count[0] = 0.0  # the intercept is not centered
    return found


def _merged_moments(known: Sequence[Moments], n_bases: int) -> Moments:
    """Return the moments of the rows of a base and of what each part has added (Chan, Golub & LeVeque 1983)."""
    base = known[0] if n_bases else Moments(*np.zeros((4, len(known[0].count))))
    parts = known[n_bases:]
    count = base.count + sum(one.count - base.count for one in parts)
    near = known[0].mean
    shift = base.count * (base.mean - near)
    shift = shift + sum(one.count * (one.mean - near) - base.count * (base.mean - near) for one in parts)
    mean = near + np.divide(shift, count, out=np.zeros_like(shift), where=count > 0)

    def squares(one: Moments) -> Floats:
        return one.squares + one.count * (one.mean - mean) ** 2

    whole = squares(base) + sum(squares(one) - squares(base) for one in parts)
    return Moments(np.maximum(count, 0.0), mean, np.maximum(whole, 0.0), mean)
