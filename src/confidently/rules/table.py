"""The rules: how far to move the Gaussian over weight vectors, given a margin and its variance.

Every rule is a small frozen dataclass of parameters. It knows two numbers, the margin's mean ``m`` and variance
``v``, and nothing of rows, arrays, labels or memory; the formula itself is compiled (``core/rules/``) and stated once
more, plainly, in ``tests/twins/reference.py``. `docs/mathematics.md` derives them.
"""

from __future__ import annotations

import math

from . import bayesian, confidence_weighted, ellipsoid, passive_aggressive
from .ranges import POSITIVE, Range, check_number
from .rule import Rule

# Every rule of these modules, in the order of their definitions and of core/rules/table.hpp.
RULES: dict[str, type[Rule]] = {
    found.name: found
    for family in (passive_aggressive, confidence_weighted, ellipsoid, bayesian)
    for found in vars(family).values()
    if isinstance(found, type) and issubclass(found, Rule) and "name" in vars(found)
}


def make_rule(rule: str | Rule, **parameters: float) -> Rule:
    """A rule from its name or from a rule, with some parameters set.

    Parameters
    ----------
    rule : str or Rule
        One of ``confidently.RULES``, or an instance.
    **parameters : float
        Parameters to set.

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        For an unknown name, an unknown parameter or a value out of its range; the message lists what is allowed.

    Examples
    --------
    >>> make_rule("arow", r=1.0)
    AROW(r=1.0)
    """
    if isinstance(rule, str):
        if rule not in RULES:
            raise ValueError(f"no rule is called {rule!r}; there are {', '.join(RULES)}")
        rule = RULES[rule]()
    elif not isinstance(rule, Rule):
        raise TypeError(f"rule must be a name ({', '.join(RULES)}) or a rule such as AROW(r=0.1), got {rule!r}")
    return rule.with_params(**parameters) if parameters else rule


def step(
    rule: str | Rule, margin: float, variance: float, *, weight: float = 1.0, updates: int = 0, **parameters: float
) -> tuple[float, float, float] | None:
    """What a rule does with a margin: the update's three numbers, from the compiled core.

    mean <- mean + alpha y Sigma x;  Sigma^-1 <- (Sigma^-1 + zeta x x')/scale.

    Parameters
    ----------
    rule : str or Rule
        A rule or its name.
    margin : float
        m = y mean.x, signed: negative means the example is classified wrongly.
    variance : float
        v = x' Sigma x > 0, variance of the margin.
    weight : float
        Weight of the example, >= 0.
    updates : int
        Updates made before this one (IELLIP's cuts get shallower with them).
    **parameters : float
        Parameters of the rule, as in :func:`make_rule`.

    Returns
    -------
    (alpha, zeta, scale) or None
        None: the rule passes the example over.

    Raises
    ------
    ValueError
        If the margin is not finite, the variance not positive and finite, or the weight or updates negative.

    Examples
    --------
    >>> step("arow", 0.5, 1.0, r=1.0)
    (0.25, 1.0, 1.0)
    >>> step("arow", 1.5, 1.0) is None
    True
    """
    compiled = make_rule(rule, **parameters).compiled
    check_number("step", "margin", margin, Range(-math.inf, math.inf))
    check_number("step", "variance", variance, POSITIVE)
    check_number("step", "weight", weight, Range(0.0, math.inf, closed_low=True))
    check_number("step", "updates", updates, Range(0.0, math.inf, closed_low=True))
    if weight == 0.0:
        return None
    alpha, zeta, scale, _ = compiled.step(margin, variance, weight, updates)
    return (alpha, zeta, scale) if alpha or zeta else None
