"""Training on data frames as on their rows as dicts, and predicting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.memory.matrix import as_matrix
from ..wording import counted
from .dicts import DictRows, python_value

if TYPE_CHECKING:
    import pandas as pd


class FrameRows(DictRows):
    """A learner that trains on dicts and on data frames, whose rows are dicts of their columns."""

    def learn_frame(self, X: pd.DataFrame, y: Sequence[Any]) -> None:
        """Train on the rows of a data frame, one after the other."""
        names = [python_value(name) for name in y]
        if len(names) != len(X):
            raise ValueError(f"X has {counted(len(X), 'row')} and y {counted(len(names), 'class', 'classes')}")
        if any(name is None for name in names):
            raise ValueError("a class cannot be None")
        in_pieces = any(self.table.get(name) is None for name in names)
        with self._alone(), self._undone_on_error(in_pieces=in_pieces):
            self._learn_rows(self._frame(X, training=True), names)

    def _learn_rows(self, rows: Any, names: list[Any]) -> None:
        first_row = {name: row for row, name in reversed(list(enumerate(names))) if self.table.get(name) is None}
        cuts = sorted({0, *first_row.values()})
        try:
            for first, last in zip(cuts, [*cuts[1:], len(names)], strict=True):
                if first < last:
                    self._class(names[first])
                    self.grow_features()
                    labels = np.array([self.table.get(name) for name in names[first:last]], dtype=np.int32)
                    part = as_matrix(rows[first:last], self.learner.dtype)
                    self.learner.learn(part, labels, calibrate=self.calibration is not None)
        finally:
            self._make_room()  # also after an interruption, which may leave new arrays

    def predict_frame(self, X: pd.DataFrame) -> pd.Series:
        """Return the best class of each row."""
        import pandas as pd

        only = self.only_class()
        if only is not None:
            return pd.Series(only * len(X), index=X.index) if only else pd.Series(dtype=object)
        numbers = self._predict_rows(self._frame(X, training=False), "predict", self.calibration)
        return pd.Series([self.table.names[number] for number in numbers.tolist()], index=X.index)

    def frame_probabilities(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of every class, one row per row of the frame."""
        import pandas as pd

        only = self.only_class()
        if only is not None:
            return pd.DataFrame(1.0, index=X.index if only else [], columns=only)
        p = self._predict_rows(self._frame(X, training=False), "probabilities", self.calibration)
        order = self.order()
        names = pd.Index([self.table.names[k] for k in order], dtype=object)
        return pd.DataFrame(p[:, order], index=X.index, columns=names)

    # --- the rows of a frame -----------------------------------------------------------------------------------------

    def _frame(self, X: pd.DataFrame, training: bool) -> Any:
        """Return a data frame's rows as a sparse matrix; for prediction, its last column is for unseen features."""
        from scipy import sparse

        kinds = {getattr(dtype, "kind", "O") for dtype in X.dtypes}
        if self.zeros or not kinds <= set("fiub"):
            rows = [self._record(row, training) for row in X.to_dict("records")]
            start = np.cumsum([0, *(len(values) for values, _ in rows)])
            values, columns = (np.concatenate([row[k] for row in rows] or [np.empty(0)]) for k in (0, 1))
            return sparse.csr_matrix((values, columns, start), shape=(len(X), self.core.size + (not training)))
        values = self._numbers(X)
        columns = self.core.columns([str(name) for name in X.columns], training)
        known = columns >= 0
        selected = np.flatnonzero(known)
        projection = sparse.csr_matrix(
            (np.ones(len(selected)), (selected, columns[selected])), shape=(len(columns), self.core.size)
        )
        rows = values @ projection
        if training:
            return rows
        unknown = values[:, np.flatnonzero(~known)]
        size = np.sqrt(np.asarray(unknown.multiply(unknown).sum(axis=1)).reshape(-1, 1))
        return sparse.hstack([rows, sparse.csr_matrix(size)], format="csr")

    def _record(self, row: dict[Any, Any], training: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return values and columns of a row of a frame with strings, where missing values may be NaN."""
        import pandas as pd

        present = {name: value for name, value in row.items() if not pd.isna(value)}
        return self.core.row(present, training, self.largest)

    def _numbers(self, X: pd.DataFrame) -> Any:
        from scipy import sparse

        if len(X.columns) and all(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes):
            values = X.sparse.to_coo().tocsr().astype(np.float64)
        else:
            values = sparse.csr_matrix(X.to_numpy(dtype=np.float64, na_value=np.nan))
        if (missing := np.isnan(values.data)).any():  # as in a row without them
            values.data[missing] = 0.0
            values.eliminate_zeros()
        if not (np.abs(values.data) <= self.largest).all():
            raise ValueError(
                "the data frame has values that are not finite or too large; replace them, for example by 0"
            )
        return values
