"""The interface of tasks to covariances, the learner, models, and whatever shows predictions.

A task says what is predicted of a row: how many columns of weights that takes, how their scores become a prediction
and its probabilities, what calibrates these, and what it is called. It is stateless, and there is one object of each:
what was learned is in the state, of which every method takes what it needs. Each is one file of this folder and one
row of :data:`confidently.tasks.table.TASKS`; the rest of the package never compares names of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from .. import _core
from ..arrays import predicted_numbers
from ..rules import REGRESSION_RULES, RULES
from ..rules.ranges import Range
from ..rules.rule import Rule
from . import calibration as progressive
from . import conformal
from .conformal import ConformalSets
from .grouped import GroupedSets
from .groups import Groups
from .intervals import ConformalIntervals
from .targets import Prediction, Targets

Noise = Sequence[tuple[float, float]]
Values = Iterator[tuple[str, np.ndarray, Range]]


class Task:
    """Base of all tasks.

    Attributes
    ----------
    name : str
        In settings and model files.
    noun, nouns : str
        What is predicted, and several of them.
    multiclass : str or None
        The value of the parameter ``multiclass`` that chooses this task.
    moderates : bool
        Whether scores shrink where they are uncertain before they become probabilities.
    likely_by_scores : bool
        Whether the rule's likelihood depends on scores alone, without their variances.
    binary : bool
        Whether one of two classes is chosen, by the sign of one score.
    several : bool
        Whether one of three or more classes is chosen.
    multilabel : bool
        Whether a row has any number of labels.
    regression : bool
        Whether numbers are predicted; the outputs are then the numbers of a row.
    has_threshold : bool
        Whether the first column of weights is a threshold, which relevant labels score above.
    separate : bool
        Whether every output is learned by itself, so that no covariance can be shared.
    own_gaussians : bool
        Whether every output has a Gaussian of its own, unless a covariance is shared.
    has_offset : bool
        Whether numbers are predicted less their mean, or its logarithm.
    centered : bool
        Whether rows are less their mean as well.
    least_outputs : int
        The number of outputs that a learner has at least.
    classes_before_change : int
        After so many classes another one changes what the learner is; -1: it never does.
    updates_per_row : int
        The number of updates of one Gaussian by a row, at most.
    unsupported : dict
        What a learner of this task cannot do, with the reason; the names are those of a covariance's capabilities.
    compiled_rows : bool
        Whether the core predicts single rows, whose columns of weights are then the classes or labels.
    reading : dict
        How streams are opened whose rows have what is predicted, as :func:`confidently.data.open_stream` takes it.
    measures : tuple of str
        What is measured of predictions before and without training on their rows, by name.
    decisive : str
        The measure by which a validation chooses a model.
    share_of_two : float
        The factor of weights and covariance that each of the first two classes gets of a learner of two classes.
    """

    name: ClassVar[str]
    only: ClassVar[Any]
    noun: ClassVar[str] = "class"
    nouns: ClassVar[str] = "classes"
    multiclass: ClassVar[str | None] = None
    moderates: ClassVar[bool] = True
    likely_by_scores: ClassVar[bool] = False
    binary: ClassVar[bool] = False
    several: ClassVar[bool] = False
    multilabel: ClassVar[bool] = False
    regression: ClassVar[bool] = False
    has_threshold: ClassVar[bool] = False
    separate: ClassVar[bool] = False
    own_gaussians: ClassVar[bool] = False
    has_offset: ClassVar[bool] = False
    centered: ClassVar[bool] = False
    least_outputs: ClassVar[int] = 0
    classes_before_change: ClassVar[int] = -1
    updates_per_row: ClassVar[int] = 1
    unsupported: ClassVar[Mapping[str, str]] = {}
    compiled_rows: ClassVar[bool] = True
    reading: ClassVar[Mapping[str, bool]] = {"multilabel": False}
    measures: ClassVar[tuple[str, ...]] = ("error", "log_loss")
    decisive: ClassVar[str] = "log_loss"
    share_of_two: ClassVar[float] = 0.5

    def __new__(cls) -> Self:
        """Return the one object of the class, so that tasks may be compared by identity."""
        if "only" not in vars(cls):
            cls.only = super().__new__(cls)
        return vars(cls)["only"]

    def __eq__(self, other: object) -> bool:
        """Compare by identity; with a name, which would be unequal without a word, raise ``TypeError``."""
        if isinstance(other, str):
            raise TypeError(f"a task is an object and never equals a name, got {other!r}; compare its name")
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[type[Task], tuple[()]]:
        return type(self), ()

    @property
    def one_class(self) -> bool:
        """Whether a row has one of two or more classes."""
        return self.binary or self.several

    @property
    def compiled(self) -> _core.Task:
        """The task in the compiled core."""
        return getattr(_core.Task, self.name.replace("-", "_"))

    def check_rule(self, rule: Rule) -> None:
        """Raise ``ValueError`` unless a rule can have this task."""
        if rule.predicts_numbers != self.regression:
            raise ValueError(
                f"the rule {rule.name!r} predicts {'numbers' if rule.predicts_numbers else 'classes'}; "
                f"expected one of {', '.join(REGRESSION_RULES if self.regression else RULES)}"
            )

    def check_outputs(self, n: int) -> None:
        """Raise ``ValueError`` for fewer outputs than a learner needs."""
        if n < self.least_outputs:
            raise ValueError(f"{self.name} needs at least {self.least_outputs} {self.nouns}, got {n}")

    # --- columns of weights -------------------------------------------------------------------------------------------

    def columns(self, n_outputs: int) -> int:
        """Return the number of columns of weights."""
        return n_outputs

    def changed_columns(self, columns: int) -> int:
        """Return the number of columns that a row changes at most."""
        return columns

    def less_threshold(self, columns: np.ndarray, axis: int = -1) -> np.ndarray:
        """Return columns of labels less that of the threshold, if there is one."""
        return columns

    def by_output(self, columns: np.ndarray) -> np.ndarray:
        """Return scores by output from scores by column, on the last axis."""
        return columns

    def variances_by_output(self, columns: np.ndarray) -> np.ndarray:
        """Return the variances of :meth:`by_output` from what covariances compute by column."""
        return columns

    # --- the calibration in the state ---------------------------------------------------------------------------------

    def initial_calibration(self, n_outputs: int) -> tuple[float, ...]:
        """Return the calibration before training."""
        raise NotImplementedError

    def calibration_values(self, calibration: np.ndarray) -> Values:
        """Yield name, numbers and range of the parts of a calibration."""
        raise NotImplementedError

    def upgraded_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        """Return the calibration of a model file of format 5 or before as it is kept now; others as they are."""
        return calibration

    def grown_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        """Return a calibration with those of more outputs, which begin untrained."""
        return calibration

    def placed_calibration(self, own: np.ndarray, outputs: np.ndarray, n_outputs: int) -> np.ndarray:
        """Return the calibration of a learner whose outputs are these among more."""
        return own

    def split_calibration(self, binary: np.ndarray) -> np.ndarray:
        """Return the calibration of a learner of two classes, for the scores of each."""
        raise NotImplementedError

    def merged_calibration(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        """Return the calibration of learners whose training continued from a base: of classes a mean, by evidence."""
        raise NotImplementedError

    def restored_calibration(self, own: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return a calibration after a pass that does not calibrate, given that of before."""
        return before

    def renewed_calibration(self, own: np.ndarray, part: float) -> np.ndarray:
        """Return a calibration of which the evidence counts by so much of what it did."""
        return progressive.renewed(own, part, self.several)

    def calibrated_by(
        self, own: np.ndarray, scores: np.ndarray, labels: np.ndarray, start: np.ndarray | None,
        weight: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return a calibration after scores that were made before their labels were known."""
        found = own.copy()
        _core.calibration_learn(found, scores, labels, weight)
        return found

    def with_slopes(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return a calibration with the lines of another one."""
        return progressive.with_slope(own, other, self.several)

    # --- conformal scores in the state --------------------------------------------------------------------------------

    def initial_conformal(self, n_outputs: int) -> np.ndarray:
        """Return what sets of classes are made of, before training."""
        return conformal.untrained(n_outputs)

    def conformal_values(self, scores: np.ndarray) -> Values:
        """Yield name, numbers and range of the parts of what sets are made of."""
        return conformal.values(scores)

    def conformal(
        self, scores: np.ndarray, groups: Groups | None = None, repeated: bool = False, centered: float = 0.0
    ) -> ConformalSets | ConformalIntervals:
        """Return what a state knows of sets of classes or of intervals.

        ``repeated`` and ``centered`` are those of :class:`confidently.tasks.conformal.ConformalSets`.
        """
        if groups is None:
            return ConformalSets(scores, repeated, centered)
        return GroupedSets(scores, groups, repeated, centered)

    def settled(self, scores: np.ndarray) -> np.ndarray:
        """Return what sets of classes or intervals are made of, with levels that no miss has changed."""
        return conformal.settled(scores)

    def placed_conformal(self, own: np.ndarray, outputs: np.ndarray, n_outputs: int) -> np.ndarray:
        """Return what sets are made of, of a learner whose outputs are these among more, or which gets more."""
        return conformal.placed(own, outputs, n_outputs)

    def merged_conformal(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        """Return what sets are made of, of learners whose training continued from a base."""
        return conformal.merged(parts, base)

    # --- predictions --------------------------------------------------------------------------------------------------

    def names(self, classes: Sequence[Any]) -> list[Any]:
        """Return the names of the outputs from those of the classes seen; ``None``: one that has not been seen."""
        return list(classes)

    def ranked(self, scores: np.ndarray, decided: np.ndarray) -> np.ndarray:
        """Return the numbers of all classes or labels of each row, the most probable first, shape (n, outputs)."""
        return np.argsort(-scores, axis=1, kind="stable")

    def decides_by_probability(self, calibration: np.ndarray) -> bool:
        """Whether decisions need calibrated probabilities; those about three or more classes are the same without."""
        return False

    def least_probability(self, calibration: np.ndarray) -> float:
        """Return the probability above which one of two classes, or a label, is predicted."""
        return 0.5

    def decided(
        self, scores: np.ndarray | None, probabilities: np.ndarray | None, calibration: np.ndarray | None
    ) -> np.ndarray:
        """Return class numbers, (n,), or booleans for labels, (n, labels), by probabilities if given."""
        found = scores if probabilities is None else probabilities
        assert found is not None
        return predicted_numbers(found)

    def probabilities(self, scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
        """Return the probability of every class or label of scores by output, which are moderated."""
        raise NotImplementedError

    def logits(self, scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
        """Return log-odds before the correction, of scores by column, which are moderated."""
        return progressive.lines(scores, calibration)

    def slopes(self, calibration: np.ndarray) -> np.ndarray:
        """Return the factors of scores in :meth:`logits`: one, or one per label."""
        return calibration[:1]

    def likely(self, mean: np.ndarray, variance: Callable[[], np.ndarray], noise: Noise) -> np.ndarray:
        """Return probabilities by the rule's likelihood, or without one those of a classifier drawn from the Gaussian.

        Parameters
        ----------
        mean : array
            Scores by output.
        variance : callable
            Returns their variances.
        noise : sequence of pairs of float
            The weights and variances of the rule's noise (:meth:`confidently.Rule.score_noise`).
        """
        raise NotImplementedError

    def progressive_errors(self, state: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return what a state knows of the errors before training besides its counters: for numbers, sums of errors."""
        return {}

    # --- predictions of numbers ---------------------------------------------------------------------------------------

    def offset(self, rule: Rule, targets: Targets) -> np.ndarray:
        """Return what is added to scores, shape (K,)."""
        raise NotImplementedError

    def prediction(self, rule: Rule, targets: Targets, scores: np.ndarray, variances: np.ndarray) -> Prediction:
        """Return the predictive distributions of rows with these scores and variances, shape (n, K)."""
        raise NotImplementedError
