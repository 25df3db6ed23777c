"""The columns that a model was trained on, and how those of later data differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from .. import _core
from ..similar import similar
from ..wording import MAX_LISTED, counted, first_of, listed
from .batch import Batch, DataError
from .features import Features, Strings
from .reading import ReaderOptions
from .warning import warn

MIN_ROWS = 10  # of JSON lines, one of which should have a key that is known
MIN_PRESENT = 0.5  # of the first rows of JSON lines must have a key that is reported as new
ENDS = re.compile("[=:.]")  # of a column's name in that of a feature
MARKS = re.compile("[=:]")  # between a column and a category or an n-gram in it; numbers have none


class ExpectedColumns:
    """The columns of features that a model knows.

    Parameters
    ----------
    reading : ReaderOptions
        How the model reads rows.
    features : Features
        The features that it knows.
    strict : bool
        Whether every difference is an error.
    predicting : bool
        Whether the model predicts. Otherwise it continues training, and differences are no errors.
    """

    def __init__(
        self, reading: ReaderOptions, features: Features, strict: bool = False, predicting: bool = True
    ) -> None:
        self.reading, self.strict, self.predicting = reading, strict, predicting
        self.features = features.copy()  # training adds to them while files are read
        self._said: set[str] = set()

    def check_header(self, name: str, columns: Sequence[str], keep: Collection[str]) -> None:
        """Compare the columns of features of a table called ``name``; those to ``keep`` may be new.

        Raises
        ------
        DataError
            If the model predicts, and knows none of the columns or knows a column of numbers that the table lacks.
        """
        known, numbers = self._known_to(columns)
        missing = [column for column in known if column not in columns]
        new = [column for column in columns if column not in known and column not in keep]
        if self.reading.header and new:  # the first file may have lacked them
            of_features = columns_of_features(self.features.names, new)
            new = [column for column in new if column not in of_features]
        none = bool(known) and len(missing) == len(known)
        self._report(name, len(known), missing, new, none or any(column in numbers for column in missing))

    def check_rows(self, batch: Batch) -> None:
        """Compare the keys of the first rows of JSON lines, which need not have all keys of training.

        Fewer rows than :data:`MIN_ROWS` tell a model that continues training nothing: it gets them one by one, perhaps.

        Raises
        ------
        DataError
            If the model predicts, and knows none of the keys.
        """
        known = len(self.features)
        if not len(batch.columns) or not (batch.n_columns > known or self.strict):
            return
        if len(batch) < MIN_ROWS and not (self.predicting or self.strict):
            return
        present = _core.column_counts(batch.columns, batch.n_columns)
        unknown = present[known:].tolist()
        counts = _counts(batch, unknown)
        often = [column for column, n in counts.items() if n >= MIN_PRESENT * len(batch)]
        is_none = sum(unknown) == len(batch.columns) and len(batch) >= MIN_ROWS
        if not (often or is_none or self.strict):
            return
        of_model = dict.fromkeys(_column_of(name) for name in self.features.names)
        new = [column for column in often if column not in of_model]
        is_none &= not counts.keys() & of_model.keys()
        if not (new or is_none or self.strict):
            return
        here = {_column_of(name) for name in self._names(np.flatnonzero(present[:known]))}
        missing = [column for column in of_model if column not in here and column not in counts]
        first = first_of(len(batch), "row")
        name = batch.location.rpartition(", ")[0]
        self._report(f"{name}, {first}", len(of_model), missing, new or list(counts), is_none)

    def _known_to(self, columns: Sequence[str]) -> tuple[list[str], set[str]]:
        """Return the columns that the model knows, and those of numbers; names of features are cut as ``columns``."""
        if self.reading.header:
            numbers = {*self.reading.numbers, *self.reading.dates}
            return list(self.reading.header), numbers & set(self.reading.header)
        known = columns_of_features(self.features.names, columns)  # a model of an earlier version has no list of them
        return list(known), {column for column, is_number in known.items() if is_number}

    def _names(self, columns: np.ndarray) -> Strings:
        """Return the names of features, as far as they are known."""
        at = np.flatnonzero(np.isin(self.features.column, columns))
        return self.features.names.take(at)

    def _report(self, name: str, known: int, missing: list[str], new: list[str], refuse: bool) -> None:
        if not (missing or new):
            return
        parts = []
        if missing:
            parts.append(f"missing {len(missing):,} of {counted(known, 'column')} of training: {listed(missing)}")
        if new:
            parts.append(f"{counted(len(new), 'new column')}: {listed(new)}")
        text = "; ".join(parts)
        if hints := _hints(missing, new):
            text += f"; did you mean {hints}?"
        if self.predicting and (refuse or self.strict):
            remedy = "rename the columns, or add them with empty cells" if refuse else "omit --strict to go on"
            raise DataError(f"{name}: {text}; {remedy}".replace("?;", "?"))
        if text not in self._said:
            self._said.add(text)
            warn(f"{name}: {text}")


def columns_of_features(names: Iterable[str], columns: Sequence[str]) -> dict[str, bool]:
    """Return the columns that names of features come from, and whether they hold numbers.

    Names of columns may contain the marks that end them in names of features, so ``columns`` are tried first.
    """
    there, found = set(columns), dict[str, bool]()
    for name in names:
        ends = [*(mark.start() for mark in ENDS.finditer(name)), len(name)]
        column = next((name[:end] for end in reversed(ends) if name[:end] in there), None)
        is_number = MARKS.search(name, len(column or "")) is None
        column = column or _column_of(name)
        found[column] = found.get(column, False) or is_number
    return found


def _column_of(name: str) -> str:
    return MARKS.split(name, maxsplit=1)[0]


def _counts(batch: Batch, unknown: Sequence[int]) -> dict[str, int]:
    """Return how often each column occurs, given how often each of the batch's new features does."""
    counts: dict[str, int] = {}
    if batch.new_features is not None:
        for name, n in zip(batch.new_features.names, unknown, strict=True):
            counts[_column_of(name)] = counts.get(_column_of(name), 0) + n
    return counts


def _hints(missing: list[str], new: list[str]) -> str:
    """Return which new columns may be missing ones under another name."""
    found = [(column, similar(column, new)) for column in missing[:MAX_LISTED]]
    return " and ".join(f"{column!r} instead of {other!r}" for column, other in found if other is not None)
