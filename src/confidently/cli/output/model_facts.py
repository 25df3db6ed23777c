"""What a model is and how it was trained, as plain data and as people read it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..common import class_names, percent, table
from .accounts import classes_called, classes_text, file_text, learner_text

if TYPE_CHECKING:
    from ...models.model import Model


def facts_of(model: Model, path: str) -> dict[str, Any]:
    """An account of a model, as plain data."""
    learner = model.learner
    settings = learner.settings
    facts = {
        "model": path,
        "model_bytes": os.path.getsize(path),
        "rule": {"name": settings.rule.name, "parameters": settings.rule.get_params()},
        "covariance": settings.covariance,
        "task": settings.task,
        "prior_variance": settings.prior_variance,
        "fit_intercept": settings.fit_intercept,
        "average": settings.average,
        "forget": settings.forget,
        "dtype": settings.dtype,
        "classes": class_names(model),
        "features": learner.n_features,
        "names": model.features is not None,
        "rows_seen": learner.n_seen,
        "mistakes": learner.mistakes,
        "updates": learner.updates,
        "infeasible": learner.infeasible if settings.rule.counts_misses else None,
        "source": model.source,
        "estimator": model.estimator,
    }
    if learner.covariance.keeps_examples:
        facts["kernel"] = {
            "name": settings.kernel, "parameters": settings.kernel_params, "budget": settings.budget,
            "examples_kept": learner.covariance.n_examples(learner.state),
        }  # fmt: skip
    return facts


def facts_text(facts: dict[str, Any]) -> str:
    """The account as people read it."""
    share = percent(facts["mistakes"] / facts["rows_seen"]) if facts["rows_seen"] else "no rows"
    rows = [
        ["model", file_text(facts)],
        ["learner", learner_text(facts)],
        ["trained on", f"{facts['rows_seen']:,} rows (all passes together)"],
        ["mistakes", f"{facts['mistakes']:,} of them predicted wrongly before they were learned ({share})"],
        ["updates", f"{facts['updates']:,}"],
        [classes_called(facts["task"]), classes_text(facts["classes"])],
        ["features", f"{facts['features']:,}"],
    ]
    if kernel := facts.get("kernel"):
        texts = {name: f"{v:.4g}" if isinstance(v, float) else str(v) for name, v in kernel["parameters"].items()}
        given = ", ".join(f"{name}={text}" for name, text in texts.items())
        most = "" if kernel["budget"] is None else f", at most {kernel['budget']:,}"
        rows.append(["kernel", f"{kernel['name']}({given})"])
        rows.append(["kept", f"{kernel['examples_kept']:,} examples{most}"])
    if facts["source"].get("format"):
        rows.append(["rows from", facts["source"]["format"]])
    return table(rows, str.ljust)
