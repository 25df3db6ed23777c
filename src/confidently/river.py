"""Classifiers and a regressor for River; see their modules in :mod:`confidently.estimators`."""

from importlib.util import find_spec

if find_spec("river") is None:
    raise ImportError("confidently.river needs River: pip install 'confidently[river]'")

from .estimators.river import AutoClassifier, OnlineClassifier, OnlineMultiLabelClassifier
from .estimators.river_regressor import OnlineRegressor

__all__ = ["AutoClassifier", "OnlineClassifier", "OnlineMultiLabelClassifier", "OnlineRegressor"]
