"""Requests of models that decide: decisions, their rewards, and what is due when no reward comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog, refuse_other_content, same_json
from ..log.events import DEADLINE, Event, Stored, now
from ..model.deciding import Situation, decide
from ..model.hosted import Hosted
from ..model.logged_decisions import Decided, choice_of, decided_in, deferred_in, note_of, with_actions
from ..model.rows import same_label
from ..problems import Problem, tried
from .teaching import LabelOf, Receipt, given_label, label_stored

if TYPE_CHECKING:
    from ..model.choosing import DecidingModel


class Reward(NamedTuple):
    """The reward of a decision, by its id."""

    id: str
    reward: float


def check_decides(hosted: Hosted) -> None:
    """Raise a ``Problem`` unless a model decides."""
    if not hosted.model.setup.decides:
        told = f'the model {hosted.name!r} makes no decisions; make one with "task": "decisions"'
        raise Problem("other-task", told)


# --- deciding --------------------------------------------------------------------------------------------------------


Made = list[tuple[Situation, Decided]]  # of one request, a pair for each slot


def decide_all(hosted: Hosted, several: Sequence[Sequence[Situation]]) -> Request:
    """Return a question about the slots of several requests, answered with ``Made`` or a ``Problem`` for each.

    An action that was chosen for one slot is not there for the next.
    """

    def work(log: EventLog, request: Request) -> list[Made | Problem]:
        hosted.check_working()
        return [tried(_made, hosted, situations) for situations in several]

    return Request(work, sum(map(len, several)))


def decide_and_store(hosted: Hosted, situations: Sequence[Situation]) -> Request:
    """Return a question about the slots of one request, answered with a ``Decided`` for each once they are stored."""

    def work(log: EventLog, request: Request) -> Request:
        hosted.check_working()
        made = _made(hosted, situations)
        return Request(lambda log, request: _store_made(hosted, log, request, made), len(made), _size(made))

    return Request(work, len(situations))


def store_all(hosted: Hosted, several: Sequence[Made]) -> Request:
    """Return a request to store decisions, answered with a list of ``Decided`` or a ``Problem`` for each request.

    An id that was used before with the same content gets its first decision. If one of a request cannot be stored, none
    of that request is.
    """

    def work(log: EventLog, request: Request) -> list[list[Decided] | Problem]:
        return [tried(_store_made, hosted, log, request, made) for made in several]

    return Request(work, sum(map(len, several)), sum(map(_size, several)))


def _made(hosted: Hosted, situations: Sequence[Situation]) -> Made:
    model, found, taken = cast("DecidingModel", hosted.model), Made(), list[int]()
    for situation in situations:
        left = situation.without(taken)
        decided = decide(model, hosted.live.number, model.seq, left)
        taken.append(int(left.left[decided.chosen]))
        found.append((left, decided))
    return found


def _size(made: Made) -> int:
    """Return how many bytes the log is to store."""
    return sum(len(situation.asked) + 3 * decided.mean.nbytes for situation, decided in made)


def _store_made(hosted: Hosted, log: EventLog, request: Request, made: Made) -> list[Decided]:
    hosted.check_working()
    before = [_stored(hosted, log, situation) for situation, _ in made]
    return [
        found or _store(hosted, log, request, situation, decided)
        for found, (situation, decided) in zip(before, made, strict=True)
    ]


def _stored(hosted: Hosted, log: EventLog, situation: Situation) -> Decided | None:
    """Return the decision of an id that was used before."""
    stored = log.find(hosted.number, situation.id)
    if stored is None:
        return None
    before, content = decided_in(stored.note, log.decisions.choice_of(stored.seq)), situation.offered.content
    asked = with_actions(situation.asked, content) if content else situation.asked
    if before is None or not same_json(bytes(before.asked), asked):
        raise refuse_other_content(situation.id)
    return before


def _store(hosted: Hosted, log: EventLog, request: Request, situation: Situation, decided: Decided) -> Decided:
    row, offered, choice = situation.row(int(situation.left[decided.chosen])), situation.offered, None
    if offered.content:
        choice = choice_of(decided, situation.left, offered.content, len(offered))
    note = note_of(decided, is_whole=choice is None)
    seq = log.add(hosted.number, Event.PREDICTION, situation.id, None, row, note=note)
    if choice is not None:
        log.decisions.keep(seq, hosted.number, offered.digest, choice)
    request.committed.append(lambda: hosted.metrics.decisions.decided(seq, decided))
    return decided


def activate(hosted: Hosted, id: str) -> Request:
    """Return a request to let a deferred decision count, answered with the event of that."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_working()
        return _activate(hosted, log, *_decision(hosted, log, id))

    return Request(work)


