"""Frames with more than numbers, dicts and texts, which estimators learn and predict as rows of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from os import fspath
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..data.batch import Batch, DataError, NewLabel
from ..data.encoded import table_of_texts
from ..data.formats.table import BY_NAME, OBJECTS, TEXTS, TYPED
from ..data.memory.frames import holds_numbers, is_frame, of_frame
from ..data.memory.lines import are_dicts, are_texts, of_dicts, of_texts
from ..data.reading import DEFAULT_LABEL, DEFAULT_TEXT, ReaderOptions
from ..data.schema import Schema
from ..data.sources.in_memory import InMemory
from ..encoders import EncoderError, EncoderInfo
from ..similar import hint
from ..wording import counted, listed

ARRAYS = "numbers in arrays or frames"
OF_ARRAYS = "how rows are read is said of frames, dicts and texts, and X is an array; pass a frame of it"
OF_FILES = ("label", "weight", "format", "encoding", "encoder", "header", "columns", "delimiter", "missing_label")
OPTIONS = ("schema", *(field.name for field in fields(ReaderOptions) if field.name not in OF_FILES))
NOTHING_SAID: Mapping[str, Any] = MappingProxyType({})  # of how rows are read
KINDS = {"frame": "a data frame", "dicts": "a list of dicts", "texts": "a list of texts"}
TRAINED = {TYPED: "a data frame or Parquet", OBJECTS: "dicts or JSON lines", TEXTS: "texts"}


class Labels(NamedTuple):
    """The labels of rows as a learner takes them.

    Attributes
    ----------
    n : int
        Number of classes, of labels, or of numbers per row.
    numbers : int32 array
        Class numbers; of a regression 0 for every row.
    options : dict
        Further arguments of :meth:`confidently.learner.learner.Learner.learn`.
    multilabel : bool
    classes : array, optional
        The classes or labels by number.
    predicted : array of shape (n, classes before), optional
        The probabilities by number that were predicted when the rows came, if their labels are late.
    """

    n: int
    numbers: np.ndarray
    options: dict[str, Any]
    multilabel: bool = False
    classes: np.ndarray | None = None
    predicted: np.ndarray | None = None

    def weights(self) -> np.ndarray | None:
        """Return the weights of rows, multiplied by those of their classes; ``None``: all are 1."""
        of_classes = self.options.get("class_weight")
        found = [self.options.get("weight"), None if of_classes is None else of_classes[self.numbers]]
        given = [weights for weights in found if weights is not None]
        return np.prod(given, axis=0) if given else None


class LabelledRows(NamedTuple):
    """Rows that are learned as those of a file are.

    Attributes
    ----------
    rows : InMemory
    y : array
        Classes, labels or targets.
    label : str, optional
        What files call the column of labels.
    """

    rows: InMemory
    y: Any
    label: str | None


def rows_to_learn(
    X: Any, y: Any, source: dict[str, Any] | None, encoded: bool = False, as_said: bool = False
) -> LabelledRows | None:
    """Return rows that are learned as those of a file are; ``None``: they are those of an array.

    Parameters
    ----------
    X : object
        As users pass it.
    y : object
        Labels, or the name of the column that has them.
    source : dict, optional
        How rows were read before, empty for arrays; ``None``: training begins.
    encoded : bool
        Whether an encoder makes vectors of texts.
    as_said : bool
        Whether it was said how rows are read, so that they are not those of an array.

    Raises
    ------
    ValueError
        If ``y`` names no column, or ``X`` is not what the estimator was trained on.
    """
    named = isinstance(y, str)
    if source is None and not (named or encoded or as_said) and is_frame(X) and holds_numbers(X):
        return None
    if named and not (is_frame(X) or are_dicts(X)):
        raise ValueError(f"y={y!r} is the name of a column, and X has no names; pass a data frame, or an array y")
    if named and source == {}:
        raise ValueError(f"y={y!r} is the name of a column, and the estimator was trained on {ARRAYS}; pass an array y")
    rows = rows_to_read(X, source, encoded)
    if rows is None and as_said:
        raise ValueError(OF_ARRAYS)
    if rows is None:
        return None
    if named:
        return _without_label(rows, X, y)
    name, columns = getattr(y, "name", None), _columns(rows, X) if source is None else []
    if not isinstance(name, str) or not name or name in columns or rows.format == TEXTS:
        name = None
    if name is None and DEFAULT_LABEL in columns:
        raise DataError(
            f"X has a column {DEFAULT_LABEL!r}, as files call that of labels; pass y={DEFAULT_LABEL!r} if it has them, "
            "otherwise rename it"
        )
    return LabelledRows(rows, y, name)


def check_first(reading: Mapping[str, Any], first: bool) -> None:
    """Raise ``ValueError`` if it is said how rows are read in a call that is not the first."""
    if reading and not first:
        raise ValueError(f"{next(iter(reading))}: how rows are read is settled by the first call; leave it out")


def reading_options(given: Mapping[str, Any], rows: InMemory) -> dict[str, Any]:
    """Return the options of reading rows, of which one may be a schema.

    Raises
    ------
    TypeError, ValueError
        For an unknown option, or a schema of other columns.
    """
    options = dict(given)
    if wrong := next((name for name in options if name not in OPTIONS), None):
        raise TypeError(f"unknown option {wrong!r} of reading{hint(wrong, OPTIONS)}; there are {', '.join(OPTIONS)}")
    if (schema := options.pop("schema", None)) is None:
        return options
    name = "the schema" if isinstance(schema, Schema) else fspath(schema)
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    if not BY_NAME[rows.format].columns:
        raise ValueError("a schema is for frames and dicts, whose columns it names; leave it out")
    said = schema.options(rows.format)
    schema.check(rows, ReaderOptions(format=rows.format, **{"drop": said["drop"]}), name)
    return {name: value for name, value in said.items() if name not in OF_FILES} | options


def separated(X: Any, y: Any, encoded: bool = False) -> tuple[Any, Any]:
    """Return rows and labels, which are in a column of the rows if ``y`` is its name; errors as of `rows_to_learn`."""
    found = rows_to_learn(X, y, None, encoded) if isinstance(y, str) else None
    return (X, y) if found is None else (found.rows, found.y)


def rows_to_read(X: Any, source: dict[str, Any] | None, encoded: bool = False) -> InMemory | None:
    """Return rows that are read as those of files are; ``None``: they are those of an array.

    With an encoder, texts are a table with one column, in which nothing of them is lost.

    Raises
    ------
    ValueError
        If ``X`` is not what the estimator was trained on.
    """
    if isinstance(X, InMemory):
        return X
    kind = "frame" if is_frame(X) else "dicts" if are_dicts(X) else "texts" if are_texts(X) else None
    if kind is None:
        return None
    if encoded:
        if kind == "frame" and holds_numbers(X):
            raise DataError("X is a frame of numbers; with an encoder, pass texts, or their vectors as an array")
        if kind == "texts":
            return table_of_texts(X, *((source or {}).get("text") or (DEFAULT_TEXT,)))
    elif source is not None:
        trained = BY_NAME[source["format"]] if source else None
        if kind == "frame" and (trained is None or not trained.named):
            return None
        if trained is None or not (trained.text if kind == "texts" else trained.columns):
            raise ValueError(f"X is {KINDS[kind]}, and the estimator was trained on {rows_of(source)}")
    return {"frame": of_frame, "dicts": of_dicts, "texts": of_texts}[kind](X)


def rows_of(source: dict[str, Any]) -> str:
    """Return what an estimator was trained on, in words, given how rows were read."""
    name = source.get("format")
    return ARRAYS if name is None else TRAINED.get(name) or f"rows of {BY_NAME[name].title}"


def read_as(rows: InMemory, reading: ReaderOptions) -> ReaderOptions:
    """Return how rows in memory are read, given how those of training were."""
    if reading.encoder is not None:
        of_encoder = column_of_texts(rows, reading.text)
        return ReaderOptions(format=rows.format, text=of_encoder, encoder=reading.encoder, header=of_encoder)
    if rows.format == TEXTS:
        return replace(reading, encoding=ReaderOptions.encoding)
    adapted = reading.of_objects() if rows.format == OBJECTS else reading.of_table()
    return adapted if adapted.file_format.binary else replace(adapted, encoding=ReaderOptions.encoding)


def column_of_texts(rows: InMemory, known: tuple[str, ...] = (), others: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the column of texts that an encoder takes: the known one, "text", or the only other."""
    if isinstance(rows.content, bytes):
        return known
    columns = [name for name in rows.content.column_names if name not in set(others)]
    if usual := [name for name in (*known, DEFAULT_TEXT) if name in columns]:
        return (usual[0],)
    if len(columns) != 1:
        raise DataError(
            f"the encoder takes one text per row, and X has {counted(len(columns), 'column')}: {listed(columns)}; pass "
            f"one column, or call it {DEFAULT_TEXT!r}"
        )
    return tuple(columns)


