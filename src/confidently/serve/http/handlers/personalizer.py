"""The API of Azure Personalizer: its clients rank actions and send rewards, as ``decide`` and ``rewards`` do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from ....bandits.personalizer import merged
from ...exchange import personalizer as pz
from ...model.logged_decisions import Decided
from ...problems import Problem
from ...work import decisions
from ..calls import Call
from ..replies import Reply, Sendable, answered
from .decisions import ActionBody, DecideBody, SlotBody, situations_of
from .rows import counted_receipts

API_VERSIONS = ("2022-09-01-preview",)
IGNORED = ("other-label", "late-reward")  # by Personalizer, whose clients are not told


async def personalizer_rank(call: Call) -> Sendable:
    """Choose an action, as a rank request of Azure Personalizer; answered when the decision is durable."""
    _check(call)
    body = await call.message(pz.RankRequest)
    id = body.event_id or call.engine.new_id()
    excluded = body.excluded_actions or []
    asked = DecideBody(
        _actions(body.actions), _features(body.context_features), [*excluded], deferred=bool(body.defer_activation)
    )
    [one] = await _decided(call, id, asked)
    probabilities = {str(action): p for action, p in zip(one.actions, one.probabilities.tolist(), strict=True)}
    chosen = str(one.actions[one.chosen])
    ranking = pz.ranking([action.id for action in body.actions], chosen, probabilities)
    return answered(pz.RankResponse(ranking, id, chosen), 201)


async def personalizer_rank_slots(call: Call) -> Sendable:
    """Choose an action for each slot, as a multi-slot rank request of Azure Personalizer."""
    _check(call)
    body = await call.message(pz.RankSlotsRequest)
    id = body.event_id or call.engine.new_id()
    slots = [
        SlotBody(
            slot.id, _features([*(slot.features or []), *(slot.position_features or [])]),
            [*(slot.excluded_actions or [])], slot.baseline_action,
        )
        for slot in body.slots
    ]  # fmt: skip
    asked = DecideBody(
        _actions(body.actions), _features(body.context_features), slots=slots, deferred=bool(body.defer_activation)
    )
    found = await _decided(call, id, asked)
    chosen = [str(one.actions[one.chosen]) for one in found]
    answers = [pz.RankedSlot(slot.id, action) for slot, action in zip(slots, chosen, strict=True)]
    return answered(pz.RankSlotsResponse(id, answers), 201)


async def personalizer_reward(call: Call) -> Sendable:
    """Give an event of Azure Personalizer its reward; later rewards change nothing."""
    _check(call)
    body = await call.message(pz.RankReward)
    return await _rewarded(call, [decisions.Reward(call.names["id"], body.value)])


async def personalizer_reward_slots(call: Call) -> Sendable:
    """Give slots of a multi-slot event of Azure Personalizer their rewards; later rewards change nothing."""
    _check(call)
    body, event = await call.message(pz.SlotRewards), call.names["id"]
    return await _rewarded(call, [decisions.Reward(f"{event}/{one.slot_id}", one.value) for one in body.reward])


async def personalizer_activate(call: Call) -> Sendable:
    """Let a deferred event of Azure Personalizer count: from now on its reward is due."""
    _check(call)
    await call.log(decisions.activate(call.hosted, call.names["id"]))
    return Reply(b"", 204)


async def personalizer_activate_slots(call: Call) -> Sendable:
    """Let all slots of a deferred multi-slot event of Azure Personalizer count."""
    _check(call)
    await call.log(decisions.activate_slots(call.hosted, call.names["id"]))
    return Reply(b"", 204)


def _check(call: Call) -> None:
    """Raise a ``Problem`` unless the model decides and the version of the API is known."""
    call.choice("api-version", API_VERSIONS)
    decisions.check_decides(call.hosted)


def _actions(actions: Sequence[pz.RankAction]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode([ActionBody(one.id, _features(one.features)) for one in actions]))


def _features(objects: pz.Objects) -> Any:
    try:
        found = merged(objects or [])
        return msgspec.Raw(msgspec.json.encode(found)) if found else UNSET
    except RecursionError:
        raise Problem("invalid-json", "it is nested too deeply") from None


async def _decided(call: Call, id: str, asked: DecideBody) -> list[Decided]:
    return await call.ask(decisions.decide_and_store(call.hosted, situations_of(id, asked)))


async def _rewarded(call: Call, given: list[decisions.Reward]) -> Sendable:
    told = counted_receipts(call, await call.log(decisions.reward_all(call.engine, call.hosted, given)))
    for one in told:
        if isinstance(one, Problem) and one.kind not in IGNORED:
            raise one
    return Reply(b"", 204)
