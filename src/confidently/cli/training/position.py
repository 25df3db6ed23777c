"""Where a training stands: everything that, with the model, is needed to go on as if nothing had happened."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from ...learner.learner import Learner


@dataclass(frozen=True)
class Standing:
    """Where a pass stands: counts since its beginning.

    ``learned`` leaves out of ``rows`` those of weight 0, those held out, and unlabelled ones before the first label.
    ``log_loss`` is a sum, ``None`` where no calibration is learned.
    """

    rows: int = 0
    learned: int = 0
    mistakes: int = 0
    updates: int = 0
    log_loss: float | None = None
    bytes_read: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """How much of the pass's input is done, in the unit of its total: bytes."""
        return self.bytes_read

    @property
    def error(self) -> float:
        """Progressive error: mistakes, each made before its row was learned, a row."""
        return self.mistakes / self.learned if self.learned else 0.0

    @property
    def mean_log_loss(self) -> float | None:
        """Mean of -log P(true label) before the row was learned."""
        return self.log_loss / self.learned if self.log_loss is not None and self.learned else None

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    def since(self, last: Standing) -> Standing:
        """What came after ``last``."""
        log_loss = None if self.log_loss is None else self.log_loss - (last.log_loss or 0.0)
        return Standing(
            self.rows - last.rows, self.learned - last.learned, self.mistakes - last.mistakes,
            self.updates - last.updates, log_loss, self.bytes_read - last.bytes_read, self.seconds - last.seconds,
        )  # fmt: skip


@dataclass
class Position:
    """Passes done, rows of the present one, and what was found so far.

    Attributes
    ----------
    passes : int
        Whole passes done.
    now : Standing
        Of the present pass.
    began : (int, int, int)
        The learner's rows, mistakes and updates when the pass began.
    first : Standing, optional
        Of the first pass, once it is done.
    best : dict, optional
        The validation of the best model so far, and the pass it came after.
    last : dict, optional
        The last validation.
    waited : int
        Passes since the best.
    seconds : float
        Spent so far, by all runs together.
    """

    standing: ClassVar[type[Standing]] = Standing

    passes: int = 0
    now: Standing = field(default_factory=Standing)
    began: tuple[int, int, int] = (0, 0, 0)
    first: Standing | None = None
    best: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    waited: int = 0
    seconds: float = 0.0

    def begin_pass(self, learner: Learner) -> None:
        """Nothing of the pass has been learned yet."""
        self.now, self.began = Standing(), (learner.n_seen, learner.mistakes, learner.updates)

    def end_pass(self) -> None:
        """The pass is over."""
        self.first = self.first or self.now
        self.passes += 1

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Self:
        """What :meth:`as_dict` gave."""
        first = found["first"]
        return cls(
            **found | {
                "now": cls.standing(**found["now"]),
                "first": None if first is None else cls.standing(**first),
                "began": tuple(found["began"]),
            }
        )  # fmt: skip
