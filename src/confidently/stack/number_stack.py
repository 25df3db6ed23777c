"""A stack of regressions: members that learn the same rows, each in its own view, and a mixture of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..covariances.examples import Examples
from ..covariances.state import COUNT, REAL, Shapes, State, check_within, within
from ..learner.learner import Learner
from ..rules.ranges import Range
from ..tasks.table import NUMBERS
from ..tasks.targets import INITIAL_TARGET, Prediction, Targets, calibrated_interval, deviation, values
from ..tasks.task import Task
from ..views.view import View
from .members import COUNTERS, ROWS, WEIGHTS, Members, weights_in_order
from .plan import Plan

if TYPE_CHECKING:
    from concurrent.futures import Executor

SHARE, PRODUCTS, CALIBRATION = "mixture.share", "mixture.products", "calibration"
WINDOWS = _core.windows
WEIGHT_OF_REST = 0.5  # before training, as in core/stack/number_mixture.hpp
MAX_PRODUCT = 1e130  # of errors, which are at most of the size of targets and members' weights


class NumberStack(Members):
    """Several regressions on the same rows; their predictions are mixed by weights learned online.

    With m_g the prediction of member g before the target y is used, the mixture predicts sum_g w_g m_g. The weights add
    up to 1 and may be negative; they begin at w_0 = 1/G, the mean of G members. In each window of n = 50, 300 and 5000
    rows, after every row but the first, which no member can predict, they are those with the least discounted squared
    error, by ridge regression around the beginning::

        P <- kappa P + e e',    e_g = y - m_g,    w = argmin_(sum w = 1) w'P w/(2 s) + tau |w - w_0|^2/2

    where s is the mean squared error of the best member, kappa = 1 - 1/min(t + 2, n) forgets earlier rows, on which
    members were worse or the data other, and tau = 1/.3^2. This is the Gaussian likelihood of the mixture: its Newton
    steps, those of the mixture of classifiers, are exact here. The weights of the mixture are the mean of the windows'
    by their shares, as there: fixed share on the likelihood exp(-(y - w_i'm)^2/(2 s')), where s' is the mean squared
    error of the mixture over the longest window. Then every member learns the row.

    The last members may be rests: they learn what the mixture of all members before them leaves of y, each with the
    weights that it would have without the others behind it. What they predict is added, with weights that begin at 1/2,
    do not count in the sum of 1, and enter P with e_g = -m_g. In later passes they do not train, since the members
    before leave too little of rows that they have seen.

    The variance of a prediction is w'P w times (sum_g |w_g| sd_g / sum_g |w_g| P_gg^(1/2))^2, the sums without rests:
    the squared error of the weights in the rows before, and how uncertain the members are about this row, compared with
    their errors. Intervals are made of it and of the distribution of the standardized errors.

    The parameters and attributes are those of :class:`confidently.stack.members.Members`.
    """

    may_drop = False  # members that need many rows are missed later: errors of up to 6 % more

    def __init__(self, recipes: Any = (), choose: Any = None, n_classes: int = 1, **others: Any) -> None:
        if n_classes != 1:
            raise ValueError(f"a stack predicts one number per row, got {n_classes}; use one per number")
        super().__init__(recipes, choose, n_classes, **others)

    def _take(self, plans: Sequence[Plan]) -> None:
        rests = [plan.rest for plan in plans]
        if sorted(rests) != rests or all(rests):
            raise ValueError("members that learn what others leave must come after these")
        super()._take(plans)

    @property
    def _bases(self) -> int:
        """The number of members that learn the targets."""
        return len(self.members) - self.rests

    @staticmethod
    def shapes(members: int, n_outputs: int, rests: int = 0) -> Shapes:
        return {
            WEIGHTS: ((members,), REAL), SHARE: ((1 + rests, WINDOWS), REAL),
            PRODUCTS: ((WINDOWS, members, members), REAL), ROWS: ((1 + WINDOWS,), REAL), COUNTERS: ((1,), COUNT),
            CALIBRATION: ((len(INITIAL_TARGET),), REAL),
        }  # fmt: skip

    def _begin_mixture(self) -> None:
        super()._begin_mixture()
        self.state[CALIBRATION][:] = INITIAL_TARGET
        self.state[SHARE][:] = 1.0 / WINDOWS
        self.state[WEIGHTS][:] = np.where(np.arange(len(self.members)) < self._bases, 1.0 / self._bases, WEIGHT_OF_REST)

    @staticmethod
    def upgraded(mixture: State) -> State:
        """Return the mixture of a model file of format 7 or before, whose one window becomes the longest of more."""
        products, rows = mixture.get(PRODUCTS), mixture.get(ROWS)
        if products is None or rows is None or products.ndim != 2 or rows.shape != (2,):
            return mixture
        windows = {PRODUCTS: np.tile(products, (WINDOWS, 1, 1)), ROWS: rows[[0] + [1] * WINDOWS]}
        return mixture | windows | {SHARE: np.eye(WINDOWS)[-1:]}

    def check_values(self) -> None:
        super().check_values()
        check_within(SHARE, self.state[SHARE], Range(0.0, 1.0, closed_low=True, closed_high=True))
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

    def weight_deviations(self) -> np.ndarray:
        """Return the standard deviations of the members' weights, shape (members,), given that their sum is 1.

        They have the mean variance of the windows, by their shares.
        """
        counted = np.arange(len(self.members)) < self._bases  # in the sum
        variances = np.zeros(len(self.members))
        for share, products, rows in zip(self.shares, self.state[PRODUCTS], self.state[ROWS][1:], strict=True):
            best = products.diagonal()[: self._bases].min()
            scale = rows / best if best > 0 else 0.0
            covariance = np.linalg.inv(scale * products + _core.weight_precision * np.eye(len(products)))
            along = covariance @ counted
            variances += share * np.maximum(covariance.diagonal() - along**2 / along[counted].sum(), 0.0)
        deviations: np.ndarray = np.sqrt(variances)
        return deviations

    @property
    def shares(self) -> np.ndarray:
        """The shares of the windows of the whole mixture; those before are of the mixtures before each rest."""
        share: np.ndarray = self.state[SHARE][-1]
        return share

    # --- learning -------------------------------------------------------------------------------------------------

    @property
    def _outputs(self) -> int:
        return 2  # prediction and variance

    def _train_members(
        self, part: Examples, begun: list[Any], outputs: np.ndarray, calibrate: bool, threads: Executor | None
    ) -> None:
        groups = [(view, [k for k in group if k < self._bases]) for view, group in self._groups()]
        self._train_groups([group for group in groups if group[1]], part, begun, outputs, threads)
        if not calibrate:
            return
        for k in range(self._bases, len(self.members)):
            rest = replace(part, targets=self._left(outputs[:k], part))
            self._train_group(self._view(k), [k], rest, begun, outputs)

    def _view(self, k: int) -> View | None:
        member = self.members[k]
        return member.view if isinstance(member, Learner) else None

    def _left(self, outputs: np.ndarray, part: Examples) -> np.ndarray:
        """Return what the mixture of the first members leaves of the targets, and learn its shares of windows."""
        assert part.targets is not None
        n, state, predicted = len(outputs), self.state, np.zeros(len(part))
        products, rows = np.ascontiguousarray(state[PRODUCTS][:, :n, :n]), state[ROWS].copy()
        rests = n - self._bases
        _core.number_mixture_learn(
            np.zeros(n), state[SHARE][rests], products, rows, state[CALIBRATION].copy(), np.zeros(1, COUNT), rests,
            outputs, *self._targets_in_order(part), True, predicted,
        )  # fmt: skip
        left = np.empty_like(part.targets)
        left[part.order] = part.targets[part.order] - predicted[:, None]
        return left

    def _mix(self, outputs: np.ndarray, part: Examples, calibrate: bool, log_loss: np.ndarray | None) -> None:
        state, seen, shares = self.state, self.n_seen, np.zeros((len(part), WINDOWS))
        targets, weight = self._targets_in_order(part)
        _core.number_mixture_learn(
            state[WEIGHTS], self.shares, state[PRODUCTS], state[ROWS], state[CALIBRATION], state[COUNTERS], self.rests,
            outputs, targets, weight, calibrate, None, shares,
        )  # fmt: skip
        if calibrate:
            self._follow(shares, weight, seen)

    def _targets_in_order(self, part: Examples) -> tuple[np.ndarray, np.ndarray | None]:
        """Return targets and weights of rows in the order of training."""
        assert part.targets is not None
        targets = np.ascontiguousarray(part.targets[part.order, 0])
        return targets, weights_in_order(part, part.labels[part.order])

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
        bases = slice(self._bases)
        spread = (np.abs(weights[bases]) @ deviations[bases]) ** 2 * self._factor()
        return Prediction((weights @ means)[:, None], np.maximum(spread, np.finfo(np.float64).tiny)[:, None])

    def _factor(self) -> float:
        """Return w'P w over (sum_g |w_g| P_gg^(1/2))^2 without rests, 1 before the first error."""
        weights, products = self.state[WEIGHTS], self.state[PRODUCTS][-1]
        mean = (np.abs(weights) * np.sqrt(products.diagonal()))[: self._bases].sum()
        error = weights @ products @ weights
        return float(error / mean**2) if error > 0 and mean > 0 else 1.0

    def number_deviations(self, found: Prediction, calibrated: bool = True) -> np.ndarray:
        """Return the standard deviation of targets around predictions, shape (n, 1); they are always calibrated."""
        return deviation(found, Targets.of(self.state[CALIBRATION]))

    def intervals(self, found: Prediction, coverage: float, calibrated: bool = True) -> np.ndarray:
        """Return the limits of central intervals around predictions, shape (n, 1, 2); they are always calibrated."""
        return calibrated_interval(Targets.of(self.state[CALIBRATION]), found, coverage)


def number_weights(mixture: State) -> np.ndarray:
    """Return the weights of a mixture's members, which follow from its products of errors and its shares."""
    share, products = mixture[SHARE], np.ascontiguousarray(mixture[PRODUCTS])
    members, rests = products.shape[1], len(share) - 1
    weights, none = np.zeros(members), np.zeros((members, 0, 2))
    _core.number_mixture_learn(
        weights, share[rests].copy(), products, mixture[ROWS].copy(), np.array(INITIAL_TARGET), np.zeros(1, COUNT),
        rests, none, np.zeros(0), None, True,
    )  # fmt: skip
    return weights
