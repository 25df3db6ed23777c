"""A stack: members that learn the same rows, each in its own view, and a mixture of their calibrated scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..arrays import predicted_numbers
from ..covariances.examples import Examples, Progressive
from ..covariances.state import COUNT, COUNTS, REAL, Shapes, State, check_within, within
from ..data.memory.matrix import check_rows, is_checked
from ..learner.calibration import inside, logistic, softmax
from ..learner.learner import Learner
from ..views.columns import Columns
from ..views.view import COUNTED, View
from .naive_bayes import NaiveBayes

if TYPE_CHECKING:
    from concurrent.futures import Executor

ROWS_PER_STRIDE = 2048  # of which all members' scores are kept until the mixture has learned them
ROWS_TO_CHOOSE = 1000  # from which members are chosen
WEIGHTS, HESSIAN, ROWS, COUNTERS = "mixture.weights", "mixture.hessian", "mixture.rows", "mixture.counters"
MAX_WEIGHT, MAX_HESSIAN = 1e6, 1e30
GAUSSIAN = "gaussian"  # the kind of members that are learners with a Gaussian

Member = Learner | NaiveBayes


class Recipe(NamedTuple):
    """How a member of a stack is made.

    Attributes
    ----------
    name : str
        What it is called.
    make : callable
        Returns an untrained member, from the numbers of classes and features and the columns.
    multiclass : str, optional
        What a learner of two classes becomes when a third appears; by default the task of its rule.
    """

    name: str
    make: Callable[[int, int, Columns], Member]
    multiclass: str | None = None


class Stack:
    """Several learners on the same rows; their calibrated scores are mixed by weights learned online.

    With l_gk the calibrated score of class k by member g, before the label is used (two classes: the logarithm of the
    odds), P(k) is proportional to exp(sum_g w_g l_gk). The weights begin at 1/G, the mean of G members, and follow the
    gradient of the log-loss by damped Newton steps::

        H <- kappa H + Cov_p(l),    w <- w + (H + tau I)^-1 (l_y - sum_k p_k l_k)

    where kappa = 1 - 1/min(t + 2, 5000) forgets early rows, on which members were worse, tau = 1/.3^2, and a step whose
    largest part exceeds .5 is shortened. A weight may become negative. Then every member learns the row and calibrates
    itself.

    Parameters
    ----------
    recipes : sequence of Recipe, optional
        The members; by default ``choose`` says which.
    choose : callable, optional
        Returns the recipes, from the first rows and the columns.
    n_classes, n_features : int
        Both may grow later.
    columns : Columns, optional
        What is known about the features.
    dtype : {"float64", "float32"}
        Type of the members' states.

    Attributes
    ----------
    members : list of Learner or NaiveBayes
        Empty until :meth:`prepare` has chosen them.
    names : list of str
    multiclass : list of str or None
        What each member becomes when a third class appears.
    state : dict of arrays
        The mixture's own.
    """

    view = None

    def __init__(
        self, recipes: Sequence[Recipe] = (), choose: Callable[[_core.Matrix, Columns], list[Recipe]] | None = None,
        n_classes: int = 2, n_features: int = 0, columns: Columns | None = None, dtype: str = "float64",
    ) -> None:  # fmt: skip
        self.n_classes, self.n_features, self.dtype, self._choose = n_classes, n_features, dtype, choose
        self._columns = Columns.alike(n_features) if columns is None else columns
        self.members: list[Member] = []
        self.names: list[str] = []
        self.multiclass: list[str | None] = []
        self.state: State = {}
        if recipes:
            self._take(recipes)

    def _take(self, recipes: Sequence[Recipe]) -> None:
        n = len(recipes)
        self.members = [recipe.make(self.n_classes, self.n_features, self._columns) for recipe in recipes]
        self.names, self.multiclass = [recipe.name for recipe in recipes], [recipe.multiclass for recipe in recipes]
        self.state = {
            WEIGHTS: np.full(n, 1.0 / n),
            HESSIAN: np.zeros((n, n)),
            ROWS: np.zeros(1),
            COUNTERS: np.zeros(2, dtype=COUNT),
        }

    def __copy__(self) -> Stack:
        """Return a stack that may grow and learn features without this one."""
        new = object.__new__(Stack)
        vars(new).update(vars(self))
        new.members, new.state = [copy(member) for member in self.members], dict(self.state)
        for member in new.members:
            member.state = dict(member.state)
        return new

    # --- what a stream asks ---------------------------------------------------------------------------------------

    @property
    def rows_to_prepare(self) -> int:
        """The number of first rows that :meth:`prepare` wants to see together; 0 if none."""
        return 0 if self.members else ROWS_TO_CHOOSE

    @property
    def task(self) -> str:
        """Whether there are two classes or more."""
        return "binary" if self.n_classes <= 2 else "joint"

    @property
    def multilabel(self) -> bool:
        """Whether a row has any number of labels: never."""
        return False

    @property
    def by_products(self) -> bool:
        """Whether a member may learn rows together, by products of matrices."""
        return any(member.by_products for member in self.members if isinstance(member, Learner))

    @property
    def begins_classes(self) -> bool:
        """Whether classes may begin within a call of :meth:`learn`."""
        return False

    @property
    def bytes_per_feature(self) -> int:
        """Bytes that a feature takes."""
        return sum(
            member.bytes_per_feature if isinstance(member, Learner) else 8 * member.n_classes for member in self.members
        )

    @property
    def wants_columns(self) -> bool:
        """Whether :meth:`grow` is to be told what the columns are."""
        return True

    def sizes(self) -> np.ndarray:
        """Return the largest absolute weight of every feature in any member."""
        sizes = [member.sizes() for member in self.members if isinstance(member, Learner)]
        found: np.ndarray = np.max(sizes, axis=0, initial=0.0) if sizes else np.zeros(self.n_features)
        return found

    def prepare(self, X: _core.Matrix) -> None:
        """Choose the members by the first rows, if that is to be done."""
        if not self.members:
            assert self._choose is not None
            check_rows(X, self.dtype)
            self._take(self._choose(X, self._columns))

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        """Make room for more features or classes; smaller numbers change nothing."""
        more = max(n_features - self.n_features, 0)
        known = Columns.alike(more) if columns is None else columns
        for member, own in zip(self.members, self.multiclass, strict=True):
            member.grow(n_features, n_classes, own, known)
        if not self.members:
            self._columns = self._columns.joined(known) if more else self._columns
        self.n_features, self.n_classes = self.n_features + more, max(n_classes, self.n_classes)

    # --- learning -------------------------------------------------------------------------------------------------

    def learn(
        self,
        X: _core.Matrix,
        labels: np.ndarray,
        label_start: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        class_weight: np.ndarray | None = None,
        order: np.ndarray | None = None,
        class_start: np.ndarray | None = None,
        calibrate: bool = True,
        log_loss: np.ndarray | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Train on rows, one after the other; the arguments are those of :class:`confidently.learner.learner.Learner`.

        Without ``calibrate``, the members learn and mistakes are counted, but neither calibrations nor weights change.

        Raises
        ------
        ValueError
            For invalid rows, labels and weights, and for lists of labels; the stack is then unchanged.
        """
        if label_start is not None:
            raise ValueError("a stack learns one class per row, got lists of labels")
        if not is_checked(X, self.dtype):
            check_rows(X, self.dtype)
        examples = Examples(X, labels, None, weight, class_weight, order, class_start)
        before = {name: array.copy() for name, array in self.state.items()}
        cost = None if log_loss is None else log_loss.copy()
        try:
            with ExitStack() as stack:
                begun = [stack.enter_context(member.begin(examples)) for member in self.members]
                # left first, so that no thread still trains when an error or an interruption is undone
                pool = stack.enter_context(_threads_for(len(self._groups()), len(examples)))
                for first in range(0, len(examples), ROWS_PER_STRIDE):
                    last = min(first + ROWS_PER_STRIDE, len(examples))
                    self._train(examples.part(first, last), begun, calibrate, log_loss, pool)
                    if progress is not None:
                        progress(last)
        except BaseException:
            self.state = before
            if log_loss is not None and cost is not None:
                log_loss[...] = cost
            raise

    def _train(
        self, part: Examples, begun: list[Any], calibrate: bool, log_loss: np.ndarray | None, pool: Executor
    ) -> None:
        columns = 1 if self.n_classes <= 2 else self.n_classes
        logits = np.zeros((len(self.members), len(part), columns))
        kept = [] if calibrate else [self.state[WEIGHTS], self.state[HESSIAN], self.state[ROWS]]
        kept += [] if calibrate else [member.state["calibration"] for member in self.members]
        before = [array.copy() for array in kept]
        trained = [pool.submit(self._train_group, *group, part, begun, logits) for group in self._groups()]
        from concurrent.futures import wait  # imported here, as in _threads_for

        wait(trained)  # for all of them, before one that failed is undone
        for one in trained:
            one.result()
        state, labels = self.state, np.ascontiguousarray(part.labels[part.order])
        _core.mixture_learn(
            state[WEIGHTS], state[HESSIAN], state[ROWS], state[COUNTERS], logits, labels, _weights(part, labels),
            log_loss,
        )  # fmt: skip
        for array, values in zip(kept, before, strict=True):
            array[...] = values

    def _groups(self) -> list[tuple[View | None, list[int]]]:
        """Return the numbers of the members, those with the same view together."""
        groups: dict[View, list[int]] = {}
        alone: list[tuple[View | None, list[int]]] = []
        for k, member in enumerate(self.members):
            if isinstance(member, Learner) and member.view is not None:
                groups.setdefault(member.view, []).append(k)
            else:
                alone.append((None, [k]))
        return [*groups.items(), *alone]

    def _train_group(
        self, view: View | None, group: list[int], part: Examples, begun: list[Any], logits: np.ndarray
    ) -> None:
        """Train members with the same view: the first makes the rows, and all keep the same arrays of the view."""
        if view is None:
            (k,) = group
            self.members[k].train(part, begun[k], True, Progressive(None, logits[k]))
            return
        learners = [member for k in group if isinstance(member := self.members[k], Learner)]
        for seen, first, last in learners[0].seen(part, begun[group[0]]):
            arrays = view.arrays(learners[0].state)
            for k, learner in zip(group, learners, strict=True):
                learner.take_view(arrays, begun[k])
                learner.train_seen(seen, begun[k], True, Progressive(None, logits[k]).block(first, last))

    # --- prediction -----------------------------------------------------------------------------------------------

    def logits(self, X: _core.Matrix) -> np.ndarray:
        """Return the members' calibrated scores, shape (members, n, columns)."""
        return self._scores(X)[0]

    def _scores(self, X: _core.Matrix, uncertain: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the members' calibrated scores, and if ``uncertain`` their standard deviations.

        Members with the same view are asked together, so that its rows are made once.
        """
        if not is_checked(X, self.dtype):
            check_rows(X, self.dtype)
        n, groups = X.shape[0], [group for _, group in self._groups()]
        shape = len(self.members), n, 1 if self.n_classes <= 2 else self.n_classes
        logits, deviations = np.zeros(shape), np.zeros(shape if uncertain else 0)

        def fill(group: list[int]) -> None:
            first = 0
            for seen in self.members[group[0]].seen_rows(X):
                last = first + seen.shape[0]
                for k in group:
                    logits[k, first:last] = self.members[k].logits_of(seen)
                    if uncertain:
                        deviations[k, first:last] = self.members[k].logit_deviations_of(seen)
                first = last

        with _threads_for(len(groups), n) as pool:
            for filled in [pool.submit(fill, group) for group in groups]:
                filled.result()
        return logits.clip(-_core.max_logit, _core.max_logit), deviations

    def _mixed(self, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum over the members: for two classes, shape (n,), otherwise (n, n_classes)."""
        mixed: np.ndarray = np.einsum("g,gnk->nk", weights, scores)
        return mixed[:, 0] if self.n_classes <= 2 else mixed

    def decision(self, X: _core.Matrix) -> np.ndarray:
        """Return the mixed scores: for two classes, shape (n,), the logarithm of the odds; otherwise (n, n_classes)."""
        return self._mixed(self.logits(X), self.state[WEIGHTS])

    def probabilities(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Return the probability of class 1, shape (n,), or with more classes of each, (n, n_classes)."""
        return _probabilities(self.decision(X))

    def predict(self, X: _core.Matrix) -> np.ndarray:
        """Return class numbers, shape (n,): the most probable classes."""
        return predicted_numbers(self.decision(X))

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
        return _top_margins(*self.margin_distribution(X))

    def margins_and_probabilities(
        self, X: _core.Matrix, method: str | None = "progressive"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return :meth:`top_margins` and :meth:`probabilities` of the same scores, in half the time of both."""
        mean, variance = self.margin_distribution(X)
        return *_top_margins(mean, variance), _probabilities(mean)

    def disagreement(self, X: _core.Matrix) -> np.ndarray:
        """Return the Jensen-Shannon divergence of the members' probabilities, shape (n,), from 0 to log(members)."""
        logits = self.logits(X)
        if logits.shape[2] == 1:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=2)
        p = np.stack([softmax(of_member) for of_member in logits])
        divergence: np.ndarray = np.maximum(_entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0), 0.0)
        return divergence

    def weight_deviations(self) -> np.ndarray:
        """Return the standard deviations of the members' weights, shape (members,).

        The covariance is (H + tau I)^-1, that of the Gaussian with the curvature of the log-loss over the rows that
        still count, and of the damping.
        """
        hessian = self.state[HESSIAN]
        covariance = np.linalg.inv(hessian + _core.weight_precision * np.eye(len(hessian)))
        deviations: np.ndarray = np.sqrt(np.diag(covariance))
        return deviations

    # --- counts ---------------------------------------------------------------------------------------------------

    @property
    def n_seen(self) -> int:
        """Rows trained on, in all passes."""
        return int(self.state[COUNTERS][0]) if self.state else 0

    @property
    def mistakes(self) -> int:
        """Progressive mistakes of the mixture: rows whose class was not the most probable before training on them."""
        return int(self.state[COUNTERS][1]) if self.state else 0

    @property
    def updates(self) -> int:
        """Number of updates of all members' Gaussians."""
        return sum(member.updates for member in self.members if isinstance(member, Learner))

    @property
    def infeasible(self) -> int:
        """No member's rule has examples that it cannot satisfy."""
        return 0

    # --- as plain data --------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        members = [
            {"name": name, "multiclass": multiclass, **_header(member)}
            for name, multiclass, member in zip(self.names, self.multiclass, self.members, strict=True)
        ]
        sizes = {"n_classes": self.n_classes, "n_features": self.n_features}
        return {"settings": {"dtype": self.dtype}, **sizes, "members": members}

    @classmethod
    def of(
        cls, members: list[Member], names: list[str], multiclass: list[str | None], n_classes: int, n_features: int,
        dtype: str, state: State,
    ) -> Stack:  # fmt: skip
        """Return the stack of members that were trained before."""
        stack = cls(n_classes=n_classes, n_features=n_features, dtype=dtype)
        stack.members, stack.names, stack.multiclass, stack.state = members, names, multiclass, state
        return stack

    @staticmethod
    def shapes(members: int) -> Shapes:
        """Return shape and type of the mixture's arrays."""
        square = (members, members)
        return {WEIGHTS: ((members,), REAL), HESSIAN: (square, REAL), ROWS: ((1,), REAL), COUNTERS: ((2,), COUNT)}

    def check_values(self) -> None:
        """Raise ``ValueError`` unless the mixture's numbers are those that a file may hold."""
        check_within(WEIGHTS, self.state[WEIGHTS], within(MAX_WEIGHT))
        check_within(HESSIAN, self.state[HESSIAN], within(MAX_HESSIAN))
        check_within(ROWS, self.state[ROWS], COUNTED)
        check_within(COUNTERS, self.state[COUNTERS], COUNTS)


