"""``confidently evaluate``: measures of a model's predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from ...wording import counted
from ..inputs import check_one_number, load_predictor, open_for, reported
from ..options.arguments import FRACTION, data_argument, json_option, model_argument, quiet_option
from ..options.bandit import MIN_PROPENSITY, NEW_LOGS, POLICY, check_given, check_no_bandit, is_bandit, log_options
from ..options.command import Command
from ..options.entities import check_evaluation, is_entities
from ..options.plot import check_plot, plot_option
from ..options.predictions import check_one_class, check_promises, promise_options
from ..options.reading import new_data_options, new_missing_label_option, opening_of
from ..output.text import class_name, digits, percent, say, table

MAX_CLASSES_IN_TABLE = 30  # in the table of classes; of more, the largest and those with the lowest recall
LARGEST_CLASSES, WORST_CLASSES = 20, 10
MAX_UNKNOWN_CLASSES = 5  # named
MAX_CONFUSION = 12  # classes in the table of true against predicted classes
NAMES = {
    "error": "error",
    "log_loss": "log-loss",
    "auc": "AUC",
    "macro_f1": "macro-F1",
    "subset_accuracy": "exact sets",
    "micro_f1": "micro-F1",
    "micro_precision": "precision",
    "micro_recall": "recall",
    "hamming_loss": "Hamming loss",
    "ranking_loss": "ranking loss",
}
GROUP_MEASURES: dict[str, tuple[str, Callable[[float], str]]] = {  # their names and texts
    "error": ("error", percent), "subset_accuracy": ("exact sets", percent), "mae": ("MAE", digits),
    "coverage": ("coverage", percent), "mean_size": ("size of sets", "{:.2f}".format),
    "mean_width": ("mean width", digits),
}  # fmt: skip
OF_BANDIT = (
    "model_path", "data", "policy", "min_propensity", "as_json", "quiet", "format", "encoding", "delimiter", *NEW_LOGS,
)  # fmt: skip
UNKNOWN_COUNTS = {"rows_of_unknown_classes": "rows of unknown classes", "unknown_labels": "unknown labels"}


EXAMPLES = (
    "confidently evaluate spam.cw new.jsonl",
    "confidently evaluate spam.cw new.jsonl --abstain 0.9 --risk-coverage",
    "confidently evaluate spam.cw new.jsonl --set 0.9 --max-risk 0.01",
    "confidently evaluate price.cw clicks.csv --by device",
    "confidently evaluate router.bandit routes.jsonl --policy greedy",
)
FIRST = "abstain set risk_coverage by strict plot quiet as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@model_argument
@data_argument
@click.option(
    "--abstain",
    type=FRACTION,
    help="Also measure predict --abstain: the fraction of the rows whose predicted class has at least probability "
    "FLOAT, and their error.",
)
@click.option(
    "--risk-coverage",
    is_flag=True,
    help="Also show the error when only the most probable predictions are made, and the area under this curve.",
)
@promise_options(
    "Also measure predict --set: how many sets have the true class (label), in all and in any 1,000 rows, and their "
    "size.",
    "Also measure predict --max-risk: the fraction of the rows that are predicted, and their error.",
)
@click.option(
    "--by",
    metavar="COLUMN",
    help="Also show rows, error and what --set measures for each value of this column; above 64 values, for the "
    "others together.",
)
@POLICY
@MIN_PROPENSITY
@new_data_options
@new_missing_label_option
@log_options
@plot_option
@quiet_option
@json_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    model_path: str,
    data: tuple[str, ...],
    abstain: float | None,
    risk_coverage: bool,
    set: float | None,
    set_together: bool,
    max_risk: float | None,
    by: str | None,
    policy: str | None,
    min_propensity: float | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare a model's predictions with the labels of data.

    DATA are files, or - for standard input. Memory does not grow with the data, with two exceptions: with two classes
    the area under the ROC curve (AUC) needs every score, and --risk-coverage needs every probability. Every row counts
    once, whatever its weight. Rows of unknown classes count as errors and are left out of the log-loss. macro-F1 is the
    mean F1 of the model's classes that are true or predicted for some row. --plot draws the curve of --risk-coverage.

    Of a regression model, the measures are the root mean squared error (RMSE), the mean absolute error (MAE), R2, and
    the coverage and mean width of its 90 % intervals.

    Of a model of train --key, --set and --max-risk are not measured.

    Of a model of train --bandit, DATA are logs of decisions, and the measure is the reward that its policy, or another
    one, would have earned.
    """
    if is_bandit(model_path):
        _evaluate_bandit(ctx, model_path, data, as_json)
        return
    check_no_bandit(ctx, ("policy", "min_propensity", *NEW_LOGS))
    if plot and not risk_coverage:
        raise click.UsageError("--plot draws the curve of --risk-coverage; use both")
    check_plot(plot)
    from ...evaluation.measures import Wanted, evaluated, kept

    wanted = Wanted(abstain, risk_coverage, set, not set_together, max_risk, by)
    if is_entities(model_path):
        from ..training.entity_measures import evaluate_entities

        check_evaluation(ctx)
        result, curve = evaluate_entities(model_path, data, wanted, quiet, opening_of(options))
    else:
        model = load_predictor(model_path, data)
        for option, is_used in (("--abstain", abstain is not None), ("--risk-coverage", risk_coverage)):
            if is_used:
                check_one_class(option, model.learner.task)
        check_promises(set, not set_together, max_risk, model)
        from ..output.predictions import least_probability, warn_of_shortage
        from ..output.reporter import reported_batches

        with reported():
            check_one_number(model)
            if set is not None:
                warn_of_shortage(model, set, not set_together)
            if max_risk is not None:
                least_probability(model, max_risk)
            keep = kept(model, wanted)
            with open_for(model, data, keep=keep, **model.learner.task.reading, **opening_of(options)) as stream:
                result, curve = evaluated(model, reported_batches(stream, quiet), wanted)
    for entry in (*result.get("unknown_classes", ()), *result.get("classes", ())):
        entry["name"] = class_name(entry["name"])
    if plot and curve is not None:
        from ..output.plots import plot_risk_coverage, save_plot

        save_plot(plot_risk_coverage(curve, result["rows"]), plot)
    text = _numbers_text(result) if "rmse" in result else _text(result, plot)
    say(json.dumps(result) if as_json else text)


