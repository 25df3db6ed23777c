"""How an experiment is run: its size, seed, data, processes and progress reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, delayed


class Listener(Protocol):
    """Receives the start and end of every stage and every finished task of it."""

    def begin(self, stage: str, tasks: int) -> None: ...
    def advance(self) -> None: ...
    def end(self) -> None: ...


class Progress:
    """A listener that reports nothing."""

    def begin(self, stage: str, tasks: int) -> None:
        """A stage with this number of tasks begins."""

    def advance(self) -> None:
        """A task is finished."""

    def end(self) -> None:
        """The stage ends."""


@dataclass(frozen=True)
class Run:
    """One run of a paper's experiments.

    Attributes
    ----------
    seed : int
        Determines everything that is random.
    quick : bool
        Whether to run at a reduced size.
    data : Path, optional
        Folder of the data sets; the report lists the experiments that were left out for lack of a data set.
    jobs : int
        Number of processes.
    axes : tuple of (float, ...)
        cw2008: standard deviations of its points, along, across and optionally of the noise; empty: the report's two.
    progress : Listener
    """

    seed: int = 0
    quick: bool = False
    data: Path | None = None
    jobs: int = 1
    axes: tuple[tuple[float, ...], ...] = ()
    progress: Listener = field(default_factory=Progress, compare=False)

    def size(self, full: int, quick: int) -> int:
        """Return the size for this run."""
        return quick if self.quick else full

    def has(self, *names: str) -> bool:
        """Return whether data sets (folders of ``data``) exist."""
        return self.data is not None and all((self.data / name).is_dir() for name in names)

    def each(self, stage: str, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Return ``function(*a)`` for all arguments, in their order, computed in ``jobs`` processes."""
        arguments = list(arguments)
        self.progress.begin(stage, len(arguments))
        results = []
        try:
            work = Parallel(n_jobs=self.jobs, return_as="generator")(delayed(function)(*a) for a in arguments)
            for result in work:
                results.append(result)
                self.progress.advance()
        finally:
            self.progress.end()
        return results
