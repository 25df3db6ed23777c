"""Explanations of predictions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import Struct

from ....models.explanation import Explanation, NumberExplanation
from ....models.stack_explanation import NumberStackExplanation, StackExplanation
from ...engine.requests import Request
from ...problems import Problem
from ...work import checking
from .. import messages as m
from ..calls import Call
from ..replies import Sendable, answered


class ExplainBody(Struct, forbid_unknown_fields=True):
    """A row, and the class whose margin is explained; by default the predicted one."""

    features: m.Features
    about: str | None = None


class Explained(Struct):
    """What each feature adds to the margin between two classes, the largest first; of a stack, each member too."""

    predicted: int | str | list[int | str] | None
    supported: int | str | None
    rival: int | str | None
    mean: float
    variance: float
    classes: list[dict[str, Any]]
    contributions: list[dict[str, Any]]
    members: list[dict[str, Any]]


class NumberExplained(Struct):
    """What each feature adds to a number, the largest first; of a stack, each member too.

    ``predicted`` is ``offset`` and the ``mean`` of all contributions; with the rule "poisson" the exponential of that
    and half of their variances. ``std`` is the standard deviation of the number around it.
    """

    predicted: float
    std: float
    offset: float
    contributions: list[dict[str, Any]]
    members: list[dict[str, Any]]


async def explain(call: Call) -> Sendable:
    """Explain a prediction: what each feature adds to the mean and variance of the margin, or to the number."""
    hosted, body = call.hosted, await call.message(ExplainBody)
    if hosted.vectors is not None:
        told = "the model learns vectors, whose numbers have no names; there is nothing to explain"
        raise Problem("invalid-parameter", told)
    row = await call.checked(checking.question, hosted, None, bytes(body.features))

    def work(log: Any, request: Any) -> Any:
        hosted.check_working()
        try:
            return hosted.model.explanation(row.features, body.about)
        except ValueError as error:
            raise Problem("invalid-body", str(error), "/about") from None

    return answered(_explained(await call.ask(Request(work))))


def _explained(
    found: Explanation | StackExplanation | NumberExplanation | NumberStackExplanation,
) -> Explained | NumberExplained:
    members: list[dict[str, Any]] = []
    if isinstance(found, StackExplanation | NumberStackExplanation):
        parts = [part._asdict() for part in found.features]
        members = [member._asdict() | {"mean": member.mean} for member in found.members]
    else:
        parts = [asdict(contribution) for contribution in found.contributions]
    if isinstance(found, NumberStackExplanation):
        return NumberExplained(found.predicted, found.std, 0.0, parts, members)
    if isinstance(found, NumberExplanation):
        return NumberExplained(found.predicted, found.std, found.offset, parts, members)
    return Explained(
        found.predicted, found.supported, found.rival, found.mean, found.variance, found.classes, parts, members
    )
