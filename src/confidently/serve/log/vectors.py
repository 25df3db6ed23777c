"""Vectors in stored rows: what an encoder made of their text, so that learning again needs no encoder.

The features of such a row end with the encoder's tag and, in base64, the vector: little-endian float32 numbers. Whoever
sees rows gets them without it.
"""

from __future__ import annotations

import binascii

import msgspec
import numpy as np

GIVEN = "vector"  # the key of the numbers in rows that bring them along, and in exports
KEY = "__vector__"  # which rows that come in cannot have
NAMED = f'"{KEY}"'.encode()  # a quotation mark within a text is escaped, so no text looks like a key
_BEGIN = NAMED + b':"'


def with_vector(features: bytes, tag: str, vector: np.ndarray) -> bytes:
    """Return the features of a row, a JSON object, with a vector.

    >>> with_vector(b'{"text":"hi"}', "some 1.0", np.ones(2, np.float32))
    b'{"text":"hi","__vector__":"some 1.0 AACAPwAAgD8="}'
    """
    head = features.rstrip()[:-1].rstrip()
    numbers = binascii.b2a_base64(vector.astype("<f4", copy=False).tobytes(), newline=False)
    comma = b"" if head.endswith(b"{") else b","
    return b"".join((head, comma, NAMED, b":", msgspec.json.encode(f"{tag} ")[:-1], numbers, b'"}'))


def without_vector(row: bytes) -> bytes:
    """Return a row, or its line, without its vector.

    >>> without_vector(b'{"text":"hi","__vector__":"some 1.0 AACAPwAAgD8="}')
    b'{"text":"hi"}'
    """
    at = row.rfind(_BEGIN)
    return row if at < 0 else row[:at].removesuffix(b",") + b"}"


def with_numbers(features: bytes) -> bytes:
    """Return the features of a row with its vector as a list of numbers under the key "vector", as rows bring it along.

    >>> with_numbers(b'{"text":"hi","__vector__":"some 1.0 AACAPwAAgD8="}')
    b'{"text":"hi","vector":[1.0,1.0]}'
    """
    vector = vector_in(features)
    if vector is None:
        return features
    head = without_vector(features)[:-1]
    comma = b"" if head.endswith(b"{") else b","
    return b"".join((head, comma, f'"{GIVEN}":'.encode(), msgspec.json.encode(vector.tolist()), b"}"))


def vector_in(row: bytes, tag: str | None = None) -> np.ndarray | None:
    """Return the vector of a row, or of its line, if it has one, and it is that of the encoder with a tag.

    >>> row = b'{"text":"hi","__vector__":"some 1.0 AACAPwAAgD8="}'
    >>> vector_in(row), vector_in(row, "some 2.0")
    (array([1., 1.], dtype=float32), None)
    """
    at = row.rfind(_BEGIN)
    if at < 0:
        return None
    of, _, numbers = row[at + len(_BEGIN) : row.rindex(b'"')].rpartition(b" ")
    if tag is not None and of != msgspec.json.encode(tag)[1:-1]:
        return None
    return np.frombuffer(binascii.a2b_base64(numbers), "<f4").astype(np.float32, copy=False)
