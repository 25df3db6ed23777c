"""``confidently train``: learn a model from a stream."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from .common import check_output, data_argument, json_option, reported
from .new_learner import learner_options
from .progress import reporter
from .reading_options import on_error_option, reading_options
from .rule_options import rule_options
from .sections import Sectioned, in_section

if TYPE_CHECKING:
    from .checkpoint import Checkpoints
    from .interrupts import Interrupted
    from .training import Training

# Options that say how to train, not what: they may be others when a training is resumed.
HOW = ("data", "output_path", "as_json", "quiet", "cache", "checkpoint_every", "resume")
# Options that may go with --start; a model has all the others already.
WITH_START = (*HOW, "passes", "start", "on_error", "validation", "holdout", "early_stop", "patience")

OPTIONS = [
    on_error_option,
    click.option(
        "--passes", type=click.IntRange(1), default=1, show_default=True, help="How many times to learn the data."
    ),
    click.option(
        "--cache",
        metavar="FILE",
        help="Keep the data in this binary cache: built in the first pass, again when the data have changed, and read "
        "in their place else. By default more passes than one build one that is removed at the end.",
    ),
    click.option(
        "--validation", metavar="FILE", multiple=True, help="Validate on this file after every pass. May be repeated."
    ),
    click.option(
        "--holdout",
        metavar="SHARE",
        help="Validate on this share of the rows, every tenth for 0.1, which are not learned.",
    ),
    click.option(
        "--early-stop", is_flag=True, help="Stop when the validation's log-loss gets no better; keep the best model."
    ),
    click.option(
        "--patience",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="With --early-stop: after how many passes without a better one.",
    ),
    click.option("-o", "--output", "output_path", metavar="MODEL", help="Save the model in this file."),
    click.option(
        "--checkpoint-every",
        type=click.IntRange(1),
        metavar="N",
        help="Every N rows, save what --resume needs in MODEL.checkpoint.",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Go on from MODEL.checkpoint, if there is one, exactly as if training had never stopped.",
    ),
    click.option(
        "--start",
        metavar="MODEL",
        help="Go on training this finished model with more data, exactly as if it had seen them all at once.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Do not report progress."),
]


def train_options(command: Any) -> Any:
    """Add the options that do not belong to a rule."""
    for option in reversed([*in_section("The learner", learner_options), *OPTIONS]):
        command = option(command)
    return command


@click.command(cls=Sectioned)
@data_argument
@rule_options
@reading_options
@train_options
@json_option
@click.pass_context
def train(ctx: click.Context, data: tuple[str, ...], **options: Any) -> None:
    """Learn a model from data of any size, in little memory.

    DATA are files, read one after the other, or - for standard input. Labels are integers or words; of two classes
    the label 1 is the positive one, else the second to appear. Every row is predicted before its label is used: the
    share of rows predicted wrongly is the progressive error. Ctrl-C finishes what was begun and leaves a checkpoint
    beside the model.
    """
    _check_usage(ctx, data, options)
    from .interrupts import Interrupted
    from .summary import result_of, summary
    from .training import Training
    from .wording import saved

    report = reporter(options["quiet"], options["as_json"])
    with reported():
        checkpoints = _checkpoints(ctx, data, options, report)
        training = Training(data, options, checkpoints, report)
        try:
            training.run()
        except Interrupted as interrupted:
            _say_how_to_resume(interrupted, training, checkpoints)
            raise click.exceptions.Exit(interrupted.exit_code) from None
    result = result_of(training) | saved(training.final_model(), options["output_path"])
    if checkpoints is not None:
        checkpoints.remove()
    click.echo(json.dumps(result) if options["as_json"] else summary(result))


def _checkpoints(ctx: click.Context, data: tuple[str, ...], options: dict[str, Any], report: Any) -> Checkpoints | None:
    if options["output_path"] is None:
        return None
    from ..data.cache import fingerprints
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
        "validation": fingerprints(options["validation"]),
    }
    checkpoints = Checkpoints(options["output_path"], options["checkpoint_every"], run)
    if checkpoints.path.exists() and not options["resume"]:
        report.note(
            "restart", f"{checkpoints.path} is there: this training begins anew; --resume would have gone on from it"
        )
    return checkpoints


def _say_how_to_resume(interrupted: Interrupted, training: Training, checkpoints: Checkpoints | None) -> None:
    position = training.position
    click.echo(f"confidently: interrupted after {position.now.rows:,} rows of pass {position.passes + 1}", err=True)
    if checkpoints is None:
        click.echo("nothing is saved: there is no -o MODEL", err=True)
        return
    given = click.get_current_context().find_root().obj
    arguments = given if "--resume" in given else [*given, "--resume"]
    click.echo(f"{checkpoints.path} is saved; go on with: confidently {shlex.join(arguments)}", err=True)


def _check_usage(ctx: click.Context, data: tuple[str, ...], options: dict[str, Any]) -> None:
    check_output(options["output_path"], [*data, *options["validation"]])
    check_output(options["cache"], [*data, *options["validation"]])
    for name in ("checkpoint_every", "resume"):
        if options[name] and not options["output_path"]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs -o MODEL: a checkpoint stands beside the model")
    _check_validation(ctx, options)
    if options["start"] is None:
        return
    given = [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name not in WITH_START and _is_given(ctx, str(parameter.name))
    ]
    if given:
        raise click.UsageError(f"--start goes on with the model's own settings: leave out {', '.join(given)}")


def _check_validation(ctx: click.Context, options: dict[str, Any]) -> None:
    if options["validation"] and options["holdout"]:
        raise click.UsageError("--validation and --holdout are two ways to validate: give one of them")
    if "-" in options["validation"]:
        raise click.UsageError("--validation is read after every pass: give a file, not standard input")
    if options["holdout"] is not None:
        _check_share(options["holdout"])
    if options["early_stop"] and not (options["validation"] or options["holdout"]):
        raise click.UsageError("--early-stop needs a validation: give --validation FILE or --holdout SHARE")
    if options["early_stop"] and options["passes"] == 1:
        raise click.UsageError("--early-stop looks after every pass: give the most there may be with --passes")
    if _is_given(ctx, "patience") and not options["early_stop"]:
        raise click.UsageError("--patience is for --early-stop")


def _check_share(text: str) -> None:
    from fractions import Fraction

    try:
        fits = 0 < Fraction(text) < 1
    except (ValueError, ZeroDivisionError):
        fits = False
    if not fits:
        raise click.UsageError(f"--holdout takes a share of the rows between 0 and 1, as 0.1; got {text!r}")


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
