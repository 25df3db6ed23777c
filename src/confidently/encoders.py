"""Encoders of texts: what turns a list of texts into vectors, checked, cached, and recognized when it is used again.

An encoder is an object with a method ``encode`` or ``embed`` that takes a list of texts, a function that does, or the
name of one that an installed package brings along. It is not part of a model: a model file has an :class:`EncoderInfo`.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from .extras import install
from .printable import PrintableError
from .wording import counted

MAX_CACHED = 2**26  # bytes of vectors
TEXTS_PER_CALL = 512
TOLERANCE = 0.01  # of the answers, in standard deviations; sums in another order differ by far less
COMPONENTS = 8  # of each answer are kept
PROBES = (  # no rows of users, which a model file must not hold
    "The parcel has not arrived, and I want my money back.",
    "How do I change my password?",
    "Schedule a meeting with the whole team on Friday at 10:30.",
)


class EncoderError(PrintableError):
    """An encoder that is missing, is another one, or returns something else than vectors."""


@dataclass(frozen=True)
class EncoderInfo:
    """What a model knows of its encoder.

    Attributes
    ----------
    name, version : str
        The version of the package that it comes from is empty if it is unknown.
    dimension : int
        Length of the vectors.
    answers : tuple of tuples
        The first numbers of the vectors of a few fixed texts, by which an encoder is recognized.
    """

    name: str
    version: str
    dimension: int
    answers: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ValueError(f"the dimension of an encoder must be at least 1, got {self.dimension}")

    def __str__(self) -> str:
        named = f"{self.name} {self.version}".strip()
        return f"{named} ({counted(self.dimension, 'dimension')})"

    @property
    def tag(self) -> str:
        """Name, version and a checksum of the answers, by which stored vectors are those of this encoder."""
        answers = zlib.crc32(repr(self.answers).encode())
        return f"{self.name} {self.version} {answers:08x}".replace("  ", " ")

    def agrees(self, other: EncoderInfo) -> bool:
        """Return whether another encoder gives the same vectors, as far as the answers show."""
        if self.dimension != other.dimension:
            return False
        mine, its = np.array(self.answers), np.array(other.answers)
        return mine.shape == its.shape and bool(np.abs(mine - its).max() <= TOLERANCE * mine.std() + 1e-9)


class Encoder:
    """An encoder with a cache of its vectors; of any thread.

    Parameters
    ----------
    source : str, object or callable
        The name of a known encoder; an object with ``encode`` or ``embed``; or a function from texts to vectors.

    Raises
    ------
    EncoderError
        If it is none of these, or its package is not installed.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        if isinstance(source, str):
            self.name, self.version, self._encode = source, _version_of(source), _load(source)
        else:
            self.name, self.version, self._encode = _name_of(source), _version_of(_module_of(source)), _method(source)
        self._begin()

    def _begin(self) -> None:
        self._info: EncoderInfo | None = None
        self._lock = threading.RLock()
        self._cached: dict[bytes, np.ndarray] = {}  # the newest last

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Encoder.__init__(self, state["source"])

    @property
    def info(self) -> EncoderInfo:
        """What is known of it; the first time it encodes a few texts.

        Raises
        ------
        EncoderError
            If it answers the same texts differently in another order, or does not return vectors.
        """
        with self._lock:
            if self._info is None:
                answers = self._vectors(PROBES, None)
                same = self._vectors(PROBES[::-1], answers.shape[1])[::-1]
                parts = [vectors[:, :COMPONENTS].round(6).tolist() for vectors in (answers, same)]
                found, again = (
                    EncoderInfo(self.name, self.version, answers.shape[1], tuple(map(tuple, part))) for part in parts
                )
                if not found.agrees(again):
                    raise EncoderError(
                        f"the encoder {self.name} answers the same texts differently when it is asked again; switch "
                        "off what is random in it, such as dropout"
                    )
                self._info = found
            return self._info

    def check(self, expected: EncoderInfo) -> None:
        """Raise an ``EncoderError`` unless this is the encoder of a model, by its answers."""
        if not expected.agrees(self.info):
            raise EncoderError(
                f"the encoder is {self.info}, and gives other vectors than that of the model, {expected}; use the "
                "model's, or train again"
            )

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts, float32 of shape (n, dimension); that of a blank text is 0.

        Texts that were encoded before, and are still cached, are not encoded again.

        Raises
        ------
        EncoderError
            If the encoder does not return one vector of finite numbers per text, of its dimension.
        """
        from hashlib import blake2b  # takes time when a command starts

        dimension = self.info.dimension
        vectors = np.zeros((len(texts), dimension), np.float32)
        with self._lock:
            waiting: dict[bytes, list[int]] = {}  # rows of each text that is not cached
            for row, text in enumerate(texts):
                if not text.strip():
                    continue
                key = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
                known = self._cached.get(key)
                if known is None:
                    waiting.setdefault(key, []).append(row)
                else:
                    vectors[row] = known
            keys = list(waiting)
            for first in range(0, len(keys), TEXTS_PER_CALL):
                some = keys[first : first + TEXTS_PER_CALL]
                found = self._vectors([texts[waiting[key][0]] for key in some], dimension)
                for key, vector in zip(some, found, strict=True):
                    vectors[waiting[key]] = vector
                    self._cached[key] = vector.copy()  # not a part of an array that stays with it
            for _ in range(len(self._cached) - max(MAX_CACHED // (4 * dimension), 1)):
                del self._cached[next(iter(self._cached))]
        return vectors

    def _vectors(self, texts: Sequence[str], dimension: int | None) -> np.ndarray:
        """Return the vectors of texts without the cache, checked."""
        found = self._encode(list(texts))
        try:
            array = np.asarray(found)
        except (TypeError, ValueError):  # rows of different lengths, or on a device
            array = np.asarray(None)
        expected = f"(n, {dimension or 'd'})"
        if array.dtype.kind != "f":
            kind = type(found).__name__ if array.dtype.kind == "O" else f"an array of {array.dtype}"
            raise EncoderError(f"the encoder {self.name} returned {kind}; expected an array of floats, {expected}")
        if array.ndim != 2 or len(array) != len(texts) or array.shape[1] != (dimension or max(array.shape[1], 1)):
            raise EncoderError(
                f"the encoder {self.name} returned an array of shape {array.shape} for {counted(len(texts), 'text')}; "
                f"expected {expected}"
            )
        with np.errstate(over="ignore"):
            vectors: np.ndarray = array.astype(np.float32)
        if not np.isfinite(vectors).all():
            row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise EncoderError(f"the encoder {self.name} returned NaN or infinity for the text {texts[row][:80]!r}")
        return vectors


_BY_NAME: dict[str, Encoder] = {}
_BY_SOURCE: WeakValueDictionary[int, Encoder] = WeakValueDictionary()  # by the id of what they hold


def encoder_of(source: Any) -> Encoder:
    """Return the encoder of a name, an object or a function: the same one each time, with its cache.

    Of a name it stays for as long as the process, of others for as long as it is in use.

    Raises
    ------
    EncoderError
        As :class:`Encoder` does.
    """
    if isinstance(source, Encoder):
        return source
    if isinstance(source, str):
        if source not in _BY_NAME:
            _BY_NAME[source] = Encoder(source)
        return _BY_NAME[source]
    found = _BY_SOURCE.get(id(source))
    if found is None:
        found = _BY_SOURCE[id(source)] = Encoder(source)
    return found


def check_encoder(source: Any) -> None:
    """Raise an ``EncoderError`` unless this may be an encoder; nothing is loaded."""
    if isinstance(source, str):
        check_known(source)
    elif source is not None and not isinstance(source, Encoder):
        _method(source)


def _method(source: Any) -> Callable[[list[str]], Any]:
    """Return the function of an encoder."""
    for name in ("encode", "embed"):
        if callable(method := getattr(source, name, None)) and not isinstance(source, type):
            return method
    if not callable(source) or isinstance(source, type):
        raise EncoderError(
            f"encoder: expected {', '.join(map(repr, KNOWN))}, an object with encode(list of texts), or a function of "
            f"a list of texts, got {source!r:.80}"
        )
    return source


def _name_of(source: Any) -> str:
    named = source if hasattr(source, "__qualname__") else type(source)
    return f"{_module_of(source)}.{named.__qualname__}"


def _module_of(source: Any) -> str:
    return str(getattr(source, "__module__", None) or type(source).__module__)


def _version_of(module: str) -> str:
    """Return the version of the package that a module belongs to; empty if it has none."""
    from importlib.metadata import PackageNotFoundError, version  # takes a tenth of the start of a command

    try:
        return version(module.partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return ""


# --- known encoders ---------------------------------------------------------------------------------------------------


class Known(NamedTuple):
    """An encoder that an installed package brings along, weights included.

    Attributes
    ----------
    extra : str
        The extra of this package that installs it.
    load : callable
        Returns a function from texts to vectors, without the network; ``ImportError`` if the package is missing.
    """

    extra: str
    load: Callable[[], Callable[[list[str]], Any]]


def _wordllama() -> Callable[[list[str]], Any]:
    """Return wordllama's vectors of 256 numbers and unit norm: means of static vectors of tokens."""
    with _logging_kept():  # which importing it switches on for the whole process
        package: Any = import_module("wordllama")
    folder = Path(package.__file__).parent  # where it has, but does not look for, the file of its tokenizer
    model = package.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(texts: list[str]) -> Any:
        with np.errstate(invalid="ignore"):  # a text without a token has the norm 0
            return np.nan_to_num(model.embed(texts, norm=True))

    return embed


class _logging_kept:
    """A context that restores the handlers and the level of the root logger."""

    def __enter__(self) -> None:
        import logging

        self.root = logging.getLogger()
        self.handlers, self.level = list(self.root.handlers), self.root.level

    def __exit__(self, *error: object) -> None:
        self.root.handlers[:] = self.handlers
        self.root.setLevel(self.level)


KNOWN = {"wordllama": Known("wordllama", _wordllama)}


def check_known(name: str) -> None:
    """Raise an ``EncoderError`` unless an encoder has this name."""
    if name not in KNOWN:
        raise EncoderError(
            f"unknown encoder {name!r}; expected {' or '.join(KNOWN)}, or in Python any object with encode(list of "
            "texts)"
        )


def _load(name: str) -> Callable[[list[str]], Any]:
    check_known(name)
    known = KNOWN[name]
    try:
        return known.load()
    except ImportError as error:
        raise EncoderError(
            f"the encoder {name} needs a package that is missing ({error}); run {install(known.extra)}"
        ) from None
    except OSError as error:
        raise EncoderError(f"the encoder {name} cannot be loaded: {error}") from None
