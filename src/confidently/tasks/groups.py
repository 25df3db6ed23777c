"""Coverage by group: sets of a row are made of the scores of the rows before with the same value of a column.

The promise then holds for each group by itself (Mondrian conformal prediction; Vovk, Gammerman & Shafer, Algorithmic
Learning in a Random World, 2nd ed., Springer 2022, section 4.6). Values with too few rows for a coverage are compared
together, as are those that come after the first ``MAX_GROUPS``: nothing is lent by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..wording import listed
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
    rest : array, optional
        What was learned of these rows together.
    """

    column: str | int
    states: Mapping[str, np.ndarray] = NONE
    others: int = 0
    rest: np.ndarray | None = None

    @property
    def all_states(self) -> list[np.ndarray]:
        """The states of all values, and of the rest if there is one."""
        return [*self.states.values(), *([] if self.rest is None else [self.rest])]

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

        def renewed(own: np.ndarray) -> np.ndarray:
            return conformal.renewed(own, conformal.part_to_keep(own, ratio))

        rest = None if self.rest is None else renewed(self.rest)
        return self._replace(states={value: renewed(own) for value, own in self.states.items()}, rest=rest)

    def _after(
        self, values: Sequence[str], known: np.ndarray, learn: Callable[[np.ndarray, np.ndarray], None], n_classes: int
    ) -> Groups:
        states, others = dict(self.states), list[np.ndarray]()

        def after(before: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
            own = conformal.untrained(n_classes) if before is None else conformal.grown(before, n_classes).copy()
            learn(own, rows)
            return own

        for value, rows in rows_by(values).items():
            rows = rows[known[rows]]
            if value not in states and len(states) == MAX_GROUPS:
                others.append(rows)
            elif len(rows):
                states[value] = after(states.get(value), rows)
        found = self._replace(states=states)
        late = np.sort(np.concatenate(others, dtype=np.int64)) if others else np.zeros(0, np.int64)
        return found._replace(others=self.others + len(late), rest=after(self.rest, late)) if len(late) else found

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        return {"column": self.column, "values": list(self.states), "others": self.others}

    def array(self, n_classes: int) -> np.ndarray:
        """Return the states as one array, of shape (groups + 1, size), the last of which is that of the rest."""
        rest = conformal.untrained(n_classes) if self.rest is None else self.rest
        return np.array([conformal.grown(own, n_classes) for own in (*self.states.values(), rest)])

    @classmethod
    def of(cls, column: str | int, values: Sequence[str], others: int, states: np.ndarray) -> Groups:
        """Return the groups of a :meth:`header` and an :meth:`array`; ``ValueError`` if they do not fit."""
        if len(set(values)) < len(values) or len(values) > MAX_GROUPS:
            raise ValueError(f"{len(values)} groups, or a value twice; expected {MAX_GROUPS} groups at most")
        *own, rest = states
        if conformal.rows_seen(rest) != others:
            raise ValueError(f"{others} rows of other groups, and scores of {conformal.rows_seen(rest)}")
        return cls(column, dict(zip(values, own, strict=True)), others, rest if others else None)

    def placed(self, classes: np.ndarray, n_classes: int) -> Groups:
        """Return the groups of a learner whose classes have these numbers among more."""
        states = {value: conformal.placed(own, classes, n_classes) for value, own in self.states.items()}
        rest = None if self.rest is None else conformal.placed(self.rest, classes, n_classes)
        return self._replace(states=states, rest=rest)


def merged(parts: Sequence[Groups], base: Groups | None) -> Groups:
    """Return the groups of learners whose training continued from a base, with the same classes.

    Scores of the same value are merged as those of all rows are, and of more than ``MAX_GROUPS`` values the first stay.
    """
    start = Groups(parts[0].column) if base is None else base
    states: dict[str, np.ndarray] = {}
    others = start.others + sum(part.others - start.others for part in parts)
    rests = [part.rest for part in parts if part.rest is not None]
    for value in dict.fromkeys(value for part in parts for value in part.states):
        own = [part.states[value] for part in parts if value in part.states]
        if len(states) == MAX_GROUPS:
            others += sum(conformal.rows_seen(state) for state in own)
            rests += own
        else:
            states[value] = _merged(own, start.states.get(value))
    return start._replace(states=states, others=others, rest=_merged(rests, start.rest) if rests else None)


def _merged(parts: list[np.ndarray], base: np.ndarray | None) -> np.ndarray:
    return conformal.merged(parts, conformal.none_of(parts[0]) if base is None else base)


def rows_by(values: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the rows with each value, in the order of their first ones."""
    found: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        found.setdefault(value, []).append(row)
    return {value: np.array(rows) for value, rows in found.items()}


def untrained(groups: int, n_classes: int) -> np.ndarray:
    """Return the array of so many groups, and of the rest, before the first row."""
    return np.tile(conformal.untrained(n_classes), (groups + 1, 1))


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

    def warning(self, coverage: float, by_class: bool = True, values: Sequence[str] | None = None) -> str | None:
        """Return why sets of rows with these values may have classes that others could leave out, as text."""
        if text := super().warning(coverage, by_class):
            return text
        few = [value for value in dict.fromkeys(values or ()) if not self._enough(value, coverage)]
        if not few or (text := self._rare(coverage).warning(coverage, by_class)) is None:
            return None
        return f"rows whose {self._groups.column!r} is {listed(few)}, which have few rows together: {text}"

    def sets(
        self, probabilities: np.ndarray, coverage: float, by_class: bool, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return the sets of rows with these values: those of their groups, or of those with few rows together."""
        found = super().sets(probabilities, coverage, by_class)
        rare = None
        for value, rows in rows_by(values or ()).items():
            own = self._enough(value, coverage)
            if own is None:
                own = rare = self._rare(coverage) if rare is None else rare
            found[rows] = own.sets(probabilities[rows], coverage, by_class)
        return found

    def _enough(self, value: str, coverage: float) -> ConformalSets | None:
        """Return what was learned of a group, if so many of its rows count that its sets can leave out classes."""
        state = self._groups.states.get(value)
        if state is None:
            return None
        own = conformal.grown(state, self.classes)
        group = ConformalSets(conformal.settled(own) if self._settled else own)
        return None if group.warning(coverage, by_class=False) else group

    def _rare(self, coverage: float) -> ConformalSets:
        """Return what was learned of the groups with few rows, and of the rows without a group."""
        enough = {value for value in self._groups.states if self._enough(value, coverage)}
        few = self._groups.all_states[len(self._groups.states) :]
        few += [own for value, own in self._groups.states.items() if value not in enough]
        return ConformalSets(conformal.together(few, self.classes))
