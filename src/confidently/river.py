"""Classifiers and regressors for River; see their modules in :mod:`confidently.estimators`."""

from importlib.util import find_spec

from .extras import install

if find_spec("river") is None:
    raise ImportError(f"confidently.river needs River; run {install('river')}")

from .estimators.river import *  # noqa: F403
from .estimators.river import __all__ as __all__
