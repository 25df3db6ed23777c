"""Model files: one safetensors file, arrays as they are and everything else as JSON in its metadata. No pickle.

Layout: the state's entries (:mod:`confidently.covariances.state`) under their names. Where most features were never
touched the rows of ``weights`` that still stand at the prior are left out; ``weights.rows`` then numbers those that are
there. The names of features stand in ``features.*`` (:mod:`confidently.data.features`). The metadata entry
``confidently`` holds the format version, the learner's settings and sizes, the classes, the settings of the estimator
and the CRC-32 of every array and of itself.
"""

from __future__ import annotations

import glob
import json
import os
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..covariances.state import State, prior_weights
from ..data.features import Features, Strings
from ..data.sources.whole_files import WINDOWS, naming, sync_directory
from ..learner.learner import Learner

if TYPE_CHECKING:
    from ..topics.learner import TopicLearner

FORMAT = 3  # 1 had the names of features in its header, 2 knew no forgetting
KEY = "confidently"
OTHER_KIND = {  # what to do with a model of a kind that was not asked for
    "linear": "holds a classifier, not a topic model: use confidently predict, inspect or evaluate",
    "topics": "holds a topic model: use confidently topics predict or confidently topics show",
}
OWN_CHECK = ', "header_crc32": '  # how the header's last entry, the CRC-32 of all before it, begins


class ModelFileError(ValueError):
    """A model file that is damaged, truncated, of another program or of a later version."""


@dataclass
class SavedModel:
    """A learner and what its numbers mean.

    Attributes
    ----------
    learner : Learner or TopicLearner
    classes : list of int or str
        Names of the classes (labels, in the multilabel task), by number.
    features : Features, optional
        Names of the features, where they have any.
    estimator : dict, optional
        Settings of :class:`confidently.OnlineClassifier` that the learner does not know.
    source : dict, optional
        How rows were read: what prediction must do in the same way.
    training : dict, optional
        Where the training stands, in a checkpoint.
    """

    learner: Learner | TopicLearner
    classes: list[Any]
    features: Features | None = None
    estimator: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """All that is not an array."""
        return {
            "format": FORMAT,
            "classes": self.classes,
            "estimator": self.estimator,
            "source": self.source,
            **({"training": self.training} if self.training else {}),
            **self.learner.header(),
        }


@dataclass
class Model(SavedModel):
    """A classifier and what its numbers mean."""

    learner: Learner


@dataclass
class TopicModel(SavedModel):
    """A topic model and what its numbers mean."""

    learner: TopicLearner


def save(model: Model | TopicModel, path: str | os.PathLike[str]) -> None:
    """Write a model file: to a temporary file beside it, synced to disk, then renamed, so that it is never torn."""
    from safetensors.numpy import save as serialize

    path = Path(path).resolve()  # what a link points to is replaced, not the link
    arrays = _packed(model.learner) if isinstance(model.learner, Learner) else model.learner.packed()
    if model.features is not None:
        arrays |= model.features.arrays()
    header = json.dumps({**model.header(), "crc32": {name: _checksum(array) for name, array in arrays.items()}})
    content = serialize(arrays, metadata={KEY: _signed(header)})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with naming(path), open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what processes left behind that were killed while they saved this model file."""
    path = Path(path).resolve()
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        found = re.fullmatch(r"([0-9]+)\.[0-9a-f]{8}", leftover.name.removeprefix(f".{path.name}."))
        if found and not _is_alive(int(found[1])):
            with suppress(PermissionError):
                leftover.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if WINDOWS:  # no signal 0; what a living process writes there is open, so that it cannot be removed
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


@overload
def load(path: str | os.PathLike[str], kind: Literal["linear"] = "linear") -> Model: ...
@overload
def load(path: str | os.PathLike[str], kind: Literal["topics"]) -> TopicModel: ...
@overload
def load(path: str | os.PathLike[str], kind: Literal["linear", "topics"] | None) -> Model | TopicModel: ...
def load(path: str | os.PathLike[str], kind: str | None = "linear") -> Model | TopicModel:
    """Read a model file: of a linear classifier, a topic model (``"topics"``) or either (None).

    Raises
    ------
    ModelFileError
        If it is not one, is damaged or truncated, or was written by a later version; or holds another kind of model.
    OSError
        If it cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    with open(path, "rb"):  # the system's own error for what is missing, a directory or not ours to read
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            header = _header(path, file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it has no __iter__)
    except SafetensorError as error:
        raise ModelFileError(f"{path} is no model file, or a damaged one ({error})") from error
    found = header.get("kind", "linear")
    if kind not in (None, found):
        raise ModelFileError(f"{path} {OTHER_KIND.get(found, f'holds a model of the unknown kind {found!r}')}")
    try:
        _check_sums(header["crc32"], arrays)
        features = _features(header, arrays)
        learner = _linear(header, arrays) if found == "linear" else _topics(header, arrays)
        _check_names(learner, header["classes"], features)
        known = header["classes"], features, header["estimator"], header["source"], header.get("training", {})
        return Model(learner, *known) if isinstance(learner, Learner) else TopicModel(learner, *known)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, MemoryError) as error:
        raise ModelFileError(f"{path} is a damaged model file ({type(error).__name__}: {error})") from error


def _topics(header: dict[str, Any], arrays: State) -> TopicLearner:
    from ..topics.learner import TopicLearner

    return TopicLearner.from_header(header, arrays)


def _linear(header: dict[str, Any], arrays: State) -> Learner:
    learner = Learner.from_header(header, {})
    learner.state = _unpacked(learner, arrays)
    return learner


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _signed(header: str) -> str:
    """The JSON of a header with its own CRC-32 as the last entry."""
    return f"{header[:-1]}{OWN_CHECK}{zlib.crc32(header.encode())}}}"


