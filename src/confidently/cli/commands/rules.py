"""``confidently rules``: the update rules."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import click

from ...rules import REGRESSION_RULES, RULES
from ...rules.rule import ConfidenceRule, Rule
from ..options.arguments import json_option
from ..options.command import Command
from ..options.rules import ALL_RULES
from ..output.text import say, table

EXAMPLES = (
    "confidently rules",
    "confidently rules arow",
)


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("name", required=False)
@json_option
def rules(name: str | None, as_json: bool) -> None:
    """List the update rules, or show one in detail.

    m is an example's margin under the mean of the weights and v its variance; alpha is the step of the mean and zeta
    the gain in precision. Rules of regressions have a score s and a target y instead of a margin.
    """
    if name is not None and name not in ALL_RULES:
        raise click.UsageError(f"unknown rule {name!r}; expected one of {', '.join(ALL_RULES)}")
    chosen = list(ALL_RULES.values()) if name is None else [ALL_RULES[name]]
    if as_json:
        described = [describe(rule) for rule in chosen]
        say(json.dumps(described if name is None else described[0], indent=1))
    elif name is None:
        say(f"{_listed('rule', RULES.values())}\n")
        say(f"{_listed('regression rule', REGRESSION_RULES.values())}\n")
        say("confidently rules NAME shows one rule in detail.")
    else:
        say(_detailed(chosen[0]))


def _listed(title: str, rules: Iterable[type[Rule]]) -> str:
    rows = [[rule.name, rule.acts_when, ", ".join(_default(p) for p in parameters(rule))] for rule in rules]
    return table([[title, "updates when", "parameters"], *rows], str.ljust)


def parameters(rule: type[Rule]) -> list[dict[str, Any]]:
    """Return a rule's parameters: name, default, range, meaning."""
    return [
        {
            "name": f.name,
            "default": rule.default_eta if f.name == "eta" and issubclass(rule, ConfidenceRule) else f.default,
            "range": str(f.metadata["range"]),
            "meaning": f.metadata["meaning"],
        }
        for f in fields(rule)
    ]


def describe(rule: type[Rule]) -> dict[str, Any]:
    """Return all facts about a rule as plain data."""
    return {
        "name": rule.name,
        "class": rule.__name__,
        "summary": _summary(rule),
        "parameters": parameters(rule),
        "acts_when": rule.acts_when,
        "predicts": "numbers" if rule.name in REGRESSION_RULES else "classes",
        "formula": rule.formula,
        "source": rule.source,
        "learns_precision": rule.learns_precision,
    }


def _summary(rule: type[Rule]) -> str:
    return (rule.__doc__ or "").strip().splitlines()[0]


def _default(parameter: dict[str, Any]) -> str:
    return parameter["name"] if parameter["default"] is None else f"{parameter['name']}={parameter['default']:g}"


def _detailed(rule: type[Rule]) -> str:
    lines = [f"{rule.name} ({rule.__name__})", f"  {_summary(rule)}", ""]
    lines += [f"  updates when  {rule.acts_when}", f"  formula       {rule.formula}", f"  source        {rule.source}"]
    if not rule.learns_precision:
        lines.append("  covariance    stays at its prior: the rule gains no precision")
    rows = [[f"    --{p['name']}", f"in {p['range']}", _default(p), p["meaning"]] for p in parameters(rule)]
    lines += ["", "  parameters", table(rows, str.ljust)] if rows else ["", "  no parameters"]
    return "\n".join(lines)
