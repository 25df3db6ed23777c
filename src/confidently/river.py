"""Classifiers for River; see :mod:`confidently.estimators.river`."""

from .estimators.river import AutoClassifier, OnlineClassifier, OnlineMultiLabelClassifier

__all__ = ["AutoClassifier", "OnlineClassifier", "OnlineMultiLabelClassifier"]
