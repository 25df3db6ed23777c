"""Guards: what is odd about rows although they can be read. Odd rows are counted; settings may have them refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...data.batch import Batch
from ...data.formats.number_forms import is_number
from ...data.reading import ReaderOptions
from ..problems import Problem

UNKNOWN_FIELD, TEXT, NO_FEATURE, UNKNOWN_CLASS = KINDS = (
    "unknown-field", "text-for-number", "no-known-feature", "unknown-class"
)  # fmt: skip
MIN_ROWS = 100  # learned; before, nothing is odd
ROWS_OF_FIELDS = 1000  # the first rows, all of whose fields are looked at; later, only rows with new features are
MAX_FIELDS = 4096  # beyond, rows have too many fields to tell the odd ones
MIN_NUMBERS, MAX_TEXTS = 10, 0.1  # of a numeric column: numbers, and texts relative to them
SHOWN = 80  # characters of a name or a value
NAME_ENDS = str.maketrans("=:.", "===")

_decoder = msgspec.json.Decoder(dict[str, Any])


class Finding(NamedTuple):
    """What is odd about a row: the kind, a sentence, and where in the body."""

    kind: str
    detail: str
    pointer: str

    def problem(self) -> Problem:
        """Return the problem of a row that is refused for this."""
        return Problem(self.kind, self.detail, self.pointer)


class Guards:
    """The fields of the rows that a model has learned, and how many rows were odd.

    What is said of learned rows depends on these rows and their order only.

    Parameters
    ----------
    reading : ReaderOptions
        How the rows are read.
    thorough : bool
        Whether all learned rows are looked at, since others with their fields may be refused.
    saved : dict, optional
        What :meth:`as_dict` returned before.

    Attributes
    ----------
    rows : int
        Rows learned.
    fields : dict
        By name, how many of the rows that were looked at had a number and how many had a text.
    learned, asked : Counter
        Odd rows by kind: of those learned, and of those predicted or refused.
    """

    def __init__(self, reading: ReaderOptions, thorough: bool = False, saved: dict[str, Any] | None = None) -> None:
        found = saved or {}
        self.rows = int(found.get("rows", 0))
        self.fields: dict[str, list[int]] = {name: list(n) for name, n in found.get("fields", {}).items()}
        self.learned, self.asked = Counter(found.get("learned", {})), Counter(found.get("asked", {}))
        self.take_reading(reading)
        self._thorough = thorough
        self._mixed = {name for name, counts in self.fields.items() if counts[1] and _is_numeric(counts)}

    def take_reading(self, reading: ReaderOptions) -> None:
        """Take over how rows are read, which the first of them decide."""
        if reading.encoder is not None:
            reading = reading.of_texts()
        self._ignored = {reading.label or "label", *reading.drop}
        self._only = _keys(reading.only)
        self._any = _keys(name for names in (reading.category, reading.text, reading.dates) for name in names or ())
        self._cells = {*(reading.units or ()), *(reading.numbers or ())}  # of which strings are read as numbers

    @classmethod
    def of_features(cls, reading: ReaderOptions, thorough: bool, names: Iterable[str], rows: int) -> Guards:
        """Return the guards of a model that was trained elsewhere, as the names of its features tell the fields."""
        found = cls(reading, thorough)
        for name in names:
            field = name.translate(NAME_ENDS).partition("=")[0]
            if len(found.fields) < MAX_FIELDS or field in found.fields:
                counts = found.fields.setdefault(field, [0, 0])
                counts[int(field != name)] += MIN_NUMBERS
        found.rows = rows
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return what snapshots keep."""
        return {
            "rows": self.rows, "fields": dict(self.fields), "learned": dict(+self.learned), "asked": dict(+self.asked)
        }  # fmt: skip

    def shown(self) -> dict[str, dict[str, int]]:
        """Return how many odd rows there were, by kind."""
        learned, asked = self.learned, self.asked
        return {kind: {"learned": learned[kind], "asked": asked[kind]} for kind in KINDS}

    def begin_again(self, reading: ReaderOptions) -> None:
        """Forget the rows learned, which are learned again."""
        self.rows, self.fields, self.learned, self._mixed = 0, {}, Counter(), set()
        self.take_reading(reading)

    # --- learning ----------------------------------------------------------------------------------------------------

    def count_learned(self, lines: Sequence[bytes], batch: Batch, new_classes: Sequence[int]) -> None:
        """Count the odd ones of rows that were learned; ``new_classes``: those that brought a class."""
        n, usual, start, new = len(batch), max(MIN_ROWS - self.rows, 0), batch.start, batch.new_features
        if new is None and self.rows >= ROWS_OF_FIELDS and not (self._thorough or self._mixed or new_classes):
            self.rows += n  # as nearly always
            self.learned[NO_FEATURE] += n - int(np.count_nonzero(start[1:] != start[:-1]))
            return
        sizes, look = np.diff(start), np.zeros(n, np.bool_)
        if new is None:
            none_known = sizes == 0
        else:
            none_known = np.bincount(new.row, minlength=n) >= sizes
            look[new.row] = True
        look[: max(ROWS_OF_FIELDS - self.rows, 0)] = True
        if n > usual:
            self.learned[NO_FEATURE] += int(np.count_nonzero(none_known[usual:]))
            self.learned[UNKNOWN_CLASS] += sum(row >= usual for row in new_classes)
        if self._thorough or self._mixed or look.any():
            for k, (line, looked_at) in enumerate(zip(lines, look.tolist(), strict=True)):
                if looked_at or self._thorough or self._mixed:
                    self._learn_fields(line, k >= usual)
        self.rows += n

    def _learn_fields(self, line: bytes, counts: bool) -> None:
        row = _decoded(line)
        found = self._odd_fields(row) if counts else {}
        self.learned.update(set(found.values()))
        for name, value in row.items():
            if self._is_read(name, value):
                seen = self.fields.get(name)
                if seen is None:
                    if len(self.fields) >= MAX_FIELDS:
                        continue
                    seen = self.fields[name] = [0, 0]
                if isinstance(value, int | float):
                    seen[0] += 1
                elif self._is_text(name, value):
                    seen[1] += 1
                if seen[1]:
                    (self._mixed.add if _is_numeric(seen) else self._mixed.discard)(name)

    # --- questions ---------------------------------------------------------------------------------------------------

    def count_asked(self, lines: Sequence[bytes], batch: Batch, known: int) -> None:
        """Count the odd ones of rows that are predicted by a model that knows this number of features."""
        if self.rows < MIN_ROWS:
            return
        unknown, none_known = unknown_features(batch, known)
        if none_known.any():
            self.asked[NO_FEATURE] += int(np.count_nonzero(none_known))
        if self._mixed or unknown.any():
            for line, look in zip(lines, unknown.tolist(), strict=True):
                if look or self._mixed:
                    self.asked.update(set(self._odd_fields(_decoded(line)).values()))

    def be_strict(self, thorough: bool) -> None:
        """Look at every field of the rows from now on, or only at those of some."""
        self._thorough = thorough

    def findings(self, features: bytes, none_known: bool) -> list[Finding]:
        """Return what is odd about a row; nothing before there are rows enough."""
        if self.rows < MIN_ROWS:
            return []
        row = _decoded(features)
        found = [
            Finding(kind, self._told(kind, name, row[name]), f"/features/{_escaped(name)}")
            for name, kind in self._odd_fields(row).items()
        ]
        if none_known:
            told = "the row has none of the features that the model knows"
            found.append(Finding(NO_FEATURE, told, "/features"))
        return found

    def unknown_fields(self, features: bytes) -> list[str]:
        """Return the names of the fields that no row so far had."""
        if len(self.fields) >= MAX_FIELDS:
            return []
        return [name for name, value in _decoded(features).items() if self._is_new(name, value)]

    def _odd_fields(self, row: dict[str, Any]) -> dict[str, str]:
        """Return the kind of what is odd, by field."""
        found, full = dict[str, str](), len(self.fields) >= MAX_FIELDS
        for name, value in row.items():
            seen = self.fields.get(name)
            if seen is None:
                if not full and self._is_new(name, value):
                    found[name] = UNKNOWN_FIELD
            elif seen[0] and _is_numeric(seen) and self._is_text(name, value):
                found[name] = TEXT
        return found

    def _is_new(self, name: str, value: Any) -> bool:
        return name not in self.fields and self._is_read(name, value)

    def _is_read(self, name: str, value: Any) -> bool:
        """Return whether a value becomes a feature."""
        if value is None or value == "" or name in self._ignored:
            return False
        return not self._only or name in self._only

    def _is_text(self, name: str, value: Any) -> bool:
        if not isinstance(value, str) or not value or name in self._any:
            return False
        return not (name in self._cells and is_number(value))

    def _told(self, kind: str, name: str, value: Any) -> str:
        if kind == UNKNOWN_FIELD:
            return f"no row so far had the field {name[:SHOWN]!r}; check its name"
        return f"{name[:SHOWN]!r} has been a number so far, got {value[:SHOWN]!r}; send a number"


def unknown_features(batch: Batch, known: int) -> tuple[np.ndarray, np.ndarray]:
    """Return of every row whether it has features beyond those known, and whether it has no others."""
    start, sizes = batch.start, np.diff(batch.start)
    if batch.n_columns <= known:
        return np.zeros(len(batch), np.bool_), sizes == 0
    before = np.concatenate([[0], np.cumsum(batch.columns >= known)])
    unknown = before[start[1:]] - before[start[:-1]]
    return unknown > 0, unknown == sizes


def _decoded(line: bytes) -> dict[str, Any]:
    """Return a row; nothing for one of an older version that this decoder rejects."""
    try:
        return _decoder.decode(line)
    except (ValueError, RecursionError):
        return {}


def _is_numeric(counts: Sequence[int]) -> bool:
    numbers, texts = counts
    return numbers >= MIN_NUMBERS and texts <= MAX_TEXTS * numbers


def _keys(paths: Iterable[str]) -> set[str]:
    """Return the keys of rows that paths of nested keys may begin with."""
    return {key for path in paths for key in (path, path.partition(".")[0])}


def _escaped(name: str) -> str:
    """Return a key as JSON pointers have it."""
    return name.replace("~", "~0").replace("/", "~1")