def source_of_vectors(encoder: EncoderInfo, n_columns: int) -> dict[str, Any]:
    """Return how texts are read after training on an array of vectors of their encoder."""
    if n_columns != encoder.dimension:
        raise EncoderError(
            f"X has {counted(n_columns, 'column')}, and the encoder is {encoder}; pass texts, or vectors of the encoder"
        )
    return {**ReaderOptions(format=TYPED, encoder=encoder, header=(DEFAULT_TEXT,)).as_dict(), "closed": False}


def labelled(batches: Iterable[Batch], labels: Labels, names: list[Any]) -> Iterator[Batch]:
    """Yield batches without labels with these, whose classes have ``names``; labels of sets are announced at once."""
    start, targets = labels.options.get("label_start"), labels.options.get("targets")
    weights, seen, first_row = labels.weights(), *np.unique(labels.numbers, return_index=True)
    if start is not None:
        seen, first_row = np.arange(len(names)), np.zeros(len(names), dtype=np.int64)
    order = np.argsort(first_row, kind="stable")  # in which a stream numbers its labels
    seen, first_row = seen[order], first_row[order]
    number_in_stream = np.zeros(labels.n, dtype=np.int32)
    number_in_stream[seen] = np.arange(len(seen))
    numbers, first = number_in_stream[labels.numbers], 0
    for batch in batches:
        last = first + len(batch)
        new = [] if targets is not None else np.flatnonzero((first_row >= first) & (first_row < last)).tolist()
        of_rows = slice(first, last) if start is None else slice(start[first], start[last])
        yield replace(
            batch,
            labels=numbers[of_rows],
            label_start=None if start is None else start[first : last + 1] - start[first],
            targets=None if targets is None else targets[first:last],
            weights=None if weights is None else weights[first:last],
            new_labels=[NewLabel(names[seen[k]], int(first_row[k]) - first, batch.location) for k in new],
        )
        first = last


def _without_label(rows: InMemory, X: Any, label: str) -> LabelledRows:
    """Return the rows without a column, and that column."""
    if label not in (columns := _columns(rows, X)):
        meant = hint(label, columns)
        raise DataError(f"X has no column {label!r} of labels{meant}; there are {listed(columns)}")
    if rows.format == OBJECTS:
        y = [row.get(label) for row in X]
        return LabelledRows(of_dicts([{key: row[key] for key in row if key != label} for row in X]), y, label)
    table: Any = rows.content
    column = table[label]
    plain = not column.null_count and str(column.type).startswith(("int", "uint", "float", "double", "bool"))
    y = column.to_numpy() if plain else column.to_pylist()
    return LabelledRows(replace(rows, content=table.drop_columns([label])), y, label)


def _columns(rows: InMemory, X: Any) -> list[str]:
    """Return the columns of a frame, or the keys of dicts; those of texts have none."""
    if not isinstance(rows.content, bytes):
        return list(rows.content.column_names)
    return list(dict.fromkeys(str(key) for row in X for key in row)) if rows.format == OBJECTS else []
