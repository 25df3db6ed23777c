"""The perceptron and the passive-aggressive rules, which train the mean only."""

from __future__ import annotations

from .ranges import POSITIVE
from .rule import Rule, parameter

__all__ = ["PA", "PA1", "PA2", "Perceptron"]


class Perceptron(Rule):
    """Rosenblatt's perceptron: a fixed step on every mistake."""

    name = "perceptron"
    wanders = True
    acts_when = "m <= 0"
    formula = "alpha = 1"
    source = "Rosenblatt, Psychological Review 65, 1958"
    weight = "multiplies the step"
    learns_precision = False


class PA(Rule):
    """Passive-aggressive: the smallest change that reaches margin 1."""

    name = "pa"
    wanders = True
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/v"
    source = "Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, JMLR 7, 2006"
    learns_precision = False


class PA1(Rule):
    """PA-I: passive-aggressive with maximum step size ``C`` (hinge loss)."""

    name = "pa1"
    wanders = True
    acts_when = "m < 1"
    formula = "alpha = min(C, (1 - m)/v)"
    source = PA.source
    loss = "C"
    learns_precision = False
    C: float = parameter(POSITIVE, "maximum step size", default=1.0, grid=(0.01, 0.1, 1.0, 10.0))


class PA2(Rule):
    """PA-II: passive-aggressive with squared hinge loss."""

    name = "pa2"
    wanders = True
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/(v + 1/(2C))"
    source = PA.source
    loss = "C"
    learns_precision = False
    C: float = parameter(POSITIVE, "weight of the squared loss", default=1.0, grid=(0.01, 0.1, 1.0, 10.0))
