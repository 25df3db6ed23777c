"""The class of every command: its help in sections, and its files checked before it runs."""

from __future__ import annotations

from typing import Any

import click

from .files import check_files
from .vowpal_wabbit import check_quadratic, explained


class Command(click.Command):
    """A command whose help lists options in their sections, after the options without one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; options of Vowpal Wabbit are named as such."""
        check_quadratic(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise explained(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command if its outputs can be written and do not overwrite its inputs or each other."""
        check_files(ctx)
        return super().invoke(ctx)

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
