"""Which rows people are asked to label: the least certain ones and a random fraction, each by one labeller.

Rows whose label is requested because the model is unsure say nothing about its accuracy. So a random fraction of all
rows, drawn by a hash of their event's number and never by their content, is requested separately; accuracy is reported
on these alone. Some answered rows are asked about twice (:mod:`.opinions`).
"""

from __future__ import annotations

import heapq
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from ..log.event_log import EventLog
from .candidates import RANDOM_SHARE, Candidate, candidate, likeness
from .measures import ratio
from .metrics import wilson
from .opinions import Opinions, is_second
from .predicted import Answer, AnyAnswer
from .rows import distance, same_label

LEASE_SECONDS = 180.0
REFRESH_SECONDS = 5.0  # at least between two times that the model is asked again about all waiting rows
POOL = 5000  # rows from which the next are chosen; the newest ones
PEOPLE, REASONS = 20, 10  # that are shown, the most frequent ones
UNDO_SECONDS, UNDO_ANSWERS = 5.0, 3  # an answer is learned after this time, or this number of further answers


class Labeller(NamedTuple):
    """Who labels: a person by their name, and where they sit, since several tabs of one person have different rows."""

    name: str
    seat: str = ""


class Pending(NamedTuple):
    """An answer that can still be undone."""

    due: float
    seq: int
    example: int
    id: str
    label: bytes
    by: str


