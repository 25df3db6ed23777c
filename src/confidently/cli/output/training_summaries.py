"""Summaries of trainings: plain data for ``--json``, text for people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...tasks.table import task_named
from ...wording import counted
from .learner_summaries import (
    alarm_facts,
    alarm_text,
    counted_infeasible,
    drift_text,
    errors_text,
    file_text,
    learner_facts,
    learner_text,
    moved_text,
    rows_text,
    target_facts,
    target_text,
)
from .progress import validation_text
from .text import class_names, classes_text, percent

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel
    from .counts import Counts


def saved(model: Model | TopicModel, path: str | None) -> dict[str, Any]:
    """Save a model if there is a path to save it at; return the summary of its file."""
    if not path:
        return {}
    model.save(path)
    return {"model": path, "model_bytes": os.path.getsize(path)}


def training_facts(model: Model, first: Counts, passes: int, seconds: float) -> dict[str, Any]:
    """Return the facts about a model and its progressive measures, those of the first pass, as plain data."""
    learner = model.learner
    if "rmse" in learner.task.measures:
        measured, of_classes = {**target_facts(learner), "rmse": first.rmse, "mae": first.mae}, {}
    else:
        measured = {"mistakes": first.mistakes, "error": first.error, "log_loss": first.mean_log_loss}
        of_classes = {"classes": class_names(model)}
    return {
        "rows": first.rows,
        "rows_learned": first.learned,
        "passes": passes,
        **measured,
        "updates": learner.updates,
        **({"infeasible": counted_infeasible(learner)} if of_classes else {}),
        "task": learner.task.name,
        **of_classes,
        **alarm_facts(model),
        "features": learner.n_features,
        **learner_facts(learner),
        "rows_seen": learner.n_seen,
        "seconds": round(seconds, 6),
    }


def training_text(result: dict[str, Any]) -> str:
    """Return the summary of a training of :func:`training_facts`."""
    rate = result["rows"] * result["passes"] / max(result["seconds"], 1e-9)
    infeasible, members = [], []
    if "classes" in result:
        of_task = [f"{task_named(result['task']).nouns:10} {classes_text(result['classes'])}"]
        log_loss = "" if result["log_loss"] is None else f", log-loss {result['log_loss']:.4f}"
        error = f"progressive validation error {percent(result['error'])}"
        measured = f"mistakes   {result['mistakes']:,} ({error}){log_loss}"
        members = [f"           {member['weight']:+.2f} {member['name']}" for member in result.get("members", [])]
        if result["infeasible"]:
            infeasible = [
                f"infeasible skipped {counted(result['infeasible'], 'example')} that no classifier in the ellipsoid "
                "satisfies: the data are not separable with this margin; lower --gamma or use --rule iellip"
            ]
    else:
        of_task = [f"target     {target_text(result)}"]
        errors = "not measured" if result["rmse"] is None else f"{errors_text(result)} (progressive validation)"
        measured = f"errors     {errors}"
    learned = [f"learned    {result['rows_learned']:,} of them"] if result["rows_learned"] < result["rows"] else []
    lines = [
        f"rows       {rows_text(result['rows'], result['passes'])}",
        *learned,
        *of_task,
        f"features   {result['features']:,}",
        f"learner    {learner_text(result)}",
        *members,
        *([f"drift      {drift_text(result['drift'])}"] if result.get("drift") else []),
        *([f"alarm      {alarm_text(result)}"] if result.get("alarms") else []),
        *([f"moved      {moved}"] if (moved := moved_text(result)) else []),
        measured,
        f"updates    {result['updates']:,}",
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} rows/s)",
        *skipped_lines(result),
        *_cluster_lines(result),
        *_validation_lines(result),
        *infeasible,
    ]
    return "\n".join([*lines, f"model      {file_text(result)}"])


def _cluster_lines(result: dict[str, Any]) -> list[str]:
    if "rounds" not in result:
        return []
    return [
        f"cluster    {counted(result['partitions'], 'partition')} on {counted(result['workers'], 'worker')}, "
        f"{counted(result['rounds'], 'round')}, {result['bytes_moved']:,} bytes moved"
    ]


def topic_training_text(result: dict[str, Any]) -> str:
    """Return the summary of a topic model's training."""
    rate = result["words"] / max(result["seconds"], 1e-9)
    each = " per class" if task_named(result["task"]).separate else ""
    lines = [
        f"documents  {rows_text(result['documents'], result['passes'])}",
        f"words      {result['words']:,} ({result['vocabulary']:,} distinct)",
        f"{task_named(result['task']).nouns:10} {classes_text(result['classes'])}",
        f"topics     {result['topics']:,}{each}{' at most' if result['nonparametric'] else ''}, {result['classifier']}",
        f"margin     {result['epsilon']:.4g}",
        *_progressive_lines(result["progressive"]),
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} words/s)",
        *skipped_lines(result),
    ]
    return "\n".join([*lines, f"model      {file_text(result)}"])


def _validation_lines(result: dict[str, Any]) -> list[str]:
    if "validation" not in result:
        return []
    return [validation_text(result["validation"] | {"best": None}) + (", the best" if result["stopped_early"] else "")]


def _progressive_lines(found: dict[str, Any] | None) -> list[str]:
    """The progressive score of the last documents."""
    if found is None:
        return []
    measure = f"accuracy {found['accuracy']:.3f}" if "accuracy" in found else f"micro-F1 {found['micro_f1']:.3f}"
    warning = [f"warning    {found['warning']}"] if found["warning"] else []
    return [f"predicted  {measure} on {counted(found['documents'], 'document')}, before training on them", *warning]


def skipped_lines(result: dict[str, Any], what: str = "row") -> list[str]:
    """Return how many rows, or others, were skipped, and why the first of them."""
    if not result.get("skipped"):
        return []
    examples = result["skipped_examples"]
    rest = result["skipped"] - len(examples)
    lines = [f"skipped    {counted(result['skipped'], f'invalid {what}')}:"]
    lines += [f"           {example}" for example in examples]
    return lines + ([f"           and {rest:,} more"] if rest > 0 else [])
