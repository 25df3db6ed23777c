"""Models, topic models and checkpoints, changed at random, with right checksums: answers are finite, or one error."""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from mutation import changed, mutated_array, mutated_json
from running import bounded, run
from safetensors import safe_open
from safetensors.numpy import save_file

from confidently import VIEWS, AutoClassifier, OnlineClassifier, OnlineMedLDA, load
from confidently.cli.training.checkpoint import check_training
from confidently.covariances.state import OutOfRange
from confidently.models import file as model_file
from confidently.models.file import ModelFileError
from confidently.models.inspection import class_views, kept_examples
from confidently.models.model import Model
from confidently.stack.stack import Stack
from confidently.topics.model import TopicModel, load_any
from confidently.topics.views import topic_views

X = np.random.default_rng(0).integers(0, 4, (40, 6)).astype(float)
Y = {
    "binary": np.arange(40) % 2, "names": np.array(["ham", "spam"])[np.arange(40) % 2], "joint": np.arange(40) % 3,
    "one-vs-rest": np.arange(40) % 3, "multilabel": np.eye(3, dtype=int)[np.arange(40) % 3],
}  # fmt: skip
WORDS = (np.random.default_rng(1).random((40, 200)) < 0.3).astype(float)
MOST_COLUMNS = 1000  # of the rows to predict; models of more features are looked at only


class Content(NamedTuple):
    """The header and the arrays of a model file."""

    header: Any
    arrays: dict[str, np.ndarray]


def models() -> Iterator[Any]:
    """Yield one model of every kind."""
    for task, y in Y.items():
        multiclass = task if task == "one-vs-rest" else None
        for rule, covariance, options in (
            ("arow", "diag", {}), ("cellip", "diag", {"average": True}), ("pa", "full", {"dtype": "float32"}),
            ("cw_stdev", "full", {"dtype": "float32"}), ("arow", "kernel", {"kernel": "poly"}),
            ("arow", "shared", {"rows_per_product": 4}), ("arow", "diag", {"forget": 0.01, "dtype": "float32"}),
            ("logistic", "diag", {}), ("logistic", "full", {"calibration": None}),
            ("arow", "low_rank", {"rank": 2}), ("iellip", "low_rank", {"rank": 1, "dtype": "float32"}),
        ):  # fmt: skip
            if (covariance, task) != ("shared", "one-vs-rest"):
                yield OnlineClassifier(rule, covariance, multiclass=multiclass, view=None, **options).fit(X[:, :5], y)
    for view in (*VIEWS, "standard,pairs"):
        parameters = {"view__n": 4} if view == "cosines" else {}
        yield OnlineClassifier("arow", view=view).set_params(**parameters).fit(X[:, :5], Y["joint"])
    for y in (Y["names"], Y["joint"]):
        yield AutoClassifier().fit(X[:, :5], y)
        yield AutoClassifier().fit(WORDS, y)
    for task, settings in (("binary", {}), ("one-vs-rest", {"classifier": "averaging"}), ("multilabel", {})):
        yield OnlineMedLDA(2, random_state=0, **settings).fit(X, Y[task])
    yield OnlineMedLDA(None, max_topics=3, random_state=0).fit(X, Y["names"])


def contents(folder: Path) -> list[Content]:
    """Return what sound models and a checkpoint hold."""
    found, path = [], folder / "sound"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models():
            model.save(path)
            found.append(read_content(path))
            _looked_at(path)  # what this imports is no part of what is measured
    options = {"--passes": 3, "--rule": "arow"}
    source = {"path": "rows.svm", "size": 100, "mtime_ns": 1}
    counts = {"rows": 40, "learned": 40, "mistakes": 1, "updates": 1, "log_loss": 1.0, "bytes_read": 9, "seconds": 0.5}
    validation = {"pass": 1, "rows": 4, "error": 0.5, "log_loss": 0.7, "best": True}
    position = {
        "passes": 1, "now": counts | {"rows": 0, "learned": 0, "words": 0}, "began": [40, 1, 1], "first": counts,
        "best": validation, "last": validation, "waited": 0, "seconds": 1.5,
    }  # fmt: skip
    training = {"run": {"options": options, "data": [source], "validation": []}, "position": position}
    return [*found, *(Content(found[0].header | {"training": training}, found[0].arrays) for _ in range(5))]


