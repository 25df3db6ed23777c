"""Which rows people are asked to label: the least certain ones and a random fraction, each by one labeller.

Rows whose label is requested because the model is unsure say nothing about its accuracy. So a random fraction of all
rows, drawn by a hash of their event's number and never by their content, is requested separately; accuracy is reported
on these alone.
"""

from __future__ import annotations

import re
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from .measures import ratio
from .metrics import wilson
from .predicted import Answer, AnyAnswer
from .rows import distance, same_label

RANDOM_SHARE = 0.15
LEASE_SECONDS = 180.0
POOL = 5000  # rows from which the next are chosen; the newest ones
UNDO_SECONDS, UNDO_ANSWERS = 5.0, 3  # an answer is learned after this time, or this number of further answers
WORD = re.compile(r"\w+")


class Candidate(NamedTuple):
    """A row that may be asked about.

    Attributes
    ----------
    id : str
    seq : int
        Its event.
    features : bytes
        A JSON object.
    guess : int, str or None
        What the model said.
    certainty : float
        |m|/sqrt(v) at that time.
    random : bool
        Whether it is of the random share.
    likeness : int
        Equal for rows with the same words and keys.
    """

    id: str
    seq: int
    features: bytes
    guess: Any
    certainty: float
    random: bool
    likeness: int


class Pending(NamedTuple):
    """An answer that can still be undone."""

    due: float
    seq: int
    example: int
    id: str
    label: bytes


def candidate(id: str, seq: int, features: bytes, answer: AnyAnswer) -> Candidate:
    """Return a row that was just predicted as one that may be asked about."""
    return Candidate(id, seq, features, answer.label, answer.certainty, is_random(seq), likeness(features))


def is_random(seq: int) -> bool:
    """Return whether an event is of the random share."""
    return zlib.crc32(b"share" + seq.to_bytes(8, "little")) < RANDOM_SHARE * 2**32


def likeness(features: bytes) -> int:
    """Return a number that rows with the same set of words and keys share, whatever their order and case."""
    words = sorted(set(WORD.findall(features.decode(errors="replace").lower())))
    return zlib.crc32(" ".join(words).encode())


