"""What estimators with one Gaussian share: their learner, and how it follows parameters that change."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..covariances.settings import DTYPES, Settings
from ..covariances.table import resolved
from ..data import ReaderOptions
from ..data.formats.files import Path
from ..learner.learner import Learner
from ..learner.recipe import Recipe
from ..learner.tables import unscaled, view_of_files
from ..rules.ranges import check_choice
from ..rules.rule import Rule
from ..views.table import AUTO, make_view
from ..views.view import View
from .estimator import OnlineEstimator
from .groups import check_same_groups
from .parameters import check_average, check_training, check_unchanged, recipe_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..models.linear_form import LinearForm


class GaussianEstimator(OnlineEstimator[Learner]):
    """Base of the estimators with one Gaussian; the parameters of their learner are those of :class:`Settings`."""

    rule: str | Rule
    covariance: str
    average: bool | str
    forget: float
    projection: str | None
    device: str | None
    view: Any

    def _check_parameters(self, partial: bool) -> None:
        check_choice("dtype", self.dtype, DTYPES)
        check_choice("calibration", self.calibration, ("progressive", None))
        check_average(self.average)
        check_training(self, partial)

    def _view(self, default: View | None) -> View | None:
        """Return what the learner sees of a row; ``default`` is what the rows choose."""
        return make_view(self.view)

    def _recipe(self, default: View | None = None, dtype: str | None = None) -> Recipe:
        """Return the recipe of the learner, whose state has its type or ``dtype``."""
        return recipe_of(self, self._view(default), dtype, self.predicts_numbers)

    def _new_learner(
        self, n_features: int, n_outputs: int, multilabel: bool = False, default: View | None = None,
        n_columns: int | None = None,
    ) -> Learner:  # fmt: skip
        columns = self._columns(n_features)
        return self._recipe(default).learner(n_outputs, multilabel, n_features, n_columns, columns, self.device)

    def _scaled(self, files: Sequence[Path], reading: ReaderOptions) -> ReaderOptions:
        view = self._view(None)
        if self._is_seen_by_default or (view is None and self.predicts_numbers):
            return view_of_files(files, reading)[1]
        as_they_are = view is not None and view.takes_values and reading.file_format.columns
        return unscaled(reading) if as_they_are else reading

    def _wanted(self, learner: Learner) -> tuple[Settings, View | None]:
        """Return the settings and the view that a learner with these parameters has, where the rows chose "auto"."""
        recipe = self._recipe(learner.view)
        if recipe.is_undecided:
            recipe = replace(recipe, covariance=learner.settings.covariance)
        if self.average == AUTO:
            recipe = replace(recipe, others={**recipe.others, "average": learner.settings.average})
        return recipe.settings(learner.n_classes, learner.task.multilabel)

    def _follow_parameters(self) -> None:
        """Continue with a rule that was changed after the last call; nothing else can change."""
        learner = self.learner_
        check_same_groups(learner.groups, self.coverage_by)
        settings, view = self._wanted(learner)
        wanted = resolved(settings, learner.n_features)
        if self.projection is None:  # the default of the rule that training began with
            wanted = replace(wanted, projection=learner.settings.projection)
        followed = check_unchanged(learner.settings, wanted, learner.view == view)
        if wanted.rule != learner.settings.rule:
            self.learner_ = copy(learner)
            self.learner_.settings = followed

    def _as_stored(self, numbers: NDArray[np.float64]) -> NDArray[np.floating]:
        """Return numbers, which are computed in double precision, in the type of the state."""
        return numbers.astype(self._fitted.dtype, copy=False)

    @property
    def updates_(self) -> int:
        return self._fitted.updates

    # --- export --------------------------------------------------------------------------------------------------

    def _linear_form(self, centered: bool = False) -> LinearForm:
        from ..models.linear_form import linear_form  # only here, to save start-up time

        check_is_fitted(self)
        return linear_form(self.learner_, self.calibration, vars(self).get("_class_order"), centered)

    def _graph(self, dtype: str) -> ModelProto:
        from ..models.onnx_export import to_onnx  # only here, to save start-up time

        return to_onnx(self.learner_, self._linear_form(), self._feature_names(), dtype)
