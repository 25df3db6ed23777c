"""Models and data that commands read; errors in them become one line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import click

if TYPE_CHECKING:
    from ..data import ReaderOptions, Stream
    from ..models.model import Model
    from ..topics.model import TopicModel


class BadInput(click.ClickException):
    """Input that cannot be used; the message says where and why."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors in data and model files into one line for the user."""
    from ..data import DataError
    from ..encoders import EncoderError
    from ..models.file import ModelFileError

    try:
        yield
    except (DataError, EncoderError, ModelFileError) as error:
        raise BadInput(str(error)) from error


def kind_of_model(path: str) -> str | None:
    """Return the kind of a model file, without reading its arrays; ``None`` if it has none."""
    from ..models.file import kind_of  # imported here to save start-up time

    return kind_of(path)


def is_stack(path: str) -> bool:
    """Return whether a model file has a stack of learners, without reading its arrays."""
    from ..models.file import peeked  # imported here to save start-up time

    return bool(peeked(path).get("members"))


Kind = Literal["linear", "regression", "topics"]


@overload
def load_model(path: str, kind: Literal["topics"]) -> TopicModel: ...
@overload
def load_model(path: str, kind: Kind) -> Model | TopicModel: ...
def load_model(path: str, kind: Kind) -> Model | TopicModel:
    """Load a model file, or report one clear error."""
    with reported():
        return model_type(kind).load(path, kind)


def load_predictor(path: str, data: Sequence[str] = ()) -> Model:
    """Load a classifier or regression model only to predict ``data``.

    If the memory is too small for it, features at the prior are left out: predictions treat unseen features as such.
    """
    from ..data.sources.recognition import is_model

    if len(data) == 1 and is_model(data[0]) and os.path.isfile(path) and not is_model(path):
        raise BadInput(f"{data[0]} is a model and {path} is not; put the model first: {data[0]} {path}")
    from ..models.model import Model

    with reported():
        return Model.load_touched(path, if_needed=True)


def check_one_number(model: Model) -> None:
    """Reject a regression of several numbers per row, of which rows of files have one."""
    if model.learner.task.regression and (n := model.learner.n_classes) > 1:
        raise BadInput(f"the model predicts {n} numbers per row, and rows of files have one; evaluate it in Python")


def model_type(kind: Kind) -> type[Model] | type[TopicModel]:
    """Return the class of models of a kind; importing it here keeps the start of the command line fast."""
    if kind == "topics":
        from ..topics.model import TopicModel

        return TopicModel
    from ..models.model import Model

    return Model


def open_for(
    model: Model | TopicModel,
    paths: Sequence[str],
    *,
    strict: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing_label: str | None = None,
    format: str | None = None,
    label: str | None = None,
    as_objects: bool = False,
    **options: Any,
) -> Stream:
    """Open data for a trained model: the columns that its training data had, in files of any format with columns.

    Parameters
    ----------
    model, paths
    strict : bool
        Whether the columns must be the same.
    encoding, delimiter : str, optional
        Of the files, if it is another.
    missing_label : {"error", "skip"}, optional
        Action on rows without a label, if it is another.
    format : str, optional
        Of the files; by default by their names, or else by their first lines.
    label : str, optional
        The column of labels, if it is another.
    as_objects : bool
        Whether each line is a JSON object of the columns, whatever the format of the training data was.
    options
        As for :func:`confidently.data.open_stream`.
    """
    from ..data import ReaderOptions
    from ..data.expected_columns import ExpectedColumns

    reading, dtype = ReaderOptions.from_dict(model.source), getattr(model.learner, "dtype", "float64")
    if not as_objects:
        reading = _in_format_of(model, paths, reading, format)
    of_files: dict[str, Any] = {
        "encoding": encoding, "delimiter": delimiter, "missing_label": missing_label, "label": label,
    }  # fmt: skip
    for name, value in of_files.items():
        if value is not None:
            try:
                reading = replace(reading, **{name: value})
            except ValueError as error:
                raise click.UsageError(f"--{name.replace('_', '-')}: {error}") from None
    if as_objects:
        reading = reading.of_objects()
    if strict and not reading.file_format.columns:
        raise click.UsageError(f"--strict is for formats with named columns; {reading.format} has none")
    if model.kind != "topics" and model.features is not None:
        options.setdefault("expected", ExpectedColumns(reading, model.features, strict))
    return open_data(paths, reading, dtype, features=model.features, freeze=True, **options)


def _in_format_of(
    model: Model | TopicModel, paths: Sequence[str], reading: ReaderOptions, format: str | None
) -> ReaderOptions:
    from ..data.cache.origin import is_cache
    from ..data.formats.other_formats import in_format_of
    from ..data.sources.paths import expand_paths

    files = expand_paths(paths)
    if any(map(is_cache, files)):
        return reading
    try:
        return in_format_of(files, reading, model.features if model.kind != "topics" else None, format)
    except ValueError as error:
        raise click.UsageError(f"--format: {error}") from None


def open_data(paths: Sequence[str], reading: ReaderOptions, dtype: str, **options: Any) -> Stream:
    """Open data whose values must fit a model's floating-point type."""
    from ..data import open_stream
    from ..data.memory.matrix import largest_value

    return open_stream(list(paths), reading, largest=largest_value(dtype), **options)
