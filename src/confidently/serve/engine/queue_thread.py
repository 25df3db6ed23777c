"""A thread that works on a queue of requests."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from .requests import RequestQueue


class QueueThread(ABC):
    """A thread with a queue.

    Parameters
    ----------
    name : str
        Of the thread.
    queue : RequestQueue
    """

    def __init__(self, name: str, queue: RequestQueue) -> None:
        self._queue = queue
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    @property
    def age(self) -> float:
        """Seconds for which the oldest request has waited."""
        return self._queue.age

    @abstractmethod
    def _run(self) -> None:
        """Work until the queue is closed."""
