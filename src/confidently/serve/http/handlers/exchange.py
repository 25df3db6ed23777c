"""Rows in the forms of other tools: import and export."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ...exchange import label_studio, prodigy
from ...exchange.record import Labelled
from ...model.hosted import Hosted
from ...problems import Problem, tried
from ...work import exchange, listing
from ...work.checking import Taught
from ..calls import Call, decoded, decoded_lines
from ..lines import ROWS_PER_CHUNK
from ..replies import JSON, NDJSON, Flow, Sendable, answered, encoder

MAX_PROBLEMS = 20  # that an import shows
MAX_COLUMNS, MAX_NAME = 100, 200  # of a query
T = TypeVar("T")
Rows = Iterable[Labelled | None]


class Imported(Struct):
    """What an import has done.

    ``rows`` are durable; ``skipped`` says nothing of a label; ``failed`` is wrong. ``problems`` has the first of these,
    with pointers that begin with the number of the record.
    """

    batch: str
    rows: int
    skipped: int
    failed: int
    problems: list[Any]


async def get_label_studio(call: Call) -> Sendable:
    """Export learned rows as tasks of Label Studio with annotations, or waiting rows with predictions."""
    hosted, control, target = of_classes(call), call.text("control", 200) or "label", call.text("target", 200) or "text"
    guesses = call.choice("rows", ("learned", "waiting")) == "waiting"
    version = version_of(hosted) if guesses else None

    async def parts() -> AsyncGenerator[bytes, None]:
        before = b"["
        async for rows in _pages(call, hosted, guesses):
            for row in rows:
                yield before + encoder.encode(label_studio.exported(row, control, target, version))
                before = b",\n"
        yield b"]" if before != b"[" else b"[]"

    return Flow(parts(), JSON)


async def post_label_studio(call: Call) -> Sendable:
    """Learn the annotations of tasks of Label Studio; those that changed correct what was learned of them."""
    hosted, control = of_classes(call), call.text("control", 200)
    columns = call.query.getlist("column")
    if len(columns) > MAX_COLUMNS or any(not 0 < len(name) <= MAX_NAME for name in columns):
        raise Problem("invalid-parameter", f"column: expected at most {MAX_COLUMNS} of 1 to {MAX_NAME} characters")

    def rows_of(task: label_studio.Task) -> Rows:
        return label_studio.labelled(task, hosted.model.task.multilabel, columns, control)

    return await _import(call, hosted, label_studio.TOOL, label_studio.Task, rows_of)


async def get_prodigy(call: Call) -> Sendable:
    """Export learned rows, or waiting ones, as lines of Prodigy."""
    hosted, column = of_classes(call), _text_column(call)
    waiting = call.choice("rows", ("learned", "waiting")) == "waiting"
    classes = [str(name) for name in hosted.model.classes]
    pages = _pages(call, hosted, waiting)
    first = [_record(row, column, classes) for row in await anext(pages, [])]  # so that a wrong column is refused

    async def parts() -> AsyncGenerator[bytes, None]:
        yield encoder.encode_lines(first)
        async for rows in pages:
            yield encoder.encode_lines([_record(row, column, classes) for row in rows])

    return Flow(parts(), NDJSON)


async def post_prodigy(call: Call) -> Sendable:
    """Learn records of Prodigy that have an answer."""
    hosted, column = of_classes(call), _text_column(call)
    classes = [str(name) for name in hosted.settings.classes]

    def rows_of(record: prodigy.Record) -> Rows:
        return [prodigy.labelled(record, column, hosted.model.task.multilabel, classes)]

    return await _import(call, hosted, prodigy.TOOL, prodigy.Record, rows_of)


def of_classes(call: Call) -> Hosted:
    """Return the model of a call.

    Raises
    ------
    Problem
        If it predicts numbers, which are no choices.
    """
    hosted = call.hosted
    if hosted.model.task.regression:
        raise Problem("invalid-parameter", f"the model {hosted.name!r} predicts numbers; choices are classes")
    return hosted


def version_of(hosted: Hosted) -> str:
    """Return the name of the model as it is: another one for another version, and whenever the rows have doubled."""
    return f"{hosted.name}-{hosted.live.number}.{hosted.metrics.rows.bit_length()}"


def _text_column(call: Call) -> str:
    """Return the column of texts: the one asked for, or the only one that the model reads as text."""
    found = call.text("text", 200)
    columns = call.hosted.settings.reading.text
    return found if found is not None else columns[0] if len(columns) == 1 else "text"


def _record(row: dict[str, Any], column: str, classes: list[str]) -> prodigy.Record:
    try:
        return prodigy.exported(row, column, classes)
    except ValueError as error:
        raise Problem("invalid-parameter", str(error)) from None


async def _pages(call: Call, hosted: Hosted, waiting: bool) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield learned rows, or waiting ones, some at a time."""
    if waiting:
        yield await call.log(exchange.waiting(hosted))
        return
    last: int | None = 0
    while last is not None:
        call.check_allowed()
        rows, last = await call.log(listing.export(hosted, last, ROWS_PER_CHUNK))
        yield [row | {name: msgspec.json.decode(row[name]) for name in ("features", "label")} for row in rows]


