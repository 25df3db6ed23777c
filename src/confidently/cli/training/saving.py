"""What commands that train have in common: where the model goes, checkpoints and what an interruption leaves."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

from ...data.sources.whole_files import WINDOWS

if TYPE_CHECKING:
    from ..output.progress import Quiet
    from .checkpoint import Checkpoints
    from .passes import Passes

# Options that say how to train, not what: they may be others when a training is resumed.
HOW = ("data", "output_path", "as_json", "quiet", "cache", "checkpoint_every", "resume", "jobs")


def saving_options(rows_called: str, start_help: str) -> list[Any]:
    """Options about the model's file, checkpoints and what to begin with."""
    return [
        click.option("-o", "--output", "output_path", metavar="MODEL", help="Save the model in this file."),
        click.option(
            "--checkpoint-every",
            type=click.IntRange(1),
            metavar="N",
            help=f"Every N {rows_called}, save what --resume needs in MODEL.checkpoint.",
        ),
        click.option(
            "--resume",
            is_flag=True,
            help="Go on from MODEL.checkpoint, if there is one, exactly as if training had never stopped.",
        ),
        click.option("--start", metavar="MODEL", help=start_help),
        click.option("-q", "--quiet", is_flag=True, help="Do not report progress."),
    ]


def check_saving(ctx: click.Context, options: dict[str, Any], with_start: Collection[str]) -> None:
    """Refuse a checkpoint without a model to stand beside, and options that a model to start from has already.

    ``with_start`` are the options that may go with ``--start``.
    """
    for name in ("checkpoint_every", "resume"):
        if options[name] and not options["output_path"]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs -o MODEL: a checkpoint stands beside the model")
    if options["start"] is None:
        return
    given = [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name not in with_start and is_given(ctx, str(parameter.name))
    ]
    if given:
        raise click.UsageError(f"--start goes on with the model's own settings: leave out {', '.join(given)}")


def is_given(ctx: click.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def checkpoints_of(
    ctx: click.Context, data: Sequence[str], options: dict[str, Any], report: Quiet
) -> Checkpoints | None:
    """The checkpoint beside the model to be; ``None`` if there is to be no model file."""
    if options["output_path"] is None:
        return None
    from ...data.cache.building import fingerprints
    from .checkpoint import Checkpoints

    described = {
        max(parameter.opts, key=len): options[str(parameter.name)]
        for parameter in ctx.command.params
        if parameter.name not in HOW and options[str(parameter.name)] not in (None, ())
    }
    start = [options["start"]] if options["start"] else []
    run = {
        "options": json.loads(json.dumps(described)),
        "data": fingerprints([*start, *data]),
        "validation": fingerprints(options.get("validation", ())),
    }
    checkpoints = Checkpoints(options["output_path"], options["checkpoint_every"], run)
    if checkpoints.path.exists() and not options["resume"]:
        report.note(
            "restart", f"{checkpoints.path} is there: this training begins anew; --resume would have gone on from it"
        )
    return checkpoints


def run_to_end(training: Passes) -> None:
    """Train; after a signal, say how to go on, and end as it asks."""
    from .interrupts import Interrupted

    try:
        training.run()
    except Interrupted as interrupted:
        _say_how_to_resume(training)
        raise click.exceptions.Exit(interrupted.exit_code) from None


def _say_how_to_resume(training: Passes) -> None:
    position, checkpoints = training.position, training.checkpoints
    if not training.has_learned:
        click.echo("confidently: interrupted before anything was learned: nothing is saved", err=True)
        return
    rows = f"{position.now.rows:,} {training.rows_called}"
    click.echo(f"confidently: interrupted after {rows} of pass {position.passes + 1}", err=True)
    if checkpoints is None:
        click.echo("nothing is saved: there is no -o MODEL", err=True)
        return
    given = click.get_current_context().find_root().obj
    arguments = given if "--resume" in given else [*given, "--resume"]
    click.echo(f"{checkpoints.path} is saved; go on with: confidently {typed(arguments)}", err=True)


def typed(arguments: list[str]) -> str:
    """What to type for arguments, quoted as this system's shell wants it."""
    if WINDOWS:
        from subprocess import list2cmdline

        return list2cmdline(arguments)
    return shlex.join(arguments)
