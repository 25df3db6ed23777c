"""A stack of regressions: members that learn the same rows, each in its own view, and a mixture of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..covariances.examples import Examples
from ..covariances.state import COUNT, REAL, Shapes, check_within, within
from ..learner.learner import Learner
from ..tasks.table import NUMBERS
from ..tasks.targets import INITIAL_TARGET, Prediction, Targets, calibrated_interval, deviation, values
from ..tasks.task import Task
from .members import COUNTERS, ROWS, WEIGHTS, Members, Plan, weights_in_order

PRODUCTS, CALIBRATION = "mixture.products", "calibration"
MAX_PRODUCT = 1e130  # of errors, which are at most of the size of targets and members' weights


class NumberStack(Members):
    """Several regressions on the same rows; their predictions are mixed by weights learned online.

    With m_g the prediction of member g before the target y is used, the mixture predicts sum_g w_g m_g. The weights add
    up to 1 and may be negative; they begin at 1/G, the mean of G members, and after every row but the first, which no
    member can predict, are those with the least discounted squared error, by ridge regression around the beginning::

        P <- kappa P + e e',    e_g = y - m_g,    w = argmin_(sum w = 1) w'P w/(2 s) + tau |w - 1/G|^2/2

    where s is the mean squared error of the best member, kappa = 1 - 1/min(t + 2, 5000) forgets early rows, on which
    members were worse, and tau = 1/.3^2. This is the Gaussian likelihood of the mixture: its Newton steps, those of the
    mixture of classifiers, are exact here. Then every member learns the row.

    The variance of a prediction is w'P w times (sum_g |w_g| sd_g / sum_g |w_g| P_gg^(1/2))^2: the squared error of the
    weights in the rows before, and how uncertain the members are about this row, compared with their errors. Intervals
    are made of it and of the distribution of the standardized errors.

    The parameters and attributes are those of :class:`confidently.stack.members.Members`.
    """

    def __init__(self, recipes: Any = (), choose: Any = None, n_classes: int = 1, **others: Any) -> None:
        if n_classes != 1:
            raise ValueError(f"a stack predicts one number per row, got {n_classes}; use one per number")
        super().__init__(recipes, choose, n_classes, **others)

    def _take(self, plans: Sequence[Plan]) -> None:
        super()._take(plans)
        self.state[CALIBRATION][:] = INITIAL_TARGET

    @staticmethod
    def shapes(members: int, n_outputs: int) -> Shapes:
        square = (members, members)
        own = {WEIGHTS: ((members,), REAL), PRODUCTS: (square, REAL), ROWS: ((2,), REAL), COUNTERS: ((1,), COUNT)}
        return own | {CALIBRATION: ((len(INITIAL_TARGET),), REAL)}

    def check_values(self) -> None:
        super().check_values()
        check_within(PRODUCTS, self.state[PRODUCTS], within(MAX_PRODUCT))
        for name, numbers, allowed in values(self.state[CALIBRATION]):
            check_within(name, numbers, allowed)

    @property
    def task(self) -> Task:
        """Numbers are predicted."""
        return NUMBERS

    @property
    def mistakes(self) -> int:
        """Numbers have no mistakes."""
        return 0

    def _is_untested(self) -> bool:
        return True  # members of regressions are not dropped

    def weight_deviations(self) -> np.ndarray:
        """Return the standard deviations of the members' weights, shape (members,), given that they add up to 1."""
        products, best = self.state[PRODUCTS], self.state[PRODUCTS].diagonal().min()
        scale = self.state[ROWS][1] / best if best > 0 else 0.0
        covariance = np.linalg.inv(scale * products + _core.weight_precision * np.eye(len(products)))
        along = covariance.sum(axis=1)
        deviations: np.ndarray = np.sqrt(np.maximum(covariance.diagonal() - along**2 / along.sum(), 0.0))
        return deviations

    # --- learning -------------------------------------------------------------------------------------------------

    @property
    def _outputs(self) -> int:
        return 2  # prediction and variance

    def _mix(self, outputs: np.ndarray, part: Examples, calibrate: bool, log_loss: np.ndarray | None) -> None:
        assert part.targets is not None
        state, labels = self.state, part.labels[part.order]
        _core.number_mixture_learn(
            state[WEIGHTS], state[PRODUCTS], state[ROWS], state[CALIBRATION], state[COUNTERS], outputs,
            np.ascontiguousarray(part.targets[part.order, 0]), weights_in_order(part, labels), calibrate,
        )  # fmt: skip

    # --- prediction -----------------------------------------------------------------------------------------------

    def predictions(self, X: _core.Matrix, uncertain: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return what the members predict, shape (members, n), and if ``uncertain`` the standard deviations."""
        shape = len(self.members), X.shape[0]
        means, deviations = np.zeros(shape), np.zeros(shape if uncertain else 0)

        def fill(k: int, seen: _core.Matrix, rows: slice) -> None:
            learner = self.members[k]
            assert isinstance(learner, Learner)  # naive Bayes is of classes
            if uncertain:
                found = learner.number_distribution_of(seen)
                means[k, rows], deviations[k, rows] = found.mean[:, 0], learner.number_deviations(found)[:, 0]
            else:
                means[k, rows] = learner.numbers_of(seen)[:, 0]

        self._ask(X, fill)
        return means, deviations

    def numbers(self, X: _core.Matrix) -> np.ndarray:
        """Return what the mixture predicts, shape (n, 1)."""
        means, _ = self.predictions(X, uncertain=False)
        numbers: np.ndarray = self.state[WEIGHTS] @ means
        return numbers[:, None]

    def number_distribution(self, X: _core.Matrix) -> Prediction:
        """Return the predictive distributions, each of shape (n, 1)."""
        weights, (means, deviations) = self.state[WEIGHTS], self.predictions(X)
        spread = np.maximum((np.abs(weights) @ deviations) ** 2 * self._factor(), np.finfo(np.float64).tiny)
        return Prediction((weights @ means)[:, None], spread[:, None])

    def _factor(self) -> float:
        """Return w'P w over (sum_g |w_g| P_gg^(1/2))^2, 1 before the first error."""
        weights, products = self.state[WEIGHTS], self.state[PRODUCTS]
        error, mean = weights @ products @ weights, np.abs(weights) @ np.sqrt(products.diagonal())
        return float(error / mean**2) if error > 0 and mean > 0 else 1.0

    def number_deviations(self, found: Prediction, calibrated: bool = True) -> np.ndarray:
        """Return the standard deviation of targets around predictions, shape (n, 1); they are always calibrated."""
        return deviation(found, Targets.of(self.state[CALIBRATION]))

    def intervals(self, found: Prediction, coverage: float, calibrated: bool = True) -> np.ndarray:
        """Return the limits of central intervals around predictions, shape (n, 1, 2); they are always calibrated."""
        return calibrated_interval(Targets.of(self.state[CALIBRATION]), found, coverage)