def _evaluate_bandit(ctx: click.Context, path: str, data: tuple[str, ...], as_json: bool) -> None:
    """Say what the policy of a bandit would have earned."""
    check_given(ctx, OF_BANDIT)
    from ..output.bandits import bandit_text
    from ..training.bandit import evaluate_bandit

    with reported():
        result = evaluate_bandit(path, data, ctx.params)
    say(json.dumps(result) if as_json else bandit_text(result))


def _text(result: dict[str, Any], plot: str | None) -> str:
    rows = [["rows", f"{result['rows']:,}"]]
    for key, name in NAMES.items():
        if result.get(key) is not None:
            is_fraction = key in ("error", "subset_accuracy")
            rows.append([name, percent(result[key]) if is_fraction else f"{result[key]:.4f}"])
    rows += [[name, f"{result[key]:,}"] for key, name in UNKNOWN_COUNTS.items() if result.get(key)]
    if "abstain" in result:
        found = result["abstain"]
        rows += [
            [f"coverage at p >= {found['probability']:g}", percent(found["coverage"])],
            [f"error at p >= {found['probability']:g}", _percent(found["error"])],
        ]
    if "max_risk" in result:
        found = result["max_risk"]
        rows += [
            [f"predicted at risk {found['risk']:g}", percent(found["coverage"])],
            [f"error at risk {found['risk']:g}", _percent(found["error"])],
        ]
    if "set" in result:
        found = result["set"]
        ends = [[f"{name} in any 1,000 rows", _percent(found[name])] for name in ("lowest", "highest")]
        rows += [
            [f"coverage of {100 * found['probability']:g} % sets", _percent(found["coverage"])],
            *(ends if found["lowest"] is not None else []),
            ["mean size of sets", f"{found['mean_size']:.2f}"],
        ]
    parts = [table(rows) + _unknown_text(result["unknown_classes"]), *_groups_text(result)]
    parts.append(_class_table(result["classes"]))
    if "risk_coverage" in result:
        parts.insert(1, _risk_coverage_table(result))
    if "confusion" in result and len(result["classes"]) <= MAX_CONFUSION:
        names = [entry["name"] for entry in result["classes"]]
        crossed = [[name, *map(str, row)] for name, row in zip(names, result["confusion"], strict=True)]
        parts.append(table([["true \\ predicted", *names], *crossed]))
    if plot:
        parts.append(f"Plot: {plot}")
    return "\n\n".join(parts)


