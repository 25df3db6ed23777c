"""``confidently inspect``: what a model has learned, and why it says what it says of a row."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..common import ABSENT, BadInput, json_option, load_model, model_argument, open_for, reported
from ..common import table as lined_up
from ..output.class_views import MAX_CLASSES_SHOWN, check_class, class_title, of_class, write_classes
from ..output.model_facts import facts_of, facts_text
from ..output.pictures import check_picture, picture_option, save_picture

if TYPE_CHECKING:
    from ...data import Batch
    from ...models.explanation import Explanation
    from ...models.inspection import ClassView, Weight
    from ...models.model import Model


@click.command()
@model_argument
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Features shown in each list.")
@click.option(
    "--row", metavar="TEXT",
    help="Explain what the model says of this row, written as its training data were; - reads it from standard input.",
)  # fmt: skip
@click.option("--class", "class_name", metavar="NAME", help="The class (label) to show, or whose margin to explain.")
@picture_option
@json_option
def inspect(
    model_path: str, top: int, row: str | None, class_name: str | None, picture: str | None, as_json: bool
) -> None:
    """Show what a model has learned, or why it says what it says of a row.

    Features are ordered by |mean|/std of their weights: how many standard deviations lie between a weight and having
    no effect. The other list has features that the model still cannot place although it knows them well: of the half
    of the features met whose variance has shrunk most, those with the smallest |mean|/std. With --row, what each
    feature of the row adds to the mean and to the variance of the margin. Models with a kernel have no weights of
    features: of them the examples are shown that have the largest coefficients.
    """
    check_picture(picture, [model_path])
    model = load_model(model_path)
    kernel = model.learner.covariance.keeps_examples
    if kernel and (row is not None or picture):
        raise BadInput(f"{model_path} is a kernel model, without weights of features: leave out --row and --picture")
    check_class(model, class_name)
    if kernel:
        from .inspect_kernel import show_kernel

        show_kernel(model, model_path, top, class_name, as_json)
    elif row is None:
        _show_model(model, model_path, top, class_name, picture, as_json)
    else:
        _show_row(model, row, top, class_name, picture, as_json)


# --- the model -------------------------------------------------------------------------------------------------------


def _show_model(model: Model, path: str, top: int, class_name: str | None, picture: str | None, as_json: bool) -> None:
    from ...models.inspection import class_views

    views = of_class(class_views(model, top), class_name)
    if picture:
        from ..output.inspect_picture import draw_model

        save_picture(draw_model(model, views), picture)
    facts = facts_of(model, path)
    if as_json:
        click.echo(json.dumps({**facts, "weights": [_view(view) for view in views]}))
        return
    write_classes(facts_text(facts), views, lambda view: _view_text(model, view), picture)


def _view(view: ClassView) -> dict[str, Any]:
    uncertain = None if view.uncertain is None else [_weight(weight) for weight in view.uncertain]
    decisive = [_weight(weight) for weight in view.decisive]
    return {"class": view.name, "weights_met": view.met, "decisive": decisive, "uncertain": uncertain}


def _weight(weight: Weight) -> dict[str, Any]:
    return {**asdict(weight), "ratio": weight.decisive, "sign_wrong": weight.certainty}


def _view_text(model: Model, view: ClassView) -> list[str]:
    title = class_title(model, view.name)
    if not view.decisive:
        return [f"{title}: nothing learned yet"]
    decisive = [["feature", "mean", "std", "|mean|/std", "variance left"]]
    decisive += [[*_cells(weight), _left(weight)] for weight in view.decisive]
    parts = [f"{title}: the most decisive of {view.met:,} weights\n{lined_up(decisive)}"]
    if view.uncertain is None:
        return [*parts, f"The rule {model.learner.settings.rule.name} keeps no variances, so that none is uncertain."]
    uncertain = [["feature", "mean", "std", "|mean|/std", "variance left", "P(sign wrong)"]]
    uncertain += [[*_cells(weight), _left(weight), f"{weight.certainty:.3f}"] for weight in view.uncertain]
    return [*parts, f"{title}: the most uncertain of the half known best\n{lined_up(uncertain)}"]


def _left(weight: Weight) -> str:
    return f"{100 * weight.variance_left:.3g} %"


def _cells(weight: Weight) -> list[str]:
    return [str(weight.feature), f"{weight.mean:+.4g}", f"{weight.std:.4g}", f"{weight.decisive:.4g}"]


# --- a row -----------------------------------------------------------------------------------------------------------


def _show_row(model: Model, text: str, top: int, class_name: str | None, picture: str | None, as_json: bool) -> None:
    from ...models.explanation import explain

    found = explain(model, _row(model, text), class_name)
    if picture:
        from ..output.inspect_picture import draw_row

        save_picture(draw_row(found, top), picture)
    if as_json:
        click.echo(json.dumps(_explained(found, top)))
    else:
        click.echo(_row_text(model, found, top) + (f"\n\nPicture: {picture}" if picture else ""))


def _row(model: Model, text: str) -> Batch:
    """The one row of a text or of standard input, read as the model's training data were."""
    if text == "-":
        with reported():
            return _only_row(model, "-")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "row")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text if text.endswith("\n") else text + "\n")
        try:
            with reported():
                return _only_row(model, path)
        except BadInput as error:
            raise BadInput(error.message.replace(path, "--row")) from None


