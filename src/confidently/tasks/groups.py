"""Coverage by group: sets of a row are made of the scores of the rows before with the same value of a column.

The promise then holds for each group by itself (Mondrian conformal prediction; Vovk, Gammerman & Shafer, Algorithmic
Learning in a Random World, 2nd ed., Springer 2022, section 4.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from . import conformal
from .conformal import ConformalSets

GROUPS = "conformal.groups"  # the array of a model file
MAX_GROUPS = 256
NONE: Mapping[str, np.ndarray] = MappingProxyType({})


class Groups(NamedTuple):
    """What was learned of the scores of rows by their value in a column. It is replaced, and never written to.

    Attributes
    ----------
    column : str or int
        Its name; or its number, in arrays.
    states : mapping of str to array
        What was learned of the rows with each value, in the order of their first rows.
    others : int
        Rows with values that were new when there were ``MAX_GROUPS``.
    """

    column: str | int
    states: Mapping[str, np.ndarray] = NONE
    others: int = 0

    def recorded(self, values: Sequence[str] | None, n: int) -> np.ndarray:
        """Return where training records the scores of n rows: NaN, which stays for rows that are not learned."""
        if values is None:
            raise ValueError(
                f"coverage_by={self.column!r} needs the values of this column, which are not kept of the rows; where "
                f"these come from open_stream, pass it keep=[{self.column!r}]"
            )
        return np.full(n, np.nan)

    def learned(
        self, values: Sequence[str], scores: np.ndarray, labels: np.ndarray, order: np.ndarray | None, n_classes: int
    ) -> Groups:
        """Return what is known after rows.

        Parameters
        ----------
        values : sequence of str
        scores : float64 array of shape (n,)
            The log-odds of their classes before these were used, in the order of training.
        labels : int32 array
        order : int64 array of shape (n,), optional
            Row numbers in the order of training.
        n_classes : int
        """
        if order is not None:
            values, labels = [values[row] for row in order.tolist()], labels[order]

        def learn(own: np.ndarray, rows: np.ndarray) -> None:
            _core.conformal_learn(own, n_classes, scores[rows], labels[rows])

        return self._after(values, ~np.isnan(scores), learn, n_classes)

    def learned_late(
        self, values: Sequence[str], predicted: np.ndarray, labels: np.ndarray, weight: np.ndarray | None
    ) -> Groups:
        """Return what is known after rows, as :func:`confidently.tasks.conformal.learned_late` does."""

        def learn(own: np.ndarray, rows: np.ndarray) -> None:
            _core.conformal_learn_late(own, predicted[rows], labels[rows])

        known = np.ones(len(labels), np.bool_) if weight is None else weight > 0.0
        return self._after(values, known, learn, predicted.shape[1])

    def renewed(self, ratio: float) -> Groups:
        """Return the groups in which rows so far count by :func:`confidently.tasks.conformal.part_to_keep`."""
        parts = {value: conformal.part_to_keep(own, ratio) for value, own in self.states.items()}
        return self._replace(states={value: conformal.renewed(self.states[value], parts[value]) for value in parts})

    def _after(
        self, values: Sequence[str], known: np.ndarray, learn: Callable[[np.ndarray, np.ndarray], None], n_classes: int
    ) -> Groups:
        states, others = dict(self.states), self.others
        for value, rows in rows_by(values).items():
            rows = rows[known[rows]]
            if not len(rows):
                continue
            if value not in states and len(states) == MAX_GROUPS:
                others += len(rows)
                continue
            before = states.get(value)
            own = conformal.untrained(n_classes) if before is None else conformal.grown(before, n_classes).copy()
            learn(own, rows)
            states[value] = own
        return self._replace(states=states, others=others)

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        return {"column": self.column, "values": list(self.states), "others": self.others}

    def array(self, n_classes: int) -> np.ndarray:
        """Return the states as one array, of shape (groups, size)."""
        states = [conformal.grown(own, n_classes) for own in self.states.values()]
        return np.array(states).reshape(-1, conformal.size(n_classes))

    @classmethod
    def of(cls, column: str | int, values: Sequence[str], others: int, states: np.ndarray) -> Groups:
        """Return the groups of a :meth:`header` and an :meth:`array`; ``ValueError`` if they do not fit."""
        if len(set(values)) < len(values) or len(values) > MAX_GROUPS:
            raise ValueError(f"{len(values)} groups, or a value twice; expected {MAX_GROUPS} groups at most")
        return cls(column, dict(zip(values, states, strict=True)), others)

    def placed(self, classes: np.ndarray, n_classes: int) -> Groups:
        """Return the groups of a learner whose classes have these numbers among more."""
        states = {value: conformal.placed(own, classes, n_classes) for value, own in self.states.items()}
        return self._replace(states=states)


def merged(parts: Sequence[Groups], base: Groups | None) -> Groups:
    """Return the groups of learners whose training continued from a base, with the same classes.

    Scores of the same value are merged as those of all rows are, and of more than ``MAX_GROUPS`` values the first stay.
    """
    start = Groups(parts[0].column) if base is None else base
    states: dict[str, np.ndarray] = {}
    others = start.others + sum(part.others - start.others for part in parts)
    for value in dict.fromkeys(value for part in parts for value in part.states):
        own = [part.states[value] for part in parts if value in part.states]
        if len(states) == MAX_GROUPS:
            others += sum(int(state[conformal.SCORES + 2]) for state in own)
            continue
        before = start.states.get(value)
        states[value] = conformal.merged(own, conformal.none_of(own[0]) if before is None else before)
    return start._replace(states=states, others=others)


def rows_by(values: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the rows with each value, in the order of their first ones."""
    found: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        found.setdefault(value, []).append(row)
    return {value: np.array(rows) for value, rows in found.items()}


def untrained(groups: int, n_classes: int) -> np.ndarray:
    """Return the array of so many groups before the first row."""
    return np.tile(conformal.untrained(n_classes), (groups, 1))


class GroupedSets(ConformalSets):
    """What was learned of the scores of classes, of all rows and of those of each group.

    Parameters
    ----------
    state : array
    groups : Groups
    settled : bool
        Whether sets follow no misses.
    """

    def __init__(self, state: np.ndarray, groups: Groups, settled: bool) -> None:
        super().__init__(conformal.settled(state) if settled else state)
        self._groups, self._settled = groups, settled

    def warning(self, coverage: float) -> str | None:
        if text := super().warning(coverage):
            return text
        if not self._groups.others:
            return None
        return (
            f"coverage_by={self._groups.column!r} has more than {MAX_GROUPS} values; sets of rows with later ones are "
            "made of the scores of all rows"
        )

    def sets(
        self, probabilities: np.ndarray, coverage: float, by_class: bool, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return the sets of rows with these values: those of their groups where these have rows enough."""
        found = super().sets(probabilities, coverage, by_class)
        for value, rows in rows_by(values or ()).items():
            if value in self._groups.states:
                own = conformal.grown(self._groups.states[value], self.classes)
                group = ConformalSets(conformal.settled(own) if self._settled else own)
                if group.shortage(coverage) is None:
                    found[rows] = group.sets(probabilities[rows], coverage, by_class)
        return found
