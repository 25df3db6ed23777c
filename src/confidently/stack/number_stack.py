"""A stack of regressions: members that learn the same rows, each in its own view, and a mixture of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import COUNT, REAL, Shapes, State, check_within, within
from ..learner.learner import Learner
from ..rules.ranges import Range
from ..tasks import intervals
from ..tasks.conformal import CONFORMAL
from ..tasks.intervals import SIZE, untrained
from ..tasks.table import NUMBERS
from ..tasks.targets import (
    INITIAL_TARGET,
    Bounds,
    Prediction,
    Targets,
    calibrated_interval,
    deviation,
    initial,
    upgraded,
    values,
)
from ..tasks.task import Task
from ..views.view import View
from . import logs as of_logs
from .begun import Begun
from .choosing import Choosing
from .following import SHARE, WINDOW_ROWS, WINDOWS, with_copy, woken_share
from .members import COUNTERS, ROWS, WEIGHTS
from .plan import Plan

if TYPE_CHECKING:
    from concurrent.futures import Executor

PRODUCTS, CALIBRATION, LOGS = "mixture.products", "calibration", "mixture.logs"
# Arrays of which each number to predict has a part; that of logarithms is there if members learn these.
OF_MIXTURES = (WEIGHTS, SHARE, PRODUCTS, ROWS, CALIBRATION, CONFORMAL, LOGS)
WEIGHT_OF_REST = 0.5  # before training, as in core/stack/number_mixture.hpp
MAX_PRODUCT = 1e130  # of errors, which are at most of the size of targets and members' weights


class NumberStack(Choosing):
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

    Some members may learn the logarithms of the targets (:mod:`confidently.stack.logs`); m_g and sd_g are then of y.

    The last members may be rests: they learn what the mixture of all members before them leaves of y, each with the
    weights that it would have without the others behind it. What they predict is added, with weights that begin at 1/2,
    do not count in the sum of 1, and enter P with e_g = -m_g. In later passes they do not train, since the members
    before leave too little of rows that they have seen.

    The variance of a prediction is w'P w times (sum_g |w_g| sd_g / sum_g |w_g| P_gg^(1/2))^2, the sums without rests:
    the squared error of the weights in the rows before, and how uncertain the members are about this row, compared with
    their errors. Intervals are made of it and of the distribution of the standardized errors.

    If there are several numbers per row, each has a mixture of its own over the same members, which learn all of them.

    The parameters and attributes are those of :class:`confidently.stack.choosing.Choosing`.
    """

    may_drop = False  # members that need many rows are missed later: errors of up to 6 % more

    def __init__(
        self, recipes: Any = (), choose: Any = None, n_classes: int = 1, bounds: Bounds | None = None, **others: Any
    ) -> None:
        self._initial = initial(bounds)  # of each number
        super().__init__(recipes, choose, n_classes, **others)
        if n_classes > 1:
            self.moves = None  # numbers have mixtures of their own

    def _take(self, plans: Sequence[Plan], targets: np.ndarray | None = None) -> None:
        check_order([(plan.log, plan.rest) for plan in plans])
        super()._take(plans)
        if self.logs:
            assert targets is not None
            for mixture, y in zip(mixtures(self.state), targets.T, strict=True):
                mixture[LOGS][:] = of_logs.begun(y, self.logs)

    def _untrained(self, n_classes: int) -> Self:
        new = super()._untrained(n_classes)
        if self.members:  # those of a model file know the bounds that were said
            new._initial = initial(self.targets.said)
        return new

    @property
    def _bases(self) -> int:
        """The number of members that learn the targets, or their logarithms."""
        return len(self.members) - self.rests

    @property
    def _log_members(self) -> slice:
        return slice(self._bases - self.logs, self._bases)

    def is_log(self, k: int) -> bool:
        """Return whether a member learns the logarithms of the targets."""
        return self._bases - self.logs <= k < self._bases

    def limits_and_factors(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return for every number the largest logarithm that a member of logarithms predicts, and its factor c."""
        found = [of_logs.limit_and_factors(mixture[LOGS]) for mixture in mixtures(self.state)]
        first = self._bases - self.logs
        return np.array([limit for limit, _ in found]), np.array([factors[k - first] for _, factors in found])

    @staticmethod
    def shapes(members: int, n_outputs: int, rests: int = 0, logs: int = 0) -> Shapes:
        several = () if n_outputs == 1 else (n_outputs,)
        return {
            WEIGHTS: ((*several, members), REAL), SHARE: ((*several, 1 + rests, WINDOWS), REAL),
            PRODUCTS: ((*several, WINDOWS, members, members), REAL), ROWS: ((*several, 1 + WINDOWS), REAL),
            COUNTERS: ((1,), COUNT), CALIBRATION: ((n_outputs * len(INITIAL_TARGET),), REAL),
            CONFORMAL: ((n_outputs * SIZE,), REAL),
            **({LOGS: ((*several, of_logs.size(logs)), REAL)} if logs else {}),
        }  # fmt: skip

    def _begin_mixture(self) -> None:
        super()._begin_mixture()
        self.state[CALIBRATION][:] = self._initial * self.n_classes
        self.state[CONFORMAL] = untrained(self.n_classes)
        self.state[SHARE][:] = 1.0 / WINDOWS
        self.state[WEIGHTS][:] = np.where(np.arange(len(self.members)) < self._bases, 1.0 / self._bases, WEIGHT_OF_REST)

    @staticmethod
    def upgraded(mixture: State) -> State:
        """Return the mixture of an earlier model file.

        Up to format 12, it knew no bounds of the targets. Up to format 7, it had one window, the longest one of today.
        """
        products, rows, calibration = mixture.get(PRODUCTS), mixture.get(ROWS), mixture.get(CALIBRATION)
        if products is None or rows is None or calibration is None:
            return mixture
        mixture = mixture | {CALIBRATION: upgraded(calibration, 1 if rows.ndim == 1 else len(rows))}
        if products.ndim != 2 or rows.shape != (2,):
            return mixture
        windows = {PRODUCTS: np.tile(products, (WINDOWS, 1, 1)), ROWS: rows[[0] + [1] * WINDOWS]}
        return mixture | windows | {SHARE: woken_share()[None]}

    def check_values(self) -> None:
        super().check_values()
        check_within(SHARE, self.state[SHARE], Range(0.0, 1.0, closed_low=True, closed_high=True))
        check_within(PRODUCTS, self.state[PRODUCTS], within(MAX_PRODUCT))
        for known in (values(self.state[CALIBRATION]), intervals.values(self.state[CONFORMAL])):
            for name, numbers, allowed in known:
                check_within(name, numbers, allowed)
        for mixture in mixtures(self.state) if self.logs else ():
            for name, numbers, allowed in of_logs.values(mixture[LOGS]):
                check_within(name, numbers, allowed)

    @property
    def task(self) -> Task:
        """Numbers are predicted."""
        return NUMBERS

    @property
    def mistakes(self) -> int:
        """Numbers have no mistakes."""
        return 0

    @property
    def member_weights(self) -> np.ndarray:
        """The mean over the numbers of the members' weights, shape (members,)."""
        return np.mean([mixture[WEIGHTS] for mixture in mixtures(self.state)], axis=0)

    def weight_deviations(self) -> np.ndarray:
        """Return the standard deviations of the members' weights, shape (members,), given that their sum is 1.

        They have the mean variance of the windows, by their shares. Of several numbers, they are those of a number's
        weights around :attr:`member_weights`.
        """
        found, mean = mixtures(self.state), self.member_weights
        spread = [self._weight_variances(mixture) + (mixture[WEIGHTS] - mean) ** 2 for mixture in found]
        return np.sqrt(np.mean(spread, axis=0))

    def _weight_variances(self, mixture: State) -> np.ndarray:
        counted = np.arange(len(self.members)) < self._bases  # in the sum
        variances = np.zeros(len(self.members))
        for share, products, rows in zip(mixture[SHARE][-1], mixture[PRODUCTS], mixture[ROWS][1:], strict=True):
            best = products.diagonal()[: self._bases].min()
            scale = rows / best if best > 0 else 0.0
            covariance = np.linalg.inv(scale * products + _core.weight_precision * np.eye(len(products)))
            along = covariance @ counted
            variances += share * np.maximum(covariance.diagonal() - along**2 / along[counted].sum(), 0.0)
        return variances

    def _with_copy(self, k: int, at: int) -> State:
        def copied(mixture: State) -> State:
            return mixture | {PRODUCTS: with_copy(mixture[PRODUCTS], k, at, (-2, -1))}

        return self._weighted(copied)

    def _woken(self) -> State:
        def woken(mixture: State) -> State:
            rows, products = mixture[ROWS].copy(), mixture[PRODUCTS].copy()
            longest = rows[-1]
            rows[1:] = np.minimum(WINDOW_ROWS, longest)
            products[...] = products[-1] * (rows[1:] / longest if longest else rows[1:])[:, None, None]
            return mixture | {ROWS: rows, PRODUCTS: products, SHARE: np.tile(woken_share(), (1 + self.rests, 1))}

        return self._weighted(woken)

    def _weighted(self, changed: Callable[[State], State]) -> State:
        """Return the arrays of changed mixtures, with the weights that follow."""
        found = map(changed, mixtures(self.state))
        return joined([mixture | {WEIGHTS: number_weights(mixture)} for mixture in found])

    @property
    def shares(self) -> np.ndarray:
        """The shares of the windows of the whole mixture; those before are of the mixtures before each rest."""
        return self.state[SHARE][..., -1, :]

    @property
    def targets(self) -> Targets:
        """What is known about the numbers and the errors of the mixture."""
        return Targets.of(self.state[CALIBRATION])

    # --- learning -------------------------------------------------------------------------------------------------

    def _learn(self, examples: Examples, *how: Any, **others: Any) -> None:
        if self.members and examples.targets is not None:
            self.targets.check(examples.targets)
        super()._learn(examples, *how, **others)

    @property
    def _outputs(self) -> int:
        return 2 * self.n_classes  # prediction and variance of every number

    def _train_members(
        self, part: Examples, begun: Begun, outputs: np.ndarray, calibrate: bool, threads: Executor | None
    ) -> None:
        groups = [group for group in self._groups(calibrate) if group[1][0] < self._bases]
        self._train_groups(groups, part, begun, outputs, threads)
        if not calibrate:
            return
        if self.logs:
            for k, mixture in enumerate(mixtures(self.state)):
                predictions, targets, weight = self._of_number(k, outputs[self._log_members], part)
                of_logs.take(mixture[LOGS], predictions, targets, weight)
                outputs[self._log_members, :, 2 * k : 2 * k + 2] = predictions
        for k in range(self._bases, len(self.members)):
            rest = replace(part, targets=self._left(outputs[:k], part))
            if begun.is_row:
                assert rest.targets is not None
                self._train_row(
                    rest, begun, outputs, np.repeat(rest.targets, 1 + len(outputs), axis=0), slice(k, k + 1)
                )
            else:
                self._train_group(self._view(k), [k], rest, begun, outputs)

    def _train_row(
        self, part: Examples, begun: Begun, outputs: np.ndarray, targets: np.ndarray | None = None,
        members: slice = slice(None),
    ) -> None:  # fmt: skip
        if targets is None:  # of the members before the rests
            assert part.targets is not None
            own = [self._learned_by(k, part).targets for k in range(len(outputs))]
            targets, members = np.concatenate([part.targets, *own]), slice(self._bases)
        super()._train_row(part, begun, outputs, targets, members)

    @property
    def _checking(self) -> list[int]:
        return [k for k, one in enumerate(self.members) if isinstance(one, Learner) and one.settings.rule.counts]

    def _learned_by(self, k: int, rows: Examples) -> Examples:
        if rows.targets is None or not self.is_log(k):
            return rows
        learned = [
            of_logs.learned(mixture[LOGS], own)
            for mixture, own in zip(mixtures(self.state), rows.targets.T, strict=True)
        ]
        return replace(rows, targets=np.stack(learned, axis=1))

    def _view(self, k: int) -> View | None:
        member = self.members[k]
        return member.view if isinstance(member, Learner) else None

    def _left(self, outputs: np.ndarray, part: Examples) -> np.ndarray:
        """Return what the mixtures of the first members leave of the targets, and learn their shares of windows."""
        assert part.targets is not None
        n, left = len(outputs), np.empty_like(part.targets)
        rests = n - self._bases
        for k, mixture in enumerate(mixtures(self.state)):
            predicted, products = np.zeros(len(part)), np.ascontiguousarray(mixture[PRODUCTS][:, :n, :n])
            rows, calibration = mixture[ROWS].copy(), mixture[CALIBRATION].copy()
            _core.number_mixture_learn(
                np.zeros(n), mixture[SHARE][rests], products, rows, calibration, np.zeros(1, COUNT), rests,
                *self._of_number(k, outputs, part), True, predicted,
            )  # fmt: skip
            left[part.order, k] = part.targets[part.order, k] - predicted
        return left

    def _mix(self, outputs: np.ndarray, part: Examples, calibrate: bool, progressive: Progressive) -> None:
        seen, shares = self.n_seen, None if self.moves is None else np.zeros((len(part), WINDOWS))
        scores = np.full((self.n_classes, len(part)), np.nan)
        for k, mixture in enumerate(mixtures(self.state)):
            counters = self.state[COUNTERS] if k == 0 else np.zeros(1, COUNT)
            predictions, targets, weight = self._of_number(k, outputs, part)
            _core.number_mixture_learn(
                mixture[WEIGHTS], mixture[SHARE][-1], mixture[PRODUCTS], mixture[ROWS], mixture[CALIBRATION], counters,
                self.rests, predictions, targets, weight, calibrate, None, shares, mixture[CONFORMAL], part.X,
                part.order, scores[k],
            )  # fmt: skip
        if progressive.scores is not None:
            progressive.scores[:] = scores.T.ravel()
        if calibrate and shares is not None:
            self._follow(shares, weight, seen)

    @staticmethod
    def _of_number(k: int, outputs: np.ndarray, part: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return members' predictions of a number, its targets and the rows' weights, in the order of training."""
        assert part.targets is not None
        predictions = np.ascontiguousarray(outputs[:, :, 2 * k : 2 * k + 2])
        targets = np.ascontiguousarray(part.targets[part.order, k])
        return predictions, targets, part.block(0, len(part)).weights()

    # --- prediction -----------------------------------------------------------------------------------------------

    def predictions(self, X: _core.Matrix, uncertain: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return what the members predict, (numbers, members, n), and if ``uncertain`` the standard deviations."""
        shape = len(self.members), X.shape[0], self.n_classes
        means, deviations = np.zeros(shape), np.zeros(shape if uncertain else 0)

        def fill(k: int, seen: _core.Matrix, rows: slice) -> None:
            learner = self.members[k]
            assert isinstance(learner, Learner)  # naive Bayes is of classes
            if uncertain:
                found = learner.number_distribution_of(seen)
                means[k, rows], deviations[k, rows] = found.mean, learner.number_deviations(found)
            else:
                means[k, rows] = learner.numbers_of(seen)

        self._ask(X, fill, None if uncertain else means)
        found = _by_number(means), _by_number(deviations) if uncertain else deviations
        if self.logs:
            for k, mixture in enumerate(mixtures(self.state)):
                own = found[0][k, self._log_members]
                own[:] = of_logs.numbers(mixture[LOGS], own)
                if uncertain:
                    found[1][k, self._log_members] *= own
        return found

    def numbers(self, X: _core.Matrix) -> np.ndarray:
        """Return what the mixture predicts, shape (n, numbers)."""
        means, _ = self.predictions(X, uncertain=False)
        return self.targets.clipped(self._mixed(means))

    def _mixed(self, means: np.ndarray) -> np.ndarray:
        return np.stack([one[WEIGHTS] @ own for one, own in zip(mixtures(self.state), means, strict=True)], axis=1)

    def number_distribution(self, X: _core.Matrix) -> Prediction:
        """Return the predictive distributions, each of shape (n, numbers)."""
        bases, (means, deviations) = slice(self._bases), self.predictions(X)
        spread = [
            (np.abs(mixture[WEIGHTS][bases]) @ own[bases]) ** 2
            for mixture, own in zip(mixtures(self.state), deviations, strict=True)
        ]
        spreads = np.stack(spread, axis=1) * self.spread_factors()
        center = self._mixed(means)
        spreads = np.maximum(spreads, np.finfo(np.float64).tiny)
        return Prediction(self.targets.clipped(center), spreads, center, self.conformal.sizes(center, X))

    def spread_factors(self) -> np.ndarray:
        """Return w'P w over (sum_g |w_g| P_gg^(1/2))^2 without rests for each number, 1 before the first error."""
        return np.array([self._spread_factor(mixture) for mixture in mixtures(self.state)])

    def _spread_factor(self, mixture: State) -> float:
        weights, products = mixture[WEIGHTS], mixture[PRODUCTS][-1]
        mean = (np.abs(weights) * np.sqrt(products.diagonal()))[: self._bases].sum()
        error = weights @ products @ weights
        return float(error / mean**2) if error > 0 and mean > 0 else 1.0

    def number_deviations(self, found: Prediction, calibrated: bool = True) -> np.ndarray:
        """Return the standard deviation of targets around predictions, (n, numbers); they are always calibrated."""
        return deviation(found, self.targets)

    def interval_shortage(
        self, coverage: float, calibrated: bool = True, values: Sequence[str] | None = None
    ) -> str | None:
        """Return why limits of intervals are infinite, as text; None if they are not."""
        return self.conformal.shortage(self.targets, coverage, values)

    def intervals(
        self, found: Prediction, coverage: float, calibrated: bool = True, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return the limits of central intervals around predictions, (n, numbers, 2); they are always calibrated.

        ``values`` are those of the rows in the column by which intervals cover, if there is one.
        """
        errors = self.conformal.error_limits(self.targets, coverage, values)
        return calibrated_interval(self.targets, found, coverage, errors)


def check_order(kinds: Sequence[tuple[bool, bool]]) -> None:
    """Raise ``ValueError`` unless members that learn logarithms come after others, and rests at last."""
    places = [2 * rest + log for log, rest in kinds]
    if sorted(places) != places or places[0] or max(places) > 2:
        raise ValueError(
            "members that learn targets must come first, then those of their logarithms, and those that learn what "
            "others leave at last"
        )


def mixtures(state: State) -> list[State]:
    """Return the mixture of each number that a stack predicts, whose arrays are parts of the stack's."""
    calibrations = state[CALIBRATION].reshape(-1, len(INITIAL_TARGET))
    if len(calibrations) == 1:
        return [state]
    parts = state | {CALIBRATION: calibrations, CONFORMAL: state[CONFORMAL].reshape(-1, SIZE)}
    names = [name for name in OF_MIXTURES if name in parts]
    return [{name: parts[name][k] for name in names} for k in range(len(calibrations))]


def joined(found: Sequence[State]) -> State:
    """Return the arrays of a stack, of which these are the :func:`mixtures`."""
    if len(found) == 1:
        return found[0]
    arrays = {name: np.stack([mixture[name] for mixture in found]) for name in OF_MIXTURES if name in found[0]}
    return arrays | {name: arrays[name].ravel() for name in (CALIBRATION, CONFORMAL)}


def number_weights(mixture: State) -> np.ndarray:
    """Return the weights of the members for a number, which follow from its products of errors and its shares."""
    share, products = mixture[SHARE], np.ascontiguousarray(mixture[PRODUCTS])
    members, rests = products.shape[1], len(share) - 1
    weights, none = np.zeros(members), np.zeros((members, 0, 2))
    _core.number_mixture_learn(
        weights, share[rests].copy(), products, mixture[ROWS].copy(), np.array(INITIAL_TARGET), np.zeros(1, COUNT),
        rests, none, np.zeros(0), None, True,
    )  # fmt: skip
    return weights


def _by_number(of_members: np.ndarray) -> np.ndarray:
    """Return an array of shape (members, n, numbers) as (numbers, members, n)."""
    return np.ascontiguousarray(of_members.transpose(2, 0, 1))
