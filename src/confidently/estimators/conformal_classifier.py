"""What classifiers promise about single predictions: sets of classes that have the true one, and answers withheld."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.class_order import ClassOrder
from ..data.warning import warn
from ..learner.learner import Learner
from ..rules.ranges import UNIT, check_number
from ..stack.stack import Stack
from ..tasks import conformal, prior_shift
from ..tasks.conformal import CONFORMAL, NO_ANSWERS, SEVERAL_LABELS, ConformalSets
from .conformal import ConformalEstimator
from .rows import Labels

AnyClasses = TypeVar("AnyClasses", bound=Learner | Stack)


class ConformalClassifier(ConformalEstimator[AnyClasses]):
    """Base of the classifiers, as far as it makes sets of classes and withholds answers."""

    _class_order: ClassOrder

    def predict_proba(self, X: Any, shares: Any = None) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (n, n_classes)."""
        raise NotImplementedError

    def predict_set(self, X: Any, coverage: float = 0.9, *, by_class: bool = True) -> NDArray[np.bool_]:
        """Return sets of classes that have the true one with a probability of ``coverage``.

        The score of class k is s_k = log(p_k / (1 - p_k)) - log(q_k / (1 - q_k)), where q_k is the share of the class
        in the rows so far. Every row scored its true class in training before it was used, and the set is
        ``{k : (#{S_i <= s_k} + 1)/(n + 1) > 1 - coverage}`` with S_1, ..., S_n the scores of rows of class k. Classes
        of which fewer than 30 rows count, or, by steps, one and a half times the 1/(1 - coverage) - 1 that a level
        needs (above .952 49, above .970 99, ...), are compared with the rows of all such classes together: what is
        promised is then their coverage together. Sets are nested: they have all classes of those of the steps below.
        Without ``by_class``, rows of any class are compared, by log(p_k / (1 - p_k)). Later rows count more, and
        1 - coverage is corrected by what training has missed of late.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        coverage : float
            The probability, in (0, 1).
        by_class : bool
            Whether rows of each class are covered so often. Without, rows of all classes together are, with smaller
            sets, and those of rare or difficult classes less often.

        Returns
        -------
        ndarray of bool, shape (n, n_classes)
            Which of ``classes_`` are in the set of each row; perhaps none, perhaps all. In multilabel data the labels
            that cannot be excluded: each relevant label is in the set with a probability of ``coverage``.

        Raises
        ------
        ValueError, TypeError
            For another ``coverage``; with ``calibration=None``, which learns no scores; for rows without the column
            ``coverage_by``.

        Warns
        -----
        confidently.data.DataWarning
            If fewer rows count than 1/(1 - coverage) - 1, of a class and of all rare classes together, or of a value of
            ``coverage_by`` and of all rare values together; these classes, or all, are then in every set.
            If single rows move the weights also after many, as those of "pa1" and other rules, and these are not
            averaged (see the parameter ``average``): sets may then cover less.

        Notes
        -----
        The probability is that of rows in random order with those of training, however wrong the model is. If the order
        matters, the part of the rows of training whose set, made before the row was used, had their class is close to
        ``coverage`` in the long run, whatever comes. ``alarms_`` counts drift alarms.
        With ``coverage_by``, the rows compared are those with the same value in that column, or with any value of which
        fewer than 9 rows count, above .9 fewer than 19, above .95 49, and so on. Where labels come late,
        ``partial_fit`` may be told what was ``predicted``; 1 - coverage is then not corrected.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.model_selection import train_test_split
        >>> from confidently import OnlineClassifier
        >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
        >>> model = OnlineClassifier().fit(X, y)
        >>> found = model.predict_set(X_new, coverage=0.99)
        >>> float(found[range(450), y_new].mean().round(2)), float(found.sum(axis=1).mean().round(2))
        (1.0, 1.77)

        References
        ----------
        Vovk, Gammerman & Shafer, Algorithmic Learning in a Random World, 2nd ed., Springer 2022. Gibbs & Candes,
        Adaptive conformal inference under distribution shift, NeurIPS 2021; Conformal inference for online prediction
        with arbitrary distribution shifts, JMLR 2024.
        """
        check_number("predict_set", "coverage", coverage, UNIT)
        learned = self._calibrated("predict_set")
        self._warn_of_doubt("predict_set")
        matrix, values = self._matrix_and_values(X)
        if text := learned.warning(coverage, by_class, values):
            warn(f"predict_set: {text}")
        return self._sets(matrix, self._learner_for(matrix), values, coverage, by_class)

    def _sets(
        self, matrix: Any, learner: AnyClasses, values: list[str] | None, coverage: float, by_class: bool
    ) -> NDArray[np.bool_]:
        sets = learner.conformal.sets(learner.probabilities(matrix), coverage, by_class, values)
        return self._class_order.columns(sets)

    def _calibrated(self, method: str) -> ConformalSets:
        """Return what was learned of the scores of true classes."""
        self._check_calibrated(method)
        return self.learner_.conformal

    def abstain(self, X: Any, risk: float = 0.01) -> NDArray[np.bool_]:
        """Return which rows to leave unanswered, so that at most a fraction ``risk`` of the answers is wrong.

        A row is answered if max_k p_k >= t. Training counted the mistakes of the answers above each t, made before the
        row was used; from the strictest t on each is tested, and t is the last one at which so few mistakes had a
        probability of at most .01, were the error larger than ``risk``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        risk : float
            The fraction, in (0, 1).

        Returns
        -------
        ndarray of bool, shape (n,)
            True where :meth:`predict` should not be relied on.

        Raises
        ------
        ValueError, TypeError
            For another ``risk``; with ``calibration=None``; for multilabel data, whose answers are not right or wrong
            as a whole: :meth:`predict_set` bounds what each label misses.

        Warns
        -----
        confidently.data.DataWarning
            If no answers are known to be wrong that rarely; all rows are then left unanswered. Without a mistake, it
            takes log(.01)/log(1 - risk) answers, 459 for a risk of .01.

        Notes
        -----
        If rows come in random order, the error among the answers is above ``risk`` with a probability of about .01.
        Where data change it is not bounded; see ``alarms_``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.model_selection import train_test_split
        >>> from confidently import OnlineClassifier
        >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
        >>> model = OnlineClassifier().fit(X, y)
        >>> answered, wrong = ~model.abstain(X_new, risk=0.02), model.predict(X_new) != y_new
        >>> float(answered.mean().round(2)), float(wrong.mean().round(3)), float(wrong[answered].mean().round(3))
        (0.84, 0.047, 0.008)

        References
        ----------
        Bauer, Multiple testing in clinical trials, Statistics in Medicine 10, 1991 (fixed sequences). Angelopoulos,
        Bates, Candes, Jordan & Lei, Learn then test, Annals of Applied Statistics 19, 2025.
        """
        least = self._least_probability(risk)
        return self.predict_proba(X).max(axis=1) < least

    def _least_probability(self, risk: float) -> float:
        """Return the probability from which on rows are answered; warn if no row is."""
        check_number("abstain", "risk", risk, UNIT)
        learned = self._calibrated("abstain")
        if self._is_multilabel:
            raise ValueError(f"abstain: {SEVERAL_LABELS}")
        least = learned.least_probability(risk)
        self._warn_of_doubt("abstain")
        if least > 1.0:
            warn(f"abstain: every row is left unanswered: {NO_ANSWERS.format(risk)}")
        return least

    def _warn_of_doubt(self, method: str) -> None:
        """Warn if what is said of single predictions promises nothing."""
        if text := self.learner_.doubt:
            warn(f"{method}: {text}")

    # --- other shares of classes ---------------------------------------------------------------------------------

    def class_shares(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the classes among rows without labels, shape (n_classes,).

        They are those under which the rows are most likely, if rows of each class are as in training and only their
        shares differ: pi' maximizes sum_i log sum_k p_ik pi'_k / pi_k, where pi are the shares in training.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Rows of one time or place; some hundred.

        Returns
        -------
        ndarray of shape (n_classes,)
            Shares of ``classes_``, which add up to 1. A class without rows in training has the share 0.

        Raises
        ------
        ValueError
            For multilabel data; with ``calibration=None``, which counts no classes.

        Notes
        -----
        ``predict_proba(X, shares)`` takes them. Sets of :meth:`predict_set`, which are by class, cover as before: what
        they promise of the rows of a class does not depend on its share.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from confidently import OnlineClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = OnlineClassifier().fit(X[:900], y[:900])
        >>> rare = np.arange(900, 1797)[(y[900:] > 4) | (np.arange(897) % 10 == 0)]  # few digits up to 4
        >>> print(model.class_shares(X[rare])[:5].sum().round(2), np.mean(y[rare] < 5).round(2))
        0.12 0.1

        References
        ----------
        Saerens, Latinne & Decaestecker, Adjusting the outputs of a classifier to new a priori probabilities, Neural
        Computation 14, 2002.
        """
        return prior_shift.shares(self.predict_proba(X), self._own_shares("class_shares"))

    def _own_shares(self, method: str) -> NDArray[np.float64]:
        """Return the shares of the classes in training."""
        learned = self._calibrated(method)
        if self._is_multilabel:
            raise ValueError(
                f"{method}: rows have several labels, each with a probability of its own; shares are of classes"
            )
        known = np.pad(learned.shares, (0, self.learner_.n_classes - learned.classes))
        return self._class_order.columns(known)

    def _shifted(self, p: NDArray[np.float64], shares: Any) -> NDArray[np.float64]:
        """Return probabilities of rows whose classes have other shares than in training."""
        own, given = self._own_shares("predict_proba"), np.asarray(shares, dtype=np.float64)
        if given.shape != own.shape:
            raise ValueError(f"shares must have one number per class, shape {own.shape}, got shape {given.shape}")
        if not (given >= 0.0).all() or not np.isclose(given.sum(), 1.0, atol=1e-6):
            raise ValueError(f"shares must be at least 0 and add up to 1, got {given.tolist()}")
        return prior_shift.corrected(p, given, own)

    # --- labels that come late -----------------------------------------------------------------------------------

    def _late(self, predicted: Any, n: int) -> np.ndarray:
        known = self._calibrated("partial_fit").classes
        p = np.asarray(predicted, dtype=np.float64)
        if p.shape != (n, known):
            raise ValueError(
                f"predicted must have a row per row of X and a column per class that was known, shape ({n}, {known}), "
                f"got shape {p.shape}; classes that were added since it was predicted have probability 0"
            )
        if not ((p >= 0.0) & (p <= 1.0)).all():
            raise ValueError("predicted must be probabilities, from 0 to 1")
        return p[:, np.argsort(self._class_order.numbers)]

    def _run(self, X: Any, matrix: Any, labels: Labels, passes: int, shuffle: bool, partial: bool) -> None:
        if labels.predicted is None:
            return super()._run(X, matrix, labels, passes, shuffle, partial)
        before, groups = self.learner_.state[CONFORMAL].copy(), self.learner_.groups
        super()._run(X, matrix, labels, passes, shuffle, partial)
        learner, K = self.learner_, self.learner_.n_classes
        predicted = np.pad(labels.predicted, ((0, 0), (0, K - labels.predicted.shape[1])))
        start, weight = labels.options.get("label_start"), labels.weights()
        learned = conformal.learned_late(conformal.grown(before, K), predicted, labels.numbers, start, weight)
        learner.state = learner.state | {CONFORMAL: conformal.settled(learned)}
        if groups is not None:
            values = labels.options.get("values")
            if values is None:  # of the batches of a stream
                values = [value for batch in matrix for value in batch.kept[str(groups.column)]]
            learner.groups = groups.learned_late(values, predicted, labels.numbers, weight, start).settled()

    @property
    def _is_multilabel(self) -> bool:
        return self.learner_.task.multilabel
