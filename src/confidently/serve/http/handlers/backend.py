"""A machine learning backend of Label Studio: it predicts tasks, and learns annotations as they are made.

An annotation is a row. Changing it corrects the row, deleting it erases the row, repeating it changes nothing. Rows
that wait for a label stay when somebody skips them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ...exchange import label_studio as ls
from ...model.hosted import Hosted
from ...model.settings import ModelSettings, Reading
from ...problems import Problem, tried
from ...work import checking, exchange, models, predicting
from ...work.erasing import erase
from ..calls import Call
from ..replies import Sendable, answered
from .exchange import of_classes, version_of

BATCH = "label-studio"  # of the rows that a webhook teaches
UPDATED = "ANNOTATION_UPDATED"
TAUGHT = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", UPDATED)
DELETED = "ANNOTATIONS_DELETED"


class BackendHealth(Struct):
    """That the backend answers."""

    status: str
    model: str


class BackendSetup(Struct):
    """A project of Label Studio: ``schema`` is its labeling config."""

    schema: str = ""


class BackendVersion(Struct):
    """Which model answers; it changes with the version and whenever the rows have doubled."""

    model_version: str


class BackendQuestion(Struct):
    """Tasks to predict."""

    tasks: list[ls.Task]
    label_config: str = ""


class BackendResults(Struct):
    """Predictions in the order of the tasks."""

    results: list[ls.TaskPrediction]
    model_version: str


class BackendProject(Struct):
    """A project of Label Studio."""

    id: int | None = None
    label_config: str = ""


class BackendEvent(Struct):
    """What has happened in a project: of a created annotation its task too, of a deleted one nothing but its number."""

    action: str
    project: BackendProject = msgspec.field(default_factory=BackendProject)
    annotation: ls.Annotation | list[ls.Annotation] | None = None
    annotations: list[ls.Annotation] = []
    task: ls.Task | list[ls.Task] | None = None


class BackendDone(Struct):
    """What an event has changed."""

    learned: int
    erased: int


async def backend_health(call: Call) -> Sendable:
    """Tell Label Studio that the backend answers."""
    call.engine.check_open()
    return answered(BackendHealth("UP", call.names["m"]))


async def backend_setup(call: Call) -> Sendable:
    """Check that the model fits a labeling config; make it if there is none, which needs the scope admin."""
    body, name = await call.message(BackendSetup), call.names["m"]
    config = _config(body.schema, "/schema")
    if name not in call.engine.hosted:
        call.check_allowed("admin")
        reading = Reading(text=list(config.columns))  # classes are added as they appear: projects get further choices
        settings = ModelSettings(multilabel=config.multiple, reading=reading)
        await call.log(models.create(call.engine, name, settings))
        call.changes = True
    hosted = of_classes(call)
    _check_fits(hosted, config)
    return answered(BackendVersion(version_of(hosted)))


async def backend_predict(call: Call) -> Sendable:
    """Predict tasks of Label Studio."""
    hosted, body = of_classes(call), await call.message(BackendQuestion)
    config, version = _config(body.label_config, "/label_config"), version_of(hosted)
    rows = await call.checked(_questions, hosted, body.tasks, config)
    if hosted.model.updates == 0:  # a guess at random would only mislead who labels
        return answered(BackendResults([ls.TaskPrediction([], 0.0, version) for _ in rows], version))
    found = await call.ask(predicting.predict(hosted, rows)) if rows else []
    results = list[ls.TaskPrediction]()
    for answer in found:
        label = _chosen(answer.label, answer.probability, config.classes)
        labels = label if isinstance(label, list) else [label]
        score = min((answer.probability.get(str(one), 0.0) for one in labels), default=0.0)
        results.append(ls.TaskPrediction(ls.result_of(label, config.control, config.target), score, version))
    return answered(BackendResults(results, version))


def _chosen(label: Any, probability: Mapping[str, float], choices: Collection[str]) -> Any:
    """Return a label among the choices that a project has now, None if the model knows none of them."""
    if not choices:
        return label
    if isinstance(label, list):
        return [one for one in label if str(one) in choices]
    known = [name for name in probability if name in choices]
    return label if str(label) in choices else max(known, key=probability.__getitem__, default=None)


async def backend_webhook(call: Call) -> Sendable:
    """Learn annotations that were made or changed, erase those that were deleted; other events change nothing."""
    hosted, body = of_classes(call), await call.message(BackendEvent)
    if body.action == DELETED:
        ids = [ls.annotation_id(body.project.id, one.id) for one in body.annotations if one.id is not None]
        return answered(BackendDone(0, await _erased(call, hosted, ids)))
    if body.action not in TAUGHT:
        return answered(BackendDone(0, 0))
    config = _config(body.project.label_config, "/project/label_config")
    rows, gone, wrong = list[checking.Taught](), list[str](), list[Problem]()
    for task, annotation in _pairs(body):
        project = body.project.id if task.project is None else task.project
        given = ls.Task(task.data, task.id, project, task.meta, [annotation])
        found = await call.checked(_tried_row, hosted, given, config)
        if isinstance(found, Problem):
            wrong.append(found)
        elif found is not None:
            rows.append(found)
        elif body.action == UPDATED and (id := ls.row_id(given, annotation.id)) is not None:  # it has no label any more
            gone.append(id)
    told = await call.log(exchange.learn_labelled(call.engine, hosted, rows, BATCH, anew=True)) if rows else []
    erased = await _erased(call, hosted, gone)
    wrong += [one for one in told if isinstance(one, Problem)]
    if wrong:  # of one annotation; the others are learned
        raise wrong[0]
    return answered(BackendDone(len(told), erased))


def _config(text: str, pointer: str) -> ls.Config:
    try:
        return ls.read_config(text)
    except ValueError as error:
        raise Problem("invalid-body", str(error), pointer) from None


def _check_fits(hosted: Hosted, config: ls.Config) -> None:
    """Raise a ``Problem`` unless a model can answer what a labeling config asks."""
    settings = hosted.settings
    if hosted.model.task.multilabel != config.multiple:
        ours, theirs = ("several labels", "one") if hosted.model.task.multilabel else ("one label", "several")
        raise Problem("invalid-body", f"the model has {ours} per row, <Choices> asks for {theirs}", "/schema")
    known = {str(name) for name in settings.classes}
    if known and (others := [name for name in config.classes if name not in known]):
        raise Problem("unknown-class", f"the choices {', '.join(others)[:200]} are not classes of the model", "/schema")
    if settings.file is None and (others := [name for name in config.columns if name not in settings.reading.text]):
        raise Problem(
            "invalid-body", f"the model does not read {', '.join(others)[:200]} as text; make it with "
            '{"reading": {"text": [...]}}', "/schema"
        )  # fmt: skip


def _questions(hosted: Hosted, tasks: list[ls.Task], config: ls.Config) -> list[checking.Question]:
    return [_question(hosted, task, config, f"/tasks/{k}") for k, task in enumerate(tasks)]


def _question(hosted: Hosted, task: ls.Task, config: ls.Config, pointer: str) -> checking.Question:
    try:
        features = ls.features_of(task, config.columns)
    except ValueError as error:
        raise Problem("invalid-body", str(error), f"{pointer}/data") from None
    found: checking.Question | Problem = tried(checking.question, hosted, None, features, pointer=pointer)
    if isinstance(found, Problem):
        raise found
    return found


def _pairs(body: BackendEvent) -> list[tuple[ls.Task, ls.Annotation]]:
    """Return the annotations of an event with their tasks."""
    annotations = body.annotation if isinstance(body.annotation, list) else [body.annotation]
    tasks = body.task if isinstance(body.task, list) else [body.task] * len(annotations)
    pairs = [(task, one) for task, one in zip(tasks, annotations, strict=False) if task is not None and one is not None]
    if len(pairs) < max(len(annotations), len(tasks)):
        raise Problem("invalid-body", "expected an annotation and its task; let the webhook send its payload", "/task")
    return pairs


def _tried_row(hosted: Hosted, task: ls.Task, config: ls.Config) -> checking.Taught | Problem | None:
    """Return the row of a task with one annotation; None if that says nothing."""
    return tried(_row, task, hosted, config)


def _row(task: ls.Task, hosted: Hosted, config: ls.Config) -> checking.Taught | None:
    try:
        [row] = ls.labelled(task, hosted.model.task.multilabel, config.columns, config.control)
    except ValueError as error:
        raise Problem("invalid-body", str(error), "/annotation") from None
    if row is None:
        return None
    labels = row.label if isinstance(row.label, list) else [row.label]
    if config.classes and (others := [str(one) for one in labels if str(one) not in config.classes]):
        shown = ", ".join(config.classes)[:200]
        raise Problem("unknown-class", f"the label {others[0][:80]!r} is not among the choices: {shown}", "/annotation")
    return exchange.labelled_row(hosted, row)


async def _erased(call: Call, hosted: Hosted, ids: list[str]) -> int:
    """Erase the labelled rows of annotations, if there are any; return their number."""
    stored = await call.log(exchange.are_labelled(hosted, ids))
    for id in stored:
        await asyncio.to_thread(erase, call.engine, hosted, id)
    return len(stored)
