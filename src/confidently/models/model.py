"""Models: a learner with the names of its classes and features, saved in a model file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..covariances.state import Size, State, check_rows
from ..covariances.table import saved_multiclass
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.reading import ReaderOptions
from ..learner.learner import Learner
from ..learner.streams import StreamLearner, StreamPredictor
from ..stack.number_stack import NumberStack
from ..stack.stack import Stack
from ..tasks.table import BINARY
from ..views.view import View
from ..wording import counted
from . import file, packing
from .file import LINEAR, REGRESSION


class Touched(NamedTuple):
    """The numbers of the features that a learner has, ascending, of ``n_features`` in all."""

    columns: np.ndarray
    n_features: int


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
    touched : Touched, optional
        The features that the learner has, if those at the prior were left out (:meth:`Model.load_touched`).
    """

    kinds: ClassVar[tuple[str, ...]]  # of model files

    learner: Any
    classes: list[Any]
    features: Features | None = None
    estimator: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    touched: Touched | None = None

    @property
    def n_features(self) -> int:
        """The number of features, those included that were left out."""
        return self.learner.n_features if self.touched is None else self.touched.n_features

    @abstractmethod
    def packed(self) -> State:
        """Return the learner's arrays as the file holds them."""

    @staticmethod
    @abstractmethod
    def unpacked(header: file.Header, arrays: State) -> Any:
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

    @abstractmethod
    def check_values(self) -> None:
        """Raise ``ValueError`` unless the learner's numbers are those that a file may hold."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which appears only when it is complete.

        Raises
        ------
        ValueError
            If :meth:`load` would refuse the file, because a number is not finite or out of range.
        """
        try:
            self.check_values()
        except ValueError as error:
            raise ValueError(f"{path}: not saved, the model is out of range: {error}") from None
        file.write(path, self.header(), self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *kinds: str) -> Self:
        """Read a model file of one of these kinds, by default of any that this class has.

        Raises
        ------
        ModelFileError
            If it is not a model file, is damaged or truncated, was written by a later version, or is of another kind.
        OSError
            If it cannot be read.
        """
        return cls.from_contents(file.read(path, *(kinds or cls.kinds)))

    @classmethod
    def from_contents(cls, contents: file.Contents) -> Self:
        """Return the model of a file's contents."""
        header = contents.header
        with file.damage_reported(contents.path):
            _check_names(header, contents.features)
            learner = cls.unpacked(header, contents.arrays)
            return cls(learner, header.classes, contents.features, header.estimator, header.source, header.training)


