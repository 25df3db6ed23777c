"""The forms of Azure Personalizer: what its clients ask and read.

Features come as a list of objects, whose members are namespaces of features or features.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from ..problems import Problem

ADDRESS = re.compile(r"(/v1/models/[^/]+)/+personalizer(?:/v1\.[01](?:-preview\.[0-9]+)?)?(?=/)")
OPERATIONS = "rank, reward and activate, with one slot or several"
CODES = {400: "BadRequest", 404: "ResourceNotFound", 410: "ResourceNotFound", 422: "BadRequest"}
NAMES = {"context": "contextFeatures", "excluded": "excludedActions", "baseline": "baselineAction"}  # of decide: here

Id = Annotated[str, Meta(min_length=1, max_length=256)]
SlotId = Annotated[str, Meta(min_length=1, max_length=64)]
Objects = list[dict[str, Any]] | None
Excluded = Annotated[list[Id], Meta(max_length=100_000)] | None
Value = Annotated[float, Meta(ge=-1e9, le=1e9)]


class RankAction(Struct, forbid_unknown_fields=True):
    """An action with its features."""

    id: Id
    features: Objects = None


Actions = Annotated[list[RankAction], Meta(min_length=1, max_length=100_000)]


class RankRequest(Struct, rename="camel", forbid_unknown_fields=True):
    """A context and the actions to choose from; without ``eventId`` the server chooses one."""

    actions: Actions
    context_features: Objects = None
    excluded_actions: Excluded = None
    event_id: Id | None = None
    defer_activation: bool | None = None


class RankSlot(Struct, rename="camel", forbid_unknown_fields=True):
    """A place for one of the actions; ``positionFeatures`` is the earlier name of ``features``."""

    id: SlotId
    baseline_action: Id
    features: Objects = None
    position_features: Objects = None
    excluded_actions: Excluded = None


class RankSlotsRequest(Struct, rename="camel", forbid_unknown_fields=True):
    """A context, and the actions to choose from for several slots."""

    actions: Actions
    slots: Annotated[list[RankSlot], Meta(min_length=1, max_length=100)]
    context_features: Objects = None
    event_id: Annotated[str, Meta(min_length=1, max_length=190)] | None = None
    defer_activation: bool | None = None


class RankedAction(Struct):
    """An action and its probability."""

    id: str
    probability: float


class RankResponse(Struct, rename="camel"):
    """The action that was chosen, and all actions with their probabilities."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RankedSlot(Struct, rename="camel"):
    """The action that was chosen for a slot."""

    id: str
    reward_action_id: str


class RankSlotsResponse(Struct, rename="camel"):
    """The actions that were chosen for the slots."""

    event_id: str
    slots: list[RankedSlot]


class RankReward(Struct, forbid_unknown_fields=True):
    """The reward of an event."""

    value: Value


class SlotReward(Struct, rename="camel", forbid_unknown_fields=True):
    """The reward of a slot."""

    slot_id: SlotId
    value: Value


class SlotRewards(Struct, forbid_unknown_fields=True):
    """The rewards of some slots of an event."""

    reward: Annotated[list[SlotReward], Meta(min_length=1, max_length=100)]


def ranking(ids: Sequence[str], chosen: str, probabilities: Mapping[str, float]) -> list[RankedAction]:
    """Return all actions as Personalizer ranks them.

    Excluded ones, which have no probability, keep their places. Of the others the chosen one is first, then the more
    probable.

    >>> [(one.id, one.probability) for one in ranking(["a", "b", "c"], "c", {"a": 0.7, "c": 0.3})]
    [('c', 0.3), ('b', 0.0), ('a', 0.7)]
    """
    ranked = iter(sorted(probabilities, key=lambda id: (id != chosen, -probabilities[id])))
    placed = [next(ranked) if id in probabilities else id for id in ids]
    return [RankedAction(id, probabilities.get(id, 0.0)) for id in placed]


def one_address(path: str) -> str:
    """Return the path of a request without the version of the API, which clients before 2022 put there.

    >>> one_address("/v1/models/shop/personalizer/v1.0/rank")
    '/v1/models/shop/personalizer/rank'
    """
    return ADDRESS.sub(r"\1/personalizer", path, count=1) if ADDRESS.match(path) else path


def error_of(problem: Problem) -> dict[str, Any]:
    """Return the error that clients read in the answer to a request that failed."""
    status = problem.status
    code = CODES.get(status, "InternalServerError" if status >= 500 else str(status))
    found = {"code": code, "message": problem.detail, "innerError": {"code": problem.kind}}
    return found | ({} if problem.pointer is None else {"target": problem.pointer})


def renamed(problem: Problem) -> Problem:
    """Return a problem of ``decide`` or ``rewards`` whose pointer has the names of Personalizer's messages."""
    if problem.pointer is None:
        return problem
    pointer = "/".join(NAMES.get(part, part) for part in problem.pointer.split("/"))
    return Problem(problem.kind, problem.detail, "/eventId" if pointer == "/id" else pointer)
