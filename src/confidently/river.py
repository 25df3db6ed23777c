"""Classifiers for River; see :mod:`confidently.estimators.river`."""

from .estimators.river import OnlineClassifier, OnlineMultiLabelClassifier

__all__ = ["OnlineClassifier", "OnlineMultiLabelClassifier"]
