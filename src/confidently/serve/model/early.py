"""The first rows of a served model, which decide on what it is: how numbers are read and seen, and covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...data.batch import Batch
from ...learner.recipe import automatic_covariance
from ...learner.tables import has_numbers
from .learning import Example
from .rows import RowReader
from .settings import UNDECIDED, Decision, Setup


@dataclass
class Early:
    """The first rows, while they can still change what the model is, and what they have decided."""

    setup: Setup
    examples: list[Example] = field(default_factory=list)
    decision: Decision = UNDECIDED

    def decided_by(self, examples: Sequence[Example]) -> Decision:
        """Return what rows would decide if they were the first ones."""
        setup = self.setup
        if not examples:
            return UNDECIDED
        is_table = setup.undecided and has_numbers(self.batch(examples, is_table=True))
        if not setup.undecided_covariance:
            return Decision(is_table)
        columns = int(self.batch(examples, is_table).columns.max(initial=-1)) + 1
        return Decision(is_table, automatic_covariance(columns))

    def batch(self, examples: Sequence[Example], is_table: bool = False) -> Batch:
        """Return rows as they would be read if they were the first ones."""
        setup = self.setup
        reader = RowReader(setup.reading(is_table), setup.settings.dtype, setup.task)
        return reader.batch([example.line for example in examples])