def _numbers_text(result: dict[str, Any]) -> str:
    interval = result["interval"]
    name, width = f"{100 * interval['probability']:g} % intervals", interval["mean_width"]
    rows = [
        ["rows", f"{result['rows']:,}"],
        ["RMSE", digits(result["rmse"])],
        ["MAE", digits(result["mae"])],
        ["R2", "-" if result["r2"] is None else f"{result['r2']:.4f}"],
        [f"coverage of {name}", percent(interval["coverage"])],
        [f"mean width of {name}", "infinite" if width is None else digits(width)],
    ]
    return "\n\n".join([table(rows), *_groups_text(result)])


def _groups_text(result: dict[str, Any]) -> list[str]:
    """Return a table of the measures by the value of a column, if there are any."""
    if "by" not in result:
        return []
    first, *_ = groups = result["by"]["groups"]
    names = [name for name in GROUP_MEASURES if name in first]
    lines = [
        ["others" if one["value"] is None else one["value"] or "-", f"{one['rows']:,}",
         *("-" if one[name] is None else GROUP_MEASURES[name][1](one[name]) for name in names)]
        for one in groups
    ]  # fmt: skip
    return [table([[result["by"]["column"], "rows", *(GROUP_MEASURES[name][0] for name in names)], *lines])]


def _risk_coverage_table(result: dict[str, Any]) -> str:
    """A table of errors by coverage; the probabilities are rounded down, so that no row is lost by typing them."""
    lines = [
        [percent(point["coverage"]), percent(point["error"]), f"{int(point['probability'] * 1e4) / 1e4:.4f}"]
        for point in result["risk_coverage"]
    ]
    text = table([["coverage", "error", "--abstain"], *lines])
    return f"{text}\narea under the curve: {result['risk_coverage_area']:.4f}"


def _unknown_text(classes: list[dict[str, Any]]) -> str:
    """Return the unknown classes with most rows as a line of text."""
    if not classes:
        return ""
    named = [f"{entry['name']} ({counted(entry['rows'], 'row')})" for entry in classes[:MAX_UNKNOWN_CLASSES]]
    rest = len(classes) - len(named)
    return f"\nunknown: {', '.join(named)}" + (f" and {rest:,} more" if rest else "")


def _class_table(classes: list[dict[str, Any]]) -> str:
    if len(classes) <= MAX_CLASSES_IN_TABLE:
        return _table_of(classes)
    largest = sorted(classes, key=lambda entry: -entry["rows"])[:LARGEST_CLASSES]
    parts = [f"The largest of {len(classes):,} classes:\n{_table_of(largest)}"]
    missed = (entry for entry in classes if entry["rows"] and entry["recall"] < 1)
    if worst := sorted(missed, key=lambda entry: (entry["recall"], -entry["rows"]))[:WORST_CLASSES]:
        parts.append(f"Those with the lowest recall:\n{_table_of(worst)}")
    return "\n\n".join(parts)


def _table_of(classes: list[dict[str, Any]]) -> str:
    names = [name for name in ("precision", "recall", "coverage") if name in classes[0]]
    header, lines = (
        ["class", "rows", *names],
        [[entry["name"], f"{entry['rows']:,}", *(_percent(entry[name]) for name in names)] for entry in classes],
    )
    if "mean_size" in classes[0]:
        header.append("size of sets")
        for line, size in zip(lines, (entry["mean_size"] for entry in classes), strict=True):
            line.append("-" if size is None else f"{size:.2f}")
    return table([header, *lines])


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else percent(fraction)
