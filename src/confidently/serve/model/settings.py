"""What a served model is made of: the body of ``PUT /v1/models/{m}``, with the names of ``train --rule arow``."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

import msgspec

from ...covariances.settings import Settings
from ...data.classes import ClassTable, class_named
from ...data.features import Features
from ...data.formats.table import OBJECTS
from ...data.reading import DEFAULT_LABEL, ReaderOptions
from ...learner.recipe import Recipe
from ...learner.streams import StreamLearner
from ...learner.tables import default_view
from ...rules import make_rule
from ...stack.choice import new_stack
from ...tasks.names import Multiclass
from ...views.table import make_view
from ..problems import Problem

Name = int | str
Guard = Literal["unknown-field", "text-for-number", "no-known-feature", "unknown-class"]
ALONE = ("rule_parameters", "view", "multiclass", "calibration", "average", "forget", "projection")


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How the objects of rows become features; the names are those of the options of ``confidently train``."""

    label: str | None = None
    drop: list[str] = []
    only: list[str] = []
    category: list[str] = []
    text: list[str] = []
    dates: list[str] = []
    date_format: str | None = None
    analyzer: Literal["word", "char"] = "word"
    ngrams: tuple[int, int] = (1, 1)
    counts: Literal["count", "binary"] = "count"
    bits: int = 22
    vocabulary: bool = False
    normalize: Literal["l2", "none"] | None = None
    zeros: bool = False


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The settings of a served model.

    A model is a single learner unless ``auto`` asks for several, since each row is learned by itself. Without ``view``,
    the first rows decide whether numbers are standardized, as in ``confidently train --rule arow``. With
    ``classes``, other labels are errors; without, classes are added as they appear. ``file`` is the SHA-256 of the
    model file that an uploaded model began with; nothing else is set then.

    The last two do not change what is learned. ``ask`` is the fraction of predictions that ask for their label;
    ``strict`` names what is not accepted of rows, once the model has learned 100, instead of being counted only.
    """

    rule: str = "arow"
    rule_parameters: dict[str, float] = {}
    covariance: str = "diag"
    classes: list[Name] = []
    auto: bool = False
    multilabel: bool = False
    view: str | None = None
    multiclass: Multiclass | None = None
    calibration: Literal["progressive", "none"] = "progressive"
    prior_variance: float = 1.0
    min_variance: float = 1e-12
    fit_intercept: bool = True
    average: bool = False
    forget: float = 0.0
    projection: Literal["precision", "moments"] | None = None
    dtype: Literal["float64", "float32"] = "float64"
    reading: Reading = Reading()
    file: str | None = None
    ask: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.1
    strict: list[Guard] = []


OF_LEARNERS = {field.name for field in fields(Settings)} & set(ModelSettings.__struct_fields__) - {"rule"}


class Setup:
    """Checked settings: makes the untrained learner of a model, and says how its rows are read.

    Parameters
    ----------
    settings : ModelSettings

    Attributes
    ----------
    undecided : bool
        Whether the first rows decide on the view.

    Raises
    ------
    Problem
        If the settings do not fit together, with the reason.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self.undecided = not settings.auto and settings.view is None and settings.reading.normalize != "l2"
        try:
            self._check()
            self.view = None if settings.view is None else make_view(settings.view)
            self.learner(self.reading())
        except (TypeError, ValueError) as error:
            raise Problem("invalid-settings", str(error)) from None

    def reading(self, standardized: bool = False) -> ReaderOptions:
        """Return how rows are read; ``standardized``: for the view that the first rows have chosen."""
        given = {name: getattr(self.settings.reading, name) for name in Reading.__struct_fields__}
        given = {name: value for name, value in given.items() if value not in (None, False, [])}
        if standardized:
            given |= {"normalize": "none", "zeros": True}
        elif self.settings.auto or (self.view is not None and self.view.takes_values):
            given = {"normalize": "none", "zeros": True} | given
        return ReaderOptions(format=OBJECTS, header=(), **given)

    def learner(self, reading: ReaderOptions, standardized: bool = False) -> StreamLearner:
        """Return an untrained learner."""
        settings = self.settings
        table = ClassTable(self._classes(), settings.multilabel, closed=bool(settings.classes))
        features = Features(bounded=not reading.vocabulary)
        if settings.auto:
            stack = new_stack(len(table), dtype=settings.dtype, multilabel=settings.multilabel)
            return StreamLearner(stack, table, None, features, reading)
        view = default_view(True) if standardized else self.view
        rule = make_rule(settings.rule, **settings.rule_parameters)
        chosen = {name: getattr(settings, name) for name in OF_LEARNERS}
        return Recipe.of(rule, view, settings.multiclass, **chosen).stream_learner(table, features, reading)

    def estimator(self) -> dict[str, Any]:
        """Return the entries of the model file that are not the learner's."""
        if self.settings.auto:
            return {"members": "auto"}
        calibration = None if self.settings.calibration == "none" else self.settings.calibration
        return {"multiclass": self.settings.multiclass, "calibration": calibration}

    def _classes(self) -> list[Name]:
        """Return the classes as rows have them: "1" is the label 1."""
        return [class_named(str(name)) for name in self.settings.classes]

    def _check(self) -> None:
        settings = self.settings
        classes = self._classes()
        if classes and (len(classes) < 2 or "" in classes or len(set(classes)) < len(classes)):
            raise ValueError(f"classes: expected two or more different names, got {settings.classes!r}")
        if settings.auto and (given := [name for name in ALONE if getattr(settings, name) != _default(name)]):
            raise ValueError(f"auto chooses its learners; leave out {', '.join(given)}")
        if settings.auto and (settings.rule, settings.covariance) != (_default("rule"), _default("covariance")):
            raise ValueError("auto chooses its learners; leave out rule and covariance")

    @property
    def label(self) -> str:
        """The key of labels in rows, which features must not have."""
        return self.settings.reading.label or DEFAULT_LABEL


def _default(name: str) -> Any:
    return getattr(ModelSettings(), name)


def canonical(settings: ModelSettings) -> bytes:
    """Return settings as JSON, equal for equal settings."""
    reading = _without_defaults(settings.reading)
    return msgspec.json.encode(_without_defaults(settings, reading=reading), order="deterministic")


def _without_defaults(settings: Any, **other: Any) -> Any:
    """Return settings in which what equals a default is the default itself, which encoders recognize and leave out."""
    default = type(settings)()
    given = {name: getattr(settings, name) for name in settings.__struct_fields__} | other
    return type(settings)(**{name: value for name, value in given.items() if value != getattr(default, name)})
