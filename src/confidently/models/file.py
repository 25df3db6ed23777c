"""Model files: a safetensors file with arrays, and everything else as JSON in its metadata. Nothing is pickled.

The metadata entry ``confidently`` is the header: the format version, the entries of the model
(:class:`confidently.models.model.SavedModel`), the CRC-32 of every array and, last, that of the header itself. The
arrays are the learner's, under their own names, and the names of features (``features.*``).
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Annotated, Any, BinaryIO, Literal, TypedDict

import numpy as np

from .. import _core
from ..arrays import is_finite, lies_within
from ..covariances.state import Shapes
from ..data.features import Features, Strings
from ..data.memory.matrix import MAX_COLUMNS
from ..data.reading import ReaderOptions
from ..data.sources.json_schema import Count, Interval, conform, parse
from ..data.sources.recognition import HEAD_BYTES, SIZE_BYTES, TITLES, ZIP, description, is_model, may_be_safetensors
from ..data.sources.whole_files import new_file
from ..memory import require_memory
from ..printable import PrintableError
from ..rules.ranges import UnknownChoice
from ..tasks.names import Multiclass
from . import tensors

# 1 had the names of features in its header, 2 had no forgetting, 3 had no views, 4 no stacks, 5 no corrections, 6 had
# mixtures of one window, 7 had that of regressions, whole matrices and rows, and no stacks of label sets, 8 had no
# conformal scores, 9 had no variances of margins, 10 had no groups, 11 had no encoders, 12 had no members that begin
# later, no bounds of targets and scales of noise, and knew other things of the errors of predictions
FORMAT = 13
OF_PREDICTIONS = re.compile(r"(\d+\.)?(conformal|conformal\.groups|variances|rarities)(\.places)?")  # names of arrays
KEY = "confidently"
LINEAR, REGRESSION, TOPICS = "linear", "regression", "topics"
BANDIT, DECISIONS, ENTITIES = "bandit", "decisions", "entities"
KINDS = {  # what a model of each kind is called, and what is for it
    LINEAR: ("a classifier", "confidently predict, inspect or evaluate"),
    REGRESSION: ("a regression model", "confidently predict, inspect or evaluate"),
    TOPICS: ("a topic model", "confidently topics predict or confidently topics show"),
    BANDIT: ("a bandit", "ContextualBandit.load"),
    DECISIONS: ("a model of decisions", "confidently evaluate, or DecisionModel.load"),
    ENTITIES: ("models of entities", "confidently predict, inspect or evaluate, or EntityModels.load"),
}
HEADER_CHECK = ', "header_crc32": '  # start of the header's last entry, the CRC-32 of everything before it
Name = str | int | float | bool
MAX_SHOWN = 300  # characters of an error that a file caused, which may quote the file


class ModelFileError(PrintableError):
    """An invalid model file: damaged, truncated, of another program or of a later version."""


@dataclass
class Version:
    """What is read of a header first, since the rest depends on it."""

    format: int
    kind: str = LINEAR


@dataclass
class Checked(Version):
    """Base of all headers: the CRC-32 of every array, and the position of a training that made the model."""

    crc32: dict[str, Count] = field(kw_only=True)
    training: dict[str, Any] = field(default_factory=dict, kw_only=True)


@dataclass
class Source:
    """How rows were read, besides the reader's options."""

    closed: bool = False
    vocabulary: bool = True
    stop_words: list[str] = field(default_factory=list)


@dataclass
class SavedClassifier:
    """Those of a classifier's parameters that are used before training checks them."""

    multiclass: Multiclass | None = "joint"
    calibration: Literal["progressive"] | None = None
    class_weight: str | list[tuple[Name, float]] | None = None
    n_jobs: Annotated[int, Interval(-(2**16), 2**16)] | None = None
    trees: bool = True


@dataclass
class SavedRegressor:
    """The parameters of a regressor that are not its learner's, and whether its targets had one dimension."""

    covariance: str | None = None
    calibration: Literal["progressive"] | None = None
    passes: Count = 1
    shuffle: bool | Literal["auto"] = False
    random_state: Count | None = None
    one_dimensional: bool = True
    members: Literal["auto"] | None = None
    trees: bool = True


