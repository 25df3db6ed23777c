"""What one call requests from a reader, as opposed to how rows are read (:mod:`confidently.data.reading`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import _core
from .features import Features
from .memory.matrix import MAX_COLUMNS
from .reading import ReaderOptions
from .sources.source import CHUNK_BYTES

if TYPE_CHECKING:
    from .expected_columns import ExpectedColumns

EXACT = -1  # instead of a number of bits: names are kept


class ReadRequest(NamedTuple):
    """The request of one call.

    Attributes
    ----------
    multilabel : bool, optional
        Whether rows have any number of labels; ``None``: inferred from the first rows.
    ignore_labels : bool
        Do not read labels.
    targets : bool
        Whether the label of a row is a number, for regression.
    largest : float
        Largest absolute value that is allowed.
    chunk_bytes : int
        Bytes read at a time.
    skip_errors : bool
        Skip invalid rows.
    classes : tuple of str
        All allowed labels; empty: any.
    keep : tuple of str
        What to return of every row as it is: names of columns, "tag" in VW text.
    features : Features, optional
        Known features.
    freeze : bool
        Forget unknown features with the batch in which they appear.
    first_row : int
        Number of rows to leave out at the beginning; labels and features are numbered as if they were read.
    expected : ExpectedColumns, optional
        The columns of features that the model expects.
    parsers : int, optional
        Threads that parse lines; 0: nothing is read ahead.
    strict : bool
        In JSON lines, refuse text that is not UTF-8 and numbers beyond the range of double precision everywhere, also
        in what is not read as a number or not read at all.
    """

    multilabel: bool | None = None
    ignore_labels: bool = False
    targets: bool = False
    largest: float = 1e100
    chunk_bytes: int = CHUNK_BYTES
    skip_errors: bool = False
    classes: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    features: Features | None = None
    freeze: bool = False
    first_row: int = 0
    expected: ExpectedColumns | None = None
    parsers: int | None = None
    strict: bool = False

    def ahead(self, limit: int) -> int:
        """Return how many items a background thread may run ahead: ``limit``, or 0 if nothing is read ahead."""
        return 0 if self.parsers == 0 else limit

    def options(self, reading: ReaderOptions, own_columns: bool = False) -> _core.ReaderOptions:
        """Return the options of every compiled reader; ``own_columns``: it is one of several that share a stream."""
        return _core.ReaderOptions(
            largest=self.largest,
            max_columns=MAX_COLUMNS,
            labels=self._labels(),
            skip_errors=self.skip_errors,
            l2=reading.normalize == "l2",
            bits=EXACT if reading.vocabulary else reading.bits,
            classes=list(self.classes),
            n_kept=len(self.keep),
            zeros=reading.zeros,
            own_columns=own_columns,
            strict=self.strict,
            skip_unlabelled=reading.missing_label == "skip",
            missing=list(reading.missing or ()),
            whole_labels=reading.whole_labels,
        )

    def _labels(self) -> _core.LabelCount:
        counts = {None: _core.LabelCount.any, True: _core.LabelCount.several, False: _core.LabelCount.one}
        if self.ignore_labels:
            return _core.LabelCount.ignored
        return _core.LabelCount.target if self.targets else counts[self.multilabel]
