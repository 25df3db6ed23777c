"""The classifier with one Gaussian: its parameters, its learner, and what is known about its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..covariances.names import RANK
from ..covariances.table import kind_of, of_classes, of_labels
from ..data.advice import are_sorted
from ..learner.learner import Learner
from ..learner.posterior import Marginal
from ..learner.recipe import ROWS_TO_CALIBRATE
from ..rules import make_rule
from ..rules.rule import Rule
from ..similar import hinting
from ..views.table import AUTO
from ..views.view import View
from .base_classifier import BaseOnlineClassifier
from .gaussian import GaussianEstimator
from .parameters import chooses_view, saved_training, view_of
from .rows import Labels

if TYPE_CHECKING:
    from onnx import ModelProto

    from .frozen import LinearPredictor


class OnlineClassifier(GaussianEstimator, BaseOnlineClassifier[Learner]):
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
        weights, "shared" one d x d matrix for all classes, "low_rank" a diagonal and the ``rank`` directions about
        which most is known, for thousands of correlated features, "sparse" one variance per weight that rows have
        moved, for thousands of classes, and "kernel" coefficients of the training examples, in the feature space of a
        kernel. With three or more classes, "full" is "shared" unless ``multiclass`` is
        given: then it has (K d)^2 numbers ("joint") or K d^2. ``docs/full-covariance.md`` lists every covariance. Rules
        that gain no precision keep Sigma at its prior in each of them.
    prior_variance : float, default=1.0
        Variance of every weight, including the intercept, before training; > 0.
    fit_intercept : bool, default=True
        Add a constant feature 1 to every row.
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        With three or more classes: move the true class against its strongest rival, train one binary learner per
        class, or move all classes at once by the softmax likelihood, which only the rule "logistic" has. By default
        "softmax" for that rule unless covariance="sparse", otherwise "joint". In multilabel data: train one binary
        learner per label (the default, except with a shared covariance), or rank the labels jointly against a threshold
        ("joint").
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows. Of several over an array of 500 rows or more, a tenth of the rows
        is left out, learned once, after them, and calibrates, unless ``calibration=None``; otherwise the first pass
        calibrates.
    tol : float, optional
        End the passes of :meth:`fit` after one whose fraction of mistakes, each made before the row was trained on, is
        not at least ``tol`` below the least of the passes before; by default all passes are made.
    shuffle : "auto" or bool, default="auto"
        Whether :meth:`fit` visits the rows in a new random order in each pass, or in the given order. "auto" shuffles
        rows that are sorted by class, the last of which would count most.
    average : "auto" or bool, default="auto"
        Whether to predict with the mean of the weights over all rows seen. "auto" does so in a :meth:`fit` of 500 rows
        or more, for the rules whose weights single rows move also after many: "perceptron", "pa", "pa1", "pa2", "sop",
        "cw_stdev", "cw_var", "iellip", "iellip_margin" and "bayespa". Of their last weights, sets and answers that are
        withheld promise nothing, as a warning says. With ``calibration=None``, "auto" is no.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of the examples of each class; not for multilabel data. See :meth:`fit` on weights.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    min_variance : float, default=1e-12
        Lower bound of every variance, as a fraction of the prior variance; in [1e-20, 1).
    dtype : {"float64", "float32"}, default="float64"
        Type of the state, and of ``coef_`` and the other attributes about the Gaussian. Scores are computed in float64.
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
        last 1/forget rows count. For rules that gain precision, not with ``covariance="kernel"``; with a matrix, rows
        take evidence away together, each time they are to take away half of it.
    projection : {"precision", "moments"}, optional
        With ``covariance="diag"``: whether the diagonal of an updated Gaussian's precision is kept, or that of its
        covariance. By default what the rule's paper does: "moments" for "probit", otherwise "precision".
    rank : int, default=32
        With ``covariance="low_rank"``: number of directions that are kept besides the precision of each weight. Memory
        and time grow with it.
    view : "auto", str, View, list of these, or None, default="auto"
        What the learner sees of a row, learned from the rows before: a name in ``confidently.VIEWS``, several separated
        by commas ("standard,pairs"), or views with their parameters, which are available as ``view__max_terms`` and so
        on; None: the rows as they are. "auto" is what ``confidently train --rule arow`` does, decided once, by the
        first rows: ``Standard()`` for arrays and data frames of up to 10,000 columns, and for files of tables with
        numeric columns that are read without scaling; None for sparse rows and text. With ``covariance="kernel"``,
        which the command line does not have, it is None. ``docs/views.md`` lists every view.
    coverage_by : str or int, optional
        The column by whose values :meth:`predict_set` covers: sets of rows with each value have the true class, or each
        of their labels, as often as is asked for. Its name; or its number in an array. Up to 256 values have scores of
        their own; rows with others, or with values of few rows, are compared with all of these together.
    encoder : str, object or callable, optional
        What makes a vector of a text; ``X`` is then a list of texts or a column of a frame. An object with ``encode``
        or ``embed`` of a list of texts, as those of sentence-transformers, model2vec and wordllama, a function of one,
        or "wordllama", which an extra installs. Arrays are taken for its vectors. The vectors of the last texts are
        kept; a blank text is a row of zeros. A model file has its name and answers by which it is recognized.
    verbose : bool, default=False
        Whether training shows a bar of the rows done, on standard error or in the notebook.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; for multilabel data, the labels. Columns of scores and probabilities are in this order.
    coef_, variance_ : ndarray of shape (1 or n_classes, n_features)
        Mean and variance of the weights: one row for two classes, otherwise one row per class or label. With jointly
        ranked labels, of each label's weights minus the calibration label's.
    intercept_, intercept_variance_ : ndarray of shape (1 or n_classes,)
        Mean and variance of the intercept.
    covariance_ : array
        Sigma, with the intercept after the features, one class after the other, with jointly ranked labels the
        calibration label first; sparse if diagonal; of shape (n_classes, d, d) for one-vs-rest with a full covariance.
    dual_coef_, support_vectors_ : arrays of shape (1 or n_classes, n_support) and (n_support, n_features)
        With a kernel, instead of all of the above: the examples kept and their coefficients in each class's mean.
    view_ : View or None
        What the learner sees of a row: ``view``, or with "auto" what the first rows chose. Weights are those of the
        row seen.
    n_iter_ : int
        Passes that :meth:`fit` has made.
    n_seen_, mistakes_, updates_, infeasible_ : int
        Rows trained on, in all passes; those whose class had a probability of at most 1/2 before the update (after
        the first pass and with ``calibration=None``: whose margin was not positive); updates of the Gaussian;
        examples that no classifier in the ellipsoid could satisfy (``CELLIP`` only).
    feature_importances_ : ndarray of shape (n_features,)
        The part of each feature in the squared effects on scores, (mean of the weight)^2 times the precision that rows
        have added; they add up to 1. Of tables read by columns, one per column.
    alarms_, rows_since_alarm_ : int
        Drift alarms of the first pass, and the rows since the last one, or since the first row. If rows come in random
        order, there is an alarm with a probability of at most .01 until the first one, and so again from each.
    alarm_columns_ : list or None
        The columns that moved near the last drift alarm, by name or number; empty if none did, so that the classes of
        rows changed and not their columns. None: there was no alarm, or the columns are not known (yet).
    moved_columns_ : dict or None
        The row at which each column moved last, of those that did. If rows come in random order, any does with a
        probability of about .01. None: there are more than 256 columns, or the model is merged.
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
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OnlineClassifier(shuffle=True, random_state=0).fit(X[:400], y[:400])
    >>> round(model.score(X[400:], y[400:]), 2)
    0.97
    >>> model
    OnlineClassifier(random_state=0, shuffle=True, view=Standard(unit_norm=True))
    """

    @hinting
    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        *,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        multiclass: str | None = None,
        passes: int = 1,
        tol: float | None = None,
        shuffle: bool | str = AUTO,
        average: bool | str = AUTO,
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
        rank: int = RANK,
        view: str | View | Sequence[str | View] | None = AUTO,
        coverage_by: str | int | None = None,
        encoder: Any = None,
        verbose: bool = False,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.passes = passes
        self.tol = tol
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
        self.rank = rank
        self.view = view
        self.coverage_by = coverage_by
        self.encoder = encoder
        self.verbose = verbose

    # --- the learner ---------------------------------------------------------------------------------------------

    def _check_parameters(self, partial: bool) -> None:
        of_classes(make_rule(self.rule), self.covariance, self.multiclass)
        super()._check_parameters(partial)

    def _shuffles(self, labels: Labels, partial: bool) -> bool:
        if self.shuffle == AUTO and not partial:
            return not labels.multilabel and are_sorted(labels.numbers)
        return super()._shuffles(labels, partial)

    def _averages_rows(self, n: int) -> bool:
        chosen = self.average == AUTO and self.calibration is not None
        return chosen and n >= ROWS_TO_CALIBRATE and make_rule(self.rule).wanders

    def _saved_parameters(self) -> dict[str, Any]:
        return {"multiclass": self.multiclass, "calibration": self.calibration, **saved_training(self)}

    @property
    def _is_seen_by_default(self) -> bool:
        return chooses_view(self) and not kind_of(self.covariance).keeps_examples

    def _view(self, default: View | None) -> View | None:
        return view_of(self, default)

    # --- the Gaussian --------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[np.floating]:
        return self._mean()[:, : self._fitted.width]

    @property
    def intercept_(self) -> NDArray[np.floating]:
        return self._intercept_of(self._mean())

    @property
    def variance_(self) -> NDArray[np.floating]:
        return self._variance()[:, : self._fitted.width]

    @property
    def intercept_variance_(self) -> NDArray[np.floating]:
        return self._intercept_of(self._variance())

    def _mean(self) -> NDArray[np.floating]:
        mean = self._fitted.mean()
        return self._as_stored(self._class_order.scores(mean.T, self._is_binary).T)

    def _variance(self) -> NDArray[np.floating]:
        variance = self._fitted.variance()
        return self._as_stored(variance if self._is_binary else self._class_order.columns(variance.T).T)

    @property
    def _is_binary(self) -> bool:
        return self._fitted.task.binary

    def _intercept_of(self, weights: NDArray[np.floating]) -> NDArray[np.floating]:
        return weights[:, -1].copy() if self._fitted.settings.fit_intercept else np.zeros(len(weights), weights.dtype)

    @property
    def covariance_(self) -> Any:
        learner = self._fitted
        rows = np.arange(1) if self._is_binary else self._class_order.numbers
        if learner.settings.task.has_threshold:
            rows = np.append(0, rows + 1)
        if learner.covariance.kind.is_diagonal:
            return diags_array(self._as_stored(learner.column_variances()[rows].ravel()))
        covariance = self._as_stored(learner.covariance_matrix())
        if learner.settings.independent:
            return covariance[rows]
        d = learner.width + learner.settings.fit_intercept
        blocks = covariance[0].reshape(-1, d, covariance.shape[1] // d, d)
        if len(blocks) == 1:  # one matrix for all classes
            return covariance[0]
        return blocks[rows][:, :, rows].reshape(covariance.shape[1:])

    @property
    def dual_coef_(self) -> NDArray[np.floating]:
        coefficients, _ = self._fitted.dual()
        return self._as_stored(self._class_order.scores(coefficients.T, self._is_binary).T)

    @property
    def support_vectors_(self) -> Any:
        return self._fitted.dual()[1]

    @property
    def view_(self) -> View | None:
        return self._fitted.view

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
            Weights in the order of ``coef_``, the intercept last; with jointly ranked labels, minus the calibration
            label's.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> from confidently import OnlineClassifier
        >>> marginal = OnlineClassifier("arow", "full", view=None).fit(X / X.std(axis=0), y).marginal()
        >>> round(marginal.correlation(0, 3), 2)  # mean radius and mean area: either can replace the other
        -0.31
        """
        if self._is_binary:
            marginal = self._fitted.marginal(0)
            return replace(marginal, mean=self._class_order.scores(marginal.mean, binary=True))
        numbers = [k for k, known in enumerate(self._class_order.by_number) if known == label]
        if not numbers:
            raise ValueError(f"unknown label {label!r}; expected one of {self.classes_.tolist()}")
        return self._fitted.marginal(numbers[0])

    def sample_weights(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> np.ndarray:
        """Draw classifiers from the posterior: (n, 1 or n_classes, n_features + intercept), the intercept last."""
        check_is_fitted(self)
        drawn = self.learner_.sample_weights(n, np.random.default_rng(random_state))
        return self._class_order.scores(drawn.swapaxes(1, 2), self._is_binary).swapaxes(1, 2)

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            of_labels(make_rule(self.rule), self.covariance, self.multiclass)
        except ValueError:
            tags.classifier_tags.multi_label = False
        return tags

    # --- how it is shown -----------------------------------------------------------------------------------------

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters that differ from the defaults, and in place of ``view="auto"`` what was chosen."""
        return BaseEstimator.__repr__(self._as_shown(), N_CHAR_MAX)

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:
        """Return the parameters as :meth:`__repr__` shows them, for the HTML of scikit-learn."""
        return BaseEstimator._get_params_html(self._as_shown(), *args, **kwargs)

    def _as_shown(self) -> OnlineClassifier:
        """Return a copy with the chosen view, whose class has scikit-learn's ``__repr__``, by which it breaks lines."""
        shown = copy(self)
        shown.__class__ = type(type(self).__name__, (type(self),), {"__repr__": BaseEstimator.__repr__})
        if "learner_" in vars(self):
            shown.view = view_of(self, self.learner_.view)
        return shown

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
            With a view; for a kernel; for a full covariance of more than two classes, and for uncalibrated
            probabilities (``calibration=None``) of three or more classes, which depend on more than the variances of
            single weights.
        """
        from .frozen import LinearPredictor, not_linear  # only here, to save start-up time

        form = self._linear_form()
        if (view := self.learner_.view) is not None:
            raise not_linear(view)
        return LinearPredictor(form, getattr(self, "feature_names_in_", None))

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs the extra ``onnx``.

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
            In the cases where :meth:`to_sklearn` raises it, except for a view, which the graph has.
        """
        return self._graph(dtype)
