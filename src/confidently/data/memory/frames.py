"""Data frames of pandas, Polars and Dask and tables of Arrow, recognized by their attributes without importing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..batch import DataError
from ..formats.table import TYPED
from ..sources.in_memory import InMemory

if TYPE_CHECKING:
    import pyarrow as pa

MAX_SHOWN = 3  # columns, in a message


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a data frame or a table."""
    if _is_lazy(X) or _is_record_batch(X) or _is_dask(X):
        return True
    shape = getattr(X, "shape", ())
    counted = type(shape) is tuple and len(shape) == 2 and all(type(n) is int for n in shape)
    return counted and hasattr(X, "columns") and (_is_pandas(X) or _is_polars(X) or hasattr(X, "__arrow_c_stream__"))


def as_table(X: Any) -> Any:
    """Return a record batch of Arrow as a table, and a frame of Dask as one of pandas; other data unchanged.

    scikit-learn reads the names of their columns only then.
    """
    if _is_lazy(X):
        raise ValueError("X is a lazy frame of Polars, which has no rows yet; pass X.collect()")
    if _is_dask(X):
        return X.compute()
    if _is_record_batch(X):
        from pyarrow import Table

        return Table.from_batches([X])
    return X


def arrow_table(X: Any) -> pa.Table:
    """Return a frame as a table of Arrow, without the index of pandas.

    Raises
    ------
    DataError
        If two columns have the same name, or a column has values of several types.
    """
    import pyarrow as pa  # loads slowly

    X = as_table(X)
    counts = Counter(str(name) for name, _ in _columns(X))
    if twice := [name for name, n in counts.items() if n > 1]:
        raise DataError(f"X has {counts[twice[0]]} columns called {twice[0]!r}; rename or drop them")
    try:
        if _is_pandas(X):
            return pa.Table.from_pandas(X, preserve_index=False)
        return X.to_arrow() if _is_polars(X) else pa.table(X)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"X cannot be read as a table: {'; '.join(map(str, error.args))}") from None


def of_frame(X: Any) -> InMemory:
    """Return a frame as a table that readers take in place of a file; errors as of :func:`arrow_table`."""
    table = arrow_table(X)
    return InMemory(TYPED, table, table.num_rows)


def holds_numbers(X: Any) -> bool:
    """Return whether all columns of a frame hold numbers, none of which is missing."""
    X = as_table(X)
    kinds = [kind for _, kind in _columns(X)]
    if _is_pandas(X):
        if any(type(kind).__name__ == "SparseDtype" for kind in kinds):
            return all(map(_is_number, kinds))
        others = [kind for kind in kinds if not _is_number(kind)]
        if not others:
            return not X.isna().to_numpy().any()
        if any(str(kind) != "object" for kind in others):
            return False
    import pyarrow.compute as pc  # loads slowly

    table = arrow_table(X)
    return all(
        _is_number(column.type) and not column.null_count
        and not (str(column.type) in ("float", "double", "halffloat") and pc.any(pc.is_nan(column)).as_py())
        for column in table.columns
    )  # fmt: skip


def describe_columns(error: Exception, X: Any) -> Exception:
    """Return the error, or a better one if columns of a frame do not hold numbers."""
    n, shown = other_columns(X)
    if not n:
        return error
    return ValueError(
        f"the column{'s' * (n > 1)} {shown} of X {'do' if n > 1 else 'does'} not hold numbers, as all columns did in "
        "training; convert them, or call fit with a frame that has such columns"
    )


def other_columns(X: Any) -> tuple[int, str]:
    """Return how many columns of a frame do not hold numbers, and the first of them, to be shown."""
    wrong = [f"{name!r} ({kind})" for name, kind in _columns(X) if not _is_number(kind)]
    more = f" and {len(wrong) - MAX_SHOWN} more" if len(wrong) > MAX_SHOWN else ""
    return len(wrong), ", ".join(wrong[:MAX_SHOWN]) + more


def _is_lazy(X: Any) -> bool:
    return type(X).__name__ == "LazyFrame" and hasattr(X, "collect")


def _is_dask(X: Any) -> bool:
    return hasattr(X, "npartitions") and hasattr(X, "columns") and hasattr(X, "compute")


def _is_record_batch(X: Any) -> bool:
    return type(X).__name__ == "RecordBatch" and hasattr(X, "schema")


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "dtypes") and hasattr(X.dtypes, "items")


def _is_polars(X: Any) -> bool:
    return hasattr(X, "to_arrow") and hasattr(getattr(X, "schema", None), "items")


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and type of every column of a frame; nothing for other data."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "names") and hasattr(schema, "types"):  # Arrow
        yield from zip(schema.names, schema.types, strict=True)
    elif hasattr(schema, "items"):  # Polars
        yield from schema.items()
    elif _is_pandas(X):
        yield from X.dtypes.items()


def _is_number(kind: Any) -> bool:
    if hasattr(kind, "is_numeric"):  # Polars
        return bool(kind.is_numeric()) or str(kind) == "Boolean"
    if hasattr(kind, "num_fields"):  # Arrow
        return str(kind).startswith(("int", "uint", "float", "half", "double", "bool", "decimal"))
    return getattr(kind, "kind", "O") in "fiub"
