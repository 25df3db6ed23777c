"""The account of a training, as plain data and as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .common import class_names, percent
from .position import Standing
from .progress import validation_text

if TYPE_CHECKING:
    from .training import Training

MOST_CLASSES_LISTED = 10


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
    names, rule = result["classes"], result["rule"]
    listed = ", ".join(names[:MOST_CLASSES_LISTED]) + (", ..." if len(names) > MOST_CLASSES_LISTED else "")
    parameters = ", ".join(f"{k}={v:g}" for k, v in rule["parameters"].items() if v is not None)
    what = "labels" if result["task"] == "multilabel" else "classes"
    rate = result["rows"] * result["passes"] / max(result["seconds"], 1e-9)
    log_loss = "" if result["log_loss"] is None else f", a log-loss of {result['log_loss']:.4f}"
    lines = [
        f"rows       {result['rows']:,}" + (f" in each of {result['passes']} passes" if result["passes"] > 1 else ""),
        f"{what:10} {len(names):,} ({listed})",
        f"features   {result['features']:,}",
        f"learner    {rule['name']}({parameters}), covariance {result['covariance']}, {result['task']}",
        f"mistakes   {result['mistakes']:,}, a progressive error of {percent(result['error'])}{log_loss}",
        f"updates    {result['updates']:,}",
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} rows/s)",
        *skipped_lines(result),
    ]
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
    if "model" in result:
        lines.append(f"model      {result['model']} ({result['model_bytes']:,} bytes)")
    else:
        lines.append("model      not saved (-o MODEL saves it)")
    return "\n".join(lines)


def skipped_lines(result: dict[str, Any]) -> list[str]:
    """How many rows were passed over, and why the first of them."""
    if not result.get("skipped"):
        return []
    examples = result["skipped_examples"]
    rest = result["skipped"] - len(examples)
    lines = [f"skipped    {result['skipped']:,} rows that are not as they should be:"]
    lines += [f"           {example}" for example in examples]
    return lines + ([f"           and {rest:,} more"] if rest > 0 else [])
