"""The ellipsoid methods of Yang, Jin & Ye (2009)."""

from __future__ import annotations

from .ranges import POSITIVE, UNIT, Range
from .rule import Rule, parameter

__all__ = ["CELLIP", "IELLIP", "IELLIPMargin"]


class CELLIP(Rule):
    """Classical ellipsoid method: an ellipsoid around the part that the half-space of a mistake leaves.

    It tends to the smallest such ellipsoid as the number of features grows, which the formula does not depend on.

    Rows should have at most unit L2 norm, and the prior variance should be 1 + gamma (1 - a). An example whose
    half-space misses the ellipsoid (the data are not separable with that margin) is skipped and counted.
    """

    name = "cellip"
    acts_when = "m <= 0"
    formula = "t = (a gamma - m)/sqrt(v): alpha = t/sqrt(v), zeta = 2t/((1 - t) v), scale = 1 - t^2"
    source = "Yang, Jin & Ye, ICML 2009, eq. 10, 11"
    counts_misses = True
    gamma: float = parameter(POSITIVE, "margin", default=0.1, grid=(0.01, 0.1, 1.0))
    a: float = parameter(
        Range(0.0, 1.0, closed_low=True, closed_high=True),
        "fraction of the margin that a cut demands",
        default=0.5,
        grid=(0.5, 1.0),
    )


class IELLIP(Rule):
    """Improved ellipsoid method for noisy data: the cuts c_k = c b^k get shallower with every update k.

    Theorem 4 needs b + c < 1. The experiments of the paper use a prior variance of 0.1.
    """

    name = "iellip"
    wanders = True
    acts_when = "m <= 0"
    formula = "alpha = (gamma - m)/v, zeta = c_k/((1 - c_k) v), scale = 1/(1 - c_k)"
    source = "Yang, Jin & Ye, ICML 2009, eq. 10, 15"
    gamma: float = parameter(POSITIVE, "margin", default=0.1, grid=(0.01, 0.1, 1.0))
    b: float = parameter(UNIT, "decay of the cuts per update", default=0.3)
    c: float = parameter(UNIT, "depth of the first cut", default=0.1, grid=(0.01, 0.1, 0.5))


class IELLIPMargin(Rule):
    """IELLIP that acts below its margin and moves the mean by a fixed length in the metric of the ellipsoid.

    Our reading of the experiments of Yang, Jin & Ye (2009). As printed, `iellip` is hard PA on mistakes as soon as the
    cuts have vanished, and cannot give the figures; this step agrees with 17 of 20 statements about them. The cuts are
    c_k = b^(k + 1) after k updates.
    """

    name = "iellip_margin"
    wanders = True
    acts_when = "m < gamma"
    formula = "alpha = gamma/sqrt(v), zeta = c_k/((1 - c_k) v), scale = 1/(1 - c_k)"
    source = "a reading of Yang, Jin & Ye, ICML 2009, section 3"
    gamma: float = parameter(POSITIVE, "margin, and length of a step", default=0.1, grid=(0.01, 0.1, 1.0))
    b: float = parameter(UNIT, "first cut and decay of the cuts per update", default=0.3, grid=(0.1, 0.3, 0.6))
