"""Decisions as records: what was known, which arm was chosen, with what probability, and the reward."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..data.sources.json_schema import Count, conform, parse
from ..data.sources.whole_files import new_file

MAX_DENSE = 1000  # columns
FIELDS = ("id", "arm", "propensity", "reward", "context")


class Context(TypedDict):
    """The nonzero entries of a row of ``shape`` columns."""

    shape: Count
    columns: list[Count]
    values: list[float]


@dataclass
class Decision:
    """One decision of a bandit.

    Attributes
    ----------
    id : str, int or float
        Identifies the decision when its reward is given.
    arm : str, int or float
        The chosen arm.
    propensity : float
        The probability with which the policy chose this arm, given the context.
    reward : float, optional
        None until it is known.
    context : dict
        ``{"shape": d, "columns": [...], "values": [...]}``: the nonzero entries of the row.
    arms : list, optional
        The arms to choose from; None: all.
    """

    id: Any
    arm: Any
    propensity: float
    reward: float | None
    context: Context
    arms: list[Any] | None = None

    def record(self) -> dict[str, Any]:
        """Return it as JSON has it, without ``arms`` where it is None."""
        return {name: value for name, value in asdict(self).items() if name in FIELDS or value is not None}


def context_record(row: Any) -> Context:
    """Return a matrix of one row as a plain record."""
    if issparse(row):
        columns, values = row.indices, row.data
    else:
        columns = np.flatnonzero(row)
        values = row[0, columns]
    return {"shape": int(row.shape[1]), "columns": columns.tolist(), "values": values.tolist()}


def context_row(decision: Decision) -> csr_array | NDArray[np.float64]:
    """Return the context of a decision as a matrix of one row, dense if it is short, which is faster."""
    context = decision.context
    if context["shape"] > MAX_DENSE:
        return contexts_of([decision])
    row = np.zeros((1, context["shape"]))
    row[0, context["columns"]] = context["values"]
    return row


def contexts_of(log: Sequence[Decision]) -> csr_array:
    """Return the contexts of decisions as a sparse array of shape (n, d)."""
    start = np.cumsum([0, *(len(one.context["columns"]) for one in log)])
    columns = np.array([j for one in log for j in one.context["columns"]], dtype=np.int32)
    values = np.array([x for one in log for x in one.context["values"]], dtype=np.float64)
    width = max((one.context["shape"] for one in log), default=0)
    return csr_array((values, columns, start), shape=(len(log), width))


def feedback(log: Iterable[Decision], arms: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return rewarded decisions as the arrays that off-policy estimators take.

    Parameters
    ----------
    log : iterable of Decision
        Those without a reward are left out.
    arms : sequence
        All arms, in the order of the columns of ``action_dist``.

    Returns
    -------
    dict
        ``reward``, ``action`` (numbers of arms) and ``pscore`` (propensities), each of shape (n,).

    Raises
    ------
    ValueError
        For a decision on an arm that is not in ``arms``.

    Examples
    --------
    >>> log = [Decision(0, "b", 0.5, 1.0, {"shape": 0, "columns": [], "values": []})]
    >>> {name: array.tolist() for name, array in feedback(log, ["a", "b"]).items()}
    {'reward': [1.0], 'action': [1], 'pscore': [0.5]}
    """
    number = {arm: k for k, arm in enumerate(arms)}
    known = [one for one in log if one.reward is not None]
    for one in known:
        if one.arm not in number:
            raise ValueError(f"feedback: decision {one.id!r} chose {one.arm!r}, which is not in arms; leave it out")
    return {
        "reward": np.array([one.reward for one in known], dtype=np.float64),
        "action": np.array([number[one.arm] for one in known], dtype=np.intp),
        "pscore": np.array([one.propensity for one in known], dtype=np.float64),
    }


def write_log(log: Iterable[Decision], path: str | os.PathLike[str]) -> None:
    """Write decisions as JSON lines, one object per decision; the file is complete or absent."""
    with new_file(path) as temporary:
        lines = (json.dumps(one.record(), ensure_ascii=False, allow_nan=False) for one in log)
        Path(temporary).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_log(path: str | os.PathLike[str]) -> list[Decision]:
    """Read decisions that :func:`write_log` wrote.

    Raises
    ------
    ValueError
        If a line is not a decision; the message has its number.
    OSError
        If the file cannot be read.
    """
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found.append(decision_of(parse(line, Any)))
        except (TypeError, ValueError, KeyError) as error:
            raise ValueError(f"{path}, line {number}: not a decision ({error}); pass a file of write_log") from None
    return found


def decision_of(record: Any) -> Decision:
    """Return the decision of a record, checked.

    Raises
    ------
    TypeError, ValueError, KeyError
        If it is not one.
    """
    if not isinstance(record, dict) or set(record) - {"arms"} != set(FIELDS):
        raise ValueError(f"expected an object with {', '.join(FIELDS)}")
    propensity, reward = record["propensity"], record["reward"]
    context = conform(record["context"], Context, "context")
    if not isinstance(propensity, float | int) or not 0 < propensity <= 1:
        raise ValueError(f"propensity must be in (0, 1], got {propensity!r}")
    if reward is not None and (not isinstance(reward, float | int) or not np.isfinite(reward)):
        raise ValueError(f"reward must be a finite number or null, got {reward!r}")
    columns, values = context["columns"], context["values"]
    if len(columns) != len(values) or not all(j < context["shape"] for j in columns):
        raise ValueError("the columns and values of the context do not fit together")
    arms = record.get("arms")
    id, arm = conform([record["id"], record["arm"]], list[str | int | float | bool], "id and arm")
    if arms is not None and arm not in conform(arms, list[str | int | float | bool], "arms"):
        raise ValueError(f"arm {arm!r} is not among arms")
    return Decision(id, arm, float(propensity), reward, context, arms)
