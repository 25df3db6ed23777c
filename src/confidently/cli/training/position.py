"""The position of a training: all that is needed, with the model, to resume it exactly."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from ...data.sources.json_schema import Count
from ...learner.posterior import Posterior
from ...wording import counted
from ..output.counts import Counts

if TYPE_CHECKING:
    from ...learner.learner import Learner
    from ...topics.learner import TopicLearner


_Measured = TypedDict("_Measured", {"pass": Count, "rows": Count})  # the keyword "pass" cannot be an attribute


class Validation(_Measured, total=False):
    """The task's measures after a pass, and whether the model was the best so far."""

    error: float
    log_loss: float
    rmse: float
    mae: float
    best: bool


@dataclass
class Position:
    """Completed passes, counts of the current pass, and validations so far.

    Attributes
    ----------
    passes : int
        Completed passes.
    now : Counts
        Of the current pass.
    began : (int, int, int)
        The learner's rows, mistakes and updates at the beginning of the pass.
    first : Counts, optional
        Of the first pass, when it is complete.
    best : Validation, optional
        The validation of the best model so far, and the pass before it.
    last : Validation, optional
        The last validation.
    waited : int
        Passes since the best model.
    seconds : float
        Spent so far by all runs together.
    """

    passes: Count = 0
    now: Counts = field(default_factory=Counts)
    began: tuple[Count, Count, Count] = (0, 0, 0)
    first: Counts | None = None
    best: Validation | None = None
    last: Validation | None = None
    waited: Count = 0
    seconds: float = 0.0

    def begin_pass(self, learner: Learner) -> None:
        """Begin a pass: reset its counts."""
        self.now, self.began = Counts(), counts_of(learner)

    def end_pass(self) -> None:
        """Complete a pass."""
        self.first = self.first or self.now
        self.passes += 1

    def as_dict(self) -> dict[str, Any]:
        """Return the position as JSON can hold it."""
        return asdict(self)

    def check(self, learner: Learner | TopicLearner, passes: int) -> None:
        """Raise ``ValueError`` unless a checkpoint's learner and number of passes can be at this position."""
        if self.passes > passes:
            raise ValueError(f"{counted(self.passes, 'pass', 'passes')} of {passes} are completed")
        for validation in (self.best, self.last):
            if validation is not None and not validation.keys() >= {*learner.task.measures}:
                raise ValueError(f"a validation has no {' and '.join(learner.task.measures)}")
        if not self.now.rows or not isinstance(learner, Posterior):
            return
        done = self.now.learned, self.now.mistakes, self.now.updates
        expected = tuple(now - began for now, began in zip(counts_of(learner), self.began, strict=True))
        if done != expected or self.now.learned > self.now.rows:
            raise ValueError(f"learned rows, mistakes and updates of the pass are {done}, expected {expected}")


def counts_of(learner: Posterior) -> tuple[int, int, int]:
    """Return the rows, mistakes and updates of a learner."""
    return learner.n_seen, learner.mistakes, learner.updates
