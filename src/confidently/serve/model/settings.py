"""What a served model is made of: the body of ``PUT /v1/models/{m}``, with the names of ``train --rule arow``."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from ...bandits.policies import DEFAULT_POLICY, Policy, make_policy
from ...covariances.names import AUTO, DIAGONAL, RANK
from ...covariances.settings import Settings
from ...data.classes import ClassTable, class_named
from ...data.features import Features
from ...data.formats.table import OBJECTS
from ...data.reading import DEFAULT_LABEL, ReaderOptions
from ...encoders import EncoderInfo
from ...learner.recipe import Recipe, one_output
from ...learner.streams import StreamLearner
from ...learner.tables import default_view
from ...models.entries import estimator_entries
from ...rules import make_rule
from ...stack.number_choice import stack_of
from ...tasks.names import Multiclass
from ...tasks.table import NUMBERS
from ...tasks.targets import check_bounds
from ...tasks.task import Task
from ...views.table import make_view
from ..problems import Problem

Name = int | str
Guard = Literal["unknown-field", "text-for-number", "no-known-feature", "unknown-class"]
ALONE = ("rule_parameters", "view", "multiclass", "calibration", "average", "forget", "projection", "rank")
OF_CLASSES = ("classes", "multilabel", "multiclass")
OF_NGRAMS = ("analyzer", "ngrams", "counts", "bits", "vocabulary", "normalize", "zeros", "date_format")
DECISIONS: Final = "decisions"
SHARED_ARMS: Final = "shared"  # one model of all actions
OF_ENTITIES = ("max_entities", "max_age")
WITHOUT_KEY = ("auto", "multilabel", "encoder", "bounds")  # what has no meaning, or no support, for entities
OF_DECISIONS = ("arms", "reward_range", "drift", "policy")
DEFAULTS: dict[str, dict[str, str | None]] = {
    "classes": {"rule": "arow", "covariance": DIAGONAL},
    "numbers": {"rule": "ridge", "covariance": AUTO},
    DECISIONS: {"rule": None, "covariance": None},
}


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


class Deciding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How a model of decisions chooses, which does not change what it learns.

    ``name`` and ``parameters`` are those of the policy, by default "rand_ucb". ``least_share`` is the
    fraction of decisions that is spread evenly over all actions. An ``apprentice`` takes the baseline, and keeps what
    it would have chosen. A decision without a reward ``deadline`` seconds after it counts gets the ``default_reward``.
    """

    name: str | None = None
    parameters: dict[str, float] = {}
    least_share: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    apprentice: bool = False
    deadline: Annotated[float, msgspec.Meta(gt=0.0, le=1e8)] | None = None
    default_reward: Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)] = 0.0

    def made(self) -> Policy:
        """Return the policy."""
        return make_policy(DEFAULT_POLICY if self.name is None else self.name, **self.parameters)

    def named(self) -> Deciding:
        """Return the same with the name and all parameters of the policy, whatever the default will be."""
        policy = self.made()
        return msgspec.structs.replace(self, name=policy.name, parameters=policy.get_params())


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The settings of a served model.

    A model is a single learner unless ``auto`` asks for several, since each row is learned by itself; without
    ``trees``, none of these is on boosted trees. Without ``view``, the first rows decide whether numbers are
    standardized, as in ``confidently train --rule arow``; with the task "numbers", they decide about the covariance, as
    in ``confidently train --rule ridge``. With ``classes``, other labels are errors; without, classes are added as they
    appear. Without ``rule`` and ``covariance``, they are "arow" and "diag", of numbers "ridge" and "auto". ``file`` is
    the SHA-256 of the model file that an uploaded model began with; nothing else is set then.

    With an ``encoder``, rows are the vectors that it makes of their text, and nothing else; ``reading.text`` names the
    column, by default "text". The server keeps in ``encoder_info`` by what it recognizes the encoder.

    With a ``key``, each value of that column has a small model of its own around one that all rows teach
    (:class:`confidently.entities.EntityModels`). ``max_entities`` and ``max_age`` bound how many there are, and after
    how many rows without one of its own a key is forgotten.

    With the task "decisions", the rewards of actions are learned (:class:`confidently.bandits.DecisionModel`). With
    ``arms`` "own", every action has a model of its own, with "shared" one model learns from products of the features of
    contexts and actions; "auto" is "shared" if the action of the first reward has features. ``reward_range`` has the
    least and the largest reward that are expected. With ``drift``, the model learns again from the latest rewards only,
    once its predictions get worse. Only these, ``policy`` and ``ask`` are then set.

    The last three do not change what is learned. ``ask`` is the fraction of predictions that ask for their label;
    ``strict`` names what is not accepted of rows, once the model has learned 100, instead of being counted only;
    ``policy`` is how decisions are made.
    """

    task: Literal["classes", "numbers", "decisions"] = "classes"
    rule: str | None = None
    rule_parameters: dict[str, float] = {}
    covariance: str | None = None
    classes: list[Name] = []
    auto: bool = False
    trees: bool = True
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
    rank: int = RANK
    dtype: Literal["float64", "float32"] = "float64"
    reading: Reading = Reading()
    key: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    max_entities: Annotated[int, msgspec.Meta(ge=1, le=2**53)] | None = None
    max_age: Annotated[int, msgspec.Meta(ge=1, le=2**53)] | None = None
    bounds: tuple[float | None, float | None] | None = None
    arms: Literal["auto", "own", "shared"] = "auto"
    reward_range: tuple[float, float] = (0.0, 1.0)
    drift: bool = True
    file: str | None = None
    encoder: str | None = None
    encoder_info: EncoderInfo | None = None
    ask: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.1
    strict: list[Guard] = []
    policy: Deciding = Deciding()


MAX_REWARD = 1e9
IN_PLACE = ("ask", "strict", "policy")  # do not change what is learned
OF_LEARNERS = {field.name for field in fields(Settings)} & set(ModelSettings.__struct_fields__)
OF_LEARNERS -= {"task", "rule", "covariance"}


class Decision(NamedTuple):
    """What the first rows decide.

    Attributes
    ----------
    is_table : bool
        Whether they have numeric columns, which are then read as they are, and standardized for classes.
    covariance : str or None
        The covariance that "auto" is, by the number of their columns; None: none is to be decided.
    """

    is_table: bool = False
    covariance: str | None = None


UNDECIDED = Decision()


class Setup:
    """Checked settings: makes the untrained learner of a model, and says how its rows are read.

    Parameters
    ----------
    settings : ModelSettings

    Attributes
    ----------
    targets : bool
        Whether numbers are predicted.
    decides : bool
        Whether these are the rewards of actions.
    task : Task
        That of an untrained learner.
    undecided, undecided_covariance : bool
        Whether the first rows decide on how numbers are read and seen, or on the covariance.

    Raises
    ------
    Problem
        If the settings do not fit together, with the reason.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings, self.targets = settings, settings.task != "classes"
        self.decides = settings.task == DECISIONS
        self.rule, self.covariance = (self._or_default(name) for name in ("rule", "covariance"))
        self.undecided = (
            not settings.auto and settings.view is None and settings.reading.normalize != "l2"
            and settings.encoder is None
        )  # fmt: skip
        self.undecided_covariance = self.targets and not settings.auto and self.covariance == AUTO
        try:
            self._check()
            # those of entities are not inferred, since a shared model predicts only a part of a number
            self.bounds = check_bounds(settings.bounds)
            self.view = None if settings.view is None else make_view(settings.view)
            self.task: Task = NUMBERS if self.decides else self.learner(self.reading()).learner.task
        except (TypeError, ValueError) as error:
            raise Problem("invalid-settings", str(error)) from None

    def _or_default(self, name: str) -> Any:
        given = getattr(self.settings, name)
        return DEFAULTS[self.settings.task][name] if given is None else given

    def reading(self, is_table: bool = False) -> ReaderOptions:
        """Return how rows are read, as the first of them have decided."""
        given = {name: getattr(self.settings.reading, name) for name in Reading.__struct_fields__}
        if self.settings.key is not None:
            given["drop"] = [*given["drop"], self.settings.key]
        given = {name: value for name, value in given.items() if value not in (None, False, [])}
        if self.settings.encoder_info is not None:
            return ReaderOptions(format=OBJECTS, header=(), **given, encoder=self.settings.encoder_info)
        if is_table:
            given |= {"normalize": "none", "zeros": True}
        elif self.settings.auto or (self.view is not None and self.view.takes_values):
            given = {"normalize": "none", "zeros": True} | given
        return ReaderOptions(format=OBJECTS, header=(), **given)

    def learner(self, reading: ReaderOptions, decided: Decision = UNDECIDED) -> StreamLearner:
        """Return an untrained learner."""
        settings, table = self.settings, self._class_table()
        features = Features(bounded=not reading.vocabulary) if reading.named else None
        if settings.auto:
            stack = stack_of(table, self.targets, settings.dtype, self.bounds, settings.trees)
            return StreamLearner(stack, table, None, features, reading)
        view = default_view(True) if decided.is_table and not self.targets else self.view
        rule = make_rule(self.rule, **settings.rule_parameters)
        chosen = {name: getattr(settings, name) for name in OF_LEARNERS}
        chosen |= {"covariance": decided.covariance or self.covariance, "targets": self.targets, "bounds": self.bounds}
        return Recipe.of(rule, view, settings.multiclass, **chosen).stream_learner(table, features, reading)

    def _class_table(self) -> ClassTable:
        settings = self.settings
        if self.targets:
            return one_output()
        return ClassTable(self._classes(), settings.multilabel, closed=bool(settings.classes))

    def estimator(self) -> dict[str, Any]:
        """Return the entries of the model file that are not the learner's."""
        settings = self.settings
        return estimator_entries(
            self.targets, settings.auto, covariance=self.covariance, multiclass=settings.multiclass,
            calibration=None if settings.calibration == "none" else settings.calibration, trees=settings.trees,
        )  # fmt: skip

    def _classes(self) -> list[Name]:
        """Return the classes as rows have them: "1" is the label 1."""
        return [class_named(str(name)) for name in self.settings.classes]

    def _check(self) -> None:
        settings = self.settings
        if self.decides:
            self._check_deciding()
            return
        classes = self._classes()
        if classes and (len(classes) < 2 or "" in classes or len(set(classes)) < len(classes)):
            raise ValueError(f"classes: expected two or more different names, got {settings.classes!r}")
        if settings.auto and (given := [name for name in ALONE if _is_set(settings, name)]):
            raise ValueError(f"auto chooses its learners; leave out {', '.join(given)}")
        if settings.auto and {"rule": self.rule, "covariance": self.covariance} != DEFAULTS[settings.task]:
            raise ValueError("auto chooses its learners; leave out rule and covariance")
        if not (settings.auto or settings.trees):
            raise ValueError("trees: only with auto are there members on trees; leave that out")
        if given := [name for name in OF_DECISIONS if _is_set(settings, name)]:
            raise ValueError(f'{", ".join(given)}: only for the task "{DECISIONS}"; leave that out')
        self._check_keyed()
        if settings.encoder is not None:
            self._check_encoded()
        if self.targets and (given := [name for name in OF_CLASSES if _is_set(settings, name)]):
            raise ValueError(f"a model of numbers has none of {', '.join(given)}; leave that out")
        if not self.targets and settings.bounds is not None:
            raise ValueError('bounds: for the task "numbers"; leave them out')
        if not self.targets and self.covariance == AUTO:
            raise ValueError(f'covariance: "{AUTO}" is for the task "numbers"; name a covariance')

    def _check_keyed(self) -> None:
        settings = self.settings
        if settings.key is None:
            if given := [name for name in OF_ENTITIES if _is_set(settings, name)]:
                raise ValueError(f"{', '.join(given)}: only with a key; leave that out")
            return
        if given := [name for name in WITHOUT_KEY if _is_set(settings, name)]:
            raise ValueError(f"a model with a key has none of {', '.join(given)}; leave that out")
        if settings.key == self.label:
            raise ValueError(f"key: {settings.key!r} is the key of labels; name another one")
        from ...entities.inputs import check_rule  # imported here since scikit-learn is slow to import

        check_rule(make_rule(self.rule, **settings.rule_parameters))

    def _check_encoded(self) -> None:
        reading = self.settings.reading
        if given := [name for name in OF_NGRAMS if getattr(reading, name) != getattr(Reading(), name)]:
            raise ValueError(f"an encoder makes features of the text only; leave out {', '.join(given)}")

    def _check_deciding(self) -> None:
        settings, allowed = self.settings, {"task", "ask", "file", *OF_DECISIONS}
        if given := [one for one in settings.__struct_fields__ if one not in allowed and _is_set(settings, one)]:
            raise ValueError(f"a model of decisions has none of {', '.join(given)}; leave that out")
        low, high = settings.reward_range
        if not -MAX_REWARD <= low < high <= MAX_REWARD:
            raise ValueError(f"reward_range: expected two numbers within {MAX_REWARD:g}, the larger one last")
        settings.policy.made()

    @property
    def label(self) -> str:
        """The key of labels in rows, which features must not have."""
        return self.settings.reading.label or DEFAULT_LABEL


