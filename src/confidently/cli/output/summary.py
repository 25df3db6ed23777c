"""The account of a training, as plain data and as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..common import class_names, percent
from ..training.position import Standing
from .accounts import classes_called, classes_text, file_text, learner_text, rows_text, skipped_lines
from .progress import validation_text

if TYPE_CHECKING:
    from ..training.classifier import Training


def result_of(training: Training) -> dict[str, Any]:
    """An account of the run, as plain data."""
    model, position = training.final_model(), training.position
    learner, first = model.learner, position.first or Standing()
    settings = learner.settings
    result = {
        "rows": first.rows,
        "rows_learned": first.learned,
        "passes": position.passes,
        "mistakes": first.mistakes,
        "error": first.error,
        "log_loss": first.mean_log_loss,
        "updates": learner.updates,
        "infeasible": learner.infeasible if settings.rule.counts_misses else None,
        "task": settings.task,
        "classes": class_names(model),
        "features": learner.n_features,
        "rule": {"name": settings.rule.name, "parameters": settings.rule.get_params()},
        "covariance": settings.covariance,
        "rows_seen": learner.n_seen,
        "seconds": round(position.seconds, 6),
    }
    if position.last is not None:
        result["validation"] = position.best if training.options["early_stop"] else position.last
        result["stopped_early"] = training.stopped
    if training.options["on_error"] != "stop":
        result["skipped"] = training.data.skipped
        result["skipped_examples"] = training.data.skipped_examples
    return result


def summary(result: dict[str, Any]) -> str:
    """The account as people read it."""
    rate = result["rows"] * result["passes"] / max(result["seconds"], 1e-9)
    log_loss = "" if result["log_loss"] is None else f", a log-loss of {result['log_loss']:.4f}"
    lines = [
        f"rows       {rows_text(result['rows'], result['passes'])}",
        f"{classes_called(result['task']):10} {classes_text(result['classes'])}",
        f"features   {result['features']:,}",
        f"learner    {learner_text(result)}",
        f"mistakes   {result['mistakes']:,}, a progressive error of {percent(result['error'])}{log_loss}",
        f"updates    {result['updates']:,}",
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} rows/s)",
        *skipped_lines(result),
    ]
    if "rounds" in result:
        lines.append(
            f"cluster    {result['parts']:,} parts on {result['workers']:,} workers, {result['rounds']:,} rounds, "
            f"{result['bytes_moved']:,} bytes moved"
        )
    if result["rows_learned"] < result["rows"]:
        lines.insert(1, f"learned    {result['rows_learned']:,} of them")
    if "validation" in result:
        lines.append(
            validation_text(result["validation"] | {"best": None}) + (", the best" if result["stopped_early"] else "")
        )
    if result["infeasible"]:
        lines.append(
            f"infeasible {result['infeasible']:,} examples, which no classifier in the ellipsoid satisfies, were "
            "passed over: the data cannot be separated with this margin; lower --gamma, or use the rule iellip"
        )
    return "\n".join([*lines, f"model      {file_text(result)}"])
