"""Progress of commands that read data and do not train."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...wording import counted
from .counts import Counts
from .delayed import DelayedReport
from .progress import Kind

if TYPE_CHECKING:
    from ...data import Batch, Stream


def _line(now: Counts, since: Counts) -> str:
    return f"{now.rows:13,} {now.rows_per_second:12,.0f}"


def _status(now: Counts) -> list[str]:
    return [counted(now.rows, "row"), f"{now.rows_per_second:,.0f} rows/s"]


READING = Kind("reading", f"{'rows':>13} {'rows/s':>12}", _line, lambda now, since: {}, _status)


def reported_batches(stream: Stream, quiet: bool) -> Iterator[Batch]:
    """Yield the batches of a stream; unless ``quiet``, report how much is done, once that takes a while."""
    if quiet:
        yield from stream
        return
    rows = 0
    with DelayedReport(READING, stream.total_bytes) as report:
        for batch in stream:
            yield batch
            rows += len(batch)
            report.update(Counts(rows=rows, bytes_read=batch.bytes_read, seconds=report.seconds))
