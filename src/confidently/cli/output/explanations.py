"""Explained predictions of a row, as text and for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...wording import counted
from .summaries import MAX_CLASSES_SHOWN
from .text import shown as named
from .text import table as aligned

if TYPE_CHECKING:
    from ...models.explanation import Explanation, NumberExplanation
    from ...models.model import Model
    from ...models.stack_explanation import NumberStackExplanation, StackExplanation


def _margin(found: Explanation | StackExplanation) -> dict[str, Any]:
    of = {"for": found.supported, "against": found.rival, "mean": found.mean, "variance": found.variance}
    return {"predicted": found.predicted, "margin": of | {"std": found.variance**0.5}, "classes": found.classes}


def explained(found: Explanation, top: int) -> dict[str, Any]:
    """Return an explained margin for JSON."""
    return _margin(found) | contributions(found, top)


def contributions(found: Explanation | NumberExplanation, top: int) -> dict[str, Any]:
    """Return the largest contributions, and the sum of the others, for JSON."""
    rest = found.contributions[top:]
    return {
        "contributions": [asdict(contribution) for contribution in found.contributions[:top]],
        "others": {"count": len(rest), "mean": sum(c.mean for c in rest), "variance": sum(c.variance for c in rest)},
    }  # fmt: skip


def row_text(model: Model, found: Explanation, top: int) -> str:
    """Return an explained margin as text."""
    return "\n\n".join(
        [*_prediction_parts(found, model.learner.task.multilabel), *_contributions_parts(found, top, "margin")]
    )


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


def number_text(found: NumberExplanation, top: int, logarithm: bool) -> str:
    """Return an explained number as text."""
    total = "log rate" if logarithm else "prediction"
    predicted = (
        f"predicted  {found.predicted:.4g} with a standard deviation of {found.std:.4g}\n"
        f"{total:10} {found.offset:+.4g} of every row, {found.mean:+.4g} of the features of this one"
    )
    return "\n\n".join([predicted, *_contributions_parts(found, top, total)])


def _prediction_parts(found: Explanation | StackExplanation, multilabel: bool = False) -> list[str]:
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


def number_stack_explained(found: NumberStackExplanation, top: int) -> dict[str, Any]:
    """Return an explained number of a stack for JSON."""
    return {"predicted": found.predicted, "std": found.std, **_stack_parts(found, top)}


def number_stack_text(found: NumberStackExplanation, top: int) -> str:
    """Return an explained number of a stack as text."""
    members = [["member", "weight", "predicts", "adds to prediction"]]
    members += [[p.name, f"{p.weight:+.2f}", f"{p.number:.4g}", f"{p.mean:+.4g}"] for p in found.members]
    members.append(["all", "", "", f"{found.predicted:+.4g}"])
    predicted = f"predicted  {found.predicted:.4g} with a standard deviation of {found.std:.4g}"
    return "\n\n".join([predicted, aligned(members), _features_text(found, top, "prediction", found.predicted)])


def stack_explained(found: StackExplanation, top: int) -> dict[str, Any]:
    """Return an explained margin of a stack for JSON."""
    return {**_margin(found), **_stack_parts(found, top)}


def _stack_parts(found: StackExplanation | NumberStackExplanation, top: int) -> dict[str, Any]:
    rest = found.features[top:]
    return {
        "members": [{**part._asdict(), "mean": part.mean} for part in found.members],
        "features": [part._asdict() for part in found.features[:top]],
        "others": {"count": len(rest), "mean": sum(part.mean for part in rest)},
    }


def stack_row_text(found: StackExplanation, top: int) -> str:
    """Return an explained margin of a stack as text."""
    members = [["member", "weight", "its margin", "adds to margin"]]
    members += [[p.name, f"{p.weight:+.2f}", f"{p.logit:+.4g}", f"{p.mean:+.4g}"] for p in found.members]
    members.append(["all", "", "", f"{found.mean:+.4g}"])
    return "\n\n".join([*_prediction_parts(found), aligned(members), _features_text(found, top, "margin", found.mean)])


def _features_text(found: StackExplanation | NumberStackExplanation, top: int, total: str, mean: float) -> str:
    features = [["feature", "members", f"adds to {total}"]]
    features += [[str(p.feature), str(p.members), f"{p.mean:+.4g}"] for p in found.features[:top]]
    if rest := found.features[top:]:
        features.append([counted(len(rest), "other"), "", f"{sum(p.mean for p in rest):+.4g}"])
    features.append(["all", "", f"{mean:+.4g}"])
    return aligned(features)
