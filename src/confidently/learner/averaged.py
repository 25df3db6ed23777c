"""Calibration of averaged weights, by rows that they score before these are learned.

In training, margins are those of the weights as they are, which for some rules change with every row: other margins
than those of the mean of the weights, which predicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
from ..tasks import conformal
from ..tasks.conformal import CONFORMAL
from ..tasks.novelty import VARIANCES
from .learner import Learner

SWEEPS = 4  # over the rows; in each but the last, only slopes are found


def calibrate_by(
    learner: Learner, X: _core.Matrix, labels: np.ndarray, start: np.ndarray | None, weight: np.ndarray | None,
    ratio: float, values: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Calibrate a learner by rows that it has not seen, without training on them.

    Parameters
    ----------
    learner : Learner
    X, labels, start, weight, values
        The rows, as :meth:`confidently.learner.learner.Learner.learn` takes them.
    ratio : float
        How many they are for each row before.
    """
    task = learner.task
    scores, variances = learner.judged(X)
    learner.renew(ratio)
    renewed = found = learner.state["calibration"]
    for _ in range(SWEEPS):
        found = task.calibrated_by(task.with_slopes(renewed, found), scores, labels, start, weight)
    state = learner.state | {"calibration": found, VARIANCES: learner.state[VARIANCES].copy()}
    learner.state = state
    _core.margin_variances_learn(state[VARIANCES], variances)
    p = learner.probabilities(X)
    state[CONFORMAL] = conformal.learned_late(state[CONFORMAL], p, labels, start, weight)
    if learner.groups is not None and values is not None:
        learner.groups = learner.groups.learned_late(values, p, labels, weight, start)
