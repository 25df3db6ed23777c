"""How a member of a stack is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ..learner.learner import Learner
from ..learner.recipe import Recipe
from ..tasks.targets import UNBOUNDED
from ..views.columns import Columns
from ..views.trees import Trees
from ..views.view import View
from .generative import Generative

Member = Learner | Generative


class Plan(NamedTuple):
    """How a member of a stack is made.

    Attributes
    ----------
    name : str
        What it is called.
    make : callable
        Returns an untrained member, from the numbers of classes and features and the columns.
    multiclass : str, optional
        What a learner of two classes becomes when a third appears; by default the task of its rule.
    rest : bool
        Whether it learns what the mixture of all members before it leaves of the targets; such members come last.
    log : bool
        Whether it learns the logarithms of the targets; such members come before these.
    recipe : Recipe, optional
        Of a learner, as :func:`plan` takes it.
    multilabel : bool
        Whether it learns label sets.
    of_streams : bool, optional
        Whether it is of rows in the order of a stream, or of rows in random order; by default of both.
    """

    name: str
    make: Callable[[int, int, Columns], Member]
    multiclass: str | None = None
    rest: bool = False
    log: bool = False
    recipe: Recipe | None = None
    multilabel: bool = False
    of_streams: bool | None = None

    @property
    def is_on_trees(self) -> bool:
        """Whether it learns the scores of trees."""
        return self.recipe is not None and sees_trees(self.recipe.view)

    @property
    def forget(self) -> float:
        """The fraction of what it knows that it forgets per row."""
        return 0.0 if self.recipe is None else float(self.recipe.others.get("forget", 0.0))


def sees_trees(view: View | None) -> bool:
    """Return whether a view makes the scores of trees."""
    return view is not None and isinstance(view.views[-1], Trees)


def plan(recipe: Recipe, name: str, multilabel: bool = False, rest: bool = False, log: bool = False) -> Plan:
    """Return how to make a learner, whose task follows from the number of classes, or is that of label sets.

    A stack knows the bounds of targets; its members do not.
    """
    unbounded = replace(recipe, bounds=UNBOUNDED)

    def make(n_classes: int, n_features: int, columns: Columns) -> Member:
        made = unbounded.learner(n_classes, multilabel, n_columns=n_features)
        made.grow(n_features=n_features, columns=columns)  # as in a stream, whose rows say which features are in use
        return made

    return Plan(name, make, recipe.multiclass, rest, log, recipe, multilabel)


Choose = Callable[..., list[Plan]]  # of the first rows, the columns, the number of classes, and perhaps targets
