"""Groups of commands whose modules are imported when they run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Commands of a package, one module each.

    Parameters
    ----------
    package : str
        Where the modules are; each has a command of its own name.
    about : dict
        By name of the command, a line about it.
    """

    def __init__(self, *args: Any, package: str, about: dict[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.package, self.about = package, about

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.about)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return getattr(import_module(f"{self.package}.{name}"), name) if name in self.about else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about.items()))
