"""Work ahead of time in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Any

POLL_SECONDS = 0.1  # how often a thread that waits looks whether it is still needed
JOIN_SECONDS = 0.5  # parsing a chunk takes a hundredth of it; only a read that waits for input takes longer


class _Worker:
    """Makes items in a thread of its own and queues them until it is told to stop."""

    def __init__(self, items: Iterable[Any], ahead: int) -> None:
        self.items = items
        self.ready: queue.Queue[tuple[str, Any]] = queue.Queue(ahead)
        self.stopped = threading.Event()
        # a daemon: a read of standard input that never returns must not keep the program from ending
        self.thread = threading.Thread(target=self._work, name="confidently-reader", daemon=True)

    def _work(self) -> None:
        try:
            for item in self.items:
                self._put("item", item)
                if self.stopped.is_set():
                    return
            self._put("end", None)
        except BaseException as error:
            self._put("error", error)

    def _put(self, kind: str, item: Any) -> None:
        while not self.stopped.is_set():
            try:
                return self.ready.put((kind, item), timeout=POLL_SECONDS)
            except queue.Full:
                continue


def in_background(items: Iterable[Any], ahead: int) -> Generator[Any]:
    """The same items, made in a thread of their own at most ``ahead`` before they are asked for."""
    worker = _Worker(items, ahead)
    worker.thread.start()
    try:
        while True:
            kind, item = worker.ready.get()
            if kind == "error":
                raise item
            if kind == "end":
                return
            yield item
    finally:
        worker.stopped.set()
        worker.thread.join(JOIN_SECONDS)  # so that no compiled code runs on while the interpreter goes down
