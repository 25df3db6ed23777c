"""The classifier: scikit-learn's contract over the compiled learner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ..covariances.settings import Settings, check_multiclass
from ..covariances.table import resolved
from ..data import Stream
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.memory.frames import as_table, describe_columns
from ..data.memory.labels import (
    class_numbers,
    class_weights,
    example_weights,
    is_multilabel,
    known_classes,
    known_labels,
    labels_of_rows,
    plain,
    training_of,
)
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..learner.learner import Learner
from ..learner.posterior import Marginal
from ..learner.streams import StreamLearner, StreamPredictor
from ..models.model import Model
from ..rules import make_rule
from ..rules.ranges import check_choice
from ..rules.rule import Rule
from ..views.columns import ZERO, Columns
from ..views.table import make_view
from ..views.view import View
from .parameters import SHARED, check_settings, check_unchanged, saved_settings
from .streams import check_values_kept, learn_stream, open_as_before

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..models.linear_form import LinearForm
    from .frozen import LinearPredictor

STREAM_METHODS = ("predict", "predict_proba", "decision_function", "margin_distribution")


class OnlineClassifier(ClassifierMixin, BaseEstimator):
    """Online linear classifier with a Gaussian over its weight vectors.

    For every example (x, y) the update *rule* maps the margin m = y mean.x and its variance v = x' Sigma x to
    (alpha, zeta, scale), and the Gaussian moves::

        mean     <-  mean + alpha y Sigma x
        Sigma^-1 <-  (Sigma^-1 + zeta x x') / scale

    Multiclass and multilabel examples are pairs of classes to discriminate, learned by the same update.

    Parameters
    ----------
    rule : str or Rule, default="arow"
        Update rule: a name in ``confidently.RULES`` or a rule such as ``CWStdev(eta=0.9)``. Its parameters are
        available as ``rule__eta`` and so on.
    covariance : str, default="diag"
        How Sigma is stored, by name: "diag", one variance per weight, is the fastest; "full" has the covariances of all
        weights (of all classes: (K d)^2 numbers), "shared" one d x d matrix for all classes, and "kernel" coefficients
        of the training examples, in the feature space of a kernel. ``docs/full-covariance.md`` lists every covariance.
        Rules that gain no precision keep Sigma at its prior in each of them.
    prior_variance : float, default=1.0
        Variance of every weight, including the intercept, before training; > 0.
    fit_intercept : bool, default=True
        Add a constant feature 1 to every row.
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        With three or more classes: move the true class against its strongest rival, train one binary learner per
        class, or move all classes at once by the softmax likelihood, which only the rule "logistic" has. By default
        "softmax" for that rule, otherwise "joint".
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows.
    shuffle : bool, default=False
        Whether :meth:`fit` visits the rows in a new random order in each pass, or in the given order.
    average : bool, default=False
        Predict with the mean of the weights over all rows seen.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of the examples of each class; not for multilabel data. See :meth:`fit` on weights.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    min_variance : float, default=1e-12
        Lower bound of every variance, as a fraction of the prior variance; in [1e-20, 1).
    dtype : {"float64", "float32"}, default="float64"
        Type of the state.
    calibration : {"progressive", None}, default="progressive"
        What :meth:`predict_proba` returns: probabilities calibrated online, or the uncalibrated posterior
        probability Phi(m/sqrt(v)).
    rows_per_product : int, optional
        Rows that a full or shared covariance learns together, by products of matrices. It changes the speed and, up to
        rounding, not the result; the default depends on the number of weights.
    device : str, optional
        Where those products are computed: a device of PyTorch ("cpu", "cuda"), "cupy", or by default the BLAS of NumPy
        and SciPy.
    kernel : str or callable, default="rbf"
        With ``covariance="kernel"``: a name of ``sklearn.metrics.pairwise.pairwise_kernels``, or a function of two
        matrices that returns the kernel of their rows, shape (n, m).
    kernel_params : dict, optional
        The kernel's parameters; a kernel with a gamma uses 1/n_features by default.
    budget : int, optional
        With ``covariance="kernel"``: maximum number of examples kept. Time and memory grow with its square; beyond the
        budget, the examples are dropped whose removal changes the mean least.
    forget : float, default=0.0
        Fraction of the accumulated precision that a row of weight 1 removes, in [0, 1): after every row
        Sigma^-1 <- (1 - forget) Sigma^-1 + forget Sigma_0^-1, and the mean stays. For data that drift: about the
        last 1/forget rows count. With ``covariance="diag"`` only, for rules that gain precision.
    projection : {"precision", "moments"}, optional
        With ``covariance="diag"``: whether the diagonal of an updated Gaussian's precision is kept, or that of its
        covariance. By default what the rule's paper does: "moments" for "probit", otherwise "precision".
    view : str, View or list of these, optional
        What the learner sees of a row, learned from the rows before: a name in ``confidently.VIEWS``, several separated
        by commas ("standard,pairs"), or views with their parameters, which are available as ``view__max_terms`` and so
        on. By default rows are learned as they are. ``docs/views.md`` lists every view.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; for multilabel data, the labels.
    coef_, variance_ : ndarray of shape (1 or n_classes, n_features)
        Mean and variance of the weights: one row for two classes, otherwise one row per class. For multilabel data, of
        each label's weights minus the calibration label's.
    intercept_, intercept_variance_ : ndarray of shape (1 or n_classes,)
        Mean and variance of the intercept.
    covariance_ : array
        Sigma, with the intercept after the features, one class after the other, in multilabel data the calibration
        label first; sparse if diagonal; of shape (n_classes, d, d) for one-vs-rest with a full covariance.
    dual_coef_, support_vectors_ : arrays of shape (1 or n_classes, n_support) and (n_support, n_features)
        With a kernel, instead of all of the above: the examples kept and their coefficients in each class's mean.
    n_seen_, mistakes_, updates_, infeasible_ : int
        Rows trained on, in all passes; those whose margin was not positive before the update; updates of the
        Gaussian; examples that no classifier in the ellipsoid could satisfy (``CELLIP`` only).
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        After training from files: how their rows were read, and the names of the features.

    Notes
    -----
    The order of the rows matters, as in any online method: one pass over rows sorted by class trains badly; use
    ``shuffle=True``. The weight w of an example multiplies its loss, which differs from w copies of the example.

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

    learner_: Learner
    classes_: np.ndarray

    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        *,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        multiclass: str | None = None,
        passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        rows_per_product: int | None = None,
        device: str | None = None,
        kernel: str | Callable[..., Any] = "rbf",
        kernel_params: dict[str, Any] | None = None,
        budget: int | None = None,
        forget: float = 0.0,
        projection: str | None = None,
        view: str | View | Sequence[str | View] | None = None,
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
        self.rows_per_product = rows_per_product
        self.device = device
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.budget = budget
        self.forget = forget
        self.projection = projection
        self.view = view

    # --- training on arrays --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Finite numbers.
        y : array of shape (n,), or indicator matrix of shape (n, n_labels)
            Classes (numbers or strings, two or more), or the labels of multilabel data.
        sample_weight : array of shape (n,), optional
            Weights >= 0, which multiply the loss; 0 has the same effect as leaving out the row. The rules "pa",
            "cw_stdev", "cw_var", "cellip", "iellip" and "iellip_margin" meet a constraint instead: for them weights
            above 1 act as 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the estimator is then unchanged.
        """
        with training_of(self):
            for name in ("learner_", "classes_", "source_", "features_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train on more rows, in one pass and in the given order.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array, optional
            All possible classes. Required in the first call unless ``y`` is an indicator matrix; later calls may add
            new ones, which start at the prior.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input, or unknown classes; the estimator is then unchanged.
        """
        with training_of(self):
            return self._learn(X, y, classes, sample_weight, first=not hasattr(self, "learner_"), partial=True)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool, partial: bool = False) -> Self:
        check_settings(self, partial)
        X, y = self._validated(X, y, reset=first, multi_output=True)
        multilabel = is_multilabel(y)
        if not first and multilabel != self._is_multilabel:
            raise ValueError("y changed between one class per row and an indicator matrix of labels")
        if not multilabel:
            y = column_or_1d(y, warn=True)
        matrix = as_matrix(X, self.dtype, check=False)
        before = None if first else self.classes_
        known = known_labels(y, before) if multilabel else known_classes(y, classes, before, partial)
        labels, start = labels_of_rows(y) if multilabel else (class_numbers(y, known), None)
        options = {
            "label_start": start,
            "weight": None if sample_weight is None else example_weights(sample_weight, matrix.shape[0], partial),
            "class_weight": class_weights(self.class_weight, known, y, multilabel),
        }
        if first:
            self.learner_ = self._new_learner(matrix.shape[1], len(known), multilabel)
        else:
            self._adopt_rule()
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
        """Make the passes; rows are checked during training where that is possible."""
        learner, generator = self.learner_, check_random_state(self.random_state)
        if len(known) > learner.n_classes:
            matrix = as_matrix(X, self.dtype)
            learner = self.learner_ = copy(learner)  # of which an error restores the old one
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

    def _settings(self, n_classes: int, multilabel: bool) -> Settings:
        several = check_multiclass(make_rule(self.rule), self.multiclass)
        task = "multilabel" if multilabel else several if n_classes > 2 else "binary"
        return Settings(task=task, **{name: getattr(self, name) for name in SHARED})

    def _new_learner(self, n_features: int, n_classes: int, multilabel: bool) -> Learner:
        """Return an untrained learner; the columns of arrays are numbers, and those of sparse rows 0 where absent."""
        names = getattr(self, "feature_names_in_", None)
        columns = Columns.alike(n_features, ZERO, None if names is None else list(names))
        return Learner(
            self._settings(n_classes, multilabel), n_classes, n_features, view=make_view(self.view), columns=columns,
            device=self.device,
        )  # fmt: skip

    def _adopt_rule(self) -> None:
        """Continue with a rule that was changed after the last call; nothing else can change."""
        learner = self.learner_
        wanted = resolved(self._settings(learner.n_classes, self._is_multilabel), learner.n_features)
        if self.projection is None:  # the default of the rule that training began with
            wanted = replace(wanted, projection=learner.settings.projection)
        followed = check_unchanged(learner.settings, wanted, learner.view == make_view(self.view))
        if wanted.rule != learner.settings.rule:
            self.learner_ = copy(learner)
            self.learner_.settings = followed

    # --- training on files ---------------------------------------------------------------------------------------

    def fit_stream(self, stream: Stream, classes: Any = None) -> Self:
        """Train from scratch, in one pass over a stream.

        Parameters
        ----------
        stream : Stream
            Of :func:`confidently.data.open_stream`, from which nothing has been read.
        classes : sequence, optional
            All possible classes; by default they are added as they appear. With two classes, 1 is the positive one;
            without a class 1, it is the class seen second.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters, something else than a stream, or a stream with one class only.

        Examples
        --------
        >>> import tempfile
        >>> from confidently import OnlineClassifier
        >>> from confidently.data import open_stream
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("spam\\tfree money now\\nham\\tsee you at noon\\n" * 20)
        ...     file.flush()
        ...     classifier = OnlineClassifier("arow").fit_stream(open_stream(file.name))
        ...     [list(found) for found in classifier.predict_stream([file.name])][0][:2]
        [np.str_('spam'), np.str_('ham')]
        """
        with training_of(self):
            check_settings(self, partial=False)
            if self.passes != 1:
                raise ValueError(
                    f"a stream is read once, got passes={self.passes}; use passes=1 and partial_fit_stream for more"
                )
            if not isinstance(stream, Stream):
                raise TypeError(f"fit_stream: expected a stream of open_stream, got {type(stream).__name__}")
            names = [] if classes is None else [plain(name) for name in classes]
            table = ClassTable(names, stream.multilabel, closed=classes is not None)
            learner = self._new_learner(0, len(table), stream.multilabel)
            check_values_kept(learner.view, stream.reading)
            features = Features(bounded=not stream.reading.vocabulary) if stream.reading.named else None
            for name in ("learner_", "classes_", "features_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return self._learn_stream(stream, learner, table, features)

    def partial_fit_stream(self, paths: Any, **options: Any) -> Self:
        """Train on more files, which are read as those of :meth:`fit_stream` were.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data; the estimator is then unchanged.
        """
        check_is_fitted(self)
        with training_of(self), self._open(paths, multilabel=self._is_multilabel, **options) as stream:
            check_settings(self, partial=True)
            self._adopt_rule()
            table = ClassTable([plain(name) for name in self.classes_], stream.multilabel)
            learner, features = deepcopy(self.learner_), deepcopy(getattr(self, "features_", None))
            return self._learn_stream(stream, learner, table, features)

    def predict_stream(self, paths: Any, method: str = "predict", **options: Any) -> Iterator[Any]:
        """Predict the rows of files batch by batch, in memory that does not grow with the files.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known. Labels are
            ignored.
        method : {"predict", "predict_proba", "decision_function", "margin_distribution"}
            What to compute. The weights of unseen features have mean 0 and the prior variance.

        Yields
        ------
        array, or pair of arrays
            What the method returns for the next rows.

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data.
        """
        check_is_fitted(self)
        check_choice("method", method, STREAM_METHODS)
        learner = copy(self.learner_)
        learner.state = dict(learner.state)  # StreamPredictor makes room in it for unseen features
        answering = StreamPredictor(learner)
        with self._open(paths, ignore_labels=True, freeze=True, **options) as stream:
            for batch in stream:
                yield self._apply(method, answering.matrix(batch), learner)

    def _open(self, paths: Any, **options: Any) -> Stream:
        source, features = getattr(self, "source_", {}), getattr(self, "features_", None)
        return open_as_before(paths, source, features, self.dtype, **options)

    def _learn_stream(self, stream: Stream, learner: Learner, table: ClassTable, features: Features | None) -> Self:
        learning = StreamLearner(learner, table, self.multiclass, features, stream.reading)
        self.classes_ = learn_stream(stream, learning, self.class_weight)
        self.learner_ = learning.learner
        self.n_features_in_ = learning.learner.n_features
        self.source_ = {**stream.reading.as_dict(), "closed": learning.classes.closed}
        if learning.features is not None:
            self.features_ = learning.features
        return self

    # --- prediction ----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores mean.x.

        Returns
        -------
        array
            Shape (n,) for two classes, positive for ``classes_[1]``; otherwise (n, n_classes). In multilabel data the
            calibration label's score is subtracted: positive means relevant.
        """
        scores: NDArray[np.float64] = self._apply("decision_function", self._matrix(X))
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score, shape (n,); in multilabel data an indicator matrix (n, n_labels)."""
        predicted: np.ndarray = self._apply("predict", self._matrix(X))
        return predicted

    def margin_distribution(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of the scores of a classifier drawn from the Gaussian.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)

        Returns
        -------
        mean, variance : ndarray
            mean.x and x' Sigma x, both of the shape of :meth:`decision_function`. ``|mean|/sqrt(variance)`` is small
            where the classifier is uncertain: abstain there, or request the label.
        """
        found: tuple[NDArray[np.float64], NDArray[np.float64]] = self._apply("margin_distribution", self._matrix(X))
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (n, n_classes); in multilabel data, of each label by itself.

        With ``calibration="progressive"`` the sigmoid (two classes, labels) or temperature (three or more classes) is
        fitted during training, to each margin before its label is used. With None they are the uncalibrated posterior
        probabilities.
        """
        p: NDArray[np.float64] = self._apply("predict_proba", self._matrix(X))
        return p

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            p: NDArray[np.float64] = np.log(self.predict_proba(X))
        return p

    def _apply(self, method: str, matrix: Any, learner: Learner | None = None) -> Any:
        """Return what a method gives for rows, by this classifier's learner or by one with more features."""
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
        """Return what scikit-learn makes of X (and y); the values are checked during training."""
        X = as_table(X)
        own = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        try:
            return validate_data(self, X, *y, **own, **options)
        except (TypeError, ValueError) as error:
            better = describe_columns(error, X)
            if better is error:
                raise
            raise better from error

    # --- the Gaussian --------------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> Learner:
        if "learner_" not in vars(self):
            raise AttributeError("the classifier is not fitted; call fit or partial_fit first")
        return self.learner_

    @property
    def _is_multilabel(self) -> bool:
        return self.learner_.settings.task == "multilabel"

    @property
    def coef_(self) -> NDArray[np.float64]:
        return self._fitted.mean()[:, : self._fitted.width]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        return self._intercept_of(self._fitted.mean())

    @property
    def variance_(self) -> NDArray[np.float64]:
        return self._fitted.variance()[:, : self._fitted.width]

    @property
    def intercept_variance_(self) -> NDArray[np.float64]:
        return self._intercept_of(self._fitted.variance())

    def _intercept_of(self, weights: np.ndarray) -> NDArray[np.float64]:
        return weights[:, -1].copy() if self._fitted.settings.fit_intercept else np.zeros(len(weights))

    @property
    def covariance_(self) -> Any:
        if self._fitted.covariance.kind.is_diagonal:
            return diags_array(self._fitted.column_variances().ravel())
        covariance = self._fitted.covariance_matrix()
        return covariance if self._fitted.settings.independent else covariance[0]

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        return self._fitted.dual()[0]

    @property
    def support_vectors_(self) -> Any:
        return self._fitted.dual()[1]

    @property
    def n_seen_(self) -> int:
        return self._fitted.n_seen

    @property
    def mistakes_(self) -> int:
        return self._fitted.mistakes

    @property
    def updates_(self) -> int:
        return self._fitted.updates

    @property
    def infeasible_(self) -> int:
        return self._fitted.infeasible

    def marginal(self, label: Any = None) -> Marginal:
        """Return the Gaussian over one class's weights: standard deviations, correlations, principal axes, samples.

        Parameters
        ----------
        label : object, optional
            One of ``classes_``; not needed for two classes, which share their weights.

        Returns
        -------
        Marginal
            Weights in the order of ``coef_``, the intercept last; in multilabel data, minus the calibration label's.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> from confidently import OnlineClassifier
        >>> marginal = OnlineClassifier("arow", "full").fit(X / X.std(axis=0), y).marginal()
        >>> round(marginal.correlation(0, 3), 2)  # mean radius and mean area: either can replace the other
        -0.31
        """
        if self._fitted.settings.task == "binary":
            return self._fitted.marginal(0)
        numbers = [k for k, known in enumerate(self.classes_) if known == label]
        if not numbers:
            raise ValueError(f"unknown label {label!r}; expected one of {self.classes_.tolist()}")
        return self._fitted.marginal(numbers[0])

    def sample_weights(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> np.ndarray:
        """Draw classifiers from the posterior: (n, 1 or n_classes, n_features + intercept), the intercept last."""
        check_is_fitted(self)
        return self.learner_.sample_weights(n, np.random.default_rng(random_state))

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``rule__eta=0.9`` changes one of the rule's, ``view__n=500`` one of the view's."""
        for whole, make in (("rule", make_rule), ("view", make_view)):
            prefix = f"{whole}__"
            nested = {key.removeprefix(prefix): params.pop(key) for key in list(params) if key.startswith(prefix)}
            if nested:
                params[whole] = make(params.get(whole, getattr(self, whole)), **nested)
        super().set_params(**params)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also the rule's and the view's, as ``rule__...``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for whole, make in (("rule", make_rule), ("view", make_view)):
                try:
                    made = make(getattr(self, whole))
                except (TypeError, ValueError):
                    continue  # fit reports an invalid one
                own = {} if made is None else made.get_params()
                params.update({f"{whole}__{name}": value for name, value in own.items()})
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
        """Return a frozen copy of the coefficients, without the state that training needs.

        Returns
        -------
        LinearPredictor
            With ``coef_``, ``intercept_``, ``classes_``, and ``decision_function``, ``predict`` and ``predict_proba``
            that agree with this classifier's.

        Raises
        ------
        ValueError
            For a kernel; for a full covariance of more than two classes, and for uncalibrated probabilities
            (``calibration=None``) of three or more classes, which depend on more than the variances of single weights.
        """
        from .frozen import LinearPredictor  # only here, to save start-up time

        return LinearPredictor(self._linear_form(), getattr(self, "feature_names_in_", None))

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs ``pip install confidently[onnx]``.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            Of the input ``X``, shape (n, n_features), of all numbers within, and of ``probabilities``.

        Returns
        -------
        onnx.ModelProto
            With the outputs ``label``, shape (n,), integers or strings (in multilabel data 0 and 1, (n, n_labels)), and
            ``probabilities``, shape (n, n_classes).

        Raises
        ------
        ImportError
            If ONNX is not installed.
        ValueError
            In the cases where :meth:`to_sklearn` raises it.
        """
        from ..models.onnx_export import to_onnx  # only here, to save start-up time

        return to_onnx(self._linear_form(), self._feature_names(), dtype)

    def _linear_form(self) -> LinearForm:
        from ..models.linear_form import linear_form  # only here, to save start-up time

        check_is_fitted(self)
        return linear_form(self.learner_, self.classes_, self.calibration)

    def _feature_names(self) -> list[str] | None:
        """Return the names of all columns, if each has one."""
        if (features := getattr(self, "features_", None)) is not None:
            return list(features.names) if features.n_named == len(features) else None
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; see :func:`confidently.load`.

        The file is written under a temporary name and renamed: it is complete or absent. Training that continues after
        :func:`load` is bit for bit the same as training without the interruption.
        """
        self.as_model().save(path)

    def as_model(self) -> Model:
        """Return the learner and the meaning of its numbers, which is all that is saved."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        classes = [plain(c) for c in self.classes_.tolist()]
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        return Model(self.learner_, classes, features, saved_settings(self), getattr(self, "source_", {}))
