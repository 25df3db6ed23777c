"""The table of rules: how far the Gaussian over weight vectors moves, given the margin of an example and its variance.

A rule is a small frozen dataclass of parameters. It depends on two numbers only, the mean ``m`` and the variance ``v``
of the margin. The formulas are compiled (``core/rules/``); ``tests/tables/rule_cases.py`` has them in plain Python, and
`docs/mathematics.md` derives them.
"""

from __future__ import annotations

import math

from . import bayesian, confidence_weighted, ellipsoid, passive_aggressive
from .ranges import POSITIVE, Range, UnknownChoice, check_number
from .rule import Rule

# Every rule of these modules, in the order of their definitions and of core/rules/table.hpp.
RULES: dict[str, type[Rule]] = {
    found.name: found
    for family in (passive_aggressive, confidence_weighted, ellipsoid, bayesian)
    for found in vars(family).values()
    if isinstance(found, type) and issubclass(found, Rule) and "name" in vars(found)
}


def make_rule(rule: str | Rule, **parameters: float) -> Rule:
    """Return a rule, from its name or from another rule, with some parameters set.

    Parameters
    ----------
    rule : str or Rule
        A name in ``confidently.RULES``, or an instance.
    **parameters : float
        Parameters to set.

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        For an unknown name, an unknown parameter or a value out of its range. The message lists the allowed ones.

    Examples
    --------
    >>> make_rule("arow", r=1.0)
    AROW(r=1.0)
    """
    if isinstance(rule, str):
        if rule not in RULES:
            raise UnknownChoice(f"unknown rule {rule!r}; expected one of {', '.join(RULES)}")
        rule = RULES[rule]()
    elif not isinstance(rule, Rule):
        raise TypeError(f"rule: expected a rule such as AROW(r=0.1) or one of {', '.join(RULES)}, got {rule!r}")
    return rule.with_params(**parameters) if parameters else rule


def step(
    rule: str | Rule, margin: float, variance: float, *, weight: float = 1.0, updates: int = 0, **parameters: float
) -> tuple[float, float, float] | None:
    """Return the step of a rule for a margin: three numbers, from the compiled core.

    mean <- mean + alpha y Sigma x;  Sigma^-1 <- (Sigma^-1 + zeta x x')/scale.

    Parameters
    ----------
    rule : str or Rule
        A rule or its name.
    margin : float
        m = y mean.x; negative for a misclassified example.
    variance : float
        v = x' Sigma x > 0, the variance of the margin.
    weight : float
        Weight of the example, >= 0.
    updates : int
        Number of updates before this one, >= 0. Only IELLIP uses it.
    **parameters : float
        Parameters of the rule, as in :func:`make_rule`.

    Returns
    -------
    (alpha, zeta, scale) or None
        None if the rule does not act on the example.

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
