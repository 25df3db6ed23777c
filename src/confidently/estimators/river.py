"""Classifiers and regressors for River's pipelines, metrics and drift detectors.

They need the extra ``river``. Rows are dicts, which compiled code reads and learns.
Features are numbered in the order in which they appear.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from river import base, proba

from ..covariances.settings import DTYPES
from ..learner.dict_frames import FrameRows
from ..learner.dict_numbers import NumberRows
from ..learner.dicts import DictRows
from ..models.model import Model
from ..rules.ranges import check_choice
from ..rules.rule import Rule
from ..stack.dict_rows import LabelStackRows, NumberStackRows, StackRows
from ..views.table import make_view
from ..views.view import View
from .parameters import recipe_of

if TYPE_CHECKING:
    import pandas as pd


class OnDicts(base.Base):
    """Base of the estimators of one class or number per row."""

    _rows: FrameRows

    # --- several rows ----------------------------------------------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Train on the rows of a data frame in their order; the result is that of ``learn_one`` on each."""
        self._rows.learn_frame(X, y)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the class, or the expected number, of each row; of classes an empty series before training."""
        return self._rows.predict_frame(X)

    # --- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which :func:`confidently.load` reads.

        Its features are those seen, in the order of their appearance (``feature_names_in_``).

        Raises
        ------
        ValueError
            If names were hashed or fewer than two classes were seen.
        """
        rows, names = self._rows, self._output_names()
        rows.grow_features()
        Model(rows.learner, names, rows.features(), self._estimator()).save(path)

    def _output_names(self) -> list[Any]:
        """Return the names of the classes, or the number of the output."""
        return list(self._rows.table.names)

    def _estimator(self) -> dict[str, Any]:
        """Return the settings that a model file keeps besides the learner's."""
        raise NotImplementedError


