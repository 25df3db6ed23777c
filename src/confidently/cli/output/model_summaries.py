"""Summaries of models: plain data for ``--json``, text for people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...encoders import EncoderInfo
from ...tasks.table import task_named
from ...wording import counted
from .learner_summaries import (
    alarm_facts,
    alarm_text,
    counted_infeasible,
    drift_text,
    file_text,
    learner_facts,
    learner_text,
    moved_text,
    target_facts,
    targets_rows,
    weighted_members,
)
from .text import class_names, classes_text, percent, table

if TYPE_CHECKING:
    from ...covariances.settings import Settings
    from ...models.model import Model
    from ...topics.model import TopicModel


def model_facts(model: Model, path: str) -> dict[str, Any]:
    """Return what a classifier or a regression is and how it was trained."""
    learner = model.learner
    alarms = alarm_facts(model)
    if "rmse" in learner.task.measures:
        of_task = target_facts(learner) | alarms
    else:
        of_task = {
            "classes": class_names(model),
            **alarms,
            "mistakes": learner.mistakes,
            "infeasible": counted_infeasible(learner),
        }
    facts = {
        "model": path,
        "model_bytes": os.path.getsize(path),
        **learner_facts(learner),
        "task": learner.task.name,
        **({} if weighted_members(learner) else _settings_facts(learner.settings)),
        "dtype": learner.dtype,
        "features": model.n_features,
        "names": model.features is not None,
        "rows_seen": learner.n_seen,
        "updates": learner.updates,
        **of_task,
        "source": model.source,
        "estimator": model.estimator,
    }
    if weighted_members(learner) is None and learner.covariance.keeps_examples:
        settings = learner.settings
        facts["kernel"] = {
            "name": settings.kernel, "parameters": settings.kernel_params, "budget": settings.budget,
            "examples_kept": learner.covariance.n_examples(learner.state),
        }  # fmt: skip
    return facts


def _settings_facts(settings: Settings) -> dict[str, Any]:
    names = ("prior_variance", "fit_intercept", "average", "forget", "projection")
    return {name: getattr(settings, name) for name in names}


def _mistakes_rows(facts: dict[str, Any]) -> list[list[str]]:
    fraction = percent(facts["mistakes"] / facts["rows_seen"]) if facts["rows_seen"] else "no rows"
    return [["mistakes", f"{facts['mistakes']:,} of them misclassified before training on them ({fraction})"]]


def _members_rows(facts: dict[str, Any]) -> list[list[str]]:
    dropped = facts.get("dropped", {}).items()
    return [
        *(["", f"{member['weight']:+.2f} {member['name']}"] for member in facts.get("members", [])),
        *(["", f"      {name}, dropped after {counted(rows, 'row')}"] for name, rows in dropped),
    ]


def model_text(facts: dict[str, Any], members: bool = True) -> str:
    """Return the facts about a classifier or a regression as text, of a stack perhaps with its ``members``."""
    classes = [[task_named(facts["task"]).nouns, classes_text(facts["classes"])]] if "classes" in facts else []
    rows = [
        ["model", file_text(facts)],
        ["learner", learner_text(facts)],
        *(_members_rows(facts) if members else []),
        *([["drift", drift_text(facts["drift"])]] if facts.get("drift") else []),
        *([["alarm", alarm_text(facts)]] if facts.get("alarms") else []),
        *([["moved", moved]] if (moved := moved_text(facts)) else []),
        ["trained on", f"{counted(facts['rows_seen'], 'row')} (all passes together)"],
        *(_mistakes_rows(facts) if "mistakes" in facts else targets_rows(facts)),
        ["updates", f"{facts['updates']:,}"],
        *classes,
        ["features", f"{facts['features']:,}"],
    ]
    if kernel := facts.get("kernel"):
        texts = {name: f"{v:.4g}" if isinstance(v, float) else str(v) for name, v in kernel["parameters"].items()}
        given = ", ".join(f"{name}={text}" for name, text in texts.items())
        most = "" if kernel["budget"] is None else f", at most {kernel['budget']:,}"
        rows.append(["kernel", f"{kernel['name']}({given})"])
        rows.append(["kept", f"{counted(kernel['examples_kept'], 'example')}{most}"])
    if facts["source"].get("format"):
        rows.append(["format", facts["source"]["format"]])
    if encoder := facts["source"].get("encoder"):
        rows.append(["encoder", str(EncoderInfo(**encoder))])
    return table(rows, str.ljust)


def topic_model_facts(model: TopicModel, path: str) -> dict[str, Any]:
    """Return what a topic model is and how it was trained."""
    learner = model.learner
    settings = learner.settings
    return {
        "model": path,
        "model_bytes": os.path.getsize(path),
        "classifier": settings.classifier,
        "task": str(settings.task),
        "topics": settings.n_topics,
        "nonparametric": settings.nonparametric,
        "epsilon": settings.epsilon,
        "classes": class_names(model),
        "vocabulary": learner.n_features,
        "documents_seen": learner.n_seen,
        "words_seen": int(learner.state["counters"][1]),
        "source": model.source,
        "estimator": model.estimator,
    }


def topic_model_text(facts: dict[str, Any]) -> str:
    """Return the facts about a topic model as text."""
    each = " per class" if task_named(facts["task"]).separate else ""
    most = " at most" if facts["nonparametric"] else ""
    documents, words = counted(facts["documents_seen"], "document"), counted(facts["words_seen"], "word")
    rows = [
        ["model", file_text(facts)],
        ["topics", f"{facts['topics']}{each}{most}, classifier {facts['classifier']}, {facts['task']}"],
        ["trained on", f"{documents}, {words} (all passes together)"],
        [task_named(facts["task"]).nouns, classes_text(facts["classes"])],
        ["vocabulary", counted(facts["vocabulary"], "word")],
    ]
    return table(rows, str.ljust)
