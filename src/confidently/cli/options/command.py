"""The class of every command: its help in sections with examples, and its files checked before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from .files import check_files
from .sections import options_by_section
from .vowpal_wabbit import check_quadratic, explained


class Command(click.Command):
    """A command whose help lists options in their sections, and ends with examples.

    Parameters
    ----------
    examples : sequence of str
        Command lines. Those of all commands run one after the other in one folder, those of ``sample`` first.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)

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
        for title, options in options_by_section(self, ctx).items():
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.examples))
