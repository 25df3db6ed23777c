"""Training a model of entities on files, on a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from distributed import Client

from ..data.sources.source import is_uri
from ..entities import EntityModels
from ..rounds.cells import Piece
from ..rounds.entities import begin, check_entities, finished
from ..rounds.rounds import Rounds
from .cluster import connected
from .engine import DaskEngine
from .sources import Files
from .training import result_of


def fit_entities(
    model: EntityModels, paths: Sequence[str], *, client: Client | str | None = None, workers: int | None = None,
    rounds: int = 1, **options: Any,
) -> EntityModels:  # fmt: skip
    """Return a model that was trained on several files, each read by one task.

    In every round some of the files are dealt out, each task trains a copy of the model on its file, and the results
    are merged in a tree: shared models as in :func:`fit`, entities as :func:`confidently.entities.merge_entities` does.
    An entity that has its rows in one file of a round is that of its task, so divide rows by key.

    Parameters
    ----------
    model : EntityModels
        With ``key``. It is not changed; a fitted one is continued.
    paths : sequence of str
        Files, at the same paths on all workers.
    client, workers
        As for :func:`fit`.
    rounds : int
        At most the number of files.
    options
        Of a model that is not fitted, as for :meth:`confidently.entities.EntityModels.fit_stream`.

    Raises
    ------
    ValueError, TypeError
        If ``rounds`` is out of range, or the model cannot be trained on a cluster.
    confidently.data.DataError, OSError
        For invalid data.
    """
    check_entities(model)
    if not 1 <= rounds <= len(paths):
        raise ValueError(f"fit_entities: rounds: expected 1 to {len(paths)}, the number of files, got {rounds}")
    on_error, classes = options.pop("on_error", "stop"), options.pop("classes", None)
    files = [path if is_uri(path) else os.path.abspath(path) for path in map(os.fspath, paths)]
    with connected(client, workers) as used:
        base, job = result_of(used.submit(begin, model, files, options, on_error, classes, pure=False))
        grid = [[[Piece(unit, 0, 1)] for unit in range(k, len(files), rounds)] for k in range(rounds)]
        max_skipped = on_error if isinstance(on_error, int) else float("inf")
        engine = DaskEngine(used, Files(used, files, [1] * len(files)))
        training = Rounds(engine, base, grid, job, max_skipped=max_skipped)
        for _ in training:
            pass
    return finished(model, training.model)
