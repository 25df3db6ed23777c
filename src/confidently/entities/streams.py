"""Training of models of entities on files, in memory that grows with the entities only."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..estimators.gaussian import GaussianEstimator
from ..estimators.streams import batches_of, open_to_learn
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
        stream = open_to_learn(
            data, shared.dtype, shared._scaled, targets=self._regression,
            drop=tuple(dict.fromkeys((*((drop,) if isinstance(drop, str) else drop), self.key))),
            keep=keep, **options,
        )  # fmt: skip
        table, rows = self._new_table(), 0
        with batches_of(stream, progress) as batches:
            names = shared._table_of(stream.targets, stream.multilabel, classes)
            if stream.multilabel:
                raise ValueError(MULTILABEL)
            learning, batches = shared._stream_learner(stream, names, batches)
            for block in blocks_of_stream(learning, batches, shared.calibration, 0, self.key):
                table.grow(outputs_of(learning.learner))
                table.learn_block(block, block.kept, 0)
                rows = block.rows.stop
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
        shared, table, before, rows = self.shared_, self._table.copied(), self._rows, 0
        keep = self._kept(options)
        with shared._open(paths, **shared._label_options(), keep=keep, **options) as stream:
            learning = shared._continued(shared.as_model().class_table(), stream.reading)
            with batches_of(stream, progress) as batches:
                for block in blocks_of_stream(learning, batches, shared.calibration, before, self.key):
                    table.check_kind(block.kept)
                    table.grow(outputs_of(learning.learner))
                    table.learn_block(block, block.kept, before)
                    rows = block.rows.stop
        shared._keep(learning, None)
        return self._take(shared, table, before + rows)
