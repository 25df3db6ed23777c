"""Rows as the server keeps them: JSON objects on a line each, read by the compiled reader of JSON lines.

Features arrive as a JSON object. With a label they become one line, the label first: ``{"label":"ham","n_links":4}``.
This is the line that ``confidently train`` would read.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from ... import _core
from ...data.batch import Batch, batch_of
from ...data.encoded import kept_text, with_vectors
from ...data.features import Features, NewFeatures
from ...data.formats.lines import parser_of
from ...data.memory.matrix import largest_value
from ...data.reading import ReaderOptions
from ...data.request import ReadRequest
from ...encoders import EncoderError, encoder_of
from ...tasks.task import Task
from ..log.vectors import NAMED, vector_in, without_vector
from ..problems import Problem

WHERE = re.compile(r"line ([0-9]+)(?:, column ([0-9]+))?: (.*)", re.DOTALL)
OF_NUMBERS = 'for numbers make the model with "task": "numbers"'
OPTION = re.compile(r" \(--[a-z-]+\)")  # of the command line
MAX_INTEGER = 2**53  # up to which all integers are numbers of double precision
BREAKS = bytes.maketrans(b"\r\n", b"  ")  # between the tokens of JSON; strings have none


def one_line(features: bytes) -> bytes:
    """Return a JSON object without line breaks."""
    return features.strip().translate(BREAKS)


def labelled_line(key: str, label: bytes, features: bytes) -> bytes:
    """Return the line of a row, which has its label, as JSON, first; without the line end."""
    rest = features[1:].lstrip()
    return b"".join((_before_label(key), label, b"" if rest == b"}" else b",", rest))


@lru_cache
def _before_label(key: str) -> bytes:
    return b"{" + msgspec.json.encode(key) + b":"


def label_names(label: bytes) -> list[str]:
    """Return the names of the classes in a label, as JSON, sorted; true and false are the classes 1 and 0.

    >>> label_names(b'"spam"'), label_names(b'["b","a"]'), label_names(b"true"), label_names(b"1.0")
    (['spam'], ['a', 'b'], ['1'], ['1'])
    """
    try:
        found = msgspec.json.decode(label)
    except ValueError:  # a number beyond the range, in a log of an older version
        return [label.decode(errors="replace")]
    return sorted(str(label_of(one)) for one in (found if isinstance(found, list) else [found]))


def label_of(value: Any) -> Any:
    """Return a label as rows have it: true, false and 1.0 are the classes or numbers 1, 0 and 1.

    >>> label_of(True), label_of(2.0), label_of(2.5), label_of("spam"), label_of(1e300)
    (1, 2, 2.5, 'spam', 1e+300)
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < MAX_INTEGER else value
    return int(value) if isinstance(value, bool) else value


def key_of(line: bytes, name: str) -> str | int:
    """Return the key of a row's entity.

    >>> key_of(b'{"user":"ann"}', "user"), key_of(b'{"user":7}', "user")
    ('ann', 7)

    Raises
    ------
    ValueError
        If there is none.
    """
    found = msgspec.json.decode(line, type=dict[str, Any]).get(name)
    if isinstance(found, str | int) and not isinstance(found, bool):
        return found
    told = "is missing" if found is None else f"is {found!r}"
    raise ValueError(f"{name!r}, the key, {told}; send a string or an integer")


def same_label(first: bytes, second: bytes) -> bool:
    """Return whether two labels are the same: 1, 1.0 and "1" are; labels of a set may be in any order."""
    return first == second or label_names(first) == label_names(second)


def distance(label: bytes, guess: Any) -> float:
    """Return the absolute difference between two numbers, a label as JSON and a guess; 0 of classes.

    >>> distance(b"2.5", 2), distance(b'"2.5"', 2), distance(b'"spam"', "ham")
    (0.5, 0.5, 0.0)
    """
    with suppress(TypeError, ValueError):
        return float(abs(float(msgspec.json.decode(label)) - guess))
    return 0.0


class RowReader:
    """Reads the lines of one model, in the order of its log; features and labels are numbered as they appear.

    Parameters
    ----------
    reading : ReaderOptions
    dtype : str
        Of the model, which bounds the values.
    task : Task
        What labels are.
    classes : sequence of str
        All allowed labels; empty: any.
    features : Features, optional
        Known features.
    """

    def __init__(
        self, reading: ReaderOptions, dtype: str, task: Task, classes: Sequence[str] = (),
        features: Features | None = None,
    ) -> None:  # fmt: skip
        of_labels: dict[str, Any] = dict(task.reading)
        encodes, rows_as = reading.encoder is not None, _rows_as(reading)
        request = ReadRequest(
            **of_labels, largest=largest_value(dtype), classes=tuple(classes), features=features, parsers=0,
            freeze=encodes, keep=_kept(reading),
        )  # fmt: skip
        self._parser = parser_of(rows_as, request, own_columns=not encodes)
        self._numbering = _core.Numbering(request.options(rows_as))
        self._reading, self._multilabel = reading, task.multilabel
        if encodes:
            _forget_features(self._parser)
        if features is not None:
            self._numbering.restore(features.key, features.names.text, features.names.start)

    def batch(self, lines: Sequence[bytes], weights: Sequence[float] | None = None) -> Batch:
        """Return rows with labels.

        Raises
        ------
        ValueError
            For the first invalid row, with its line.
        """
        self._parser.parse(b"", _joined(lines, self._reading), 1)
        self._parser.number(self._numbering)
        found = _encoded(batch_of("rows", "row", self._parser.take(), _kept(self._reading), 0), lines, self._reading)
        if not self._multilabel:
            found.label_start = None
        if weights is not None and any(weight != 1.0 for weight in weights):
            found.weights = np.array(weights, dtype=np.float64)
        return found


