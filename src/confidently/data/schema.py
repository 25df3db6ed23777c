"""What the columns of a table mean: the record that ``look`` shows and saves, and that ``train`` takes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..wording import listed
from .batch import DataError
from .formats.first_cells import first_rows_of
from .formats.header import column_names
from .formats.table import BY_NAME
from .reading import DEFAULT_LABEL, ReaderOptions
from .sources.json_schema import parse
from .sources.source import display_name

Role = Literal["feature", "label", "weight", "ignored"]
Kind = Literal["number", "category", "text", "date", "any"]


KINDS: tuple[Kind, ...] = ("number", "category", "text", "date", "any")
REMEDY = "make a schema of this file with confidently look {} --save FILE"


@dataclass(frozen=True)
class Column:
    """A column: what it is for, what it holds, and the unit of its numbers; ``any``: inferred cell by cell."""

    name: str
    role: Role
    kind: Kind
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What a table means.

    Attributes
    ----------
    columns : tuple of Column
    labels : {"classes", "lists"}
        Whether a label is one class, or a list of labels separated by commas.
    missing : tuple of str
        What stands for missing values, besides words such as ``NA``.
    decimal, thousands, date_format
        As of :class:`ReaderOptions`.

    Examples
    --------
    >>> columns = (Column("zip", "feature", "category"), Column("sold", "label", "any"))
    >>> Schema(columns=columns).options("csv")["codes"], Schema(columns=columns).options("jsonl")["category"]
    (('zip',), ('zip',))
    """

    columns: tuple[Column, ...]
    labels: Literal["classes", "lists"] = "classes"
    missing: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str = ""
    date_format: str | None = None

    @classmethod
    def of(cls, reading: ReaderOptions, kinds: Iterable[tuple[str, str]], names: Sequence[str] = ()) -> Schema:
        """Return what the first rows of a table show.

        Parameters
        ----------
        reading : ReaderOptions
            How they are read.
        kinds : iterable of (str, str)
            The columns of features, and what they hold.
        names : sequence of str
            All columns.
        """
        units = dict(zip(reading.units, reading.unit_names, strict=False))
        known: tuple[Kind, ...] = ("number", "category", "text", "date")
        features = {
            name: Column(name, "feature", next((one for one in known if one == kind), "any"), units.get(name))
            for name, kind in kinds
        }
        own: dict[str, Role] = dict.fromkeys(reading.drop, "ignored")
        own |= {reading.label or DEFAULT_LABEL: "label"}
        own |= {reading.weight: "weight"} if reading.weight is not None else {}
        every = dict.fromkeys([*names, *features])
        columns = (features.get(name) or Column(name, own.get(name, "ignored"), "any") for name in every)
        return cls(
            columns=tuple(columns), labels="classes" if reading.whole_labels else "lists",
            missing=reading.missing or (), decimal=reading.decimal, thousands=reading.thousands,
            date_format=reading.date_format,
        )  # fmt: skip

    def options(self, format: str) -> dict[str, Any]:
        """Return the options of :class:`ReaderOptions` for a file of a format with columns."""
        text = BY_NAME[format].delimiter is not None
        features = [column for column in self.columns if column.role == "feature"]
        of_kind = {kind: tuple(c.name for c in features if c.kind == kind and c.unit is None) for kind in KINDS}
        with_units = [column for column in features if column.unit is not None]
        found: dict[str, Any] = {
            "label": next((column.name for column in self.columns if column.role == "label"), None),
            "weight": next((column.name for column in self.columns if column.role == "weight"), None),
            "drop": tuple(column.name for column in self.columns if column.role == "ignored"),
            "text": of_kind["text"], "dates": of_kind["date"], "units": tuple(column.name for column in with_units),
            "unit_names": tuple(str(column.unit) for column in with_units), "missing": self.missing,
            "whole_labels": self.labels == "classes" and (text or BY_NAME[format].binary),
        }  # fmt: skip
        if text:
            found |= {"codes": of_kind["category"], "numbers": of_kind["number"]}
        else:
            found |= {"category": of_kind["category"]}
        if text or with_units:
            found |= {"decimal": self.decimal, "thousands": self.thousands}
        return found | ({"date_format": self.date_format} if found["dates"] else {})

    def check(self, path: str | os.PathLike[str], reading: ReaderOptions, name: str) -> None:
        """Check that a file has these columns, which the schema called ``name`` says.

        Raises
        ------
        DataError
            If its columns are others, or hold something else.
        """
        here, file = list(column_names(path, reading)), display_name(path)
        known = [column.name for column in self.columns]
        missing = [column.name for column in self.columns if column.role == "feature" and column.name not in here]
        new = [column for column in here if column not in known]
        if here and not reading.file_format.lines and (missing or new):
            lacks = f"lacks {listed(missing)}" if missing else ""
            has = f"has {listed(new)} besides" if new else ""
            both = " and ".join(filter(None, [lacks, has]))
            raise DataError(f"{name} is the schema of other columns: {file} {both}; {REMEDY.format(file)}")
        numbers = {column.name for column in self.columns if column.kind == "number" and column.unit is None}
        for column in first_rows_of(path, reading).columns:
            if column.name in numbers and column.others and not column.cells.numbers:
                first = column.cells.first.decode(errors="replace")
                raise DataError(
                    f"{name} says that column {column.name!r} holds numbers, and {file} has {first!r} in it; "
                    + REMEDY.format(file)
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as JSON."""
        Path(path).write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema that was saved.

        Raises
        ------
        DataError
            If it is not one.
        """
        try:
            found: Schema = parse(Path(path).read_bytes(), cls)
        except ValueError as error:
            raise DataError(f"{os.fspath(path)} is not a schema, as look --save writes it: {error}") from None
        return found
