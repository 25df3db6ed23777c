"""Contextual bandits: which arm to choose for a context, learned from the rewards of the arms chosen before."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from ..estimators.archive import Archive, content_of
from ..estimators.classifier import OnlineClassifier
from ..estimators.regressor import OnlineRegressor
from ..models.file import damage_reported
from ..rules.regression import Ridge
from ..similar import hinting
from ..wording import counted
from . import files
from .arguments import (
    ARMS,
    as_one_row,
    checked_arms,
    checked_contexts,
    feature_rows,
    numbers_of,
    numbers_of_each,
    one_kind,
    shown,
)  # fmt: skip
from .arm_kinds import models_of_arms
from .arm_models import ArmModels
from .decisions import Decision, context_record, context_row
from .policies import Policy, make_policy
from .reward_model import BOUNDED_VARIANCE, Floats, RewardModel


class ContextualBandit:
    """Chooses arms for contexts and learns from their rewards.

    A model gives a Gaussian over the score of every arm for a context; the policy maps these Gaussians to the
    probability of each arm, draws one, and the decision is logged with its probability.

    Parameters
    ----------
    arms : sequence of str, int or float
        At least one; :meth:`add_arm` and :meth:`remove_arm` change them.
    policy : str or Policy, default="lin_ucb"
        A name in ``confidently.bandits.POLICIES`` or a policy such as ``LinUCB(alpha=0.5)``.
    model : OnlineClassifier or OnlineRegressor, optional
        The model of the reward, which is cloned: every arm has one, or all arms share one if ``arm_features`` are
        given. By default ``OnlineRegressor(Ridge(r=0.25))``, for rewards in [0, 1], whose variance is at most 1/4. For
        other rewards, r is a bound of their variance. ``view="auto"`` of a classifier is None here: contexts are
        learned as they are.
    arm_features : mapping, optional
        A row of d features for each arm, all dense or all sparse. One model then learns from the rows [x, z, x kron z]
        of contexts x and arms z.
    random_state : int, optional
        Seed of the draws; the same seed and the same calls give the same decisions.

    Attributes
    ----------
    arms : list
        In the order of the columns of :meth:`propensities` and :meth:`predict_expectations`.
    log : list of Decision
        All decisions of :meth:`decide`, the first one first. You may shorten it: rewards find the decisions that wait
        for them without it.

    Notes
    -----
    Models with a diagonal covariance, without a view, averaging or forgetting, store only the weights of features that
    an arm was trained on. A decision then takes time in proportion to these weights and to the number of arms.

    Examples
    --------
    >>> bandit = ContextualBandit(["news", "sport"], "lin_ucb", random_state=0)
    >>> decision = bandit.decide([1.0, 0.0], id="visit 1")
    >>> bandit.reward("visit 1", 1)
    >>> bandit.predict_expectations([[1.0, 0.0]]).round(2)  # of news and of sport, which was shown
    array([[0.  , 0.89]])
    """

    @hinting
    def __init__(
        self,
        arms: Sequence[Any],
        policy: str | Policy = "lin_ucb",
        model: OnlineClassifier | OnlineRegressor | None = None,
        *,
        arm_features: Mapping[Any, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.arms = checked_arms(arms)
        self.policy = make_policy(policy)
        if model is None:
            model = OnlineRegressor(Ridge(r=BOUNDED_VARIANCE))
        self._model = RewardModel(model)
        self._arm_features = None if arm_features is None else feature_rows(self.arms, arm_features)
        self._models: ArmModels | None = None
        self._random = np.random.default_rng(random_state)
        self._n_decisions = 0
        self._waiting: dict[Any, Decision] = {}
        self.log: list[Decision] = []

    # --- deciding ------------------------------------------------------------------------------------------------

    def decide(self, context: Any = None, id: Any = None, arms: Sequence[Any] | None = None) -> Decision:
        """Choose an arm for one context and log the decision.

        Parameters
        ----------
        context : array of shape (d,), or matrix of one row, optional
            None for a bandit without contexts.
        id : str, int or float, optional
            By which :meth:`reward` finds the decision; by default the number of decisions before it.
        arms : sequence, optional
            The arms to choose from this time; by default all.

        Returns
        -------
        Decision
            With the chosen ``arm`` and its ``propensity``.

        Raises
        ------
        ValueError, TypeError
            If the context has a different number of columns than earlier ones or values that are not finite, an arm
            is unknown or repeated, or a decision with this id waits for its reward.
        """
        X, some = self._rows(as_one_row(context), 1), None if arms is None else numbers_of(arms, self.arms)
        id = self._n_decisions if id is None else id
        if isinstance(id, np.generic):
            id = id.item()
        if not isinstance(id, ARMS):
            raise TypeError(f"id: expected a string or a number, got {id!r}")
        if id in self._waiting:
            raise ValueError(f"decision {id!r} waits for its reward; use another id")
        mean, variance = (part[0] if some is None else part[0, some] for part in self._ready(X).scores(X))
        chosen = int(self.policy.choose(mean, variance, self._random))
        propensity = self.policy.propensity_of(chosen, mean, variance)
        left = self.arms if some is None else [self.arms[k] for k in some]
        decision = Decision(id, left[chosen], propensity, None, context_record(X), None if some is None else left)
        self._n_decisions += 1
        self._waiting[id] = decision
        self.log.append(decision)
        return decision

    def reward(self, id: Any, value: float) -> None:
        """Give the reward of a decision, at any time after it, and learn from it.

        If the arm was removed since, nothing is learned; the log records the reward anyway.

        Raises
        ------
        ValueError
            If no decision with this id waits for its reward, or the value is not a possible reward.
        """
        if id not in self._waiting:
            raise ValueError(f"no decision {id!r} waits for its reward; pass the id of a decision without one")
        rewards = self._model.check_rewards([value], 1)
        decision = self._waiting[id]
        if decision.arm in self.arms:
            models = self._models
            assert models is not None  # there was a decision
            models.learn(np.array([self.arms.index(decision.arm)]), rewards, context_row(decision))
        decision.reward = float(rewards[0])
        del self._waiting[id]

    @property
    def n_waiting(self) -> int:
        """The number of decisions that wait for their rewards."""
        return len(self._waiting)

    def predict(self, contexts: Any, arms: Sequence[Sequence[Any] | None] | None = None) -> list[Any]:
        """Return an arm per context, drawn by the policy; nothing is logged.

        Parameters
        ----------
        contexts : array or sparse matrix of shape (n, d)
        arms : sequence of shape (n,), optional
            The arms to choose from for each context, None for all.
        """
        mean, variance = self._scores(contexts)
        if arms is None:
            return [self.arms[k] for k in self.policy.choose(mean, variance, self._random)]
        found = []
        for i, some in enumerate(numbers_of_each(arms, self.arms, len(mean))):
            found.append(self.arms[some[self.policy.choose(mean[i, some], variance[i, some], self._random)]])
        return found

    def propensities(self, contexts: Any, arms: Sequence[Sequence[Any] | None] | None = None) -> Floats:
        """Return the probability of each arm for each context, shape (n, n_arms): ``action_dist`` of the estimators.

        Parameters are those of :meth:`predict`. Arms that cannot be chosen have the probability 0.
        """
        mean, variance = self._scores(contexts)
        if arms is None:
            return self.policy.propensities(mean, variance)
        found = np.zeros(mean.shape)
        for i, some in enumerate(numbers_of_each(arms, self.arms, len(mean))):
            found[i, some] = self.policy.propensities(mean[i, some], variance[i, some])
        return found

    def predict_expectations(self, contexts: Any) -> Floats:
        """Return the expected reward of each arm for each context, shape (n, n_arms)."""
        return self._model.expected(*self._scores(contexts))

    def score_distribution(self, contexts: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of the score of each arm for each context, both of shape (n, n_arms)."""
        return self._scores(contexts)

    # --- training ------------------------------------------------------------------------------------------------

    def fit(self, decisions: Sequence[Any], rewards: Any, contexts: Any = None) -> Self:
        """Train from scratch on past decisions; the log is kept.

        Parameters and errors are those of :meth:`partial_fit`.
        """
        models, self._models = self._models, None
        try:
            return self.partial_fit(decisions, rewards, contexts)
        except BaseException:
            self._models = models
            raise

    def partial_fit(self, decisions: Sequence[Any], rewards: Any, contexts: Any = None) -> Self:
        """Train on more decisions.

        Parameters
        ----------
        decisions : sequence of shape (n,)
            The arms that were chosen, by whatever policy.
        rewards : array of shape (n,)
            0 or 1 for a classifier.
        contexts : array or sparse matrix of shape (n, d), optional
            None for a bandit without contexts.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If lengths differ, an arm is unknown, or a reward or context is not possible; nothing is then learned.
        """
        number = {arm: k for k, arm in enumerate(self.arms)}
        for arm in decisions:
            if arm not in number:
                raise ValueError(f"unknown arm {arm!r}; expected one of {shown(self.arms)}, or use add_arm first")
        values = self._model.check_rewards(rewards, len(decisions))
        X = self._rows(contexts, len(decisions))
        if X.shape[0] != len(decisions):
            raise ValueError(f"contexts must have one row per decision, got {X.shape[0]} for {len(decisions)}")
        if len(decisions):
            self._ready(X).learn(np.array([number[arm] for arm in decisions], dtype=np.intp), values, X)
        return self

    # --- arms ----------------------------------------------------------------------------------------------------

    def add_arm(self, arm: Any, features: Any = None) -> None:
        """Add an arm, which starts at the prior; a shared model scores it by its features at once.

        Raises
        ------
        ValueError, TypeError
            If the arm exists, or its features are missing, unexpected or unlike those of the other arms.
        """
        checked_arms([*self.arms, arm])
        if (features is None) != (self._arm_features is None):
            problem = "has no features" if features is None else "has features, but other arms have none"
            raise ValueError(f"add_arm: {arm!r} {problem}; pass features for all arms or for none")
        if self._arm_features is not None:
            row = one_kind([as_one_row(features)], sparse=issparse(self._arm_features))
            if row.shape[1] != self._arm_features.shape[1]:
                raise ValueError(
                    f"add_arm: expected {self._arm_features.shape[1]} features as of the other arms, got {row.shape[1]}"
                )
            if self._models is None:
                self._arm_features = one_kind([self._arm_features, row], issparse(self._arm_features))
            else:
                self._models.add(row)
                self._arm_features = self._models.features  # type: ignore[attr-defined]
        elif self._models is not None:
            self._models.add()
        self.arms.append(arm)

    def remove_arm(self, arm: Any) -> None:
        """Remove an arm and what was learned about it alone.

        Raises
        ------
        ValueError
            If the arm is unknown, or the only one.
        """
        if arm not in self.arms:
            raise ValueError(f"unknown arm {arm!r}; expected one of {shown(self.arms)}")
        if len(self.arms) == 1:
            raise ValueError(f"remove_arm: {arm!r} is the only arm; add another one first")
        number = self.arms.index(arm)
        if self._models is not None:
            self._models.remove(number)
        if self._arm_features is not None:
            self._arm_features = self._arm_features[np.flatnonzero(np.arange(len(self.arms)) != number)]
        del self.arms[number]

    # --- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit with its log to one file, which :meth:`load` reads.

        Raises
        ------
        ValueError
            If there was no decision and no training yet, so that the number of features is unknown.
        """
        if self._models is None:
            raise ValueError(f"{path}: not saved, the bandit has seen no context; call decide or partial_fit first")
        arrays, estimators = self._models.parts()
        if self._arm_features is not None:
            arrays |= {"features": csr_array(self._arm_features).toarray()}
        header = {
            "policy": self.policy.name,
            "parameters": self.policy.get_params(),
            "arms": self.arms,
            "n_features": self._models.n_features,
            "models": self._models.kind,
            "ones": self._model.has_ones,
            "sparse": issparse(self._arm_features),
            "random": self._random.bit_generator.state,
            "n_decisions": self._n_decisions,
        }
        lists = {"waiting": files.lines_of(self._waiting.values()), "log": files.lines_of(self.log)}
        models = {name: content_of(one.as_model()) for name, one in {"prior": self._models.prior, **estimators}.items()}
        files.OF_BANDIT.write(path, Archive(header, arrays, lists, models))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a bandit that :meth:`save` wrote; it continues with the same decisions.

        Raises
        ------
        confidently.ModelFileError
            If the file is damaged, not of a bandit, or written by a later version.
        OSError
            If it cannot be read.
        """
        saved = files.OF_BANDIT.read(path)
        with damage_reported(path):
            header, arms, prior = saved.header, saved.header.arms, saved.models.pop("prior")
            features, width = None, header.n_features
            if (rows := saved.arrays.pop("features", None)) is not None:
                if rows.ndim != 2 or len(rows) != len(arms):
                    raise ValueError("the features do not fit the arms")
                width += rows.shape[1] * (1 + header.n_features)
                known = csr_array(rows) if header.sparse else rows
                features = {arm: known[[k]] for k, arm in enumerate(arms)}
            if prior.n_features_in_ != width + header.ones:
                raise ValueError("the prior does not fit the features")
            bandit = cls(arms, make_policy(header.policy, **header.parameters), prior, arm_features=features)
            bandit._model.has_ones = header.ones  # which the estimator in the file does not know
            bandit._models = models_of_arms(bandit._model, header.n_features, len(arms), bandit._arm_features, prior)
            if bandit._models.kind != header.models:
                raise ValueError(f"expected models {bandit._models.kind!r}, got {header.models!r}")
            bandit._models.restore(saved.arrays, saved.models)
            bandit._random.bit_generator.state = header.random
            bandit._n_decisions = header.n_decisions
            bandit._waiting = {one.id: one for one in files.log_of(saved.lists["waiting"])}
            # A decision that waits is one object, in the log and outside.
            log = files.log_of(saved.lists["log"])
            bandit.log = [bandit._waiting.get(one.id, one) if one.reward is None else one for one in log]
            return bandit

    # --- helpers -------------------------------------------------------------------------------------------------

    def _scores(self, contexts: Any) -> tuple[Floats, Floats]:
        X = self._rows(contexts, 1)
        return self._ready(X).scores(X)

    def _ready(self, X: Any) -> ArmModels:
        """Return the models, which are created once the number of features is known."""
        if self._models is None:
            self._models = models_of_arms(self._model, X.shape[1], len(self.arms), self._arm_features)
        return self._models

    def _rows(self, contexts: Any, n: int) -> Any:
        """Return contexts as a float64 array or CSR array, checked; ``n`` empty ones for None."""
        if contexts is None:
            if self._models is not None and self._models.n_features != 1:
                wanted = counted(self._models.n_features, "column")
                raise ValueError(f"contexts must have {wanted} as those before, got none")
            if self._arm_features is None and not self._model.has_intercept:
                raise ValueError("a model without an intercept learns nothing without contexts; use fit_intercept=True")
            contexts = np.zeros((n, 1))
        X = checked_contexts(contexts)
        if self._models is not None and X.shape[1] != self._models.n_features:
            raise ValueError(
                f"contexts must have {counted(self._models.n_features, 'column')} as those before, got {X.shape[1]}; "
                "begin a new bandit for other features"
            )
        return X
