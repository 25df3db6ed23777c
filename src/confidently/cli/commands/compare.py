"""``confidently compare``: many rules on one reading of the data."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from ..common import ABSENT, data_argument, json_option, open_data, percent, reported, table, total_bytes
from ..options.learner import announced, form_of, form_options
from ..options.reading import chosen_reading, on_error_option, reading_options
from ..options.sections import Sectioned
from ..output.pictures import check_picture, picture_option, save_picture

if TYPE_CHECKING:
    from ...evaluation.comparison import Comparison, Trial
    from ...rules.rule import Rule

MARK = "*"


def _form_options(command: Any) -> Any:
    for option in reversed(form_options):
        command = option(command)
    return command


@click.command(cls=Sectioned)
@data_argument
@reading_options
@on_error_option
@click.option(
    "--rules", "rule_names", default="all", metavar="A,B,...", show_default=True,
    help="Names of rules separated by commas; see: confidently rules.",
)  # fmt: skip
@click.option("--grid", is_flag=True, help="Try several parameters of each rule too; show the best and the default.")
@_form_options
@click.option(
    "--threads", type=click.IntRange(1), help="Learners that work at the same time; by default, one a processor."
)
@picture_option
@click.option("-q", "--quiet", is_flag=True, help="Do not report progress.")
@json_option
def compare(
    data: tuple[str, ...], rule_names: str, picture: str | None, as_json: bool, classes: str | None, **options: Any
) -> None:
    """Compare many rules on one reading of the data.

    Every rule predicts every row before it learns it; the table shows the share predicted wrongly (progressive
    error), the mean log-loss of the calibrated probabilities, the number of updates, and the seconds of computing
    spent in learning. The best is marked. DATA are files, or - for standard input; all rules learn from one reading,
    on several threads, and the results are those of training each rule alone.
    """
    check_picture(picture, data)
    rules, names = _chosen(rule_names), announced(classes)
    with reported():
        found, skipped = _compare(data, rules, names, options)
    if picture:
        from ..output.compare_picture import draw

        save_picture(draw(found), picture)
    click.echo(
        json.dumps({**_result(found), "skipped": skipped}) if as_json else _text(found, options, picture, skipped)
    )


def _chosen(text: str) -> list[Rule]:
    from ...rules import RULES, make_rule

    try:
        return [make_rule(name.strip()) for name in (RULES if text == "all" else text.split(","))]
    except ValueError as error:
        raise click.UsageError(f"--rules: {error}") from None


def _compare(
    data: tuple[str, ...], rules: list[Rule], names: list[int | str], options: dict[str, Any]
) -> tuple[Comparison, int]:
    from ...data import DataError
    from ...evaluation.comparison import compare as compare_rules
    from ..output.comparison import ComparisonProgress

    reading, multilabel, on_error = chosen_reading(options, data), options["multilabel"] or None, options["on_error"]
    progress = None if options["quiet"] else ComparisonProgress(total_bytes(data))
    with (
        progress or nullcontext(),
        open_data(data, reading, options["dtype"], multilabel=multilabel, on_error=on_error) as stream,
    ):
        try:
            found = compare_rules(
                stream, rules, grid=options["grid"], multiclass=options["multiclass"], classes=names,
                threads=options["threads"], progress=None if progress is None else progress.learned, **form_of(options),
            )  # fmt: skip
            return found, stream.skipped
        except DataError:
            raise
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from None


def _result(found: Comparison) -> dict[str, Any]:
    settings = found.trials[0].learner.settings
    best_of_rule = found.best_by_rule()
    return {
        "rows": found.trials[0].rows,
        "task": settings.task,
        "covariance": settings.covariance,
        "prior_variance": settings.prior_variance,
        "classes": [ABSENT if name is None else name for name in found.classes],
        "features": found.trials[0].learner.n_features,
        "trials": [
            {**_entry(trial), "best": k == 0, "best_of_rule": any(trial is best for best in best_of_rule)}
            for k, trial in enumerate(found.trials)
        ],
    }


def _entry(trial: Trial) -> dict[str, Any]:
    return {
        "rule": trial.rule.name,
        "parameters": trial.parameters,
        "default": trial.default,
        "error": trial.error,
        "mistakes": trial.mistakes,
        "log_loss": trial.log_loss,
        "updates": trial.updates,
        "infeasible": trial.infeasible if trial.rule.counts_misses else None,
        "seconds": round(trial.seconds, 6),
        "curve": {"rows": [rows for rows, _ in trial.curve], "error": [error for _, error in trial.curve]},
    }


def _text(found: Comparison, options: dict[str, Any], picture: str | None, skipped: int) -> str:
    first = found.trials[0]
    what = "labels" if first.learner.settings.task == "multilabel" else "classes"
    heading = ["", "rule", "parameters", "error", "log-loss", "updates", "seconds"]
    rows = [
        [
            MARK if trial is first else "",
            trial.rule.name,
            ", ".join(f"{name}={value:g}" for name, value in trial.parameters.items()),
            percent(trial.error),
            f"{trial.log_loss:.4f}",
            f"{trial.updates:,}",
            f"{trial.seconds:.2f}",
            *([percent(found.default_of(trial.rule.name).error)] if options["grid"] else []),
        ]
        for trial in found.best_by_rule()
    ]
    if options["grid"]:
        heading.append("error by default")
    lines = [
        f"{first.rows:,} rows, {len(found.classes):,} {what}, {first.learner.n_features:,} features, "
        f"covariance {first.learner.settings.covariance}, {len(found.trials)} learners in one pass",
        "",
        table([heading, *rows], lefts=3),
    ]
    if options["grid"]:
        lines += ["", "Of each rule's parameters the best are shown, chosen by this error: it flatters them a little."]
    if skipped:
        lines += ["", f"{skipped:,} rows that are not as they should be were passed over."]
    if picture:
        lines += ["", f"Picture: {picture}"]
    return "\n".join(lines)
