"""The predictions of a learner: scores, their Gaussian, probabilities and classes of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from .. import _core
from ..covariances.state import InvalidRows, Size, State
from ..data.memory.matrix import check_rows, is_checked, largest_value, refuse
from ..tasks import calibration, conformal, novelty, targets
from ..tasks.conformal import CONFORMAL
from ..tasks.novelty import VARIANCES
from ..tasks.targets import Prediction, Targets
from ..wording import counted
from .posterior import Posterior

ROWS_PER_VIEW = 1024  # transformed at a time, since a view may make a row many times as long
SCORES_AT_ONCE = 2**23  # of rows that are predicted together


def rows_at_once(n_classes: int) -> int:
    """Return how many rows to predict together, so that tables of the scores of all classes stay small."""
    return max(SCORES_AT_ONCE // max(n_classes, 1), 1)


class Predictor(Posterior):
    """A learner's Gaussian and view, applied to rows."""

    def decision(self, X: _core.Matrix) -> np.ndarray:
        """Return scores: for two classes, shape (n,), positive for class 1; otherwise (n, n_classes).

        Multilabel: positive means relevant; in the joint task the threshold's score is subtracted.
        """
        return self._of_seen(X, self._decision)

    def margin_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the scores under the Gaussian over weights, in the shape of :meth:`decision`."""
        return self._of_seen(X, self._margin_distribution)

    def probabilities(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Return the probability of every class or label, shape (n, n_classes)."""
        return self.decision_and_probabilities(X, method)[1]

    def decision_and_probabilities(
        self, X: _core.Matrix, method: str | None = "progressive"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`decision` and :meth:`probabilities` of the same scores."""
        return self._of_seen(X, lambda seen: self._with_probabilities(seen, method))

    def predict(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Return class numbers, shape (n,); multilabel: booleans, (n, n_classes).

        With a calibration the most probable classes, and the labels above :attr:`label_threshold`; otherwise those with
        the largest or a positive score.
        """
        if self.decides_by_probability(method):
            return self.decided(None, self.probabilities(X, method))
        if self.finds_best:
            return self._of_seen(X, lambda seen: self._checking(self.covariance.best, seen))
        return self.decided(self.decision(X), None)

    @property
    def finds_best(self) -> bool:
        """Whether :meth:`predict` needs no scores of all classes."""
        return self.task.several and self.covariance.finds_best

    def decides_by_probability(self, method: str | None) -> bool:
        """Whether decisions need probabilities; those about three or more classes are the same without."""
        return method is not None and self.task.decides_by_probability(self.state["calibration"])

    def decided(self, scores: np.ndarray | None, probabilities: np.ndarray | None) -> np.ndarray:
        """Return what :meth:`predict` does, by probabilities if they are given and otherwise by scores."""
        return self.task.decided(scores, probabilities, self.state["calibration"])

    @property
    def label_threshold(self) -> float | None:
        """The probability above which labels are predicted: half of the progressive F1; None before the first row."""
        return calibration.label_threshold(self.state["calibration"])

    @property
    def doubt(self) -> str | None:
        """Why sets and withheld answers promise nothing, as text; ``None``: they do."""
        rule = self.settings.rule
        if not rule.wanders or self.settings.average or not self.task.one_class:
            return None
        return (
            f"single rows move the weights of the rule {rule.name}, so what is known of earlier weights says little "
            "about the last ones; use average=True, or another rule, such as arow"
        )

    def renew(self, ratio: float) -> None:
        """Let what calibrates count less, since rows come that are scored by a better model: ``ratio`` per row so far.

        Where hundreds come, nothing from before them counts but the slopes, with which they begin.
        """
        if self.task.regression:
            return
        state = self.state
        part = conformal.part_to_keep(state[CONFORMAL], ratio)
        self.state = state | {
            "calibration": self.task.renewed_calibration(state["calibration"], part),
            CONFORMAL: conformal.renewed(state[CONFORMAL], part),
            VARIANCES: novelty.renewed(state[VARIANCES], part),
        }
        self.groups = None if self.groups is None else self.groups.renewed(ratio)

    def shift(self, offset: float) -> None:
        """Add to the log-odds of the second of two classes."""
        calibration = self.state["calibration"].copy()
        calibration[1] += offset
        self.state = self.state | {"calibration": calibration}

    def judged(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of rows that are calibrated, (n, columns) or (n, labels), and the variances of margins."""

        def judge(seen: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
            scores = self._moderated(seen)[1] if self.task.moderates else self._scores(seen)
            variance = self._top_margins(seen)[1]
            return self.task.by_output(scores) if self.task.multilabel else scores, variance.reshape(len(scores), -1)

        scores, variances = self._of_seen(X, judge)
        return np.ascontiguousarray(scores, np.float64), np.ascontiguousarray(variances.max(axis=1), np.float64)

    def apart(self) -> Self:
        """Return a copy that may learn without this one."""
        new = copy(self)
        new.state = {name: array.copy() for name, array in self.state.items()}
        return new

    def take_slopes(self, other: Self) -> None:
        """Calibrate with the slopes of another learner with the same task."""
        found = self.task.with_slopes(self.state["calibration"], other.state["calibration"])
        self.state = self.state | {"calibration": found}

    def novelty(self, X: _core.Matrix) -> np.ndarray:
        """Return the p-value of every row as one of those before, shape (n,)."""
        rarity: np.ndarray = self._of_seen(X, self.rarity_of)
        if self.task.multilabel or self.task.regression:
            return novelty.combined(None, [rarity], 0.0)
        conformity = self.conformal.conformity(self.probabilities(X))
        return novelty.combined(conformity, [rarity], novelty.rows(self.state[VARIANCES]))

    def rarity_of(self, seen: _core.Matrix) -> np.ndarray:
        """Return the part of the rows before with a margin as uncertain, of rows as the learner sees them, shape (n,).

        It is that between the two best classes, of the best label, or of the first number.
        """
        task, n = self.task, seen.shape[0]
        if task.several:
            variances = self._top_variances(seen, self._scores(seen))
        else:
            by_output = task.variances_by_output(self._variances(seen)).reshape(n, -1)
            if by_output.shape[1] == 0:
                return np.ones(n)
            best = task.by_output(self._scores(seen)).argmax(axis=1) if task.multilabel else 0
            variances = by_output[np.arange(n), best]
        return novelty.p_values(self.state[VARIANCES], variances)

    @property
    def targets(self) -> Targets:
        """What a regression knows about its targets."""
        return Targets.of(self.state["calibration"])

    def numbers(self, X: _core.Matrix) -> np.ndarray:
        """Return what a regression predicts, shape (n, K)."""
        return self._of_seen(X, self.numbers_of)

    def numbers_of(self, seen: _core.Matrix) -> np.ndarray:
        """Return what a regression predicts of rows as it sees them, shape (n, K)."""
        if self.settings.rule.counts:  # whose mean depends on the variance of the score
            return self.number_distribution_of(seen).mean
        targets = self.targets
        return targets.clipped(self._scores(seen) + self.task.offset(self.settings.rule, targets))

    def score_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the scores of a regression, without the offset, shape (n, K)."""
        return self._of_seen(X, self._score_distribution)

    def number_distribution(self, X: _core.Matrix) -> Prediction:
        """Return the predictive distributions of a regression."""
        parts = [self._sized(self.number_distribution_of(seen), seen) for seen in self.seen_rows(X, scored=True)]
        return parts[0] if len(parts) == 1 else Prediction(*map(np.concatenate, zip(*parts, strict=True)))

    def _sized(self, found: Prediction, seen: _core.Matrix) -> Prediction:
        """Return distributions with the size of the noise of rows."""
        return found._replace(size=self.conformal.sizes(found.centers, seen))

    def number_distribution_of(self, seen: _core.Matrix) -> Prediction:
        """Return the predictive distributions of a regression, of rows as it sees them."""
        return self.task.prediction(self.settings.rule, self.targets, *self._score_distribution(seen))

    def number_deviations(self, found: Prediction, calibrated: bool = True) -> np.ndarray:
        """Return the standard deviation of targets around predictions; uncalibrated, the model's, shape (n, K)."""
        return targets.standard_deviation(self.settings.rule, self.targets, found, calibrated)

    def interval_shortage(
        self, coverage: float, calibrated: bool = True, values: Sequence[str] | None = None
    ) -> str | None:
        """Return why limits of intervals are infinite, as text; None if they are not."""
        return self.conformal.shortage(self.targets, coverage, values) if calibrated else None

    def intervals(
        self, found: Prediction, coverage: float, calibrated: bool = True, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return the limits of central intervals around predictions; uncalibrated, the model's, shape (n, K, 2).

        ``values`` are those of the rows in the column by which intervals cover, if there is one.
        """
        errors = self.conformal.error_limits(self.targets, coverage, values) if calibrated else None
        return targets.interval(self.settings.rule, self.targets, found, coverage, errors)

    def variance_unit(self, calibrated: bool = True) -> np.ndarray:
        """Return the factor from variances of scores to squared units of what is predicted, shape (K,) or (1,)."""
        if not self.task.regression or self.settings.rule.counts:
            return np.ones(1)
        return targets.variance_factor(self.settings.rule, self.targets, calibrated)

    def top_margins(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the margin between each row's two best classes, shape (n,).

        For two classes and multilabel, they are those of :meth:`margin_distribution`.
        """
        return self._of_seen(X, self._top_margins)

    def margins_and_probabilities(
        self, X: _core.Matrix, method: str | None = "progressive"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return :meth:`top_margins` and :meth:`probabilities` of the same rows, which a view makes once."""
        return self._of_seen(X, lambda seen: (*self._top_margins(seen), self._with_probabilities(seen, method)[1]))

    def seen_rows(self, X: _core.Matrix, scored: bool = False) -> Iterator[_core.Matrix]:
        """Yield the rows as the learner sees them, some at a time.

        With ``scored`` scores are computed first, which may check the rows.

        Raises
        ------
        ValueError
            For invalid rows, unless they are known to be valid.
        """
        self.check_width(X)
        checked_later = scored and self.view is None and self.covariance.checks_rows
        if not checked_later and not is_checked(X, self.settings.dtype):
            check_rows(X, self.settings.dtype)
        if self.view is None:
            yield X
            return
        n = X.shape[0]
        for first in range(0, max(n, 1), ROWS_PER_VIEW):
            yield self.view.see(self.state, X, first, min(ROWS_PER_VIEW, n - first)).matrix(self.width)

    def _of_seen(self, X: _core.Matrix, f: Callable[[_core.Matrix], Any], scored: bool = True) -> Any:
        """Return what a function returns, an array or several, of the rows as the learner sees them."""
        found = [f(seen) for seen in self.seen_rows(X, scored)]
        if len(found) == 1:
            return found[0]
        if isinstance(found[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        return np.concatenate(found)

    # --- rows as the learner sees them -------------------------------------------------------------------------------

    def _decision(self, X: _core.Matrix) -> np.ndarray:
        return self.task.by_output(self._scores(X))

    def _margin_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        return self._decision(X), self.task.variances_by_output(self._variances(X))

    def _score_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        return self._scores(X), self._variances(X)

    def _with_probabilities(self, X: _core.Matrix, method: str | None) -> tuple[np.ndarray, np.ndarray]:
        task, state = self.task, self.state["calibration"]
        if method is None:  # of the rule's likelihood; without one, of a classifier drawn from the posterior
            decision, variances = self._decision(X), task.variances_by_output
            return decision, task.likely(
                decision, lambda: variances(self._variances(X)), self.settings.rule.score_noise()
            )
        if not task.moderates:
            decision = self._decision(X)
            return decision, task.probabilities(decision, state)
        decision, moderated = map(task.by_output, self._moderated(X))
        return decision, task.probabilities(moderated, state)

    @property
    def scores_rows(self) -> bool:
        """Whether the core scores a single row, its view included: :meth:`logits_of` or :meth:`numbers_of`."""
        counts = self.task.regression and self.settings.rule.counts
        return self.task.moderates and not counts and not self.covariance.keeps_examples

    def logits_of(self, X: _core.Matrix) -> np.ndarray:
        """Return the scores of rows as the learner sees them on the scale of log-odds, before the correction.

        Shape (n, 1), that of class 1; or with more classes (n, n_classes), the largest of which is 0; or (n, n_labels).
        """
        scores = self._moderated(X)[1] if self.task.moderates else self._scores(X)
        return self.task.logits(scores, self.state["calibration"])

    def logit_deviations_of(self, X: _core.Matrix) -> np.ndarray:
        """Return the standard deviations of :meth:`logits_of`, in its shape."""
        deviation = np.sqrt(self._margin_distribution(X)[1])
        return deviation.reshape(len(deviation), -1) * self._slopes(X)

    def slope(self, X: _core.Matrix, label: int = 0) -> float:
        """Return the factor from a score of a single row, that of a label if there are any, to :meth:`logits_of`."""
        factor: np.ndarray = self._of_seen(X, self._slopes, scored=False)
        return float(factor[0, label])

    def _slopes(self, X: _core.Matrix) -> np.ndarray:
        task = self.task
        variance = self._top_margins(X)[1] if task.several else task.variances_by_output(self._variances(X))
        shrunk = np.ones(variance.shape)
        if task.moderates:
            shrunk = calibration.moderated(shrunk, variance, self.settings.prior_variance)
        return shrunk.reshape(len(shrunk), -1) * task.slopes(self.state["calibration"])

    def _moderated(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores as they are and shrunk where they are uncertain, without a threshold: (n, columns) each."""
        if self.covariance.checks_rows:
            return self._checking(self.covariance.moderated, X)
        scores = self._scores(X)
        variance = self._top_variances(X, scores) if self.task.several else self._variances(X)
        return scores, calibration.moderated(scores, variance, self.settings.prior_variance)

    def _top_margins(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        if not self.task.several:
            return self._margin_distribution(X)
        scores = self._scores(X)
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        return first - second, self._top_variances(X, scores)

    def _scores(self, X: _core.Matrix) -> np.ndarray:
        if self.covariance.checks_rows:
            return self._checking(self.covariance.scores, X)
        state, size = self._reaching(X)
        return self.covariance.scores(state, X, size)

    def _variances(self, X: _core.Matrix) -> np.ndarray:
        state, size = self._reaching(X)
        return self.covariance.variances(state, X, size)

    def _top_variances(self, X: _core.Matrix, scores: np.ndarray) -> np.ndarray:
        state, size = self._reaching(X)
        return self.covariance.top_variances(state, X, scores, size)

    def _reaching(self, X: _core.Matrix) -> tuple[State, Size]:
        """Return state and size with all columns of rows, of which one may be for what the view has not seen before."""
        size = self.size
        if X.shape[1] <= size.n_features:
            return self.state, size
        wider = Size(X.shape[1], size.n_classes)
        return self.covariance.grown(self.state, size, wider)[1], wider

    def _checking(self, scores: Callable[..., Any], X: _core.Matrix) -> Any:
        """Return scores of rows, which are checked unless that was done before."""
        state, size = self._reaching(X)
        if is_checked(X, self.settings.dtype):
            return scores(state, X, size)
        largest = largest_value(self.settings.dtype)
        try:
            found = scores(state, X, size, largest)
        except InvalidRows as invalid:
            fault = invalid.fault
        else:
            X.checked = largest
            return found
        refuse(fault, X.shape[1], self.settings.dtype)
        raise AssertionError("a fault is refused")

    def check_width(self, X: _core.Matrix) -> None:
        """Raise ``ValueError`` if rows have more columns than there are features."""
        check_width(X, self.n_features)


def check_width(X: _core.Matrix, n_features: int) -> None:
    """Raise ``ValueError`` if rows have more columns than there are features."""
    if X.shape[1] > n_features:
        raise ValueError(
            f"X has {counted(X.shape[1], 'column')}, the learner {counted(n_features, 'feature')}; grow it first"
        )
