"""Arrays with room behind them: a stream that brings columns row by row rarely copies what is known of the others."""

from __future__ import annotations

from threading import Lock
from weakref import ref

import numpy as np

PER_SPARE = 2  # entries for each that is kept to spare, once an array has grown
SMALL = 2**15  # bytes of an array that is rather copied
ONE_THREAD = Lock()


class Room(np.ndarray):
    """The memory of an array and of those that have grown from it; each has the entries of the one before it.

    Attributes
    ----------
    owners : list
        Weak references to these arrays, from the shortest to the longest. Only the longest can grow in place.
    """

    owners: list[ref[np.ndarray]]

    def let(self, array: np.ndarray, n: int) -> np.ndarray:
        """Return an array of n entries: those of ``array``, which are here, and zeros."""
        found: np.ndarray = np.ndarray((n, *self.shape[1:]), self.dtype, self)
        found[len(array) :] = 0
        self.owners.append(ref(found))
        return found

    def grown(self, array: np.ndarray, n: int) -> np.ndarray | None:
        """Return the same if ``array`` is the longest of those that are still in use, and there is room; else None."""
        if n > len(self):
            return None
        with ONE_THREAD:
            while self.owners and (last := self.owners[-1]()) is not array:
                if last is not None:
                    return None
                self.owners.pop()
            return self.let(array, n) if self.owners else None


def appended(array: np.ndarray, n: int) -> np.ndarray:
    """Return an array with n more entries along its first axis, which are 0."""
    last, shape = len(array) + n, array.shape[1:]
    if array.nbytes < SMALL:
        whole = np.zeros((last, *shape), array.dtype)
        whole[: len(array)] = array
        return whole
    room = array.base
    if isinstance(room, Room) and (found := room.grown(array, last)) is not None:
        return found
    room = Room((last + last // PER_SPARE, *shape), array.dtype)
    room.owners = []
    room[: len(array)] = array
    return room.let(array, last)


def joined(array: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return an array with more entries behind its own."""
    found = appended(array, len(more))
    found[len(array) :] = more
    return found
