"""``confidently inspect``: what a classifier has learned, and an explanation of one prediction."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ...wording import counted
from ..inputs import BadInput, open_for, reported
from ..options.arguments import POSITIVE_INTEGER, json_option, model_argument
from ..options.bandit import check_given, is_bandit
from ..options.command import Command
from ..options.entities import check_inspection, is_entities
from ..options.plot import check_plot, plot_option
from ..output.classes import MAX_CLASSES_SHOWN, check_class, of_class, print_classes
from ..output.explanations import explained, explanation_facts, explanation_text
from ..output.learner_summaries import weighted_members
from ..output.model_summaries import model_facts, model_text
from ..output.text import percent, say
from ..output.text import shown as named
from ..output.text import table as aligned
from ..output.weights import member_views, members_text, view_facts, view_text

if TYPE_CHECKING:
    from ...data import Batch
    from ...models.inspection import KeptExample
    from ...models.model import Model


OF_BANDIT = ("model_path", "top", "as_json")
SORTS = ("effect", "sure")  # orders of weights; the first is the default
HEADER_ONLY = "has no rows, only a header"  # of a table
EXAMPLES = (
    "confidently inspect spam.cw --top 20",
    'confidently inspect spam.cw --row \'{"text": "win a prize now"}\'',
)


@click.command(cls=Command, examples=EXAMPLES)
@model_argument
@click.option("--top", type=POSITIVE_INTEGER, default=10, help="Show this many features in each list.")
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    help="Order features by their effect, |mean| times a typical value, or by how sure it is, |mean|/std.  [default: "
    "effect]",
)
@click.option(
    "--row",
    metavar="TEXT",
    help="Explain this row, written as in the training data or as a JSON object; - reads it from standard input.",
)
@click.option("--class", "class_name", metavar="NAME", help="Show this class, label or output, or explain it.")
@click.option("--members", is_flag=True, help="Show the members of a stack of learners.")
@click.option("--key", metavar="VALUE", help="Of a model of train --key, show what this entity deviates by.")
@plot_option
@json_option
@click.pass_context
def inspect(
    ctx: click.Context,
    /,
    model_path: str,
    top: int,
    sort: str | None,
    row: str | None,
    class_name: str | None,
    members: bool,
    key: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Show what a model has learned, or explain its prediction for one row.

    The first list orders features by effect: the mean of the weight times a typical value of the feature. That is 1
    for words and categories, a standard deviation for numbers that a view standardizes, and 1 for other numbers. An
    effect is sure if |mean|/std, the number of standard deviations between the weight and 0, is at least 2; sure ones
    come first. The second list shows features with many updates and yet an uncertain sign: of the half of the seen
    features whose variance has shrunk most, those with the smallest |mean|/std. With --row, the command shows the
    contribution of each feature to the mean and to the variance of the margin. Kernel models have no weights of
    features: for them it shows the examples with the largest coefficients. For a stack of learners (train --auto) it
    shows the importance of each feature: its part in the squared effects on the mixed score over the rows learned, a
    category as one. With --members, it shows the members, their weights, and the first list for the
    three members with the largest weights, of one class if there are more than two (--class). With --row, it shows the
    contribution of each member and of each feature. Of a regression, positive weights add to the prediction, and --row
    shows the contribution of each feature to it. If it predicts several numbers, --class is the number of one, from 0.
    Of a model of train --bandit it shows the expected reward of each action, and what features of contexts add to it.
    """
    if is_entities(model_path):
        check_inspection(ctx)
        _show_entities(model_path, key, top, as_json)
        return
    if key is not None:
        raise click.UsageError("--key is for a model of train --key; omit it")
    if is_bandit(model_path):
        check_given(ctx, OF_BANDIT)
        _show_bandit(model_path, top, as_json)
        return
    check_plot(plot)
    if sort and row is not None:
        raise click.UsageError("--sort: orders the weights of features, not those of a row; omit --sort or --row")
    from ...models.model import Model

    with reported():
        model = Model.load_touched(model_path) if row is None else Model.load(model_path)
    learner = model.learner
    stack = weighted_members(learner) is not None
    kernel = not stack and learner.covariance.keeps_examples
    if learner.task.regression and learner.n_classes == 1 and class_name is not None:
        raise BadInput(f"{model_path} predicts one number: --class is for several, and for classifiers; omit it")
    if learner.task.regression and row is not None and class_name is None and (n := learner.n_classes) > 1:
        raise click.UsageError(f"--row: the model predicts {n} numbers; use --class with one from 0 to {n - 1}")
    if kernel and (row is not None or plot or sort):
        raise BadInput(f"{model_path} is a kernel model without weights of features; omit --row, --sort and --plot")
    check_class(model, class_name)
    if not stack and not kernel:
        with _named(model_path):
            learner.require("explain")
    if row is not None:
        _show_row(model, model_path, row, top, class_name, plot, as_json)
        return
    if kernel:
        _show_kernel(model, model_facts(model, model_path), top, class_name, as_json)
        return
    if stack and not (as_json or members or sort or class_name is not None):
        _show_importances(model, model_facts(model, model_path), top, plot)
        return
    show = _show_stack if stack else _show_model
    show(model, model_facts(model, model_path), top, sort or SORTS[0], class_name, plot, as_json)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Turn what a model cannot do into one line that names its file."""
    try:
        yield
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None


# --- a model of entities ---------------------------------------------------------------------------------------------


def _show_entities(model_path: str, key: str | None, top: int, as_json: bool) -> None:
    from ..output.entities import deviation_text, entities_text
    from ..training.entities import deviation_facts, entity_facts, read_entities

    model = read_entities(model_path)
    facts = entity_facts(model) if key is None else deviation_facts(model, key, top)
    text = entities_text if key is None else deviation_text
    say(json.dumps(facts) if as_json else text(facts))


def _show_bandit(model_path: str, top: int, as_json: bool) -> None:
    from ...bandits.decision_model import DecisionModel
    from ..output.bandits import model_text as text_of_bandit
    from ..training.bandit import bandit_facts

    with reported():
        facts = bandit_facts(DecisionModel.load(model_path), top)
    say(json.dumps(facts) if as_json else text_of_bandit(facts, model_path))


# --- the model -------------------------------------------------------------------------------------------------------


def _show_model(
    model: Model, facts: dict[str, Any], top: int, sort: str, class_name: str | None, plot: str | None, as_json: bool
) -> None:
    from ...models.inspection import class_views

    views = class_views(model, top, sort, class_name, MAX_CLASSES_SHOWN)
    left_out = 0 if class_name is not None or model.learner.task.binary else len(model.classes) - len(views)
    if plot:
        from ..output.plots import plot_model, save_plot

        save_plot(plot_model(model, views), plot)
    if as_json:
        more = {"classes_left_out": left_out} if left_out else {}
        say(json.dumps({**facts, "weights": [view_facts(view) for view in views], **more}))
        return
    print_classes(model_text(facts), views, lambda view: view_text(model, view, sort), plot, left_out)


# --- a kernel model --------------------------------------------------------------------------------------------------


def _show_kernel(model: Model, facts: dict[str, Any], top: int, class_name: str | None, as_json: bool) -> None:
    from ...models.inspection import kept_examples

    views = kept_examples(model, top)
    if class_name is not None and len(views) > 1:
        views = [view for view in views if str(view[0]) == class_name]
    if as_json:
        listed = [{"class": name, "decisive": [asdict(kept) for kept in found]} for name, found in views]
        say(json.dumps({**facts, "kept": listed}))
        return
    say("\n\n".join([model_text(facts), *(_kept_text(name, found) for name, found in views)]))


def _kept_text(name: Any, found: list[KeptExample]) -> str:
    title = f"{named(name)}: the kept examples with the largest coefficients"
    if not found:
        return f"{title}: none"
    rows = [["example", "coefficient", "features"]]
    rows += [[f"{kept.number:,}", f"{kept.coefficient:+.4g}", _features(kept)] for kept in found]
    return f"{title} (positive ones favor it)\n{aligned(rows, str.ljust)}"


def _features(kept: KeptExample) -> str:
    return " ".join(f"{feature}:{value:.4g}" for feature, value in kept.features.items())


# --- a stack ---------------------------------------------------------------------------------------------------------


def _show_importances(model: Model, facts: dict[str, Any], top: int, plot: str | None) -> None:
    from ...models.importance import importances_by_name

    found = importances_by_name(model)
    if plot:
        from ..output.plots import plot_importances, save_plot

        save_plot(plot_importances(dict(islice(found.items(), top))), plot)
    rows = [["feature", "importance"], *([str(name), percent(part)] for name, part in islice(found.items(), top))]
    title = f"importance of {counted(len(found), 'feature')}, over all members (--members shows these)"
    say(f"{model_text(facts, members=False)}\n\n{title}\n{aligned(rows)}{_drawn(plot)}")


def _show_stack(
    model: Model, facts: dict[str, Any], top: int, sort: str, class_name: str | None, plot: str | None, as_json: bool
) -> None:
    if plot:
        from ..output.plots import plot_members, save_plot

        save_plot(plot_members(model.learner), plot)
    if as_json:
        from ...models.importance import importances_by_name

        members = [
            {"member": name, "classes": [view_facts(view) for view in of_class(views, class_name)]}
            for name, views in member_views(model, top, len(model.learner.names), sort)
        ]
        importances = dict(islice(importances_by_name(model).items(), top))
        say(json.dumps({**facts, "importances": importances, "weights": members}))
    else:
        say("\n\n".join([model_text(facts), *members_text(model, top, class_name, sort)]) + _drawn(plot))


def _drawn(plot: str | None) -> str:
    return f"\n\nPlot: {plot}" if plot else ""


# --- one row ---------------------------------------------------------------------------------------------------------


def _show_row(
    model: Model, path: str, text: str, top: int, class_name: str | None, plot: str | None, as_json: bool
) -> None:
    row = _row(model, text)
    with _named(path):
        found: Any = explained(model, row, class_name)
    if plot:
        from ..output.plots import plot_explanation, save_plot

        save_plot(plot_explanation(model, found, top), plot)
    if as_json:
        say(json.dumps(explanation_facts(model, found, top)))
    else:
        say(explanation_text(model, found, top) + _drawn(plot))


def _row(model: Model, text: str) -> Batch:
    """Return the one row of a text or of standard input, read as the model's training data were."""
    if text == "-":
        with reported():
            return _only_row(model, "-")
    if os.path.isfile(text):
        raise click.UsageError(
            f"--row: {text} is a file, expected the row itself, as in the training data; write it in quotes, or use "
            f"--row - < {shlex.quote(text)} for a file of one row"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "row")
        encoding = model.source.get("encoding", "utf-8")
        try:
            with open(path, "w", encoding=encoding, errors="surrogateescape", newline="\n") as file:
                file.write(text if text.endswith("\n") else text + "\n")
        except UnicodeEncodeError:
            raise BadInput(f"--row: {text!r} is not {encoding} text, which the model was trained on") from None
        try:
            with reported():
                return _only_row(model, path, as_objects=text.lstrip().startswith("{") and _has_columns(model))
        except BadInput as error:
            message = error.message.replace(path, "--row")
            if HEADER_ONLY in message:
                columns = ",".join(model.source.get("header") or ("a", "b"))
                message = f"--row: expected the header and the row in two lines, got one; use --row $'{columns}\\n...'"
            raise BadInput(message) from None


def _has_columns(model: Model) -> bool:
    """Return whether the model was trained on columns, of which a JSON object is a row too."""
    from ...data import ReaderOptions

    return ReaderOptions.from_dict(model.source).file_format.columns


def _only_row(model: Model, path: str, as_objects: bool = False) -> Batch:
    with open_for(
        model, [path], as_objects=as_objects, ignore_labels=True, expected=None
    ) as stream:  # it says what is unseen
        batches = list(stream)
    rows = sum(len(batch) for batch in batches)
    if rows != 1:
        raise click.UsageError(f"--row: expected 1 row, got {rows}")
    return next(batch for batch in batches if len(batch))
