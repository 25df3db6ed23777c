"""Decisions: choose an action, activate what was chosen, give it its reward."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from numpy.typing import NDArray

from .... import _core
from ....bandits.actions import Action
from ....bandits.named_features import in_slot
from ...model.deciding import Keys, Offered, Situation
from ...model.decision_rows import NO_FEATURES, features_of
from ...model.hosted import Hosted
from ...model.logged_decisions import Decided
from ...model.rows import one_line
from ...problems import Problem, tried
from ...work import decisions
from .. import messages as m
from ..calls import Call, decoded, decoded_lines
from ..lines import by_lines
from ..replies import Sendable, answered
from .rows import counted_receipts, filled, good, receipt

Name = Annotated[int, Meta(ge=-(2**53), le=2**53)] | m.Text
Excluded = Annotated[list[Name], Meta(max_length=100_000)]
MANY = 1024  # bytes of a list of actions that the log stores once
KEPT, KEPT_SHORT = 8, 256  # lists that are read once while they are sent again and again; those that are shorter
TOGETHER = 32  # lines that are decided at once, for which others wait
LEFT_OUT = msgspec.Raw(b"null")
PROBABILITIES = {"type": "object", "additionalProperties": {"type": "number"}}
MaybeFeatures = Annotated[
    msgspec.Raw, Meta(description="features of a row, or null: none", extra_json_schema={"type": ["object", "null"]})
]
SlotName = Annotated[str, Meta(min_length=1, max_length=64)]


class ActionBody(Struct, forbid_unknown_fields=True):
    """An action with its features.

    ``cost`` is subtracted from its reward when actions are compared, and never learned; ``least`` is the smallest
    probability with which it is chosen.
    """

    id: Name
    features: MaybeFeatures | UnsetType = UNSET
    cost: Annotated[float, Meta(ge=-1e9, le=1e9)] = 0.0
    least: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0


ActionBodies = Annotated[list[Name | ActionBody], Meta(min_length=1, max_length=100_000)]


def _inlined_schema() -> dict[str, Any]:
    """Return the schema of actions, without references."""
    (found,), components = msgspec.json.schema_components([ActionBodies], ref_template="{name}")
    text = msgspec.json.encode(found).replace(b'{"$ref":"ActionBody"}', msgspec.json.encode(components["ActionBody"]))
    return msgspec.json.decode(text)


class SlotBody(Struct, forbid_unknown_fields=True):
    """A place for one of the actions; no action is chosen for two places."""

    id: SlotName
    features: MaybeFeatures | UnsetType = UNSET
    excluded: Excluded = []
    baseline: Name | None = None


class DecideBody(Struct, forbid_unknown_fields=True):
    """A context, and the actions to choose from: their ids, or objects with an id and features.

    ``baseline`` is what would be chosen without a model, by default the first action. A ``deferred`` decision counts
    once it is activated. With ``slots`` there is a decision for each, whose id is that of the request, a slash and the
    slot's.
    """

    actions: Annotated[msgspec.Raw, Meta(extra_json_schema=_inlined_schema())]
    context: MaybeFeatures | UnsetType = UNSET
    excluded: Excluded = []
    baseline: Name | None = None
    slots: Annotated[list[SlotBody], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    id: Annotated[str, Meta(min_length=1, max_length=190)] | None = None
    deferred: bool = False


class Decision(Struct):
    """A decision. ``probabilities`` are those by which it was drawn, and ``reward`` is what was expected of it.

    In apprentice mode the baseline is chosen, and ``would`` is what the policy would have chosen.
    """

    id: str
    chosen: int | str
    probability: float
    reward: float
    probabilities: Annotated[msgspec.Raw, Meta(extra_json_schema=PROBABILITIES)]
    would: int | str | UnsetType = UNSET


class SlotDecisions(Struct):
    """The decisions for the slots of a request, in their order."""

    id: str
    slots: list[Decision]


class RewardBody(Struct, forbid_unknown_fields=True):
    """The reward of a decision; it counts once."""

    id: m.Id
    reward: Annotated[float, Meta(ge=-1e9, le=1e9)]


class ActivateBody(Struct, forbid_unknown_fields=True):
    """A deferred decision that counts from now on."""

    id: m.Id


class Activated(Struct):
    """The event of an activation."""

    id: str
    seq: int


class Asked(NamedTuple):
    """A request: its id, whether it has slots, and what is to be decided."""

    id: str
    has_slots: bool
    situations: list[Situation]

    @classmethod
    def of(cls, body: DecideBody, id: str) -> Asked:
        """Return the request in a body, under its own id or this one."""
        id = body.id or id
        return cls(id, not isinstance(body.slots, UnsetType), situations_of(id, body))

    def answer(self, stored: Sequence[Decided]) -> Decision | SlotDecisions:
        """Return the answer, by the decision for each slot."""
        shown = [_shown(situation, one) for situation, one in zip(self.situations, stored, strict=True)]
        return SlotDecisions(self.id, shown) if self.has_slots else shown[0]


async def decide(call: Call) -> Sendable:
    """Choose actions for contexts; answered when the decisions are durable."""
    hosted = call.hosted
    decisions.check_decides(hosted)
    if call.is_ndjson:
        return by_lines(call, partial(_decide_lines, call, hosted), TOGETHER)
    asked = Asked.of(await call.message(DecideBody), call.key or call.engine.new_id())
    return answered(asked.answer(await call.ask(decisions.decide_and_store(hosted, asked.situations))))


async def _decide_lines(call: Call, hosted: Hosted, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, DecideBody)
    asked = filled(bodies, [tried(Asked.of, body, call.engine.new_id()) for body in good(bodies)])
    made = filled(asked, await call.ask(decisions.decide_all(hosted, [one.situations for one in good(asked)])))
    stored = filled(made, await call.log(decisions.store_all(hosted, good(made))))
    return [one if isinstance(one, Problem) else of.answer(one) for of, one in zip(asked, stored, strict=True)]


def _shown(situation: Situation, one: Decided) -> Decision:
    chosen, actions, offered = one.chosen, one.actions, situation.offered
    keys = offered.keys if actions is offered.ids else Keys.of(actions)
    probability, reward = float(one.probabilities[chosen]), float(one.mean[chosen])
    probabilities = msgspec.Raw(_core.json_probabilities(*keys, one.probabilities))
    would = UNSET if one.would is None else actions[one.would]
    return Decision(situation.id, actions[chosen], probability, reward, probabilities, would)


def situations_of(id: str, body: DecideBody) -> list[Situation]:
    """Return what is to be decided, a situation for each slot.

    Raises
    ------
    Problem
        If a row cannot be read, an action is there twice, or there is none to choose from.
    """
    offered = offered_in(bytes(body.actions))
    context, has_slots = _line(body.context), not isinstance(body.slots, UnsetType)
    slots = [SlotBody("")] if isinstance(body.slots, UnsetType) else body.slots
    if len({slot.id for slot in slots}) < len(slots):
        raise Problem("invalid-body", "two slots have the same id", "/slots")
    of_context = features_of(context, "/context")
    actions = LEFT_OUT if offered.content else body.actions
    asked = msgspec.json.encode(msgspec.structs.replace(body, id=None, actions=actions))
    found = list[Situation]()
    for k, slot in enumerate(slots):
        pointer = f"/slots/{k}" if has_slots else ""
        left = _left(offered, [(slot.excluded, f"{pointer}/excluded"), (body.excluded, "/excluded")])
        if not len(left):
            raise Problem("invalid-body", "all actions are excluded; leave one to choose", f"{pointer}/excluded")
        baseline = body.baseline if slot.baseline is None else slot.baseline
        taken = int(left[0]) if baseline is None else _number(offered, baseline, f"{pointer}/baseline")
        if baseline is not None and taken not in left:
            told = f"the baseline {offered.actions.ids[taken]!r} is excluded"
            raise Problem("invalid-body", told, f"{pointer}/baseline")
        line, own = _line(slot.features), f"{id}/{slot.id}" if has_slots else id
        features = in_slot(of_context, features_of(line, f"{pointer}/features"))
        found.append(Situation(own, context, line, features, offered, left, taken, body.deferred, asked))
    return found


def offered_in(actions: bytes) -> Offered:
    """Return the actions in a list, as JSON, which is read once while the same is sent again and again.

    Raises
    ------
    Problem
        If it is no list of actions, an action is there twice, or its features cannot be read.
    """
    return (_read_long if len(actions) > MANY else _read_short)(actions)


def _read(actions: bytes) -> Offered:
    try:
        bodies = decoded(actions, ActionBodies)
    except Problem as problem:
        raise Problem(problem.kind, problem.detail, f"/actions{problem.pointer or ''}") from None
    several = [one if isinstance(one, ActionBody) else ActionBody(one) for one in bodies]
    numbers = dict[str, int]()
    for k, body in enumerate(several):
        if numbers.setdefault(str(body.id), k) != k:
            raise Problem("invalid-body", f"the action {str(body.id)!r} is there twice", f"/actions/{k}")
    lines = [_line(body.features) for body in several]
    read = [
        Action(id, features_of(line, f"/actions/{k}/features"), body.cost, body.least)
        for k, (id, line, body) in enumerate(zip(numbers, lines, several, strict=True))
    ]
    return Offered([body.id for body in several], lines, read, actions if len(actions) > MANY else b"")


_read_long, _read_short = lru_cache(KEPT)(_read), lru_cache(KEPT_SHORT)(_read)


def _left(offered: Offered, excluded: Sequence[tuple[Sequence[int | str], str]]) -> NDArray[np.intp]:
    """Return the numbers of the actions that are not excluded."""
    if not any(ids for ids, _ in excluded):
        return offered.all
    left = np.ones(len(offered), np.bool_)
    for ids, pointer in excluded:
        left[[_number(offered, id, pointer) for id in ids]] = False
    return np.flatnonzero(left)


def _number(offered: Offered, id: int | str, pointer: str) -> int:
    if (found := offered.numbers.get(str(id))) is None:
        raise Problem("invalid-body", f"there is no action {str(id)!r}", pointer)
    return found


def _line(features: msgspec.Raw | UnsetType) -> bytes:
    line = b"null" if isinstance(features, UnsetType) else bytes(features)
    return NO_FEATURES if line == b"null" else one_line(line)


async def activate(call: Call) -> Sendable:
    """Let a deferred decision count: from now on its reward is due."""
    hosted, body = call.hosted, await call.message(ActivateBody)
    decisions.check_decides(hosted)
    return answered(Activated(body.id, await call.log(decisions.activate(hosted, body.id))))


async def reward(call: Call) -> Sendable:
    """Give decisions their rewards; answered when they are durable, with ``?wait=learned`` when they are learned."""
    hosted, wait, batch = call.hosted, call.choice("wait", ("durable", "learned")) == "learned", call.text("batch", 200)
    decisions.check_decides(hosted)
    if call.is_ndjson:
        return by_lines(call, partial(_reward_lines, call, hosted, wait, batch))
    body = await call.message(RewardBody)
    given = decisions.Reward(body.id, body.reward)
    return receipt(call, await call.log(decisions.reward_all(call.engine, hosted, [given], wait, batch)))


async def _reward_lines(call: Call, hosted: Hosted, wait: bool, batch: str | None, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, RewardBody)
    given = [decisions.Reward(body.id, body.reward) for body in good(bodies)]
    request = decisions.reward_all(call.engine, hosted, given, wait, batch)
    return filled(bodies, counted_receipts(call, await call.log(request)) if given else [])
