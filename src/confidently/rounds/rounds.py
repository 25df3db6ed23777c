"""The rounds of a training: every partition trains on its cell from one base, and the results make the next base."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from ..data import DataError
from ..wording import counted
from .cells import Cell
from .tasks import Failure, Job, Learned, Seed

FAN_IN = 4  # changes merged by one task
Item = TypeVar("Item")


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


class Assignment(NamedTuple):
    """What an engine has done in a round.

    Attributes
    ----------
    number : int
        Of the round, from 1.
    base
        From which all cells are trained.
    cells : list of Cell
        Those of the partitions that have rows in this round.
    job : Job
    calibrate : bool
        Whether probabilities are calibrated.
    seed : int
    """

    number: int
    base: Any
    cells: list[Cell]
    job: Job
    calibrate: bool
    seed: int

    def seed_of(self, k: int) -> Seed:
        """Return the seed of a cell."""
        return (self.seed, self.number, k)


class Engine(Protocol):
    """What trains on the cells of a round, anywhere.

    Attributes
    ----------
    copies : int
        Number of processes to which it sent the base of the last round.
    """

    copies: int

    def learn(self, assigned: Assignment) -> Learned | Failure:
        """Train on all cells and merge what was learned, in a tree of :func:`groups`."""


def groups(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Return one level of the tree of merges, which does not depend on who merges.

    >>> groups("abcdef")
    ['abcd', 'ef']
    """
    return [items[k : k + FAN_IN] for k in range(0, len(items), FAN_IN)]


class Rounds:
    """A training in rounds; iterating yields a summary of each round and advances :attr:`model`.

    Parameters
    ----------
    engine : Engine
    model
        The model to start from, of the kind that the job trains.
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
        self, engine: Engine, model: Any, grid: list[list[Cell]], job: Job, *, passes: int = 1,
        calibrate: bool = True, seed: int = 0, max_skipped: float = float("inf"),
    ) -> None:  # fmt: skip
        self.engine, self.model, self.job = engine, job.begun(model), job
        self.grid = [(p, row) for p in range(passes) for row in grid if any(row)]
        self.calibrate, self.seed, self.max_skipped = calibrate, seed, max_skipped
        self.skipped = 0

    def __len__(self) -> int:
        return len(self.grid)

    def __iter__(self) -> Iterator[Round]:
        for number, (pass_number, row) in enumerate(self.grid, 1):
            began, base = time.monotonic(), self.model
            cells, calibrate = [cell for cell in row if cell], self.calibrate and pass_number == 0
            found = self.engine.learn(Assignment(number, base, cells, self.job, calibrate, self.seed))
            if isinstance(found, Failure):
                raise found.error
            self.model = self.job.advanced(base, found.change)
            self._count_skipped(found, pass_number)
            before, after = self.job.counts(base), self.job.counts(self.model)
            learned = Round(
                number, len(self), len(cells), found.rows, after.rows - before.rows,
                after.mistakes - before.mistakes, after.updates - before.updates, found.log_loss, found.skipped,
                found.skipped_examples, time.monotonic() - began, found.seconds,
                before.n_bytes * self.engine.copies + found.bytes_sent,
            )  # fmt: skip
            if calibrate:
                self.job.race(self.model, before.rows)
            yield learned

    def _count_skipped(self, found: Learned, pass_number: int) -> None:
        self.skipped += found.skipped if pass_number == 0 else 0
        if self.skipped > self.max_skipped:
            raise DataError(
                f"more than {counted(int(self.max_skipped), 'invalid row')}; some of them: "
                + "; ".join(found.skipped_examples)
            )
