"""A training in rounds on files, for whoever has a model to begin with: estimators and the command line."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client

from ..data import DataWarning, ReaderOptions
from ..data.sources.source import is_uri
from ..models.model import Model
from .cells import Cell, cells_of
from .rounds import Rounds
from .sources import Files, Survey, survey
from .tasks import Failure, Job

DEFAULT_ROUNDS = 16
SHUFFLE = (None, "within", "between")


def surveyed(
    client: Client,
    paths: Sequence[str | os.PathLike[str]],
    reading: ReaderOptions | None = None,
    multilabel: bool | None = None,
    on_error: str | int = "stop",
    **how: Any,
) -> Survey:
    """What a worker finds where paths lead; the keywords are those of :func:`confidently.data.open_stream`.

    Raises
    ------
    confidently.data.DataError, OSError, ValueError
        If it cannot be read.
    """
    names = [os.fspath(path) for path in paths]
    absolute = [name if is_uri(name) or name == "-" else os.path.abspath(name) for name in names]
    found = client.submit(survey, absolute, reading, how, multilabel, _skip(on_error), pure=False).result()
    if isinstance(found, Failure):
        raise found.error
    assert isinstance(found, Survey)
    for text in found.warnings:
        warnings.warn(text, DataWarning, stacklevel=2)
    return found


def training_on_files(
    client: Client, found: Survey, model: Model, parts: int, *, rounds: int = DEFAULT_ROUNDS, passes: int = 1,
    shuffle: str | None = None, seed: int = 0, on_error: str | int = "stop",
    class_weight: dict[Any, float] | str | None = None, calibrate: bool = True,
) -> Rounds:  # fmt: skip
    """The rounds in which a model learns files; nothing is done before they are iterated over."""
    grid = grid_of(found.sizes, found.divisible, parts, rounds, shuffle, seed)
    job = Job(found.reading, found.multilabel, _skip(on_error), class_weight, shuffle is not None)
    most = on_error if isinstance(on_error, int) else float("inf")
    return Rounds(
        client, model, Files(client, found), grid, job, passes=passes, calibrate=calibrate, seed=seed, most_skipped=most
    )


def grid_of(
    sizes: Sequence[int], divisible: Sequence[bool], parts: int, rounds: int, shuffle: str | None, seed: int
) -> list[list[Cell]]:
    """What each part learns in each round, in order or dealt out at random."""
    deal = np.random.default_rng(seed) if shuffle == "between" else None
    return cells_of(sizes, divisible, parts, rounds, deal)


def _skip(on_error: str | int) -> str:
    """What tasks do, which do not know of each other's rows."""
    return "stop" if on_error == "stop" else "skip"
