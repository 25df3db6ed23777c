"""What ``confidently topics train`` does: reads documents, and learns them in passes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ...data import Batch, ReaderOptions
from ...data.classes import ClassTable
from ...data.features import Features
from ...data.selection import in_blocks
from ...topics.documents import DocumentReader, Documents, block_size
from ...topics.inputs import DEFAULTS, chosen_settings
from ...topics.learner import TopicLearner, TopicSettings
from ...topics.model import TopicModel
from ..common import BadInput, class_names
from ..options.learner import announced
from ..options.reading import chosen_counting
from ..output.progress import Quiet
from ..output.topics_progress import TopicPosition, TopicStanding
from .data import TrainingData
from .passes import Passes

if TYPE_CHECKING:
    from .checkpoint import Checkpoints

RENAMED = {"n_inner": "inner", "n_samples": "samples"}  # parameters of the estimator whose options are called otherwise
MAX_SEED = 2**31 - 1
FIRST_DOCUMENTS = 512  # of a stream, whose mean length is the margin asked for


class TopicTraining(Passes):
    """One run of the command.

    Parameters
    ----------
    paths : sequence of str
    options : dict
        Of the command.
    checkpoints : Checkpoints, optional
    report : Quiet
    """

    kind, rows_called, position_type = "topics", "documents", TopicPosition
    given: TopicModel | None
    position: TopicPosition

    def __init__(
        self, paths: tuple[str, ...], options: dict[str, Any], checkpoints: Checkpoints | None, report: Quiet
    ) -> None:
        super().__init__(options, checkpoints, report)
        self.paths = paths
        self.learner: TopicLearner | None = None
        self.whole: Documents | None = None  # all documents, unless they are learned as they come
        multilabel = options["multilabel"] or None  # None: the first rows decide
        if self.given is not None:
            self._go_on(self.given)
            multilabel = self.given.learner.settings.task == "multilabel"
        else:
            self.reading, self.names = chosen_counting(options, paths), announced(options["classes"])
            self.parameters, self.stop_words = estimator_parameters(options), self._stop_words()
            self.closed = bool(self.names)
        skipping = options["on_error"] != "stop"
        self.data = TrainingData(
            paths, self.reading, "float64", multilabel, on_error=options["on_error"],
            classes=[str(name) for name in self.names] if skipping else [], beside=options["output_path"],
            caching=options["stream"] and options["passes"] > 1,
        )  # fmt: skip

    def _go_on(self, model: TopicModel) -> None:
        self.reading, self.learner, self.names = ReaderOptions.from_dict(model.source), model.learner, model.classes
        self.parameters, self.stop_words = model.estimator, frozenset(model.source.get("stop_words", ()))
        self.closed = model.source.get("closed", False)
        table = ClassTable(model.classes, model.learner.settings.task == "multilabel", closed=True)
        self.reader = DocumentReader(table, model.features, self.stop_words)

    def _stop_words(self) -> frozenset[str]:
        given = self.options["stop_words"]
        if given is None:
            return frozenset()
        if not self.reading.named:
            raise click.UsageError(f"--stop-words is for words with names; those of {self.reading.format} are numbered")
        if given == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return frozenset(ENGLISH_STOP_WORDS).union(ascii_lowercase, digits)
        return frozenset(Path(given).read_text(encoding="utf-8").split())

    # --- passes --------------------------------------------------------------------------------------------------

    def learn_pass(self) -> None:
        """Learn what is left of the present pass."""
        if self.options["stream"]:
            self._learn_as_they_come()
        else:
            self._learn_in_random_order()
        self.report.end(self.position.now)

    def end_pass(self) -> None:
        """The pass is over."""
        self.position.end_pass()
        self.position.now = TopicStanding()

    @property
    def has_learned(self) -> bool:
        """Whether there is a model yet."""
        return self.learner is not None

    def _learn_as_they_come(self) -> None:
        with self.data.one_pass(self.position.now.rows, self._features()) as (stream, batches):
            self._begin_report(self.data.total_bytes)
            batches = in_blocks(self.interruptions.watch(batches), self._stride())
            if self.learner is None:
                batches = self._started_with_first(batches, stream.multilabel)
            self._learn(self.reader.documents(batches))

    def _learn_in_random_order(self) -> None:
        if self.whole is None:
            self.whole = self._read()
        if self.learner is None:
            self.learner = self._new_learner(self.whole)
        order = self._order(self.position.passes)[self.position.now.rows :]
        self._begin_report(len(self.whole))
        size = self._stride()
        self._learn(self.whole.rows(order[first : first + size]) for first in range(0, len(order), size))

    def _order(self, number: int) -> np.ndarray:
        """The order of documents in a pass: always a new one, whichever pass this run began with."""
        assert self.whole is not None
        random = np.random.RandomState(self.options["seed"])
        return [random.permutation(len(self.whole)) for _ in range(number + 1)][-1]

    def _read(self) -> Documents:
        """All documents."""
        parts, rows, total = [], 0, self.data.total_bytes
        with self.data.one_pass(0, self._features()) as (stream, batches):
            if self.learner is None:
                self.reader = self._new_reader(stream.multilabel)
            for part in self.reader.documents(self.interruptions.watch(batches)):
                parts.append(part)
                rows += len(part)
                self.report.reading(TopicStanding(rows, bytes_read=self.reader.bytes_read), total)
        if not rows:
            raise self._nothing()
        return Documents.joined(parts)

    def _started_with_first(self, batches: Iterator[Batch], multilabel: bool) -> Iterator[Batch]:
        """The same batches; the first of them decide the margin asked for."""
        first: list[Batch] = []
        while sum(map(len, first)) < FIRST_DOCUMENTS and (batch := next(batches, None)) is not None:
            first.append(batch)
        if not first:
            raise self._nothing()
        looked_at = Documents.joined(list(self._new_reader(multilabel).documents(first)))
        self.reader = self._new_reader(multilabel)
        self.learner = self._new_learner(looked_at)
        return chain(first, batches)

    def _learn(self, parts: Iterable[Documents]) -> None:
        position, learner = self.position, self.learner
        assert learner is not None
        before, began = position.now.seconds, time.monotonic()
        for documents in parts:
            learner.grow(documents.bags.n_words)
            signs = documents.signs(learner.settings.task, learner.n_classes)
            first, weights = position.passes == 0, documents.weights
            learner.learn(documents.bags, signs, self.options["jobs"], new=first, weights=weights)
            was = position.now
            position.now = TopicStanding(
                was.rows + len(documents), words=was.words + int(documents.bags.lengths().sum()),
                bytes_read=self.reader.bytes_read if self.whole is None else 0,
                seconds=before + time.monotonic() - began,
            )  # fmt: skip
            self.report.update(position.now)
            self.checkpoint_if_due(was.rows)
            self.interruptions.check()

    def _begin_report(self, total: int | None) -> None:
        self.report.begin(self.position.passes + 1, self.options["passes"], self.position.now, total)

    def _stride(self) -> int:
        if self.learner is not None:
            return block_size(self.learner.settings.batch_size)
        return block_size(self.parameters["batch_size"] or DEFAULTS[self.parameters["classifier"]]["batch_size"])

    def _features(self) -> Features | None:
        return None if self.learner is None else self.reader.features

    def _nothing(self) -> BadInput:
        return BadInput(f"{', '.join(self.paths)}: there are no documents")

    # --- the model -----------------------------------------------------------------------------------------------

    def _new_reader(self, multilabel: bool) -> DocumentReader:
        table = ClassTable(self.names, multilabel, closed=bool(self.names))
        return DocumentReader(table, Features() if self.reading.named else None, self.stop_words)

    def _new_learner(self, documents: Documents) -> TopicLearner:
        """A learner whose first documents these are."""
        classes = self.reader.classes
        if not classes.multilabel and (len(classes.names) < 2 or None in classes.names):
            met = ", ".join(repr(str(name)) for name in classes.names if name is not None)
            raise BadInput(f"all documents are of one class ({met}): a topic model needs two classes or more")
        if not len(documents.bags.counts):
            raise BadInput(f"{', '.join(self.paths)}: no document has a word (that is not left out)")
        return TopicLearner(self._settings(documents), len(classes), 0)

    def _settings(self, documents: Documents) -> TopicSettings:
        classes = self.reader.classes
        task = "multilabel" if classes.multilabel else "binary" if len(classes) == 2 else "one-vs-rest"
        seed = int(np.random.RandomState(self.options["seed"]).randint(MAX_SEED))
        return replace(chosen_settings(self.parameters, task, documents.bags, documents.weights), seed=seed)

    def model(self) -> TopicModel:
        """What has been learned, as a file holds it."""
        reader, learner = self.reader, self.learner
        assert learner is not None  # there is no model before the first documents
        learner.grow(reader.n_words)
        source = {**self.reading.as_dict(), "closed": self.closed, "stop_words": sorted(self.stop_words)}
        return TopicModel(learner, list(reader.classes.names), reader.features, self.parameters, source)

    def result(self) -> dict[str, Any]:
        """An account of the run, as plain data."""
        learner, first = self.learner, self.position.first
        assert learner is not None and first is not None  # a pass is done
        settings = learner.settings
        return {
            "documents": first.rows,
            "passes": self.position.passes,
            "words": first.words * self.position.passes,
            "documents_seen": learner.n_seen,
            "vocabulary": learner.n_features,
            "task": settings.task,
            "classes": class_names(self.model()),
            "topics": settings.n_topics,
            "nonparametric": settings.nonparametric,
            "classifier": settings.classifier,
            "epsilon": settings.epsilon,
            "beforehand": beforehand(learner),
            "seconds": round(self.position.seconds, 6),
            "skipped": self.data.skipped,
            "skipped_examples": self.data.skipped_examples,
        }


def beforehand(learner: TopicLearner) -> dict[str, Any] | None:
    """How well the last documents were told apart that were scored before they were learned."""
    from ...topics.estimator import collapse_message

    scores, signs, _ = learner.progressive_scores()
    if not len(scores):
        return None
    task = learner.settings.task
    if task == "one-vs-rest":
        right = scores.argmax(axis=1) == signs.argmax(axis=1)
        found = {"accuracy": float(right.mean())}
    elif task == "binary":
        scores = scores[:, 0]
        found = {"accuracy": float(((scores > 0) == (signs[:, 0] > 0)).mean())}
    else:
        given, there = scores > 0, signs > 0
        found = {"micro_f1": float(2 * (given & there).sum() / max(given.sum() + there.sum(), 1))}
    several = bool((signs != signs[0]).any())
    return {
        "documents": len(scores),
        **found,
        "told": collapse_message(scores, task == "multilabel") if several else None,
    }


def estimator_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of :class:`confidently.OnlineMedLDA` that the options mean."""
    from ...topics.estimator import OnlineMedLDA

    defaults: dict[str, Any] = OnlineMedLDA().get_params()
    given = {name: options[RENAMED.get(name, name)] for name in defaults if RENAMED.get(name, name) in options}
    return defaults | given | {"random_state": options["seed"]}
