"""``confidently train``: learn a model from a stream."""

from __future__ import annotations

import json
from typing import Any

import click

from ..common import check_output, data_argument, json_option, reported
from ..options.learner import learner_options
from ..options.reading import on_error_option, reading_options
from ..options.rules import rule_options
from ..options.sections import Sectioned, in_section
from ..output.progress import reporter
from ..training.cluster import check_cluster, cluster_options, learn_on_cluster, on_cluster
from ..training.saving import HOW, check_saving, checkpoints_of, is_given, run_to_end, saving_options

# Options that may go with --start; a model has all the others already.
WITH_START = (
    *HOW, "passes", "start", "on_error", "validation", "holdout", "early_stop", "patience",
    "workers", "scheduler", "parts", "rounds", "shuffle",
)  # fmt: skip

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
    *saving_options(
        "rows", "Go on training this finished model with more data, exactly as if it had seen them all at once."
    ),
]


def train_options(command: Any) -> Any:
    """Add the options that do not belong to a rule."""
    for option in reversed(
        [*in_section("The learner", learner_options), *in_section("On a cluster", cluster_options), *OPTIONS]
    ):
        command = option(command)
    return command


@click.command(cls=Sectioned)
@data_argument
@rule_options
@reading_options
@train_options
@json_option
@click.pass_context
def train(ctx: click.Context, /, data: tuple[str, ...], **options: Any) -> None:
    """Learn a model from data of any size, in little memory.

    DATA are files, read one after the other, or - for standard input. Labels are integers or words; of two classes
    the label 1 is the positive one, else the second to appear. Every row is predicted before its label is used: the
    share of rows predicted wrongly is the progressive error. Ctrl-C finishes what was begun and leaves a checkpoint
    beside the model.
    """
    _check_usage(ctx, data, options)
    from ..output.accounts import saved
    from ..output.summary import result_of, summary
    from ..training.classifier import Training

    report = reporter(options["quiet"], options["as_json"])
    checkpoints, cluster = None, dict[str, Any]()
    with reported():
        if on_cluster(options):
            training = Training(data, options | {"passes": 1}, None, report)
            cluster = learn_on_cluster(training, data, options["passes"])
        else:
            checkpoints = checkpoints_of(ctx, data, options, report)
            training = Training(data, options, checkpoints, report)
            run_to_end(training)
    result = result_of(training) | cluster | saved(training.final_model(), options["output_path"])
    if checkpoints is not None:
        checkpoints.remove()
    click.echo(json.dumps(result) if options["as_json"] else summary(result))


def _check_usage(ctx: click.Context, data: tuple[str, ...], options: dict[str, Any]) -> None:
    check_output(options["output_path"], [*data, *options["validation"]])
    check_output(options["cache"], [*data, *options["validation"]])
    _check_validation(ctx, options)
    check_cluster(ctx, data, options)
    check_saving(ctx, options, WITH_START)


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
    if is_given(ctx, "patience") and not options["early_stop"]:
        raise click.UsageError("--patience is for --early-stop")


def _check_share(text: str) -> None:
    from fractions import Fraction

    try:
        fits = 0 < Fraction(text) < 1
    except (ValueError, ZeroDivisionError):
        fits = False
    if not fits:
        raise click.UsageError(f"--holdout takes a share of the rows between 0 and 1, as 0.1; got {text!r}")
