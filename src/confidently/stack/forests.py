"""Which trees a stack has members on, by what they cost."""

from __future__ import annotations

from collections.abc import Iterator

from ..views.trees import Trees

MOST_OUTPUTS = 32  # scores, of which each has trees of its own
MOST, DEAR = 4096, 1024  # columns times scores: of which there are trees, and of which fewer and later ones
FEWER_AND_LATER = {"rounds": 50, "first": 1000}
LONGEST = 16_000  # rows of a window
WINDOWS = ((LONGEST, 4000, 100), (2000, 500, 50))  # rows, rows after which trees grow again, and trees of a score


def trees_for(rows: int, columns: int, outputs: int) -> Iterator[tuple[str, Trees, bool]]:
    """Yield name and view of the members on trees, and whether they are of streams or of rows in random order.

    On a stream, trees of the last rows follow what moves; those of many classes grow as many times less often, on more
    rows, since each class has its own.

    Parameters
    ----------
    rows : int
        First rows that are known; with few, which may also be texts, there are none.
    columns : int
    outputs : int
        Scores of a row: classes, or one of two, or numbers.
    """
    if outputs > MOST_OUTPUTS or columns * outputs > MOST or rows < Trees().first:
        return
    dear = FEWER_AND_LATER if columns * outputs > DEAR else {}
    yield "trees", Trees(**dear), False
    part, windows = max(outputs // 2, 1), dict[int, dict[str, int]]()
    for window, every, rounds in WINDOWS:
        windows.setdefault(min(window * part, LONGEST), {"every": every * part, "rounds": rounds} | dear)
    for window, how in windows.items():
        yield f"trees of the last {window:,} rows", Trees(window=window, **how), True
