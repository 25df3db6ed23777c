"""Decisions among actions that come with each context: the model of one service."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..estimators.archive import Archive
from ..models.file import damage_reported
from ..rules.ranges import check_number
from . import files
from .action_models import DiagonalModel, FullModel, roomy
from .action_rewards import ActionRewards
from .actions import Actions, AnyAction, as_actions
from .draws import drawn, uniform, with_shares
from .named_features import FeatureNames, Floats, flat, in_slot
from .policies import DEFAULT_POLICY, SHARE, Policy, make_policy


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


class DecisionModel(ActionRewards):
    """Chooses among actions with named features and learns from rewards.

    Ridge regression of the reward gives a Gaussian over the expected reward of each action, which the policy maps to
    probabilities. Features, actions and their number may be new at any time.

    Parameters
    ----------
    policy : str or Policy, optional
        A name in ``confidently.bandits.POLICIES`` or a policy; by default
        ``RandUCB()``. The logs of those that are certain of one action say little about other policies.
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

    The probabilities of ``rand_ucb`` and ``lin_ts`` for more than 1,000 actions are those of actions nearly like them,
    and what is drawn from.

    Examples
    --------
    >>> from confidently.bandits import Action
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
        super().__init__(shared=shared, reward_range=reward_range, forget=forget)
        check_number("DecisionModel", "min_share", min_share, SHARE)
        self.policy = DEFAULT_POLICY if policy is None else make_policy(policy)
        self.min_share, self.seed = float(min_share), int(seed)

    # --- deciding ------------------------------------------------------------------------------------------------

    def decide(
        self, context: Any, actions: Actions | Sequence[AnyAction], id: str, *, baseline: int | None = None
    ) -> Choice:
        """Choose an action; nothing changes.

        Parameters
        ----------
        context : mapping, optional
            Features as JSON has them (:func:`flat`).
        actions : Actions, or sequence of Action, str or int
            A text or an integer is an action that has nothing but this id.
        id : str
            Of the decision.
        baseline : int, optional
            The number of an action that is chosen with probability 1, whatever the policy prefers.

        Raises
        ------
        ValueError, TypeError
            For an invalid context or invalid actions.
        """
        actions = as_actions(actions)
        probabilities = self._probabilities(flat(context), actions, actions.eligible, self.policy)
        return _choice(probabilities, uniform(self.seed, id), baseline)

    def decide_slots(
        self, context: Any, slots: Sequence[Any], actions: Actions | Sequence[AnyAction], id: str,
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
        actions, choices = as_actions(actions), list[Choice]()
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
        self, context: Any, actions: Actions | Sequence[AnyAction], policy: str | Policy | None = None
    ) -> Floats:
        """Return the probability of each action, shape (n_actions,), by the policy or by another one."""
        actions = as_actions(actions)
        chosen = self.policy if policy is None else make_policy(policy)
        return self._probabilities(flat(context), actions, actions.eligible, chosen)

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

    def copy(self) -> Self:
        """Return a copy that learns on its own."""
        return deepcopy(self)

    # --- files ---------------------------------------------------------------------------------------------------

    def saved(self) -> Archive:
        """Return what a file has, which does not change with the model."""
        header = {
            "policy": self.policy.name,
            "parameters": self.policy.get_params(),
            "shared": self.actions.shared,
            "reward_range": list(self.reward_range),
            "min_share": self.min_share,
            "seed": self.seed,
            "n_learned": self.n_learned,
            "n_restarts": self.n_restarts,
            "noise": [self.squares, self.n_squares],
            "full": self.model.full,
            "room": [self.model.n_contexts, self.model.n_actions],
            "forget": self.drift is not None,
        }
        scales = {"scales": np.array(self.names.scales), "action_scales": np.array(self.actions.features.scales)}
        lists = {
            "contexts": list(self.names.columns),
            "actions": list(self.actions.numbers),
            "action_features": list(self.actions.features.columns),
            "drift": [] if self.drift is None else self.drift.lines(),
        }
        return Archive(header, self.model.parts() | scales, lists)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which :meth:`load` reads."""
        files.OF_DECISIONS.write(path, self.saved())

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
        saved = files.OF_DECISIONS.read(path)
        with damage_reported(path):
            return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: Archive) -> Self:
        """Return the model of a file's contents; an error if they do not fit together."""
        header, arrays, lists = saved.header, saved.arrays, saved.lists
        model = cls(
            make_policy(header.policy, **header.parameters),
            shared=header.shared,
            reward_range=header.reward_range,
            min_share=header.min_share,
            forget=header.forget,
            seed=header.seed,
        )
        model.n_learned, model.n_restarts = header.n_learned, header.n_restarts
        model.squares, model.n_squares = header.noise
        if not (model.squares >= 0.0 and model.n_squares > 0.0):
            raise ValueError("the noise is not positive")
        model.names = FeatureNames.restored(lists["contexts"], arrays.pop("scales"))
        features = FeatureNames.restored(lists["action_features"], arrays.pop("action_scales"))
        model.actions.restore(lists["actions"], features)
        for room, used in zip(header.room, (len(model.names), len(model.actions)), strict=True):
            if not used <= room <= roomy(used):
                raise ValueError(f"there is room for {room} of {used}")
        model.model = (FullModel if header.full else DiagonalModel)(header.shared, *header.room)
        model.model.restore(arrays)
        if model.drift is not None:
            model.drift.restore(lists["drift"])
        return model


def _choice(probabilities: Floats, u: float, baseline: int | None) -> Choice:
    """Return the action at u in the cumulated probabilities, or the baseline."""
    preferred = drawn(probabilities, u)
    if baseline is None:
        return Choice(preferred, float(probabilities[preferred]), probabilities, preferred)
    only = np.zeros(len(probabilities))
    only[baseline] = 1.0
    return Choice(baseline, 1.0, only, preferred)
