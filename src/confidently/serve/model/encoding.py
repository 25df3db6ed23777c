"""Vectors of the rows that come in, made before the log or a model has anything of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np

from ...data.reading import ReaderOptions
from ...encoders import EncoderError, EncoderInfo, encoder_of
from ..log.vectors import GIVEN, with_vector
from ..problems import Problem
from .rows import QuestionReader

_GIVEN = f'"{GIVEN}"'.encode()


def info_of(name: str) -> EncoderInfo:
    """Return what is known of an encoder.

    Raises
    ------
    Problem
        If there is none of this name, or it cannot be loaded.
    """
    try:
        return encoder_of(name).info
    except EncoderError as error:
        raise Problem("invalid-settings", str(error), "/encoder") from None


class Vectors:
    """Adds to rows the vectors of their texts; of any thread, except that of the event loop.

    Parameters
    ----------
    reading : ReaderOptions
        That of the model, which has an encoder.
    dtype : str
        Of the model.

    Attributes
    ----------
    thread : ThreadPoolExecutor
        One thread, in which nobody waits but who asks this model.
    """

    def __init__(self, reading: ReaderOptions, dtype: str) -> None:
        assert reading.encoder is not None
        self._info, self._lock = reading.encoder, threading.Lock()
        self._texts = QuestionReader(reading, dtype)
        self.thread = ThreadPoolExecutor(1, "encoder")

    def added(self, rows: Sequence[bytes]) -> list[bytes]:
        """Return the features of rows, which were checked, with their vectors; blank texts have none.

        Raises
        ------
        Problem
            If the encoder is missing or another one, or returns no vector for a text.
        """
        found, waiting = list(rows), list[int]()
        for k, row in enumerate(rows):
            if _GIVEN in row and (given := self._given(row)) is not None:
                found[k] = given
            else:
                waiting.append(k)
        with self._lock:
            texts = dict(zip(waiting, self._texts.texts([found[k] for k in waiting]), strict=True))
        texts = {k: text for k, text in texts.items() if text.strip()}
        if texts:
            for k, vector in zip(texts, self._encoded([*texts.values()]), strict=True):
                found[k] = with_vector(found[k], self._info.tag, vector)
        return found

    def _encoded(self, texts: list[str]) -> np.ndarray:
        try:
            encoder = encoder_of(self._info.name)
            encoder.check(self._info)
        except EncoderError as error:
            raise Problem("no-encoder", str(error)) from None
        try:
            return encoder(texts)
        except EncoderError as error:
            raise Problem("invalid-row", str(error), "/features") from None

    def _given(self, row: bytes) -> bytes | None:
        """Return a row with the vector that it brings along in place of that of its text, if it has one."""
        parts = msgspec.json.decode(row, type=dict[str, msgspec.Raw])
        if GIVEN not in parts:
            return None
        try:
            numbers = msgspec.json.decode(bytes(parts.pop(GIVEN)), type=list[float])
            with np.errstate(over="ignore"):
                vector = np.array(numbers).astype(np.float32)
        except (msgspec.ValidationError, OverflowError):
            vector = np.zeros(0, np.float32)
        if len(vector) != self._info.dimension or not np.isfinite(vector).all():
            told = f"{GIVEN}: expected a list of {self._info.dimension} numbers, as the encoder returns"
            raise Problem("invalid-row", told, f"/features/{GIVEN}")
        return with_vector(msgspec.json.encode(parts), self._info.tag, vector)
