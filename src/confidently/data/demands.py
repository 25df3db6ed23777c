"""What is asked of a reader this time, as opposed to how rows are read (:mod:`confidently.data.reading`)."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _core
from .features import Features
from .memory.matrix import MAX_COLUMNS
from .reading import ReaderOptions
from .sources.source import CHUNK_BYTES

EXACT = -1  # in place of bits: names are kept


@dataclass(frozen=True, kw_only=True)
class Demands:
    """What a reader must do.

    Attributes
    ----------
    multilabel : bool, optional
        Whether rows have sets of labels; ``None`` where the first rows decide.
    ignore_labels : bool
        Leave labels unread.
    largest : float
        Values larger in size are errors.
    chunk_bytes : int
        Bytes read at a time.
    skip_errors : bool
        Pass over rows that are not as they should be.
    classes : tuple of str
        All labels there may be; empty: any.
    keep : tuple of str
        What is handed on of every row as it is: names of columns, "tag" in VW text.
    features : Features, optional
        Features that are known already.
    freeze : bool
        Forget other features with the batch they appear in.
    first_row : int
        Rows to leave out at the beginning, all numbers being what they would be with them.
    parsers : int, optional
        Threads that parse lines; 0: nothing is read ahead.
    """

    multilabel: bool | None = None
    ignore_labels: bool = False
    largest: float = 1e100
    chunk_bytes: int = CHUNK_BYTES
    skip_errors: bool = False
    classes: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    features: Features | None = None
    freeze: bool = False
    first_row: int = 0
    parsers: int | None = None

    def ahead(self, most: int) -> int:
        """How far something may run ahead of what follows, in a thread of its own."""
        return 0 if self.parsers == 0 else most

    def options(self, reading: ReaderOptions, own_columns: bool = False) -> _core.ReaderOptions:
        """What every compiled reader must know; ``own_columns``: it is one of several that share a stream."""
        kinds = {None: _core.LabelCount.any, True: _core.LabelCount.set, False: _core.LabelCount.one}
        return _core.ReaderOptions(
            largest=self.largest,
            most_columns=MAX_COLUMNS,
            labels=_core.LabelCount.ignored if self.ignore_labels else kinds[self.multilabel],
            skip_errors=self.skip_errors,
            l2=reading.normalize == "l2",
            bits=EXACT if reading.vocabulary else reading.bits,
            classes=list(self.classes),
            n_kept=len(self.keep),
            own_columns=own_columns,
        )
