"""Whether labels are classes or numbers to predict, and the defaults that depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ...covariances.names import AUTO, DIAGONAL
from ...rules import REGRESSION_RULES, RULES
from ...wording import counted
from ..inputs import kind_of_model
from .arguments import is_given, listed
from .reading import chosen_reading
from .sections import LEARNER, adding
from .training import continued_model

if TYPE_CHECKING:
    from ..output.progress import Quiet

CLASS_RULE, REGRESSION_RULE = "arow", "ridge"  # by default
OF_CLASSES = ("multiclass", "multilabel", "classes")  # what a regression does not have
MANY_INTEGERS = 50  # distinct labels; with more of them, integers may be numbers to predict

_OPTIONS = [
    click.option(
        "--regression/--classification",
        "regression",
        default=None,
        help="Predict numbers, or classes.  [default: numbers if the rule does, or if labels are numbers but no "
        "integers]",
    ),
    click.option(
        "--bounds",
        metavar="LOW,HIGH",
        help="Least and largest possible number; leave one out if there is none, as in 0, for prices.  [default: 0, "
        "until a number is negative]",
    ),
]
task_option = adding(_OPTIONS, LEARNER)


def choose_task(ctx: click.Context, data: Sequence[str], options: dict[str, Any], report: Quiet) -> bool:
    """Return whether to predict numbers, and set the options whose defaults depend on it.

    Raises
    ------
    click.UsageError
        If options do not fit together.
    """
    known = _known_task(ctx, options)
    regression = seen_task(options, data, report) if known is None else known
    if not regression and options["covariance"] == AUTO:
        raise click.UsageError(f"--covariance: {AUTO} is for --regression; name a covariance")
    options["covariance"] = options["covariance"] or (AUTO if regression else DIAGONAL)
    if options["rule"] is None:
        options["rule"] = REGRESSION_RULE if regression else CLASS_RULE
    options["regression"] = True if regression else options["regression"]
    return regression


def _known_task(ctx: click.Context, options: dict[str, Any]) -> bool | None:
    """Return whether the options or a model to continue predict numbers; ``None`` if neither determines it."""
    rule, chosen = options["rule"], options["regression"]
    if rule in REGRESSION_RULES and chosen is False:
        raise click.UsageError(f"--rule: {rule} predicts numbers; omit --classification, or use another rule")
    if rule in RULES and chosen:
        raise click.UsageError(f"--rule: {rule} predicts classes; expected one of {', '.join(REGRESSION_RULES)}")
    of_classes = [name for name in OF_CLASSES if is_given(ctx, name)]
    if chosen or rule in REGRESSION_RULES:
        if of_classes:
            raise click.UsageError(f"{listed(of_classes)}: not supported for a regression, which predicts one number")
        return True
    if chosen is None and (continued := continued_model(options)) and (kind := kind_of_model(continued)) is not None:
        return kind == "regression"
    return False if chosen is False or of_classes or rule is not None else None


def seen_task(options: dict[str, Any], data: Sequence[str], report: Quiet) -> bool:
    """Return whether the labels of the first rows are numbers that cannot be classes, and report it."""
    from ...data.label_kind import ROWS_TO_INFER, label_kind
    from ...data.sources.paths import expand_paths
    from ...data.warning import warn

    found = label_kind(expand_paths(data), chosen_reading(options, data, infer=False))
    if found.fraction is not None:
        shown = f", such as {found.fraction:g}," if found.fraction == found.fraction else ""
        report.note("task", f"labels are numbers{shown} so the model predicts numbers (--regression)", regression=True)
    elif found.are_numbers:
        report.note(
            "task", f"labels are {found.integers:,} different integers in {counted(found.rows, 'row')}, so the model "
            "predicts numbers (--regression); use --classification if they are classes", regression=True,
        )  # fmt: skip
    elif found.integers > MANY_INTEGERS:
        text = (
            f"labels are {found.integers:,} different integers in the first {ROWS_TO_INFER:,} rows, read as classes; "
            "use --regression to predict numbers, or --classification if they are classes"
        )
        warn(text)
    return found.are_numbers
