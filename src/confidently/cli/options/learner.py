"""The learner that options describe, and the learner of a model that training continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...covariances.names import AUTO, DIAGONAL, OVER_WEIGHTS, RANK
from ...models import entries
from ...tasks.names import MULTICLASS_NAMES
from ..inputs import is_stack
from .arguments import is_given, names_of
from .reading import multilabel_option
from .sections import LEARNER, RULE, adding
from .training import continued_model
from .view import VIEW_OPTIONS

if TYPE_CHECKING:
    from ...data.classes import ClassTable
    from ...data.reading import ReaderOptions
    from ...learner.streams import StreamLearner
    from ...rules.rule import Rule
    from ...views.view import View

classes_option = click.option(
    "--classes",
    metavar="NAMES",
    help="Fix all classes, separated by commas.",
)
calibration_option = click.option(
    "--calibration",
    type=click.Choice(["progressive", "none"]),
    default="progressive",
    help="Calibrate probabilities by predictions made before training, or report them uncalibrated.",
)

_COVARIANCE = click.option(
    "--covariance",
    type=click.Choice(OVER_WEIGHTS),
    default=DIAGONAL,
    help="Store the covariance of the weights in this form; of several classes, full is shared.",
)
_COVARIANCE_OR_AUTO = click.option(
    "--covariance",
    type=click.Choice((*OVER_WEIGHTS, AUTO)),
    help="Store the covariance so; full is shared by classes; auto is full up to 1,000 columns.  "
    "[default: diag; regression: auto]",
)
_SETTINGS = [
    click.option(
        "--projection",
        type=click.Choice(["precision", "moments"]),
        help="Keep precisions or variances of an updated Gaussian in a diagonal covariance.  "
        "[default: as in the rule's paper]",
    ),
    click.option("--rank", type=int, default=RANK, help="Keep this many directions in a covariance of low rank."),
    click.option("--prior-variance", type=float, default=1.0, help="Set the prior variance of every weight."),
    click.option(
        "--min-variance",
        type=float,
        default=1e-12,
        help="Bound every variance from below by this fraction of the prior variance.",
    ),
    click.option("--no-intercept", is_flag=True, help="Do not add a constant feature to every row."),
    click.option(
        "--average",
        is_flag=True,
        help="Predict with the mean of the weights over all rows instead of the last weights.",
    ),
    click.option(
        "--dtype",
        type=click.Choice(["float64", "float32"]),
        default="float64",
        help="Store the model's numbers in this type.",
    ),
    click.option(
        "--multiclass",
        type=click.Choice(MULTICLASS_NAMES),
        help="Train classes jointly, one learner per class, or by softmax.  [default: joint; logistic: softmax; "
        "labels: one-vs-rest]",
    ),
    multilabel_option,
    classes_option,
]
AUTO_KEEPS = ("auto", "no_trees", "dtype", "classes", "multilabel", "regression")  # that go with --auto
BY_DEFAULT = "several learners are trained and mixed (--auto); --rule {} trains a single one, which is faster"
_LEARNER = [
    click.option(
        "--auto",
        is_flag=True,
        help="Mix several learners on different views of the rows; nothing is to be tuned.  "
        "[default: yes, without options of a single one]",
    ),
    click.option("--no-trees", is_flag=True, help="With --auto: no learners on boosted trees, for faster training."),
    _COVARIANCE_OR_AUTO,
    *_SETTINGS,
    *VIEW_OPTIONS,
    click.option(
        "--forget",
        type=float,
        default=0.0,
        help="Discard this fraction of the accumulated precision per row, for data that drift.",
    ),
    calibration_option,
]
settings_options = adding([_COVARIANCE, *_SETTINGS], LEARNER)
learner_options = adding(_LEARNER, LEARNER)


def chosen_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a learner that the options choose, except rule, task and sizes."""
    same = ("covariance", "projection", "rank", "prior_variance", "average", "min_variance", "dtype")
    return {name: options[name] for name in same} | {"fit_intercept": not options["no_intercept"]}


def chosen_calibration(options: dict[str, Any]) -> str | None:
    """Return the calibration that the options choose."""
    return None if options["calibration"] == "none" else "progressive"


def chosen_bounds(options: dict[str, Any]) -> Any:
    """Return the least and the largest number to predict, if they are given: ``0,1``, ``0,`` or ``,``.

    Raises
    ------
    click.UsageError
        If they are no bounds, or those of classes.
    """
    given = options.get("bounds")
    if given is None:
        return None
    from ...tasks.targets import check_bounds

    if not options["regression"]:
        raise click.UsageError("--bounds: for --regression, which predicts numbers")
    try:
        return check_bounds([float(bound) if bound.strip() else None for bound in given.split(",")])
    except (TypeError, ValueError):
        raise click.UsageError(
            f"--bounds: expected LOW,HIGH, such as 0,1 or 0, without an end, got {given!r}"
        ) from None


def new_stream_learner(
    options: dict[str, Any], rule: Rule, view: View | None, table: ClassTable, reading: ReaderOptions,
    n_columns: int = 0,
) -> StreamLearner:  # fmt: skip
    """Return an untrained learner, for the covariance "auto" of rows with so many columns, or a stack of learners.

    Raises
    ------
    click.UsageError
        If the options do not fit together.
    """
    from ...data.features import Features

    targets, features = bool(options["regression"]), Features(bounded=not reading.vocabulary) if reading.named else None
    bounds = chosen_bounds(options)
    if options["auto"]:
        from ...learner.streams import StreamLearner
        from ...stack.number_choice import stack_of

        stack = stack_of(table, targets, options["dtype"], bounds, not options["no_trees"])
        return StreamLearner(stack, table, None, features, reading)
    if options["no_trees"]:
        raise click.UsageError("--no-trees: only several learners (--auto) have trees by themselves; omit it")
    from ...learner.recipe import Recipe

    settings = chosen_settings(options) | {"forget": options["forget"], "targets": targets, "bounds": bounds}
    try:
        recipe = Recipe.of(rule, view, options["multiclass"], **settings)
        return recipe.stream_learner(table, features, reading, n_columns)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def estimator_entries(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the estimator that a model has besides those of its learner."""
    return entries.estimator_entries(
        bool(options["regression"]), options["auto"], covariance=options["covariance"],
        multiclass=options["multiclass"], calibration=chosen_calibration(options), trees=not options["no_trees"],
    )  # fmt: skip


def choose_auto(ctx: click.Context, options: dict[str, Any]) -> bool:
    """Set ``--auto`` if no option of a single learner is given; return whether that starts a stack.

    A model to continue stays what it is.

    Raises
    ------
    click.UsageError
        If options of a single learner are given next to ``--auto``.
    """
    given = [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if getattr(parameter, "section", None) in (RULE, LEARNER) and parameter.name not in AUTO_KEEPS
        and is_given(ctx, str(parameter.name))
    ]  # fmt: skip
    if options["auto"]:
        if given:
            raise click.UsageError(f"--auto chooses its learners; omit {', '.join(given)}")
        return False
    continued = continued_model(options)
    options["auto"] = not given and (continued is None or is_stack(continued))
    return options["auto"] and continued is None


def chosen_classes(text: str | None) -> list[int | str]:
    """Return the classes of ``--classes``; all spellings of an integer are one class, as in data."""
    from ...data.classes import class_named  # imported here to save start-up time

    names = [class_named(name.strip()) for name in names_of(text)] if text else []
    if text is not None and (len(names) < 2 or "" in names or len(set(names)) < len(names)):
        raise click.UsageError(f"--classes: expected two or more different names separated by commas, got {text!r}")
    return names
