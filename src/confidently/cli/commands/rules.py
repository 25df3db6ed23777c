"""``confidently rules``: what rules there are."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import click

from ...rules import RULES
from ...rules.rule import ConfidenceRule, Rule
from ..common import json_option, table


@click.command()
@click.argument("name", required=False)
@json_option
def rules(name: str | None, as_json: bool) -> None:
    """Show the rules there are, or one of them in detail.

    m is the margin of an example under the mean of the weights, v its variance; alpha is how far the mean moves,
    zeta how much precision is gained.
    """
    if name is not None and name not in RULES:
        raise click.UsageError(f"no rule is called {name!r}; there are {', '.join(RULES)}")
    chosen = list(RULES.values()) if name is None else [RULES[name]]
    if as_json:
        described = [describe(rule) for rule in chosen]
        click.echo(json.dumps(described if name is None else described[0], indent=1))
    elif name is None:
        heading = ["rule", "acts when", "parameters"]
        rows = [[rule.name, rule.acts_when, ", ".join(_default(p) for p in parameters(rule))] for rule in chosen]
        click.echo(table([heading, *rows], str.ljust))
        click.echo("\nconfidently rules NAME shows one in detail.")
    else:
        click.echo(_detailed(chosen[0]))


def parameters(rule: type[Rule]) -> list[dict[str, Any]]:
    """A rule's parameters: name, default, range, meaning."""
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
    """Everything there is to say of a rule, as plain data."""
    return {
        "name": rule.name,
        "class": rule.__name__,
        "summary": _summary(rule),
        "parameters": parameters(rule),
        "acts_when": rule.acts_when,
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
    lines += [f"  acts when   {rule.acts_when}", f"  formula     {rule.formula}", f"  source      {rule.source}"]
    if not rule.learns_precision:
        lines.append("  covariance  stays at its prior: the rule gains no precision")
    rows = [[f"    --{p['name']}", f"in {p['range']}", _default(p), p["meaning"]] for p in parameters(rule)]
    lines += ["", "  parameters", table(rows, str.ljust)] if rows else ["", "  no parameters"]
    return "\n".join(lines)
