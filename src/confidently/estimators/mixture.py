"""What estimators of stacks share: their parameters, and their members, which are estimators with one Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from ..covariances.settings import DTYPES
from ..data import ReaderOptions
from ..data.formats.files import Path
from ..learner.learner import Learner
from ..learner.recipe import automatic_covariance
from ..learner.tables import unscaled
from ..models.model import Model
from ..rules.ranges import check_choice
from ..stack.number_stack import NumberStack
from ..stack.plan import Plan, plan
from ..stack.stack import Stack
from ..views.table import AUTO
from ..views.view import View
from .estimator import OnlineEstimator
from .fitted import estimator_of
from .gaussian import GaussianEstimator
from .groups import check_same_groups
from .parameters import check_training, chooses_view, saved_training

AnyStack = TypeVar("AnyStack", bound=Stack | NumberStack)

OF_DATA = ("n_features_in_", "feature_names_in_", "features_", "source_", "_class_order", "_one_dimensional")


class MixtureEstimator(OnlineEstimator[AnyStack]):
    """Base of the estimators of stacks.

    Attributes
    ----------
    learner_ : Stack or NumberStack
    """

    _member_kind: ClassVar[type[GaussianEstimator]]

    calibration = "progressive"
    members: str | Sequence[Any]

    def _check_parameters(self, partial: bool) -> None:
        check_choice("dtype", self.dtype, DTYPES)
        check_choice("trees", self.trees, (True, False))
        check_training(self, partial)
        if not isinstance(self.members, str) or self.members != AUTO:
            self._check_members(self.members)

    def _check_members(self, members: Any) -> None:
        """Raise an error unless these may be the members of a stack, which takes estimators of one kind."""
        name = self._member_kind.__name__
        if isinstance(members, str) or not isinstance(members, Sequence):
            raise TypeError(f'members: expected "auto" or a list of {name}s, got {members!r}')
        if not members:
            raise ValueError(f'members: expected "auto" or at least one {name}, got an empty list')
        for member in members:
            if not isinstance(member, self._member_kind):
                raise TypeError(f"members: expected {name}s, got {type(member).__name__}")
            member._check_parameters(partial=False)

    def _saved_parameters(self) -> dict[str, Any]:
        saved = saved_training(self) | ({"members": AUTO} if isinstance(self.members, str) else {})
        return saved if self.trees else saved | {"trees": False}

    @property
    def _is_seen_by_default(self) -> bool:
        return not isinstance(self.members, str) and any(map(chooses_view, self.members))

    def _scaled(self, files: Sequence[Path], reading: ReaderOptions) -> ReaderOptions:
        return unscaled(reading)

    def _new_stack(self, multilabel: bool, **options: Any) -> AnyStack:
        """Return a stack whose members the first rows will choose."""
        raise NotImplementedError

    def _stack_of(self, plans: list[Plan], multilabel: bool, **options: Any) -> AnyStack:
        """Return a stack of members."""
        raise NotImplementedError

    def _new_learner(
        self, n_features: int, n_outputs: int, multilabel: bool = False, default: View | None = None,
        n_columns: int | None = None,
    ) -> AnyStack:  # fmt: skip
        options: dict[str, Any] = {
            "n_classes": n_outputs, "n_features": n_features, "columns": self._columns(n_features), "dtype": self.dtype,
        }  # fmt: skip
        if not isinstance(self.members, str):
            seen = n_features if n_columns is None else n_columns
            plans = [self._plan(k, member, default, seen, multilabel) for k, member in enumerate(self.members, 1)]
            return self._stack_of(plans, multilabel, **options)
        return self._new_stack(multilabel, **options)

    def _plan(
        self, number: int, member: GaussianEstimator, default: View | None, n_columns: int, multilabel: bool
    ) -> Plan:
        """Return how to make a member, whose state has the type of the whole."""
        recipe = member._recipe(default, self.dtype)
        if recipe.is_undecided:
            recipe = replace(recipe, covariance=automatic_covariance(n_columns))
        names = "rows" if recipe.view is None else ",".join(part.name for part in recipe.view.views)
        return plan(recipe, f"{number}. {recipe.rule.name} on {names}", multilabel)

    def _follow_parameters(self) -> None:
        check_same_groups(self.learner_.groups, self.coverage_by)
        if self.dtype != self.learner_.dtype:
            raise ValueError(
                f"dtype cannot change after training has begun, from {self.learner_.dtype} to {self.dtype}; call fit "
                "to train from scratch, or restore it"
            )

    @property
    def members_(self) -> dict[str, Any]:
        stack = self._fitted
        return {
            name: self._as_estimator(member, multiclass) if isinstance(member, Learner) else member
            for name, member, multiclass in zip(stack.names, stack.members, stack.multiclass, strict=True)
        }

    def _as_estimator(self, member: Learner, multiclass: str | None) -> GaussianEstimator:
        """Return a member as an estimator of its own, with what the stack knows about rows and their labels."""
        model = Model(member, [], None, {"multiclass": multiclass, "calibration": "progressive"})
        estimator, learner = estimator_of(model), copy(member)
        learner.state = {name: array.copy() for name, array in member.state.items()}
        estimator.learner_ = learner
        estimator.encoder = self.encoder
        known = vars(self)
        for name in OF_DATA:
            if name in known:
                setattr(estimator, name, known[name])
        return estimator