def parts_of(learner: Learner | Stack) -> list[Member | Stack]:
    """Return what has a state: the learner, or the members of a stack and the stack itself."""
    return [*learner.members, learner] if isinstance(learner, Stack) else [learner]


def _threads_for(groups: int, rows: int) -> Executor:
    from .threads import threads_for  # imported here since models of one learner start faster without

    return threads_for(groups, rows)


def _probabilities(decision: np.ndarray) -> np.ndarray:
    return inside(logistic(decision)) if decision.ndim == 1 else softmax(decision)


def _top_margins(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if mean.ndim == 1:
        return mean, variance
    best = np.argsort(-mean, axis=1, kind="stable")[:, :2]
    first, second = np.take_along_axis(mean, best, axis=1).T
    one, other = np.sqrt(np.take_along_axis(variance, best, axis=1)).T
    return first - second, (one + other) ** 2


def _entropy(p: np.ndarray) -> np.ndarray:
    """Return the entropy of distributions along the last axis."""
    entropy: np.ndarray = -(p * np.log(np.maximum(p, np.finfo(np.float64).tiny))).sum(axis=-1)
    return entropy


def _header(member: Member) -> dict[str, Any]:
    own = member.header()
    return {"kind": GAUSSIAN, **{name: own[name] for name in own if name not in ("n_classes", "n_features")}}


def _weights(part: Examples, labels: np.ndarray) -> np.ndarray | None:
    """Return the weights of rows in the order of training, those of their classes included."""
    weight = None if part.weight is None else part.weight[part.order]
    if part.class_weight is not None:
        by_class = part.class_weight[labels]
        weight = by_class if weight is None else weight * by_class
    return weight
