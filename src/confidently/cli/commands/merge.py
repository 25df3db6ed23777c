"""``confidently merge``: one model of several that were trained apart."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from ..common import BadInput, check_output, json_option, load_model, table

if TYPE_CHECKING:
    from ...models.model import Model

MAX_LISTED = 20  # models in the summary


@click.command()
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "-o", "--output", "output_path", metavar="MODEL", required=True, help="Save the merged model in this file."
)
@click.option(
    "--base",
    metavar="MODEL",
    help="The model that all of them went on from (train --start), which is counted once; by default each began anew.",
)
@click.option(
    "--how",
    type=click.Choice(["product", "mean"]),
    default="product",
    show_default=True,
    help="Add what each model has learned, or average it.",
)
@json_option
def merge(paths: tuple[str, ...], output_path: str, base: str | None, how: str, as_json: bool) -> None:
    """Merge models that were trained apart into one.

    Their Gaussians are multiplied: each weight's evidence adds up, and what all models began with counts once. Models
    must have the same rule and form and have read their rows alike. Features are aligned by name, or by number where
    they have none, and classes by name. Rows, mistakes and updates are added.
    """
    check_output(output_path, [*paths, *([base] if base else [])])
    _check_distinct(paths)
    from ...models.merged_learner import MergeError
    from ...models.merging import merge_models
    from ..output.model_facts import facts_of

    models = [load_model(path) for path in paths]
    start = load_model(base) if base else None
    try:
        merged = merge_models(models, paths, start, base or "", how)
    except MergeError as error:
        raise BadInput(str(error)) from None
    merged.save(output_path)
    result = facts_of(merged, output_path) | {"how": how, "base": base, "merged": list(map(_part, paths, models))}
    click.echo(json.dumps(result) if as_json else _summary(result))


def _check_distinct(paths: tuple[str, ...]) -> None:
    """A model given twice would count its rows twice."""
    seen = set()
    for path in paths:
        if (real := os.path.realpath(path)) in seen:
            raise click.UsageError(f"{path} is given twice: its rows would count twice")
        seen.add(real)


def _part(path: str, model: Model) -> dict[str, Any]:
    learner = model.learner
    return {
        "model": path,
        "rows_seen": learner.n_seen,
        "mistakes": learner.mistakes,
        "updates": learner.updates,
        "features": learner.n_features,
    }


def _summary(result: dict[str, Any]) -> str:
    from ..output.model_facts import facts_text

    parts, names = result["merged"], ("rows_seen", "mistakes", "updates", "features")
    rows = [[part["model"], *(f"{part[name]:,}" for name in names)] for part in parts[:MAX_LISTED]]
    more = [f"and {len(parts) - MAX_LISTED:,} more"] if len(parts) > MAX_LISTED else []
    begun = f", each gone on from {result['base']}" if result["base"] else ""
    return "\n".join(
        [
            table([["model", "rows", "mistakes", "updates", "features"], *rows]),
            *more,
            f"{result['how']} of {len(parts):,} models{begun}",
            "",
            facts_text(result),
        ]
    )
