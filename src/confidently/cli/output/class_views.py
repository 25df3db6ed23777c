"""What commands that show a model class by class have in common: ``inspect`` and ``topics show``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..common import ABSENT, class_names

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel

MAX_CLASSES_SHOWN = 12


def check_class(model: Model | TopicModel, name: str | None) -> None:
    """Refuse the name of no class."""
    if name is not None and name not in class_names(model):
        raise click.UsageError(f"no class is called {name!r}; there are {', '.join(class_names(model))}")


def of_class(views: list[Any], name: str | None) -> list[Any]:
    """The view of the class asked for; all of them where none was, or where there is one for both classes."""
    return views if name is None or len(views) == 1 else [view for view in views if str(view.name) == name]


def class_title(model: Model | TopicModel, name: Any) -> str:
    """What stands above the weights of a class."""
    shown = ABSENT if name is None else name
    if model.learner.settings.task == "binary":
        return f"positive weights speak for {shown}, negative ones for {class_names(model)[0]}"
    return f"{'label' if model.learner.settings.task == 'multilabel' else 'class'} {shown}"


def write_classes(facts: str, views: Sequence[Any], text: Callable[[Any], list[str]], picture: str | None) -> None:
    """The facts of a model, then the paragraphs that ``text`` has of each class."""
    parts = [facts, *(part for view in views[:MAX_CLASSES_SHOWN] for part in text(view))]
    if len(views) > MAX_CLASSES_SHOWN:
        parts.append(f"({len(views) - MAX_CLASSES_SHOWN} classes more; --class NAME shows one)")
    click.echo("\n\n".join(parts + ([f"Picture: {picture}"] if picture else [])))
