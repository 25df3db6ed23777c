"""``confidently train``: learn a model from a stream."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from .common import check_output, data_argument, json_option, reported
from .rule_options import rule_options
from .training import Training, summary

# Options that may go with --start; a model has all the others already.
WITH_START = ("data", "passes", "output_path", "start", "as_json", "quiet")

OPTIONS = [
    click.option(
        "--covariance",
        type=click.Choice(["diag", "full", "shared"]),
        default="diag",
        show_default=True,
        help="What is kept of the weights' covariance: a variance each, all of it, or one matrix for all classes.",
    ),
    click.option(
        "--prior-variance", type=float, default=1.0, show_default=True, help="Variance of every weight at the start."
    ),
    click.option(
        "--min-variance",
        type=float,
        default=1e-12,
        show_default=True,
        help="No variance counts as smaller than this share of the prior's.",
    ),
    click.option("--no-intercept", is_flag=True, help="Do not add a constant feature to every row."),
    click.option(
        "--average", is_flag=True, help="Predict with the mean of the weights over all rows, not the last ones."
    ),
    click.option(
        "--dtype",
        type=click.Choice(["float64", "float32"]),
        default="float64",
        show_default=True,
        help="Type of the model's numbers.",
    ),
    click.option(
        "--multiclass",
        type=click.Choice(["joint", "one-vs-rest"]),
        default="joint",
        show_default=True,
        help="With three or more classes: the true one against its strongest rival, or a learner for each.",
    ),
    click.option(
        "--multilabel",
        is_flag=True,
        help="Rows have sets of labels, separated by commas; by default the first 1,000 rows show whether they have.",
    ),
    click.option(
        "--classes",
        metavar="A,B,...",
        help="All classes there are, in this order; of two the second is the positive one.",
    ),
    click.option(
        "--calibration",
        type=click.Choice(["progressive", "none"]),
        default="progressive",
        show_default=True,
        help="Whether the margins met while learning calibrate the probabilities, or these are the posterior's vote.",
    ),
    click.option("--zero-based", is_flag=True, help="The first feature has index 0, not 1."),
    click.option(
        "--passes", type=click.IntRange(1), default=1, show_default=True, help="How many times to read the data."
    ),
    click.option("-o", "--output", "output_path", metavar="MODEL", help="Save the model in this file."),
    click.option(
        "--start",
        "--resume-from",
        "start",
        metavar="MODEL",
        help="Go on training this model, exactly as if its training had never stopped.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Do not report progress."),
]


def train_options(command: Any) -> Any:
    """Add the options that do not belong to a rule."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@data_argument
@rule_options
@train_options
@json_option
@click.pass_context
def train(ctx: click.Context, data: tuple[str, ...], **options: Any) -> None:
    """Learn a model from svmlight text, plain or gzip, in little memory.

    DATA are files, read one after the other, or - for standard input. Labels are integers or words; of two classes
    the label 1 is the positive one, else the second to appear. Every row is predicted before its label is used: the
    share of rows predicted wrongly is the progressive error.
    """
    _check_usage(ctx, data, options)
    with reported():
        training = Training(data, options)
        training.run()
        model = training.model()
    if options["output_path"]:
        from ..model_file import save

        save(model, options["output_path"])
    result = training.result()
    if options["output_path"]:
        result |= {"model": options["output_path"], "model_bytes": os.path.getsize(options["output_path"])}
    click.echo(json.dumps(result) if options["as_json"] else summary(result))


def _check_usage(ctx: click.Context, data: tuple[str, ...], options: dict[str, Any]) -> None:
    if "-" in data and options["passes"] > 1:
        raise click.UsageError("standard input can be read only once: give a file, or leave --passes at 1")
    check_output(options["output_path"], data)
    if options["start"] is None:
        return
    given = [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name not in WITH_START
        and ctx.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--start goes on with the model's own settings: leave out {', '.join(given)}")
