"""One of several classes, all of which a row moves by the likelihood of its class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rules.rule import Rule
from . import calibration as progressive
from .joint import OneOfSeveral
from .task import Noise


class Softmax(OneOfSeveral):
    """One of several classes, with the likelihood softmax(scores)."""

    name = multiclass = "softmax"
    own_gaussians = True
    likely_by_scores = True

    def check_rule(self, rule: Rule) -> None:
        if rule.multiclass != self.name:
            raise ValueError(
                'multiclass="softmax" moves all classes by one likelihood, which the rule '
                f'{rule.name!r} does not have; use rule="logistic", or multiclass="joint" or "one-vs-rest"'
            )
        super().check_rule(rule)

    def likely(self, mean: np.ndarray, variance: Callable[[], np.ndarray], noise: Noise) -> np.ndarray:
        return progressive.softmax(mean)
