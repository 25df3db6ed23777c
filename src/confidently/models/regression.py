"""Models that predict numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..covariances.state import State
from ..data.classes import ClassTable
from ..data.sources.json_schema import Count, conform
from ..learner.learner import Learner
from ..learner.recipe import one_output
from ..stack.number_stack import NumberStack
from ..views.center import Center
from . import file
from .model import Model, learner_of, stack_of


@dataclass
class SavedRegressor:
    """The parameters of a regressor that are not its learner's, and whether its targets had one dimension."""

    covariance: str | None = None
    calibration: Literal["progressive"] | None = None
    passes: Count = 1
    shuffle: bool | Literal["auto"] = False
    random_state: Count | None = None
    one_dimensional: bool = True
    members: Literal["auto"] | None = None


@dataclass
class RegressionModel(Model):
    """A regression: its learner, and the names of its features; its classes are the numbers of its outputs."""

    kind: ClassVar[str] = "regression"

    learner: Any

    @property
    def multiclass(self) -> str | None:
        """There are no classes."""
        return None

    def class_table(self) -> ClassTable:
        return one_output()

    def header(self) -> dict[str, Any]:
        return {"kind": self.kind, **super().header()}

    @staticmethod
    def unpacked(header: file.Header, arrays: State) -> Learner | NumberStack:  # type: ignore[override]
        """Return the learner of a header and packed arrays; an error if they do not fit."""
        conform(header.estimator, SavedRegressor, "estimator")
        if header.members:
            return stack_of(header, arrays, NumberStack, regression=True)
        learner = learner_of(vars(header), arrays, regression=True)
        if learner.task.centered and not centers(learner):
            raise ValueError("the task 'centered-regression' without the view 'center'")
        return learner


def centers(learner: Learner) -> bool:
    """Return whether a learner sees centered rows."""
    return learner.view is not None and any(isinstance(one, Center) for one in learner.view.views)
