"""Models of many entities, such as users: a small Gaussian of each around one that all share."""

from ..lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
