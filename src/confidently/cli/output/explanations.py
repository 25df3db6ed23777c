"""Explained predictions of a row, as text and for JSON: of classes and numbers, of learners and stacks."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...wording import counted
from .classes import MAX_CLASSES_SHOWN
from .learner_summaries import weighted_members
from .text import shown as named
from .text import table as aligned

if TYPE_CHECKING:
    from ...data import Batch
    from ...models.explanation import Explanation, NumberExplanation
    from ...models.model import Model
    from ...models.stack_explanation import NumberStackExplanation, StackExplanation

    Explained = Explanation | NumberExplanation | StackExplanation | NumberStackExplanation


def explained(model: Model, row: Batch, about: str | None) -> Explained:
    """Return the explained prediction for a row: of a number, or of the margin of a class.

    Raises
    ------
    ValueError
        If the model predicts several numbers, and none of them is given.
    """
    if weighted_members(model.learner) is not None:
        from ...models.stack_explanation import explain_number_stack, explain_stack

        explain_one = explain_number_stack if model.learner.task.regression else explain_stack
        return explain_one(model, row, about)
    if model.learner.task.regression:
        from ...models.explanation import explain_number

        return explain_number(model, row, about)
    from ...models.explanation import explain

    return explain(model, row, about)


def explanation_facts(model: Model, found: Any, top: int) -> dict[str, Any]:
    """Return an explained prediction for JSON, with the largest contributions and the sum of the others."""
    stack = weighted_members(model.learner) is not None
    if model.learner.task.regression:
        names = ("predicted", "std") if stack else ("predicted", "std", "offset", "mean", "variance")
        prediction = {name: getattr(found, name) for name in names}
    else:
        of = {"for": found.supported, "against": found.rival, "mean": found.mean, "variance": found.variance}
        margin = of | {"std": found.variance**0.5}
        prediction = {"predicted": found.predicted, "margin": margin, "classes": found.classes}
    if stack:
        rest = found.features[top:]
        return prediction | {
            "members": [{**part._asdict(), "mean": part.mean} for part in found.members],
            "features": [part._asdict() for part in found.features[:top]],
            "others": {"count": len(rest), "mean": sum(part.mean for part in rest)},
        }
    rest = found.contributions[top:]
    return prediction | {
        "contributions": [asdict(contribution) for contribution in found.contributions[:top]],
        "others": {"count": len(rest), "mean": sum(c.mean for c in rest), "variance": sum(c.variance for c in rest)},
    }


def explanation_text(model: Model, found: Any, top: int) -> str:
    """Return an explained prediction as text."""
    stack, numbers = weighted_members(model.learner) is not None, model.learner.task.regression
    total, mean = "margin", found.mean if not (stack and numbers) else found.predicted
    if not numbers:
        parts = _prediction_parts(found, model.learner.task.multilabel)
    else:
        total = "log rate" if not stack and model.learner.settings.rule.counts else "prediction"
        parts = [f"predicted  {found.predicted:.4g} with a standard deviation of {found.std:.4g}"]
        if not stack:
            parts[0] += f"\n{total:10} {found.offset:+.4g} of every row, {mean:+.4g} of the features of this one"
    if not stack:
        return "\n\n".join([*parts, *_contributions_parts(found, top, total)])
    members = [["member", "weight", "predicts" if numbers else "its margin", f"adds to {total}"]]
    own = (f"{p.number:.4g}" if numbers else f"{p.logit:+.4g}" for p in found.members)
    members += [
        [p.name, f"{p.weight:+.2f}", part, f"{p.mean:+.4g}"] for p, part in zip(found.members, own, strict=True)
    ]
    members.append(["all", "", "", f"{mean:+.4g}"])
    return "\n\n".join([*parts, aligned(members), _features_text(found, top, total, mean)])


def _contributions_parts(found: Explanation | NumberExplanation, top: int, total: str) -> list[str]:
    """Return a table of contributions to a total, and a line about unseen features."""
    rows = [["feature", "value", "weight", f"adds to {total}", "adds to variance"]]
    rows += [
        [str(c.feature) + ("" if c.known else " *"), f"{c.value:.4g}", f"{c.weight:+.4g}", f"{c.mean:+.4g}",
         f"{c.variance:.4g}"]
        for c in found.contributions[:top]
    ]  # fmt: skip
    if rest := found.contributions[top:]:
        mean, variance = sum(c.mean for c in rest), sum(c.variance for c in rest)
        rows.append([counted(len(rest), "other"), "", "", f"{mean:+.4g}", f"{variance:.4g}"])
    rows.append(["all", "", "", f"{found.mean:+.4g}", f"{found.variance:.4g}"])
    unseen = not all(c.known for c in found.contributions)
    return [aligned(rows), *(["* unseen in training: mean 0 and the prior variance"] if unseen else [])]


def _prediction_parts(found: Explanation | StackExplanation, multilabel: bool) -> list[str]:
    """Return the predicted class and the margin, and a table of the classes."""
    predicted = ", ".join(map(named, found.predicted)) or "(none)" if multilabel else named(found.predicted)
    against = "" if found.rival is None and multilabel else f" against {named(found.rival)}"
    scores = [["labels" if multilabel else "class", "probability", "margin" if multilabel else "score", "std"]]
    ranked = sorted(found.classes, key=lambda entry: -entry["mean"])[:MAX_CLASSES_SHOWN]
    scores += [[named(c["name"]), f"{c['probability']:.4f}", f"{c['mean']:+.4g}", f"{c['std']:.4g}"] for c in ranked]
    margin = (
        f"predicted  {predicted}\n"
        f"margin     {found.mean:+.4g} with a standard deviation of {found.variance**0.5:.4g}, "
        f"for {named(found.supported)}{against}"
    )
    return [margin, aligned(scores)]


def _features_text(found: StackExplanation | NumberStackExplanation, top: int, total: str, mean: float) -> str:
    features = [["feature", "members", f"adds to {total}"]]
    features += [[str(p.feature), str(p.members), f"{p.mean:+.4g}"] for p in found.features[:top]]
    if rest := found.features[top:]:
        features.append([counted(len(rest), "other"), "", f"{sum(p.mean for p in rest):+.4g}"])
    features.append(["all", "", f"{mean:+.4g}"])
    return aligned(features)