class Labelling:
    """The rows of one model that wait for people, in the log thread.

    Parameters
    ----------
    twice : bool
        Whether some rows are asked about twice.

    Attributes
    ----------
    answers, random_answers, random_hits : int
        Answers, those about the random share, and those of them with the label that the model had guessed.
    random_error : float
        Of numbers, the sum of absolute differences between the answers about the random share and the guesses.
    skips : Counter
        Rows that people did not want to label, by their reasons.
    opinions : Opinions
        Of rows with an answer.
    """

    def __init__(self, twice: bool = True) -> None:
        self.answers = self.random_answers = self.random_hits = 0
        self.random_error = 0.0
        self._handed_out = 0  # rows; leased ahead, so that counting answers would miss the positions of random ones
        self._pool: OrderedDict[str, Candidate] = OrderedDict()
        self._asked: set[int] = set()  # likenesses
        self.skips: Counter[str] = Counter()
        self.opinions = Opinions(twice)
        self._leases: dict[str, tuple[Labeller, float]] = {}
        self._skipped: set[tuple[str, str]] = set()
        self._pending: OrderedDict[int, Pending] = OrderedDict()
        self._refreshing = False
        self._refreshed_at, self._refreshed_for = float("-inf"), None

    def __len__(self) -> int:
        return len(self._pool)

    def add(self, row: Candidate) -> None:
        """Add a row; beyond the room the oldest goes."""
        if row.likeness in self._asked:
            return
        self._pool[row.id] = row
        if len(self._pool) > POOL:
            self._pool.popitem(last=False)

    def put_back(self, id: str, seq: int, features: bytes, note: bytes, labeller: Labeller) -> None:
        """Add a row whose answer was undone; who answered has it first."""
        self._asked.discard(likeness(features))
        self.add(candidate(id, seq, features, Answer.of(note)))
        self._leases[id] = (labeller, time.monotonic() + LEASE_SECONDS)

    def remove(self, id: str) -> None:
        """Remove a row that has a label, or is erased."""
        self._pool.pop(id, None)
        self._leases.pop(id, None)
        self.opinions.remove(id)

    # --- what the model says now -------------------------------------------------------------------------------------

    def begin_refresh(self, state: Any) -> list[Candidate]:
        """Return all waiting rows, the least certain first, if the model is to be asked about them again.

        ``state`` differs when the model has changed. A refresh that has begun ends with :meth:`end_refresh`.
        """
        now = time.monotonic()
        if self._refreshing or state == self._refreshed_for or now < self._refreshed_at + REFRESH_SECONDS:
            return []
        self._refreshing, self._refreshed_at, self._refreshed_for = bool(self._pool), now, state
        return sorted(self._pool.values(), key=lambda row: row.certainty)

    def refreshed(self, rows: Sequence[Candidate], answers: Sequence[AnyAnswer]) -> None:
        """Take over what the model says of rows now, of those that still wait."""
        for row, answer in zip(rows, answers, strict=True):
            if row.id in self._pool:
                self._pool[row.id] = row._replace(guess=answer.label, certainty=answer.certainty)

    def end_refresh(self) -> None:
        """The model was asked about all rows, or could not answer."""
        self._refreshing = False

    # --- leases --------------------------------------------------------------------------------------------------

    def next_rows(self, n: int, labeller: Labeller, hold: Sequence[str] = ()) -> list[Candidate]:
        """Lease up to ``n`` rows to a labeller; those that they have already come first.

        Rows to ``hold`` are leased to them unless somebody else has them, since leases do not survive a restart. At
        most one of the others is asked about a second time.
        """
        now = time.monotonic()
        self._leases = {id: (who, until) for id, (who, until) in self._leases.items() if until > now}
        for id in hold:
            if id in self._pool or self.opinions.suits(id, labeller.name):
                self._leases.setdefault(id, (labeller, now + LEASE_SECONDS))
        mine = [row for id, (who, _) in self._leases.items() if who == labeller and (row := self.row(id))][:n]
        free = [row for row in self._pool.values() if self._is_free(row, labeller)] if len(mine) < n else []
        again = self._second_look(labeller, alone=not (free or mine)) if len(mine) < n else []
        drawn = iter(sorted((row for row in free if row.random), key=lambda row: row.seq))
        unsure = iter(sorted((row for row in free if not row.random), key=lambda row: row.certainty))
        chosen, alike = list(mine), {row.likeness for id in self._leases if (row := self._pool.get(id))}
        for row in self._mixed(drawn, unsure):
            if len(chosen) >= n - len(again):
                break
            if row.likeness not in alike:
                alike.add(row.likeness)
                chosen.append(row)
        self._handed_out += len(chosen) - len(mine)
        chosen += again
        for row in chosen:
            self._leases[row.id] = (labeller, now + LEASE_SECONDS)
        return chosen

    def _second_look(self, labeller: Labeller, alone: bool) -> list[Candidate]:
        """Return at most one row to ask a person about again, none while one is leased to them."""
        if any(who == labeller and id not in self._pool for id, (who, _) in self._leases.items()):
            return []
        ids = self.opinions.ids_for(labeller.name, alone)
        found = [row for id in ids if id not in self._leases and (row := self.opinions.row(id))]
        return [row for row in found if not self.has_skipped(row.id, labeller)][:1]

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

    def _is_free(self, row: Candidate, labeller: Labeller) -> bool:
        return row.id not in self._leases and row.likeness not in self._asked and not self.has_skipped(row.id, labeller)

    def holder(self, id: str) -> Labeller | None:
        """Return the labeller who has a row, if its lease has not ended."""
        who, until = self._leases.get(id, (None, 0.0))
        return who if until > time.monotonic() else None

    def skip(self, id: str, labeller: Labeller, reason: str | None = None) -> None:
        """Do not ask this person about a row again."""
        if self.holder(id) == labeller:
            self._leases.pop(id, None)
        self._skipped.add((id, labeller.name))
        self.skips[reason or ""] += 1

    def has_skipped(self, id: str, labeller: Labeller) -> bool:
        """Return whether a person does not want to label a row."""
        return (id, labeller.name) in self._skipped

    def is_second(self, id: str) -> bool:
        """Return whether a row that waits has an answer already."""
        return id not in self._pool

    def row(self, id: str) -> Candidate | None:
        """Return a row that waits for an answer, or for a second one."""
        return self._pool.get(id) or self.opinions.row(id)

    # --- answers -------------------------------------------------------------------------------------------------

    def answered(
        self, seq: int, example: int, id: str, label: bytes, row: Candidate | None, delay: float, by: str
    ) -> None:
        """Count an answer, which is learned after a delay or some further answers."""
        self._count(label, row.random if row else False, row.guess if row else None, by, 1)
        for k, pending in enumerate(reversed(self._pending.values())):
            if k + 1 >= UNDO_ANSWERS:
                self._pending[pending.seq] = pending._replace(due=0.0)
        self._pending[seq] = Pending(time.monotonic() + delay, seq, example, id, label, by)
        self.remove(id)
        if row is not None:
            self._asked.add(row.likeness)
            self.opinions.answered(row, label, by)

    def undone(self, seq: int, note: bytes) -> None:
        """Forget an answer, whose note says what was counted."""
        pending = self._pending.pop(seq)
        told = msgspec.json.decode(note)
        self._count(pending.label, told["random"], told["guess"], told["by"], -1)
        self.opinions.remove(pending.id)

    def second(self, id: str, label: bytes, note: bytes) -> None:
        """Count a second answer to a row."""
        self.opinions.given(id, label, note)
        self._leases.pop(id, None)

    def restore_answers(self, log: EventLog, model: int) -> None:
        """Count the answers of earlier runs, and find those that are asked about again; before rows are added."""
        looked = set[int]()
        for example, label, note in log.answers.opinions(model):
            self.opinions.counted(label, note)
            looked.add(example)
        for example, id, label, note in log.answers.given(model):
            self.counted(label, note)
            if not is_second(example) or example in looked:
                continue
            stored, last = log.find(model, id), log.label_of(example)
            if stored is None or stored.features is None or stored.note is None:
                continue
            if last is None or same_label(last[1], label):
                row = candidate(id, example, stored.features, Answer.of(stored.note))
                self.opinions.answered(row, label, msgspec.json.decode(note)["by"])

    def restore(self, seq: int, example: int, id: str, label: bytes, note: bytes) -> None:
        """Take an answer of an earlier run that was not learned; it is due."""
        self._pending[seq] = Pending(0.0, seq, example, id, label, msgspec.json.decode(note)["by"])
        self._pool.pop(id, None)

    def counted(self, label: bytes, note: bytes) -> None:
        """Count an answer of an earlier run; rows alike are not asked about again."""
        told = msgspec.json.decode(note)
        self._count(label, told["random"], told["guess"], told["by"], 1)
        self._handed_out += 1
        if told["likeness"] is not None:
            self._asked.add(told["likeness"])

    def _count(self, label: bytes, random: bool, guess: Any, by: str, n: int) -> None:
        self.answers += n
        self.opinions.answers[by] += n
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
        """Return progress, accuracy on random rows, who has answered, and how far people agree."""
        low, high = wilson(self.random_hits, self.random_answers)
        people = [{"name": name, "answers": n} for name, n in _most(self.opinions.answers, PEOPLE)]
        return {
            "waiting": len(self._pool),
            "answers": self.answers,
            "random": {
                "answers": self.random_answers,
                "accuracy": ratio(self.random_hits, self.random_answers),
                "interval": [low, high],
                "mae": ratio(self.random_error, self.random_answers),
            },
            "people": people,
            "agreement": self.opinions.shown(),
            "skips": [{"reason": reason or None, "rows": n} for reason, n in _most(self.skips, REASONS)],
        }


def _most(counts: Counter[str], n: int) -> list[tuple[str, int]]:
    """Return the most frequent keys; of any thread."""
    return heapq.nlargest(n, [one for one in list(counts.items()) if one[1]], key=lambda one: one[1])
