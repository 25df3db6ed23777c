"""The cost of the matrices of a covariance of several classes, reported before training begins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...covariances.dense import Dense
from ...covariances.table import kind_of, with_classes
from ...learner.cost import Cost
from ...wording import counted
from .learner_summaries import weighted_members

if TYPE_CHECKING:
    from ...data import Batch
    from ...learner.streams import StreamLearner


def cost_of(learning: StreamLearner, first: Batch, chosen: str) -> tuple[str, dict[str, Any]] | None:
    """Return the cost of the chosen covariance for the classes of the first rows, as text and as plain data.

    The speed is measured on these rows where it matters. ``None`` for two classes, for a regression, where one matrix
    over the features was chosen, where a view makes columns of its own, and for stacks, which have matrices over few
    features only.
    """
    learner = learning.learner
    if weighted_members(learner) is not None or learner.settings.task.regression:
        return None
    settings, covariance = learner.settings, learner.covariance
    if not isinstance(covariance, Dense) or not (learner.view is None or learner.view.keeps_columns):
        return None
    known = sum(name is not None for name in learning.classes.names)
    classes = known + sum(learning.classes.get(new.name) is None for new in first.new_labels)
    if settings.task.binary and classes > 2:
        settings = with_classes(settings, learning.multiclass, classes)
    n_features = max(first.n_columns, learner.n_features)
    cost = Cost.of(settings, n_features, classes)
    if settings.task.binary or (cost.is_shared and kind_of(chosen).for_classes is None):
        return None
    if cost.is_shared:
        other = Cost.of(replace(settings, covariance=chosen), n_features, classes)
        text = f"covariance {chosen}: {cost} numbers, shared by {classes:,} {settings.task.nouns}"
        instead = f"--multiclass {settings.task.multiclass} keeps {other}"
    else:
        text = f"covariance {settings.covariance}: {cost} numbers for {classes:,} {settings.task.nouns}"
        text += f" and {counted(cost.n_weights, 'weight')} of each"
        shared = Cost.of(replace(settings, covariance="shared"), n_features, classes)
        instead = f"--covariance shared keeps {shared}"
    facts: dict[str, Any] = {
        "matrices": cost.matrices, "size": cost.size, "bytes": cost.bytes, "operations": cost.operations,
    }  # fmt: skip
    text += f", {cost.bytes / 1e6:,.1f} MB and up to {cost.operations:,} operations per row"
    if (speed := cost.rows_per_second(first.matrix, first.labels % classes, first.label_start)) is not None:
        facts["rows_per_second"] = round(speed, 1)
        text += f", about {speed:,.0f} rows/s"
    return f"{text}; {instead}", facts
