"""Classifiers and regressors for River's pipelines, metrics and drift detectors.

They need the extra ``river``. Rows are dicts, which compiled code reads and learns.
Features are numbered in the order in which they appear.
"""

from .classifiers import AutoClassifier, OnlineClassifier
from .label_sets import AutoMultiLabelClassifier, OnlineMultiLabelClassifier
from .regressors import AutoRegressor, OnlineRegressor

__all__ = [
    "AutoClassifier",
    "AutoMultiLabelClassifier",
    "AutoRegressor",
    "OnlineClassifier",
    "OnlineMultiLabelClassifier",
    "OnlineRegressor",
]
