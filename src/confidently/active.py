"""Active learning; see :mod:`confidently.evaluation.active`."""

from .evaluation.active import STRATEGIES, Selector, doubt, query, simulate

__all__ = ["STRATEGIES", "Selector", "doubt", "query", "simulate"]