class DictClassifier(OnDicts, base.MiniBatchClassifier):
    """Base of the classifiers of one class per row."""

    @property
    def _multiclass(self) -> bool:
        return True

    # --- one row ---------------------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Train on one row.

        Parameters
        ----------
        x : dict
            Features by name.
        y : bool, int, str
            The row's class; an unknown one is added.
        w : float
            Weight >= 0 of the row; 0 has the same effect as leaving out the row.

        Raises
        ------
        ValueError
            For values that are not numbers, strings, dates or None, or infinite; the classifier is then unchanged.
        """
        self._rows.learn(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> Any:
        """Return the class with the largest score; None before the first row."""
        return self._rows.predict(x)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of every known class, sorted by class; empty before the first row."""
        return self._rows.probabilities(x)

    def margin_distribution_one(self, x: Mapping[Hashable, Any]) -> tuple[dict[Any, float], dict[Any, float]]:
        """Return mean and variance of every class's score under a classifier drawn from the Gaussian.

        With two classes, there is one score, of the class that is sorted last against the other.
        """
        return self._rows.margin_distribution(x)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probabilities of the classes, one column per class, sorted; an empty frame before training."""
        return self._rows.frame_probabilities(X)

    def predict_set_one(self, x: Mapping[Hashable, Any], coverage: float = 0.9) -> set[Any]:
        """Return the classes that cannot be excluded; the true one is among them with a probability of ``coverage``.

        See :meth:`confidently.OnlineClassifier.predict_set`. Until enough rows were learned, these are all classes.

        Raises
        ------
        ValueError, TypeError
            For a coverage outside (0, 1); with ``calibration=None``.
        """
        return self._rows.predict_set(x, coverage)

    def abstain_one(self, x: Mapping[Hashable, Any], risk: float = 0.01) -> bool:
        """Return whether to leave a row unanswered, so that at most a fraction ``risk`` of the answers is wrong.

        See :meth:`confidently.OnlineClassifier.abstain`. Until enough answers were right, no row is answered.

        Raises
        ------
        ValueError, TypeError
            For a risk outside (0, 1); with ``calibration=None``.
        """
        return self._rows.abstains(x, risk)

    def _output_names(self) -> list[Any]:
        if self._rows.only_class() is not None:
            raise ValueError("fewer than two classes were seen; continue training until there are two")
        return super()._output_names()

    def _estimator(self) -> dict[str, Any]:
        return {"multiclass": self._rows.multiclass, "calibration": self._rows.calibration}


class ConformalOnDicts(base.Base):
    """What all estimators say of a row from the predictions that training made before it used the labels."""

    _rows: DictRows

    def novelty_one(self, x: Mapping[Hashable, Any]) -> float:
        """Return a p-value that is small for a row unlike all before; 1 before the first row.

        See :meth:`confidently.OnlineClassifier.novelty`.

        Raises
        ------
        ValueError, TypeError
            For an invalid row; with ``calibration=None``.
        """
        return self._rows.novelty(x)


class GaussianOnDicts(ConformalOnDicts):
    """Base of the estimators with one Gaussian: their parameters."""

    _rows: DictRows

    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        multiclass: str | None = None,
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        forget: float = 0.0,
        projection: str | None = None,
        view: str | View | Sequence[str | View] | None = None,
        hash_bits: int | None = None,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.average = average
        self.min_variance = min_variance
        self.dtype = dtype
        self.calibration = calibration
        self.forget = forget
        self.projection = projection
        self.view = view
        self.hash_bits = hash_bits
        self._rows = self._new_rows()

    def _new_rows(self) -> DictRows:
        """Return what trains on dicts with these parameters."""
        raise NotImplementedError


class WeightsByName(GaussianOnDicts):
    """Base of the estimators with one Gaussian per class, or one for numbers: their weights."""

    @property
    def weights(self) -> dict[Any, float]:
        """Mean of every feature's weight by name; with more than two classes ``{class: {name: ...}}``.

        With two classes, positive weights favor the one that is sorted last.
        """
        return self._rows.weights("mean")

    @property
    def variances(self) -> dict[Any, float]:
        """Variance of every one of ``weights``, of numbers in the units of the rule."""
        return self._rows.weights("variance")


class OnlineClassifier(WeightsByName, DictClassifier):
    """Online linear classifier with a Gaussian over its weight vectors, for River.

    For every row (x, y) the update *rule* maps the margin m = y mean.x and its variance v = x' Sigma x to
    (alpha, zeta, scale), and mean <- mean + alpha y Sigma x, Sigma^-1 <- (Sigma^-1 + zeta x x')/scale. See
    :class:`confidently.OnlineClassifier`, which learns the same from arrays.

    Parameters
    ----------
    rule : str or Rule, default="arow"
        Update rule: a name in ``confidently.RULES`` or a rule such as ``CWStdev(eta=0.9)``.
    covariance : str, default="diag"
        How Sigma is stored, by name, as in :class:`confidently.OnlineClassifier`, but not "kernel". Training is fastest
        with "diag". With the third class, "full" becomes "shared" unless ``multiclass`` is given.
    prior_variance : float, default=1.0
        Variance of every weight before training; > 0.
    fit_intercept : bool, default=True
        Add a constant feature 1 to every row.
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        With three or more classes: move the true class against its strongest rival, train one binary learner per
        class, or move all classes at once by the softmax likelihood, which only the rule "logistic" has. By default
        "softmax" for that rule, otherwise "joint".
    average : bool, default=False
        Predict with the mean of the weights over all rows seen.
    min_variance : float, default=1e-12
        Lower bound of every variance, as a fraction of the prior variance; in [1e-20, 1).
    dtype : {"float64", "float32"}, default="float64"
        Type of the state.
    calibration : {"progressive", None}, default="progressive"
        Probabilities calibrated online, or the uncalibrated posterior probability of each class.
    forget : float, default=0.0
        Fraction of the accumulated precision that every row removes, in [0, 1); for streams that drift.
    projection : {"precision", "moments"}, optional
        Whether a diagonal covariance keeps the precisions of an updated Gaussian or its variances. By default what the
        rule's paper does: "moments" for "probit", otherwise "precision".
    view : str, View or list of these, optional
        What the learner sees of a row, learned from the rows before: "standard" standardizes numbers; see
        :class:`confidently.OnlineClassifier`. Numbers that are 0 are then values, unlike missing ones. By default rows
        are learned as they are: one dict does not show what the others are, so there is no "auto".
    hash_bits : int, optional
        Hash the names of features to this many bits, 1 to 31, and do not store them, so that memory is bounded. By
        default every name is stored.

    Raises
    ------
    ValueError, TypeError
        At construction, for invalid parameters.

    Notes
    -----
    Values are numbers or booleans. A string s of feature f is a category: the feature ``f=s`` with the value 1. A date
    or time becomes the numbers ``f.time``, ``f.hour`` and ``f.weekday``, as in tables. None, NaN and 0 have the same
    effect as a missing feature; if the view standardizes, 0 is a value. Features are identified by ``str(name)``. New
    classes are added as they appear. The weight of an unseen feature has mean 0 and the prior variance.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | OnlineClassifier("arow")
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.67%
    """

    _rows: FrameRows

    def _new_rows(self) -> FrameRows:
        return FrameRows(recipe_of(self, make_view(self.view)), self.calibration, self.hash_bits)


class StackOnDicts(ConformalOnDicts):
    """Base of the estimators of stacks: their parameter and their members."""

    _rows: StackRows
    _kind: ClassVar[type[StackRows]]

    def __init__(self, dtype: str = "float64") -> None:
        self.dtype = dtype
        check_choice("dtype", dtype, DTYPES)
        self._rows = self._kind(dtype)

    @property
    def members(self) -> dict[str, float]:
        """The weights of the members, by name; of label sets, their means over the labels."""
        stack = self._rows.learner
        return dict(zip(stack.names, stack.member_weights.tolist(), strict=True)) if stack.names else {}

    def _estimator(self) -> dict[str, Any]:
        return {"members": "auto"}


class AutoClassifier(StackOnDicts, DictClassifier):
    """Several online learners on different views of the same rows, and a mixture of what they say; nothing to tune.

    See :class:`confidently.AutoClassifier`, which learns the same from arrays. The first rows choose the members, after
    1, 10, 100 and 1000 of them; members chosen later train on all rows so far. Rows are as for
    :class:`OnlineClassifier`, and need no scaler before: numbers are standardized, and 0 is a value.

    Parameters
    ----------
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 90.55%
    """

    _rows: StackRows
    _kind = StackRows


class LabelsOnDicts(base.MultiLabelClassifier):
    """Base of the estimators of any number of labels per row."""

    _rows: DictRows

    def learn_one(self, x: Mapping[Hashable, Any], y: Mapping[Any, bool]) -> None:
        """Train on one row: features by name, and for every label whether it is relevant (a missing one is not)."""
        self._rows.learn_labels(x, y)

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, bool]:
        """Return for every known label whether it is relevant."""
        return self._rows.predict_labels(x)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, dict[bool, float]]:
        """Return for every known label the probabilities that it is relevant and that it is not."""
        return {name: {False: 1.0 - p, True: p} for name, p in self._rows.label_probabilities(x).items()}

    def predict_set_one(self, x: Mapping[Hashable, Any], coverage: float = 0.9) -> set[Any]:
        """Return the labels that cannot be excluded: each relevant one with a probability of ``coverage``.

        Raises
        ------
        ValueError, TypeError
            For a coverage outside (0, 1); with ``calibration=None``.
        """
        return self._rows.predict_set(x, coverage)


class OnlineMultiLabelClassifier(GaussianOnDicts, LabelsOnDicts):
    """Multilabel classifier: any number of labels per row.

    By default each label has a binary learner, which every row trains. With ``multiclass="joint"`` a calibration label
    is learned too, which relevant labels score above: a row moves the relevant label with the lowest score against the
    irrelevant one with the highest, then the one of them with the smaller margin against the calibration label.

    Parameters
    ----------
    rule, covariance, prior_variance, fit_intercept
        As of :class:`OnlineClassifier`.
    multiclass : {"one-vs-rest", "joint"}, optional
        One binary learner per label, or one ranking of all. By default "one-vs-rest", with a shared covariance "joint".
    average, min_variance, dtype
        As of :class:`OnlineClassifier`.
    calibration, forget, projection, view, hash_bits
        As of :class:`OnlineClassifier`.

    Examples
    --------
    >>> model = OnlineMultiLabelClassifier("arow")
    >>> for _ in range(3):
    ...     model.learn_one({"sun": 1, "sand": 1}, {"beach": True, "city": False})
    ...     model.learn_one({"sun": 1, "trams": 1}, {"beach": False, "city": True})
    >>> model.predict_one({"sand": 1})
    {'beach': True, 'city': False}
    """

    def _new_rows(self) -> DictRows:
        return DictRows(recipe_of(self, make_view(self.view)), self.calibration, self.hash_bits, multilabel=True)


class AutoMultiLabelClassifier(StackOnDicts, LabelsOnDicts):
    """Several online learners of label sets on different views of the same rows, mixed for each label by itself.

    See :class:`confidently.AutoClassifier`, which learns the same from arrays. Rows and members are as for
    :class:`AutoClassifier`, labels as for :class:`OnlineMultiLabelClassifier`.

    Parameters
    ----------
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.

    Examples
    --------
    >>> model = AutoMultiLabelClassifier()
    >>> for _ in range(30):
    ...     model.learn_one({"sun": 1, "sand": 1}, {"beach": True, "city": False})
    ...     model.learn_one({"sun": 1, "trams": 1}, {"beach": False, "city": True})
    >>> model.predict_one({"sun": 1, "sand": 1})
    {'beach': True, 'city': False}
    """

    _rows: LabelStackRows
    _kind = LabelStackRows


class DictRegressor(OnDicts, base.MiniBatchRegressor):
    """Base of the regressors of one number per row."""

    _rows: NumberRows | NumberStackRows

    def learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Train on one row.

        Parameters
        ----------
        x : dict
            Features by name.
        y : float
            The row's number.
        w : float
            Weight >= 0 of the row; 0 has the same effect as leaving out the row.

        Raises
        ------
        ValueError
            For values that are not numbers, strings, dates or None, or infinite; the regressor is then unchanged.
        """
        self._rows.learn(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any], with_dist: bool = False, **kwargs: Any) -> Any:
        """Return the expected number of a row; with ``with_dist`` a :class:`river.proba.Gaussian` around it."""
        if not with_dist:
            return self._rows.predict(x)
        mean, variance = self._rows.distribution(x)
        return proba.Gaussian._from_state(n=1, m=mean, var=variance, ddof=0)


