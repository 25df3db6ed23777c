"""Help in sections: long lists of options are grouped by topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Any], Any]


class Sectioned(click.Command):
    """A command whose help lists options in their sections, after the options without one."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


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
