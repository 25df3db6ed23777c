"""Coverage by group: what a row is compared with are the rows before with the same value of a column.

The promise then holds for each group by itself (Mondrian conformal prediction; Vovk, Gammerman & Shafer, Algorithmic
Learning in a Random World, 2nd ed., Springer 2022, section 4.6). Values with too few rows for a coverage are compared
together, as are those that come after the first ``MAX_GROUPS``: nothing is lent by others. Groups have scores of
classes or labels (:mod:`confidently.tasks.conformal`), or errors of numbers (:mod:`confidently.tasks.errors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import _core
from ..arrays import row_entries, row_numbers, row_starts
from . import conformal, errors

GROUPS = "conformal.groups"  # the array of a model file
MAX_GROUPS = 256
NONE: Mapping[str, np.ndarray] = MappingProxyType({})


class Kind(Protocol):
    """What is learned of the rows of a group: a module of these functions."""

    def untrained(self, n: int, /) -> np.ndarray: ...
    def none_of(self, state: np.ndarray, /) -> np.ndarray: ...
    def grown(self, own: np.ndarray, n: int, /) -> np.ndarray: ...
    def placed(self, own: np.ndarray, outputs: np.ndarray, n: int, /) -> np.ndarray: ...
    def merged(self, parts: Sequence[np.ndarray], base: np.ndarray, /) -> np.ndarray: ...
    def settled(self, state: np.ndarray, /) -> np.ndarray: ...
    def rows_seen(self, state: np.ndarray, /) -> int: ...
    def values(self, state: np.ndarray, /) -> conformal.Values: ...


class Groups(NamedTuple):
    """What was learned of rows by their value in a column. It is replaced, and never written to.

    Attributes
    ----------
    column : str or int
        Its name; or its number, in arrays.
    states : mapping of str to array
        What was learned of the rows with each value, in the order of their first rows.
    rest : array, optional
        What was learned together of the rows with values that were new when there were ``MAX_GROUPS``.
    of_numbers : bool
        Whether these are errors of numbers; otherwise scores of classes or labels.
    """

    column: str | int
    states: Mapping[str, np.ndarray] = NONE
    rest: np.ndarray | None = None
    of_numbers: bool = False

    @property
    def kind(self) -> Kind:
        """What is learned of the rows."""
        return errors if self.of_numbers else conformal

    @property
    def others(self) -> int:
        """The rows of ``rest``, or the labels of these."""
        return 0 if self.rest is None else self.kind.rows_seen(self.rest)

    @property
    def all_states(self) -> list[np.ndarray]:
        """The states of all values, and of the rest if there is one."""
        return [*self.states.values(), *([] if self.rest is None else [self.rest])]

    def check_values(self, values: Sequence[str] | None) -> None:
        """Raise ``ValueError`` unless there are values to learn by."""
        if values is None:
            raise ValueError(
                f"coverage_by={self.column!r} needs the values of this column, which are not kept of the rows; where "
                f"these come from open_stream, pass it keep=[{self.column!r}]"
            )

    def learned(
        self, values: Sequence[str], scores: np.ndarray, labels: np.ndarray, order: np.ndarray | None, n_outputs: int,
        start: np.ndarray | None = None,
    ) -> Groups:  # fmt: skip
        """Return what is known after rows.

        Parameters
        ----------
        values : sequence of str
        scores : float64 array
            In the order of training, and NaN where nothing is learned: the log-odds of the rows' classes or of all of
            their labels before these were used; or their standardized errors, one for each number.
        labels : int32 array
        order : int64 array of shape (n,), optional
            Row numbers in the order of training.
        n_outputs : int
        start : int64 array, optional
            Label sets: where the labels of each row start.
        """
        if order is not None:
            values = [values[row] for row in order.tolist()]
        if self.of_numbers:
            table = scores.reshape(-1, n_outputs)

            def learn(own: np.ndarray, rows: np.ndarray) -> None:
                _core.group_errors_learn(own, table[rows])

            return self._after(values, ~np.isnan(table).all(axis=1), learn, n_outputs)
        if start is None:
            labels = labels if order is None else labels[order]
            start = np.arange(len(labels) + 1)
        else:
            entries, start = row_entries(start, slice(None) if order is None else order)
            labels = labels[entries]
            by_label = np.lexsort((labels, row_numbers(start)))  # in each row, as the core learns them
            scores, labels = scores[by_label], labels[by_label]
        scored = ~np.isnan(scores)
        first = row_starts(scored)[start]
        scores, labels = scores[scored], labels[scored]

        def learn_scores(own: np.ndarray, rows: np.ndarray) -> None:
            entries, _ = row_entries(first, rows)
            _core.conformal_learn(own, n_outputs, scores[entries], labels[entries])

        return self._after(values, np.diff(first) > 0, learn_scores, n_outputs)

    def learned_late(
        self, values: Sequence[str], predicted: np.ndarray, labels: np.ndarray, weight: np.ndarray | None,
        start: np.ndarray | None = None,
    ) -> Groups:  # fmt: skip
        """Return what is known after rows, as :func:`confidently.tasks.conformal.learned_late` does."""

        def learn(own: np.ndarray, rows: np.ndarray) -> None:
            entries, starts = (rows, None) if start is None else row_entries(start, rows)
            _core.conformal_learn_late(own, predicted[rows], labels[entries], starts)

        known = np.ones(len(predicted), np.bool_) if weight is None else weight > 0.0
        if start is not None:
            known = known & (np.diff(start) > 0)
        return self._after(values, known, learn, predicted.shape[1])

    def renewed(self, ratio: float) -> Groups:
        """Return the groups in which rows so far count by :func:`confidently.tasks.conformal.part_to_keep`."""

        def renewed(own: np.ndarray) -> np.ndarray:
            return conformal.renewed(own, conformal.part_to_keep(own, ratio))

        return self._each(renewed)

    def settled(self) -> Groups:
        """Return the groups with levels that no miss has changed."""
        return self._each(self.kind.settled)

    def placed(self, outputs: np.ndarray, n_outputs: int) -> Groups:
        """Return the groups of a learner whose outputs have these numbers among more."""
        return self._each(lambda own: self.kind.placed(own, outputs, n_outputs))

    def _each(self, changed: Callable[[np.ndarray], np.ndarray]) -> Groups:
        rest = None if self.rest is None else changed(self.rest)
        return self._replace(states={value: changed(own) for value, own in self.states.items()}, rest=rest)

    def _after(
        self, values: Sequence[str], known: np.ndarray, learn: Callable[[np.ndarray, np.ndarray], None], n_outputs: int
    ) -> Groups:
        states, others = dict(self.states), list[np.ndarray]()

        def after(before: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
            kind = self.kind
            own = kind.untrained(n_outputs) if before is None else kind.grown(before, n_outputs).copy()
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
        return found._replace(rest=after(self.rest, late)) if len(late) else found

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        return {"column": self.column, "values": list(self.states), "others": self.others}

    def array(self, n_outputs: int) -> np.ndarray:
        """Return the states as one array, of shape (groups + 1, size), the last of which is that of the rest."""
        kind = self.kind
        rest = kind.untrained(n_outputs) if self.rest is None else self.rest
        return np.array([kind.grown(own, n_outputs) for own in (*self.states.values(), rest)])

    def untrained(self, groups: int, n_outputs: int) -> np.ndarray:
        """Return the array of so many groups, and of the rest, before the first row."""
        return np.tile(self.kind.untrained(n_outputs), (groups + 1, 1))

    def of(self, values: Sequence[str], others: int, states: np.ndarray) -> Groups:
        """Return the groups of a :meth:`header` and an :meth:`array`; ``ValueError`` if they do not fit."""
        if len(set(values)) < len(values) or len(values) > MAX_GROUPS:
            raise ValueError(f"{len(values)} groups, or a value twice; expected {MAX_GROUPS} groups at most")
        *own, rest = states
        found = self._replace(states=dict(zip(values, own, strict=True)), rest=rest if others else None)
        if self.kind.rows_seen(rest) != others:
            raise ValueError(f"{others} rows of other groups, and scores of {self.kind.rows_seen(rest)}")
        return found


def merged(parts: Sequence[Groups], base: Groups | None) -> Groups:
    """Return the groups of learners whose training continued from a base, with the same outputs.

    What is known of the same value is merged as that of all rows is, and of more than ``MAX_GROUPS`` values the first
    stay.
    """
    start, kind = Groups(parts[0].column, of_numbers=parts[0].of_numbers) if base is None else base, parts[0].kind

    def together(own: list[np.ndarray], before: np.ndarray | None) -> np.ndarray:
        return kind.merged(own, kind.none_of(own[0]) if before is None else before)

    states: dict[str, np.ndarray] = {}
    rests = [part.rest for part in parts if part.rest is not None]
    for value in dict.fromkeys(value for part in parts for value in part.states):
        own = [part.states[value] for part in parts if value in part.states]
        if len(states) == MAX_GROUPS:
            rests += own
        else:
            states[value] = together(own, start.states.get(value))
    return start._replace(states=states, rest=together(rests, start.rest) if rests else None)


def rows_by(values: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the rows with each value, in the order of their first ones."""
    found: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        found.setdefault(value, []).append(row)
    return {value: np.array(rows) for value, rows in found.items()}
