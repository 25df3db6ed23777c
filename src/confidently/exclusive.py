"""One thread at a time trains an object: training by two at once would lose rows without a word."""

from __future__ import annotations

import os
from threading import get_ident


class ConcurrentUse(RuntimeError):
    """Two threads train one object at the same time."""

    def __init__(self) -> None:
        super().__init__(
            "another thread is training this object, whose rows would be lost; train in one thread at a time, or in "
            "each an object of its own and merge them"
        )


class Exclusive:
    """A context that one thread at a time enters with an object; again in the same thread, it has no effect.

    It keeps nothing in the object, which can therefore be copied, cloned and pickled at any time.

    Raises
    ------
    ConcurrentUse
        If another thread is inside.
    """

    def __init__(self, of: object) -> None:
        self.key, self.thread = id(of), get_ident()

    def __enter__(self) -> None:
        first = _inside.setdefault(self.key, self)
        if first.thread != self.thread:
            raise ConcurrentUse

    def __exit__(self, *error: object) -> None:
        if _inside.get(self.key) is self:  # a process forked meanwhile has none
            del _inside[self.key]


_inside: dict[int, Exclusive] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inside.clear)
