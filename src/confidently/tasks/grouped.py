"""What rows are compared with by their value in a column: with those of the value, or of all values with few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from ..wording import listed
from . import conformal, errors
from .conformal import ConformalSets
from .groups import Groups, rows_by
from .intervals import ConformalIntervals
from .steps import enough_rows, steps
from .targets import Targets, shortage

ENOUGH = 9.0  # rows of a value that count, from which on it is compared with itself, or more where a level needs more
Known = TypeVar("Known")


class Compared(Generic[Known]):
    """What is known of the rows that those with a value are compared with, level by level.

    Parameters
    ----------
    groups : Groups
    rows : callable
        Returns how many rows of a state count.
    own : callable
        Returns what is known of a value from its state.
    pool : callable
        The same of several values together, from their states.
    """

    def __init__(
        self, groups: Groups, rows: Callable[[np.ndarray], float], own: Callable[[np.ndarray], Known],
        pool: Callable[[list[np.ndarray]], Known],
    ) -> None:  # fmt: skip
        self._groups, self._own, self._pool = groups, own, pool
        self._rows = {value: rows(state) for value, state in groups.states.items()}
        self._pools: dict[int, Known] = {}  # by the number of values, since those of lower levels are among them

    def parts(self, value: str, coverage: float) -> list[tuple[Known, float]]:
        """Return what a value is compared with, each with the level up to which it is.

        A higher level may have other rows than a lower one. What is not excluded at the lower one is not excluded
        either, so that all of these count.
        """
        found: list[tuple[Known, float]] = []
        last = None
        for level in reversed([*steps(coverage, ENOUGH), coverage]):
            if self._rows.get(value, 0.0) >= enough_rows(level, ENOUGH):
                found.append((self._own(self._groups.states[value]), level))
                break
            few = self._few(level)
            if len(few) != last:
                found.append((self._together(few), level))
            last = len(few)
        return found

    def short(self, values: Sequence[str], coverage: float, why: Callable[[Known, float], str | None]) -> str | None:
        """Return for which values too few rows count, and why, as text; None if there are none."""
        reasons = {value: next(self._reasons(value, coverage, why), None) for value in dict.fromkeys(values)}
        few = [value for value, reason in reasons.items() if reason is not None]
        if not few:
            return None
        return f"rows whose {self._groups.column!r} is {listed(few)}, which have few rows together: {reasons[few[0]]}"

    def _reasons(self, value: str, coverage: float, why: Callable[[Known, float], str | None]) -> Iterator[str]:
        if self._rows.get(value, 0.0) < enough_rows(coverage, ENOUGH):
            yield from filter(None, (why(*part) for part in self.parts(value, coverage)))

    def _few(self, level: float) -> list[np.ndarray]:
        enough = enough_rows(level, ENOUGH)
        few = [state for value, state in self._groups.states.items() if self._rows[value] < enough]
        return few + self._groups.all_states[len(self._groups.states) :]

    def _together(self, few: list[np.ndarray]) -> Known:
        if len(few) not in self._pools:
            self._pools[len(few)] = self._pool(few)
        return self._pools[len(few)]


class GroupedSets(ConformalSets):
    """What was learned of the scores of classes, of all rows and of those of each group.

    Parameters
    ----------
    state : array
    groups : Groups
    repeated, centered : bool, float
        As :class:`confidently.tasks.conformal.ConformalSets` has them.
    """

    def __init__(self, state: np.ndarray, groups: Groups, repeated: bool = False, centered: float = 0.0) -> None:
        super().__init__(state, repeated, centered)
        self._compared_with = Compared(
            groups, lambda state: ConformalSets(state).rows,
            lambda state: ConformalSets(conformal.grown(state, self.classes), repeated, centered),
            lambda states: ConformalSets(conformal.together(states, self.classes), repeated, centered),
        )  # fmt: skip

    def warning(self, coverage: float, by_class: bool = True, values: Sequence[str] | None = None) -> str | None:
        """Return why sets of rows with these values may have classes that others could leave out, as text."""
        text = super().warning(coverage, by_class)
        if text is not None or values is None:
            return text
        return self._compared_with.short(values, coverage, lambda known, level: known.warning(level, by_class))

    def sets(
        self, probabilities: np.ndarray, coverage: float, by_class: bool, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return the sets of rows with these values: those of their groups, or of those with few rows together."""
        if values is None:
            return super().sets(probabilities, coverage, by_class)
        found = np.zeros(probabilities.shape, np.bool_)
        for value, rows in rows_by(values).items():
            for known, level in self._compared_with.parts(value, coverage):
                found[rows] |= known.sets(probabilities[rows], level, by_class)
        return found


class GroupedIntervals(ConformalIntervals):
    """What was learned of the errors of numbers, of all rows and of those of each group.

    Parameters
    ----------
    state : array
    groups : Groups
    """

    def __init__(self, state: np.ndarray, groups: Groups) -> None:
        super().__init__(state)
        self._groups = groups

    def shortage(self, targets: Targets, coverage: float, values: Sequence[str] | None = None) -> str | None:
        """Return why limits of rows with these values are infinite, as text; None if they are not."""
        text = super().shortage(targets, coverage)
        if text is not None or values is None or not (wrong := targets.noise > 0.0).any():
            return text
        return self._compared(wrong).short(
            values, coverage, lambda state, level: shortage(errors.rows(state)[wrong], level)
        )

    def error_limits(self, targets: Targets, coverage: float, values: Sequence[str] | None = None) -> np.ndarray:
        """Return the limits of the groups of rows with these values, shape (n, K, 2)."""
        of_all, wrong = super().error_limits(targets, coverage), targets.noise > 0.0
        if values is None or not wrong.any():
            return of_all
        found, compared = np.tile(of_all, (len(values), 1, 1)), self._compared(wrong)
        for value, rows in rows_by(values).items():
            limits = np.array([errors.limits(known, level) for known, level in compared.parts(value, coverage)])
            widest = np.stack([limits[..., 0].min(axis=0), limits[..., 1].max(axis=0)], axis=-1)
            found[rows] = np.where(wrong[:, None], widest, of_all)
        return found

    def _compared(self, wrong: np.ndarray) -> Compared[np.ndarray]:
        """Return what groups know of the numbers whose predictions were not all exact."""
        return Compared(
            self._groups, lambda state: float(errors.rows(state)[wrong].min()), lambda state: state,
            lambda states: errors.together(states, len(wrong)),
        )  # fmt: skip
