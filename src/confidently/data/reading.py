"""How the rows of a source become features: chosen for training, saved in the model, done again for prediction."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any

from .. import _core

SUFFIXES = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".vw": "vw", ".txt": "text",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather", ".ipc": "feather",
}  # fmt: skip
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
COMPRESSED = (".gz", ".zst", ".bz2", ".lz4", ".xz")
TABLES = ("csv", "tsv", "parquet", "feather", "jsonl")  # formats whose columns have names
DELIMITERS = {"csv": ",", "tsv": "\t"}
DEFAULT_LABEL = "label"  # the column of labels
MAX_BITS = 30
LONGEST_NGRAM = 16
CHOICES = {"analyzer": ("word", "char"), "counts": ("count", "binary"), "normalize": ("l2", "none")}


@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """How rows are read.

    Attributes
    ----------
    format : str
        One of ``confidently.data.FORMATS``.
    zero_based : bool
        svmlight: whether the first feature has index 0 rather than 1.
    columns : tuple of str
        CSV and TSV without a header line: the names of the columns.
    label, weight : str, optional
        Tables: the columns of labels (default "label") and of the examples' weights.
    drop, category, text : tuple of str
        Tables: columns to leave out; columns of numbers to take as categories; columns of text, taken as n-grams.
    codes : tuple of str, optional
        CSV and TSV: columns of codes, whose cells are categories even where they read as numbers; by default the first
        rows tell (``confidently.data.formats.codes.told``).
    analyzer : {"word", "char"}
        What n-grams are made of.
    ngrams : (int, int)
        Shortest and longest n-gram.
    counts : {"count", "binary"}
        Whether an n-gram counts as often as it occurs in the row, or once.
    bits : int
        Names of features are hashed into 2^bits columns, 1 to 30.
    vocabulary : bool
        Keep every name exactly instead of hashing.
    normalize : {"l2", "none"}
        Whether every row is scaled to length 1; by default "none" for svmlight, else "l2".
    """

    format: str = "svmlight"
    zero_based: bool = False
    columns: tuple[str, ...] = ()
    label: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    codes: tuple[str, ...] | None = None
    analyzer: str = "word"
    ngrams: tuple[int, int] = (1, 1)
    counts: str = "count"
    bits: int = 22
    vocabulary: bool = False
    normalize: str | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {self.format!r}")
        if self.normalize is None:
            object.__setattr__(self, "normalize", "l2" if self.named else "none")
        for name in ("columns", "drop", "category", "text", "codes", "ngrams"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        if not (type(self.bits) is int and 1 <= self.bits <= MAX_BITS):
            raise ValueError(f"bits must be a whole number from 1 to {MAX_BITS}; got {self.bits!r}")
        self._check_ngrams()
        self._check_columns()

    def _check_ngrams(self) -> None:
        whole = len(self.ngrams) == 2 and all(type(n) is int for n in self.ngrams)
        if not (whole and 1 <= self.ngrams[0] <= self.ngrams[1] <= LONGEST_NGRAM):
            raise ValueError(
                f"ngrams must be two whole numbers, shortest and longest, 1 to {LONGEST_NGRAM}; got {self.ngrams!r}"
            )

    def _check_columns(self) -> None:
        given = [name for name in ("label", "weight", "drop", "category", "text") if getattr(self, name)]
        if given and self.format not in TABLES:
            raise ValueError(f"{given[0]} is for tables ({', '.join(TABLES)}); {self.format} has no named columns")
        if self.columns and self.format not in DELIMITERS:
            raise ValueError(f"columns is for csv and tsv without a header line; {self.format} names its columns")
        if self.codes and self.format not in DELIMITERS:
            raise ValueError(f"codes is for csv and tsv; {self.format} tells strings from numbers")

    @property
    def named(self) -> bool:
        """Whether features have names, rather than numbers."""
        return self.format != "svmlight"

    def ngram_options(self) -> _core.NgramOptions:
        """What the compiled readers must know about n-grams."""
        shortest, longest = self.ngrams
        return _core.NgramOptions(
            characters=self.analyzer == "char", shortest=shortest, longest=longest, binary=self.counts == "binary"
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> ReaderOptions:
        """The reading of a model's ``source``, with the first rows behind it; what else stands there is left alone."""
        return cls(**({"codes": ()} | {f.name: source[f.name] for f in fields(cls) if f.name in source}))


def format_of(paths: Sequence[str | os.PathLike[str]], default: str = "svmlight") -> str:
    """The format that the files' suffixes tell, compression aside.

    Raises
    ------
    ValueError
        If they tell different ones.
    """
    told = {kind: os.fspath(path) for path in reversed(paths) if (kind := format_of_suffix(path)) is not None}
    if len(told) > 1:
        listed = ", ".join(f"{path} {kind}" for kind, path in told.items())
        raise ValueError(f"files of one stream have one format; here are {listed}: give it, or read them one by one")
    return next(iter(told), default)


def format_of_suffix(path: str | os.PathLike[str]) -> str | None:
    """The format that a file's suffix tells, if it tells one."""
    suffixes = [suffix.lower() for suffix in PurePath(os.fspath(path)).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None
