"""The expected rewards of actions in contexts, learned from rewards: what models of decisions know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..covariances.threads import one_blas_thread
from .action_models import NOISE, ActionModel, FullModel
from .actions import ActionNames, Actions, AnyAction, as_action, as_actions
from .named_features import FeatureNames, Floats, NamedRow, flat
from .reward_drift import RewardDrift

FIRST_NOISE = 20.0  # rewards that the assumed variance of their noise counts for
MAX_REWARD = 1e6  # ranges
MAX_WEIGHT = 1e9
ONE_THREAD = 1 << 13  # numbers in a matrix product for which a BLAS uses one thread anyway


class ActionRewards:
    """A Gaussian over the expected reward of each action in a context, by ridge regression.

    The parameters and attributes are those of :class:`confidently.bandits.DecisionModel`.
    """

    def __init__(self, *, shared: bool, reward_range: tuple[float, float], forget: bool) -> None:
        low, high = reward_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"reward_range: expected two numbers, the larger one last, got {reward_range!r}")
        self.reward_range, self.low, self.width = (float(low), float(high)), float(low), float(high) - float(low)
        self.names, self.actions = FeatureNames(), ActionNames(shared)
        self.drift = RewardDrift() if forget else None
        self.n_learned = self.n_restarts = 0
        self._begin()

    def _begin(self) -> None:
        """Forget all rewards, but not the names."""
        self.model: ActionModel = FullModel(self.actions.shared, 1, 1)
        self.squares, self.n_squares = FIRST_NOISE * NOISE, FIRST_NOISE
        self._widen()

    # --- scores -------------------------------------------------------------------------------------------------------

    def scores(self, context: Any, actions: Actions | Sequence[AnyAction]) -> tuple[Floats, Floats]:
        """Return mean and variance of the expected reward of each action, shape (n_actions,), without costs."""
        return self._scores(flat(context), as_actions(actions))

    def explain(self, context: Any, action: AnyAction) -> dict[str, float]:
        """Return what each feature of a context adds to the expected reward of an action, the largest first.

        The sum, with "" for what does not depend on the context, is the mean of :meth:`scores`. Features that the
        model has not met add nothing.
        """
        names = self.names.columns
        return {name: mean for name, (mean, _) in self.contributions(context, action).items() if name in {"", *names}}

    def contributions(self, context: Any, action: AnyAction) -> dict[str, tuple[float, float]]:
        """Return what each feature of a context adds to mean and variance of :meth:`scores`, the largest mean first.

        The variance is a quadratic form, x'Sx, of which a feature adds x_j times the j-th entry of Sx. That is negative
        where errors of weights cancel. What does not depend on the context is under "".
        """
        features = flat(context)
        x, rows = self.names.row(features), Actions([as_action(action)._replace(excluded=False)]).rows(self.actions)
        known, unit = x._replace(unknown=0.0), self.width**2 * self.noise / NOISE
        name_of = {column: name for name, column in self.names.columns.items()}

        def scored(row: NamedRow) -> tuple[float, float]:
            mean, variance = self.model.scores(row, rows)
            return float(mean[0]), float(variance[0])

        found, (_, form) = dict[str, tuple[float, float]](), scored(known)
        for k, (column, value) in enumerate(zip(x.columns.tolist(), x.values.tolist(), strict=True)):
            mean, alone = scored(NamedRow(x.columns[k : k + 1], x.values[k : k + 1], 0.0))
            values = x.values.copy()
            values[k] += value
            _, both = scored(known._replace(values=values))
            name = name_of.get(column, "")
            found[name] = self.low * (name == "") + self.width * mean, 0.5 * unit * (both - form - alone)
        squares = {name: self.names.row({name: value}).unknown for name, value in features.items() if name not in found}
        rest = unit * (scored(x)[1] - form) / (sum(squares.values()) or 1.0)
        found |= {name: (0.0, rest * square) for name, square in squares.items()}
        return dict(sorted(found.items(), key=lambda item: -abs(item[1][0])))

    def _scores(self, context: Mapping[str, float], actions: Actions) -> tuple[Floats, Floats]:
        row, rows = self.names.row(context), actions.rows(self.actions)
        with _one_thread(self.model.size + (0 if rows.rows is None else rows.rows.size)):
            mean, variance = self.model.scores(row, rows)
        return self.low + self.width * mean, (self.width**2 * self.noise / NOISE) * variance

    @property
    def noise(self) -> float:
        """The variance of rewards around their expectations, in squares of their range."""
        return self.squares / self.n_squares

    # --- learning ------------------------------------------------------------------------------------------------

    def learn(self, context: Any, action: AnyAction, reward: float, weight: float = 1.0) -> float:
        """Train on the reward of a decision; return the reward that was expected before.

        Parameters
        ----------
        context : mapping, optional
            That of the decision; for a slot, :func:`in_slot`.
        action : Action, str or int
            The chosen one.
        reward : float
            Without the cost.
        weight : float, default=1.0
            The number of equal rewards that it counts as, at least 0.

        Raises
        ------
        ValueError, TypeError
            If the reward is not finite or far out of range, the weight is negative or not finite, or features are
            invalid; nothing is then learned.
        """
        target = (reward - self.low) / self.width
        if not abs(target) <= MAX_REWARD:
            raise ValueError(f"the reward must be finite and within {MAX_REWARD:g} ranges of rewards, got {reward!r}")
        if not 0.0 <= weight <= MAX_WEIGHT:
            raise ValueError(f"the weight must be from 0 to {MAX_WEIGHT:g}, got {weight!r}")
        action = as_action(action)
        features = flat(action.features) if self.actions.shared else {}
        row = flat(context), action.id, features, target, float(weight)
        for column, factor in self.names.add(row[0]):
            self.model.scale(column, factor, of_actions=False)
        for column, factor in self.actions.add(row[1], row[2]):
            self.model.scale(column, factor, of_actions=True)
        self._widen()
        self.n_learned += 1
        with _one_thread(self.model.size):
            expected = self._learn(*row)
            again = None if self.drift is None else self.drift.add(expected, target, row)
            if again is not None:
                self.n_restarts += 1
                self._begin()
                for one in again:
                    self._learn(*one)
        return self.low + self.width * expected

    def _learn(
        self, context: Mapping[str, float], id: str, features: dict[str, float], target: float, weight: float
    ) -> float:
        """Train on a row whose features are known; return what was expected before."""
        x, rows = self.names.row(context), self.actions.rows([id], [features])
        mean, variance = self.model.scores(x, rows)
        self.squares += weight * (target - float(mean[0])) ** 2 * NOISE / (NOISE + float(variance[0]))
        self.n_squares += weight
        if weight != 1.0:  # noise of a variance smaller by the weight, in other units
            scale = math.sqrt(weight)
            x, target = x._replace(values=scale * x.values), scale * target
        self.model.learn(x, rows, target)
        return float(mean[0])

    def _widen(self) -> None:
        """Make room in the model for all names."""
        if isinstance(self.model, FullModel) and not self.model.fits(len(self.names), len(self.actions)):
            self.model = self.model.diagonal()
        self.model.widen(len(self.names), len(self.actions))


def _one_thread(size: int) -> AbstractContextManager[Any]:
    """Return a context for matrix products of so many numbers in one thread.

    Several would wait for each other longer than one needs. To limit them takes longer than a small product.
    """
    return one_blas_thread() if size > ONE_THREAD else nullcontext()
