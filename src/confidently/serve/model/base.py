"""What the server needs of a model, whatever it predicts and however it learns."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from ...data.reading import ReaderOptions
from ...models.explanation import Explanation, NumberExplanation
from ...models.stack_explanation import NumberStackExplanation, StackExplanation
from ...tasks.task import Task
from .asking import Asking
from .guards import Finding, Guards
from .learning import Example, reason_of
from .measures import Measures, measures_of
from .predicted import AnyAnswer, Promises
from .settings import DECISIONS, ModelSettings, Setup

Explained = Explanation | StackExplanation | NumberExplanation | NumberStackExplanation


class Judged(NamedTuple):
    """What predictions state of rows whose labels are known.

    Attributes
    ----------
    stated : list of (float, bool)
        Probabilities, and whether what they are of is true.
    covered : list of bool
        Whether sets or intervals of coverage .9 have the label, where that is known.
    """

    stated: list[tuple[float, bool]]
    covered: list[bool]


class SetAside(NamedTuple):
    """A row that a model could not learn, by its event, and why; the model is as if there were no such row."""

    seq: int
    reason: str


class Learned(NamedTuple):
    """What the learning of some rows has added to the counts of a model.

    Attributes
    ----------
    rows : int
    sums : tuple of float
        What is measured of their predictions (:class:`confidently.serve.model.measures.Measures`).
    anew : bool
        Whether the model has begun again with all rows so far, which the counts are of.
    """

    rows: int
    sums: tuple[float, ...]
    anew: bool


class Merged(NamedTuple):
    """What another server has contributed to a model.

    Attributes
    ----------
    origin : str
        The name of the model of that server.
    seq : int
        The last event of that server's log that it has.
    rows : int
    missing : str or None
        Why it could not be merged.
    """

    origin: str
    seq: int
    rows: int
    missing: str | None


class HostedModel(ABC):
    """Base of the models that a server hosts: each learns the rows of its log in order, and answers; of one thread.

    Parameters
    ----------
    settings : ModelSettings
    setup : Setup
        Of the settings.
    guards : Guards
    asking : Asking
    seq : int
        The event up to which it has learned.

    Attributes
    ----------
    reading : ReaderOptions
        How rows are read.
    """

    reading: ReaderOptions
    merge_refusal: ClassVar[str | None] = None  # why servers cannot merge such models, if they cannot
    suffix: ClassVar[str] = "cw"  # of its files

    def __init__(self, settings: ModelSettings, setup: Setup, guards: Guards, asking: Asking, seq: int) -> None:
        self.settings, self.setup, self.guards, self.asking, self.seq = settings, setup, guards, asking, seq
        self._aside: list[tuple[Example, str]] = []

    # --- what the model is --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def task(self) -> Task:
        """What is predicted."""

    @property
    def kind(self) -> str:
        """The task as settings name it: "classes", "numbers" or "decisions"."""
        return DECISIONS if self.setup.decides else "numbers" if self.task.regression else "classes"

    @property
    def measures(self) -> Measures:
        """What is measured of predictions."""
        return measures_of(self.task)

    @property
    @abstractmethod
    def classes(self) -> list[Any]:
        """The classes seen or named, sorted; of numbers there are none."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether rows of other classes are errors."""

    @property
    @abstractmethod
    def dtype(self) -> str:
        """The type of its numbers, which bounds those of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of known features."""

    @property
    @abstractmethod
    def updates(self) -> int:
        """How many rows have changed it."""

    @property
    @abstractmethod
    def has_begun(self) -> bool:
        """Whether it has learned what makes a model."""

    @property
    @abstractmethod
    def order(self) -> tuple[int, int]:
        """Drift alarms so far, and the rows since the last one."""

    @property
    def entities(self) -> int | None:
        """How many keys have a model of their own; None: there are no keys."""
        return None

    @property
    def merged(self) -> list[Merged]:
        """What other servers have contributed."""
        return []

    # --- answers ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def answers(self, lines: Sequence[bytes], counted: bool = False) -> list[AnyAnswer]:
        """Return what the model says of rows without labels; ``counted``: the odd ones among them."""

    @abstractmethod
    def judged(self, examples: Sequence[Example]) -> Judged:
        """Return what the model states of rows that it has not learned yet, and whether that is true."""

    @abstractmethod
    def explanation(self, line: bytes, about: Any = None) -> Explained:
        """Return the contribution of every feature of a row; for a stack, that of every member too.

        Raises
        ------
        ValueError
            If the model has no weights of features, or there is no such class.
        """

    @abstractmethod
    def check_promises(self, asked: Promises) -> None:
        """Raise a ``Problem`` if the model cannot promise what is asked for."""

    @abstractmethod
    def promises(self, answers: Sequence[AnyAnswer], asked: Promises) -> list[dict[str, Any]]:
        """Return what is promised of answers."""

    @abstractmethod
    def novelty(self, lines: Sequence[bytes]) -> list[float]:
        """Return the p-values of rows as some of those learned."""

    @abstractmethod
    def findings(self, lines: Sequence[bytes]) -> list[list[Finding]]:
        """Return what is odd about the features of each row."""

    @abstractmethod
    def odd_class(self, label: bytes) -> Finding | None:
        """Return what is odd about a label, as JSON, if it has a class that no row had; of any thread."""

    @abstractmethod
    def check_class(self, label: bytes) -> None:
        """Raise a ``Problem`` if a label has a new class and the settings refuse that; of any thread."""

    # --- learning -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def learn(self, examples: Sequence[Example]) -> Learned:
        """Learn rows in order. A row that cannot be learned is set aside.

        Raises
        ------
        MemoryError, OSError
            If the machine is to blame; of some rows it is then not known whether they were learned.
        """

    @property
    @abstractmethod
    def least_rows(self) -> int:
        """The fewest rows worth learning at once."""

    @property
    @abstractmethod
    def is_settled(self) -> bool:
        """Whether later rows cannot change what the model is."""

    @abstractmethod
    def settle(self) -> None:
        """Settle what the model is now, whatever the next rows are."""

    def take_aside(self) -> list[SetAside]:
        """Return the rows that were set aside since the last call."""
        found, self._aside = self._aside, []
        return [SetAside(example.seq, reason) for example, reason in found]

    def _set_aside(self, example: Example, error: Exception) -> None:
        self._aside.append((example, reason_of(error)))

    # --- settings and traffic -----------------------------------------------------------------------------------------

    def take_settings(self, settings: ModelSettings) -> None:
        """Change settings that do not matter for what is learned."""
        self.settings = settings
        self.guards.be_strict(bool(settings.strict))
        self.asking.take_share(settings.ask)

    def take_traffic(self, before: Self) -> None:
        """Go on from the questions to the version that answered before."""
        self.guards.asked = before.guards.asked
        self.asking.take_traffic(before.asking)

    # --- files --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file of all rows learned.

        Raises
        ------
        Problem
            Before the first row.
        """

    @abstractmethod
    def writer(self, training: dict[str, Any]) -> Callable[[Path], None]:
        """Return what writes a snapshot of the model as it is now, with what is given of its training.

        Raises
        ------
        MemoryError, ValueError
            If there is no room for a copy, or the model has values that a file may not hold.
        """

    def saved(self) -> dict[str, Any]:
        """Return what snapshots keep besides the model and its training."""
        return {"guards": self.guards.as_dict(), "asking": self.asking.as_dict()}
