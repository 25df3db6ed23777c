"""The forms of Label Studio: labeling configs, tasks with annotations and predictions.

A labeling config has one ``Choices`` about a ``Text`` or ``HyperText``: its choices are the classes. An annotation of a
task is a row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, NamedTuple
from xml.etree import ElementTree

import msgspec
from msgspec import Meta, Struct

from .record import Labelled, columns_of, content_id, one_of, own_id, own_name

TOOL = "label-studio"
INLINE = "text"  # a text that is in the task itself
TEXTS = ("Text", "HyperText")
MAX_CONFIG = 1 << 20  # characters
VARIABLE = re.compile(r"\$([\w-]+)")
Data = Annotated[msgspec.Raw, Meta(description="the columns of a row, an object", extra_json_schema={"type": "object"})]
Key = int | str | None


class Result(Struct):
    """A part of an annotation or a prediction; of type ``choices`` it has these in its value."""

    from_name: str | None = None
    to_name: str | None = None
    type: str | None = None
    value: dict[str, Any] = {}


class Annotation(Struct):
    """What somebody has said of a task; an empty result that was cancelled is a skipped task."""

    id: Key = None
    result: list[Result] = []
    was_cancelled: bool = False
    completed_by: int | str | dict[str, Any] | None = None


class TaskPrediction(Struct):
    """What a model has said of a task."""

    result: list[Result]
    score: float
    model_version: str


class Task(Struct):
    """A row; ``meta`` has the id that it has here, if it was exported from here, and who labelled it."""

    data: Data
    id: Key = None
    project: Key = None
    meta: dict[str, Any] | None = None
    annotations: list[Annotation] = []


class ExportedTask(Struct):
    """A row, with its label as an annotation or with what the model says of it as a prediction."""

    data: dict[str, Any]
    meta: dict[str, Any]
    annotations: list[dict[str, Any]]
    predictions: list[TaskPrediction]


class Config(NamedTuple):
    """What a labeling config asks.

    Attributes
    ----------
    control, target : str
        The names of its ``Choices`` and of what these are about.
    columns : tuple of str
        The columns of text that are shown.
    classes : tuple of str
        Empty if each task brings its own.
    multiple : bool
        Whether a row may have several.
    """

    control: str
    target: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    multiple: bool


@lru_cache(64)
def read_config(text: str) -> Config:
    """Read a labeling config.

    Raises
    ------
    ValueError
        If it is not one, or does not ask for choices about a text.
    """
    if len(text) > MAX_CONFIG or "<!" in text.replace("<!--", ""):  # entities could grow without bounds
        raise ValueError(f"expected a labeling config of at most {MAX_CONFIG} characters without <!DOCTYPE>")
    try:
        tags = list(ElementTree.fromstring(text).iter())
    except (ElementTree.ParseError, ValueError) as error:
        raise ValueError(f"the labeling config is not XML: {error}") from None
    controls = [tag for tag in tags if tag.tag == "Choices"]
    if len(controls) != 1:
        told = ", ".join(repr(tag.get("name", "")) for tag in controls) or "none"
        raise ValueError(f"expected one <Choices> in the labeling config, got {told}")
    [control] = controls
    name, target = control.get("name", ""), control.get("toName", "")
    shown = {tag.get("name", ""): tag for tag in tags if tag.get("name") and VARIABLE.search(tag.get("value", ""))}
    about = shown.get(target)
    if not name or about is None or about.tag not in TEXTS:
        told = "nothing" if about is None else f"<{about.tag}>"
        raise ValueError(f"<Choices> needs a name, and a toName of a <Text> or <HyperText> of a column; got {told}")
    if about.get("valueType", INLINE) != INLINE:
        raise ValueError(f"<{about.tag} name={target!r}> takes its text from an address; put the text into the task")
    texts = [tag for tag in shown.values() if tag.tag in TEXTS]
    columns = tuple(dict.fromkeys(column for tag in texts for column in VARIABLE.findall(tag.get("value", ""))))
    choices = [str(tag.get("alias") or tag.get("value", "")) for tag in control.iter("Choice")]
    classes = tuple(dict.fromkeys(name for name in choices if name))
    return Config(name, target, columns, classes, control.get("choice", "single") == "multiple")


def result_of(label: Any, control: str, target: str) -> list[Result]:
    """Return a label, or several, as the result of an annotation or a prediction; None: without one."""
    if label is None:
        return []
    choices = [str(one) for one in (label if isinstance(label, list) else [label])]
    return [Result(control, target, "choices", {"choices": choices})]


def labelled(
    task: Task, multilabel: bool, columns: Collection[str] = (), control: str | None = None
) -> Iterator[Labelled | None]:
    """Yield the row of each annotation of a task; None for one that says nothing.

    Parameters
    ----------
    task : Task
    multilabel : bool
        Whether rows have several labels.
    columns : collection of str
        Those of the row; by default, and in a task that was exported from here, all.
    control : str, optional
        The name of the ``Choices``, if a task has several.

    Raises
    ------
    ValueError
        If an annotation is not about choices, or there is more than one where the model has one label per row.
    """
    for annotation in task.annotations:
        label = None if annotation.was_cancelled else _choices(annotation, multilabel, control)
        if label is None:
            yield None
            continue
        features = features_of(task, columns)
        id = row_id(task, annotation.id) or content_id(TOOL, features)
        yield Labelled(id, features, label, _who(task, annotation))


def features_of(task: Task, columns: Collection[str]) -> bytes:
    """Return the row of a task as a JSON object."""
    return columns_of(bytes(task.data), () if _own_id(task) else columns)


def row_id(task: Task, annotation: Key) -> str | None:
    """Return the id of the row of an annotation: that of an export, or one made of the numbers of Label Studio."""
    return _own_id(task) or (None if annotation is None else annotation_id(task.project, annotation))


def annotation_id(project: Key, annotation: Key) -> str:
    """Return the id of the row of an annotation."""
    return f"{TOOL}-{'' if project is None else project}-{annotation}"[:256]


def _own_id(task: Task) -> str | None:
    return own_id((task.meta or {}).get("id"))


def _choices(annotation: Annotation, multilabel: bool, control: str | None) -> str | list[str] | None:
    found = [one for one in annotation.result if one.type == "choices" and control in (None, one.from_name)]
    if len(names := sorted({str(one.from_name) for one in found})) > 1:
        raise ValueError(f"choices of {', '.join(names)}; name one of them: control=...")
    choices = [choice for one in found for choice in one.value.get("choices", ())]
    if not all(isinstance(choice, str) for choice in choices):
        raise ValueError("choices: expected a list of strings")
    if not found and annotation.result:
        return None  # about something else
    return one_of(choices, multilabel)


def _who(task: Task, annotation: Annotation) -> str | None:
    who = annotation.completed_by
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    if who is None:
        return own_name((task.meta or {}).get("by"))
    return own_name(f"user-{who}" if isinstance(who, int) else who)


def exported(row: Mapping[str, Any], control: str, target: str, version: str | None = None) -> ExportedTask:
    """Return a row as a task: with its label, or with the prediction of a version of a model.

    Parameters
    ----------
    row : mapping
        ``id``, ``features``, and ``label`` and ``by``, or ``guess`` and ``score``.
    control, target : str
        As of :class:`Config`.
    version : str, optional
    """
    meta = {name: row[name] for name in ("id", "by") if row.get(name) is not None}
    if version is not None:
        guess = TaskPrediction(result_of(row["guess"], control, target), row["score"], version)
        return ExportedTask(row["features"], meta, [], [guess])
    return ExportedTask(row["features"], meta, [{"result": result_of(row["label"], control, target)}], [])