class QuestionReader:
    """Reads rows without labels for a model whose features grow; features that it does not know are forgotten.

    Parameters
    ----------
    reading, dtype
        As of :class:`RowReader`.
    features : Features, optional
        Known features.
    strict : bool
        Whether everything in a row must be UTF-8 and within the range of numbers, also what is not read.
    """

    def __init__(
        self, reading: ReaderOptions, dtype: str, features: Features | None = None, strict: bool = False
    ) -> None:
        request = ReadRequest(
            ignore_labels=True, largest=largest_value(dtype), freeze=True, parsers=0, strict=strict,
            keep=_kept(reading),
        )  # fmt: skip
        self._reading, rows_as = reading, _rows_as(reading)
        self._parser = parser_of(rows_as, request, own_columns=False)
        self._numbering = _core.Numbering(request.options(rows_as))
        known = Features() if features is None else features
        self._parser.restore(known.key, known.names.text, known.names.start, True)

    def learn_features(self, new: NewFeatures) -> None:
        """Add features, which take the next columns."""
        self.batch([])  # after which the features of the last question are forgotten
        self._parser.restore(new.key, new.names.text, new.names.start, True)

    def check(self, lines: Sequence[bytes]) -> None:
        """Raise a ``ValueError`` for the first invalid row, with its line."""
        self._parser.parse(b"", _joined(lines, self._reading) if lines else b"", 1)

    def batch(self, lines: Sequence[bytes]) -> Batch:
        """Return rows; labels are ignored.

        Raises
        ------
        ValueError
            For the first invalid row, with its line.
        """
        return _encoded(self._read(lines), lines, self._reading)

    def texts(self, lines: Sequence[bytes]) -> list[str]:
        """Return the texts of rows, which the encoder of the model takes; errors as of :meth:`batch`."""
        return list(self._read(lines).kept[kept_text(self._reading)])

    def _read(self, lines: Sequence[bytes]) -> Batch:
        self.check(lines)
        self._parser.number(self._numbering)
        return batch_of("rows", "row", self._parser.take(), _kept(self._reading), 0)


def _rows_as(reading: ReaderOptions) -> ReaderOptions:
    """Return how the parser reads rows, of which it takes the text for an encoder."""
    return reading if reading.encoder is None else reading.of_texts()


def _kept(reading: ReaderOptions) -> tuple[str, ...]:
    return () if reading.encoder is None else (kept_text(reading),)


def _joined(lines: Sequence[bytes], reading: ReaderOptions) -> bytes:
    """Return lines as one text; a version without an encoder reads no vectors of rows that the one with it got."""
    text = b"\n".join([*lines, b""])
    if reading.encoder is None and NAMED in text:
        return b"\n".join([*map(without_vector, lines), b""])
    return text


def _forget_features(parser: Any) -> None:
    """Let a parser forget the features of every batch, none of which is known."""
    nothing = Features()
    parser.restore(nothing.key, nothing.names.text, nothing.names.start, True)


def _encoded(batch: Batch, lines: Sequence[bytes], reading: ReaderOptions) -> Batch:
    """Return rows with their vectors, if there is an encoder: those in the lines; the texts of others are encoded.

    Raises
    ------
    ValueError
        If there is no vector of a text.
    OSError
        If the encoder is missing, or another one.
    """
    info = reading.encoder
    if info is None:
        return batch
    texts, missing, tag = list(batch.kept[kept_text(reading)]), list[int](), info.tag
    vectors = np.zeros((len(texts), info.dimension), np.float32)
    for k, line in enumerate(lines):
        if (vector := vector_in(line, tag)) is not None:
            vectors[k] = vector
        elif texts[k].strip():
            missing.append(k)
    if missing:  # rows from before there was this encoder
        try:
            encoder = encoder_of(info.name)
            encoder.check(info)
        except EncoderError as error:
            raise OSError(str(error)) from None
        vectors[missing] = encoder([texts[k] for k in missing])
    return with_vectors(batch, vectors)


