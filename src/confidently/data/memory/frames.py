"""Data frames of pandas and Polars and tables of Arrow, recognized by their attributes without importing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def as_table(X: Any) -> Any:
    """Return a record batch of Arrow as a table, whose column names scikit-learn can read; other data unchanged."""
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise ValueError("X is a lazy frame of Polars, which has no rows yet; pass X.collect()")
    if type(X).__name__ == "RecordBatch" and hasattr(X, "schema"):
        from pyarrow import Table

        return Table.from_batches([X])
    return X


def describe_columns(error: Exception, X: Any) -> Exception:
    """Return the error, or a better one if columns of a frame do not hold numbers."""
    wrong = [f"{name!r} ({kind})" for name, kind in _columns(X) if not _is_number(kind)]
    if not wrong:
        return error
    several = len(wrong) > 1
    shown = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return ValueError(
        f"the column{'s' * several} {shown} of X {'do' if several else 'does'} not hold numbers; encode strings with "
        "sklearn.preprocessing.OneHotEncoder in a sklearn.compose.ColumnTransformer, or use fit_stream on a file, "
        "where a string becomes a feature column=string and a date numbers automatically"
    )


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and type of every column of a frame; nothing for other data."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "names") and hasattr(schema, "types"):  # Arrow
        yield from zip(schema.names, schema.types, strict=True)
    elif hasattr(schema, "items"):  # Polars
        yield from schema.items()
    elif hasattr(X, "dtypes") and hasattr(X.dtypes, "items"):  # pandas
        yield from X.dtypes.items()


def _is_number(kind: Any) -> bool:
    if hasattr(kind, "is_numeric"):  # Polars
        return bool(kind.is_numeric()) or str(kind) == "Boolean"
    if hasattr(kind, "num_fields"):  # Arrow
        return str(kind).startswith(("int", "uint", "float", "half", "double", "bool", "decimal"))
    return getattr(kind, "kind", "O") in "fiub"
