"""A stack of classifiers: members that learn the same rows, each in its own view, and a mixture of their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from ..arrays import predicted_numbers
from ..covariances.examples import Examples, Progressive
from ..covariances.state import COUNT, REAL, Shapes, State, check_within, within
from ..learner.learner import Learner
from ..rules.ranges import Range
from ..tasks import conformal
from ..tasks.calibration import sigmoid, softmax
from ..tasks.conformal import CONFORMAL
from ..tasks.table import BINARY, JOINT
from ..tasks.task import Task
from ..views.columns import Columns
from .begun import Begun
from .choosing import Choosing
from .class_means import ClassMeans
from .following import SHARE, WINDOW_ROWS, WINDOWS, with_copy, woken_share
from .members import COUNTERS, MAX_WEIGHT, ROWS, WEIGHTS

if TYPE_CHECKING:
    from concurrent.futures import Executor

OWN, HESSIAN = "mixture.windows", "mixture.hessian"
MAX_HESSIAN = 1e30
LEAST_WEIGHT = 0.1  # of all members together, by whose offsets log-odds move
LEAST_TRUST = 1e-6  # of the first row of a class, which is counted all the same


class Trust(NamedTuple):
    """How far members are trusted about classes (:attr:`confidently.stack.class_means.ClassMeans.trust`).

    Attributes
    ----------
    means : int
        The number of the member that has the means of classes.
    by_class : array, shape (n_classes,) or (n, n_classes)
        From 0 to 1; below 1 for late classes.
    """

    means: int
    by_class: np.ndarray


class Stack(Choosing):
    """Several learners on the same rows; their calibrated scores are mixed by weights learned online.

    With l_gk the calibrated score of class k by member g, before the label is used (two classes: the logarithm of the
    odds), P(k) is proportional to exp(sum_g w_g l_gk). The weights begin at 1/G, the mean of G members. Those of each
    window of n = 50, 300 and 5000 rows follow the gradient of its log-loss by damped Newton steps::

        H <- kappa H + Cov_p(l),    w <- w + (H + tau I)^-1 (l_y - sum_k p_k l_k)

    where kappa = 1 - 1/min(t + 2, n) forgets earlier rows, on which members were worse or the data other, tau = 1/.3^2,
    and a step whose largest part exceeds .5 is shortened. A weight may become negative. The weights w of the mixture
    are the mean of the windows' by their shares, v_i <- (1 - a) v_i p_i(y)/sum_j v_j p_j(y) + a/3 with a = .002: fixed
    share (Herbster & Warmuth 1998), which follows the window that predicts best of late. Since the log-loss is convex
    in the weights, that of their mean is at most the mean of the windows' losses. Then every member learns the row and
    calibrates itself.

    If a member m has the means of classes, the other members count less for a class k that came late. With p_gk the
    probability by member g alone and the trust t_k of :attr:`confidently.stack.class_means.ClassMeans.trust`, l_gk is
    t_k log p_gk + (1 - t_k) log p_mk.

    The other parameters and attributes are those of :class:`confidently.stack.choosing.Choosing`.
    """

    _trust: Trust | None = None  # before each of the rows that are being learned

    @staticmethod
    def shapes(members: int, n_outputs: int, rests: int = 0, logs: int = 0) -> Shapes:
        return {
            WEIGHTS: ((members,), REAL), SHARE: ((WINDOWS,), REAL), OWN: ((WINDOWS, members), REAL),
            HESSIAN: ((WINDOWS, members, members), REAL), ROWS: ((1,), REAL), COUNTERS: ((2,), COUNT),
            CONFORMAL: ((conformal.size(n_outputs),), REAL),
        }  # fmt: skip

    def _begin_mixture(self) -> None:
        super()._begin_mixture()
        self.state[OWN][:] = self.state[WEIGHTS]
        self.state[SHARE][:] = 1.0 / WINDOWS
        self.state[CONFORMAL] = conformal.untrained(self.n_classes)

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        super().grow(n_features, n_classes, multiclass, columns)
        if self.members:
            self.state = self.state | {CONFORMAL: conformal.grown(self.state[CONFORMAL], self.n_classes)}

    @staticmethod
    def upgraded(mixture: State) -> State:
        """Return the mixture of a model file of format 6 or before, whose one window becomes the longest of more."""
        hessian, weights = mixture.get(HESSIAN), mixture.get(WEIGHTS)
        if hessian is None or weights is None or hessian.ndim != 2:
            return mixture
        own = {OWN: np.tile(weights, (WINDOWS, 1)), SHARE: woken_share()}
        return mixture | own | {HESSIAN: np.tile(hessian, (WINDOWS, 1, 1))}

    @property
    def shares(self) -> np.ndarray:
        """The shares of the windows."""
        return self.state[SHARE]

    def check_values(self) -> None:
        super().check_values()
        check_within(OWN, self.state[OWN], within(MAX_WEIGHT))
        check_within(SHARE, self.state[SHARE], Range(0.0, 1.0, closed_low=True, closed_high=True))
        check_within(HESSIAN, self.state[HESSIAN], within(MAX_HESSIAN))
        for name, numbers, allowed in conformal.values(self.state[CONFORMAL]):
            check_within(name, numbers, allowed)

    @property
    def task(self) -> Task:
        """Whether there are two classes or more."""
        return BINARY if self.n_classes <= 2 else JOINT

    # --- learning -------------------------------------------------------------------------------------------------

    @property
    def _lasting_members(self) -> np.ndarray:
        """The numbers of the members that do not forget, or of all if there are no others."""
        forget = [isinstance(member, Learner) and member.settings.forget > 0.0 for member in self.members]
        return np.array([k for k, one in enumerate(forget) if not one or all(forget)])

    @property
    def _outputs(self) -> int:
        return 1 if self.n_classes <= 2 else self.n_classes

    def _train(
        self, part: Examples, begun: Begun, calibrate: bool, progressive: Progressive, threads: Executor | None
    ) -> None:
        found = self._class_means
        before = None if found is None else found[1].trust_before(part)
        self._trust = None if found is None or before is None else Trust(found[0], before)
        super()._train(part, begun, calibrate, progressive, threads)

    def _mix(self, outputs: np.ndarray, part: Examples, calibrate: bool, progressive: Progressive) -> None:
        state, rows = self.state, part.block(0, len(part))
        labels, weight, shares, seen = rows.labels, rows.weights(), np.zeros((rows.n, WINDOWS)), self.n_seen
        if self._trust is not None:
            means, by_class = self._trust
            trust = np.maximum(np.take_along_axis(by_class, labels[:, None], axis=1)[:, 0], LEAST_TRUST)
            weight = weight * trust
            outputs = outputs if self._outputs == 1 else _with_late(outputs, means, _of_late(by_class))
        kept = [] if calibrate else [state[name] for name in (WEIGHTS, SHARE, OWN, HESSIAN, ROWS)]
        scores = state[CONFORMAL] if calibrate else None
        before, lasting = [array.copy() for array in kept], self._lasting_members if calibrate else None
        _core.mixture_learn(
            state[WEIGHTS], state[SHARE], state[OWN], state[HESSIAN], state[ROWS], state[COUNTERS], outputs, labels,
            weight, progressive.log_loss, shares, scores, lasting, progressive.scores,
        )  # fmt: skip
        for array, values in zip(kept, before, strict=True):
            array[...] = values
        if calibrate:
            self._follow(shares, weight, seen)

    # --- prediction -----------------------------------------------------------------------------------------------

    def logits(self, X: _core.Matrix) -> np.ndarray:
        """Return the members' calibrated scores, shape (members, n, columns)."""
        return self._scores(X)[0]

    def _scores(self, X: _core.Matrix, uncertain: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the members' calibrated scores, and if ``uncertain`` their standard deviations."""
        shape = len(self.members), X.shape[0], self._outputs
        logits, deviations = np.zeros(shape), np.zeros(shape if uncertain else 0)

        def fill(k: int, seen: _core.Matrix, rows: slice) -> None:
            logits[k, rows] = self.members[k].logits_of(seen)
            if uncertain:
                deviations[k, rows] = self.members[k].logit_deviations_of(seen)

        self._ask(X, fill, None if uncertain else logits)
        logits = np.minimum(np.maximum(logits, -_core.max_logit), _core.max_logit)
        if (trust := self.trust) is not None:
            logits = _with_late(logits, trust.means, np.broadcast_to(trust.by_class, logits.shape[1:]))
            deviations = deviations * trust.by_class if uncertain else deviations
        return logits, deviations

    @property
    def _class_means(self) -> tuple[int, ClassMeans] | None:
        """The member that has the means of classes, and its number."""
        return next(((k, own) for k, own in enumerate(self.members) if isinstance(own, ClassMeans)), None)

    @property
    def trust(self) -> Trust | None:
        """How far members are trusted about late classes; None if there are none."""
        found = None if self._outputs == 1 else self._class_means
        if found is None or not found[1].may_have_late:
            return None
        trust = _of_late(found[1].trust)
        return Trust(found[0], trust) if (trust < 1.0).any() else None

    def _mixed(self, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum over the members: for two classes, shape (n,), otherwise (n, n_classes)."""
        mixed: np.ndarray = np.einsum("g,gnk->nk", weights, scores)
        return mixed[:, 0] if self.n_classes <= 2 else mixed

    def decision(self, X: _core.Matrix) -> np.ndarray:
        """Return the mixed scores: for two classes, shape (n,), the logarithm of the odds; otherwise (n, n_classes)."""
        return self._mixed(self.logits(X), self.state[WEIGHTS])

    def _probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Return the probabilities of mixed scores."""
        return sigmoid(decision) if decision.ndim == 1 else softmax(decision)

    def probabilities(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Return the probability of every class, shape (n, n_classes)."""
        return self.decision_and_probabilities(X, method)[1]

    def decision_and_probabilities(
        self, X: _core.Matrix, method: str | None = "progressive"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`decision` and :meth:`probabilities` of the same scores."""
        decision = self.decision(X)
        return decision, self._probabilities(decision)

    def predict(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Return class numbers, shape (n,): the most probable classes; a stack has one ``method`` of probabilities."""
        return self.decided(self.decision(X), None)

    def shift(self, offset: float) -> None:
        """Add to the log-odds of the second of two classes, by the offsets of all members."""
        total = float(self.state[WEIGHTS].sum())
        if abs(total) < LEAST_WEIGHT:
            return
        for member in self.members:
            member.shift(offset / total)

    def _conformity(self, X: _core.Matrix) -> np.ndarray | None:
        if self.task.multilabel:
            return None
        return self.conformal.conformity(self.probabilities(X))

    def decided(self, scores: np.ndarray | None, probabilities: np.ndarray | None) -> np.ndarray:
        """Return the numbers of the most probable classes by their scores."""
        assert scores is not None  # as decides_by_probability says
        return predicted_numbers(scores)

    def margin_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return the mixed scores, and an upper bound of their variance under the members' Gaussians.

        The standard deviation of a sum is at most the sum of the standard deviations, |w_g| a_g sd_g, whatever their
        correlations. Naive Bayes has no variance.
        """
        weights = self.state[WEIGHTS]
        logits, deviations = self._scores(X, uncertain=True)
        return self._mixed(logits, weights), self._mixed(deviations, np.abs(weights)) ** 2

    def top_margins(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and bound of the variance of the margin between each row's two best classes, shape (n,)."""
        return self._top_margins(*self.margin_distribution(X))

    def _top_margins(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if mean.ndim == 1:
            return mean, variance
        best = np.argsort(-mean, axis=1, kind="stable")[:, :2]
        first, second = np.take_along_axis(mean, best, axis=1).T
        one, other = np.sqrt(np.take_along_axis(variance, best, axis=1)).T
        return first - second, (one + other) ** 2

    def margins_and_probabilities(
        self, X: _core.Matrix, method: str | None = "progressive"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return :meth:`top_margins` and :meth:`probabilities` of the same scores, in half the time of both."""
        mean, variance = self.margin_distribution(X)
        return *self._top_margins(mean, variance), self._probabilities(mean)

    def disagreement(self, X: _core.Matrix) -> np.ndarray:
        """Return the Jensen-Shannon divergence of the members' probabilities, shape (n,), from 0 to log(members)."""
        logits = self.logits(X)
        if logits.shape[2] == 1:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=2)
        return divergence(np.stack([softmax(of_member) for of_member in logits]))

    # --- its members' worth ---------------------------------------------------------------------------------------

    def removal_costs(self) -> np.ndarray:
        """Return the nats per row that the mixture would lose without each member, by the longest window.

        To second order, a weight of 0 instead of w_g costs w_g^2 / (2 C_gg), with C = (H + tau I)^-1, if the others
        follow (LeCun, Denker & Solla 1990; Hassibi & Stork 1993), over the rows of which H is the sum. Early on, their
        weights grow linearly: they count half.
        """
        weights = self.state[OWN][..., -1, :]
        variances = self._weight_covariances()[..., -1, :, :].diagonal(axis1=-2, axis2=-1)
        rows = np.minimum(self.state[ROWS] / 2.0, _core.longest_memory)[:, None]
        return (weights**2 / (2.0 * variances * rows)).sum(axis=0)

    @property
    def at_stake(self) -> float:
        if self.task.multilabel:  # of which the costs of all labels are added
            return 1.0
        bits: np.ndarray = _entropy(self.conformal.shares) / np.log(2.0)
        return min(float(bits), 1.0)

    def _without(self, k: int) -> State:
        covariances, own = self._weight_covariances(), self.state[OWN]
        follow = (own[..., k] / covariances[..., k, k])[..., None] * covariances[..., :, k]
        own = np.delete(own - follow, k, axis=-1)
        hessian = np.ascontiguousarray(np.delete(np.delete(self.state[HESSIAN], k, axis=-2), k, axis=-1))
        weights = (self.state[SHARE][..., None, :] @ own)[..., 0, :]
        return self.state | {OWN: np.ascontiguousarray(own), HESSIAN: hessian, WEIGHTS: weights}

    def _take_mean(self, weights: np.ndarray) -> None:
        own = self.state[OWN].copy()
        own[-1] = weights
        self.state = self.state | {OWN: own, WEIGHTS: weights}

    def _with_copy(self, k: int, at: int) -> State:
        own = np.insert(self.state[OWN], at, 0.0, axis=-1)
        weights = np.insert(self.state[WEIGHTS], at, 0.0, axis=-1)
        return {OWN: own, WEIGHTS: weights, HESSIAN: with_copy(self.state[HESSIAN], k, at, (-2, -1))}

    def _woken(self) -> State:
        own, hessian = self.state[OWN].copy(), self.state[HESSIAN].copy()
        rows = np.minimum(self.state[ROWS][..., None], WINDOW_ROWS)
        part = np.divide(rows, rows[..., -1:], out=np.ones_like(rows), where=rows[..., -1:] > 0)
        own[...] = own[..., -1:, :]
        hessian[...] = hessian[..., -1:, :, :] * part.reshape(*hessian.shape[:-2], 1, 1)
        return {OWN: own, HESSIAN: hessian}

    def _weight_covariances(self) -> np.ndarray:
        """Return the covariance of the members' weights in each window, shape (windows, members, members)."""
        return np.linalg.inv(self.state[HESSIAN] + _core.weight_precision * np.eye(len(self.members)))

    def weight_deviations(self) -> np.ndarray:
        """Return the standard deviations of the members' weights, shape (members,).

        The covariance in a window is (H + tau I)^-1, that of the Gaussian with the curvature of the log-loss over the
        rows that still count, and of the damping. The weights have the mean variance of the windows, by their shares,
        and that of the windows' weights around their mean.
        """
        state = self.state
        variances = self._weight_covariances().diagonal(axis1=-2, axis2=-1)
        variances = variances + (state[OWN] - state[WEIGHTS][..., None, :]) ** 2
        return np.sqrt((state[SHARE][..., None, :] @ variances)[..., 0, :])


def _of_late(trust: np.ndarray) -> np.ndarray:
    """Return the trust in members about classes; classes without rows are not late, and score as they always do."""
    return np.where(trust > 0.0, trust, 1.0)


def _with_late(logits: np.ndarray, means: int, trust: np.ndarray) -> np.ndarray:
    """Return scores, shape (members, n, classes), where classes of rows are late those of little trust."""
    rows = (trust < 1.0).any(axis=1)
    if not rows.any():
        return logits
    log_p = logits[:, rows] - logits[:, rows].max(axis=2, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=2, keepdims=True))
    found, t = logits.copy(), trust[rows]
    found[:, rows] = np.maximum(t * log_p + (1.0 - t) * log_p[means], -_core.max_logit)
    return found


def divergence(p: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon divergence of the members' distributions, which are along the last axis."""
    return np.maximum(_entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0), 0.0)


def _entropy(p: np.ndarray) -> np.ndarray:
    """Return the entropy of distributions along the last axis."""
    return -(p * np.log(np.maximum(p, np.finfo(np.float64).tiny))).sum(axis=-1)
