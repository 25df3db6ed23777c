"""Models: a learner and what its numbers mean, saved to and loaded from model files.

Where most features were never touched the rows of ``weights`` that still stand at the prior are left out;
``weights.rows`` then numbers those that are there.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ..covariances.state import State, expected_shapes, prior_weights
from ..data.features import Features
from ..learner.learner import Learner
from . import file
from .file import checked_arrays


@dataclass
class SavedModel(ABC):
    """A learner and what its numbers mean: what every kind of model has.

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

    kind: ClassVar[str]

    learner: Any
    classes: list[Any]
    features: Features | None = None
    estimator: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def packed(self) -> State:
        """The learner's arrays as the file keeps them."""

    @staticmethod
    @abstractmethod
    def unpacked(header: dict[str, Any], arrays: State) -> Any:
        """The learner of a header and packed arrays; an error where they do not fit."""

    def header(self) -> dict[str, Any]:
        """Everything that is not an array."""
        return {
            "classes": self.classes,
            "estimator": self.estimator,
            "source": self.source,
            **({"training": self.training} if self.training else {}),
            **self.learner.header(),
        }

    def arrays(self) -> State:
        """The packed arrays of the learner and of the names of features."""
        return self.packed() | ({} if self.features is None else self.features.arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which appears whole or not at all."""
        file.write(path, self.header(), self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file of this kind.

        Raises
        ------
        ModelFileError
            If it is not one, is damaged or truncated, or was written by a later version; or holds another kind of
            model.
        OSError
            If it cannot be read.
        """
        return cls.from_contents(file.read(path, cls.kind))

    @classmethod
    def from_contents(cls, contents: file.Contents) -> Self:
        """The model that a file holds."""
        header = contents.header
        with file.damage_reported(contents.path):
            learner = cls.unpacked(header, contents.arrays)
            _check_names(learner, header["classes"], contents.features)
            return cls(
                learner, header["classes"], contents.features, header["estimator"], header["source"],
                header.get("training", {}),
            )  # fmt: skip


@dataclass
class Model(SavedModel):
    """A classifier and what its numbers mean."""

    kind: ClassVar[str] = "linear"

    learner: Learner

    def packed(self) -> State:
        """The state with the rows of weights left out that were never touched, where that is smaller."""
        return _packed(self.learner)

    @staticmethod
    def unpacked(header: dict[str, Any], arrays: State) -> Learner:
        """The learner of a header and packed arrays; an error where they do not fit."""
        learner = Learner.from_header(header, {})
        learner.state = _unpacked(learner, arrays)
        return learner


def _check_names(learner: Any, classes: list[Any], features: Features | None) -> None:
    unnamed = 1 if learner.settings.task == "binary" else 0  # a stream may not have shown its second class yet
    if not learner.n_classes - unnamed <= len(classes) <= learner.n_classes:
        raise ValueError(f"{len(classes)} names for {learner.n_classes} classes")
    if features is not None and len(features) != learner.n_features:
        raise ValueError(f"{len(features)} names for {learner.n_features} features")


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
    if learner.settings.geometry == "kernel":
        return checked_arrays(arrays, expected_shapes(learner.settings, learner.n_features, learner.n_classes, arrays))
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
    return checked_arrays(arrays, expected_shapes(learner.settings, learner.n_features, learner.n_classes))


def _make_room_for_pending(learner: Learner, arrays: State) -> None:
    """Files hold the pending rows there are; the oldest know of none."""
    shape, dtype = expected_shapes(learner.settings, learner.n_features, learner.n_classes)["pending"]
    found = arrays.pop("pending", np.zeros((shape[0], 0, shape[2]), dtype))
    count = arrays.setdefault("pending_rows", np.zeros(1, dtype=np.int64))
    fits = found.ndim == 3 and found.shape[::2] == shape[::2] and found.dtype == dtype and found.shape[1] <= shape[1]
    if not fits or count.tolist() != [found.shape[1]]:
        raise ValueError(f"pending is {found.dtype}{list(found.shape)}, not {dtype}{list(shape)}")
    arrays["pending"] = np.zeros(shape, dtype)
    arrays["pending"][:, : found.shape[1]] = found
