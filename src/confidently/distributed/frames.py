"""The data passed to ``fit``: Dask's arrays and data frames, and lists of files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from dask import delayed, get
from dask.base import is_dask_collection
from distributed import Client, Future

from ..data.features import Features
from ..data.memory.frames import other_columns
from ..data.memory.labels import plain
from ..learner.tables import view_of_rows
from ..models.model import Model
from ..rounds.first_values import rows_to_begin
from ..rounds.preparation import grid_of
from ..rounds.rounds import Rounds
from ..rounds.tasks import Job, choose_by_rows, count, distinct, head
from .engine import DaskEngine
from .sources import Blocks
from .training import result_of

UNKNOWN_ROWS = 2**20  # assumed for blocks of unknown size


def is_collection(data: Any) -> bool:
    """Return whether data are rows in a Dask collection, not paths."""
    return is_dask_collection(data) and not _is_bag(data)


def _is_bag(data: Any) -> bool:
    return type(data).__name__ == "Bag" and hasattr(data, "compute")


def paths_of(data: Any) -> list[str]:
    """Return the paths in a list or a bag, or the one path.

    Raises
    ------
    TypeError
        If there is anything else.
    """
    found = data.compute(scheduler=get) if _is_bag(data) else data  # computed in this process
    found = [found] if isinstance(found, (str, os.PathLike)) else found
    try:
        return [os.fspath(path) for path in found]
    except TypeError:
        raise TypeError(
            "data must be paths (one, a list or a dask.bag), a dask.array or a dask.dataframe, got "
            f"{type(data).__name__}; train rows in memory without a cluster, or use dask.array.from_array"
        ) from None


class Frames:
    """Rows of an array or a data frame, with their labels.

    Parameters
    ----------
    client : Client
    X, y, weight
        As in :func:`confidently.distributed.fit`.
    estimator : OnlineClassifier, AutoClassifier or OnlineRegressor
    """

    def __init__(self, client: Client, X: Any, y: Any, weight: Any, estimator: Any) -> None:
        self.client, self.estimator = client, estimator
        if isinstance(y, str):
            X, y = X.drop(columns=[y]), X[y]
        if y is None:
            raise ValueError("arrays and data frames need labels; pass y")
        n, shown = other_columns(X)
        if n:
            raise ValueError(
                f"data: no numbers in column{'s' * (n > 1)} {shown}; write the frame to Parquet files, whose columns "
                "may hold anything, and pass their folder"
            )
        self.names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        if self.names is None:
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        self.n_features, self.y = X.shape[1], y
        self.default = view_of_rows(self.n_features, is_sparse=hasattr(getattr(X, "_meta", None), "tocsr"))
        rows, labels = _blocks(X), _blocks(y)
        weights = [None] * len(rows) if weight is None else _blocks(weight)
        if not len(rows) == len(labels) == len(weights):
            raise ValueError(
                f"data, y and sample_weight must have the same blocks of rows, got {len(rows)}, {len(labels)} and "
                f"{len(weights)} blocks; rechunk or repartition them"
            )
        self.labels = labels
        self.blocks = [delayed(_tuple)(*three) for three in zip(rows, labels, weights, strict=True)]
        known = getattr(X, "chunks", [[np.nan]])[0]
        self.sizes = [int(n) for n in known] if not np.isnan(known).any() else [UNKNOWN_ROWS] * len(rows)

    def initial_model(self, classes: Any) -> Model:
        """Return an untrained model; the classes, unless passed, are collected from all blocks of labels."""
        estimator = self.estimator
        if estimator.predicts_numbers:
            estimator._one_dimensional = self.y.ndim == 1
        if estimator.predicts_numbers or self.y.ndim == 2:
            names: list[Any] = list(range(self.y.shape[1] if self.y.ndim == 2 else 1))
        elif classes is None:
            found = self.client.gather(self.client.compute([delayed(distinct)(block) for block in self.labels]))
            names = [plain(name) for name in np.unique(np.concatenate(found))]
        else:
            names = [plain(name) for name in np.unique(classes)]
        if self.names is not None:  # a view may choose columns by name
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        learner = estimator._new_learner(self.n_features, len(names), self.y.ndim == 2, self.default)
        features = None if self.names is None else Features.named(self.names)
        model = Model(learner, names, features, estimator._saved_parameters())
        needed = rows_to_begin(learner)
        return self._begun(model, needed) if needed else model

    def _begun(self, model: Model, needed: int) -> Model:
        """Have a worker decide by the first rows what depends on them, such as the members of a stack."""
        heads, rows = list[Future](), 0
        for block in self.blocks:
            whole = self.client.compute(block)
            heads.append(self.client.submit(head, whole, needed - rows))
            rows += self.client.submit(count, heads[-1]).result()
            if rows >= needed:
                break
        return result_of(self.client.submit(choose_by_rows, model, heads, self.estimator, pure=False))

    def training(
        self, model: Model, partitions: int, rounds: int, shuffle: str | None, seed: int, **options: Any
    ) -> Rounds:
        """Return the rounds in which the model trains on these rows."""
        grid = grid_of(self.sizes, [True] * len(self.sizes), partitions, rounds, shuffle, seed)
        engine = DaskEngine(self.client, Blocks(self.client, self.blocks, self.estimator, self.sizes))
        return Rounds(engine, model, grid, Job(shuffle=shuffle is not None), seed=seed, **options)


def _blocks(collection: Any) -> list[Any]:
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def _tuple(*three: Any) -> tuple[Any, ...]:
    return three
