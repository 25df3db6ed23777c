"""How an experiment is run: its size, seed, data and workers, and who is told how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, delayed


class Told(Protocol):
    """Who is told of every stage and every finished piece of it."""

    def begin(self, stage: str, pieces: int) -> None: ...
    def advance(self) -> None: ...
    def end(self) -> None: ...


class Progress:
    """Told of every stage and every finished piece of it; says nothing."""

    def begin(self, stage: str, pieces: int) -> None:
        """A stage of so many pieces begins."""

    def advance(self) -> None:
        """A piece is done."""

    def end(self) -> None:
        """The stage is over."""


@dataclass(frozen=True)
class Run:
    """One run of a paper's experiments.

    Attributes
    ----------
    seed : int
        All that is random follows from it.
    quick : bool
        A reduced size.
    data : Path, optional
        Folder of the data sets; experiments that need one that is not there are left out, and the report says so.
    jobs : int
        Processes.
    axes : tuple of (float, ...)
        cw2008: standard deviations of its points, along, across and perhaps of the noise; empty: the two of the report.
    progress : Told
    """

    seed: int = 0
    quick: bool = False
    data: Path | None = None
    jobs: int = 1
    axes: tuple[tuple[float, ...], ...] = ()
    progress: Told = field(default_factory=Progress, compare=False)

    def size(self, full: int, quick: int) -> int:
        """One of two sizes."""
        return quick if self.quick else full

    def has(self, *names: str) -> bool:
        """Whether data sets (folders of ``data``) are there."""
        return self.data is not None and all((self.data / name).is_dir() for name in names)

    def each(self, stage: str, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """``function(*a)`` for all arguments, in their order, in so many processes as there are jobs."""
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
