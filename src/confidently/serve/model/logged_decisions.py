"""What the log keeps of a decision: its note and, if there are many actions, what is stored beside it.

The text of the numbers of many actions is three times as long as the numbers, and writing it takes longer than the
decision.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard

import msgspec
import numpy as np

from ...bandits.named_features import Floats
from ..log.decisions import Choice
from .settings import Deciding

KEPT = 8  # lists of actions whose ids are read once
NOTHING = np.empty(0)


class Decided(msgspec.Struct, omit_defaults=True):
    """A decision, beside the row of the action that was chosen.

    The note of one among many actions has no list of actions and no arrays, which are stored beside it.

    Attributes
    ----------
    chosen : int
        The number of the action.
    actions : list of int or str
        Their ids.
    probabilities : array of shape (n_actions,)
        Those by which it was drawn.
    mean, variance : array of shape (n_actions,)
        Of the Gaussians over the expected rewards.
    policy : Deciding
    version, seq : int
        The version that decided, and the event up to which it had learned.
    baseline : int
    asked : raw JSON
        The request.
    deferred : bool
    would : int, optional
        Of an apprentice, which takes the baseline: what the policy would have chosen.
    arm : int or str, optional
        The id of the chosen action, in notes of one among many.
    probability : float, optional
        Its probability, likewise.
    """

    chosen: int
    actions: list[int | str]
    probabilities: Floats
    mean: Floats
    variance: Floats
    policy: Deciding
    version: int
    seq: int
    baseline: int
    asked: msgspec.Raw
    deferred: bool = False
    would: int | None = None
    arm: int | str | None = None
    probability: float | None = None

    @property
    def taken(self) -> int | str:
        """The id of the chosen action."""
        return self.actions[self.chosen] if self.arm is None else self.arm


class DecisionNote(msgspec.Struct):
    """The note of the event of a decision: an answer about the row that was chosen, and the decision."""

    decision: Decided
    label: float | None = None
    interval: None = None
    variance: float | None = None
    ask: bool = False


class _Deferred(msgspec.Struct):
    deferred: bool = False


class _DeferredNote(msgspec.Struct):
    decision: _Deferred


class _Named(msgspec.Struct):
    id: int | str


def _finite(numbers: Floats) -> Floats:
    if not np.isfinite(numbers).all():
        raise msgspec.ValidationError("a number is not finite")
    return numbers


_encoder = msgspec.json.Encoder(enc_hook=np.ndarray.tolist)
_decoder = msgspec.json.Decoder(DecisionNote, dec_hook=lambda kind, numbers: _finite(np.array(numbers, np.float64)))


def note_of(decided: Decided, is_whole: bool) -> bytes:
    """Return the note of a decision, which is whole if nothing is stored beside it."""
    chosen = decided.chosen
    mean, variance = float(decided.mean[chosen]), float(decided.variance[chosen])
    if not is_whole:
        decided = msgspec.structs.replace(
            decided, actions=[], probabilities=NOTHING, mean=NOTHING, variance=NOTHING, arm=decided.taken,
            probability=float(decided.probabilities[chosen]),
        )  # fmt: skip
    return _encoder.encode(DecisionNote(decided, label=mean, variance=variance))


def choice_of(decided: Decided, left: np.ndarray, actions: bytes, n_actions: int) -> Choice:
    """Return what is stored beside the note of a decision.

    Parameters
    ----------
    decided : Decided
    left : int array
        The numbers of the actions that could be chosen, in the list of all.
    actions : bytes
        The list, as JSON.
    n_actions : int
        Its length.
    """
    numbers = given = np.array([decided.probabilities, decided.mean, decided.variance], dtype="<f8")
    if len(left) < n_actions:
        numbers = np.full((3, n_actions), np.nan, dtype="<f8")  # NaN: the action could not be chosen
        numbers[:, left] = given
    return Choice(actions, numbers.tobytes())


def deferred_in(note: bytes | None) -> bool | None:
    """Return whether the decision that a note keeps was deferred, if it keeps one; of many actions nothing is read."""
    if not is_decision(note):
        return None
    return msgspec.json.decode(note, type=_DeferredNote).decision.deferred


def is_decision(note: bytes | None) -> TypeGuard[bytes]:
    """Return whether a note is that of a decision."""
    return note is not None and note.startswith(b'{"decision":')


def decided_in(note: bytes | None, choice: Choice | None = None) -> Decided | None:
    """Return the decision that a note of a prediction keeps, if it is one, with what is stored beside the note.

    Raises
    ------
    msgspec.ValidationError
        If a number is not finite, or there is not one for each action.
    """
    if not is_decision(note):
        return None
    found = _decoder.decode(note).decision
    return found if choice is None else _completed(found, choice)


def whole_note(note: bytes | None, choice: Choice | None) -> bytes | None:
    """Return the note of a decision with what is stored beside it; other notes as they are."""
    if note is None or choice is None:
        return note
    found = _decoder.decode(note)
    return _encoder.encode(msgspec.structs.replace(found, decision=_completed(found.decision, choice)))


def _completed(decided: Decided, choice: Choice) -> Decided:
    ids = _ids(choice.actions)
    if len(choice.numbers) != 3 * 8 * len(ids):
        raise msgspec.ValidationError("there is not a number for each action")
    numbers = np.frombuffer(choice.numbers, "<f8").reshape(3, len(ids))
    left = np.flatnonzero(~np.isnan(numbers[0]))
    probabilities, mean, variance = _finite(numbers.take(left, axis=1))  # rows without gaps
    return msgspec.structs.replace(
        decided, actions=ids if len(left) == len(ids) else [ids[k] for k in left.tolist()],
        probabilities=probabilities, mean=mean, variance=variance, arm=None, probability=None,
        asked=msgspec.Raw(with_actions(bytes(decided.asked), choice.actions)),
    )  # fmt: skip


def with_actions(asked: bytes, actions: bytes) -> bytes:
    """Return a request with its list of actions.

    >>> with_actions(b'{"actions":null,"deferred":true}', b'["news","sport"]')
    b'{"actions":["news","sport"],"deferred":true}'
    """
    parts = msgspec.json.decode(asked, type=dict[str, msgspec.Raw])
    return msgspec.json.encode(parts | {"actions": msgspec.Raw(actions)})


@lru_cache(KEPT)
def _ids(actions: bytes) -> list[int | str]:
    parts = msgspec.json.decode(actions, type=list[int | str | _Named])
    return [one.id if isinstance(one, _Named) else one for one in parts]
