"""Threads beside those of the engine: sources of rows, backups, webhooks, replicas."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class BackgroundThread(ABC):
    """A thread that works until it is stopped.

    Parameters
    ----------
    name : str
        Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for that."""
        self._stopping.set()
        self._thread.join()

    @abstractmethod
    def _run(self) -> None:
        """Work until :attr:`_stopping` is set."""
