"""Classifiers of dicts that have any number of labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from river import base

from ...learner.dicts import DictRows
from ...stack.dict_rows import LabelStackRows
from ...views.table import make_view
from ..parameters import recipe_of
from .rows import GaussianOnDicts, StackOnDicts

if TYPE_CHECKING:
    pass


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
    calibration, forget, projection, rank, view, hash_bits
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
    trees : bool, default=True
        Whether there are members on boosted trees, where these can help. See :class:`confidently.Trees`.

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
