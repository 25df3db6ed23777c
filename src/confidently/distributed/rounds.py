"""The rounds of a training: every part learns its cell after one base, and what they learned becomes the next base."""

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
from .cells import Cell
from .change import advanced, model_bytes
from .tasks import Failure, Job, Learned, Seed, merge_learned

FAN_IN = 4  # changes that are merged at a time
LOST = ("lost", "cancelled")
POLL_SECONDS = 0.1  # between looks at whether the base of a round is still there
MAX_ATTEMPTS = 10  # at one round, each begun because all copies of its base were lost


@dataclass(frozen=True)
class Round:
    """An account of a round.

    Attributes
    ----------
    number, of : int
        Its number, from 1, and how many there are.
    parts : int
        Which had something to learn.
    rows, learned, mistakes, updates : int
        Read; those of them that had something to teach; their progressive mistakes; moves of the Gaussian.
    log_loss : float
        Sum over the rows before they were learned; 0 where no calibration is learned.
    skipped : int
    skipped_examples : list of str
        Rows passed over, and what was wrong with the first of them.
    seconds : float
        The round took.
    busy_seconds : float
        Workers spent learning, all together.
    bytes_moved : int
        The base once a worker, and what each part changed once.
    """

    number: int
    of: int
    parts: int
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
        """In a line."""
        error = self.mistakes / self.learned if self.learned else 0.0
        return (
            f"round {self.number} of {self.of}: {self.rows:,} rows in {self.parts} parts, progressive error "
            f"{error:.4f}, {self.rows / max(self.seconds, 1e-9):,.0f} rows/s, {self.bytes_moved:,} bytes moved"
        )


class Source(Protocol):
    """Data that can be learned cell by cell."""

    def learn(self, base: Future, cell: Cell, job: Job, calibrate: bool, seed: Seed, key: str) -> Future:
        """What a cell teaches, in the making."""

    def expect(self, cells: list[Cell], threads: Mapping[str, int]) -> None:
        """These cells are learned next, by workers of so many threads each."""


class Rounds:
    """A training in rounds; iterating gives an account of each, and :attr:`model` grows.

    Parameters
    ----------
    client : Client
    model : Model
        What is known already.
    source : Source
    grid : list of lists of Cell
        What each part learns in each round.
    job : Job
    passes : int
        How often the whole grid is learned.
    calibrate : bool
        Whether the first pass calibrates probabilities.
    seed : int
    most_skipped : float
        Rows that may be passed over.
    """

    def __init__(
        self, client: Client, model: Model, source: Source, grid: list[list[Cell]], job: Job, *, passes: int = 1,
        calibrate: bool = True, seed: int = 0, most_skipped: float = float("inf"),
    ) -> None:  # fmt: skip
        self.client, self.model, self.source, self.job = client, model, source, job
        self.grid = [(p, row) for p in range(passes) for row in grid if any(row)]
        self.calibrate, self.seed, self.most_skipped = calibrate, seed, most_skipped
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
            yield Round(
                number, len(self), len(cells), found.rows, after.n_seen - before.n_seen,
                after.mistakes - before.mistakes, after.updates - before.updates, found.log_loss, found.skipped,
                found.skipped_examples, time.monotonic() - began, found.seconds, sent,
            )  # fmt: skip

    def _learn(self, number: int, cells: list[Cell], calibrate: bool) -> Learned:
        """What the cells teach, merged. If every copy of the base is lost with its workers, what was not done by then
        begins again after a new one, of the same numbers."""
        parts: list[Future | None] = [None] * len(cells)
        for attempt in range(MAX_ATTEMPTS):
            self.threads = self.client.nthreads()
            self.source.expect(cells, self.threads)
            base = self._given_out()
            for k, cell in enumerate(cells):
                part = parts[k]
                if part is None or part.status != "finished":
                    key = f"learn-{self.name}-{number}-{k}-{attempt}"
                    parts[k] = self.source.learn(base, cell, self.job, calibrate, (self.seed, number, k), key)
            total = self._merged(base, parts, f"merge-{self.name}-{number}-{attempt}")
            try:
                found: Learned | Failure = _result(total, base)
            except CancelledError:
                continue
            finally:
                if total.status not in ("finished", *LOST):
                    self.client.cancel([part for part in parts if part is not None and part.status == "pending"])
            if isinstance(found, Failure):
                raise found.error
            return found
        raise RuntimeError(f"round {number} was begun {MAX_ATTEMPTS} times and its workers lost each time")

    def _given_out(self) -> Future:
        """The model, on one worker, from which the others fetch it; a worker may be lost while it takes it."""
        attempt = 0
        while True:
            try:
                [base] = self.client.scatter([self.model], hash=False)
                return base
            except OSError:  # time-outs, too: there may be no worker for a while
                attempt += 1
                if attempt == MAX_ATTEMPTS:
                    raise

    def _merged(self, base: Future, parts: list[Future], key: str) -> Future:
        """A tree of merges, the same whatever workers there are."""
        level = 0
        while len(parts) > 1:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = [
                self.client.submit(merge_learned, base, group, key=f"{key}-{level}-{k}") if len(group) > 1 else group[0]
                for k, group in enumerate(groups)
            ]
            level += 1
        return parts[0]

    def _count_skipped(self, found: Learned, pass_number: int) -> None:
        self.skipped += found.skipped if pass_number == 0 else 0
        if self.skipped > self.most_skipped:
            raise DataError(
                f"more than {self.most_skipped:,} rows are not as they should be; some of them: "
                + "; ".join(found.skipped_examples)
            )


def _result(future: Future, base: Future) -> Any:
    """The future's result; ``CancelledError`` once the base it depends on is lost."""
    while future.status == "pending":
        if base.status in LOST:
            raise CancelledError
        with suppress(TimeoutError):  # result(timeout=...) would begin to fetch the result again every time
            wait(future, timeout=POLL_SECONDS)
    return future.result()
