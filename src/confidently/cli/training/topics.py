"""Training of topic models, on documents in random order or as they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import click
import numpy as np

from ...arrays import predicted_numbers
from ...data import Batch
from ...data.classes import ClassTable
from ...data.features import Features
from ...data.selection import in_blocks
from ...topics.documents import DocumentReader, Documents, block_size
from ...topics.inputs import DEFAULTS, chosen_settings
from ...topics.learner import TopicLearner, collapse_message
from ...topics.model import TopicModel
from ...topics.settings import MAX_SEED, TopicSettings
from ..inputs import BadInput, Kind
from ..options.learner import chosen_calibration, chosen_classes
from ..options.reading import chosen_counting
from ..output.counts import Counts
from ..output.text import class_names
from .data import TrainingData
from .loop import TrainingLoop

OPTION_OF = {"n_inner": "inner", "n_samples": "samples"}  # the estimator's parameters with options of another name
FIRST_DOCUMENTS = 512  # of a stream; their mean length is the default margin


class TopicTraining(TrainingLoop):
    """One run of ``confidently topics train``."""

    kind: Kind = "topics"
    rows_noun = "documents"
    learner: TopicLearner | None = None
    documents: Documents | None = None  # all documents, unless training takes them as they arrive

    def new(self) -> None:
        options = self.options
        self.reading, self.names = chosen_counting(options, self.paths), chosen_classes(options["classes"])
        self.parameters, self.stop_words = estimator_parameters(options), self._stop_words()
        self.closed = bool(self.names)

    def resume(self, model: TopicModel) -> None:
        self.learner, self.names = model.learner, model.classes
        self.parameters, self.stop_words = model.estimator, frozenset(model.source.get("stop_words", ()))
        if self.resumed and not self.options["init_model"]:  # which keeps its own parameters
            self.parameters = self.parameters | {"passes": self.options["passes"]}
        table = ClassTable(model.classes, model.learner.task.multilabel, closed=True)
        self.reader = DocumentReader(table, model.features, self.stop_words)

    def open_data(self, multilabel: bool | None) -> TrainingData:
        stream = self.options["stream"]
        return TrainingData(
            self.paths, self.reading, "float64", multilabel, self.options, self.names, caching=stream
        )  # fmt: skip

    def _stop_words(self) -> frozenset[str]:
        given = self.options["stop_words"]
        if given is None:
            return frozenset()
        if not self.reading.named:
            raise click.UsageError(f"--stop-words is for named words; words of {self.reading.format} are numbers")
        if given == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return frozenset(ENGLISH_STOP_WORDS).union(ascii_lowercase, digits)
        return frozenset(Path(given).read_text(encoding="utf-8").split())

    # --- passes ------------------------------------------------------------------------------------------------------

    @contextmanager
    def open_pass(self) -> Iterator[Iterator[Counts]]:
        if self.options["stream"]:
            with self.data.one_pass(self.position.now.rows, self._features()) as (stream, batches):
                self.begin_report(self.data.total_bytes)
                batches = in_blocks(self.interruptions.watch(batches), self._block_size())
                if self.learner is None:
                    batches = self._started_with_first(batches, stream.multilabel)
                yield self._steps(self.reader.documents(batches))
            return
        if self.documents is None:
            self.documents = self._read()
        if self.learner is None:
            self.learner = self._new_learner(self.documents)
        order = self._order(len(self.documents))[self.position.now.rows :]
        self.begin_report(len(self.documents))
        documents, size = self.documents, self._block_size()
        yield self._steps(documents.rows(order[first : first + size]) for first in range(0, len(order), size))

    def _order(self, n: int) -> np.ndarray:
        """Return the order of the documents in this pass: each pass has its own, whichever pass the run began with."""
        random = np.random.RandomState(self.options["seed"])
        return [random.permutation(n) for _ in range(self.position.passes + 1)][-1]

    def _read(self) -> Documents:
        """Read all documents."""
        parts, rows, total = [], 0, self.data.total_bytes
        with self.data.one_pass(0, self._features()) as (stream, batches):
            if self.learner is None:
                self.reader = self._new_reader(stream.multilabel)
            for part in self.reader.documents(self.interruptions.watch(batches)):
                parts.append(part)
                rows += len(part)
                self.report.reading(Counts(rows, bytes_read=self.reader.bytes_read), total)
        if not rows:
            raise self._no_documents()
        return Documents.joined(parts)

    def _started_with_first(self, batches: Iterator[Batch], multilabel: bool) -> Iterator[Batch]:
        """Return the same batches; the first of them determine the default margin."""
        first: list[Batch] = []
        while sum(map(len, first)) < FIRST_DOCUMENTS and (batch := next(batches, None)) is not None:
            first.append(batch)
        if not any(map(len, first)):
            raise self._no_documents()
        documents = Documents.joined(list(self._new_reader(multilabel).documents(first)))
        self.reader = self._new_reader(multilabel)  # training reads the same documents again
        self.learner = self._new_learner(documents)
        return chain(first, batches)

    def _steps(self, parts: Iterable[Documents]) -> Iterator[Counts]:
        position, learner = self.position, self.learner
        assert learner is not None
        for documents in parts:
            learner.grow(documents.bags.n_words)
            signs = documents.signs(learner.task, learner.n_classes)
            first, weights = position.passes == 0, documents.weights
            learner.learn(documents.bags, signs, self.options["jobs"], new=first, weights=weights)
            yield Counts(
                position.now.rows + len(documents), words=position.now.words + int(documents.bags.lengths().sum()),
                bytes_read=self.reader.bytes_read if self.documents is None else 0,
            )  # fmt: skip

    def _block_size(self) -> int:
        if self.learner is not None:
            return block_size(self.learner.settings.batch_size)
        return block_size(self.parameters["batch_size"] or DEFAULTS[self.parameters["classifier"]]["batch_size"])

    def _features(self) -> Features | None:
        return None if self.learner is None else self.reader.features

    def _no_documents(self) -> BadInput:
        return BadInput(f"{', '.join(self.paths)}: no documents")

    # --- the model ---------------------------------------------------------------------------------------------------

    def _new_reader(self, multilabel: bool) -> DocumentReader:
        table = ClassTable(self.names, multilabel, closed=bool(self.names))
        return DocumentReader(table, Features() if self.reading.named else None, self.stop_words)

    def _new_learner(self, documents: Documents) -> TopicLearner:
        """Return an untrained learner for data that begin with these documents."""
        classes = self.reader.classes
        classes.check("document")
        if not len(documents.bags.counts):
            raise BadInput(f"{', '.join(self.paths)}: no document has a word that is not a stop word")
        return TopicLearner(self._settings(documents), len(classes), 0)

    def _settings(self, documents: Documents) -> TopicSettings:
        classes = self.reader.classes
        task = "multilabel" if classes.multilabel else "binary" if len(classes) == 2 else "one-vs-rest"
        try:
            seed = int(np.random.RandomState(self.options["seed"]).randint(MAX_SEED))
            return replace(chosen_settings(self.parameters, task, documents.bags, documents.weights), seed=seed)
        except ValueError as error:  # of numbers that are too large
            raise BadInput(str(error)) from None

    @property
    def has_model(self) -> bool:
        return self.learner is not None

    def model(self) -> TopicModel:
        reader, learner = self.reader, self.learner
        assert learner is not None  # there is no model before the first documents
        learner.grow(reader.n_words)
        source = {**self.source(), "stop_words": sorted(self.stop_words)}
        return TopicModel(learner, list(reader.classes.names), reader.features, self.parameters, source)

    def result(self) -> dict[str, Any]:
        """Return the summary of the run as plain data."""
        learner, first = self.learner, self.position.first
        assert learner is not None and first is not None  # a pass is complete
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
            "progressive": progressive_score(learner),
            "seconds": round(self.position.seconds, 6),
            "skipped": self.data.skipped,
            "skipped_examples": self.data.skipped_examples,
        }


def progressive_score(learner: TopicLearner) -> dict[str, Any] | None:
    """Return how well the last documents were predicted before training on them."""
    scores, signs, _ = learner.progressive_scores()
    if not len(scores):
        return None
    multilabel = learner.task.multilabel
    several = bool((signs != signs[0]).any())
    if learner.task.binary:
        scores, signs = scores[:, 0], signs[:, 0]
    if multilabel:
        predicted, true = scores > 0, signs > 0
        found = {"micro_f1": float(2 * (predicted & true).sum() / max(predicted.sum() + true.sum(), 1))}
    else:
        found = {"accuracy": float((predicted_numbers(scores) == predicted_numbers(signs)).mean())}
    warning = collapse_message(scores, multilabel) if several else None
    return {"documents": len(scores), **found, "warning": warning}


def estimator_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of :class:`confidently.OnlineMedLDA` that the options choose."""
    from ...topics.estimator import OnlineMedLDA

    defaults: dict[str, Any] = OnlineMedLDA().get_params()
    given = {name: options[OPTION_OF.get(name, name)] for name in defaults if OPTION_OF.get(name, name) in options}
    return defaults | given | {"calibration": chosen_calibration(options), "random_state": options["seed"]}
