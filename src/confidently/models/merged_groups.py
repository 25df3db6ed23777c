"""Merging what models have learned of groups of rows, by the values of the column that they have in common."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.classes import ClassTable
from ..tasks.groups import Groups, merged
from .alignment import class_numbers
from .merged_learner import MergeError
from .model import Model


def check_columns(models: Sequence[Model], names: Sequence[str]) -> None:
    """Raise ``MergeError`` unless sets of all models cover by the same column, or those of none by any."""
    found = [None if model.learner.groups is None else model.learner.groups.column for model in models]
    for name, column in zip(names, found, strict=True):
        if column != found[0]:
            raise MergeError(
                f"coverage_by = {found[0]} in {names[0]}, coverage_by = {column} in {name}; merge models with equal "
                "settings"
            )


def merged_groups(models: Sequence[Model], base: Model | None, whole: Model) -> Groups | None:
    """Return the groups of models whose training continued from a base, for the classes of the merged model."""
    if models[0].learner.groups is None:
        return None
    table = ClassTable(whole.classes)

    def of(model: Model) -> Groups:
        groups: Groups = model.learner.groups
        if groups.of_numbers:
            return groups
        return groups.placed(class_numbers(model, table), whole.learner.n_classes)

    return merged([of(model) for model in models], None if base is None else of(base))