class Labelling:
    """The rows of one model that wait for people, in the log thread.

    Attributes
    ----------
    answers, random_answers, random_hits : int
        Answers, those about the random share, and those of them with the label that the model had guessed.
    random_error : float
        Of numbers, the sum of absolute differences between the answers about the random share and the guesses.
    """

    def __init__(self) -> None:
        self.answers = self.random_answers = self.random_hits = 0
        self.random_error = 0.0
        self._handed_out = 0  # rows; leased ahead, so that counting answers would miss the positions of random ones
        self._pool: OrderedDict[str, Candidate] = OrderedDict()
        self._asked: set[int] = set()  # likenesses
        self._leases: dict[str, tuple[str, float]] = {}
        self._skipped: set[tuple[str, str]] = set()
        self._pending: OrderedDict[int, Pending] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pool)

    def add(self, row: Candidate) -> None:
        """Add a row; beyond the room the oldest goes."""
        if row.likeness in self._asked:
            return
        self._pool[row.id] = row
        if len(self._pool) > POOL:
            self._pool.popitem(last=False)

    def put_back(self, id: str, seq: int, features: bytes, note: bytes, labeller: str) -> None:
        """Add a row whose answer was undone; who answered has it first."""
        self._asked.discard(likeness(features))
        self.add(candidate(id, seq, features, Answer.of(note)))
        self._leases[id] = (labeller, time.monotonic() + LEASE_SECONDS)

    def remove(self, id: str) -> None:
        """Remove a row that has a label, or is erased."""
        self._pool.pop(id, None)
        self._leases.pop(id, None)

    # --- leases --------------------------------------------------------------------------------------------------

    def next_rows(self, n: int, labeller: str, hold: Sequence[str] = ()) -> list[Candidate]:
        """Lease up to ``n`` rows to a labeller; those that they have already come first.

        Rows to ``hold`` are leased to them unless somebody else has them, since leases do not survive a restart.
        """
        now = time.monotonic()
        self._leases = {id: (who, until) for id, (who, until) in self._leases.items() if until > now}
        for id in hold:
            if id in self._pool:
                self._leases.setdefault(id, (labeller, now + LEASE_SECONDS))
        mine = [self._pool[id] for id, (who, _) in self._leases.items() if who == labeller and id in self._pool][:n]
        free = [row for row in self._pool.values() if self._is_free(row, labeller)]
        drawn = iter(sorted((row for row in free if row.random), key=lambda row: row.seq))
        unsure = iter(sorted((row for row in free if not row.random), key=lambda row: row.certainty))
        chosen, alike = list(mine), {self._pool[id].likeness for id in self._leases if id in self._pool}
        for row in self._mixed(drawn, unsure):
            if len(chosen) >= n:
                break
            if row.likeness not in alike:
                alike.add(row.likeness)
                chosen.append(row)
        self._handed_out += len(chosen) - len(mine)
        for row in chosen:
            self._leases[row.id] = (labeller, now + LEASE_SECONDS)
        return chosen

    def _mixed(self, drawn: Iterator[Candidate], unsure: Iterator[Candidate]) -> Iterator[Candidate]:
        """Yield random rows in their fraction of the positions, and otherwise the least certain ones."""
        place = self._handed_out
        while True:
            turn = int((place + 1) * RANDOM_SHARE) > int(place * RANDOM_SHARE)
            row = next(drawn if turn else unsure, None) or next(unsure if turn else drawn, None)
            if row is None:
                return
            yield row
            place += 1

    def _is_free(self, row: Candidate, labeller: str) -> bool:
        return row.id not in self._leases and row.likeness not in self._asked and not self.has_skipped(row.id, labeller)

    def holder(self, id: str) -> str | None:
        """Return the labeller who has a row, if its lease has not ended."""
        who, until = self._leases.get(id, ("", 0.0))
        return who if until > time.monotonic() else None

    def skip(self, id: str, labeller: str) -> None:
        """Do not ask this labeller about a row again."""
        if self.holder(id) == labeller:
            self._leases.pop(id, None)
        self._skipped.add((id, labeller))

    def has_skipped(self, id: str, labeller: str) -> bool:
        """Return whether a labeller does not want to label a row."""
        return (id, labeller) in self._skipped

    def row(self, id: str) -> Candidate | None:
        """Return a row of the pool."""
        return self._pool.get(id)

    # --- answers -------------------------------------------------------------------------------------------------

    def answered(self, seq: int, example: int, id: str, label: bytes, row: Candidate | None, delay: float) -> None:
        """Count an answer, which is learned after a delay or some further answers."""
        self._count(label, row.random if row else False, row.guess if row else None, 1)
        for k, pending in enumerate(reversed(self._pending.values())):
            if k + 1 >= UNDO_ANSWERS:
                self._pending[pending.seq] = pending._replace(due=0.0)
        self._pending[seq] = Pending(time.monotonic() + delay, seq, example, id, label)
        if row is not None:
            self._asked.add(row.likeness)
        self.remove(id)

    def undone(self, seq: int, note: bytes) -> None:
        """Forget an answer, whose note says what was counted."""
        pending = self._pending.pop(seq)
        told = msgspec.json.decode(note)
        self._count(pending.label, told["random"], told["guess"], -1)

    def restore(self, seq: int, example: int, id: str, label: bytes) -> None:
        """Take an answer of an earlier run that was not learned; it is due."""
        self._pending[seq] = Pending(0.0, seq, example, id, label)
        self.remove(id)

    def counted(self, label: bytes, note: bytes) -> None:
        """Count an answer of an earlier run, before rows are added: those alike are not asked about again."""
        told = msgspec.json.decode(note)
        self._count(label, told["random"], told["guess"], 1)
        self._handed_out += 1
        if told["likeness"] is not None:
            self._asked.add(told["likeness"])

    def _count(self, label: bytes, random: bool, guess: Any, n: int) -> None:
        self.answers += n
        if random and guess is not None:
            self.random_answers += n
            self.random_hits += n * same_label(label, msgspec.json.encode(guess))
            self.random_error += n * distance(label, guess)

    def due(self) -> list[Pending]:
        """Return the answers that can no longer be undone."""
        now = time.monotonic()
        return [pending for pending in self._pending.values() if pending.due <= now]

    def learned(self, answer: Pending) -> None:
        """Forget an answer, whose label is in the log."""
        self._pending.pop(answer.seq, None)

    def next_due(self) -> float | None:
        """Return when the next answer is due, on the monotonic clock."""
        return min((pending.due for pending in self._pending.values()), default=None)

    def shown(self) -> dict[str, Any]:
        """Return progress, and accuracy on random rows."""
        low, high = wilson(self.random_hits, self.random_answers)
        return {
            "waiting": len(self._pool),
            "answers": self.answers,
            "random": {
                "answers": self.random_answers,
                "accuracy": ratio(self.random_hits, self.random_answers),
                "interval": [low, high],
                "mae": ratio(self.random_error, self.random_answers),
            },
        }
