"""Decisions among actions that come with each context: the model of one service."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..covariances.threads import one_blas_thread
from ..rules.ranges import check_number
from . import files
from .action_models import NOISE, ActionModel, DiagonalModel, FullModel
from .actions import Action, ActionNames, Actions
from .draws import drawn, uniform, with_shares
from .named_features import FeatureNames, Floats, NamedRow, flat, in_slot
from .policies import DEFAULT_POLICY, SHARE, Policy, make_policy
from .reward_drift import RewardDrift

FIRST_NOISE = 20.0  # rewards that the assumed variance of their noise counts for
MAX_REWARD = 1e6  # ranges
MAX_WEIGHT = 1e9
ONE_THREAD = 1 << 13  # numbers in a matrix product for which a BLAS uses one thread anyway
KIND = "decisions"  # of the file


class Choice(NamedTuple):
    """What was decided.

    Attributes
    ----------
    chosen : int
        The number of the chosen action.
    probability : float
        With which it was chosen.
    probabilities : array of shape (n_actions,)
        Of all actions.
    preferred : int
        What the policy chose; only a baseline makes a difference.
    """

    chosen: int
    probability: float
    probabilities: Floats
    preferred: int


class DecisionModel:
    """Chooses among actions with named features and learns from rewards.

    Ridge regression of the reward gives a Gaussian over the expected reward of each action, which the policy maps to
    probabilities. Features, actions and their number may be new at any time.

    Parameters
    ----------
    policy : str or Policy, optional
        A name in ``confidently.bandits.POLICIES`` or a policy; by default
        ``LinTS(alpha=0.5)``. The logs of those that are certain of one action say little about other policies.
    shared : bool, default=False
        Whether one model learns from products of the features of contexts and actions, and so knows actions at
        once; otherwise each action has a model of its own.
    reward_range : pair of float, default=(0.0, 1.0)
        The least and the largest reward that are expected. Others may come.
    min_share : float, default=0.0
        The least probability of each action that is not excluded, at most 1 / their number.
    forget : bool, default=True
        Whether to learn again from the latest rewards only, once predictions get worse (:class:`RewardDrift`).
    seed : int, default=0
        Of all draws, together with the ids of decisions.

    Attributes
    ----------
    n_learned : int
    n_restarts : int
        How often it began again with the latest rewards.

    Notes
    -----
    :meth:`decide` changes nothing. The state is a function of the calls of :meth:`learn` in their order, and a decision
    one of the state, the seed and its id: whoever repeats the calls gets the same decisions.

    Weights have a prior variance of 1, and the noise of rewards one of 1/4 of their squared range, the most that is
    possible. Variances of scores are then multiplied by the mean squared error of predictions, made before their
    rewards were learned, over this noise. Once covariances have more than 2^20 numbers, only variances are kept.

    The probabilities of ``lin_ts`` for more than 1,000 actions are those of actions nearly like them, and what is drawn
    from.

    Examples
    --------
    >>> model = DecisionModel(seed=1)
    >>> actions = [Action("news"), Action("sport", min_share=0.1)]
    >>> for k in range(30):
    ...     _ = model.learn({"visitor": "fan"}, actions[k % 2], reward=k % 2)
    >>> choice = model.decide({"visitor": "fan"}, actions, id="visit 1")
    >>> actions[choice.chosen].id, round(choice.probability, 3)
    ('sport', 1.0)
    """

    def __init__(
        self,
        policy: str | Policy | None = None,
        *,
        shared: bool = False,
        reward_range: tuple[float, float] = (0.0, 1.0),
        min_share: float = 0.0,
        forget: bool = True,
        seed: int = 0,
    ) -> None:
        low, high = reward_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"reward_range: expected two numbers, the larger one last, got {reward_range!r}")
        check_number("DecisionModel", "min_share", min_share, SHARE)
        self.policy = DEFAULT_POLICY if policy is None else make_policy(policy)
        self.reward_range, self.low, self.width = (float(low), float(high)), float(low), float(high) - float(low)
        self.min_share, self.seed = float(min_share), int(seed)
        self.names, self.actions = FeatureNames(), ActionNames(shared)
        self.drift = RewardDrift() if forget else None
        self.n_learned = self.n_restarts = 0
        self._begin()

    def _begin(self) -> None:
        """Forget all rewards, but not the names."""
        self.model: ActionModel = FullModel(self.actions.shared, 1, 1)
        self.squares, self.n_squares = FIRST_NOISE * NOISE, FIRST_NOISE
        self._widen()

    # --- deciding ------------------------------------------------------------------------------------------------

    def decide(
        self, context: Any, actions: Actions | Sequence[Action], id: str, *, baseline: int | None = None
    ) -> Choice:
        """Choose an action; nothing changes.

        Parameters
        ----------
        context : mapping, optional
            Features as JSON has them (:func:`flat`).
        actions : Actions, or sequence of Action
        id : str
            Of the decision.
        baseline : int, optional
            The number of an action that is chosen with probability 1, whatever the policy prefers.

        Raises
        ------
        ValueError, TypeError
            For an invalid context or invalid actions.
        """
        actions = _read(actions)
        probabilities = self._probabilities(flat(context), actions, actions.eligible, self.policy)
        return _choice(probabilities, uniform(self.seed, id), baseline)

    def decide_slots(
        self, context: Any, slots: Sequence[Any], actions: Actions | Sequence[Action], id: str,
        *, baselines: Sequence[int] | None = None,
    ) -> list[Choice]:  # fmt: skip
        """Choose an action per slot, none twice; nothing changes.

        Parameters
        ----------
        slots : sequence
            The features of each slot; its context is :func:`in_slot` of both.
        context, actions, id
            As for :meth:`decide`.
        baselines : sequence of int, optional
            The number of the action for each slot, as for :meth:`decide`.

        Returns
        -------
        list of Choice
            Probabilities are those given the choices for the slots before.

        Raises
        ------
        ValueError, TypeError
            As :meth:`decide`, or if there are more slots than actions.
        """
        actions, choices = _read(actions), list[Choice]()
        eligible = actions.eligible.copy()
        if len(slots) > eligible.sum():
            raise ValueError(f"slots: {len(slots)} for {eligible.sum()} actions; pass an action for each slot")
        for k, slot in enumerate(slots):
            probabilities = self._probabilities(in_slot(context, slot), actions, eligible, self.policy)
            baseline = None if baselines is None else baselines[k]
            choices.append(_choice(probabilities, uniform(self.seed, f"{id}/{k}"), baseline))
            eligible[choices[-1].chosen] = False
        return choices

    def probabilities(
        self, context: Any, actions: Actions | Sequence[Action], policy: str | Policy | None = None
    ) -> Floats:
        """Return the probability of each action, shape (n_actions,), by the policy or by another one."""
        actions = _read(actions)
        chosen = self.policy if policy is None else make_policy(policy)
        return self._probabilities(flat(context), actions, actions.eligible, chosen)

    def scores(self, context: Any, actions: Actions | Sequence[Action]) -> tuple[Floats, Floats]:
        """Return mean and variance of the expected reward of each action, shape (n_actions,), without costs."""
        return self._scores(flat(context), _read(actions))

    def explain(self, context: Any, action: Action) -> dict[str, float]:
        """Return what each feature of a context adds to the expected reward of an action, the largest first.

        The sum, with "" for what does not depend on the context, is the mean of :meth:`scores`. Features that the
        model has not met add nothing.
        """
        names = self.names.columns
        return {name: mean for name, (mean, _) in self.contributions(context, action).items() if name in {"", *names}}

    def contributions(self, context: Any, action: Action) -> dict[str, tuple[float, float]]:
        """Return what each feature of a context adds to mean and variance of :meth:`scores`, the largest mean first.

        The variance is a quadratic form, x'Sx, of which a feature adds x_j times the j-th entry of Sx. That is negative
        where errors of weights cancel. What does not depend on the context is under "".
        """
        features = flat(context)
        x, rows = self.names.row(features), _read([action._replace(excluded=False)]).rows(self.actions)
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

    def _probabilities(
        self, context: Mapping[str, float], actions: Actions, eligible: NDArray[np.bool_], policy: Policy
    ) -> Floats:
        mean, variance = self._scores(context, actions)
        which = np.flatnonzero(eligible)
        found = policy.quick_propensities((mean - actions.costs)[which], variance[which])
        shares = np.maximum(actions.shares[which], min(self.min_share, 1.0 / len(which)))
        probabilities = np.zeros(len(actions))
        probabilities[which] = with_shares(found, shares)
        return probabilities

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

    def learn(self, context: Any, action: Action, reward: float, weight: float = 1.0) -> float:
        """Train on the reward of a decision; return the reward that was expected before.

        Parameters
        ----------
        context : mapping, optional
            That of the decision; for a slot, :func:`in_slot`.
        action : Action
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
        row = flat(context), action.id, flat(action.features) if self.actions.shared else {}, target, float(weight)
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

    def copy(self) -> Self:
        """Return a copy that learns on its own."""
        return deepcopy(self)

    # --- files ---------------------------------------------------------------------------------------------------

    def saved(self) -> files.Saved:
        """Return what a file has, which does not change with the model."""
        header = {
            "kind": KIND,
            "policy": self.policy.name,
            "parameters": self.policy.get_params(),
            "shared": self.actions.shared,
            "reward_range": list(self.reward_range),
            "min_share": self.min_share,
            "seed": self.seed,
            "n_learned": self.n_learned,
            "n_restarts": self.n_restarts,
            "noise": [self.squares, self.n_squares],
            "contexts": list(self.names.columns),
            "actions": list(self.actions.numbers),
            "action_features": list(self.actions.features.columns),
            "full": self.model.full,
            "room": [self.model.n_contexts, self.model.n_actions],
            "drift": None if self.drift is None else self.drift.record(),
        }
        scales = {"scales": np.array(self.names.scales), "action_scales": np.array(self.actions.features.scales)}
        return files.Saved(header, self.model.parts() | scales, {}, [])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which :meth:`load` reads."""
        files.write(path, self.saved())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; it continues with the same decisions.

        Raises
        ------
        confidently.ModelFileError
            If the file is damaged, of something else, or written by a later version.
        OSError
            If it cannot be read.
        """
        saved = files.read(path)
        with files.damage_reported(path):
            return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: files.Saved) -> Self:
        """Return the model of a file's contents; an error if they do not fit together."""
        header, arrays = saved.header, saved.arrays
        if header.get("kind") != KIND:
            raise ValueError("expected the file of a DecisionModel")
        model = cls(
            make_policy(header["policy"], **header["parameters"]),
            shared=header["shared"],
            reward_range=tuple(header["reward_range"]),
            min_share=header["min_share"],
            forget=header["drift"] is not None,
            seed=header["seed"],
        )
        model.n_learned, model.n_restarts = header["n_learned"], header["n_restarts"]
        model.squares, model.n_squares = header["noise"]
        model.names = FeatureNames(header["contexts"], arrays.pop("scales").tolist())
        model.actions.numbers = {id: k for k, id in enumerate(header["actions"])}
        model.actions.features = FeatureNames(header["action_features"], arrays.pop("action_scales").tolist())
        model.model = (FullModel if header["full"] else DiagonalModel)(header["shared"], *header["room"])
        model.model.restore(arrays)
        if model.drift is not None:
            model.drift.restore(header["drift"])
        return model


def _read(actions: Actions | Sequence[Action]) -> Actions:
    return actions if isinstance(actions, Actions) else Actions(actions)


def _one_thread(size: int) -> AbstractContextManager[Any]:
    """Return a context for matrix products of so many numbers in one thread.

    Several would wait for each other longer than one needs. To limit them takes longer than a small product.
    """
    return one_blas_thread() if size > ONE_THREAD else nullcontext()


def _choice(probabilities: Floats, u: float, baseline: int | None) -> Choice:
    """Return the action at u in the cumulated probabilities, or the baseline."""
    preferred = drawn(probabilities, u)
    if baseline is None:
        return Choice(preferred, float(probabilities[preferred]), probabilities, preferred)
    only = np.zeros(len(probabilities))
    only[baseline] = 1.0
    return Choice(baseline, 1.0, only, preferred)
