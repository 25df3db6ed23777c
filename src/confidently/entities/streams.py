"""Training of models of entities on files, in memory that grows with the entities only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..data import Batch, DataError
from ..estimators.gaussian import GaussianEstimator
from ..estimators.streams import batches_of, open_to_learn
from ..learner.streams import StreamLearner
from .inputs import MULTILABEL
from .predictor import EntityPredictor
from .shared import blocks_of_stream, outputs_of
from .table import EntityTable


class EntityStreams(EntityPredictor):
    """Base of models of entities: training on streams."""

    # --- what the estimator defines ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise ``ValueError`` or ``TypeError`` for an invalid one."""
        raise NotImplementedError

    def _new_table(self) -> EntityTable:
        """Return a table without entities."""
        raise NotImplementedError

    def _take(self, shared: GaussianEstimator, table: EntityTable, rows: int) -> Self:
        """Keep what was trained on so many rows."""
        raise NotImplementedError

    # --- streams -----------------------------------------------------------------------------------------------------

    def fit_stream(self, data: Any, classes: Any = None, progress: bool = False, **options: Any) -> Self:
        """Train from scratch, in one pass over files, in memory that grows with the entities only.

        Parameters
        ----------
        data : path or list of paths, data frame, or list of dicts
            As for :meth:`confidently.OnlineClassifier.fit_stream`; ``key`` is the column of keys, which are read as
            strings.
        classes, progress, options
            As there.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters or options.
        """
        self._check_parameters()
        keep = self._kept(options)
        drop = options.pop("drop", options["reading"].drop if "reading" in options else ())
        shared = clone(self._template)
        shared._check_parameters(partial=False)
        _check_unweighted(shared)
        stream = open_to_learn(
            data, shared.dtype, shared._scaled, targets=self._regression,
            drop=tuple(dict.fromkeys((*((drop,) if isinstance(drop, str) else drop), self.key))),
            keep=keep, **options,
        )  # fmt: skip
        table = self._new_table()
        with batches_of(stream, progress) as batches:
            names = shared._table_of(stream.targets, stream.multilabel, classes)
            if stream.multilabel:
                raise ValueError(MULTILABEL)
            learning, batches = shared._stream_learner(stream, names, batches)
            rows = learn_stream(table, learning, batches, shared.calibration, 0, self.key)
        shared._keep(learning, stream.reading)
        return self._take(shared, table, rows)

    def partial_fit_stream(self, paths: Any, progress: bool = False, **options: Any) -> Self:
        """Train on more files, which are read as those before.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known.
        progress : bool
            As for :meth:`fit_stream`.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data; the estimator is then unchanged.
        """
        check_is_fitted(self)
        self._check_parameters()
        shared, table, before = self.shared_, self._table.copied(), self._rows
        _check_unweighted(shared)
        keep = self._kept(options)
        with shared._open(paths, **shared._label_options(), keep=keep, **options) as stream:
            learning = shared._continued(shared.as_model().class_table(), stream.reading)
            with batches_of(stream, progress) as batches:
                rows = learn_stream(table, learning, batches, shared.calibration, before, self.key)
        shared._keep(learning, None)
        return self._take(shared, table, before + rows)


def _check_unweighted(shared: GaussianEstimator) -> None:
    if shared.get_params(deep=False).get("class_weight") is not None:
        raise ValueError(
            "class_weight: models of entities learn streams without weights of classes; use class_weight=None for the "
            "shared model, name a column of weights, or pass all rows to fit"
        )


def learn_stream(
    table: EntityTable, learning: StreamLearner, batches: Iterable[Batch], calibration: str | None, before: int,
    key: str | None,
) -> int:  # fmt: skip
    """Train a shared model and entities on the batches of a stream, before which were so many rows; return its rows.

    Raises
    ------
    DataError
        If a row has no key.
    """
    rows = 0
    for block in blocks_of_stream(learning, batches, calibration, before, key):
        if "" in block.kept:
            number = block.rows.start + block.kept.index("") + 1
            raise DataError(
                f"column {key!r}, row {number:,}: the key is missing; drop such rows, or give them a key of their own"
            )
        table.check_kind(block.kept)
        table.grow(outputs_of(learning.learner))
        table.learn_block(block, block.kept, before)
        rows = block.rows.stop
    return rows
