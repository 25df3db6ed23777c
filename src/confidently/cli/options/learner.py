"""Learners as the options of the command line describe them: new ones, and those of models that go on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ...data.classes import ClassTable

if TYPE_CHECKING:
    from ...data.features import Features
    from ...learner.streams import StreamLearner
    from ...models.model import Model
    from ...rules.rule import Rule

# of every learner
form_options = [
    click.option(
        "--covariance",
        type=click.Choice(["diag", "full", "shared"]),
        default="diag",
        show_default=True,
        help="What is kept of the weights' covariance: a variance each, all of it, or one matrix for all classes. "
        "Kernels keep examples, without end on a stream: they are for Python (OnlineClassifier).",
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
]
learner_options = [
    *form_options,
    click.option(
        "--forget",
        type=float,
        default=0.0,
        show_default=True,
        metavar="SHARE",
        help="For data that drift: the share of what is known beyond the prior that every row takes away again, so "
        "that about the last 1/SHARE rows count. With --covariance diag.",
    ),
    click.option(
        "--calibration",
        type=click.Choice(["progressive", "none"]),
        default="progressive",
        show_default=True,
        help="Whether the margins met while learning calibrate the probabilities, or these are the posterior's vote.",
    ),
]


def form_of(options: dict[str, Any]) -> dict[str, Any]:
    """Settings of a learner that the options choose, except the rule, the task and the sizes."""
    return {
        "covariance": options["covariance"],
        "prior_variance": options["prior_variance"],
        "fit_intercept": not options["no_intercept"],
        "average": options["average"],
        "min_variance": options["min_variance"],
        "dtype": options["dtype"],
    }


def new_stream_learner(
    options: dict[str, Any], rule: Rule, classes: list[int | str], multilabel: bool, features: Features | None
) -> StreamLearner:
    """A learner of nothing yet.

    Raises
    ------
    click.UsageError
        If the options do not fit together.
    """
    from ...covariances.settings import Settings
    from ...covariances.table import kind_of
    from ...learner.learner import Learner
    from ...learner.streams import StreamLearner

    table = ClassTable(classes, multilabel, closed=bool(classes))
    task = "multilabel" if multilabel else options["multiclass"] if len(table) > 2 else "binary"
    try:
        kind_of(options["covariance"]).check_task(options["multiclass"])
        learner = Learner(Settings(rule, task=task, forget=options["forget"], **form_of(options)), len(table))
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    return StreamLearner(learner, table, options["multiclass"], features)


def continued(model: Model) -> StreamLearner:
    """The learner of a model, to go on."""
    from ...learner.streams import StreamLearner

    multilabel = model.learner.settings.task == "multilabel"
    table = ClassTable(model.classes, multilabel, model.source.get("closed", False))
    return StreamLearner(model.learner, table, model.estimator.get("multiclass", "joint"), model.features)


def announced(text: str | None) -> list[int | str]:
    """The classes of ``--classes``; integers in any spelling are one class, as in the data."""
    names: list[int | str] = []
    for name in text.split(",") if text else []:
        number = re.fullmatch(r"([+-]?[0-9]+)(\.0*)?", name.strip())
        names.append(int(number[1]) if number else name.strip())
    if text is not None and (len(names) < 2 or "" in names or len(set(names)) < len(names)):
        raise click.UsageError(f"--classes takes two or more different names separated by commas; got {text!r}")
    return names