class SavedView(TypedDict):
    """A view of rows: its name and its parameters, which the view checks."""

    name: str
    parameters: dict[str, Any]


class NamedMember(TypedDict):
    """What every member of a stack has."""

    kind: Literal["gaussian", "naive_bayes", "class_means", "log", "rest"]
    name: str
    multiclass: Multiclass | None


class SavedMember(NamedMember, total=False):
    """A member of a stack: a learner's settings and view, or naive Bayes."""

    settings: dict[str, Any]
    view: list[SavedView]


class SavedGroups(TypedDict):
    """The column by whose values promises hold, and these values (:class:`confidently.tasks.groups.Groups`)."""

    column: str | Count
    values: list[str]
    others: Count


class SavedMoves(TypedDict):
    """When the mixture of a stack moved to shorter memories (:class:`confidently.stack.moves.Moves`)."""

    rows: list[Count]
    pending: Count


class SavedLater(TypedDict):
    """A member that begins where a stream follows (:class:`confidently.stack.following.Later`)."""

    twin: str
    kind: str
    forget: Annotated[float, Interval(0.0, 1.0)]


class SavedMean(TypedDict):
    """What the mixture of a stack was over rows in random order (:class:`confidently.stack.averaging.Mean`)."""

    rows: Count
    looked: Count
    total: float
    weights: list[float]
    slopes: list[float]


class Chosen(TypedDict):
    """By how many of the first rows the members of a stack were chosen."""

    chosen: Count


class SavedEarly(Chosen, total=False):
    """The first rows of a stack (:class:`confidently.stack.early.Early`)."""

    groups: list[str]


@dataclass
class Header(Checked):
    """What the file of a learner has besides arrays; :class:`confidently.models.model.SavedModel` explains it."""

    classes: list[Name | None] = field(kw_only=True)
    settings: dict[str, Any] = field(kw_only=True)
    n_classes: Count = field(kw_only=True)
    n_features: Annotated[int, Interval(0, MAX_COLUMNS)] = field(kw_only=True)
    estimator: dict[str, Any] = field(kw_only=True)
    source: dict[str, Any] = field(kw_only=True)
    view: list[SavedView] = field(default_factory=list)
    members: list[SavedMember] = field(default_factory=list)
    dropped: dict[str, Count] | None = None
    moves: SavedMoves | None = None
    mean: SavedMean | None = None
    later: list[SavedLater] | None = None
    early: SavedEarly | None = None
    coverage_by: SavedGroups | None = None
    centered: float = 0.0
    settled: bool = False  # in earlier files, which have levels that are to be forgotten
    feature_names: list[str] | None = None

    def __post_init__(self) -> None:
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("a class is named twice")
        conform(self.estimator, SavedRegressor if self.kind == REGRESSION else SavedClassifier, "estimator")
        conform(self.source, Source, "source")
        ReaderOptions.from_dict(self.source)


@dataclass
class Contents:
    """Contents of a model file whose checksums are right.

    Attributes
    ----------
    path : str or path
        The file, for error messages.
    header : Checked
        That of the kind of model, which is a :class:`Header` for learners and stacks.
    arrays : dict of ndarray
        By name.
    features : Features, optional
        Names of the features, where they have any.
    """

    path: str | os.PathLike[str]
    header: Any
    arrays: dict[str, np.ndarray]
    features: Features | None


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file, which replaces the one of its name only when it is complete."""
    with new_file(path) as temporary, open(temporary, "wb") as file:
        _write(file, header, arrays)


def encoded(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return what a model file has."""
    file = BytesIO()
    _write(file, header, arrays)
    return file.getvalue()


