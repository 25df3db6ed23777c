"""The classifier with nothing to tune: several learners on different views of the same rows, and their mixture."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..covariances.settings import DTYPES
from ..learner.learner import Learner
from ..models.model import Model
from ..rules.ranges import check_choice
from ..stack.choice import new_stack
from ..stack.members import WEIGHTS, Plan, plan
from ..stack.naive_bayes import NaiveBayes
from ..stack.stack import Stack
from ..views.columns import ZERO, Columns
from ..views.view import View
from .base import BaseOnlineClassifier
from .classifier import OnlineClassifier
from .fitted import classifier_of
from .parameters import (
    check_settings,
    check_shuffle,
    check_training,
    chooses_view,
    recipe_of,
    saved_training,
    view_of,
)
from .stack_members import check_members, take_columns

AUTO = "auto"


class AutoClassifier(BaseOnlineClassifier[Stack]):
    """Several online learners on different views of the same rows, and a mixture of what they say; nothing to tune.

    With l_gk the calibrated score of class k by member g, P(k) is proportional to exp(sum_g w_g l_gk). The members
    learn every row, each as its view shows it; the weights w_g follow the log-loss of the mixture by damped Newton
    steps, and forget rows older than about 5000. One pass is enough, and training can continue at any time.

    Parameters
    ----------
    members : "auto" or list of OnlineClassifier, default="auto"
        The members. "auto" chooses them by the columns of the first rows, at most 1000: a table has its numeric columns
        standardized, other rows have unit norm. AROW and logistic learn these; products of two columns, if there are
        few; with up to 128 columns AROW with all covariances; for many sparse columns, such as words, AROW on
        ``idf`` and ``nb``, and naive Bayes; for many dense ones AROW on random cosines. In a narrow table, of up to 128
        numeric columns, each of these has a twin without unit norm, since the length of a row may say what its class
        is. For more than 64 classes, other rows have no products and no ``nb``. Of an OnlineClassifier, its rule,
        covariance and view count.
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows; calibration and weights are learned in the first.
    shuffle : "auto" or bool, default="auto"
        Whether :meth:`fit` visits the rows in a new random order in each pass. "auto" is yes: the rows of an array are
        all there, and may be sorted. Use False for rows in the order of time, of which the last count most.
        ``partial_fit`` and streams are never shuffled.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of the examples of each class.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling: with the same one, the same rows give the same model. None: another order each time.
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    members_ : dict of str to OnlineClassifier or NaiveBayes
        The members by name, as they are now. Their ``coef_`` are weights of what their view makes of a row: of a
        standardized column per standard deviation, on ``pairs`` also of products of two columns, which
        ``confidently inspect`` names. Their probabilities are those of a sigmoid or temperature, without the
        correction that a learner by itself learns.
    weights_ : ndarray of shape (n_members,)
        What each contributes to the mixture. They need not be positive, nor add up to 1.
    n_seen_, mistakes_ : int
        Rows trained on, in all passes; those whose class was not the most probable before the update.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        After training from files: how their rows were read, and the names of the features.

    Notes
    -----
    The class with the largest probability is predicted, always. With "auto", the rows of the first call choose the
    members: give it a few hundred.

    References
    ----------
    Wolpert, Stacked generalization, Neural Networks 5, 1992. The members cite their own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AutoClassifier().fit(X[:400], y[:400])
    >>> round(model.score(X[400:], y[400:]), 2)
    0.99
    >>> list(model.members_)[:2]
    ['arow on standard', 'logistic on standard']
    """

    multiclass = None  # the members have their own
    calibration = "progressive"

    def __init__(
        self,
        members: str | Sequence[OnlineClassifier] = AUTO,
        *,
        passes: int = 1,
        shuffle: bool | str = AUTO,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = 0,
        dtype: str = "float64",
    ) -> None:
        self.members = members
        self.passes = passes
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state
        self.dtype = dtype

    # --- the stack -----------------------------------------------------------------------------------------------

    def _check_parameters(self, partial: bool) -> None:
        check_choice("dtype", self.dtype, DTYPES)
        check_training(self, partial)
        check_shuffle(self.shuffle)
        if self.members != AUTO:
            _check_members(self.members)

    def _saved_parameters(self) -> dict[str, Any]:
        return saved_training(self) | ({"members": AUTO} if isinstance(self.members, str) else {})

    @property
    def _is_seen_by_default(self) -> bool:
        return not isinstance(self.members, str) and any(map(chooses_view, self.members))

    def _new_learner(self, n_features: int, n_classes: int, multilabel: bool, default: View | None) -> Stack:
        if multilabel:
            raise ValueError(
                "AutoClassifier learns one class per row, got an indicator matrix; OnlineClassifier learns several"
            )
        names = getattr(self, "feature_names_in_", None)
        columns = Columns.alike(n_features, ZERO, None if names is None else list(names))
        if isinstance(self.members, str):
            return new_stack(n_classes, n_features, columns, self.dtype)
        plans = [_plan(k, member, self, default) for k, member in enumerate(self.members)]
        return Stack(plans, None, n_classes, n_features, columns, self.dtype)

    def _follow_parameters(self) -> None:
        if self.dtype != self.learner_.dtype:
            raise ValueError(
                f"dtype cannot change after training has begun, from {self.learner_.dtype} to {self.dtype}; call fit "
                "to train from scratch, or restore it"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    @property
    def members_(self) -> dict[str, OnlineClassifier | NaiveBayes]:
        return {
            name: self._as_classifier(member, multiclass) if isinstance(member, Learner) else member
            for name, member, multiclass in zip(
                self._fitted.names, self._fitted.members, self._fitted.multiclass, strict=True
            )
        }

    @property
    def weights_(self) -> NDArray[np.float64]:
        return self._fitted.state[WEIGHTS].copy()

    def _as_classifier(self, learner: Learner, multiclass: str | None) -> OnlineClassifier:
        model = Model(learner, [], None, {"multiclass": multiclass, "calibration": "progressive"})
        classifier = classifier_of(model)
        classifier.learner_, classifier._class_order = copy(learner), self._class_order
        take_columns(classifier, self)
        return classifier


def _check_members(members: Any) -> None:
    """Raise an error unless these may be the members of a stack."""
    check_members(members, OnlineClassifier)
    for member in members:
        check_settings(member, partial=False)


def _plan(k: int, member: OnlineClassifier, whole: AutoClassifier, default: View | None) -> Plan:
    """Return how to make member k, whose state has the type of the whole."""
    recipe = recipe_of(member, view_of(member, default), whole.dtype)
    names = "rows" if recipe.view is None else ",".join(part.name for part in recipe.view.views)
    return plan(recipe, f"{k + 1}. {recipe.rule.name} on {names}")
