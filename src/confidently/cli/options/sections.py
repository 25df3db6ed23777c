"""Help in sections: long lists of options are grouped by topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Any], Any]


def in_section(title: str, options: list[Decorator]) -> list[Decorator]:
    """Return the same options, assigned to a section of the help."""
    return [_assigned(title, option) for option in options]


def _assigned(title: str, option: Decorator) -> Decorator:
    def decorate(command: Any) -> Any:
        command = option(command)
        last: Any = (command.params if isinstance(command, click.Command) else command.__click_params__)[-1]
        last.section = title
        return command

    return decorate
