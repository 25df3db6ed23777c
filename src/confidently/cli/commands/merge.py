"""``confidently merge``: one model from several."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ...wording import counted
from ..inputs import BadInput, kind_of_model, reported
from ..options.arguments import json_option
from ..options.command import Command
from ..options.files import INPUT, OUTPUT
from ..output.model_summaries import model_facts, model_text
from ..output.text import say, table

if TYPE_CHECKING:
    from ...models.model import Model

MERGED_OTHERWISE = ("entities", "decisions")
MAX_MODELS_LISTED = 20  # models in the summary


EXAMPLES = (
    "confidently train messages.jsonl -o first.cw",
    "confidently train new.jsonl -o second.cw",
    "confidently merge first.cw second.cw -o both.cw",
)


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True, type=INPUT)
@click.option(
    "-o", "--output", "output_path", metavar="MODEL", required=True, type=OUTPUT, help="Save the merged model to MODEL."
)
@click.option(
    "--base",
    metavar="MODEL",
    type=INPUT,
    help="Count this model once: all others were trained from it with train --init-model.  [default: none]",
)
@click.option(
    "--how",
    type=click.Choice(["product", "mean"]),
    default="product",
    help="Multiply the Gaussians, so that evidence adds up, or average them.",
)
@json_option
def merge(paths: tuple[str, ...], output_path: str, base: str | None, how: str, as_json: bool) -> None:
    """Merge models that were trained separately.

    The merged Gaussian is the product of the models' Gaussians: the evidence about each weight adds up, and the common
    prior counts once. Models must have the same rule, settings and reading options. Features are aligned by name, or by
    number if they have no names; classes are aligned by name. Rows, mistakes and updates are added. Ridge regressions
    with a full covariance are merged exactly: weights and variances are those of one training on all rows. Models of
    train --key and of train --bandit are merged in the same way. The order of the models changes predictions by
    rounding only.
    """
    _check_distinct(paths)
    from ...models.merged_learner import MergeError
    from ...models.stack_merging import merge_all

    if (kind := kind_of_model(paths[0])) in MERGED_OTHERWISE:
        if how != "product":
            raise click.UsageError(f"--how {how}: of classifiers and regressions; omit it")
        result = _merge_others(str(kind), paths, output_path, base)
        say(json.dumps(result) if as_json else table([[name, str(value)] for name, value in result.items()], str.ljust))
        return
    models = _loaded([*paths, *([base] if base else [])])
    start = models.pop() if base else None
    try:
        merged = merge_all(models, paths, start, base or "", how)
    except MergeError as error:
        raise BadInput(str(error)) from None
    merged.save(output_path)
    result = model_facts(merged, output_path) | {"how": how, "base": base, "merged": list(map(_part, paths, models))}
    say(json.dumps(result) if as_json else _summary(result))


def _merge_others(kind: str, paths: Sequence[str], output_path: str, base: str | None) -> dict[str, Any]:
    """Merge models of entities or of decisions; return the summary."""
    from ...models.merged_learner import MergeError

    load: Any
    together: Any
    if kind == "entities":
        from ...entities.merging import merge_entities as together
        from ...entities.models import EntityModels

        load, count = EntityModels.load, "n_seen_"
    else:
        from ...bandits.decision_merging import merge_decisions as together
        from ...bandits.decision_model import DecisionModel

        load, count = DecisionModel.load, "n_learned"
    with reported():
        models, start = [load(path) for path in paths], load(base) if base else None
    try:
        merged = together(models, start)
    except (MergeError, ValueError) as error:
        raise BadInput(str(error)) from None
    merged.save(output_path)
    rows = "rows" if kind == "entities" else "rewards"
    return {
        "merged": len(paths), "base": base or "none", rows: getattr(merged, count), "model": output_path,
        "model_bytes": os.path.getsize(output_path),
    }  # fmt: skip


def _loaded(paths: Sequence[str]) -> list[Model]:
    """Return models, which must be all classifiers or all regressions."""
    from ...models.model import Model

    with reported():
        models = [Model.load(path) for path in paths]
    for path, model in zip(paths, models, strict=True):
        if model.kind != models[0].kind:
            numbers, classes = (path, paths[0]) if model.learner.task.regression else (paths[0], path)
            raise BadInput(f"{numbers} predicts numbers and {classes} classes; merge models of one kind")
    return models


def _check_distinct(paths: tuple[str, ...]) -> None:
    """Reject duplicate models, whose rows would count twice."""
    seen = set()
    for path in paths:
        if (real := os.path.realpath(path)) in seen:
            raise click.UsageError(f"{path}: duplicate model, whose rows would count twice; pass it once")
        seen.add(real)


def _part(path: str, model: Model) -> dict[str, Any]:
    learner = model.learner
    return {
        "model": path,
        "rows_seen": learner.n_seen,
        **({"mistakes": learner.mistakes} if "error" in learner.task.measures else {}),
        "updates": learner.updates,
        "features": learner.n_features,
    }


def _summary(result: dict[str, Any]) -> str:
    parts = result["merged"]
    names = [name for name in parts[0] if name != "model"]
    rows = [[part["model"], *(f"{part[name]:,}" for name in names)] for part in parts[:MAX_MODELS_LISTED]]
    more = [f"and {len(parts) - MAX_MODELS_LISTED:,} more"] if len(parts) > MAX_MODELS_LISTED else []
    trained = f", all trained from {result['base']}" if result["base"] else ""
    return "\n".join(
        [
            table([["model", *(name.removesuffix("_seen") for name in names)], *rows]),
            *more,
            f"{result['how']} of {counted(len(parts), 'model')}{trained}",
            "",
            model_text(result),
        ]
    )
