"""Models: a learner with the names of its classes and features, saved in a model file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from ..covariances.state import State
from ..data.features import Features
from ..learner.learner import Learner
from . import file
from .file import checked_arrays


@dataclass
class SavedModel(ABC):
    """Base of the models: a learner, and the names of its classes and features.

    Attributes
    ----------
    learner : Learner or TopicLearner
    classes : list of int or str
        Names of the classes (labels, in the multilabel task), by number.
    features : Features, optional
        Names of the features, where they have any.
    estimator : dict, optional
        Settings of the estimator that are not the learner's.
    source : dict, optional
        How rows were read, so that prediction reads them in the same way.
    training : dict, optional
        Position of the training, in a checkpoint.
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
        """Return the learner's arrays as the file holds them."""

    @staticmethod
    @abstractmethod
    def unpacked(header: dict[str, Any], arrays: State) -> Any:
        """Return the learner of a header and packed arrays; an error if they do not fit."""

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array."""
        return {
            "classes": self.classes,
            "estimator": self.estimator,
            "source": self.source,
            **({"training": self.training} if self.training else {}),
            **self.learner.header(),
        }

    def arrays(self) -> State:
        """Return the packed arrays of the learner and those of the names of features."""
        return self.packed() | ({} if self.features is None else self.features.arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which appears only when it is complete."""
        file.write(path, self.header(), self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file of this kind.

        Raises
        ------
        ModelFileError
            If it is not a model file, is damaged or truncated, was written by a later version, or is of another kind.
        OSError
            If it cannot be read.
        """
        return cls.from_contents(file.read(path, cls.kind))

    @classmethod
    def from_contents(cls, contents: file.Contents) -> Self:
        """Return the model of a file's contents."""
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
    """A classifier: its learner, and the names of its classes and features."""

    kind: ClassVar[str] = "linear"

    learner: Learner

    def packed(self) -> State:
        """Return the state as its covariance packs it."""
        return self.learner.covariance.packed(self.learner.state, self.learner.n_features)

    @staticmethod
    def unpacked(header: dict[str, Any], arrays: State) -> Learner:
        """Return the learner of a header and packed arrays; an error if they do not fit."""
        learner = Learner.from_header(header, {})
        state = learner.covariance.unpacked(arrays, learner.size)
        learner.state = checked_arrays(state, learner.covariance.shapes(learner.size, state))
        return learner


def _check_names(learner: Any, classes: list[Any], features: Features | None) -> None:
    unnamed = 1 if learner.settings.task == "binary" else 0  # the second class may not have been seen yet
    if not learner.n_classes - unnamed <= len(classes) <= learner.n_classes:
        raise ValueError(f"{len(classes)} names for {learner.n_classes} classes")
    if features is not None and len(features) != learner.n_features:
        raise ValueError(f"{len(features)} names for {learner.n_features} features")