def read_content(path: Path) -> Content:
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()[model_file.KEY])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it has no __iter__)
    return Content({name: value for name, value in header.items() if name not in ("header_crc32", "crc32")}, arrays)


def inputs(random: Random, folder: Path) -> Iterator[Path]:
    """Yield model files with random changes."""
    sound, path = contents(folder), folder / "model"
    while True:
        write(path, changed(random.choice(sound), mutated, random))
        yield path


def mutated(content: Content, random: Random) -> Content:
    """Return a content with one change."""
    header, arrays = content
    if random.random() < 0.5 or not arrays:
        return Content(mutated_json(header, random), arrays)
    arrays, name = dict(arrays), random.choice(list(arrays))
    if random.random() < 0.05:
        del arrays[name]
    elif arrays[name].size:
        shape, changed = arrays[name].shape, mutated_array(arrays[name], random)
        arrays[name] = changed.reshape(shape) if changed.size == arrays[name].size else changed
    else:
        arrays[name] = np.ones(random.choice(((0,), (1,), (1, 1), (2, 3))), arrays[name].dtype)
    return Content(header, arrays)


def write(path: Path, content: Content) -> None:
    """Write a model file whose checksums are right."""
    arrays = {name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")) for name, array in
              content.arrays.items()}  # fmt: skip
    sums = {name: zlib.crc32(array.tobytes()) for name, array in arrays.items()}
    header = content.header | {"crc32": sums} if isinstance(content.header, dict) else content.header
    save_file(arrays, path, metadata={model_file.KEY: model_file._signed(json.dumps(header))})


def check(path: Path) -> None:
    """Raise for anything but finite answers and a ModelFileError of one line."""
    try:
        with nullcontext() if _makes_columns(path) else bounded(path):
            model = _looked_at(path)
    except ModelFileError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000, str(error)
        return
    if model.n_features > MOST_COLUMNS or not is_quick(model):
        return
    try:
        answer(path, model)
    except OutOfRange:  # of a kernel of large values, such as a product of many
        if (
            isinstance(model, TopicModel)
            or isinstance(model.learner, Stack)
            or not model.learner.covariance.keeps_examples
        ):
            raise


def _makes_columns(path: Path) -> bool:
    """Return whether a file is of a stack, or of a view that makes columns; the promise excepts them."""
    with safe_open(path, framework="numpy") as file:
        header = file.metadata()[model_file.KEY]
    return any(name in header for name in ('"members"', '"bins"', '"pairs"', '"cosines"', '"first"'))


def _looked_at(path: Path) -> Model | TopicModel:
    """Return a model after looking at it, of any number of features, and after its position was checked."""
    try:
        model = Model.load_touched(path)
    except ModelFileError as error:
        if "got a topic model" not in str(error):
            raise
        model = load_any(path)
        topic_views(model)
        return model
    if isinstance(model.learner, Stack):
        pass
    elif model.learner.covariance.keeps_examples:
        kept_examples(model)
    else:
        class_views(model)
    if model.training:
        check_training(path, model)
    return model


def is_quick(model: Model | TopicModel) -> bool:
    """Return whether predictions take a moment."""
    if not isinstance(model, TopicModel):
        return True
    settings = model.learner.settings
    return bool(settings.prediction_samples + settings.prediction_burn_in < 100)


def answer(path: Path, model: Model | TopicModel) -> None:
    """Predict rows of usual and of large values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator = load(path)
        except ModelFileError:  # of classes and of the estimator's settings
            return
        n = estimator.n_features_in_
        rows = np.resize(X, (12, n)) if n else np.zeros((12, 0))
        for scale in (0.0, 1.0, 10.0 if isinstance(model, TopicModel) else 1e5):  # words are sampled one by one
            scores = estimator.decision_function(rows * scale)
            assert np.isfinite(scores).all(), scores
            mean, variance = estimator.margin_distribution(rows * scale)
            assert np.isfinite(mean).all() and np.isfinite(variance).all() and (variance >= 0).all(), variance
            p = estimator.predict_proba(rows * scale)
            assert np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), p
            estimator.predict(rows * scale)


if __name__ == "__main__":
    run("models", inputs, check)
