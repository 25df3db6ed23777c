"""The recipe of a learner, shared by the command line, the server, the estimators and the members of stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ..covariances.names import AUTO, DIAGONAL
from ..covariances.settings import Settings
from ..covariances.table import kind_of, with_classes
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.reading import ReaderOptions
from ..rules.rule import Rule
from ..tasks.table import NUMBERS, task_of_numbers
from ..tasks.targets import Bounds, initial
from ..views.center import Center
from ..views.columns import Columns
from ..views.view import View
from ..wording import counted
from .learner import Learner
from .streams import StreamLearner

MAX_FULL = 1000  # columns up to which "auto" stores the covariances of all weights
ROWS_TO_CHOOSE = 1000  # first rows of a stream, whose columns decide about "auto"
ROWS_TO_CALIBRATE = 500  # of which several passes can leave out a tenth
FEW_ROWS = 3000  # fewer, of a narrow table, are learned twice by a stack of classes
NARROW = 128  # columns


def one_output() -> ClassTable:
    """Return the classes of a learner that predicts one number per row."""
    return ClassTable([0], multilabel=True, closed=True)


def default_passes(rows: int, columns: int) -> int:
    """Return how many passes a stack of classes makes over so many rows in random order, by default."""
    return 2 if rows < FEW_ROWS and columns <= NARROW else 1


def automatic_covariance(n_columns: int) -> str:
    """Return the covariance that "auto" stands for, for rows with so many columns."""
    return "full" if n_columns <= MAX_FULL else DIAGONAL


@dataclass(frozen=True)
class Recipe:
    """The settings of a learner whose classes or labels are not known yet.

    Attributes
    ----------
    rule : Rule
    covariance : str
        A name, or "auto" for numbers, which the columns decide (:func:`automatic_covariance`).
    multiclass : str, optional
        The task of three or more classes, or of labels; by default that of the rule and the covariance.
    view : View, optional
        What the learner sees of a row.
    fit_intercept : bool
    targets : bool
        Whether rows have numbers instead of classes or labels.
    bounds : tuple of float or None, optional
        The least and the largest number; None: the targets tell whether numbers can be negative.
    others : dict
        The other settings (:class:`confidently.covariances.settings.Settings`), by name.

    Examples
    --------
    >>> from confidently import AROW, Ridge
    >>> str(Recipe(AROW()).learner(3).task), str(Recipe(Ridge(), AUTO, targets=True).learner(1, n_features=4).task)
    ('joint', 'centered-regression')
    """

    rule: Rule
    covariance: str = DIAGONAL
    multiclass: str | None = None
    view: View | None = None
    fit_intercept: bool = True
    targets: bool = False
    bounds: Bounds | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: Rule, view: View | None = None, multiclass: str | None = None, **settings: Any) -> Self:
        """Return the recipe with these settings, by name."""
        own = ("covariance", "fit_intercept", "targets", "bounds")
        named = {name: settings.pop(name) for name in own if name in settings}
        return cls(rule, multiclass=multiclass, view=view, others=settings, **named)

    @property
    def is_undecided(self) -> bool:
        """Whether the columns of the first rows decide about the covariance."""
        return self.covariance == AUTO

    def settings(self, n_outputs: int, multilabel: bool = False, n_columns: int = 0) -> tuple[Settings, View | None]:
        """Return the settings of a learner, and its view.

        With squared loss and a covariance that couples features, rows are centered instead of having a constant
        feature, unless the learner forgets: means of all rows would not follow what moves.

        Parameters
        ----------
        n_outputs : int
            Classes, labels or numbers per row.
        multilabel : bool
            Whether a row has any number of labels.
        n_columns : int
            Columns of the rows, for the covariance "auto".

        Raises
        ------
        TypeError, ValueError
            If the settings do not fit together, or the task.
        """
        rule, name = self.rule, automatic_covariance(n_columns) if self.is_undecided else self.covariance
        if not self.targets:
            chosen = Settings(rule, name, fit_intercept=self.fit_intercept, **self.others)
            return with_classes(chosen, self.multiclass, n_outputs, multilabel), self.view
        NUMBERS.check_rule(rule)
        kind, view = kind_of(name), self.view
        if n_outputs > 1 and kind.keeps_examples:
            raise ValueError(
                f'covariance="{name}" predicts one number per row, got {counted(n_outputs, "column")} of targets; '
                'use "full" or "diag", or one regressor per column'
            )
        if n_outputs > 1 and kind.for_classes is not None:
            kind = kind_of(kind.for_classes)
        own_centers = view is not None and any(isinstance(one, Center) for one in view.views)
        centered = self.fit_intercept and kind.couples_features and not kind.keeps_examples and rule.squared_loss
        centered = centered and (view is None or view.keeps_columns) and not self.others.get("forget")
        if centered and not own_centers:
            from ..views.table import make_view  # imported here to save start-up time

            view = make_view([*(() if view is None else view.views), Center()])
        task = task_of_numbers(self.fit_intercept, centered)
        return Settings(rule, kind.name, task, fit_intercept=self.fit_intercept and not centered, **self.others), view

    def learner(
        self, n_outputs: int, multilabel: bool = False, n_features: int = 0, n_columns: int | None = None,
        columns: Columns | None = None, device: str | None = None,
    ) -> Learner:  # fmt: skip
        """Return an untrained learner, with :meth:`settings` for ``n_columns`` or, by default, ``n_features``."""
        settings, view = self.settings(n_outputs, multilabel, n_features if n_columns is None else n_columns)
        made = Learner(settings, n_outputs, n_features, view=view, columns=columns, device=device)
        if self.targets:
            made.state["calibration"][:] = initial(self.bounds) * n_outputs
        return made

    def stream_learner(
        self, table: ClassTable, features: Features | None = None, reading: ReaderOptions | None = None,
        n_columns: int = 0,
    ) -> StreamLearner:  # fmt: skip
        """Return an untrained learner of a stream.

        Raises
        ------
        ValueError
            Also for a covariance that cannot learn a stream.
        """
        if not self.is_undecided:
            kind_of(self.covariance).require("stream")
        learner = self.learner(len(table), table.multilabel, n_columns=n_columns)
        return StreamLearner(learner, table, self.multiclass, features, reading)