def _check_sums(expected: dict[str, int], arrays: State) -> None:
    for name, array in arrays.items():
        if expected[name] != _checksum(array):
            raise ValueError(f"the bytes of {name} have changed")


def _features(header: dict[str, Any], arrays: State) -> Features | None:
    """The names of features among the arrays, checked; they are taken out."""
    if header["format"] == 1:
        names = header["feature_names"]
        return None if names is None else Features.named(names)
    found = {name: arrays.pop(name) for name in list(arrays) if name.startswith("features.")}
    if not found:
        return None
    key, column, text, start = (found[f"features.{name}"] for name in ("key", "column", "text", "start"))
    types = [array.dtype for array in (key, column, text, start)]
    if types != [np.uint32, np.int32, np.uint8, np.int64] or any(array.ndim != 1 for array in found.values()):
        raise ValueError("the names of its features have other types than they should")
    ascending = len(column) == 0 or (column[0] >= 0 and (np.diff(column) > 0).all() and column[-1] < len(key))
    fits = len(start) == len(column) + 1 and start[0] == 0 and (np.diff(start) >= 0).all() and start[-1] == len(text)
    if not (ascending and fits):
        raise ValueError("the names of its features do not fit together")
    return Features(key, column, Strings(text, start), bounded=not header["source"].get("vocabulary", True))


def _check_names(learner: Learner | TopicLearner, classes: list[Any], features: Features | None) -> None:
    unnamed = 1 if learner.settings.task == "binary" else 0  # a stream may not have shown its second class yet
    if not learner.n_classes - unnamed <= len(classes) <= learner.n_classes:
        raise ValueError(f"{len(classes)} names for {learner.n_classes} classes")
    if features is not None and len(features) != learner.n_features:
        raise ValueError(f"{len(features)} names for {learner.n_features} features")


def _header(path: object, metadata: dict[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not one of confidently's models")
    text = metadata[KEY]
    try:
        if text != _signed(text.rpartition(OWN_CHECK)[0] + "}"):
            raise ValueError("its bytes have changed")
        header: dict[str, Any] = json.loads(text)
        version = header["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{path} is a damaged model file: its header cannot be read ({error})") from error
    if version not in range(1, FORMAT + 1):
        raise ModelFileError(
            f"{path} has format {version!r}; this version of confidently reads formats up to {FORMAT}: upgrade it, or "
            "retrain"
        )
    return header


def _packed(learner: Learner) -> State:
    """The state with the rows of weights left out that were never touched, where that is smaller."""
    state = {name: np.ascontiguousarray(array) for name, array in learner.state.items()}
    if learner.settings.geometry == "kernel":
        return state
    weights = np.ascontiguousarray(learner.weights)
    state["weights"] = weights
    if learner.settings.dense:  # of the room for pending rows, only what is taken
        state["pending"] = np.ascontiguousarray(state["pending"][:, : state["pending_rows"][0]])
    if len(weights) == 0:
        return state
    prior = prior_weights(learner.settings, learner.state, 1, weights.shape[2])
    touched = np.flatnonzero((weights != prior).any(axis=(1, 2)))
    if len(touched) * (weights[:1].nbytes + touched.itemsize) < weights.nbytes:
        state["weights"], state["weights.rows"] = weights[touched], touched
    return state


def _unpacked(learner: Learner, arrays: State) -> State:
    """The state of a packed one, checked: its types and shapes are what the settings and sizes call for."""
    from ..covariances.state import expected_shapes

    if learner.settings.geometry == "kernel":
        return _checked(arrays, expected_shapes(learner.settings, learner.n_features, learner.n_classes, arrays))
    rows = arrays.pop("weights.rows", None)
    if rows is not None:
        shape = expected_shapes(learner.settings, learner.n_features, learner.n_classes)["weights"][0]
        if rows.dtype != np.int64 or (len(rows) and not 0 <= rows.min() <= rows.max() < shape[0]):
            raise ValueError("its rows of weights lie outside the model")
        whole = prior_weights(learner.settings, arrays, shape[0], shape[2])
        whole[rows] = arrays["weights"]
        arrays["weights"] = whole
    if learner.settings.dense:
        _make_room_for_pending(learner, arrays)
    return _checked(arrays, expected_shapes(learner.settings, learner.n_features, learner.n_classes))


def _checked(arrays: State, expected: dict[str, tuple[tuple[int, ...], np.dtype]]) -> State:
    """The arrays that are expected, each of the right shape and type, finite, and ready to be written to."""
    for name, (shape, dtype) in expected.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{name} is {array.dtype}{list(array.shape)}, not {np.dtype(dtype)}{list(shape)}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are not finite")
        if not array.flags.writeable or not array.flags.c_contiguous:
            arrays[name] = array.copy()
    return {name: arrays[name] for name in expected}


def _make_room_for_pending(learner: Learner, arrays: State) -> None:
    """Files hold the pending rows there are; the oldest know of none."""
    from ..covariances.state import expected_shapes

    shape, dtype = expected_shapes(learner.settings, learner.n_features, learner.n_classes)["pending"]
    found = arrays.pop("pending", np.zeros((shape[0], 0, shape[2]), dtype))
    count = arrays.setdefault("pending_rows", np.zeros(1, dtype=np.int64))
    fits = found.ndim == 3 and found.shape[::2] == shape[::2] and found.dtype == dtype and found.shape[1] <= shape[1]
    if not fits or count.tolist() != [found.shape[1]]:
        raise ValueError(f"pending is {found.dtype}{list(found.shape)}, not {dtype}{list(shape)}")
    arrays["pending"] = np.zeros(shape, dtype)
    arrays["pending"][:, : found.shape[1]] = found
