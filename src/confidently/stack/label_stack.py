"""A stack of learners of label sets, which mixes the members' scores for each label by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import COUNT, REAL, Shapes, State, check_within
from ..tasks import conformal
from ..tasks.calibration import half_of_f1, sigmoid
from ..tasks.conformal import CONFORMAL
from ..tasks.table import MULTILABEL
from ..tasks.task import Task
from ..views.columns import Columns
from ..views.view import COUNTED
from .following import LONGEST, SHARE, WINDOWS
from .members import COUNTERS, ROWS, WEIGHTS
from .stack import HESSIAN, OWN, Stack, divergence

LABEL_COUNTS = "mixture.labels"  # per label: predictions that were right, and rows with the label predicted or relevant
OF_MIXTURES = (WEIGHTS, SHARE, OWN, HESSIAN, ROWS, LABEL_COUNTS)  # arrays whose first axis are the labels


class LabelStack(Stack):
    """Several learners of label sets on the same rows, mixed for each label by itself.

    The mixture of each label is that of two classes, rows that have the label and the rest
    (:class:`confidently.stack.stack.Stack`), with weights of its own. What is mixed are differences: with b_k half
    the logarithm of the odds of label k in the rows so far, the mixed score is b_k + sum_g w_gk (l_gk - b_k). Without
    b_k, a rare label that no member foresaw would pull the weights to 0, and with them the probability to 1/2. A label
    is predicted where its probability is above half of the progressive F1 of all labels together, as a single learner
    predicts it.

    The parameters and attributes are those of :class:`confidently.stack.choosing.Choosing`; the classes are the labels.
    """

    moves = None  # labels have mixtures of their own, most of which see few rows with the label

    @staticmethod
    def shapes(members: int, n_outputs: int, rests: int = 0, logs: int = 0) -> Shapes:
        windows = n_outputs, WINDOWS
        return {
            WEIGHTS: ((n_outputs, members), REAL), SHARE: (windows, REAL), OWN: ((*windows, members), REAL),
            HESSIAN: ((*windows, members, members), REAL), ROWS: ((n_outputs,), REAL),
            LABEL_COUNTS: ((n_outputs, 2), REAL), COUNTERS: ((2,), COUNT),
            CONFORMAL: ((conformal.size(n_outputs),), REAL),
        }  # fmt: skip

    def _begin_mixture(self) -> None:
        self.state = self.untrained(self.n_classes)

    def untrained(self, labels: int) -> State:
        """Return the mixtures of so many labels before training."""
        n = len(self.members)
        state = {name: np.zeros(shape, dtype) for name, (shape, dtype) in self.shapes(n, labels).items()}
        state[WEIGHTS][:] = state[OWN][:] = 1.0 / n
        state[SHARE][:] = 1.0 / WINDOWS if self.later is None else LONGEST
        return state | {CONFORMAL: conformal.untrained(labels)}

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        known = self.n_classes
        super().grow(n_features, n_classes, multiclass, columns)
        if self.members and self.n_classes > known:
            new = self.untrained(self.n_classes - known)
            self.state = self.state | {name: np.concatenate([self.state[name], new[name]]) for name in OF_MIXTURES}

    def check_values(self) -> None:
        super().check_values()
        check_within(LABEL_COUNTS, self.state[LABEL_COUNTS], COUNTED)

    @property
    def task(self) -> Task:
        """Any number of labels, each learned by itself."""
        return MULTILABEL["one-vs-rest"]

    @property
    def member_weights(self) -> np.ndarray:
        """The mean over the labels of the members' weights, shape (members,)."""
        return self.state[WEIGHTS].mean(axis=0)

    def weight_deviations(self) -> np.ndarray:
        """Return the standard deviations of a label's weights around :attr:`member_weights`, shape (members,)."""
        spread = super().weight_deviations() ** 2 + (self.state[WEIGHTS] - self.member_weights) ** 2
        return np.sqrt(spread.mean(axis=0))

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"multilabel": True}

    # --- learning -------------------------------------------------------------------------------------------------

    @property
    def _outputs(self) -> int:
        return self.n_classes

    def _mix(self, outputs: np.ndarray, part: Examples, calibrate: bool, progressive: Progressive) -> None:
        state, rows = self.state, part.block(0, len(part))
        assert rows.label_start is not None  # of label sets
        kept = [] if calibrate else [state[name] for name in OF_MIXTURES]
        before = [array.copy() for array in kept]
        _core.label_mixtures_learn(
            state[WEIGHTS], state[SHARE], state[OWN], state[HESSIAN], state[ROWS], state[LABEL_COUNTS], state[COUNTERS],
            outputs, rows.labels, rows.label_start, rows.weight, progressive.log_loss,
            state[CONFORMAL] if calibrate else None, progressive.scores,
        )  # fmt: skip
        for array, values in zip(kept, before, strict=True):
            array[...] = values

    # --- prediction -----------------------------------------------------------------------------------------------

    @property
    def label_threshold(self) -> float | None:
        """The probability above which labels are predicted: half of the progressive F1; None before the first row."""
        return half_of_f1(self.state[LABEL_COUNTS])

    def decides_by_probability(self, method: str | None) -> bool:
        """Whether labels are predicted by :attr:`label_threshold`, as after the first row."""
        return self.label_threshold is not None

    def decided(self, scores: np.ndarray | None, probabilities: np.ndarray | None) -> np.ndarray:
        """Return booleans, (n, labels): probabilities above :attr:`label_threshold`, or scores above 0."""
        relevant: np.ndarray
        if probabilities is None:
            assert scores is not None
            relevant = scores > 0
        else:
            relevant = probabilities > self.label_threshold
        return relevant

    def predict(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Return which labels are predicted, booleans of shape (n, labels)."""
        scores, probabilities = self.decision_and_probabilities(X)
        return self.decided(scores, probabilities if self.decides_by_probability(method) else None)

    def _mixed(self, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.einsum("kg,gnk->nk", weights, scores)

    def _probabilities(self, decision: np.ndarray) -> np.ndarray:
        p = sigmoid(decision.ravel())[:, 1]
        return p.reshape(decision.shape)

    def _top_margins(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return mean, variance

    def disagreement(self, X: _core.Matrix) -> np.ndarray:
        """Return the Jensen-Shannon divergence of the members about the label that they disagree on most, (n,)."""
        logits = self.logits(X)
        p = self._probabilities(logits)
        return divergence(np.stack([1.0 - p, p], axis=-1)).max(axis=1, initial=0.0)
