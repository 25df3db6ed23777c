"""Writers of formats with one column per feature: CSV, TSV, Parquet, Feather."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from ...spreadsheets import harmless
from ..batch import DataError
from .rows import LABEL, TAG, WEIGHT, Row, Rows, number

MAX_TABLE_COLUMNS = 10_000  # every row has a cell for each
ROWS_PER_GROUP = 2**14  # of Parquet and Feather


class Table:
    """The columns of a table: label, weight and tag if rows have them, then one per feature.

    If it is ``safe``, a spreadsheet takes none of its names and texts for formulas.
    """

    def __init__(self, rows: Rows, safe: bool = False) -> None:
        """Read all rows once."""
        self.safe = safe
        self.tagged = self.weighted = False
        for batch in rows.batches:
            rows.learn_names(batch)
            if len(rows.names) > MAX_TABLE_COLUMNS:
                raise DataError(
                    f"the data have more than {MAX_TABLE_COLUMNS:,} features, too many for one column each; write "
                    "jsonl, vw or svmlight"
                )
            self.weighted |= batch.weights is not None
            self.tagged |= TAG in batch.kept and any(batch.kept[TAG])
        self.keys = list(rows.names)
        self.integer_labels = all(isinstance(label, int) for label in rows.labels)
        self.beside = [LABEL, *([WEIGHT] if self.weighted else []), *([TAG] if self.tagged else [])]
        self.columns = [*self.beside, *map(str, self.keys)]
        if clash := set(self.beside) & set(self.columns[len(self.beside) :]):
            raise DataError(f"a feature is called {clash.pop()!r}, like another column; rename it")
        if safe:
            self.columns = [harmless(column) for column in self.columns]

    def cells(self, row: Row) -> list[Any]:
        """Return the cells of a row; ``None``: empty."""
        beside = {LABEL: row.labels, WEIGHT: row.weight, TAG: row.tag}
        if self.safe:
            beside = {name: _harmless(cell) for name, cell in beside.items()}
        values = dict(row.features)
        return [*(beside[name] for name in self.beside), *map(values.get, self.keys)]


class TableWriter(Protocol):
    """Writes rows of cells."""

    def write(self, cells: Sequence[Any]) -> None: ...


class Csv:
    """Text, quoted where necessary."""

    def __init__(self, file: Any) -> None:
        self.writer = csv.writer(file, lineterminator="\n")

    def write(self, cells: Sequence[Any]) -> None:
        self.writer.writerow([_text(cell) for cell in cells])


class Tsv:
    """Text between tabs."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, cells: Sequence[Any]) -> None:
        texts = [_text(cell) for cell in cells]
        for text in texts:
            if any(mark in text for mark in "\t\r\n"):
                raise DataError(f"{text!r} has a tab or a line end, which TSV cannot hold; write csv")
        self.file.write("\t".join(texts) + "\n")


def _harmless(cell: Any) -> Any:
    if isinstance(cell, list):
        return [_harmless(part) for part in cell]
    return harmless(cell) if isinstance(cell, str) else cell


def _text(cell: Any) -> str:
    if isinstance(cell, list):
        return ",".join(map(str, cell))
    return "" if cell is None else number(cell) if isinstance(cell, float) else str(cell)


class Arrow:
    """Groups of rows, column by column."""

    def __init__(self, file: Any, schema: Any) -> None:
        self.file, self.schema, self.held = file, schema, list[Sequence[Any]]()
        self.texts = [str(field.type) in ("string", "list<item: string>") for field in schema]

    def write(self, cells: Sequence[Any]) -> None:
        self.held.append([_as_text(c) if text else c for c, text in zip(cells, self.texts, strict=True)])
        if len(self.held) >= ROWS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows held."""
        import pyarrow as pa

        if not self.held:
            return
        columns = zip(self.schema, zip(*self.held, strict=True), strict=True)
        self.file.write_table(pa.Table.from_arrays([pa.array(c, f.type) for f, c in columns], schema=self.schema))
        self.held.clear()


def _as_text(cell: Any) -> Any:
    return list(map(str, cell)) if isinstance(cell, list) else None if cell is None else str(cell)


Opener = Callable[[str, Table, bool], AbstractContextManager[TableWriter]]  # of a path, a table, whether multilabel


@contextmanager
def csv_writer(path: str, table: Table, multilabel: bool) -> Iterator[TableWriter]:
    """Open a CSV file, its header written."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = Csv(file)
        writer.write(table.columns)
        yield writer


@contextmanager
def tsv_writer(path: str, table: Table, multilabel: bool) -> Iterator[TableWriter]:
    """Open a TSV file, its header written."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = Tsv(file)
        writer.write(table.columns)
        yield writer


@contextmanager
def parquet_writer(path: str, table: Table, multilabel: bool) -> Iterator[TableWriter]:
    """Open a Parquet file."""
    from pyarrow import parquet

    schema = _schema(table, multilabel)
    with parquet.ParquetWriter(path, schema) as file:
        writer = Arrow(file, schema)
        yield writer
        writer.flush()


@contextmanager
def feather_writer(path: str, table: Table, multilabel: bool) -> Iterator[TableWriter]:
    """Open a Feather file."""
    import pyarrow as pa

    schema = _schema(table, multilabel)
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as file:
        writer = Arrow(file, schema)
        yield writer
        writer.flush()


def _schema(table: Table, multilabel: bool) -> Any:
    import pyarrow as pa

    label = pa.int64() if table.integer_labels else pa.string()
    types = {LABEL: pa.list_(label) if multilabel else label, WEIGHT: pa.float64(), TAG: pa.string()}
    return pa.schema(
        [(name, types[name] if k < len(table.beside) else pa.float64()) for k, name in enumerate(table.columns)]
    )
