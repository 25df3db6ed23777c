"""The rule, and one option for every parameter of every rule, derived from the rules themselves."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from ...rules import REGRESSION_RULES, RULES, make_rule
from ...rules.rule import Rule
from .sections import RULE, adding

PREFIX = "rule_parameter_"
ALL_RULES = {**RULES, **REGRESSION_RULES}


def parameters() -> dict[str, dict[str, list[str]]]:
    """Return the meanings of each parameter, by name, with the rules for which it has them.

    Rules of regressions are listed where no rule of classes has the parameter: help must stay short.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for rules in (RULES.values(), REGRESSION_RULES.values()):
        known = set(found)
        for rule in rules:
            for field in fields(rule):
                if field.name not in known:
                    found.setdefault(field.name, {}).setdefault(field.metadata["meaning"], []).append(rule.name)
    return found


PARAMETERS = parameters()


def parameter_help(name: str) -> str:
    """Return what a parameter means for each rule, and its defaults."""
    defaults: dict[str, list[str]] = {}
    for rule in (rule for rules in PARAMETERS[name].values() for rule in rules):
        value = ALL_RULES[rule]().get_params()[name]
        if value is not None:
            defaults.setdefault(f"{value:g}", []).append(rule)
    meanings = "; ".join(f"{', '.join(rules)}: {meaning}" for meaning, rules in PARAMETERS[name].items())
    if len(defaults) == 1:
        return f"{meanings}.  [default: {next(iter(defaults))}]"
    each = "; ".join(f"{', '.join(rules)}: {value}" for value, rules in defaults.items())
    return f"{meanings}." + (f"  [default: {each}]" if each else "")


rule_options = adding(
[
    click.option(
        "--rule", metavar="NAME",
        help="Train a single learner with this update rule; confidently rules lists them.  [default: see "
        "--auto; of a single one arow, of numbers ridge]",
    ),
    *(
        click.option(f"--{name}", PREFIX + name, type=float, metavar="FLOAT", help=parameter_help(name))
        for name in PARAMETERS
    ),
    click.option(
        "--rule-param", metavar="NAME=X", multiple=True, help="Set a parameter like --NAME X. Repeatable."
    ),
],
    RULE,
)  # fmt: skip


def chosen_rule(options: dict[str, Any]) -> Rule:
    """Make the rule that the options of :func:`rule_options` name."""
    parameters = {name: options[PREFIX + name] for name in PARAMETERS if options[PREFIX + name] is not None}
    for text in options["rule_param"]:
        name, equals, value = text.partition("=")
        try:
            if not equals or name in parameters:
                raise ValueError
            parameters[name] = float(value)
        except ValueError:
            raise click.UsageError(
                f"--rule-param: expected NAME=VALUE with a number, each name once, got {text!r}"
            ) from None
    try:
        return make_rule(options["rule"], **parameters)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
