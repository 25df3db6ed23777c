"""A bar of how much of a stream or of passes over an array is done, in a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from ..data.batch import Batch
from ..wording import counted

REFRESH_SECONDS = 0.1
Show = Callable[[int, int | None, str], None]
Bar = Callable[[int, str, bool], None]  # takes the rows used, what else to say, and whether they are the last


def watched(batches: Iterable[Batch], total_bytes: int | None) -> Iterator[Batch]:
    """Yield the same batches and show on the way how many rows have been used.

    Parameters
    ----------
    batches : iterable of Batch
    total_bytes : int, optional
        Bytes of all of them together, if that is known.
    """
    show, close = _in_notebook() if _is_notebook() else _in_terminal()
    rows, read, begun, shown = 0, 0, time.monotonic(), 0.0
    try:
        for batch in batches:
            yield batch  # and learn it
            rows, read, now = rows + len(batch), batch.bytes_read, time.monotonic()
            if now - shown >= REFRESH_SECONDS:
                show(read, total_bytes, _text(rows, now - begun))
                shown = now
        show(read, read, _text(rows, time.monotonic() - begun))
    finally:
        close()


@contextmanager
def bar(total: int, is_shown: bool) -> Iterator[Bar | None]:
    """Yield a function that shows how many of all rows have been used; ``None`` if nothing is to be shown."""
    if not is_shown:
        yield None
        return
    show, close = _in_notebook() if _is_notebook() else _in_terminal()
    begun, shown, said = time.monotonic(), 0.0, ""

    def update(rows: int, more: str, is_last: bool) -> None:
        nonlocal shown, said
        now, said = time.monotonic(), more or said
        if is_last or now - shown >= REFRESH_SECONDS:
            show(rows, rows if is_last else total, _text(rows, now - begun) + said)
            shown = now

    try:
        yield update
    finally:
        close()


def _text(rows: int, seconds: float) -> str:
    return f"{counted(rows, 'row')}, {rows / max(seconds, 1e-9):,.0f} rows/s"


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def _in_terminal() -> tuple[Show, Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    progress = Progress(
        BarColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn(), console=Console(stderr=True)
    )
    task = progress.add_task("", total=None, text="")
    progress.start()

    def show(read: int, total: int | None, text: str) -> None:
        progress.update(task, completed=read, total=total, text=text)

    return show, progress.stop


def _in_notebook() -> tuple[Show, Callable[[], None]]:
    from IPython.display import display

    handle: Any = display({"text/html": ""}, raw=True, display_id=True)

    def show(read: int, total: int | None, text: str) -> None:
        value = f' value="{read}" max="{max(total, 1)}"' if total is not None else ""
        handle.update({"text/html": f"<progress{value}></progress> {escape(text)}"}, raw=True)

    return show, lambda: None