@dataclass
class Model(SavedModel):
    """A classifier or a regression: its learner or stack of learners, and the names of its classes and features.

    The classes of a regression are the numbers of its outputs.
    """

    kinds: ClassVar[tuple[str, ...]] = (LINEAR, REGRESSION)

    learner: Any

    @property
    def kind(self) -> str:
        """The kind of its file."""
        return REGRESSION if self.learner.task.regression else LINEAR

    @property
    def multiclass(self) -> str | None:
        """The task that was chosen for three or more classes, if one was."""
        return self.estimator.get("multiclass", "joint")

    @property
    def calibration(self) -> str | None:
        """What probabilities, or deviations and intervals, are made of: "progressive", or None."""
        return calibration_of(self.estimator)

    def class_table(self) -> ClassTable:
        """Return the classes, to which a stream may add others."""
        task = self.learner.task
        return ClassTable(self.classes, not task.one_class, task.regression or self.source.get("closed", False))

    def stream_learner(self, reading: ReaderOptions | None = None) -> StreamLearner:
        """Return the learner, to continue its training; ``reading`` is by default how its rows were read."""
        if reading is None and self.source:
            reading = ReaderOptions.from_dict(self.source)
        return StreamLearner(self.learner, self.class_table(), self.multiclass, self.features, reading)

    def header(self) -> dict[str, Any]:
        header = super().header()
        if self.learner.groups is not None:
            header["coverage_by"] = self.learner.groups.header()
        if "multiclass" in self.estimator and isinstance(self.learner, Learner):
            settings = self.learner.settings
            multiclass = saved_multiclass(settings.rule, settings.covariance, self.multiclass)
            header["estimator"] = self.estimator | {"multiclass": multiclass}
        return header if self.kind == LINEAR else {"kind": self.kind, **header}

    @classmethod
    def load_touched(cls, path: str | os.PathLike[str], if_needed: bool = False) -> Self:
        """Read a model file without its features that are at the prior and have no names.

        So a small file takes little memory, however many features it declares. ``if_needed``: they are left out only
        if the model is larger than the memory, and can predict without them, as it cannot where a view makes rows of
        all their values. Nothing is left out of stacks, of covariances that couple features, and where a view makes
        columns or has arrays of its own. The errors are those of :meth:`load`.
        """
        contents = file.read(path, *cls.kinds)
        rows = contents.arrays.get("weights.rows")
        if contents.header.members or rows is None or contents.features is not None:
            return cls.from_contents(contents)
        with file.damage_reported(path):
            header = contents.header
            learner, size = Learner.from_header(vars(header), {}), Size(header.n_features, header.n_classes)
            view, settings, covariance = learner.view, learner.settings, learner.covariance
            whole = covariance.couples_features or not (view is None or _is_of_rows(view))
            if whole or (if_needed and (view is not None or file.fits_memory(covariance.shapes(size)))):
                return cls.from_contents(contents)
            check_rows(rows, header.n_features + settings.fit_intercept)
            kept = np.union1d(np.arange(settings.fit_intercept), rows)
            contents.arrays["weights.rows"] = np.searchsorted(kept, rows)
            n_features, header.n_features = header.n_features, len(kept) - settings.fit_intercept
        model = cls.from_contents(contents)
        model.touched = Touched(kept[settings.fit_intercept :] - settings.fit_intercept, n_features)
        return model

    def predictor(self) -> StreamPredictor:
        """Return the learner, ready to predict a stream."""
        return StreamPredictor(self.learner, None if self.touched is None else self.touched.columns)

    def packed(self) -> State:
        """Return the state as its covariance and its view pack it, and that of a stack's members with their numbers."""
        return packing.packed(self.learner)

    def check_values(self) -> None:
        packing.check_values(self.learner)

    @staticmethod
    def unpacked(header: file.Header, arrays: State) -> Learner | Stack | NumberStack:
        """Return the learner of a header and packed arrays; an error if they do not fit."""
        return packing.unpacked(header, arrays)


def calibration_of(estimator: Mapping[str, Any]) -> str | None:
    """Return what calibrates probabilities by the estimator's entries in a model file; ``None``: nothing does."""
    return estimator.get("calibration", "progressive")


def _is_of_rows(view: View) -> bool:
    """Return whether a view transforms every row by itself, without arrays of its own."""
    return view.keeps_columns and not view.packed(view.new_arrays(n_classes=2), n_features=0)


def _check_names(header: file.Header, features: Features | None) -> None:
    # the second of two classes may not have been seen yet; topic models know both
    one_class = header.kind == LINEAR and not header.settings.get("multilabel")
    of_two = one_class and header.n_classes <= 2 if header.members else header.settings.get("task") == BINARY.name
    unnamed = int(header.kind == LINEAR and of_two)
    if unnamed and header.n_classes != 2:
        raise ValueError(f"{header.n_classes} classes for a task of two")
    if not header.n_classes - unnamed <= len(header.classes) <= header.n_classes:
        raise ValueError(f"{counted(len(header.classes), 'name')} for {counted(header.n_classes, 'class', 'classes')}")
    if None in header.classes and not unnamed:
        raise ValueError("a class has no name")
    if features is not None and len(features) != header.n_features:
        raise ValueError(f"{counted(len(features), 'name')} for {counted(header.n_features, 'feature')}")