class RowCheck:
    """Checks rows before they are accepted; no model changes. For threads.

    The compiled reader is the only judge of what a row is; what it accepts here is text and numbers throughout, so that
    every part of the row can be read back.

    Parameters
    ----------
    reading : ReaderOptions
        Scaling and zeros do not matter.
    label : str
        The key of labels.
    dtype, task, classes
        As of :class:`RowReader`.
    """

    def __init__(self, reading: ReaderOptions, label: str, dtype: str, task: Task, classes: Sequence[str] = ()) -> None:
        reading = replace(_rows_as(reading), normalize="none", vocabulary=False)
        self._label, self._classes, self._lock = label, classes, threading.Lock()
        self._questions = QuestionReader(reading, dtype, strict=True)
        of_labels: dict[str, Any] = dict(task.reading)
        request = ReadRequest(
            **of_labels, largest=largest_value(dtype), classes=tuple(classes), freeze=True, strict=True
        )  # fmt: skip
        self._parser = parser_of(reading, request, own_columns=False)
        _forget_features(self._parser)

    def _read_features(self, many: Sequence[bytes]) -> None:
        with self._lock:
            self._questions.check(many)

    def _read(self, lines: Sequence[bytes]) -> None:
        with self._lock:
            self._parser.parse(b"", b"\n".join([*lines, b""]), 1)

    def features(self, features: bytes) -> None:
        """Check the features of a row.

        Raises
        ------
        Problem
            If they cannot be read.
        """
        try:
            self._read_features([features])
        except ValueError as error:
            raise Problem("invalid-row", self._told(error, 0), "/features") from None
        if not features.startswith(b"{"):
            raise Problem("invalid-row", 'features: expected an object such as {"n_links": 4}', "/features")

    def are_features(self, many: Sequence[bytes]) -> bool:
        """Return whether all are the features of a row."""
        try:
            self._read_features(many)
        except ValueError:
            return False
        return all(features.startswith(b"{") for features in many)

    def are_labelled(self, lines: Sequence[bytes]) -> bool:
        """Return whether all are the line of a row with a label."""
        try:
            self._read(lines)
        except ValueError:
            return False
        return True

    def line(self, line: bytes) -> None:
        """Check the line of a row, which has its label among its keys.

        Raises
        ------
        Problem
            If it cannot be read, or its label is unknown.
        """
        try:
            self._read([line])
        except ValueError as error:
            raise Problem("invalid-row", self._told(error, 0, "the line")) from None

    def labelled(self, features: bytes, label: bytes) -> bytes:
        """Check a row with its label, as JSON; return its line.

        Raises
        ------
        Problem
            If it cannot be read, or its label is unknown.
        """
        line = labelled_line(self._label, label, features)
        try:
            self._read([line])
        except ValueError as error:
            return self._refuse(features, label, error, len(line) - len(features))
        return line

    def label(self, features: bytes, label: bytes) -> None:
        """Check the label of a row whose features were accepted before; errors as of :meth:`labelled`."""
        self.labelled(features, label)

    def _refuse(self, features: bytes, label: bytes, error: ValueError, before: int) -> bytes:
        """Raise the problem of a row whose line was refused."""
        self.features(features)  # raises, unless the label is to blame
        told = self._told(error, before)
        if self._classes and "classes" in told:
            shown = msgspec.json.decode(label)
            raise Problem("unknown-class", f"the label {shown!r} is not one of {', '.join(self._classes)}", "/label")
        pointer = "/features" if repr(self._label) in told and "twice" in told else "/label"
        if pointer == "/features":
            told = f"features has the key {self._label!r}, which is the key of labels; rename it"
        raise Problem("invalid-row", told, pointer)

    def _told(self, error: ValueError, before: int, where: str = "features") -> str:
        """Return what a reader says, about the text of the features, which begins behind some bytes of the line."""
        found = WHERE.fullmatch(str(error))
        if found is None:
            return without_options(str(error))
        column, told = int(found[2]) - before if found[2] else 0, without_options(found[3])
        return f"{told} (at character {column} of {where})" if column > 0 else told


class KeyCheck(RowCheck):
    """Checks rows of models of entities, which must have a key.

    Parameters
    ----------
    key : str
        The name of the key.
    """

    def __init__(self, *args: Any, key: str) -> None:
        super().__init__(*args)
        self._key = key

    def _read_features(self, many: Sequence[bytes]) -> None:
        super()._read_features(many)
        self._check_keys(many)

    def _read(self, lines: Sequence[bytes]) -> None:
        super()._read(lines)
        self._check_keys(lines)

    def _check_keys(self, lines: Sequence[bytes]) -> None:
        for number, line in enumerate(lines, 1):
            try:
                key_of(line, self._key)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None


def without_options(told: str) -> str:
    """Return what a reader says without the remedies that are options of the command line.

    >>> without_options("the row has no label; name its key with --label, or skip it; send it with a label")
    'the row has no label; send it with a label'
    >>> without_options("cell 'z' is not a number (--units); take the column as a category (--category)")
    "cell 'z' is not a number; take the column as a category"
    >>> print(without_options("label '1.5' is not a class; for numbers use --regression"))
    label '1.5' is not a class; for numbers make the model with "task": "numbers"
    """
    problem, *remedies = OPTION.sub("", told).split("; ")
    remedies = [OF_NUMBERS if "--regression" in remedy else remedy for remedy in remedies]
    return "; ".join([problem, *(remedy for remedy in remedies if "--" not in remedy)])
