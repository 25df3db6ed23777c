"""The table of rules: how far the Gaussian over weight vectors moves, given the margin of an example and its variance.

A rule is a small frozen dataclass of parameters. It depends on two numbers only, the mean ``m`` and the variance ``v``
of the margin. The formulas are compiled (``core/rules/``); ``tests/tables/rule_cases.py`` has them in plain Python, and
`docs/mathematics.md` derives them.
"""

from __future__ import annotations

import math
from types import ModuleType

from . import bayesian, confidence_weighted, ellipsoid, passive_aggressive, regression
from .ranges import POSITIVE, Range, UnknownChoice, check_number
from .rule import Rule


def _rules_of(*families: ModuleType) -> dict[str, type[Rule]]:
    """Return every rule of some modules by name, in the order of their definitions and of core/rules/table.hpp."""
    return {
        found.name: found
        for family in families
        for found in vars(family).values()
        if isinstance(found, type) and issubclass(found, Rule) and "name" in vars(found)
    }


RULES = _rules_of(passive_aggressive, confidence_weighted, ellipsoid, bayesian)  # whose examples have a class
REGRESSION_RULES = _rules_of(regression)  # and those whose examples have a number


def make_rule(rule: str | Rule, **parameters: float) -> Rule:
    """Return a rule, from its name or from another rule, with some parameters set.

    Parameters
    ----------
    rule : str or Rule
        A name in ``confidently.RULES`` or ``confidently.REGRESSION_RULES``, or an instance.
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
        known = RULES | REGRESSION_RULES
        if rule not in known:
            raise UnknownChoice.of("rule", rule, known)
        rule = known[rule]()
    elif not isinstance(rule, Rule):
        raise TypeError(f"rule: expected a rule such as AROW(r=0.1) or one of {', '.join(RULES)}, got {rule!r}")
    return rule.with_params(**parameters) if parameters else rule


def step(
    rule: str | Rule,
    margin: float,
    variance: float,
    *,
    target: float | None = None,
    weight: float = 1.0,
    updates: int = 0,
    **parameters: float,
) -> tuple[float, float, float] | None:
    """Return the step of a rule for a margin: three numbers, from the compiled core.

    mean <- mean + alpha y Sigma x;  Sigma^-1 <- (Sigma^-1 + zeta x x')/scale.

    Parameters
    ----------
    rule : str or Rule
        A rule or its name.
    margin : float
        m = y mean.x; negative for a misclassified example. With a target, the score s = mean.x.
    variance : float
        v = x' Sigma x > 0, the variance of the margin.
    target : float, optional
        The number y of the example, for the rules of ``confidently.REGRESSION_RULES``; then alpha multiplies Sigma x
        instead of y Sigma x.
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
        If the margin or target is not finite, the variance not positive and finite, or the weight or updates
        negative; if a target is missing, or the rule has none.

    Examples
    --------
    >>> step("arow", 0.5, 1.0, r=1.0)
    (0.25, 1.0, 1.0)
    >>> step("arow", 1.5, 1.0) is None
    True
    >>> step("ridge", 0.5, 1.0, target=2.0)
    (0.75, 1.0, 1.0)
    """
    rule = make_rule(rule, **parameters)
    compiled = rule.compiled
    check_number("step", "margin", margin, Range(-math.inf, math.inf))
    check_number("step", "variance", variance, POSITIVE)
    check_number("step", "weight", weight, Range(0.0, math.inf, closed_low=True))
    check_number("step", "updates", updates, Range(0.0, math.inf, closed_low=True))
    if rule.predicts_numbers and target is None:
        raise ValueError(f"step: the rule {rule.name} needs the target of the example; pass target=")
    if target is not None:
        if not rule.predicts_numbers:
            raise ValueError(
                f"step: the rule {rule.name} has no target; leave target out, or use one of "
                f"{', '.join(REGRESSION_RULES)}"
            )
        check_number("step", "target", target, Range(-math.inf, math.inf))
    if weight == 0.0:
        return None
    alpha, zeta, scale, _ = compiled.step(margin, variance, weight, updates, target)
    return (alpha, zeta, scale) if alpha or zeta else None
