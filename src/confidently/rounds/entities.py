"""Models of entities in rounds: the entities that a cell has rows of are merged and sent, besides the shared model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..data import DataError, DataWarning, ReaderOptions
from ..data.formats.files import Path
from ..data.sources.file_range import FileRange
from ..entities import EntityModels
from ..entities.hierarchy import recentered
from ..entities.inputs import MULTILABEL
from ..entities.merging import EntityPart, check_view, merged_entities
from ..entities.streams import learn_stream
from ..entities.table import EntityTable, picked
from ..estimators.streams import open_to_learn
from ..models.model import Model
from .change import Change, advanced, change_of, merge_changes, model_bytes
from .first_values import rows_to_begin
from .preparation import check_estimator, initial_model, skipping, take_trained
from .survey import first_rows
from .tasks import Counts, Failure, Job, Learned, Seed, choose_by_files, copied, opened

OF_ENTITIES = "rows", "last", "size", "features", "cells", "sums"  # arrays of a table with some numbers per entity
NO_CLASS_WEIGHT = "class_weight: models of entities on files have no weights of classes; use weights of rows"


class EntityChange(NamedTuple):
    """What a model of entities has learned since its base.

    Attributes
    ----------
    shared : Change
        Of the shared model.
    table : EntityTable
        The entities that had rows since; its features are columns of the base and then those of ``shared.new``.
    rows : int
        Rows so far, those of the base included.
    """

    shared: Change
    table: EntityTable
    rows: int

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, which are nearly all that is sent."""
        return self.shared.nbytes + int(self.table.core.bytes)


@dataclass(frozen=True)
class EntityJob(Job):
    """How every cell is read and trained on; models are :class:`EntityPart`.

    Attributes
    ----------
    key : str
        The column of keys.
    calibration : str, optional
        That of the shared model.
    """

    key: str = ""
    calibration: str | None = None

    def learn(self, base: EntityPart, paths: Sequence[Path | FileRange], calibrate: bool, seed: Seed) -> Any:
        began, learning, table = time.monotonic(), copied(base.shared, self.reading), base.table.copied()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # as in learn_files
                with opened(paths, base.shared, learning, self, keep=(self.key,)) as stream:
                    rows = learn_stream(table, learning, stream, self.calibration, base.rows, self.key)
        except (DataError, OSError, ValueError, TypeError) as error:
            return Failure(error)
        model = Model(
            learning.learner, learning.classes.names, learning.features, base.shared.estimator, base.shared.source
        )
        since = np.flatnonzero(table.core.last >= base.rows)
        change = EntityChange(change_of(base.shared, model), table.part(since), base.rows + rows)
        lost = 0.0 if table.regression else float(table.losses[1] - base.table.losses[1])
        return Learned(
            change, rows, lost, change.nbytes, time.monotonic() - began, stream.skipped, stream.skipped_examples
        )

    def merged(self, base: EntityPart, changes: Sequence[EntityChange]) -> EntityChange:
        known = {key for change in changes for key in change.table.slots}
        touched = np.array([k for key, k in base.table.slots.items() if key in known], dtype=np.intp)
        parts = [EntityPart(base.shared, base.table.part(touched), base.rows)]
        parts += [EntityPart(advanced(base.shared, one.shared), one.table, one.rows) for one in changes]
        shared = merge_changes(base.shared, [change.shared for change in changes])
        return EntityChange(shared, *merged_entities(parts, 1, base.table.empty()))

    def advanced(self, base: EntityPart, change: EntityChange) -> EntityPart:
        return EntityPart(advanced(base.shared, change.shared), _joined(base.table, change), change.rows)

    def counts(self, model: EntityPart) -> Counts:
        table = model.table
        mistakes = 0 if table.regression else round(table.losses[2])
        n_bytes = model_bytes(model.shared) + int(table.core.bytes)
        return Counts(model.rows, mistakes, model.shared.learner.updates, n_bytes)

    def race(self, model: EntityPart, before: int) -> None:
        """Do nothing: the shared model is no stack."""


def check_entities(model: Any) -> None:
    """Raise ``ValueError`` or ``TypeError`` unless a model of entities can train in rounds."""
    if not isinstance(model, EntityModels):
        raise TypeError(f"expected EntityModels, got {type(model).__name__}")
    if model.key is None:
        raise ValueError("there are no keys; name their column, as in EntityModels(key='user')")
    model._check_parameters()
    check_estimator(model._template)
    if model._template.class_weight is not None:
        raise ValueError(NO_CLASS_WEIGHT)


def begin(
    model: EntityModels, data: Any, how: dict[str, Any], on_error: str | int = "stop", classes: Any = None
) -> tuple[EntityPart, EntityJob] | Failure:
    """Return the base of the first round, and the job; an error in the data is returned, too.

    Parameters
    ----------
    model : EntityModels
        Checked by :func:`check_entities`; one that is fitted continues, and its options of reading apply.
    data
        Files or rows in memory; the first of them choose what is to be chosen.
    how : dict
        Options of :func:`confidently.data.open_stream`.
    """
    shared, key = clone(model._template), str(model.key)
    options: dict[str, Any] = {"on_error": skipping(on_error), "key": key, "calibration": shared.calibration}
    try:
        if "shared_" in vars(model):
            check_view(model.shared_.as_model())
            base = EntityPart(model.shared_.as_model(), model._table, model.n_seen_)
            return base, EntityJob(ReaderOptions.from_dict(base.shared.source), **options)
        drop = how.get("drop", how["reading"].drop if "reading" in how else ())
        drop = tuple(dict.fromkeys((*((drop,) if isinstance(drop, str) else drop), key)))
        given = {"targets": shared.predicts_numbers, "keep": (key,), **how, "drop": drop}
        with open_to_learn(data, shared.dtype, shared._scaled, on_error=skipping(on_error), **given) as stream:
            reading, files = stream.reading, stream.files
        targets = {"targets": True} if shared.predicts_numbers else {}
        seen = shared._is_seen_by_default
        found = first_rows(files, reading, targets, how.get("multilabel"), skipping(on_error), seen)
        if found.multilabel:
            raise ValueError(MULTILABEL)
        start, job = initial_model(shared, found, classes), EntityJob(found.reading, **options)
        if rows_to_begin(start.learner):
            start = choose_by_files(start, files, job)
            if isinstance(start, Failure):
                return start
        check_view(start)
        return EntityPart(start, model._new_table(), 0), job
    except (DataError, OSError, ValueError) as error:
        return Failure(error)


def finished(model: EntityModels, trained: EntityPart) -> EntityModels:
    """Return a fitted model with the parameters of another one."""
    shared = clone(model._template)
    take_trained(shared, trained.shared)
    whole: EntityModels = clone(model)
    return whole._take(shared, trained.table, trained.rows)


def _joined(base: EntityTable, change: EntityChange) -> EntityTable:
    """Return all entities, in the order of the base: those of a change, and the others as in the base."""
    found, after = base.copied(), change.table
    found.grow(after.outputs)
    if not after.exact:
        found.lose_exactness()
    before, own, n = found.state(), after.state(), len(base)
    if after.exact:
        before = recentered(before, own)
    keys = [*base.slots, *(key for key in after.slots if key not in base.slots)]
    numbers = [n + after.slots[key] if key in after.slots else base.slots[key] for key in keys]
    both = {name: np.concatenate([before[name], own[name]]) for name in OF_ENTITIES if name in own}
    found.restore(keys, picked(own | {"swept": before["swept"]} | both, np.array(numbers, dtype=np.intp)))
    found.settle(change.rows)
    return found
