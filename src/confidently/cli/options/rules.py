"""An option for every parameter of every rule, made from the rules themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from ...rules import RULES, make_rule
from ...rules.rule import Rule
from .sections import in_section

PREFIX = "rule_parameter_"
PARAMETERS: dict[str, list[type[Rule]]] = {}
for _rule in RULES.values():
    for _field in fields(_rule):
        PARAMETERS.setdefault(_field.name, []).append(_rule)


def _help(name: str) -> str:
    rules = PARAMETERS[name]
    meaning = next(f for f in fields(rules[0]) if f.name == name).metadata["meaning"]
    return f"{meaning[0].upper()}{meaning[1:]} ({', '.join(rule.name for rule in rules)})."


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--rule``, an option for every parameter and ``--rule-param NAME=VALUE`` to a command."""
    options = [
        click.option(
            "--rule", default="arow", metavar="NAME", show_default=True, help="How to learn; see: confidently rules."
        ),
        *(click.option(f"--{name}", PREFIX + name, type=float, metavar="X", help=_help(name)) for name in PARAMETERS),
        click.option("--rule-param", metavar="NAME=VALUE", multiple=True, help="The same as --NAME VALUE."),
    ]
    for option in reversed(in_section("The rule", options)):
        command = option(command)
    return command


def chosen_rule(options: dict[str, Any]) -> Rule:
    """Take the options of :func:`rule_options` out of ``options`` and make the rule they ask for."""
    parameters = {name: options.pop(PREFIX + name) for name in PARAMETERS}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    for text in options.pop("rule_param"):
        name, equals, value = text.partition("=")
        try:
            if not equals or name in parameters:
                raise ValueError
            parameters[name] = float(value)
        except ValueError:
            raise click.UsageError(
                f"--rule-param takes NAME=VALUE with a number, each name once; got {text!r}"
            ) from None
    try:
        return make_rule(options.pop("rule"), **parameters)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
