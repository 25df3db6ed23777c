"""``confidently train``: train a classifier on a stream."""

from __future__ import annotations

import json
from typing import Any

import click

from ..inputs import reported
from ..options.arguments import POSITIVE_INTEGER, data_argument, is_given, json_option
from ..options.bandit import bandit_options, check_bandit
from ..options.cluster import check_cluster, cluster_options, on_cluster
from ..options.command import Command
from ..options.entities import check_key, entity_options
from ..options.files import CACHE_OUTPUT, INPUT
from ..options.learner import BY_DEFAULT, choose_auto, learner_options
from ..options.reading import on_error_option, reading_options
from ..options.regression import choose_task, task_option
from ..options.rules import rule_options
from ..options.sections import adding
from ..options.training import NOT_IN_MODEL, check_saving, check_shuffle, saving_options, shuffle_options
from ..output.progress import kind_of
from ..output.reporter import reporter
from ..output.text import say

WITH_INIT_MODEL = (
    *NOT_IN_MODEL, "passes", "init_model", "on_error", "validation", "holdout", "early_stop", "patience",
    "workers", "scheduler", "partitions", "rounds", "shuffle", "shuffle_buffer", "shuffle_partitions", "seed",
)  # fmt: skip

_OPTIONS = [
    on_error_option,
    *shuffle_options("files of up to 100,000 rows"),
    click.option(
        "--passes",
        type=POSITIVE_INTEGER,
        default=1,
        help="Train on the data this many times; twice under 3,000 narrow rows.",
    ),
    click.option(
        "--cache",
        metavar="FILE",
        type=CACHE_OUTPUT,
        help="Cache parsed data in FILE and reuse it until the data change.  [default: a temporary file if --passes is "
        "above 1]",
    ),
    click.option(
        "--coverage-by",
        metavar="COLUMN",
        help="Have the sets of predict --set, and the intervals of --interval, cover for each value of this column by "
        "itself; of up to 256 values.",
    ),
    click.option(
        "--validation",
        metavar="FILE",
        multiple=True,
        type=INPUT,
        help="Validate on this file after every pass. Repeatable.",
    ),
    click.option(
        "--holdout",
        metavar="FRACTION",
        help="Hold this fraction of the rows out of training and validate on them; 0.1 holds out every tenth row.",
    ),
    click.option(
        "--early-stop",
        is_flag=True,
        help="Stop when the validation log-loss (regression: the RMSE) no longer improves, and save the best model.",
    ),
    click.option(
        "--patience",
        type=POSITIVE_INTEGER,
        default=1,
        help="With --early-stop, stop after this many passes without improvement.",
    ),
    *saving_options("rows", "Continue training this model with more data, as if they came behind its own."),
]