def _write(file: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    checksums = {name: zlib.crc32(array.data) for name, array in arrays.items()}
    text = json.dumps({"format": FORMAT, **header, "crc32": checksums})
    tensors.write(file, arrays, {KEY: _signed(text)})


def peeked(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of a model file, unchecked and without reading its arrays; nothing if it has none."""
    if not is_model(path):  # nor a pipe, which can be read only once
        return {}
    with open(path, "rb") as file, suppress(ValueError, LookupError, TypeError, RecursionError):
        size = min(int.from_bytes(file.read(SIZE_BYTES), "little"), os.path.getsize(path))
        header = json.loads(json.loads(file.read(size))["__metadata__"][KEY])
        return header if isinstance(header, dict) else {}
    return {}


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of model that a file has by its header; ``None``: it is no model file."""
    header = peeked(path)
    kind = header.get("kind", LINEAR) if header else None
    return kind if isinstance(kind, str) else None


def read(path: str | os.PathLike[str], *kinds: str, schema: type[Checked] = Header) -> Contents:
    """Read a model file of one of these kinds, whose header has these entries.

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged or truncated, was written by a later version, or is of another kind.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.peek(HEAD_BYTES)
        if len(head) > SIZE_BYTES:  # a pipe may give less at first
            _check_kind_of_file(path, head)  # before perhaps many gigabytes of data are read
        content = file.read()  # not mapped: what is checked cannot change afterwards
    return decoded(path, content, *kinds, schema=schema)


def decoded(path: str | os.PathLike[str], content: bytes, *kinds: str, schema: type[Checked] = Header) -> Contents:
    """Return what the content of a model file says; ``path`` is its name in messages, and errors are as of reading."""
    from safetensors import SafetensorError  # imported here since it is slow to import

    _check_kind_of_file(path, content)
    try:
        arrays = tensors.read(content)
    except SafetensorError as error:
        raise ModelFileError(f"{path}: damaged or truncated model file ({error})") from error
    except KeyError as error:
        _header(path, _metadata(content), kinds, schema)  # of another program or a later version, it may have any types
        raise ModelFileError(f"{path}: damaged model file, it has an array of the unknown type {error}") from error
    header = _header(path, _metadata(content), kinds, schema)
    del content
    with damage_reported(path):
        _check_sums(header.crc32, arrays)
        if header.format < 13:  # what is known of errors begins anew
            arrays = {name: array for name, array in arrays.items() if not OF_PREDICTIONS.fullmatch(name)}
        return Contents(path, header, arrays, _features(header, arrays) if isinstance(header, Header) else None)


def _check_kind_of_file(path: str | os.PathLike[str], content: bytes) -> None:
    if not may_be_safetensors(content):
        what = description(path, content[:HEAD_BYTES])
        if what == TITLES[ZIP]:
            what += " (of bandits and entities, earlier versions wrote such; train them again)"
        raise ModelFileError(
            f"{path}: not a model file, but {what}; expected a file that save or confidently train -o has written"
        )


def _metadata(content: bytes) -> dict[str, str]:
    """Return the metadata of a sound safetensors file: those of the JSON text whose size the first eight bytes say."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]).get("__metadata__") or {}


@contextmanager
def damage_reported(path: object) -> Iterator[None]:
    """Turn the errors that a damaged file causes into a ``ModelFileError``."""
    try:
        yield
    except ModelFileError as error:  # of a model inside
        raise error if str(error).startswith(str(path)) else ModelFileError(f"{path}: {error}") from error
    except UnknownChoice as error:
        raise ModelFileError(
            f"{path}: {_shown(str(error))}; the file is of a later version of confidently, or damaged"
        ) from error
    except MemoryError as error:
        raise ModelFileError(f"{path}: {error or 'not enough memory'}") from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(f"{path}: damaged model file ({_shown(f'{type(error).__name__}: {error}')})") from error


def checked_arrays(arrays: dict[str, np.ndarray], expected: Shapes) -> dict[str, np.ndarray]:
    """Return the expected arrays, each of the right shape and type, finite, and writable.

    Raises
    ------
    KeyError, ValueError
        If an array is missing, or is not as expected.
    """
    for name, (shape, dtype) in expected.items():
        array = arrays[name]
        if array.shape != shape or str(array.dtype) != dtype:
            raise ValueError(f"{name} is {array.dtype}{list(array.shape)}, not {dtype}{list(shape)}")
        if not is_finite(array):
            raise ValueError(f"{name} has values that are not finite")
        if array.data.readonly or not array.data.c_contiguous:
            arrays[name] = array.copy()
    return {name: arrays[name] for name in expected}


def require_memory_for(shapes: Shapes) -> None:
    """Raise ``MemoryError`` if arrays of these shapes and types need more memory than there is."""
    needed = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
    require_memory(needed, "the model", "use a machine with more memory, or train with fewer features")


def fits_memory(shapes: Shapes) -> bool:
    """Return whether there is memory for arrays of these shapes and types."""
    try:
        require_memory_for(shapes)
    except MemoryError:
        return False
    return True


def _shown(message: str) -> str:
    return message if len(message) <= MAX_SHOWN else f"{message[:MAX_SHOWN]}..."


def _signed(header: str) -> str:
    """Return the JSON of a header with its own CRC-32 as the last entry."""
    return f"{header[:-1]}{HEADER_CHECK}{zlib.crc32(header.encode())}}}"


def _check_sums(expected: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if expected[name] != zlib.crc32(np.ascontiguousarray(array).data):
            raise ValueError(f"the checksum of {name} is wrong")


def _features(header: Header, arrays: dict[str, np.ndarray]) -> Features | None:
    """Take the names of features out of the arrays and return them, checked."""
    if header.format == 1:
        return None if header.feature_names is None else Features.named(header.feature_names)
    found = {name: arrays.pop(name) for name in list(arrays) if name.startswith("features.")}
    if not found:
        return None
    key, column = (found[f"features.{name}"] for name in ("key", "column"))
    if [str(key.dtype), str(column.dtype), key.ndim, column.ndim] != ["uint32", "int32", 1, 1]:
        raise ValueError("the names of features have the wrong types")
    names = checked_strings(found["features.text"], found["features.start"])
    inside = lies_within(column, 0, len(key) - 1) and _core.ascend(column, strictly=True)
    if not (inside and len(names) == len(column)):
        raise ValueError("the names of features do not fit together")
    return Features(key, column, names, bounded=not header.source.get("vocabulary", True))


def checked_strings(text: np.ndarray, start: np.ndarray) -> Strings:
    """Return the strings of two arrays; ``ValueError``: they do not fit together."""
    if [str(text.dtype), str(start.dtype), text.ndim, start.ndim] != ["uint8", "int64", 1, 1]:
        raise ValueError("names have the wrong types")
    if not (len(start) and start[0] == 0 and start[-1] == len(text) and _core.ascend(start)):
        raise ValueError("names do not fit together")
    return Strings(text, start)


def _unexpected(found: str, kinds: tuple[str, ...]) -> str:
    if found not in KINDS:
        return f"unknown kind of model, got {found!r}; upgrade confidently"
    title, commands = KINDS[found]
    return f"expected {' or '.join(KINDS[kind][0] for kind in kinds)}, got {title}; use {commands}"


def _header(path: object, metadata: dict[str, str], kinds: tuple[str, ...], schema: type[Checked]) -> Any:
    if KEY not in metadata:
        raise ModelFileError(f"{path}: not a model file of confidently, but another safetensors file")
    text = metadata[KEY]
    with damage_reported(path):
        if text != _signed(text.rpartition(HEADER_CHECK)[0] + "}"):
            raise ValueError("the checksum of the header is wrong")
        plain = parse(text, Any)
        found = conform(plain, Version, "header")
    if found.format not in range(1, FORMAT + 1):
        raise ModelFileError(
            f"{path}: unknown format, got {found.format}; this version of confidently reads formats up to {FORMAT}, so "
            "upgrade it or train again"
        )
    if found.kind not in kinds:
        raise ModelFileError(f"{path}: {_unexpected(found.kind, kinds)}")
    with damage_reported(path):
        return conform(plain, schema, "header")
