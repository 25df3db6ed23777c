"""Classifiers for River's pipelines, metrics and drift detectors; needs ``pip install confidently[river]``.

Rows are dicts. They are walked and learned in compiled code; features are numbered as they appear.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from river import base

from ..learner.dicts import DictRows
from ..rules.rule import Rule

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OnlineClassifier", "OnlineMultiLabelClassifier"]


class OnlineClassifier(base.MiniBatchClassifier):
    """Online linear classifier that keeps a Gaussian over weight vectors, for River.

    Every row (x, y) is asked for its margin m = y mean.x and the margin's variance v = x' Sigma x; the *rule* answers
    (alpha, zeta, scale), and mean <- mean + alpha y Sigma x, Sigma^-1 <- (Sigma^-1 + zeta x x')/scale. See
    :class:`confidently.OnlineClassifier`, which learns the same from arrays.

    Parameters
    ----------
    rule : str or Rule
        How far to move: a name in ``confidently.RULES`` or a rule such as ``CWStdev(eta=0.9)``.
    covariance : {"diag", "full", "shared"}
        How Sigma is stored. Rows are learned fastest with "diag".
    prior_variance : float
        Variance of every weight before anything is seen; > 0.
    fit_intercept : bool
        Give every row a constant feature 1.
    multiclass : {"joint", "one-vs-rest"}
        With three or more classes: move the true class against its strongest rival, or keep a binary learner a class.
    average : bool
        Predict with the mean of the weights over all rows seen.
    min_variance : float
        No variance counts as smaller than this share of the prior's; in [0, 1).
    dtype : {"float64", "float32"}
        Type of the state.
    calibration : {"progressive", None}
        Probabilities calibrated by the stream itself, or the share of the Gaussian's classifiers that vote for a class.
    forget : float
        Share of what is known beyond the prior that every row takes away again, in [0, 1); for streams that drift.
    hash_bits : int, optional
        Hash the names of features to so many bits, 1 to 31, and do not keep them: memory is then bounded. By default
        every name is kept.

    Raises
    ------
    ValueError, TypeError
        At construction, for parameters that are not allowed.

    Notes
    -----
    Values are numbers or booleans; a string s of feature f is a category, the feature ``f=s`` with the value 1; None
    and 0 are as if they were not there. Features are told apart by ``str(name)``. Classes are learned as they come. A
    feature never met has a weight of mean 0 and the prior's variance.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | OnlineClassifier("arow")
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.87%
    """

    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        multiclass: str = "joint",
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        forget: float = 0.0,
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
        self.hash_bits = hash_bits
        self._rows = DictRows(self._get_params(), multilabel=False)

    @property
    def _multiclass(self) -> bool:
        return True

    # --- one row ---------------------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Features by name.
        y : bool, int, str
            Its class; any that was not met before is a new one.
        w : float
            Weight >= 0 of the row; 0 is the same as not learning it.

        Raises
        ------
        ValueError
            For values that are not numbers, strings or None, or not finite; nothing is then learned.
        """
        self._rows.learn(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> Any:
        """The class with the largest score; None before the first row."""
        return self._rows.predict(x)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Probability of every class met so far; empty before the first row."""
        return self._rows.probabilities(x)

    def margin_distribution_one(self, x: Mapping[Hashable, Any]) -> tuple[dict[Any, float], dict[Any, float]]:
        """Mean and variance of every class's score when the classifier is drawn from the Gaussian; of two classes, of
        the second one's over the first."""
        return self._rows.margin_distribution(x)

    # --- several rows ----------------------------------------------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a data frame one after the other, which gives what ``learn_one`` gives."""
        self._rows.learn_frame(X, y)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The class of each row; an empty series before the first row is learned."""
        return self._rows.predict_frame(X)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of the classes, a column each; an empty frame before the first row is learned."""
        return self._rows.frame_probabilities(X)

    # --- what was learned --------------------------------------------------------------------------------------------

    @property
    def weights(self) -> dict[Any, float]:
        """Mean of the weight of every feature: of two classes by name, else ``{class: {name: ...}}``."""
        return self._rows.weights("mean")

    @property
    def variances(self) -> dict[Any, float]:
        """Variance of every one of ``weights``."""
        return self._rows.weights("variance")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which :func:`confidently.load` reads as a :class:`confidently.OnlineClassifier`.

        Its features are those met, in the order in which they came (``feature_names_in_``).

        Raises
        ------
        ValueError
            If names were hashed or fewer than two classes were met.
        """
        self._rows.save(path)


class OnlineMultiLabelClassifier(base.MultiLabelClassifier):
    """The same for sets of labels: a label is relevant if it beats a calibration label, which is learned too.

    A row moves the worst relevant label against the best irrelevant one, then the nearer of the two against the
    calibration label.

    Parameters
    ----------
    rule, covariance, prior_variance, fit_intercept, average, min_variance, dtype, calibration, forget, hash_bits
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

    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        forget: float = 0.0,
        hash_bits: int | None = None,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.average = average
        self.min_variance = min_variance
        self.dtype = dtype
        self.calibration = calibration
        self.forget = forget
        self.hash_bits = hash_bits
        self._rows = DictRows(self._get_params(), multilabel=True)

    def learn_one(self, x: Mapping[Hashable, Any], y: Mapping[Any, bool]) -> None:
        """Learn a row: features by name, and for every label whether it is relevant (one that is missing is not)."""
        self._rows.learn_labels(x, y)

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, bool]:
        """For every label met so far whether it is relevant."""
        return self._rows.predict_labels(x)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, dict[bool, float]]:
        """Probabilities that every label met so far is relevant and that it is not."""
        return {name: {False: 1.0 - p, True: p} for name, p in self._rows.label_probabilities(x).items()}
