"""Training a model of entities on files, on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from distributed import Client

from ..data import DataError
from ..entities import EntityModels, merge_entities
from ..rounds.tasks import Failure
from .cluster import connected
from .training import result_of


def fit_entities(
    model: EntityModels, paths: Sequence[str], *, client: Client | str | None = None, workers: int | None = None,
    rounds: int = 1, **options: Any,
) -> EntityModels:  # fmt: skip
    """Return a model that was trained on several files, each read by one task.

    In every round some of the files are dealt out, each task trains a copy of the model on its file, and the results
    are merged (:func:`confidently.entities.merge_entities`). An entity that has its rows in one file of a round is that
    of its task, so divide rows by key.

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
    ValueError
        If ``rounds`` is out of range.
    confidently.data.DataError
        For invalid data.
    """
    if not 1 <= rounds <= len(paths):
        raise ValueError(f"fit_entities: rounds: expected 1 to {len(paths)}, the number of files, got {rounds}")
    with connected(client, workers) as used:
        for k in range(rounds):
            base: Any = used.scatter(model, broadcast=True, hash=False)
            learned = [used.submit(_continued, base, path, options, pure=False) for path in paths[k::rounds]]
            fitted = "shared_" in vars(model)
            model = merge_entities([result_of(future) for future in learned], model if fitted else None)
    return model


def _continued(model: EntityModels, path: str, options: dict[str, Any]) -> EntityModels | Failure:
    """Return a copy of a model that was trained on a file, or the error in it."""
    model = deepcopy(model)
    try:
        return model.partial_fit_stream(path) if "shared_" in vars(model) else model.fit_stream(path, **options)
    except DataError as error:
        return Failure(error)
