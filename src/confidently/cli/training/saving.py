"""Saving and resuming a training: its checkpoints, and what an interruption prints."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ...data.sources.whole_files import WINDOWS
from ..options.training import NOT_IN_MODEL
from ..output.text import say

if TYPE_CHECKING:
    from ..output.progress import Quiet
    from .checkpoint import Checkpoints, Run
    from .loop import TrainingLoop


def open_checkpoints(
    ctx: click.Context, data: Sequence[str], options: dict[str, Any], report: Quiet
) -> Checkpoints | None:
    """Return the checkpoints beside the model file; ``None`` without a model file."""
    if options["output_path"] is None:
        return None
    from ...data.cache.origin import fingerprints
    from .checkpoint import Checkpoints

    described = {
        max(parameter.opts, key=len): options[str(parameter.name)]
        for parameter in ctx.command.params
        if parameter.name not in NOT_IN_MODEL and options[str(parameter.name)] not in (None, ())
    }
    init_model = [options["init_model"]] if options["init_model"] else []
    run: Run = {
        "options": json.loads(json.dumps(described)),
        "data": fingerprints([*init_model, *data]),
        "validation": fingerprints(options.get("validation", ())),
    }
    checkpoints = Checkpoints(options["output_path"], options["checkpoint_every"], run)
    if options["resume"] and not checkpoints.path.exists() and os.path.exists(checkpoints.output):
        raise click.UsageError(
            f"{checkpoints.output} exists and has no checkpoint: its training is complete; omit --resume to train it "
            f"again, such as with more --passes, or pass --init-model {checkpoints.output} and another -o to continue "
            "it with more data"
        )
    if checkpoints.path.exists() and not options["resume"]:
        report.note("restart", f"{checkpoints.path} exists: training from scratch; use --resume to resume from it")
    return checkpoints


def run_to_end(training: TrainingLoop) -> None:
    """Train; after a signal, print how to resume and exit with the signal's code."""
    from .interrupts import Interrupted

    try:
        training.run()
    except Interrupted as interrupted:
        _print_how_to_resume(training)
        raise click.exceptions.Exit(interrupted.exit_code) from None


def _print_how_to_resume(training: TrainingLoop) -> None:
    position, checkpoints = training.position, training.checkpoints
    if not training.has_model:
        say("confidently: interrupted before the first row; nothing is saved", err=True)
        return
    rows = f"{position.now.rows:,} {training.rows_noun}"
    say(f"confidently: interrupted after {rows} of pass {position.passes + 1}", err=True)
    if checkpoints is None:
        say("nothing is saved; use -o MODEL to save checkpoints", err=True)
        return
    given = click.get_current_context().find_root().obj
    arguments = given if "--resume" in given else [*given, "--resume"]
    say(f"{checkpoints.path} is saved; resume with: confidently {quoted(arguments)}", err=True)


def quoted(arguments: list[str]) -> str:
    """Return arguments as typed, quoted for this system's shell."""
    if WINDOWS:
        from subprocess import list2cmdline

        return list2cmdline(arguments)
    from shlex import join

    return join(arguments)
