"""Classifiers of dicts, of one class per row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from river import base

from ...learner.dict_frames import FrameRows
from ...stack.dict_rows import StackRows
from ...views.table import make_view
from ..parameters import recipe_of
from .rows import OnDicts, StackOnDicts, WeightsByName

if TYPE_CHECKING:
    import pandas as pd


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
        "softmax" for that rule unless covariance="sparse", otherwise "joint".
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
    rank : int, default=32
        With ``covariance="low_rank"``: number of directions that are kept besides the precision of each weight.
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


class AutoClassifier(StackOnDicts, DictClassifier):
    """Several online learners on different views of the same rows, and a mixture of what they say; nothing to tune.

    See :class:`confidently.AutoClassifier`, which learns the same from arrays. The first rows choose the members, after
    1, 10, 100 and 1000 of them; members chosen later train on all rows so far. Rows are as for
    :class:`OnlineClassifier`, and need no scaler before: numbers are standardized, and 0 is a value.

    Parameters
    ----------
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.
    trees : bool, default=True
        Whether there are members on boosted trees, where these can help. See :class:`confidently.Trees`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 91.67%
    """

    _rows: StackRows
    _kind = StackRows
