"""How the rows of a source become features: chosen for training, saved in the model and used again for prediction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from typing import Any

from .. import _core
from ..encoders import EncoderInfo
from .formats import table
from .formats.table import FORMATS, Format
from .sources.encoding import UTF8, checked_encoding
from .sources.json_schema import conform

DEFAULT_LABEL = "label"  # name of the column of labels
DEFAULT_TEXT = "text"  # name of the column of texts that an encoder takes
MAX_BITS = 30
MAX_NGRAM = 16
MAX_LISTED = 30  # columns, in a message
DATE_PARTS = ("time", "hour", "weekday")  # the features of a column of dates, as core/data/dates.hpp has them
CHOICES = {
    "analyzer": ("word", "char"),
    "counts": ("count", "binary"),
    "normalize": ("l2", "none"),
    "decimal": (".", ","),
    "thousands": ("", ",", ".", " ", "'", "_"),
    "missing_label": ("error", "skip"),
}
DELIMITERS = ",;\t|:^~"  # of cells; others could be parts of numbers or words
DATE_DIRECTIVES = "dmYybaHIMSfpz"  # of date_format

MARKS = ("decimal", "thousands")
OF_OTHER_FEATURES = ("drop", "only", "category", "codes", "dates", "units", "vocabulary")
DIRECTIVE = re.compile("%(.?)")
TUPLES = (
    "columns", "drop", "only", "category", "text", "codes", "dates", "numbers", "mixed", "missing", "units",
    "unit_names", "header", "ngrams",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """How rows are read.

    Attributes
    ----------
    format : str
        One of ``confidently.data.FORMATS``.
    zero_based : bool
        svmlight: whether the first feature has index 0 instead of 1.
    columns : tuple of str
        CSV and TSV without a header line: the names of the columns.
    delimiter : str, optional
        CSV and TSV: the character between cells. By default it is a tab in TSV; in CSV it is a comma unless the first
        rows show that it is a semicolon, a tab or a vertical bar.
    decimal : {".", ","}
        The decimal mark of numbers in text: in all columns of CSV and TSV, in other formats in those of ``units``.
    thousands : {"", ",", ".", " ", "'", "_"}
        The separator of groups of three digits, in the same columns; a space also stands for spaces without a break.
    units : tuple of str
        Formats with named columns: columns of numbers in text with a unit, a currency or a percent sign, which is
        left out. Every cell must be a number or missing, and all units of a column must be the same.
    unit_names : tuple of str
        The units of these columns in the first rows.
    date_format : str, optional
        Formats with named columns: how columns of dates write them besides ISO 8601, such as ``%d/%m/%Y``, of
        %d %m %Y %y %b %a %H %I %M %S %f %p %z, several with a bar between them; by default inferred from the first
        rows. Every cell must be such a date or missing.
    label, weight : str, optional
        Formats with named columns: the columns of labels (default "label") and of example weights.
    drop, only : tuple of str
        Formats with named columns: columns to leave out, and the only columns to read besides labels and weights; by
        default all. VW text: namespaces, of which "" is the one without a name.
    category, text : tuple of str
        Formats with named columns: columns of numbers to read as categories, and columns of text to read as n-grams.
    codes : tuple of str, optional
        CSV and TSV: columns of codes, whose cells are categories even if they look like numbers; by default inferred
        from the first rows (``confidently.data.formats.inference.infer_columns``).
    dates : tuple of str
        Formats with named columns: columns of dates and times, which become numbers. In CSV and TSV, columns whose
        first cells are all dates are added. Parts of a date may be named in ``drop``, ``only`` and ``category``.
    numbers : tuple of str
        CSV and TSV: columns of numbers, in which ``?``, ``NA`` and the like are missing values; others that the first
        rows show are added. Parquet and Feather: those of the first file. JSON lines: those of a table of which a model
        has learned, in which strings are read as cells.
    mixed : tuple of str
        CSV and TSV: the columns of ``numbers`` whose first rows also have numbers in other forms, which become
        categories. In the other columns such a cell is an error.
    missing : tuple of str, optional
        Formats with named columns: what stands for missing values in every column, such as ``-999``, besides words such
        as ``NA``; numbers count in any spelling and type. By default numbers that the first rows show to be such marks.
    whole_labels : bool
        Whether commas belong to labels, unless rows are multilabel; inferred from the first rows.
    header : tuple of str, optional
        The columns of features in the first file, in formats with a header; ``None``: not examined yet.
    analyzer : {"word", "char"}
        Unit of the n-grams.
    ngrams : (int, int)
        Shortest and longest n-gram.
    counts : {"count", "binary"}
        Whether the value of an n-gram is its count in the row or 1.
    bits : int
        Names of features are hashed into 2^bits columns, 1 to 30.
    vocabulary : bool
        Keep every name exactly instead of hashing.
    encoding : str
        Text: the encoding of the files, one of Python's codecs.
    normalize : {"l2", "none"}
        Whether to scale every row to unit L2 norm; by default "l2" if features have names, otherwise "none".
    missing_label : {"error", "skip"}
        Action on a row without a label, unless rows are multilabel: raise an error, or skip the row.
    zeros : bool
        Formats with named columns: whether a number that is 0 is an entry of its row, unlike a missing one. For views
        that know the difference.
    encoder : EncoderInfo, optional
        What makes a vector of the text of a row, whose numbers are its features, in place of all others. Of named
        columns, ``text`` has the one with the text, by default "text". Plain text and formats with named columns.
    """

    format: str = table.DEFAULT
    zero_based: bool = False
    columns: tuple[str, ...] = ()
    label: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    codes: tuple[str, ...] | None = None
    dates: tuple[str, ...] = ()
    numbers: tuple[str, ...] = field(default=(), compare=False)
    mixed: tuple[str, ...] = field(default=(), compare=False)
    missing: tuple[str, ...] | None = None
    whole_labels: bool = field(default=False, compare=False)
    delimiter: str | None = None
    decimal: str = "."
    thousands: str = ""
    units: tuple[str, ...] = ()
    unit_names: tuple[str, ...] = field(default=(), compare=False)
    date_format: str | None = None
    header: tuple[str, ...] | None = field(default=None, compare=False)
    analyzer: str = "word"
    ngrams: tuple[int, int] = (1, 1)
    counts: str = "count"
    bits: int = 22
    vocabulary: bool = False
    encoding: str = UTF8
    normalize: str | None = None
    missing_label: str = "error"
    zeros: bool = False
    encoder: EncoderInfo | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"unknown format {self.format!r}; expected one of {', '.join(FORMATS)}")
        if self.missing is None and not self.file_format.columns:
            object.__setattr__(self, "missing", ())
        if self.normalize is None:
            object.__setattr__(self, "normalize", "l2" if self.named else "none")
        for name in TUPLES:
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _several(name, given))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                shown = ", ".join(repr(value) if name in MARKS else value for value in allowed)
                raise ValueError(f"unknown {name} {getattr(self, name)!r}; expected one of {shown}")
        if not (type(self.bits) is int and 1 <= self.bits <= MAX_BITS):
            raise ValueError(f"bits must be an integer from 1 to {MAX_BITS}, got {self.bits!r}")
        object.__setattr__(self, "encoding", checked_encoding(self.encoding))
        if self.encoding != UTF8 and self.file_format.binary:
            raise ValueError(f"encoding is for text; {self.format} is binary")
        self._check_ngrams()
        self._check_columns()
        self._check_cells()
        if self.encoder is not None:
            self._check_encoded()

    def _check_ngrams(self) -> None:
        whole = len(self.ngrams) == 2 and all(type(n) is int for n in self.ngrams)
        if not (whole and 1 <= self.ngrams[0] <= self.ngrams[1] <= MAX_NGRAM):
            raise ValueError(
                f"ngrams must be two integers, shortest and longest, from 1 to {MAX_NGRAM}, got {self.ngrams!r}"
            )

    def _check_columns(self) -> None:
        uses = ("label", "weight", "category", "text", "dates", "numbers", "units")
        given = [name for name in uses if getattr(self, name)]
        if given and not self.file_format.columns:
            listed = ", ".join(table.WITH_COLUMNS)
            raise ValueError(f"{given[0]} is for formats with named columns ({listed}); {self.format} has none")
        chosen = [name for name in ("drop", "only") if getattr(self, name)]
        if chosen and self.format not in table.SELECTABLE:
            listed = ", ".join(table.SELECTABLE)
            raise ValueError(f"{chosen[0]} is for named columns and namespaces ({listed}); {self.format} has neither")
        if both := [name for name in self.drop if name in self.only]:
            raise ValueError(f"{both[0]!r} is both in drop and in only; use one of the two")
        if self.columns and self.file_format.delimiter is None:
            raise ValueError(f"columns is for csv and tsv without a header; {self.format} has no header")
        if self.codes and self.file_format.delimiter is None:
            raise ValueError(f"codes is for csv and tsv; {self.format} distinguishes strings from numbers")

    def _check_encoded(self) -> None:
        if not (self.file_format.text or self.file_format.columns):
            raise ValueError(f"an encoder needs texts; {self.format} has none")
        if given := [name for name in OF_OTHER_FEATURES if getattr(self, name) not in ((), None, False)]:
            raise ValueError(f"{given[0]}: with an encoder, only the text of a row counts; leave it out")
        if self.file_format.columns and not self.text:
            object.__setattr__(self, "text", (DEFAULT_TEXT,))
        if len(self.text) > 1:
            raise ValueError(f"text: an encoder reads one column, got {', '.join(self.text)}; join their texts first")

    def _check_cells(self) -> None:
        """Check how cells and the values in them are written."""
        text = self.file_format.delimiter is not None
        if self.delimiter is not None and not text:
            raise ValueError(f"delimiter is for csv and tsv; {self.format} has no cells")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter not in DELIMITERS):
            raise ValueError(
                f"delimiter must be one of {', '.join(map(repr, DELIMITERS))}, got {self.delimiter!r}; convert the file"
            )
        marks = [name for name in MARKS if getattr(self, name) != getattr(type(self), name)]
        if marks and not (text or self.units or self.numbers):
            raise ValueError(
                f"{marks[0]} is for csv and tsv, and for columns that units names; {self.format} distinguishes strings "
                "from numbers"
            )
        if self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands must differ, got {self.decimal!r} twice; use another --decimal")
        if self.date_format is None:
            return
        if not self.file_format.columns or not (text or self.dates):
            raise ValueError(f"date_format is for columns of dates; in {self.format}, name them with dates")
        for form in self.date_format.split("|"):
            self._check_date_format(form)

    def _check_date_format(self, form: str) -> None:
        found = DIRECTIVE.findall(form)
        if unknown := [name for name in found if name not in (*DATE_DIRECTIVES, "%")]:
            raise ValueError(
                f"date_format: unknown %{unknown[0]} in {form!r}; expected one of "
                + ", ".join(f"%{name}" for name in DATE_DIRECTIVES)
            )
        has_day, has_month, has_hour = (not {*found}.isdisjoint(names) for names in ("d", "mb", "HI"))
        is_time = has_hour and {*found}.isdisjoint("dmbyY")
        if not (is_time or (has_day and has_month)):
            raise ValueError(f"date_format needs a day and a month, or only an hour, got {form!r}; use %d/%m/%Y")

    @property
    def file_format(self) -> Format:
        """The row of the table of formats."""
        return table.BY_NAME[self.format]

    @property
    def named(self) -> bool:
        """Whether features have names rather than numbers."""
        return self.file_format.named and self.encoder is None

    def of_texts(self) -> ReaderOptions:
        """Return the options to read the text of a row that an encoder takes, and no other features."""
        return replace(self, encoder=None, normalize="none", only=self.text)

    @property
    def first_index(self) -> int:
        """The number of the first column in the input, if features are numbered."""
        return 0 if self.zero_based else 1

    def of_objects(self) -> ReaderOptions:
        """Return the options for the same columns in rows that are JSON objects.

        In columns of numbers, strings are read as the cells of the table.
        """
        category = (*self.category, *(self.codes or ()))
        marks = {} if self.units or self.numbers else {name: getattr(type(self), name) for name in MARKS}
        date_format = self.date_format if self.dates else None
        return replace(
            self, format=table.OBJECTS, columns=(), codes=None, header=(), category=category, delimiter=None,
            date_format=date_format, **marks,
        )  # fmt: skip

    def of_table(self) -> ReaderOptions:
        """Return the options for the same columns in tables that declare their types.

        Whether the other columns hold numbers or strings is not known of text, cell by cell.
        """
        if self.file_format.binary:
            return self
        header = self.header or ()
        return replace(
            self.of_objects(), format=table.TYPED, header=header,
            mixed=tuple(name for name in header if name in self.mixed or name not in self.numbers), encoding=UTF8,
        )  # fmt: skip

    def number_format(self, units: bool = False, strict: bool = False) -> _core.NumberFormat:
        """How numbers are written, for the compiled readers."""
        return _core.NumberFormat(decimal=self.decimal, thousands=self.thousands, units=units, strict=strict)

    def ngram_options(self) -> _core.NgramOptions:
        """The options of n-grams for the compiled readers."""
        shortest, longest = self.ngrams
        return _core.NgramOptions(
            characters=self.analyzer == "char", shortest=shortest, longest=longest, binary=self.counts == "binary"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the options as JSON can hold them."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        found["missing"] = found["missing"] or []
        if self.encoder is None:
            del found["encoder"]
        return found

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> ReaderOptions:
        """Return the options in a model's ``source``, which were inferred already; other entries are ignored.

        Raises
        ------
        ValueError
            If an option is not of its type, or not allowed.
        """
        given = {"codes": (), "header": (), "missing": (), "mixed": source.get("numbers", ())} | dict(source)
        return conform(given, cls, "source")


def _several(name: str, given: Any) -> tuple[Any, ...]:
    """Return one string or several, for missing values also numbers, as a tuple."""
    found = (given,) if isinstance(given, str | Real) else tuple(given)
    if name == "missing":
        found = tuple(f"{float(one):.15g}" if isinstance(one, Real) else one for one in found)
    if name != "ngrams" and not all(isinstance(one, str) for one in found):
        raise TypeError(f"{name}: expected a string or several, got {given!r}")
    return found


def date_features(column: str) -> list[str]:
    """Return the names of the features of a column of dates."""
    return [f"{column}.{part}" for part in DATE_PARTS]
