"""Lines that accounts of models and trainings have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel

MAX_CLASSES_LISTED = 10


def saved(model: Model | TopicModel, path: str | None) -> dict[str, Any]:
    """Save a model, if there is a path to save it at; what an account says of its file."""
    if not path:
        return {}
    model.save(path)
    return {"model": path, "model_bytes": os.path.getsize(path)}


def file_text(account: dict[str, Any]) -> str:
    """The file of a model, and its size."""
    if "model" not in account:
        return "not saved (-o MODEL saves it)"
    return f"{account['model']} ({account['model_bytes']:,} bytes)"


def classes_called(task: str) -> str:
    """What the classes of a task are called."""
    return "labels" if task == "multilabel" else "classes"


def classes_text(names: Sequence[str]) -> str:
    """How many classes there are, and the first of them."""
    listed = ", ".join(names[:MAX_CLASSES_LISTED]) + (", ..." if len(names) > MAX_CLASSES_LISTED else "")
    return f"{len(names):,} ({listed})"


def learner_text(account: dict[str, Any]) -> str:
    """Rule, covariance and task."""
    rule = account["rule"]
    parameters = ", ".join(f"{k}={v:g}" for k, v in rule["parameters"].items() if v is not None)
    return f"{rule['name']}({parameters}), covariance {account['covariance']}, {account['task']}"


def rows_text(rows: int, passes: int) -> str:
    """How many rows were learned, and how often."""
    return f"{rows:,}" + (f" in each of {passes} passes" if passes > 1 else "")


def skipped_lines(account: dict[str, Any]) -> list[str]:
    """How many rows were passed over, and why the first of them."""
    if not account.get("skipped"):
        return []
    examples = account["skipped_examples"]
    rest = account["skipped"] - len(examples)
    lines = [f"skipped    {account['skipped']:,} rows that are not as they should be:"]
    lines += [f"           {example}" for example in examples]
    return lines + ([f"           and {rest:,} more"] if rest > 0 else [])
