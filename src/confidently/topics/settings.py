"""The settings of a topic model, with the range of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .. import _core
from ..rules.ranges import POSITIVE, check_choice, check_integer, check_number
from ..tasks.table import BINARY, TASKS
from ..tasks.task import Task

# By name in model files; labels share topics, and each has a classifier of its own.
TOPIC_TASKS = {"binary": BINARY, "one-vs-rest": TASKS["one-vs-rest"], "multilabel": TASKS["multilabel-one-vs-rest"]}
CLASSIFIERS = ("gibbs", "averaging")
MAX_SEED = 2**31 - 1
MAX_SETTING, MAX_REPETITIONS = 1e30, 2**20


def _choice(*choices: object, **default: Any) -> Any:
    return field(metadata={"choices": choices}, **default)


def _positive() -> Any:
    return field(metadata={"range": POSITIVE})


def _integer(minimum: int) -> Any:
    return field(metadata={"minimum": minimum})


@dataclass(frozen=True)
class TopicSettings:
    """Settings of a topic model, as opposed to what it has learned; :class:`confidently.OnlineMedLDA` explains each.

    The metadata of a field holds its ``choices``, the ``range`` of a number or the ``minimum`` of an integer.
    """

    task: str = _choice(*TOPIC_TASKS)
    classifier: str = _choice(*CLASSIFIERS)
    n_topics: int = _integer(1)
    nonparametric: bool = _choice(False, True)
    document_prior: float = _positive()
    word_prior: float = _positive()
    stick_prior: float = _positive()
    c: float = _positive()
    epsilon: float = _positive()
    prior_variance: float = _positive()
    step_size: float = _positive()
    n_inner: int = _integer(1)
    n_samples: int = _integer(1)
    burn_in: int = _integer(0)
    batch_size: int = _integer(1)
    topic_expectation: str = _choice("ratio", "digamma")
    prediction_samples: int = _integer(1)
    prediction_burn_in: int = _integer(0)
    seed: int = _integer(0)
    calibration: str | None = _choice("progressive", None, default="progressive")

    def __post_init__(self) -> None:
        for setting in fields(self):
            check_setting(setting.name, getattr(self, setting.name), setting.metadata)
        check_sizes(self)

    def models(self, n_classes: int) -> int:
        """Number of topic models."""
        return n_classes if self.predicts.several else 1

    @property
    def predicts(self) -> Task:
        """What is predicted of a document."""
        return TOPIC_TASKS[self.task]

    def tasks(self, n_classes: int) -> int:
        """Number of classifiers that share a topic model."""
        return n_classes if self.predicts.multilabel else 1

    def whole_batches(self, n: int) -> int:
        """Number of documents in the fewest batches that hold ``n``."""
        return whole_batches(n, self.batch_size)

    def core(self, n_classes: int) -> _core.Topics:
        """The compiled model."""
        return _core.Topics(
            topics=self.n_topics, tasks=self.tasks(n_classes), nonparametric=self.nonparametric,
            digamma=self.topic_expectation == "digamma", gibbs=self.classifier == "gibbs",
            document_prior=self.document_prior, word_prior=self.word_prior, stick_prior=self.stick_prior, c=self.c,
            epsilon=self.epsilon, prior_variance=self.prior_variance, step_size=self.step_size, inner=self.n_inner,
            samples=self.n_samples, burn_in=self.burn_in, batch=self.batch_size, seed=self.seed,
        )  # fmt: skip


def check_setting(name: str, value: object, allowed: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless a setting's metadata allow the value."""
    if "choices" in allowed:
        check_choice(name, value, allowed["choices"])
        if isinstance(allowed["choices"][0], bool) and not isinstance(value, bool):  # 0 and 0.0 are equal to False
            raise TypeError(f"topic model: {name} must be True or False, got {value!r}")
    elif "minimum" in allowed:
        check_integer("topic model", name, value, allowed["minimum"])
    else:
        check_number("topic model", name, value, allowed["range"])


def whole_batches(n: int, batch_size: int) -> int:
    """Return the number of documents in the fewest batches that hold ``n``."""
    return -(-n // batch_size) * batch_size


def check_sizes(settings: TopicSettings) -> None:
    """Raise ``ValueError`` for settings with which predictions would not end or not be finite."""
    for setting in fields(settings):
        if "choices" in setting.metadata:
            continue
        low, high = 1 / MAX_SETTING, MAX_SETTING
        if "minimum" in setting.metadata:
            low, high = setting.metadata["minimum"], MAX_SEED if setting.name == "seed" else MAX_REPETITIONS
        if not low <= (value := getattr(settings, setting.name)) <= high:
            raise ValueError(f"{setting.name} must be in {low:.10g} to {high:.10g}, got {value:.11g}")
