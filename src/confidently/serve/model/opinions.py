"""Second looks: some answered rows are asked about again, which shows how far people agree. They are never learned."""

from __future__ import annotations

import zlib
from collections import Counter, OrderedDict
from typing import Any, NamedTuple

import msgspec

from .candidates import Candidate
from .rows import label_names, same_label

SECOND_SHARE = 0.05  # of answered rows
REPEAT_AFTER = 50  # further answers of a person, after which they may be asked about a row of theirs again
SPACING = 8  # answers of a person between two second looks, while other rows wait
ROOM = 500  # rows; the newest ones


class SecondLook(NamedTuple):
    """A row with an answer that is asked about again: the answer, who gave it, and their answers up to that one."""

    row: Candidate
    label: bytes
    by: str
    number: int


def is_second(seq: int) -> bool:
    """Return whether a row, by its event, is asked about twice."""
    return zlib.crc32(b"second" + seq.to_bytes(8, "little")) < SECOND_SHARE * 2**32


class Agreement:
    """How far pairs of labels of the same rows agree."""

    def __init__(self) -> None:
        self.rows = self.same = 0
        self._values: Counter[tuple[str, ...]] = Counter()

    def count(self, first: bytes, second: bytes, n: int = 1) -> None:
        """Count a pair; -1 takes it back."""
        self.rows += n
        self.same += n * same_label(first, second)
        for label in (first, second):
            self._values[tuple(label_names(label))] += n

    def alpha(self) -> float | None:
        r"""Return Krippendorff's alpha of nominal values: :math:`1 - D_o / D_e`, observed and expected disagreement.

        1 is agreement, 0 what chance brings; None if there is no pair, or all labels are the same.
        """
        n = 2 * self.rows
        if n == 0:
            return None
        pairs = n * (n - 1)
        expected = 1.0 - sum(k * (k - 1) for k in list(self._values.values())) / pairs
        return None if expected <= 0.0 else 1.0 - (1.0 - self.same / self.rows) / expected

    def shown(self) -> dict[str, Any]:
        return {"rows": self.rows, "same": self.same, "alpha": self.alpha()}


class Opinions:
    """The rows of one model that are asked about again, in the log thread.

    Parameters
    ----------
    twice : bool
        Whether any row is.

    Attributes
    ----------
    people, repeats : Agreement
        Of two people, and of one person with themselves.
    answers : Counter
        By person.
    """

    def __init__(self, twice: bool = True) -> None:
        self._twice = twice
        self.people, self.repeats = Agreement(), Agreement()
        self.answers: Counter[str] = Counter()
        self._looks: OrderedDict[str, SecondLook] = OrderedDict()
        self._last: Counter[str] = Counter()  # answers of a person up to their last second look

    def answered(self, row: Candidate, label: bytes, by: str) -> None:
        """Offer a row that was just answered, if it is one of those asked about twice."""
        if self._twice and is_second(row.seq):
            self._looks[row.id] = SecondLook(row, label, by, self.answers[by])
            if len(self._looks) > ROOM:
                self._looks.popitem(last=False)

    def remove(self, id: str) -> None:
        """Remove a row whose answer was undone or changed, or that is erased."""
        self._looks.pop(id, None)

    def row(self, id: str) -> Candidate | None:
        """Return a row to look at again."""
        look = self._looks.get(id)
        return None if look is None else look.row

    def suits(self, id: str, person: str) -> bool:
        """Return whether a person can be asked about a row again: they have not seen it, or not for long."""
        look = self._looks.get(id)
        return look is not None and (look.by != person or self.answers[person] >= look.number + REPEAT_AFTER)

    def ids_for(self, person: str, alone: bool) -> list[str]:
        """Return the rows that a person can be asked about again now; ``alone``: there are no others."""
        if not alone and self.answers[person] < self._last[person] + SPACING:
            return []
        return [id for id in self._looks if self.suits(id, person)]

    def given(self, id: str, label: bytes, note: bytes) -> None:
        """Count an opinion, whose note says of what."""
        told = msgspec.json.decode(note)
        self.counted(label, note)
        self._last[told["by"]] = self.answers[told["by"]]
        self.remove(id)

    def counted(self, label: bytes, note: bytes, n: int = 1) -> None:
        """Count an opinion of an earlier run; -1 takes it back."""
        told = msgspec.json.decode(note)
        both = self.repeats if told["by"] == told["first"] else self.people
        both.count(msgspec.json.encode(told["of"]), label, n)

    def shown(self) -> dict[str, Any]:
        """Return how far people agree, with each other and with themselves."""
        return {"people": self.people.shown(), "repeats": self.repeats.shown()}