EXAMPLES = (
    "confidently train messages.jsonl -o spam.cw",
    "confidently train clicks.csv --label click -o clicks.cw",
    "confidently train clicks.csv --label click --rule arow -o one.cw",
    "confidently train messages.jsonl --passes 9 --holdout 0.1 --early-stop -o b.cw",
    "confidently train clicks.csv --label price -o price.cw",
    "confidently train clicks.csv --label click --key device -o devices.ent",
    "confidently train --bandit routes.jsonl -o router.bandit",
)
FIRST = "output_path label text drop rule regression passes shuffle holdout init_model as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@data_argument
@rule_options
@reading_options
@learner_options
@task_option
@bandit_options
@entity_options
@cluster_options
@adding(_OPTIONS)
@json_option
@click.pass_context
def train(ctx: click.Context, /, data: tuple[str, ...], **options: Any) -> None:
    """Train a classifier or a regression on data of any size in little memory.

    By default, several learners are trained and their predictions mixed (--auto). An option that they do not have,
    such as --rule arow, trains a single learner. That is faster, with a smaller model and more errors on most data.

    Options of the sections Rule and Learner are those of a single learner, except --dtype, --multilabel, --classes
    and --regression. DATA are files, read in order, or - for standard input. Labels are integers or strings. Of two
    classes, the second in sorted order is positive. Every row is predicted before training on it; the fraction of
    rows misclassified is the progressive validation error. With --regression labels are numbers, and the root mean
    squared error (RMSE) takes its place. Ctrl-C completes the current batch and saves a checkpoint beside the
    model.

    With --bandit, DATA are logs of decisions, each with its context, actions, the chosen one, its probability and its
    reward: JSON lines, CSV, Parquet, Azure Personalizer's exports, Vowpal Wabbit's text and JSON. The summary says what
    the policy would have earned as it learned. Of the options for reading data, those for tables and --on-error apply.

    With --key, each value of a column, such as a user, has a small model around the one that all share.
    """
    check_bandit(ctx, options)
    if options["bandit"]:
        from ..output.bandits import bandit_text
        from ..training.bandit import saved_bandit, train_bandit

        with reported():
            bandit, result = train_bandit(data, options)
        result |= saved_bandit(bandit, options["output_path"])
        say(json.dumps(result) if options["as_json"] else bandit_text(result))
        return
    check_key(ctx, options)
    if options["key"] is not None:
        _train_entities(ctx, data, options)
        return
    _check_usage(ctx, data, options)
    by_default = choose_auto(ctx, options)
    from ...tasks.table import BINARY, NUMBERS
    from ..output.training_summaries import saved, training_text
    from ..training.learner import LearnerTraining
    from ..training.saving import open_checkpoints, run_to_end

    checkpoints, cluster = None, dict[str, Any]()
    with reported():
        report = reporter(kind_of(BINARY), options["quiet"], options["as_json"])
        if choose_task(ctx, data, options, report):
            report = reporter(kind_of(NUMBERS), options["quiet"], options["as_json"])
        if by_default:
            report.note("learner", BY_DEFAULT.format(options["rule"]), auto=True)
        if on_cluster(options):
            from ..training.cluster import train_on_cluster

            training = LearnerTraining(data, options | {"passes": 1}, None, report)
            cluster = train_on_cluster(training, data, options["passes"])
        else:
            checkpoints = open_checkpoints(ctx, data, options, report)
            training = LearnerTraining(data, options, checkpoints, report)
            validated = options["validation"] or options["holdout"]
            said = options["regression"] or validated or is_given(ctx, "passes")
            training.chooses_passes = options["auto"] and not said
            run_to_end(training)
    result = training.result() | cluster | saved(training.final_model(), options["output_path"])
    if checkpoints is not None:
        checkpoints.remove()
    say(json.dumps(result) if options["as_json"] else training_text(result))


def _train_entities(ctx: click.Context, data: tuple[str, ...], options: dict[str, Any]) -> None:
    """Train a model of entities."""
    from ...tasks.table import BINARY
    from ..output.entities import entities_text
    from ..training.entities import train_entities

    with reported():
        report = reporter(kind_of(BINARY), options["quiet"], options["as_json"])
        regression = not options["init_model"] and choose_task(ctx, data, options, report)
    result = train_entities(data, options, regression)
    say(json.dumps(result) if options["as_json"] else entities_text(result))


def _check_usage(ctx: click.Context, data: tuple[str, ...], options: dict[str, Any]) -> None:
    _check_validation(ctx, options)
    check_shuffle(ctx, options, by_default=True)
    check_cluster(ctx, data, options)
    check_saving(ctx, options, WITH_INIT_MODEL)
    if options["coverage_by"] is not None and options["calibration"] == "none":
        raise click.UsageError("--coverage-by needs scores of training; omit --calibration none")


def _check_validation(ctx: click.Context, options: dict[str, Any]) -> None:
    if options["validation"] and options["holdout"]:
        raise click.UsageError("--validation and --holdout are mutually exclusive; use one")
    if "-" in options["validation"]:
        raise click.UsageError("--validation is read after every pass, got standard input; use a file")
    if options["holdout"] is not None:
        _check_fraction(options["holdout"])
    if options["early_stop"] and not (options["validation"] or options["holdout"]):
        raise click.UsageError("--early-stop needs a validation; use --validation or --holdout")
    if options["early_stop"] and options["passes"] == 1:
        raise click.UsageError("--early-stop needs several passes; pass their maximum to --passes")
    if is_given(ctx, "patience") and not options["early_stop"]:
        raise click.UsageError("--patience needs --early-stop")


def _check_fraction(text: str) -> None:
    from fractions import Fraction

    try:
        valid = 0 < Fraction(text) < 1
    except (ValueError, ZeroDivisionError):
        valid = False
    if not valid:
        raise click.UsageError(f"--holdout: expected a fraction between 0 and 1, got {text!r}; use, for example, 0.1")