def _only_row(model: Model, path: str) -> Batch:
    with open_for(model, [path], ignore_labels=True) as stream:
        batches = list(stream)
    rows = sum(len(batch) for batch in batches)
    if rows != 1:
        raise click.UsageError(f"--row takes one row; got {rows}")
    return next(batch for batch in batches if len(batch))


def _explained(found: Explanation, top: int) -> dict[str, Any]:
    rest = found.contributions[top:]
    return {
        "predicted": found.predicted,
        "margin": {
            "for": found.supported, "against": found.rival, "mean": found.mean, "variance": found.variance,
            "std": found.variance**0.5,
        },
        "classes": found.classes,
        "contributions": [asdict(contribution) for contribution in found.contributions[:top]],
        "others": {"count": len(rest), "mean": sum(c.mean for c in rest), "variance": sum(c.variance for c in rest)},
    }  # fmt: skip


def _row_text(model: Model, found: Explanation, top: int) -> str:
    multilabel = model.learner.settings.task == "multilabel"
    said = ", ".join(map(str, found.predicted)) or "(none)" if multilabel else _named(found.predicted)
    against = "" if found.rival is None and multilabel else f" against {_named(found.rival)}"
    scores = [["labels" if multilabel else "class", "probability", "margin" if multilabel else "score", "std"]]
    ranked = sorted(found.classes, key=lambda entry: -entry["mean"])[:MAX_CLASSES_SHOWN]
    scores += [[_named(c["name"]), f"{c['probability']:.4f}", f"{c['mean']:+.4g}", f"{c['std']:.4g}"] for c in ranked]
    rows = [["feature", "value", "weight", "adds to margin", "adds to variance"]]
    rows += [
        [str(c.feature) + ("" if c.known else " *"), f"{c.value:.4g}", f"{c.weight:+.4g}", f"{c.mean:+.4g}",
         f"{c.variance:.4g}"]
        for c in found.contributions[:top]
    ]  # fmt: skip
    if rest := found.contributions[top:]:
        mean, variance = sum(c.mean for c in rest), sum(c.variance for c in rest)
        rows.append([f"{len(rest):,} others", "", "", f"{mean:+.4g}", f"{variance:.4g}"])
    rows.append(["all", "", "", f"{found.mean:+.4g}", f"{found.variance:.4g}"])
    parts = [
        f"predicted  {said}\n"
        f"margin     {found.mean:+.4g} with a standard deviation of {found.variance**0.5:.4g}, "
        f"for {_named(found.supported)}{against}",
        lined_up(scores),
        lined_up(rows),
    ]
    if not all(c.known for c in found.contributions):
        parts.append("* not met in training: mean 0 and the prior's variance")
    return "\n\n".join(parts)


def _named(name: Any) -> str:
    return ABSENT if name is None else str(name)
