"""What all estimators that learn dicts share: one Gaussian or a stack, and files."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from river import base

from ...covariances.names import RANK
from ...covariances.settings import DTYPES
from ...learner.dict_frames import FrameRows
from ...learner.dicts import DictRows
from ...models.model import Model
from ...models.moved_columns import alarm_columns, moved_columns
from ...rules.ranges import check_choice
from ...rules.rule import Rule
from ...similar import hinting
from ...stack.dict_rows import StackRows
from ...views.view import View

if TYPE_CHECKING:
    import pandas as pd


class OnDicts(base.Base):
    """Base of the estimators of one class or number per row."""

    _rows: FrameRows

    # --- several rows ----------------------------------------------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Train on the rows of a data frame in their order; the result is that of ``learn_one`` on each."""
        self._rows.learn_frame(X, y)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the class, or the expected number, of each row; of classes an empty series before training."""
        return self._rows.predict_frame(X)

    # --- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which :func:`confidently.load` reads.

        Its features are those seen, in the order of their appearance (``feature_names_in_``).

        Raises
        ------
        ValueError
            If names were hashed or fewer than two classes were seen.
        """
        rows, names = self._rows, self._output_names()
        rows.grow_features()
        Model(rows.learner, names, rows.features(), self._estimator()).save(path)

    def _output_names(self) -> list[Any]:
        """Return the names of the classes, or the number of the output."""
        return list(self._rows.table.names)

    def _estimator(self) -> dict[str, Any]:
        """Return the settings that a model file keeps besides the learner's."""
        raise NotImplementedError


class ConformalOnDicts(base.Base):
    """What all estimators say of a row from the predictions that training made before it used the labels."""

    _rows: DictRows

    def novelty_one(self, x: Mapping[Hashable, Any]) -> float:
        """Return a p-value that is small for a row unlike all before; 1 before the first row.

        See :meth:`confidently.OnlineClassifier.novelty`.

        Raises
        ------
        ValueError, TypeError
            For an invalid row; with ``calibration=None``.
        """
        return self._rows.novelty(x)

    @property
    def alarms_(self) -> int:
        """How often the errors said that the order of the rows matters (drift alarms)."""
        learner = self._rows.learner
        return learner.conformal.alarms if learner.n_seen else 0

    @property
    def rows_since_alarm_(self) -> int:
        """Rows since the last drift alarm, or since the first row."""
        learner = self._rows.learner
        return learner.conformal.rows_since_alarm if learner.n_seen else 0


class GaussianOnDicts(ConformalOnDicts):
    """Base of the estimators with one Gaussian: their parameters."""

    _rows: DictRows

    @hinting
    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        multiclass: str | None = None,
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        forget: float = 0.0,
        projection: str | None = None,
        rank: int = RANK,
        view: str | View | Sequence[str | View] | None = None,
        hash_bits: int | None = None,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.average = average
        self.min_variance = min_variance
        self.dtype = dtype
        self.calibration = calibration
        self.forget = forget
        self.projection = projection
        self.rank = rank
        self.view = view
        self.hash_bits = hash_bits
        self._rows = self._new_rows()

    def _new_rows(self) -> DictRows:
        """Return what trains on dicts with these parameters."""
        raise NotImplementedError


class WeightsByName(GaussianOnDicts):
    """Base of the estimators with one Gaussian per class, or one for numbers: their weights."""

    @property
    def weights(self) -> dict[Any, float]:
        """Mean of every feature's weight by name; with more than two classes ``{class: {name: ...}}``.

        With two classes, positive weights favor the one that is sorted last.
        """
        return self._rows.weights("mean")

    @property
    def variances(self) -> dict[Any, float]:
        """Variance of every one of ``weights``, of numbers in the units of the rule."""
        return self._rows.weights("variance")


class StackOnDicts(ConformalOnDicts):
    """Base of the estimators of stacks: their parameter and their members."""

    _rows: StackRows
    _kind: ClassVar[type[StackRows]]

    @hinting
    def __init__(self, dtype: str = "float64", trees: bool = True) -> None:
        self.dtype, self.trees = dtype, trees
        check_choice("dtype", dtype, DTYPES)
        check_choice("trees", trees, (True, False))
        self._rows = self._new_rows()

    def _new_rows(self) -> StackRows:
        return self._kind(self.dtype, trees=self.trees)

    @property
    def members(self) -> dict[str, float]:
        """The weights of the members, by name; of label sets, their means over the labels."""
        stack = self._rows.learner
        return dict(zip(stack.names, stack.member_weights.tolist(), strict=True)) if stack.names else {}

    @property
    def moves_(self) -> list[int]:
        """The rows at which the mixture moved to shorter memories and back in turn; none of regressions."""
        moves = self._rows.learner.moves
        return list(moves.rows) if moves is not None else []

    @property
    def moved_columns_(self) -> dict[str | int, int] | None:
        """The row at which each column moved last; None where columns are not compared."""
        return moved_columns(self._model()) if self._rows.learner.n_seen else None

    @property
    def alarm_columns_(self) -> list[str | int] | None:
        """The columns that moved near the last drift alarm; None if there was none, or where that is not known."""
        return alarm_columns(self._model()) if self._rows.learner.n_seen else None

    def _model(self) -> Model:
        return Model(self._rows.learner, list(self._rows.table.names), self._rows.features())

    def _estimator(self) -> dict[str, Any]:
        return {"members": "auto"} if self.trees else {"members": "auto", "trees": False}
