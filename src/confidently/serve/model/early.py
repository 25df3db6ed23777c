"""The first rows of a served model, which decide on what it is: how numbers are read and seen, and covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...learner.recipe import automatic_covariance
from ...learner.tables import NumbersThere
from .learning import Example
from .rows import RowReader
from .settings import UNDECIDED, Decision, Setup


class Shown:
    """What rows show that are read one way, as tables are or not; each is read once."""

    def __init__(self, setup: Setup, is_table: bool) -> None:
        self._reader = RowReader(setup.reading(is_table), setup.settings.dtype, setup.task)
        self.numbers, self.columns = NumbersThere(), 0

    def add(self, examples: Sequence[Example]) -> None:
        """Look at more rows."""
        batch = self._reader.batch([example.line for example in examples])
        self.numbers.add(batch)
        self.columns = max(self.columns, int(batch.columns.max(initial=-1)) + 1)


@dataclass
class Early:
    """The first rows, while they can still change what the model is, and what they have decided."""

    setup: Setup
    examples: list[Example] = field(default_factory=list)
    decision: Decision = UNDECIDED
    _shown: dict[bool, Shown] = field(default_factory=dict)

    def add(self, examples: Sequence[Example]) -> Decision:
        """Return what the rows decide with more of them, which are from now on among them unless one is invalid."""
        for shown in self._shown.values():
            shown.add(examples)
        self.examples += examples
        return self.decided()

    def decided(self) -> Decision:
        """Return what the rows decide."""
        setup = self.setup
        if not self.examples:
            return UNDECIDED
        is_table = setup.undecided and self._as(True).numbers.are_most
        if not setup.undecided_covariance:
            return Decision(is_table)
        return Decision(is_table, automatic_covariance(self._as(is_table).columns))

    def _as(self, is_table: bool) -> Shown:
        """Return what the rows show that are read as tables are, or not."""
        if is_table not in self._shown:
            shown = Shown(self.setup, is_table)
            shown.add(self.examples)
            self._shown[is_table] = shown
        return self._shown[is_table]

    def without(self, examples: Sequence[Example]) -> None:
        """Forget rows, which are perhaps among them."""
        gone = set(map(id, examples))
        self.examples = [one for one in self.examples if id(one) not in gone]
        self._shown = {}
