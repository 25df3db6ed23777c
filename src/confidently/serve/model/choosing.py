"""A served model of decisions: it learns the rewards of actions, and says what is expected of others."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...bandits import files
from ...bandits.actions import Actions
from ...bandits.decision_model import DecisionModel
from ...estimators.archive import Archive
from ...models.explanation import Contribution, NumberExplanation
from ...tasks.table import NUMBERS
from ...tasks.task import Task
from ..problems import Problem
from .asking import Asking
from .base import HostedModel, Judged, Learned
from .decision_rows import read_row
from .guards import Finding, Guards
from .learning import Example, raise_of_machine
from .numbers import NOTHING, NumberAnswer
from .predicted import AnyAnswer, Promises
from .settings import SHARED_ARMS, ModelSettings, Setup


class DecidingModel(HostedModel):
    """A model that learns rewards: a :class:`confidently.bandits.DecisionModel`, which draws nothing here.

    Parameters
    ----------
    settings : ModelSettings
    content : Archive, optional
        What was learned before; by default nothing.
    seq : int
        The event up to which that was learned.
    saved : dict, optional
        What :meth:`saved` returned then.

    Attributes
    ----------
    rewards : DecisionModel
    """

    merge_refusal: ClassVar[str | None] = "models of decisions cannot be merged"

    def __init__(
        self, settings: ModelSettings, content: Archive | None = None, seq: int = 0,
        saved: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        setup, kept = Setup(settings), saved or {}
        guards, asking = Guards(setup.reading(), saved=kept.get("guards")), Asking(settings.ask, kept.get("asking"))
        super().__init__(settings, setup, guards, asking, seq)
        self.reading = setup.reading()
        self.rewards = self._untrained(settings.arms == SHARED_ARMS)
        if content is not None:
            self.rewards = DecisionModel.from_saved(content)
        self._since = int(kept.get("since", 0))

    def _untrained(self, shared: bool) -> DecisionModel:
        settings = self.settings
        return DecisionModel(shared=shared, reward_range=settings.reward_range, forget=settings.drift)

    # --- what the model is --------------------------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        return NUMBERS

    @property
    def classes(self) -> list[Any]:
        return []

    @property
    def closed(self) -> bool:
        return False

    @property
    def dtype(self) -> str:
        return "float64"

    @property
    def n_features(self) -> int:
        return len(self.rewards.names.columns) + len(self.rewards.actions.features.columns)

    @property
    def updates(self) -> int:
        return self.rewards.n_learned

    @property
    def has_begun(self) -> bool:
        return self.rewards.n_learned > 0

    @property
    def order(self) -> tuple[int, int]:
        return self.rewards.n_restarts, self._since

    # --- answers ------------------------------------------------------------------------------------------------------

    def expected(self, features: Mapping[str, float], actions: Actions) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the expected reward of each action, shape (n_actions,)."""
        return self.rewards.scores(features, actions)

    @property
    def _noise(self) -> float:
        """The variance of rewards around their expectations."""
        return self.rewards.width**2 * self.rewards.noise

    def answers(self, lines: Sequence[bytes], counted: bool = False) -> list[AnyAnswer]:
        if not self.has_begun:
            return [NOTHING._replace(ask=False)] * len(lines)
        return [self._answer(line) for line in lines]

    def _answer(self, line: bytes) -> NumberAnswer:
        row = read_row(line)
        mean, variance = self.expected(row.features, Actions([row.chosen]))
        return NumberAnswer(float(mean[0]), None, float(variance[0]) + self._noise, False)

    def judged(self, examples: Sequence[Example]) -> Judged:
        return Judged([], [])

    def explanation(self, line: bytes, about: Any = None) -> NumberExplanation:
        row = read_row(line)
        features, known = row.features, self.rewards.names.columns
        mean, variance = self.expected(features, Actions([row.chosen]))
        parts = self.rewards.contributions(features, row.chosen)
        offset, _ = parts.pop("")
        contributions = [
            Contribution(name, features[name], added / (features[name] or 1.0), added, spread, name in known)
            for name, (added, spread) in parts.items()
        ]
        predicted, deviation = float(mean[0]), math.sqrt(float(variance[0]) + self._noise)
        return NumberExplanation(predicted, deviation, offset, predicted - offset, float(variance[0]), contributions)

    def check_promises(self, asked: Promises) -> None:
        if any(asked):
            raise Problem("invalid-parameter", "decisions come without promises; leave out set, max_risk, novelty")

    def promises(self, answers: Sequence[AnyAnswer], asked: Promises) -> list[dict[str, Any]]:
        return [{} for _ in answers]

    def novelty(self, lines: Sequence[bytes]) -> list[float]:
        return [1.0] * len(lines)

    def findings(self, lines: Sequence[bytes]) -> list[list[Finding]]:
        return [[] for _ in lines]

    def odd_class(self, label: bytes) -> None:
        return None

    def check_class(self, label: bytes) -> None:
        pass

    # --- learning -----------------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> Learned:
        rows, sums = 0, [0.0, 0.0, 0.0]  # absolute and squared errors, and rows that were predicted
        for example in examples:
            was_predicted, restarts = self.has_begun, self.rewards.n_restarts
            try:
                error = self._learn(example)
            except Exception as problem:
                raise_of_machine(problem)
                self._set_aside(example, problem)
            else:
                rows += 1
                self._since = self._since + 1 if self.rewards.n_restarts == restarts else 0
                if was_predicted:
                    sums = [sums[0] + abs(error), sums[1] + error * error, sums[2] + 1.0]
            self.seq = example.seq
        return Learned(rows, tuple(sums), False)

    def _learn(self, example: Example) -> float:
        """Learn a reward; return by how much it was larger than expected."""
        row = read_row(example.line)
        action, reward = row.chosen, float(row.label or 0.0)
        if self.settings.arms == "auto" and action.features and not self.has_begun:
            self.rewards = self._untrained(shared=True)
        context = row.features if row.slot else row.context
        return reward - self.rewards.learn(context, action, reward, example.weight)

    @property
    def least_rows(self) -> int:
        return 1

    @property
    def is_settled(self) -> bool:
        return True

    def settle(self) -> None:
        pass

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        if not self.has_begun:
            raise Problem("one-class", "no reward was learned yet; send decisions and rewards first")
        self.rewards.save(path)

    def writer(self, training: dict[str, Any]) -> Callable[[Path], None]:
        content = self.rewards.saved()
        content.header["training"] = training
        return partial(files.OF_DECISIONS.write, contents=content)

    def saved(self) -> dict[str, Any]:
        return super().saved() | {"since": self._since}