class OnlineRegressor(WeightsByName, DictRegressor):
    """Online linear regression with a Gaussian over its weights, for River.

    See :class:`confidently.OnlineRegressor`, which learns the same from arrays. With ``covariance="full"`` and the rule
    "ridge" it is ridge regression on all rows so far, exactly, with an intercept that has no prior.

    Parameters
    ----------
    rule : str or Rule, default="ridge"
        Update rule: a name in ``confidently.REGRESSION_RULES`` or a rule such as ``Quantile(tau=0.9)``.
    covariance : str, default="diag"
        How Sigma is stored: "diag" for any number of features, "full" for up to some hundred. Not "kernel".
    prior_variance : float, default=1.0
        Variance of every weight before training; > 0.
    fit_intercept : bool, default=True
        Learn an intercept.
    average : bool, default=False
        Predict with the mean of the weights over all rows seen.
    min_variance : float, default=1e-12
        Lower bound of every variance, as a fraction of the prior variance; in [1e-20, 1).
    dtype : {"float64", "float32"}, default="float64"
        Type of the state.
    calibration : {"progressive", None}, default="progressive"
        Variances of predictions by the errors made in training, or by the noise that the rule assumes.
    forget, projection, view, hash_bits
        As of :class:`OnlineClassifier`.

    Raises
    ------
    ValueError, TypeError
        At construction, for invalid parameters.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | OnlineRegressor(covariance="full")
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.891071
    """

    _rows: NumberRows

    def __init__(
        self,
        rule: str | Rule = "ridge",
        covariance: str = "diag",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        forget: float = 0.0,
        projection: str | None = None,
        view: str | View | Sequence[str | View] | None = None,
        hash_bits: int | None = None,
    ) -> None:
        super().__init__(
            rule, covariance, prior_variance, fit_intercept, None, average, min_variance, dtype, calibration, forget,
            projection, view, hash_bits,
        )  # fmt: skip

    def _new_rows(self) -> NumberRows:
        check_choice("calibration", self.calibration, ("progressive", None))
        recipe = recipe_of(self, make_view(self.view), targets=True)
        return NumberRows(recipe, self.calibration is not None, self.hash_bits)

    def _estimator(self) -> dict[str, Any]:
        return {"covariance": self.covariance, "calibration": self.calibration}


class AutoRegressor(StackOnDicts, DictRegressor):
    """Several online regressions on different views of the same rows, and a mixture of these; nothing to tune.

    See :class:`confidently.AutoRegressor`, which learns the same from arrays. Rows and the choice of members are as for
    :class:`AutoClassifier`.

    Parameters
    ----------
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), AutoRegressor(), metrics.MAE())
    MAE: 0.290186
    """

    _rows: NumberStackRows
    _kind = NumberStackRows