def _default(name: str) -> Any:
    return getattr(ModelSettings(), name)


def _is_set(settings: ModelSettings, name: str) -> bool:
    return bool(getattr(settings, name) != _default(name))


def canonical(settings: ModelSettings) -> bytes:
    """Return settings as JSON, equal for equal settings."""
    defaults = DEFAULTS[settings.task]
    given = {name: None for name, value in defaults.items() if getattr(settings, name) == value}
    settings = msgspec.structs.replace(settings, **given)
    reading = _without_defaults(settings.reading)
    return msgspec.json.encode(_without_defaults(settings, reading=reading), order="deterministic")


def as_given(settings: ModelSettings) -> ModelSettings:
    """Return settings as users give them."""
    return msgspec.structs.replace(settings, encoder_info=None)


def what_is_learned(settings: bytes) -> bytes:
    """Return canonical settings without those that do not change what is learned."""
    kept = msgspec.json.decode(settings, type=ModelSettings)
    return canonical(msgspec.structs.replace(kept, **{name: _default(name) for name in IN_PLACE}))


def _without_defaults(settings: Any, **other: Any) -> Any:
    """Return settings in which what equals a default is the default itself, which encoders recognize and leave out."""
    default = type(settings)()
    given = {name: getattr(settings, name) for name in settings.__struct_fields__} | other
    return type(settings)(**{name: value for name, value in given.items() if value != getattr(default, name)})
