"""What ``confidently topics train`` does: reads documents, learns them, and says how far it is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import click
import numpy as np

from ...data import Stream
from ...features import Features
from ...labels import ClassTable
from ...model_file import Model
from ...topic_inputs import chosen_settings
from ...topic_learner import Bags, TopicLearner, TopicSettings
from ...topic_stream import DocumentReader, Documents, in_strides, learn_documents
from ..common import BadInput, class_names, open_data
from ..new_learner import announced
from ..progress import next_line
from ..reading_options import chosen_counting

RENAMED = {"n_inner": "inner", "n_samples": "samples"}  # parameters of the estimator whose options are called otherwise
LARGEST_SEED = 2**31 - 1
FIRST_DOCUMENTS = 512  # of a stream, whose mean length is the margin asked for


class TopicTraining:
    """One run of the command.

    Parameters
    ----------
    paths : sequence of str
    options : dict
        Of the command.
    """

    def __init__(self, paths: tuple[str, ...], options: dict[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.reading = chosen_counting(options, paths)
        self.names = announced(options["classes"])
        self.multilabel = options["multilabel"] or None  # None: the first rows decide
        self.parameters = estimator_parameters(options)
        self.random = np.random.RandomState(options["seed"])
        self.learner: TopicLearner | None = None
        self.skipped, self.skipped_examples = 0, list[str]()
        self.report = _reporter(options["quiet"], options["as_json"])
        self.began = time.monotonic()

    def run(self) -> None:
        """Learn the documents, as often as asked."""
        passes = self.options["passes"]
        whole = None if self.options["stream"] else self._read()
        for number in range(1, passes + 1):
            self.report.begin(number, passes)
            if whole is None:
                with self._stream() as stream:
                    self._learn(self._reader(stream.multilabel).documents(stream))
                    self._count_skipped(stream)
            else:
                self._learn(iter([whole.rows(self.random.permutation(len(whole)))]))
            self.report.end()
        self.seconds = time.monotonic() - self.began

    def _read(self) -> Documents:
        """All documents."""
        with self._stream() as stream:
            parts = list(self._reader(stream.multilabel).documents(stream))
            self._count_skipped(stream)
        if not sum(map(len, parts)):
            raise BadInput(f"{', '.join(self.paths)}: there are no documents")
        return Documents.joined(parts)

    def _stream(self) -> Stream:
        skipping = self.options["on_error"] != "stop"
        classes = [str(name) for name in self.names] if skipping else []
        return open_data(
            self.paths, self.reading, "float64", multilabel=self.multilabel, on_error=self.options["on_error"],
            classes=classes, features=self.reader.features if self.learner is not None else None,
        )  # fmt: skip

    def _reader(self, multilabel: bool) -> DocumentReader:
        if self.learner is None:
            self.multilabel = multilabel
            features = Features() if self.reading.named else None
            table = ClassTable(self.names, multilabel, closed=bool(self.names))
            self.reader = DocumentReader(table, features, self._stop_words())
        return self.reader

    def _stop_words(self) -> frozenset[str]:
        given = self.options["stop_words"]
        if given is None:
            return frozenset()
        if not self.reading.named:
            raise click.UsageError("--stop-words is for words with names; those of svmlight are numbers")
        if given == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return frozenset(ENGLISH_STOP_WORDS).union(ascii_lowercase, digits)
        return frozenset(Path(given).read_text(encoding="utf-8").split())

    def _learn(self, parts: Iterator[Documents]) -> None:
        new = self.learner is None
        if self.learner is None:
            if self.options["stream"]:  # the margin is that of the first documents, however they arrive
                parts = in_strides(parts, FIRST_DOCUMENTS)
            first = next(parts, None)
            if first is None:
                raise BadInput(f"{', '.join(self.paths)}: there are no documents")
            self.learner = self._new_learner(first)
            parts = _again(first, parts)
        learn_documents(self.learner, parts, self.options["jobs"], self.report.update, new)

    def _new_learner(self, first: Documents) -> TopicLearner:
        classes = self.reader.classes
        if not self.multilabel and (len(classes.names) < 2 or None in classes.names):
            met = ", ".join(repr(str(name)) for name in classes.names if name is not None)
            raise BadInput(f"all documents are of one class ({met}): a topic model needs two classes or more")
        return TopicLearner(self._settings(first.bags), len(classes), first.bags.n_words)

    def _settings(self, bags: Bags) -> TopicSettings:
        """The settings the options mean for a model whose first documents these are."""
        n = len(self.reader.classes)
        task = "multilabel" if self.multilabel else "binary" if n == 2 else "one-vs-rest"
        seed = int(np.random.RandomState(self.options["seed"]).randint(LARGEST_SEED))
        return replace(chosen_settings(self.parameters, task, bags), seed=seed)

    def _count_skipped(self, stream: Stream) -> None:
        self.skipped, self.skipped_examples = stream.skipped, stream.skipped_examples

    def model(self) -> Model:
        """What has been learned, as a file holds it."""
        source = {**self.reading.as_dict(), "closed": bool(self.names)}
        reader = self.reader
        return Model(self.learner, list(reader.classes.names), reader.features, self.parameters, source)

    def result(self) -> dict[str, Any]:
        """An account of the run, as plain data."""
        learner = self.learner
        settings, seen = learner.settings, self.report
        return {
            "documents": learner.n_seen // self.options["passes"],
            "passes": self.options["passes"],
            "words": seen.words,
            "vocabulary": learner.n_features,
            "task": settings.task,
            "classes": class_names(self.model()),
            "topics": settings.n_topics,
            "nonparametric": settings.nonparametric,
            "classifier": settings.classifier,
            "epsilon": settings.epsilon,
            "seconds": round(self.seconds, 6),
            "skipped": self.skipped,
            "skipped_examples": self.skipped_examples,
        }


def estimator_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of :class:`confidently.OnlineMedLDA` that the options mean."""
    from ...topics import OnlineMedLDA

    defaults = OnlineMedLDA().get_params()
    given = {name: options[RENAMED.get(name, name)] for name in defaults if RENAMED.get(name, name) in options}
    return defaults | given | {"random_state": options["seed"]}


