"""Rows that people may be asked about."""

from __future__ import annotations

import re
import zlib
from typing import Any, NamedTuple

from ..log.vectors import without_vector
from .predicted import AnyAnswer

RANDOM_SHARE = 0.15
WORD = re.compile(r"\w+")


class Candidate(NamedTuple):
    """A row that may be asked about.

    Attributes
    ----------
    id : str
    seq : int
        Its event.
    features : bytes
        A JSON object.
    guess : int, str or None
        What the model said when it was asked last.
    certainty : float
        |m|/sqrt(v) at that time.
    random : bool
        Whether it is of the random share.
    likeness : int
        Equal for rows with the same words and keys.
    """

    id: str
    seq: int
    features: bytes
    guess: Any
    certainty: float
    random: bool
    likeness: int


def candidate(id: str, seq: int, features: bytes, answer: AnyAnswer) -> Candidate:
    """Return a row that was just predicted as one that may be asked about."""
    return Candidate(
        id, seq, features, answer.label, answer.certainty, is_random(seq), likeness(without_vector(features))
    )


def is_random(seq: int) -> bool:
    """Return whether an event is of the random share."""
    return zlib.crc32(b"share" + seq.to_bytes(8, "little")) < RANDOM_SHARE * 2**32


def likeness(features: bytes) -> int:
    """Return a number that rows with the same set of words and keys share, whatever their order and case."""
    words = sorted(set(WORD.findall(features.decode(errors="replace").lower())))
    return zlib.crc32(" ".join(words).encode())
