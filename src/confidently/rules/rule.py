"""The base of all rules: a frozen dataclass of parameters, and the compiled rule of the same name."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import ClassVar, Self

from .. import _core
from .parametric import Parametric, parameter
from .ranges import POSITIVE, Range

__all__ = ["ConfidenceRule", "Rule", "parameter"]


class Rule(Parametric):
    """Base of all rules, of which :func:`confidently.make_rule` makes one by its name."""

    acts_when: ClassVar[str]
    formula: ClassVar[str]
    source: ClassVar[str]
    projection: ClassVar[str] = "precision"  # what a diagonal covariance keeps by default of an updated Gaussian
    learns_precision: ClassVar[bool] = True  # False: zeta is always 0, and no covariance is stored
    multiclass: ClassVar[str] = "joint"  # the default task with three or more classes; "softmax": that too is possible
    predicts_numbers: ClassVar[bool] = False  # True: its examples have a number, the target, instead of a class
    squared_loss: ClassVar[bool] = False  # True: least squares, for which centered rows need no other intercept
    counts: ClassVar[bool] = False  # True: its examples have counts, of which the score is the logarithm
    wanders: ClassVar[bool] = False  # True: single rows move the weights, also after many
    counts_misses: ClassVar[bool] = False  # True: no classifier in the ellipsoid may satisfy an example
    loss: ClassVar[str | None] = None  # the parameter that the weight of an example multiplies, if there is one
    weight: ClassVar[str] = "min(w, 1) multiplies the step"  # what the weight does otherwise

    @classmethod
    def grid(cls) -> dict[str, tuple[float, ...]]:
        """Return the values that a grid search tries of each parameter that it varies; the default is among them."""
        return {f.name: f.metadata["grid"] for f in fields(cls) if f.metadata["grid"]}

    def core_parameters(self) -> list[float]:
        """Return the parameters of the compiled rule, in its order."""
        return [float(getattr(self, f.name)) for f in fields(self)]

    def score_noise(self) -> tuple[tuple[float, float], ...]:
        """Return weights and variances of the Gaussians whose mixture is the noise of the score.

        Uncalibrated probabilities are P(positive) = sum_i weight_i Phi(m/sqrt(noise_i + v)). By default there is no
        noise: that is the probability that a classifier drawn from the posterior predicts the positive class.
        """
        return ((1.0, 0.0),)

    def noise_variance(self) -> float:
        """Return the variance of targets around their score that a rule with targets assumes."""
        return 1.0

    @cached_property
    def compiled(self) -> _core.Rule:
        """The compiled rule."""
        return _core.Rule(self.name, self.core_parameters())


class ConfidenceRule(Rule):
    """Base of the rules that demand a margin of ``phi`` standard deviations.

    The confidence is set either by the probability ``eta`` of a correct classification, in (.5, 1), or by the normal
    quantile ``phi = Phi^-1(eta)`` > 0.
    """

    default_eta: ClassVar[float]
    eta_grid: ClassVar[tuple[float, ...]]
    eta: float | None = parameter(Range(0.5, 1.0), "probability of a correct classification", default=None)
    phi: float | None = parameter(POSITIVE, "eta as a normal quantile; use one of the two", default=None)

    def __post_init__(self) -> None:
        if self.eta is None and self.phi is None:
            object.__setattr__(self, "eta", self.default_eta)
        elif self.eta is not None and self.phi is not None:
            given = f"eta={self.eta!r}, phi={self.phi!r}"
            raise ValueError(f"{type(self).__name__}: eta and phi are mutually exclusive, got {given}; use one")
        super().__post_init__()

    @classmethod
    def grid(cls) -> dict[str, tuple[float, ...]]:
        return {"eta": cls.eta_grid, **super().grid()}

    def with_params(self, **changes: float | None) -> Self:
        if changes.get("phi") is not None and changes.get("eta") is None:
            changes["eta"] = None
        elif changes.get("eta") is not None and changes.get("phi") is None:
            changes["phi"] = None
        return super().with_params(**changes)

    def core_parameters(self) -> list[float]:
        others = [float(getattr(self, f.name)) for f in fields(self) if f.name not in ("eta", "phi")]
        return [self.quantile, *others]

    @property
    def quantile(self) -> float:
        """phi, also if the confidence was set by eta."""
        if self.phi is not None:
            return float(self.phi)
        assert self.eta is not None  # __post_init__ sets it
        from statistics import NormalDist  # imported here to save start-up time

        return NormalDist().inv_cdf(float(self.eta))
