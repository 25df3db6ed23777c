"""Active learning; see :mod:`confidently.evaluation.active`."""

from .evaluation.active import STRATEGIES, Selector, certainty, query, simulate

__all__ = ["STRATEGIES", "Selector", "certainty", "query", "simulate"]
