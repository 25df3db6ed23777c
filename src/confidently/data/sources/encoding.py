"""Text in other encodings than UTF-8, transcoded while it is read."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from ..batch import DataError
from .compression import Chunk

UTF8 = "utf-8"  # the encoding that the compiled readers read and check


def checked_encoding(name: str) -> str:
    """Return the canonical name of an encoding of text.

    Raises
    ------
    ValueError
        If it is unknown, or no encoding of text.
    """
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"unknown encoding {name!r}; expected utf-8, latin-1, cp1252 or another of Python's") from None


def cuts_lines(encoding: str) -> bool:
    """Return whether every line feed byte of a text in this encoding ends a line, as ranges of files need."""
    return "\n".encode(encoding) == b"\n"


def transcoded(name: str, encoding: str, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the same text as UTF-8; ``name`` is that of the file in messages.

    Raises
    ------
    DataError
        If a byte is not text of the encoding; the message names the line.
    """
    decoder, line, done = codecs.getincrementaldecoder(encoding)(), 1, 0

    def as_utf8(data: bytes, last: bool) -> bytes:
        nonlocal line
        state = decoder.getstate()
        try:
            text = decoder.decode(data, last)
            utf8 = text.encode()
        except UnicodeDecodeError as error:
            decoder.setstate(state)
            line += decoder.decode(data[: max(len(data) - len(error.object) + error.start, 0)]).count("\n")
            problem = f"byte 0x{error.object[error.start]:02x}"
        except UnicodeEncodeError as error:
            line += text[: error.start].count("\n")
            problem = f"half a surrogate pair, U+{ord(text[error.start]):X},"
        except UnicodeError as error:  # of a codec that does not say where
            problem = f"something ({error})"
        else:
            line += text.count("\n")
            return utf8
        raise DataError(f"{name}, line {line}: {problem} is not {encoding} text; name another --encoding")

    for data, done in chunks:
        yield Chunk(as_utf8(data, False), done)
    if rest := as_utf8(b"", True):
        yield Chunk(rest, done)
