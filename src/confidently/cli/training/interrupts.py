"""Signals that end a command in order: the current batch is completed, and the signal's number is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any, TypeVar

Item = TypeVar("Item")

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(Exception):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class Interruptions:
    """A context in which SIGINT, SIGTERM and SIGHUP take effect only between two batches, or while waiting for one.

    A second signal acts as it would without the context. An ignored signal stays ignored.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.waiting = False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Interruptions:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self.before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._restore()

    def check(self) -> None:
        """Raise :class:`Interrupted` if a signal has arrived."""
        if self.received is not None:
            raise Interrupted(self.received)

    def watch(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the same items; a signal interrupts the wait for the next one."""
        iterator = iter(items)
        while True:
            try:
                self.waiting = True
                self.check()
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self.waiting = False
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        self._restore()
        if self.waiting:
            raise Interrupted(number)

    def _restore(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}
