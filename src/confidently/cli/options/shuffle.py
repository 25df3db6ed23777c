"""Options that shuffle the rows of a stream."""

from __future__ import annotations

from typing import Any

import click

from .arguments import NONNEGATIVE_INTEGER, Integer, add_options, is_given, listed

SHUFFLE = [
    click.option("--shuffle", is_flag=True, help="Shuffle the rows, in a buffer; on a cluster, within each chunk."),
    click.option(
        "--shuffle-buffer",
        type=Integer(2),
        help="With --shuffle, draw each row from INTEGER rows in memory.  [default: 100,000]",
    ),
    click.option("--seed", type=NONNEGATIVE_INTEGER, default=0, help="Seed of --shuffle."),
]


def shuffle_options(command: Any) -> Any:
    """Add the options to a command."""
    return add_options(command, SHUFFLE)


def check_shuffle(ctx: click.Context, options: dict[str, Any]) -> None:
    """Reject options of shuffling without ``--shuffle``."""
    if not options["shuffle"] and (given := [name for name in ("shuffle_buffer", "seed") if is_given(ctx, name)]):
        raise click.UsageError(f"{listed(given)}: needs --shuffle")
