"""Progressive validation, comparisons of rules, metrics and active learning."""

from ..lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
