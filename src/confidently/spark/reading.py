"""The columns of data frames that a model knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, BooleanType, DataType, NullType, NumericType, StructType

from ..data import ReaderOptions
from ..data.batch import DataError
from ..models.model import Model
from ..similar import hint
from ..wording import listed
from .units import VECTORS


def columns_of(model: Model, frame: DataFrame) -> list[str]:
    """Return the columns of a data frame that a model knows, without those of labels and weights.

    Raises
    ------
    DataError
        If one is missing, or has changed from numbers to something else or back.
    """
    reading, leaves = ReaderOptions.from_dict(model.source), dict(_leaves(frame.schema))
    found = dict[str, None]()
    for name in reading.header or ():
        if name not in leaves:
            raise _missing(name, list(leaves))
        column, kind = leaves[name]
        if not isinstance(kind, NullType) and is_number(kind) != (name in reading.numbers):
            before = "numbers" if name in reading.numbers else "no numbers"
            raise DataError(
                f"column {name!r} of the data frame holds {kind.simpleString()}, and {before} in training; convert it"
            )
        found[column] = None
    return list(found)


def _leaves(schema: StructType, prefix: str = "", column: str = "") -> Iterator[tuple[str, tuple[str, DataType]]]:
    """Yield each column, or part of a struct, by the name that readers give it: the column itself, and the type."""
    for field in schema:
        name = prefix + field.name
        if isinstance(field.dataType, StructType):
            yield from _leaves(field.dataType, f"{name}.", column or field.name)
        else:
            yield name, (column or field.name, field.dataType)


def is_number(kind: DataType) -> bool:
    """Return whether a type, or that of a list's items, is one of numbers."""
    if type(kind).__name__ in VECTORS:
        return True
    return is_number(kind.elementType) if isinstance(kind, ArrayType) else isinstance(kind, NumericType | BooleanType)


def check_columns(frame: DataFrame, needed: Sequence[str]) -> None:
    """Raise ``DataError`` unless a data frame has these columns."""
    for name in needed:
        if name not in frame.columns:
            raise _missing(name, frame.columns)


def _missing(name: str, names: list[str]) -> DataError:
    return DataError(f"the data frame has no column {name!r}{hint(name, names)}; there are {listed(names)}")
