"""The rounds of a training: every partition trains on its cell from one base, and the results make the next base."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from distributed import Client, Future, wait

from ..data import DataError
from ..models.model import Model
from ..stack.members import Members
from ..wording import counted
from .cells import Cell
from .change import advanced, model_bytes
from .tasks import Failure, Job, Learned, Seed, merge_learned

FAN_IN = 4  # changes merged by one task
LOST = ("lost", "cancelled")  # states of a future
POLL_SECONDS = 0.1  # between checks that the base of a round still exists
MAX_ATTEMPTS = 10  # of one round, each started because all copies of its base were lost


@dataclass(frozen=True)
class Round:
    """Summary of a round.

    Attributes
    ----------
    number, of : int
        The round's number, from 1, and the number of rounds.
    partitions : int
        Partitions that had rows in this round.
    rows, learned, mistakes, updates : int
        Rows read; rows trained on, without those of weight 0; mistakes before training on them; updates of the
        Gaussian.
    log_loss : float
        Sum over the rows before training on them; 0 where no calibration is learned.
    skipped : int
    skipped_examples : list of str
        Number of invalid rows, and messages about the first of them.
    seconds : float
        Duration of the round.
    busy_seconds : float
        Training time of all workers together.
    bytes_moved : int
        Size of the base once per worker and of each partition's change once.
    """

    number: int
    of: int
    partitions: int
    rows: int
    learned: int
    mistakes: int
    updates: int
    log_loss: float
    skipped: int
    skipped_examples: list[str]
    seconds: float
    busy_seconds: float
    bytes_moved: int

    def __str__(self) -> str:
        """Return the round in one line."""
        error = self.mistakes / self.learned if self.learned else 0.0
        speed = self.rows / max(self.seconds, 1e-9)
        return (
            f"round {self.number} of {self.of}: {counted(self.rows, 'row')} in "
            f"{counted(self.partitions, 'partition')}, progressive validation error {error:.4f}, "
            f"{speed:,.0f} rows/s, {self.bytes_moved:,} bytes moved"
        )


class Source(Protocol):
    """Data that can be trained on cell by cell."""

    def learn(self, base: Future, cell: Cell, job: Job, calibrate: bool, seed: Seed, key: str) -> Future:
        """Start training on a cell."""

    def expect(self, cells: list[Cell], threads: Mapping[str, int]) -> None:
        """Prepare for training on these cells, by workers with these numbers of threads."""


class Rounds:
    """A training in rounds; iterating yields a summary of each round and advances :attr:`model`.

    Parameters
    ----------
    client : Client
    model : Model
        The model to start from.
    source : Source
    grid : list of lists of Cell
        The cells of each partition in each round.
    job : Job
    passes : int
        Number of passes over the grid.
    calibrate : bool
        Whether the first pass calibrates probabilities.
    seed : int
    max_skipped : float
        Maximum number of rows to skip.
    """

    def __init__(
        self, client: Client, model: Model, source: Source, grid: list[list[Cell]], job: Job, *, passes: int = 1,
        calibrate: bool = True, seed: int = 0, max_skipped: float = float("inf"),
    ) -> None:  # fmt: skip
        self.client, self.model, self.source, self.job = client, model, source, job
        self.grid = [(p, row) for p in range(passes) for row in grid if any(row)]
        self.calibrate, self.seed, self.max_skipped = calibrate, seed, max_skipped
        self.name, self.skipped = uuid4().hex[:12], 0
        self.threads: Mapping[str, int] = {}

    def __len__(self) -> int:
        return len(self.grid)

    def __iter__(self) -> Iterator[Round]:
        for number, (pass_number, row) in enumerate(self.grid, 1):
            began, before = time.monotonic(), self.model.learner
            cells = [cell for cell in row if cell]
            found = self._learn(number, cells, self.calibrate and pass_number == 0)
            sent = model_bytes(self.model) * len(self.threads) + found.bytes_sent
            self.model = advanced(self.model, found.change)
            self._count_skipped(found, pass_number)
            after = self.model.learner
            learned = Round(
                number, len(self), len(cells), found.rows, after.n_seen - before.n_seen,
                after.mistakes - before.mistakes, after.updates - before.updates, found.log_loss, found.skipped,
                found.skipped_examples, time.monotonic() - began, found.seconds, sent,
            )  # fmt: skip
            if isinstance(after, Members) and self.calibrate and pass_number == 0:
                after.race(before.n_seen)
            yield learned

    def _learn(self, number: int, cells: list[Cell], calibrate: bool) -> Learned:
        """Train on the cells and merge. If all copies of the base are lost with their workers, the unfinished cells
        start again from a new copy of the same numbers."""
        futures: list[Future | None] = [None] * len(cells)
        for attempt in range(MAX_ATTEMPTS):
            self.threads = self.client.nthreads()
            self.source.expect(cells, self.threads)
            base = self._send_base()
            for k, cell in enumerate(cells):
                future = futures[k]
                if future is None or future.status != "finished":
                    key = f"learn-{self.name}-{number}-{k}-{attempt}"
                    futures[k] = self.source.learn(base, cell, self.job, calibrate, (self.seed, number, k), key)
            total = self._merged(base, futures, f"merge-{self.name}-{number}-{attempt}")
            try:
                found: Learned | Failure = _result(total, base)
            except CancelledError:
                continue
            finally:
                if total.status not in ("finished", *LOST):
                    self.client.cancel(
                        [future for future in futures if future is not None and future.status == "pending"]
                    )
            if isinstance(found, Failure):
                raise found.error
            return found
        raise RuntimeError(f"round {number} was started {MAX_ATTEMPTS} times and lost its workers each time")

    def _send_base(self) -> Future:
        """Send the model to one worker, from which the others fetch it; a worker may be lost while it receives it."""
        attempt = 0
        while True:
            try:
                [base] = self.client.scatter([self.model], hash=False)
                return base
            except OSError:  # time-outs, too: there may be no worker for a while
                attempt += 1
                if attempt == MAX_ATTEMPTS:
                    raise

    def _merged(self, base: Future, futures: list[Future], key: str) -> Future:
        """Start a tree of merges, which does not depend on the workers."""
        level = 0
        while len(futures) > 1:
            groups = [futures[k : k + FAN_IN] for k in range(0, len(futures), FAN_IN)]
            futures = [
                self.client.submit(merge_learned, base, group, key=f"{key}-{level}-{k}") if len(group) > 1 else group[0]
                for k, group in enumerate(groups)
            ]
            level += 1
        return futures[0]

    def _count_skipped(self, found: Learned, pass_number: int) -> None:
        self.skipped += found.skipped if pass_number == 0 else 0
        if self.skipped > self.max_skipped:
            raise DataError(
                f"more than {counted(int(self.max_skipped), 'invalid row')}; some of them: "
                + "; ".join(found.skipped_examples)
            )


def _result(future: Future, base: Future) -> Any:
    """Return the future's result; raise ``CancelledError`` once the base it depends on is lost."""
    while future.status == "pending":
        if base.status in LOST:
            raise CancelledError
        with suppress(TimeoutError):  # result(timeout=...) would fetch the result again every time
            wait(future, timeout=POLL_SECONDS)
    return future.result()