def activate_slots(hosted: Hosted, id: str) -> Request:
    """Return a request to let the decisions for all slots of a deferred request count, by the id of the request."""

    def work(log: EventLog, request: Request) -> None:
        hosted.check_working()
        found = [_decision(hosted, log, f"{id}/{slot}") for slot in _slots(hosted, log, id)]
        for stored, deferred in found:
            _activate(hosted, log, stored, deferred)

    return Request(work)


def _activate(hosted: Hosted, log: EventLog, stored: Stored, deferred: bool) -> int:
    """Let a decision count; return the event of that."""
    if not deferred:
        return stored.seq
    before = log.decisions.activation_of(stored.seq)
    return log.add(hosted.number, Event.ACTIVATED, example=stored.seq) if before is None else before[0]


def _slots(hosted: Hosted, log: EventLog, id: str) -> list[str]:
    """Return the slots of a request by its id, which the log keeps of each of them."""
    for below in log.decisions.ids_below(hosted.number, id):
        stored = log.find(hosted.number, f"{id}/{below}")
        decided = None if stored is None else decided_in(stored.note)
        asked = {} if decided is None else msgspec.json.decode(decided.asked)
        slots = [str(slot["id"]) for slot in asked.get("slots", [])]
        if below in slots:
            return slots
    raise Problem("unknown-id", f"no decisions for slots have the id {id!r}; decide first", "/id")


def _decision(hosted: Hosted, log: EventLog, id: str) -> tuple[Stored, bool]:
    """Return a decision by its id, and whether it was deferred."""
    stored = log.find(hosted.number, id)
    if stored is None:
        raise Problem("unknown-id", f"no decision has the id {id!r}; decide first", "/id")
    if stored.features is None:
        raise Problem("expired", f"the decision {id!r} is no longer stored", "/id")
    deferred = deferred_in(stored.note)
    if deferred is None:
        raise Problem("unknown-id", f"the row {id!r} is no decision; send its label to labels", "/id")
    return stored, deferred


# --- rewards ---------------------------------------------------------------------------------------------------------


def reward_all(
    engine: Engine, hosted: Hosted, rewards: Sequence[Reward], wait: bool = False, batch: str | None = None
) -> Request:
    """Return a request to give decisions their rewards, answered with a ``Receipt`` or a ``Problem`` for each."""

    def work(log: EventLog, request: Request) -> list[Receipt | Problem]:
        hosted.check_working()
        request.batch = None if batch is None else log.edits.batch_for(hosted.number, batch)
        return [tried(_reward, engine, hosted, log, request, reward) for reward in rewards]

    return Request(work, len(rewards), 0, wait)


def _reward(engine: Engine, hosted: Hosted, log: EventLog, request: Request, given: Reward) -> Receipt:
    stored, deferred = _decision(hosted, log, given.id)
    before, deadline = given_label(log, stored.seq), hosted.settings.policy.deadline
    if before is None:
        begun = _begun(log, stored, deferred)
        late = deadline is not None and begun is not None and now() > begun + int(deadline * 1000)
    else:
        late = log.answers.labeller_of(stored.seq) == DEADLINE
    if late:
        raise Problem(
            "late-reward", f"the reward of {given.id!r} came after the deadline; the default one counts", "/id"
        )
    if before is not None and not same_label(before.label, msgspec.json.encode(given.reward)):
        told = before.label.decode()
        raise Problem("other-label", f"the decision {given.id!r} has the reward {told}, which counts once", "/reward")
    return label_stored(engine, hosted, log, request, LabelOf(given.id, given.reward), stored, before, correct=False)


def _begun(log: EventLog, stored: Stored, deferred: bool) -> int | None:
    """Return since when a decision counts, in milliseconds since 1970; None: not yet."""
    if not deferred:
        return stored.time
    activation = log.decisions.activation_of(stored.seq)
    return None if activation is None else activation[1]
