"""Passes over rows: how many are made, and what is shown of them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

from ..data import Batch
from .progress import Bar, bar

Progress = Callable[[int], None]  # takes the number of rows done


def passes_of(
    estimator: Any, mistakes: Callable[[], int], n: int, passes: int
) -> Iterator[tuple[int, Progress | None]]:
    """Yield the number of each pass, and what to call with the rows of it that are done, if progress is shown.

    With ``tol``, passes end after one whose fraction of mistakes is not that much below the least before.

    Parameters
    ----------
    estimator : object
        With ``verbose`` and ``tol``; gets ``n_iter_``.
    mistakes : callable
        Returns how many mistakes have been made so far.
    n : int
        Rows of a pass.
    passes : int
        The largest number of passes.
    """
    least = inf
    with bar(n * passes, bool(estimator.verbose)) as show:
        for number in range(passes):
            before = mistakes()
            yield number, None if show is None else _of_pass(show, n * number)
            estimator.n_iter_ = number + 1
            error = (mistakes() - before) / max(n, 1)
            is_last = number + 1 == passes or (estimator.tol is not None and error > least - estimator.tol)
            if show is not None:
                counts = "" if estimator.predicts_numbers else f", {100 * error:.2f} % mistakes in pass {number + 1}"
                show(n * (number + 1), counts, is_last)
            if is_last:
                return
            least = min(least, error)


def counted_rows(batches: Iterable[Batch], show: Progress | None) -> Iterator[Batch]:
    """Yield the same batches and show how many of their rows have been used."""
    rows = 0
    for batch in batches:
        yield batch
        rows += len(batch)
        if show is not None:
            show(rows)


def check_tol(tol: Any) -> None:
    """Raise ``ValueError`` unless it is None or a number >= 0."""
    if tol is not None and (isinstance(tol, bool) or not isinstance(tol, numbers.Real) or not float(tol) >= 0):
        raise ValueError(f"tol must be None or a number >= 0, got {tol!r}")


def _of_pass(show: Bar, before: int) -> Progress:
    def progress(rows: int) -> None:
        show(before + rows, "", False)

    return progress
