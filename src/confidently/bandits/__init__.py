"""Contextual bandits on the posterior of any model, and what their logs say about other policies."""

from ..lazy import lazy_names

# The reward models import scikit-learn, which policies and estimators of values do not need.
__all__, __getattr__, __dir__ = lazy_names(__spec__)
