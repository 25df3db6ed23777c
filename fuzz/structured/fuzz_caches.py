"""Caches with random changes and right checksums: all answers are finite, or there is a DataError of one line."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from mutation import changed, mutated_array, mutated_json
from running import bounded, run

from confidently.covariances.settings import Settings
from confidently.data import DataError, open_stream
from confidently.data.cache.building import CacheBuilder
from confidently.data.cache.contents import Origin
from confidently.data.cache.file import CacheFile, CacheWriter
from confidently.data.classes import ClassTable
from confidently.learner.learner import Learner
from confidently.learner.streams import StreamLearner, StreamPredictor

TEXTS = {  # how rows are read, and rows
    "": "1 1:0.5 3:2\n-1 2:1\n1\n+1 1:1 2:2 3:0.1\n" * 3,
    "sets": "1,2 1:0.5 3:2\n 2:1\n3 1:1\n" * 3,
    "weights": "1 1:0.5 cost:0.1\n0 cost:2 2:1\n" * 3,
    "vw": "1 2 'a|n a:2 b c\n-1 'b|n b:3 |m a\n" * 3,
    "names": "1 |n a:2 b c\n-1 |n b:3 d\n" * 3,
}
HOW: dict[str, dict[str, Any]] = {
    "sets": {"multilabel": True}, "vw": {"format": "vw", "keep": ["tag"]},
    "names": {"format": "vw", "vocabulary": True, "normalize": "none"},
}  # fmt: skip
MOST_COLUMNS = 100_000  # of a learner, whose memory grows with the largest column


class Content(NamedTuple):
    """What a cache holds: the header, the arrays and details of its blocks, and what its index says besides."""

    header: dict[str, Any]
    blocks: list[tuple[dict[str, np.ndarray], Any]]
    summary: dict[str, Any]


def contents(folder: Path) -> list[Content]:
    """Write sound caches, of several blocks each, and return what they hold."""
    found = []
    for name, text in TEXTS.items():
        rows, path = folder / "rows.svm", folder / "sound"
        rows.write_text(text)
        with open_stream(rows, chunk_bytes=40, **HOW.get(name, {})) as stream:
            keep = HOW.get(name, {}).get("keep", ())
            with CacheBuilder(path, stream.reading, Origin(sources=[]), stream.multilabel, keep) as builder:
                for batch in stream:
                    builder.add(batch)
                    builder._write_block()
                builder.finish()
        with CacheFile(path) as cache:
            blocks = [(cache.arrays(block), block.details) for block in cache.blocks]
            header = {name: value for name, value in cache.header.items() if name != "format"}
            found.append(Content(header, blocks, cache.summary))
    return found


def inputs(random: Random, folder: Path) -> Iterator[Path]:
    """Yield caches with random changes."""
    sound, path = contents(folder), folder / "cache"
    while True:
        write(path, changed(random.choice(sound), mutated, random), random)
        yield path


def mutated(content: Content, random: Random) -> Content:
    """Return a content with one change."""
    header, blocks, summary = content
    chance = random.random()
    if chance < 0.15:
        return Content(as_object(mutated_json(header, random)), blocks, summary)
    if chance < 0.2:
        return Content(header, blocks, as_object(mutated_json(summary, random)))
    blocks = list(blocks)
    if not blocks:
        return content
    at = random.randrange(len(blocks))
    arrays, details = blocks[at]
    if chance < 0.25:
        blocks[at : at + 1] = random.choice(([], [blocks[at]] * 2, [random.choice(blocks)]))
    elif chance < 0.45:
        blocks[at] = arrays, mutated_json(details, random)
    elif arrays:
        arrays, name = dict(arrays), random.choice(list(arrays))
        if random.random() < 0.1:
            arrays[random.choice(("weights", "label_start", "more", "values"))] = arrays.pop(name)
        else:
            arrays[name] = mutated_array(arrays[name], random)
        blocks[at] = arrays, details
    return Content(header, blocks, summary)


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"reading": value}


def write(path: Path, content: Content, random: Random) -> None:
    """Write a cache, sometimes with a changed index or with other bytes; its checksums are right."""
    writer = CacheWriter(path, content.header)
    for arrays, details in content.blocks:
        writer.add({name: np.ascontiguousarray(array) for name, array in arrays.items()}, details)
    if random.random() < 0.1:
        writer.blocks = mutated_json(json.loads(json.dumps(writer.blocks)), random)
    writer.finish(content.summary)


def check(path: Path) -> None:
    """Raise for anything but finite answers and a DataError of one line."""
    try:
        with bounded(path):
            batches = list(open_stream(path, parsers=0))
        rows = sum(map(len, batches))
        assert all(np.isfinite(batch.values).all() for batch in batches)
        assert all(batch.weights is None or (batch.weights >= 0).all() for batch in batches)
        if max((batch.n_columns for batch in batches), default=0) <= MOST_COLUMNS:
            learn(path, rows)
    except DataError as error:
        assert "\n" not in str(error), str(error)


def learn(path: Path, rows: int) -> None:
    """Learn the rows of a cache and predict them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with open_stream(path, parsers=0) as stream:
            task = "multilabel" if stream.multilabel else "binary"
            table = ClassTable(multilabel=stream.multilabel)
            learner = StreamLearner(Learner(Settings("arow", task=task), len(table)), table)
            assert sum(map(len, learner.learn(stream))) == rows
        predictor = StreamPredictor(learner.learner)
        with open_stream(path, parsers=0, ignore_labels=True) as stream:
            for batch in stream:
                matrix = predictor.matrix(batch)
                assert np.isfinite(learner.learner.probabilities(matrix)).all()
                assert all(np.isfinite(part).all() for part in learner.learner.margin_distribution(matrix))


if __name__ == "__main__":
    run("caches", inputs, check)