def _again(first: Documents, rest: Iterator[Documents]) -> Iterator[Documents]:
    yield first
    yield from rest


class _Quiet:
    """Counts, and says nothing."""

    def __init__(self) -> None:
        self.words, self.documents = 0, 0

    def begin(self, number: int, passes: int) -> None:
        """A pass begins."""
        self.number, self.passes = number, passes
        self.documents, self.due, self.began, self.words_before = 0, next_line(0), time.monotonic(), self.words

    def update(self, learned: Documents) -> None:
        """Documents have been learned."""
        self.documents += len(learned)
        self.words += int(learned.bags.lengths().sum())
        if self.documents >= self.due:
            self._line()
            self.due = next_line(self.documents)

    def end(self) -> None:
        """The pass is over."""
        self._line()

    def _line(self) -> None:
        """Say how far it is."""

    def _facts(self) -> dict[str, Any]:
        words, seconds = self.words - self.words_before, time.monotonic() - self.began
        return {
            "pass": self.number, "documents": self.documents, "words": words, "seconds": round(seconds, 6),
            "words_per_second": round(words / max(seconds, 1e-9), 1),
        }  # fmt: skip


class _Plain(_Quiet):
    """Lines on standard error."""

    def begin(self, number: int, passes: int) -> None:
        super().begin(number, passes)
        title = f"pass {number}" if passes > 1 else "learning"
        click.echo(f"{title}\n{'documents':>13} {'words':>15} {'words/s':>13}", err=True)
        self.said = -1

    def _line(self) -> None:
        if self.said != self.documents:
            facts = self._facts()
            click.echo(f"{facts['documents']:13,} {facts['words']:15,} {facts['words_per_second']:13,.0f}", err=True)
            self.said = self.documents


class _JsonLines(_Quiet):
    """JSON objects on standard output, a line each, with a key "event"."""

    def _line(self) -> None:
        click.echo(json.dumps({"event": "progress", **self._facts()}))


def _reporter(quiet: bool, as_json: bool) -> _Quiet:
    return _Quiet() if quiet else _JsonLines() if as_json else _Plain()
