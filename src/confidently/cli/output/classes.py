"""What a command shows of a model class by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ...wording import counted
from .text import class_names, say, shown

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel

MAX_CLASSES_SHOWN = 12
MAX_LISTED = 100  # classes, in an error message


def check_class(model: Model | TopicModel, name: str | None) -> None:
    """Reject the name of an unknown class."""
    if name is not None and name not in class_names(model):
        listed = class_names(model)
        more = f", ... ({counted(len(listed), 'class', 'classes')})" if len(listed) > MAX_LISTED else ""
        raise click.UsageError(
            f"--class: unknown class {name!r}; expected one of {', '.join(listed[:MAX_LISTED])}{more}"
        )


def of_class(views: list[Any], name: str | None) -> list[Any]:
    """Return the view of the class asked for; all views if none was, or if one view shows both classes."""
    return views if name is None or len(views) == 1 else [view for view in views if str(view.name) == name]


def class_title(model: Model | TopicModel, name: Any) -> str:
    """Return the title of a class's weights."""
    if model.learner.task.regression:
        return "weights" if len(model.classes) == 1 else f"weights of output {shown(name)}"
    if model.learner.task.binary:
        return f"positive weights favor {shown(name)}, negative {shown(class_names(model)[0])}"
    return f"{model.learner.task.noun} {shown(name)}"


def print_classes(
    facts: str, views: Sequence[Any], text: Callable[[Any], list[str]], plot: str | None, left_out: int = 0
) -> None:
    """Print the facts about a model, then the paragraphs that ``text`` returns for each class.

    ``left_out`` classes, of fewer weights, have no view.
    """
    parts = [facts, *(part for view in views[:MAX_CLASSES_SHOWN] for part in text(view))]
    if len(views) > MAX_CLASSES_SHOWN:
        parts.append(f"({len(views) - MAX_CLASSES_SHOWN} more classes; use --class NAME to show one)")
    if left_out:
        parts.append(f"({counted(left_out, 'class', 'classes')} with fewer weights; use --class NAME to show one)")
    say("\n\n".join(parts + ([f"Plot: {plot}"] if plot else [])))
