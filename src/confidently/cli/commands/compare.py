"""``confidently compare``: many rules, and a stack, in one pass over the data."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from ...wording import counted
from ..inputs import open_data, reported
from ..options.arguments import POSITIVE_INTEGER, data_argument, json_option, quiet_option
from ..options.command import Command
from ..options.learner import chosen_classes, chosen_settings, settings_options
from ..options.plot import check_plot, plot_option
from ..options.reading import chosen_raw_reading, on_error_option, reading_options
from ..options.sections import adding
from ..options.training import check_shuffle, shuffle_options
from ..options.view import chosen_view_and_reading, view_options
from ..output.learner_summaries import learner_facts, stored_text, weighted_members
from ..output.text import class_name, parameters_text, percent, say, table

if TYPE_CHECKING:
    from ...evaluation.comparison import Comparison, Trial
    from ...rules.rule import Rule

BEST_MARK = "*"


EXAMPLES = (
    "confidently compare messages.jsonl",
    "confidently compare clicks.csv --label click --rules arow,logistic --auto",
)
FIRST = "rule_names auto grid label text drop format shuffle plot quiet as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@data_argument
@reading_options
@on_error_option
@adding(shuffle_options("no-shuffle"))
@click.option(
    "--rules", "rule_names", default="all", metavar="NAMES",
    help="Compare these rules, separated by commas; confidently rules lists them.",
)  # fmt: skip
@click.option(
    "--auto", is_flag=True,
    help="Also train several learners on different views of the rows and mix them, as train does by default.",
)  # fmt: skip
@click.option("--grid", is_flag=True, help="Also try several parameters of each rule; show the best and the default.")
@settings_options
@view_options
@click.option("--threads", type=POSITIVE_INTEGER, help="Train on this many threads.  [default: one per processor]")
@plot_option
@quiet_option
@json_option
def compare(
    data: tuple[str, ...], rule_names: str, plot: str | None, as_json: bool, classes: str | None, **options: Any
) -> None:
    """Compare many rules in one pass over the data.

    Every rule predicts every row before training on it. The table shows the fraction of rows misclassified (the
    progressive validation error), the mean log-loss of the calibrated probabilities, the number of updates, and the
    seconds of computing time spent on training. The best rule is marked. DATA are files, or - for standard input. All
    rules share one pass on several threads; the results equal those of training each rule alone. With --auto the table
    has one row more, named auto.
    """
    check_plot(plot)
    check_shuffle(click.get_current_context(), options)
    rules, names = _chosen(rule_names), chosen_classes(classes)
    with reported():
        found, skipped = _compare(data, rules, names, options)
    if plot:
        from ..output.plots import plot_comparison, save_plot

        save_plot(plot_comparison(found), plot)
    say(json.dumps({**_result(found), "skipped": skipped}) if as_json else _text(found, options, plot, skipped))


def _chosen(text: str) -> list[Rule]:
    from ...rules import REGRESSION_RULES, RULES, make_rule

    names = list(RULES) if text == "all" else [name.strip() for name in text.split(",")]
    if of_numbers := [name for name in names if name in REGRESSION_RULES]:
        raise click.UsageError(f"--rules: {of_numbers[0]} predicts numbers; compare is for classifiers")
    try:
        return [make_rule(name) for name in names]
    except ValueError as error:
        raise click.UsageError(f"--rules: {error}") from None


def _compare(
    data: tuple[str, ...], rules: list[Rule], names: list[int | str], options: dict[str, Any]
) -> tuple[Comparison, int]:
    from ...data import DataError
    from ...data.shuffling import DEFAULT_BUFFER
    from ...data.sources.paths import total_bytes
    from ...evaluation.comparison import compare as compare_rules
    from ..output.reporter import ComparisonProgress

    raw = chosen_raw_reading(options, data) if options["auto"] else None
    view, reading, seen = chosen_view_and_reading(options, data)
    if seen and not options["quiet"]:
        say(seen, err=True)
    multilabel, on_error = options["multilabel"] or None, options["on_error"]
    progress = None if options["quiet"] else ComparisonProgress(total_bytes(data))
    with (
        progress or nullcontext(),
        open_data(data, raw or reading, options["dtype"], multilabel=multilabel, on_error=on_error) as stream,
    ):
        if options["shuffle"]:
            stream.shuffle(options["shuffle_buffer"] or DEFAULT_BUFFER, options["seed"])
        try:
            found = compare_rules(
                stream, rules, auto=options["auto"], grid=options["grid"], multiclass=options["multiclass"],
                classes=names, view=view, reading=None if raw in (None, reading) else reading,
                threads=options["threads"], progress=None if progress is None else progress.learned,
                **chosen_settings(options),
            )  # fmt: skip
            return found, stream.skipped
        except DataError:
            raise
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from None


def _result(found: Comparison) -> dict[str, Any]:
    single: Any = found.best_rule().learner
    best_of_rule = found.best_by_rule()
    return {
        "rows": found.trials[0].rows,
        "task": single.task.name,
        "covariance": single.settings.covariance,
        "view": learner_facts(single)["view"],
        "prior_variance": single.settings.prior_variance,
        "classes": [class_name(None) if name is None else name for name in found.classes],
        "features": single.n_features,
        "trials": [
            {**_entry(trial), "best": k == 0, "best_of_rule": any(trial is best for best in best_of_rule)}
            for k, trial in enumerate(found.trials)
        ],
    }


def _entry(trial: Trial) -> dict[str, Any]:
    members = weighted_members(trial.learner)
    return {
        "rule": trial.name,
        "parameters": trial.parameters,
        **({} if members is None else {"members": members}),
        "default": trial.default,
        "error": trial.error,
        "mistakes": trial.mistakes,
        "log_loss": trial.log_loss,
        "updates": trial.updates,
        "infeasible": trial.infeasible if trial.rule is not None and trial.rule.counts_misses else None,
        "seconds": round(trial.seconds, 6),
        "curve": {"rows": [rows for rows, _ in trial.curve], "error": [error for _, error in trial.curve]},
    }


def _parameters(trial: Trial) -> str:
    members = weighted_members(trial.learner)
    return parameters_text(trial.parameters) if members is None else counted(len(members), "member")


def _text(found: Comparison, options: dict[str, Any], plot: str | None, skipped: int) -> str:
    first, single = found.trials[0], found.best_rule().learner
    header = ["", "rule", "parameters", "error", "log-loss", "updates", "seconds"]
    rows = [
        [
            BEST_MARK if trial is first else "",
            trial.name,
            _parameters(trial),
            percent(trial.error),
            f"{trial.log_loss:.4f}",
            f"{trial.updates:,}",
            f"{trial.seconds:.2f}",
            *([percent(found.default_of(trial.name).error)] if options["grid"] else []),
        ]
        for trial in found.best_by_rule()
    ]
    if options["grid"]:
        header.append("default error")
    lines = [
        f"{counted(first.rows, 'row')}, {len(found.classes):,} {single.task.nouns}, "
        f"{counted(single.n_features, 'feature')}, {stored_text(learner_facts(single))}, "
        f"{counted(len(found.trials), 'learner')} in one pass",
        "",
        table([header, *rows], lefts=3),
    ]
    if options["grid"]:
        lines += ["", "The parameters are the best of each rule by this error, which is therefore slightly optimistic."]
    if skipped:
        lines += ["", f"{counted(skipped, 'invalid row')} skipped."]
    if plot:
        lines += ["", f"Plot: {plot}"]
    return "\n".join(lines)