async def _import(call: Call, hosted: Hosted, tool: str, kind: type[T], rows_of: Callable[[T], Rows]) -> Sendable:
    """Learn what records say, in one batch."""
    batch = call.text("batch", 200) or f"{tool}-{time.strftime('%Y-%m-%d')}-{secrets.token_hex(4)}"
    done, before = Imported(batch, 0, 0, 0, []), 0
    async for records in _records(call, kind):
        rows = list[Taught]()
        numbers = list[int]()
        for number, record in enumerate(records, before):
            for row in _tried_rows(rows_of, record):
                checked = await call.checked(_tried_row, hosted, row) if isinstance(row, Labelled) else row
                if checked is None:
                    done.skipped += 1
                elif isinstance(checked, Problem):
                    _add_problem(done, checked, number)
                else:
                    rows.append(checked)
                    numbers.append(number)
        before += len(records)
        for at, found in zip(numbers, await _learned(call, hosted, rows, batch), strict=True):
            if isinstance(found, Problem):
                _add_problem(done, found, at)
            else:
                done.rows += 1
    return answered(done)


def _tried_row(hosted: Hosted, row: Labelled) -> Taught | Problem | None:
    return tried(exchange.labelled_row, hosted, row)


async def _learned(call: Call, hosted: Hosted, rows: list[Taught], batch: str) -> list[Any]:
    return await call.log(exchange.learn_labelled(call.engine, hosted, rows, batch)) if rows else []


async def _records(call: Call, kind: type[T]) -> AsyncGenerator[list[T | Problem], None]:
    """Yield the records of a body, some at a time: those of lines as they arrive."""
    if call.is_ndjson:
        async for lines in call.lines():
            for k in range(0, len(lines), ROWS_PER_CHUNK):
                yield decoded_lines(lines[k : k + ROWS_PER_CHUNK], kind)
        return
    records: list[T | Problem] = [*decoded(await call.body(), list[kind])]  # type: ignore[valid-type]
    for k in range(0, len(records), ROWS_PER_CHUNK):
        yield records[k : k + ROWS_PER_CHUNK]


def _tried_rows(rows_of: Callable[[T], Rows], record: T | Problem) -> Iterator[Labelled | Problem | None]:
    if isinstance(record, Problem):
        yield record
        return
    try:
        yield from list(rows_of(record))
    except ValueError as error:
        yield Problem("invalid-body", str(error))


def _add_problem(done: Imported, problem: Problem, number: int) -> None:
    done.failed += 1
    if len(done.problems) < MAX_PROBLEMS:
        done.problems.append(problem.within(f"/{number}").as_json())
