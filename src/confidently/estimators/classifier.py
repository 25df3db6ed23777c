"""scikit-learn's contract over the compiled learner."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.features import Features
from ..data.memory.frames import as_table, explained
from ..data.memory.labels import (
    check_class_weight,
    class_weights,
    example_weights,
    is_multilabel,
    known_classes,
    known_labels,
    label_sets,
    places,
    plain,
    plain_class_weight,
)
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..data.memory.unchanged import rollback_on_error
from ..learner.learner import Learner, check_choice
from ..models.model import Model
from ..rules import make_rule
from ..rules.rule import Rule
from .fitted_attributes import FittedAttributes
from .streams import StreamMethods

if TYPE_CHECKING:
    from onnx import ModelProto

    from .frozen import LinearPredictor

MULTICLASS = ("joint", "one-vs-rest")


class OnlineClassifier(FittedAttributes, StreamMethods, ClassifierMixin, BaseEstimator):
    """Online linear classifier that keeps a Gaussian over weight vectors.

    Every example (x, y) is asked for its margin m = y mean.x and the margin's variance v = x' Sigma x; the *rule*
    answers (alpha, zeta, scale), and the Gaussian moves::

        mean     <-  mean + alpha y Sigma x
        Sigma^-1 <-  (Sigma^-1 + zeta x x') / scale

    More than two classes, or sets of labels, are pairs of classes to be told apart by the same update.

    Parameters
    ----------
    rule : str or Rule, default="arow"
        How far to move: a name in ``confidently.RULES`` or a rule such as ``CWStdev(eta=0.9)``. Its parameters are
        reachable as ``rule__eta`` and the like.
    covariance : {"diag", "full", "shared", "kernel"}, default="diag"
        How Sigma is stored: a variance a weight; the covariances of all weights (of all classes, (K d)^2 numbers);
        one d x d matrix for all classes; or as coefficients of the examples learned, in the space of a kernel. Rules
        that gain no precision keep Sigma at its prior in each of them.
    prior_variance : float, default=1.0
        Variance of every weight, the intercept's too, before anything is seen; > 0.
    fit_intercept : bool, default=True
        Give every row a constant feature 1.
    multiclass : {"joint", "one-vs-rest"}, default="joint"
        With three or more classes: move the true class against its strongest rival, or keep a binary learner a class.
    passes : int, default=1
        How often :meth:`fit` goes over the rows.
    shuffle : bool, default=False
        Whether :meth:`fit` visits the rows in a new random order in each pass; with False, in the order given.
    average : bool, default=False
        Predict with the mean of the weights over all rows seen.
    class_weight : dict, "balanced" or None, default=None
        Factor to the weight of the examples of each class; not for sets of labels.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    min_variance : float, default=1e-12
        No variance counts as smaller than this share of the prior's; in [0, 1).
    dtype : {"float64", "float32"}, default="float64"
        Type of the state.
    calibration : {"progressive", None}, default="progressive"
        What :meth:`predict_proba` returns: probabilities of the label, calibrated by the stream itself, or the share
        of the posterior's classifiers that vote for it, Phi(m/sqrt(v)).
    block_size : int, optional
        Rows that a full or shared covariance learns at a time, by products of matrices. It changes the speed and not,
        beyond rounding, the result; the default follows the number of weights.
    device : str, optional
        Where those products are done: a device of PyTorch ("cpu", "cuda"), "cupy", or by default the BLAS of NumPy and
        SciPy.
    kernel : str or callable, default="rbf"
        With ``covariance="kernel"``: a name of ``sklearn.metrics.pairwise.pairwise_kernels``, or a function of two
        matrices that returns the kernel of their rows, shape (n, m).
    kernel_params : dict, optional
        The kernel's parameters; gamma, where there is one, is 1/n_features by default.
    budget : int, optional
        With ``covariance="kernel"``: most examples kept. Time and memory grow with the square of their number; beyond
        the budget those are dropped whose removal changes the mean least.
    forget : float, default=0.0
        Share of what is known beyond the prior that a row of weight 1 takes away again, in [0, 1): after every row
        Sigma^-1 <- (1 - forget) Sigma^-1 + forget Sigma_0^-1, with the mean as it is. For data that drift: about the
        last 1/forget rows count. With ``covariance="diag"`` only, under rules that gain precision.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; for sets of labels, the labels.
    coef_, variance_ : ndarray of shape (1 or n_classes, n_features)
        Mean and variance of the weights: one row for two classes, else one a class. For sets of labels, of each
        label's weights minus the calibration label's.
    intercept_, intercept_variance_ : ndarray of shape (1 or n_classes,)
        The same of the intercept.
    covariance_ : array
        Sigma, the intercept after the features, class after class, for sets of labels the calibration label first;
        sparse if diagonal; of shape (n_classes, d, d) for one-vs-rest with a full covariance.
    dual_coef_, support_vectors_ : arrays of shape (1 or n_classes, n_support) and (n_support, n_features)
        With a kernel, instead of all the above: the examples kept and their coefficients in each class's mean.
    n_seen_, mistakes_, updates_, infeasible_ : int
        Rows learned, in all passes; those whose margin was not positive before they were learned; moves of the
        Gaussian; examples no classifier in the ellipsoid could satisfy (``CELLIP`` only).
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        After learning from files: how their rows were read, and the names of features.

    Notes
    -----
    The order of rows matters, as in any online method: rows sorted by class are learned badly in one pass; set
    ``shuffle=True``. A weight w of an example multiplies its loss, and is not the same as w copies of the example.

    References
    ----------
    Crammer, Dredze & Pereira (NIPS 2008); Yang, Jin & Ye (ICML 2009); Shi & Zhu (ICML 2014); each rule names its own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), OnlineClassifier("arow"))
    >>> round(model.fit(X[:400], y[:400]).score(X[400:], y[400:]), 2)
    0.97
    """

    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        *,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        multiclass: str = "joint",
        passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        block_size: int | None = None,
        device: str | None = None,
        kernel: str | Callable[..., Any] = "rbf",
        kernel_params: dict[str, Any] | None = None,
        budget: int | None = None,
        forget: float = 0.0,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.passes = passes
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state
        self.min_variance = min_variance
        self.dtype = dtype
        self.calibration = calibration
        self.block_size = block_size
        self.device = device
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.budget = budget
        self.forget = forget

    # --- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Finite numbers.
        y : array of shape (n,), or indicator matrix of shape (n, n_labels)
            Classes (numbers or strings, two or more), or sets of labels.
        sample_weight : array of shape (n,), optional
            Weights >= 0; 0 is the same as leaving the row out.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For bad parameters or input; what was learned before stays as it was.
        """
        with rollback_on_error(self):
            for name in ("learner_", "classes_", "source_", "features_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn some more rows, once, in the order given.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array, optional
            All classes there may be. Needed at the first call unless ``y`` is an indicator matrix; later it may name
            new ones, which start at the prior.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For bad parameters or input, or classes never announced; what was learned stays as it was.
        """
        with rollback_on_error(self):
            return self._learn(X, y, classes, sample_weight, first=not hasattr(self, "learner_"), partial=True)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool, partial: bool = False) -> Self:
        self._check_settings(partial)
        X, y = self._validated(X, y, reset=first, multi_output=True)
        multilabel = is_multilabel(y)
        if not first and multilabel != (self.learner_.settings.task == "multilabel"):
            raise ValueError("y changed between one class a row and an indicator matrix of labels")
        if not multilabel:
            y = column_or_1d(y, warn=True)
        matrix = as_matrix(X, self.dtype, check=False)
        before = None if first else self.classes_
        known = known_labels(y, before) if multilabel else known_classes(y, classes, before, partial)
        labels, start = label_sets(y) if multilabel else (places(y, known), None)
        options = {
            "label_start": start,
            "weight": None if sample_weight is None else example_weights(sample_weight, matrix.shape[0], partial),
            "class_weight": class_weights(self.class_weight, known, y, multilabel),
        }
        if first:
            self.learner_ = self._new_learner(matrix.shape[1], len(known), multilabel)
        else:
            self._follow_settings()
        self._run(X, matrix, known, labels, options, 1 if partial else self.passes, self.shuffle and not partial)
        return self

    def _run(
        self,
        X: Any,
        matrix: Any,
        known: np.ndarray,
        labels: np.ndarray,
        options: dict[str, Any],
        passes: int,
        shuffle: bool,
    ) -> None:
        """The passes over rows that are checked as they are learned, if they can be."""
        learner, generator = self.learner_, check_random_state(self.random_state)
        if len(known) > learner.n_classes:  # growing cannot be undone, so nothing may fail any more
            matrix = as_matrix(X, self.dtype)
            learner.grow(n_classes=len(known), multiclass=self.multiclass)
            self.classes_ = known
        for number in range(passes):
            order = generator.permutation(matrix.shape[0]) if shuffle else None
            try:
                learner.learn(matrix, labels, order=order, calibrate=number == 0, **options)
            except UnsortedColumns:
                matrix = as_matrix(X, self.dtype)
                learner.learn(matrix, labels, order=order, calibrate=number == 0, **options)
        self.classes_ = known

    def _check_settings(self, partial: bool) -> None:
        check_choice("multiclass", self.multiclass, MULTICLASS)
        if self.covariance == "shared" and self.multiclass == "one-vs-rest":
            raise ValueError('covariance="shared" couples the classes, one-vs-rest keeps them apart; use "joint"')
        check_choice("dtype", self.dtype, ("float64", "float32"))
        check_choice("calibration", self.calibration, ("progressive", None))
        if isinstance(self.passes, bool) or not isinstance(self.passes, numbers.Integral) or self.passes < 1:
            raise ValueError(f"passes must be an integer >= 1, got {self.passes!r}")
        check_class_weight(self.class_weight, partial)

    def _new_learner(self, n_features: int, n_classes: int, multilabel: bool) -> Learner:
        task = "multilabel" if multilabel else self.multiclass if n_classes > 2 else "binary"
        return Learner(
            make_rule(self.rule), self.covariance, task, n_classes, n_features,
            prior_variance=self.prior_variance, fit_intercept=self.fit_intercept, average=self.average,
            min_variance=self.min_variance, dtype=self.dtype, block_size=self.block_size, device=self.device,
            kernel=self.kernel, kernel_params=self.kernel_params, budget=self.budget, forget=self.forget,
        )  # fmt: skip

    def _follow_settings(self) -> None:
        """Take over a rule changed since the last call; what the state is made for cannot change any more."""
        settings = self.learner_.settings
        features = self.learner_.n_features if settings.geometry == "kernel" else 0
        wanted = self._new_learner(features, self.learner_.n_classes, settings.task == "multilabel").settings
        followed = replace(settings, rule=wanted.rule)
        if wanted.geometry != settings.geometry or replace(wanted, task=settings.task) != followed:
            raise ValueError(
                "covariance, prior_variance, fit_intercept, average, min_variance, dtype, block_size, forget, and "
                "whether the rule gains precision, cannot change once something was learned: fit anew, or put the old "
                "settings back"
            )
        if wanted.rule != settings.rule:
            self.learner_ = copy(self.learner_)
            self.learner_.settings = followed

    # --- answering -----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores mean.x: shape (n,) for two classes, positive for ``classes_[1]``; else (n, n_classes).

        For sets of labels the calibration label's score is subtracted: positive means relevant.
        """
        scores: NDArray[np.float64] = self._answer("decision_function", self._matrix(X))
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score, shape (n,); for sets of labels an indicator matrix (n, n_labels)."""
        predicted: np.ndarray = self._answer("predict", self._matrix(X))
        return predicted

    def margin_distribution(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the scores when the classifier is drawn from the Gaussian.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)

        Returns
        -------
        mean, variance : ndarray
            mean.x and x' Sigma x, both of the shape of :meth:`decision_function`. ``|mean|/sqrt(variance)`` is small
            where the classifier does not know yet: abstain there, or ask for the label.
        """
        found: tuple[NDArray[np.float64], NDArray[np.float64]] = self._answer("margin_distribution", self._matrix(X))
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, shape (n, n_classes); for sets of labels, of each label on its own.

        With ``calibration="progressive"`` the sigmoid (two classes, labels) or temperature (classes) was fitted while
        learning, to the margins before their labels were used. With None it is the posterior's vote.
        """
        p: NDArray[np.float64] = self._answer("predict_proba", self._matrix(X))
        return p

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            p: NDArray[np.float64] = np.log(self.predict_proba(X))
        return p

    def _answer(self, method: str, matrix: Any, learner: Learner | None = None) -> Any:
        """What a method says of rows, by this classifier's learner or by one that knows more features."""
        learner = self.learner_ if learner is None else learner
        if method == "decision_function":
            return learner.decision(matrix)
        if method == "margin_distribution":
            return learner.margin_distribution(matrix)
        if method == "predict_proba":
            p = learner.probabilities(matrix, self.calibration)
            return np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        found = learner.predict(matrix)
        return found.astype(int) if found.ndim == 2 else self.classes_[found]

    def _matrix(self, X: Any) -> Any:
        check_is_fitted(self)
        return as_matrix(self._validated(X, reset=False), self.learner_.settings.dtype)

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """What scikit-learn makes of X (and y); values are checked as they are learned."""
        X = as_table(X)
        own = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        try:
            return validate_data(self, X, *y, **own, **options)
        except (TypeError, ValueError) as error:
            better = explained(error, X)
            if better is error:
                raise
            raise better from error

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``rule__eta=0.9`` changes one of the rule's."""
        nested = {key.removeprefix("rule__"): params.pop(key) for key in list(params) if key.startswith("rule__")}
        if nested:
            params["rule"] = make_rule(params.get("rule", self.rule), **nested)
        super().set_params(**params)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` the rule's too, as ``rule__...``, whether it is a rule or a name."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            try:
                rule = make_rule(self.rule)
            except (TypeError, ValueError):
                return params  # an unusable rule is reported by fit
            params.update({f"rule__{name}": value for name, value in rule.get_params().items()})
        return params

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    # --- files ---------------------------------------------------------------------------------------------------

    def to_sklearn(self) -> LinearPredictor:
        """A frozen copy of plain coefficients, without the state that learning needs.

        Returns
        -------
        LinearPredictor
            With ``coef_``, ``intercept_``, ``classes_``, and ``decision_function``, ``predict`` and ``predict_proba``
            that answer as this classifier does.

        Raises
        ------
        ValueError
            For a kernel; for a full covariance of more than two classes, and the vote (``calibration=None``) of three
            classes or more, whose probabilities take more than the variances of single weights.
        """
        from ..models.linear_form import linear_form
        from .frozen import LinearPredictor

        check_is_fitted(self)
        return LinearPredictor(linear_form(self), getattr(self, "feature_names_in_", None))

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """The predictor as an ONNX graph (opset 17), for any runtime; needs ``pip install confidently[onnx]``.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            Of the input ``X``, shape (n, n_features), of all numbers within, and of ``probabilities``.

        Returns
        -------
        onnx.ModelProto
            With the outputs ``label``, shape (n,), integers or strings (for sets of labels 0 and 1, (n, n_labels)), and
            ``probabilities``, shape (n, n_classes).

        Raises
        ------
        ImportError
            If ONNX is not installed.
        ValueError
            Where :meth:`to_sklearn` raises it.
        """
        from ..models.onnx_export import to_onnx

        check_is_fitted(self)
        return to_onnx(self, dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; see :func:`confidently.load`.

        The file is written beside its place and renamed: it is whole or not there. Training on after :func:`load`
        gives bit for bit what training without a break would have given.
        """
        self.as_model().save(path)

    def as_model(self) -> Model:
        """The learner and what its numbers mean: all that is saved."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        own = ("multiclass", "passes", "shuffle", "class_weight", "random_state", "calibration")
        estimator = {name: getattr(self, name) for name in own}
        estimator["class_weight"] = plain_class_weight(self.class_weight)
        if not isinstance(self.random_state, (numbers.Integral, type(None))):
            estimator["random_state"] = None
        estimator["passes"] = int(self.passes)
        classes = [plain(c) for c in self.classes_.tolist()]
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        return Model(self.learner_, classes, features, estimator, getattr(self, "source_", {}))
