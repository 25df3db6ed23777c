"""The engine of dask.distributed: a round as tasks, which lost workers do not change."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Protocol
from uuid import uuid4

from distributed import Client, Future, wait

from ..rounds.cells import Cell
from ..rounds.rounds import Assignment, groups
from ..rounds.tasks import Failure, Job, Learned, Seed, merge_learned

LOST = ("lost", "cancelled")  # states of a future
POLL_SECONDS = 0.1  # between checks that the base of a round still exists
MAX_ATTEMPTS = 10  # of one round, each started because all copies of its base were lost


class Source(Protocol):
    """Data that can be trained on cell by cell."""

    def learn(self, base: Future, cell: Cell, job: Job, calibrate: bool, seed: Seed, key: str) -> Future:
        """Start training on a cell."""

    def expect(self, cells: list[Cell], threads: Mapping[str, int]) -> None:
        """Prepare for training on these cells, by workers with these numbers of threads."""


class DaskEngine:
    """Trains on the cells of a source.

    Parameters
    ----------
    client : Client
    source : Source
    """

    def __init__(self, client: Client, source: Source) -> None:
        self.client, self.source, self.name, self.copies = client, source, uuid4().hex[:12], 0

    def learn(self, assigned: Assignment) -> Learned | Failure:
        """Train on the cells and merge. If all copies of the base are lost with their workers, the unfinished cells
        start again from a new copy of the same numbers."""
        number, cells = assigned.number, assigned.cells
        futures: list[Future | None] = [None] * len(cells)
        for attempt in range(MAX_ATTEMPTS):
            threads = self.client.nthreads()
            self.copies = len(threads)
            self.source.expect(cells, threads)
            base = self._send(assigned.base)
            for k, cell in enumerate(cells):
                future = futures[k]
                if future is None or future.status != "finished":
                    key = f"learn-{self.name}-{number}-{k}-{attempt}"
                    futures[k] = self.source.learn(
                        base, cell, assigned.job, assigned.calibrate, assigned.seed_of(k), key
                    )
            total = self._merged(base, futures, assigned.job, f"merge-{self.name}-{number}-{attempt}")
            try:
                found: Learned | Failure = _result(total, base)
            except CancelledError:
                continue
            finally:
                if total.status not in ("finished", *LOST):
                    self.client.cancel(
                        [future for future in futures if future is not None and future.status == "pending"]
                    )
            return found
        raise RuntimeError(f"round {number} was started {MAX_ATTEMPTS} times and lost its workers each time")

    def _send(self, model: Any) -> Future:
        """Send the model to one worker, from which the others fetch it; a worker may be lost while it receives it."""
        attempt = 0
        while True:
            try:
                [base] = self.client.scatter([model], hash=False)
                return base
            except OSError:  # time-outs, too: there may be no worker for a while
                attempt += 1
                if attempt == MAX_ATTEMPTS:
                    raise

    def _merged(self, base: Future, futures: list[Future], job: Job, key: str) -> Future:
        """Start a tree of merges, which does not depend on the workers."""
        level = 0
        while len(futures) > 1:
            futures = [
                self.client.submit(merge_learned, base, group, job, key=f"{key}-{level}-{k}")
                if len(group) > 1
                else group[0]
                for k, group in enumerate(groups(futures))
            ]
            level += 1
        return futures[0]


def _result(future: Future, base: Future) -> Any:
    """Return the future's result; raise ``CancelledError`` once the base it depends on is lost."""
    while future.status == "pending":
        if base.status in LOST:
            raise CancelledError
        with suppress(TimeoutError):  # result(timeout=...) would fetch the result again every time
            wait(future, timeout=POLL_SECONDS)
    return future.result()
