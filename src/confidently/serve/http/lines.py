"""NDJSON in and out: one line of the answer per line of the body, while the body still arrives.

Many clients read nothing before they have sent everything. So answers that the client does not take yet wait in a
temporary file and never delay reading the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from ..problems import Problem
from ..work.teaching import Receipt
from . import messages as m
from .calls import Call
from .replies import NDJSON, Flow, encoder

ROWS_PER_CHUNK, BYTES_PER_CHUNK = 512, 1 << 20
IN_MEMORY, PART = 1 << 20, 1 << 16  # bytes of answers that wait, and of those that are sent at once

Work = Callable[[list[bytes]], Awaitable[list[Any]]]


def by_lines(call: Call, work: Work, together: int = ROWS_PER_CHUNK) -> Flow:
    """Answer an NDJSON body with a line for each of its lines; a bad row fails alone.

    While the server is overloaded the call waits, which slows down the sender. ``together``: the most lines at once.
    """
    call.is_patient = True
    return Flow(_answers(call, work, together), NDJSON)


def as_lines(found: list[Any]) -> bytes:
    """Return messages, receipts and problems as lines of JSON."""
    shown = [
        one.as_json() if isinstance(one, Problem) else m.Receipt(*one) if isinstance(one, Receipt) else one
        for one in found
    ]
    return encoder.encode_lines(shown)


class _Waiting:
    """Answers that wait for the client, in the order of the rows."""

    def __init__(self) -> None:
        self.complete = False
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 (closed by close)
        self._written = self._sent = 0
        self._news = asyncio.Event()

    def add(self, answers: bytes) -> None:
        """Append answers."""
        self._file.seek(self._written)
        self._file.write(answers)
        self._written += len(answers)
        self._news.set()

    def end(self) -> None:
        """Mark the end of the answers."""
        self.complete = True
        self._news.set()

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """Yield the answers, until there are no more."""
        while True:
            while self._sent < self._written:
                self._file.seek(self._sent)
                part = self._file.read(min(PART, self._written - self._sent))
                self._sent += len(part)
                yield part
            if self.complete:
                return
            self._file.truncate(0)
            self._written = self._sent = 0
            self._news.clear()
            await self._news.wait()

    def close(self) -> None:
        """Discard everything."""
        self._file.close()


async def _answers(call: Call, work: Work, together: int) -> AsyncGenerator[bytes, None]:
    waiting = _Waiting()
    reading = asyncio.create_task(_read(call, work, together, waiting))
    try:
        async with aclosing(waiting.parts()) as parts:
            async for part in parts:
                yield part
        await reading
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reading
        waiting.close()


async def _read(call: Call, work: Work, together: int, waiting: _Waiting) -> None:
    """Do the work of a body's lines as they arrive."""
    try:
        async with aclosing(_chunks(call, together)) as chunks:
            async for lines in chunks:
                waiting.add(as_lines(await work(lines)))
    except Problem as problem:
        waiting.add(as_lines([problem]))
    finally:
        waiting.end()


async def _chunks(call: Call, together: int) -> AsyncGenerator[list[bytes], None]:
    lines, size = list[bytes](), 0
    async with aclosing(call.lines()) as arriving:
        async for some in arriving:
            for line in some:
                lines.append(line)
                size += len(line)
                if len(lines) == together or size >= BYTES_PER_CHUNK:
                    yield lines
                    lines, size = [], 0
    if lines:
        yield lines
