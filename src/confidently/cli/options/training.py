"""Options of commands that train: shuffling, the model file, checkpoints and the model to begin with."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import click

from .arguments import NONNEGATIVE_INTEGER, POSITIVE_INTEGER, Integer, is_given, listed, quiet_option
from .files import CHECKPOINT, INPUT, MODEL_OUTPUT

# Options that change how to train but not the model: they may differ when training resumes.
NOT_IN_MODEL = ("data", "output_path", "as_json", "quiet", "cache", "checkpoint_every", "resume", "jobs")


def shuffle_options(default: str) -> list[Any]:
    """Return the options of shuffling, which are off unless a command says otherwise."""
    return [
        click.option(
            "--shuffle/--no-shuffle",
            default=None,
            help=f"Shuffle the rows, on a cluster within each chunk.  [default: {default}]",
        ),
        click.option(
            "--shuffle-buffer",
            type=Integer(2),
            help="With --shuffle, draw each row from INTEGER rows in memory.  [default: 100,000]",
        ),
        click.option("--seed", type=NONNEGATIVE_INTEGER, default=0, help="Seed of the order of shuffled rows."),
    ]


def check_shuffle(ctx: click.Context, options: dict[str, Any], by_default: bool = False) -> None:
    """Reject options of shuffling where rows are not shuffled; a seed may go with what is done ``by_default``."""
    names = ("shuffle_buffer",) if by_default and options["shuffle"] is None else ("shuffle_buffer", "seed")
    if not options["shuffle"] and (given := [name for name in names if is_given(ctx, name)]):
        raise click.UsageError(f"{listed(given)}: needs --shuffle")


def saving_options(rows_noun: str, init_model_help: str) -> list[Any]:
    """Return the options of a command that trains."""
    return [
        click.option(
            "-o", "--output", "output_path", metavar="MODEL", type=MODEL_OUTPUT, help="Save the model to MODEL."
        ),
        click.option(
            "--checkpoint-every",
            type=POSITIVE_INTEGER,
            help=f"Save a checkpoint to MODEL.checkpoint after every INTEGER {rows_noun}.",
        ),
        click.option(
            "--resume",
            is_flag=True,
            help="Resume from MODEL.checkpoint, or start if there is neither checkpoint nor model, to the same model "
            "bit by bit. --passes may change.",
        ),
        click.option("--init-model", metavar="MODEL", type=INPUT, help=init_model_help),
        quiet_option,
    ]


def continued_model(options: dict[str, Any]) -> str | None:
    """Return the model or the checkpoint whose training continues; ``None`` if training starts from scratch."""
    if options["init_model"]:
        return str(options["init_model"])
    checkpoint = f"{options['output_path']}{CHECKPOINT}"
    return checkpoint if options["resume"] and os.path.exists(checkpoint) else None


def check_saving(ctx: click.Context, options: dict[str, Any], with_init_model: Collection[str]) -> None:
    """Reject checkpoints without a model file, and options that an initial model determines.

    ``with_init_model`` are the options that may go with ``--init-model``.
    """
    for name in ("checkpoint_every", "resume"):
        if options[name] and not options["output_path"]:
            raise click.UsageError(f"{listed([name])} needs a model file for its checkpoint; use -o MODEL")
    if options["init_model"] is None:
        return
    given = [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name not in with_init_model and is_given(ctx, str(parameter.name))
    ]
    if given:
        raise click.UsageError(f"--init-model keeps the model's settings; omit {', '.join(given)}")
