"""The position of a training: all that is needed, with the model, to resume it exactly."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from ..output.counts import Counts

if TYPE_CHECKING:
    from ...learner.learner import Learner


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
    best : dict, optional
        The validation of the best model so far, and the pass before it.
    last : dict, optional
        The last validation.
    waited : int
        Passes since the best model.
    seconds : float
        Spent so far by all runs together.
    """

    passes: int = 0
    now: Counts = field(default_factory=Counts)
    began: tuple[int, int, int] = (0, 0, 0)
    first: Counts | None = None
    best: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    waited: int = 0
    seconds: float = 0.0

    def begin_pass(self, learner: Learner) -> None:
        """Begin a pass: reset its counts."""
        self.now, self.began = Counts(), (learner.n_seen, learner.mistakes, learner.updates)

    def end_pass(self) -> None:
        """Complete a pass."""
        self.first = self.first or self.now
        self.passes += 1

    def as_dict(self) -> dict[str, Any]:
        """Return the position as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Self:
        """Restore what :meth:`as_dict` returned."""
        first = found["first"]
        return cls(
            **found | {
                "now": Counts(**found["now"]),
                "first": None if first is None else Counts(**first),
                "began": tuple(found["began"]),
            }
        )  # fmt: skip
