"""Options of models of entities."""

from __future__ import annotations

from typing import Any

import click

from ..inputs import kind_of_model
from .arguments import POSITIVE_INTEGER, is_given, listed
from .sections import TRAINING, adding

_OPTIONS = [
    click.option(
        "--key", metavar="COLUMN", help="Train a small model for each value of this column, around a shared one."
    ),
    click.option(
        "--max-entities",
        type=POSITIVE_INTEGER,
        help="With --key, keep at most this many of them, those that were seen last.",
    ),
    click.option(
        "--max-age", type=POSITIVE_INTEGER, help="With --key, forget those that had none of the last INTEGER rows."
    ),
]
entity_options = adding(_OPTIONS, TRAINING)
OF_ENTITIES = ("max_entities", "max_age")
WITHOUT_KEY = (  # what has no meaning, or no support, for entities
    "auto", "passes", "cache", "coverage_by", "validation", "holdout", "early_stop", "patience", "checkpoint_every",
    "resume", "workers", "scheduler", "partitions", "rounds", "shuffle", "shuffle_buffer", "shuffle_partitions", "seed",
    "multilabel", "encoder",
)  # fmt: skip
WITH_INIT_MODEL = ("key", "data", "output_path", "as_json", "quiet", "init_model", "on_error")
WITH_PREDICTION = ("model_path", "data", "output_path", "output_format", "csv_safe", "as_json", "proba", "std", "keep")
WITH_INSPECTION = ("model_path", "top", "key", "as_json")
WITH_EVALUATION = ("model_path", "data", "abstain", "risk_coverage", "by", "missing_label", "plot", "as_json")
OF_READING = ("strict", "encoding", "delimiter", "quiet", "on_error")


def check_key(ctx: click.Context, options: dict[str, Any]) -> None:
    """Raise an error for options that do not go together."""
    given = [name for name in ctx.params if is_given(ctx, name)]
    if options["key"] is None:
        if wrong := [name for name in given if name in OF_ENTITIES]:
            raise click.UsageError(f"{listed(wrong)} needs --key")
        return
    if wrong := [name for name in given if name in WITHOUT_KEY]:
        raise click.UsageError(f"{listed(wrong)}: not supported with --key; omit it")
    if options["init_model"] and (wrong := [name for name in given if name not in WITH_INIT_MODEL]):
        raise click.UsageError(f"{listed(wrong)}: --init-model keeps the model's settings; omit it")


def is_entities(path: str) -> bool:
    """Return whether a file is that of models of entities."""
    return kind_of_model(path) == "entities"


def check_prediction(ctx: click.Context) -> None:
    """Raise an error for options that predictions of entities do not have."""
    given = [name for name in ctx.params if is_given(ctx, name)]
    if wrong := [name for name in given if name not in (*WITH_PREDICTION, *OF_READING)]:
        raise click.UsageError(f"{listed(wrong)}: not supported for a model of train --key; omit it")


def check_evaluation(ctx: click.Context) -> None:
    """Raise an error for options that the evaluation of entities does not have."""
    given = [name for name in ctx.params if is_given(ctx, name)]
    if wrong := [name for name in given if name not in (*WITH_EVALUATION, *OF_READING)]:
        raise click.UsageError(f"{listed(wrong)}: not supported for a model of train --key; omit it")


def check_inspection(ctx: click.Context) -> None:
    """Raise an error for options that the inspection of entities does not have."""
    given = [name for name in ctx.params if is_given(ctx, name)]
    if wrong := [name for name in given if name not in WITH_INSPECTION]:
        raise click.UsageError(f"{listed(wrong)}: not supported for a model of train --key; omit it")
