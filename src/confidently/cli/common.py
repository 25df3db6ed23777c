"""What several commands share: arguments, model files, output files, numbers as people read them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, overload

import click

from ..data.sources.whole_files import new_text_file

if TYPE_CHECKING:
    from ..data import ReaderOptions, Stream
    from ..models.model import Model
    from ..topics.model import TopicModel

ABSENT = "?"  # how a class is called that has not appeared: one of two of which only the other was seen

model_argument = click.argument("model_path", metavar="MODEL")
data_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")


class BadInput(click.ClickException):
    """Input that cannot be used; the message says where and why."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors of data and model files into one line for the user."""
    from ..data import DataError
    from ..models.file import ModelFileError

    try:
        yield
    except (DataError, ModelFileError) as error:
        raise BadInput(str(error)) from error


@overload
def load_model(path: str) -> Model: ...
@overload
def load_model(path: str, kind: Literal["topics"]) -> TopicModel: ...
@overload
def load_model(path: str, kind: Literal["linear", "topics"]) -> Model | TopicModel: ...
def load_model(path: str, kind: Literal["linear", "topics"] = "linear") -> Model | TopicModel:
    """A model file, or one clear error."""
    with reported():
        return model_type(kind).load(path)


def model_type(kind: Literal["linear", "topics"]) -> type[Model] | type[TopicModel]:
    """The class of models of a kind; imported when it is needed, so that help texts come fast."""
    if kind == "topics":
        from ..topics.model import TopicModel

        return TopicModel
    from ..models.model import Model

    return Model


def open_for(model: Model | TopicModel, paths: Sequence[str], **options: Any) -> Stream:
    """The stream that a model is asked about, read as its training data were."""
    from ..data import ReaderOptions

    reading, dtype = ReaderOptions.from_dict(model.source), getattr(model.learner.settings, "dtype", "float64")
    return open_data(paths, reading, dtype, features=model.features, freeze=True, **options)


def open_data(paths: Sequence[str], reading: ReaderOptions, dtype: str, **options: Any) -> Stream:
    """A stream with values that a model's type of numbers can hold."""
    from ..data import open_stream
    from ..data.memory.matrix import largest_value

    return open_stream(list(paths), reading, largest=largest_value(dtype), **options)


def total_bytes(paths: Sequence[str]) -> int | None:
    """Bytes of all files together; ``None`` where they are not known."""
    from ..data.sources.paths import expanded
    from ..data.sources.source import size_of

    sizes = [size_of(path) for path in expanded(paths)]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def class_names(model: Model | TopicModel) -> list[str]:
    """The classes as they are written, by number."""
    return [ABSENT if name is None else str(name) for name in model.classes]


def check_output(path: str | None, inputs: Sequence[str], option: str = "-o") -> None:
    """Refuse, before any work, an output that cannot be written or would destroy an input."""
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise click.UsageError(f"{path} is a directory; {option} takes the name of a file")
    if target.exists() and not target.is_file():
        raise click.UsageError(f"{path} is no regular file; {option} takes the name of a file")
    if not target.absolute().parent.is_dir():
        raise click.UsageError(f"{path} cannot be written: there is no directory {target.parent}")
    if not os.access(target.absolute().parent, os.W_OK):
        raise click.UsageError(f"{path} cannot be written: {target.parent} is not writable")
    if any(name != "-" and os.path.exists(name) and target.exists() and target.samefile(name) for name in inputs):
        raise click.UsageError(f"{path} is also an input; give {option} another name")


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Standard output; or a file that appears under its name only when all is written."""
    if path is None:
        yield sys.stdout
        return
    with new_text_file(path) as file:
        yield file


def table(rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.rjust, lefts: int = 1) -> str:
    """Columns lined up, the first ``lefts`` to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    aligned = [str.ljust] * lefts + [align] * (len(widths) - lefts)
    lines = ["  ".join(put(cell, w) for put, cell, w in zip(aligned, row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.2f} %"
