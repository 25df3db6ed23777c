"""Options of training on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from .arguments import POSITIVE_INTEGER, is_given, listed
from .sections import CLUSTER, adding

CLUSTER_ONLY = ("partitions", "rounds", "shuffle_partitions")
LOCAL_ONLY = (
    "shuffle_buffer",
    "seed",
    "cache",
    "coverage_by",
    "validation",
    "holdout",
    "early_stop",
    "patience",
    "checkpoint_every",
    "resume",
    "forget",
)

_OPTIONS = [
    click.option(
        "--workers",
        type=POSITIVE_INTEGER,
        help="Train in this many processes on this machine, each on partitions of the data, merged after every round.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Train on a dask.distributed cluster at tcp://HOST:PORT."),
    click.option(
        "--partitions",
        type=POSITIVE_INTEGER,
        help="Divide the data into this many partitions; the result depends on them, not on the workers.  [default: "
        "one per worker thread]",
    ),
    click.option(
        "--rounds",
        type=POSITIVE_INTEGER,
        help="Merge the partitions this many times per pass; with more rounds the result is closer to training on one "
        "machine.  [default: 16]",
    ),
    click.option("--shuffle-partitions", is_flag=True, help="Shuffle the rows of each chunk and between partitions."),
]
cluster_options = adding(_OPTIONS, CLUSTER)


def on_cluster(options: dict[str, Any]) -> bool:
    """Return whether to train on a cluster."""
    return options["workers"] is not None or options["scheduler"] is not None


def check_cluster(ctx: click.Context, data: Sequence[str], options: dict[str, Any]) -> None:
    """Reject options that do not fit together."""
    if not on_cluster(options):
        if given := _given(ctx, CLUSTER_ONLY):
            raise click.UsageError(f"{given}: needs a cluster; use --workers or --scheduler")
        return
    if options["workers"] is not None and options["scheduler"] is not None:
        raise click.UsageError("--workers and --scheduler are mutually exclusive; use one")
    if given := _given(ctx, LOCAL_ONLY):
        raise click.UsageError(f"{given}: not supported on a cluster; train without one")
    if "-" in data:
        raise click.UsageError("workers open the data themselves, got standard input; use files")


def _given(ctx: click.Context, names: Sequence[str]) -> str:
    return listed(name for name in names if is_given(ctx, name))
