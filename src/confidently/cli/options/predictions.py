"""Options of the commands that predict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ...data.formats.table import FOR_PREDICTIONS
from ...spreadsheets import SPREADSHEETS
from .arguments import FRACTION, POSITIVE_INTEGER, PROBABILITY, all_names, listed, quiet_option
from .files import OUTPUT
from .sections import adding

if TYPE_CHECKING:
    from ...models.model import Model
    from ...tasks.task import Task

JSON_FORMAT = "jsonl"  # of --json
NOVELTY = "novelty"
NUMBERS = ("proba", "margin", "std", "variance", NOVELTY)  # in the order of their columns
FOR_CLASSES = ("proba", "margin", "variance", "ranking", "top", "abstain", "set", "max_risk")
TOPIC = "topic"  # the columns of a topic model with the topics' proportions


csv_safe_option = click.option(
    "--csv-safe",
    is_flag=True,
    help="CSV and TSV: write an apostrophe before text that begins with =, +, - or @, which spreadsheets compute.",
)


def check_csv_safe(safe: bool, kind: str) -> None:
    """Reject ``--csv-safe`` for a format that is not for spreadsheets."""
    if safe and kind not in SPREADSHEETS:
        raise click.UsageError(f"--csv-safe is for {' and '.join(SPREADSHEETS)}, got the format {kind}")


@dataclass(frozen=True)
class Requested:
    """What to predict for each row."""

    numbers: frozenset[str] = frozenset()
    ranking: bool = False
    top: int | None = None
    abstain: float | None = None
    keep: tuple[str, ...] = ()
    interval: float | None = None
    coverage: float | None = None
    max_risk: float | None = None
    by_class: bool = True


def promise_options(set_help: str, risk_help: str) -> Callable[[Any], Any]:
    """Return the options that ask for sets of classes, and for answers of which few are wrong."""
    return adding([
        click.option("--set", type=PROBABILITY, help=set_help),
        click.option(
            "--set-together",
            is_flag=True,
            help="With --set: cover rows of all classes together, not those of each class, by smaller sets.",
        ),
        click.option("--max-risk", type=PROBABILITY, help=risk_help),
    ])  # fmt: skip


novelty_option = click.option(
    "--novelty",
    is_flag=True,
    help="Add a p-value, which is small for rows unlike all those of training.",
)
interval_option = click.option(
    "--interval",
    type=PROBABILITY,
    help="Regression: add the limits, lower and upper, of an interval that contains the target with probability FLOAT.",
)
_OPTIONS = [
    click.option("--proba", is_flag=True, help="Add the probability of every class (label)."),
    click.option(
        "--margin",
        is_flag=True,
        help="Add the margin: with two classes one, positive for the second in sorted order; otherwise one per class.",
    ),
    click.option(
        "--std",
        is_flag=True,
        help="Add the standard deviation of every margin; regression: of the target around its prediction.",
    ),
    click.option(
        "--variance", is_flag=True, help="Add the variance of every margin under the model's Gaussian over weights."
    ),
    click.option("--ranking", is_flag=True, help="Add all classes (labels), the most probable first."),
    click.option(
        "--top",
        type=POSITIVE_INTEGER,
        help="Add the INTEGER best classes; --proba, --margin and so on show only these, as top1, top2 and so on.",
    ),
    click.option(
        "--abstain",
        type=FRACTION,
        help="Predict - (in JSON and Parquet: null) where the probability of the predicted class is below FLOAT.",
    ),
    click.option(
        "--keep",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Write these input columns, separated by commas, before the prediction; tag is the tag of VW text. "
        "Repeatable.",
    ),
    click.option(
        "--output-format",
        type=click.Choice(FOR_PREDICTIONS),
        help="Format of the predictions.  [default: by the suffix of -o FILE, otherwise tsv]",
    ),
    click.option(
        "-o",
        "--output",
        "output_path",
        metavar="FILE",
        type=OUTPUT,
        help="Write to FILE.  [default: standard output]",
    ),
    csv_safe_option,
    quiet_option,
    click.option("--json", "as_json", is_flag=True, help=f"Same as --output-format {JSON_FORMAT}."),
]
prediction_options = adding(_OPTIONS)


def check_predictions(options: dict[str, Any]) -> None:
    """Reject, before any work, options that do not fit together."""
    if options["as_json"] and options["output_format"] not in (None, JSON_FORMAT):
        raise click.UsageError(
            f"--json writes JSON Lines, got --output-format {options['output_format']}; use one of the two"
        )
    if options["abstain"] is not None and options.get("max_risk") is not None:
        raise click.UsageError("--abstain and --max-risk are mutually exclusive; use one")


def check_one_class(option: str, task: Task) -> None:
    """Reject an option that needs one class per row, if the model's rows have several labels, or numbers."""
    if task.regression:
        raise click.UsageError(f"{option} needs a classifier; this model predicts numbers")
    if task.multilabel:
        raise click.UsageError(f"{option} needs a model of one class per row; this model is multilabel")


def check_promises(coverage: float | None, by_class: bool, max_risk: float | None, model: Model) -> None:
    """Reject ``--set`` and ``--max-risk`` for a model that has not learned how often its predictions are right."""
    if coverage is None and not by_class:
        raise click.UsageError("--set-together is about the sets of --set; use both")
    asked = {"--set": coverage is not None, "--max-risk": max_risk is not None}
    task, given = model.learner.task, [option for option, is_used in asked.items() if is_used]
    if given and task.regression:
        raise click.UsageError(f"{given[0]} needs a classifier; this model predicts numbers")
    if max_risk is not None:
        check_one_class("--max-risk", task)
    if given:
        check_calibrated(given[0], model)


def check_calibrated(option: str, model: Model) -> None:
    """Reject an option for a model that has not learned how good its predictions are."""
    if model.calibration is None:
        raise click.UsageError(f"{option} needs a calibration, which --calibration none leaves out; train with it")


def requested(options: dict[str, Any], further: tuple[str, ...] = ()) -> Requested:
    """Return what to predict: what the options name, and ``further`` columns of numbers."""
    keep = options["keep"]
    if "" in keep:
        raise click.UsageError(f"--keep: empty column name, got {','.join(keep)!r}; use names separated by commas")
    if twice := [name for name in keep if keep.count(name) > 1]:
        raise click.UsageError(f"--keep: duplicate column {twice[0]!r}; name each column once")
    numbers = frozenset([*further, *(name for name in NUMBERS if options.get(name))])
    ranking = options["ranking"] or options["top"] is not None
    return Requested(
        numbers, ranking, options["top"], options["abstain"], keep, options.get("interval"), options.get("set"),
        options.get("max_risk"), not options.get("set_together"),
    )  # fmt: skip


def check_kind(options: dict[str, Any], task: Task) -> None:
    """Reject options for a model of the other kind."""
    if not task.regression and options["interval"] is not None:
        raise click.UsageError("--interval needs a regression model; this one predicts classes, use --proba")
    if task.regression and (given := [name for name in FOR_CLASSES if options[name]]):
        names = listed(given)
        raise click.UsageError(f"{names}: the model predicts numbers, not classes; use --std or --interval")
