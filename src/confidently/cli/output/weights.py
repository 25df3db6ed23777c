"""The weights of features, as tables and for JSON; those of a stack member by member."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .classes import MAX_CLASSES_SHOWN, class_title, of_class
from .text import shown as named
from .text import table as aligned

if TYPE_CHECKING:
    from ...models.inspection import ClassView, Weight
    from ...models.model import Model

UNSCALED = "How large numbers usually are is not known to the model: effects are those of 1 unit."
MEMBERS_SHOWN = 3  # of a stack, whose weights of features are shown


def view_facts(view: ClassView) -> dict[str, Any]:
    """Return the weights of a class for JSON."""
    uncertain = None if view.uncertain is None else [_weight(weight) for weight in view.uncertain]
    top = [_weight(weight) for weight in view.top]
    return {
        "class": view.name, "weights_met": view.updated, "is_scaled": view.is_scaled, "top": top, "uncertain": uncertain
    }  # fmt: skip


def _weight(weight: Weight) -> dict[str, Any]:
    return {
        **asdict(weight), "ratio": weight.decisive, "is_sure": weight.is_sure, "sign_wrong": weight.sign_error
    }  # fmt: skip


def view_text(model: Model, view: ClassView, sort: str) -> list[str]:
    """Return tables of the weights of a class."""
    title = class_title(model, view.name)
    if not view.top:
        return [f"{title}: nothing learned yet"]
    top = [["feature", "effect", "sure", "mean", "std", "|mean|/std", "variance left"]]
    top += [[*_effect(weight), _left(weight)] for weight in view.top]
    parts = [f"{title}: {_ordered(view, sort)} weights\n{aligned(top)}"]
    if not view.is_scaled:
        parts[0] += f"\n{UNSCALED}"
    if view.uncertain is None:
        return [*parts, f"The rule {model.learner.settings.rule.name} keeps no variances, so no weight is uncertain."]
    uncertain = [["feature", "mean", "std", "|mean|/std", "variance left", "P(wrong)"]]
    uncertain += [[*_cells(weight), _left(weight), f"{weight.sign_error:.3f}"] for weight in view.uncertain]
    return [*parts, f"{title}: the least decisive after many updates\n{aligned(uncertain)}"]


def _ordered(view: ClassView, sort: str) -> str:
    return f"the {'most decisive' if sort == 'sure' else 'largest effects'} of {view.updated:,}"


def _effect(weight: Weight) -> list[str]:
    feature, *cells = _cells(weight)
    return [feature, f"{weight.effect:+.4g}", "yes" if weight.is_sure else "", *cells]


def _left(weight: Weight) -> str:
    return f"{100 * weight.variance_left:.3g} %"


def _cells(weight: Weight) -> list[str]:
    return [str(weight.feature), f"{weight.mean:+.4g}", f"{weight.std:.4g}", f"{weight.decisive:.4g}"]


def member_views(model: Model, top: int, most: int, sort: str) -> list[tuple[str, list[ClassView]]]:
    """Return the weights of features in so many members that have some, those of the largest weights first."""
    from ...models.inspection import class_views
    from ...models.stack_explanation import model_of_member

    learner = model.learner
    found: list[tuple[str, list[ClassView]]] = []
    for k in sorted(range(len(learner.names)), key=lambda k: -abs(learner.member_weights[k])):
        if len(found) < most and (alone := model_of_member(model, k)) is not None:
            found.append((learner.names[k], class_views(alone, top, sort)))
    return found


def members_text(model: Model, top: int, class_name: str | None, sort: str) -> list[str]:
    """Return tables of the weights of features in the most important members of a stack."""
    task = model.learner.task
    if model.learner.n_classes > 2 and class_name is None and not task.regression:
        return ["--class NAME shows the weights of features for a class; --row explains a prediction."]
    found = member_views(model, top, MEMBERS_SHOWN, sort)
    if not found:
        return ["No member has weights of features; --row explains a prediction."]
    about = ", positive for {}" if not task.regression else ", for output {}" if model.learner.n_classes > 1 else ""
    shown = ((name, view) for name, views in found for view in of_class(views, class_name)[:MAX_CLASSES_SHOWN])
    return [_member_text(name, view, about.format(named(view.name)), sort) for name, view in shown]


def _member_text(name: str, view: ClassView, about: str, sort: str) -> str:
    if not view.top:
        return f"{name}: nothing learned yet"
    rows = [["feature", "effect", "sure", "mean", "std", "|mean|/std"], *(_effect(weight) for weight in view.top)]
    return f"{name}: {_ordered(view, sort)} weights of what it sees{about}\n{aligned(rows)}"
