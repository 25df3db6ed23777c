"""``confidently train`` on a cluster: its options, and a training whose rounds the cluster learns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..common import BadInput
from ..options.learner import continued
from .position import Standing
from .saving import is_given

if TYPE_CHECKING:
    from ...distributed.rounds import Round, Rounds
    from .classifier import Training

ONLY_HERE = ("parts", "rounds", "shuffle")
NOT_HERE = ("cache", "validation", "holdout", "early_stop", "patience", "checkpoint_every", "resume", "forget")

cluster_options = [
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="Learn in N processes on this machine, each a part of the data, merged again and again.",
    ),
    click.option(
        "--scheduler", metavar="ADDRESS", help="The same on a cluster of dask.distributed, as tcp://host:8786."
    ),
    click.option(
        "--parts",
        type=click.IntRange(1),
        metavar="P",
        help="How many parts learn side by side; the result depends on them, not on workers. [default: as many]",
    ),
    click.option(
        "--rounds",
        type=click.IntRange(1),
        metavar="R",
        help="How many times the parts are merged in a pass: more are nearer to one learner. [default: 16]",
    ),
    click.option(
        "--shuffle",
        type=click.Choice(["within", "between"]),
        help="Learn the rows of every slice in random order; or deal all data out at random, too.",
    ),
]


def on_cluster(options: dict[str, Any]) -> bool:
    """Whether a cluster was asked for."""
    return options["workers"] is not None or options["scheduler"] is not None


def check_cluster(ctx: click.Context, data: Sequence[str], options: dict[str, Any]) -> None:
    """Refuse what does not go together."""
    if not on_cluster(options):
        if given := _given(ctx, ONLY_HERE):
            raise click.UsageError(f"{given} is for a cluster: give --workers N or --scheduler ADDRESS")
        return
    if options["workers"] is not None and options["scheduler"] is not None:
        raise click.UsageError("--workers starts processes here and --scheduler has its own: give one of them")
    if given := _given(ctx, NOT_HERE):
        raise click.UsageError(f"a cluster learns without {given}: leave that out, or train without a cluster")
    if "-" in data:
        raise click.UsageError("workers open their data themselves: give files, not standard input")


def _given(ctx: click.Context, names: Sequence[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names if is_given(ctx, name))


def learn_on_cluster(training: Training, paths: Sequence[str], passes: int) -> dict[str, Any]:
    """Have a training's data learned by a cluster; returns an account of the cluster.

    Raises
    ------
    BadInput
        If dask.distributed is not installed, no scheduler answers, or a worker is lost again and again.
    """
    try:
        from ...distributed.cluster import connected, dashboard, n_threads
        from ...distributed.training import surveyed
    except ImportError as error:
        raise BadInput(f"{error}") from None
    from distributed.scheduler import KilledWorker

    options = training.options
    try:
        with connected(options["scheduler"], options["workers"]) as client:
            threads = n_threads(client)
            parts = options["parts"] or threads
            task = training.learner.learner.settings.task
            multilabel = True if options["multilabel"] else None if options["start"] is None else task == "multilabel"
            found = surveyed(client, paths, training.reading, multilabel, options["on_error"])
            if found.multilabel and task != "multilabel":
                training.start_anew(multilabel=True)
            rounds = _rounds(client, training, found, parts, passes)
            training.report.note(
                "cluster", f"{parts} parts on {threads} workers, {len(rounds)} rounds; {dashboard(client)}",
                workers=threads, parts=parts, rounds=len(rounds), scheduler=client.scheduler.address,
                dashboard=dashboard(client),
            )  # fmt: skip
            moved = _learn(training, rounds, passes, sum(found.sizes))
            return {"workers": threads, "parts": parts, "rounds": len(rounds), "bytes_moved": moved}
    except (OSError, TimeoutError) as error:
        raise BadInput(str(error)) from error
    except KilledWorker as error:
        raise BadInput(f"a part has lost four workers, one after the other (too little memory?): {error}") from error


def _rounds(client: Any, training: Training, found: Any, parts: int, passes: int) -> Rounds:
    from ...distributed.training import DEFAULT_ROUNDS, training_on_files

    options = training.options
    return training_on_files(
        client, found, training.model(), parts, rounds=options["rounds"] or DEFAULT_ROUNDS, passes=passes,
        shuffle=options["shuffle"], on_error=options["on_error"],
        calibrate=training.estimator["calibration"] is not None,
    )  # fmt: skip


def _learn(training: Training, rounds: Rounds, passes: int, size: int) -> int:
    """Every round, as a stretch of a pass; bytes that were moved."""
    position, report, moved = training.position, training.report, 0
    each, began = max(len(rounds) // passes, 1), time.monotonic()
    calibrated = training.estimator["calibration"] is not None
    try:
        for number, account in enumerate(rounds):
            if number % each == 0:
                position.now = Standing(log_loss=0.0 if calibrated and number == 0 else None)
                report.begin(position.passes + 1, passes, position.now, size)
            position.now = _after(position.now, account, size * (number % each + 1) // each)
            moved += account.bytes_moved
            training.data.skipped += account.skipped if number < each else 0
            training.data.skipped_examples = (training.data.skipped_examples + account.skipped_examples)[:5]
            report.update(position.now)
            if number % each == each - 1:
                report.end(position.now)
                position.end_pass()
    finally:
        report.close()
        position.seconds = time.monotonic() - began
    training.learner = continued(rounds.model)
    return moved


def _after(now: Standing, account: Round, done: int) -> Standing:
    return Standing(
        now.rows + account.rows, now.learned + account.learned, now.mistakes + account.mistakes,
        now.updates + account.updates, None if now.log_loss is None else now.log_loss + account.log_loss, done,
        now.seconds + account.seconds,
    )  # fmt: skip
