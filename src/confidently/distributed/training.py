"""Training on files in rounds, from an initial model: for estimators and the command line."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from distributed import Client, Future

from ..data import DataWarning, ReaderOptions
from ..data.sources.source import display_name, is_uri
from ..models.model import Model
from ..rounds.first_values import rows_to_begin
from ..rounds.preparation import DEFAULT_ROUNDS, grid_of, skipping
from ..rounds.rounds import Rounds
from ..rounds.survey import Survey, survey
from ..rounds.tasks import Failure, Job, choose_by_files
from .engine import DaskEngine
from .sources import Files


def surveyed(
    client: Client,
    paths: Sequence[str | os.PathLike[str]],
    reading: ReaderOptions | None = None,
    multilabel: bool | None = None,
    on_error: str | int = "stop",
    seen_by_default: bool = False,
    **how: Any,
) -> Survey:
    """Have a worker inspect files; the keywords are those of :func:`confidently.data.open_stream`.

    With ``seen_by_default`` their rows choose a view.

    Raises
    ------
    confidently.data.DataError, OSError, ValueError
        If they cannot be read.
    """
    names = [os.fspath(path) for path in paths]
    absolute = [name if is_uri(name) or name == "-" else os.path.abspath(name) for name in names]
    options = (reading, how, multilabel, skipping(on_error), seen_by_default)
    found: Survey = result_of(client.submit(survey, absolute, *options, pure=False))
    for text in found.warnings:
        warnings.warn(text, DataWarning, stacklevel=2)
    return found


def training_on_files(
    client: Client, found: Survey, model: Model, partitions: int, *, rounds: int = DEFAULT_ROUNDS, passes: int = 1,
    shuffle: str | None = None, seed: int = 0, on_error: str | int = "stop",
    class_weight: dict[Any, float] | str | None = None, calibrate: bool = True,
) -> Rounds:  # fmt: skip
    """Return the rounds in which a model trains on files; the work is done when they are iterated over.

    Only what depends on the first rows of the files, such as the members of a stack, is decided first, so that all
    partitions have the same.

    Raises
    ------
    confidently.data.DataError, OSError
        If these rows cannot be read.

    Warns
    -----
    confidently.data.DataWarning
        If files that cannot be divided leave work for one partition only.
    """
    grid = grid_of(found.sizes, found.divisible, partitions, rounds, shuffle, seed)
    if partitions > 1 and not all(found.divisible) and max(sum(map(bool, row)) for row in grid) == 1:
        warnings.warn(
            f"one of {partitions} partitions trains at a time, because {display_name(found.files[0])} cannot be "
            f"divided; use {partitions} files or more, or a text file that is not compressed",
            DataWarning,
            stacklevel=2,
        )
    job = Job(found.reading, found.multilabel, skipping(on_error), class_weight, shuffle is not None)
    if model.learner.n_seen == 0 and rows_to_begin(model.learner):
        model = result_of(client.submit(choose_by_files, model, found.files, job, pure=False))
    max_skipped = on_error if isinstance(on_error, int) else float("inf")
    return Rounds(
        DaskEngine(client, Files(client, found.files, found.sizes)),
        model,
        grid,
        job,
        passes=passes,
        calibrate=calibrate,
        seed=seed,
        max_skipped=max_skipped,
    )


def result_of(future: Future) -> Any:
    """Return the result of a task, or raise its error in the data."""
    found = future.result()
    if isinstance(found, Failure):
        raise found.error
    return found
