"""The class of every command: its help in sections with examples, and its files checked before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

import click

from ..output.text import say
from .files import check_files
from .sections import OPTIONS, OUTPUT, options_by_section
from .vowpal_wabbit import check_quadratic, explained

HELP_ALL = "help_all"  # in the context: whether help is to have all options


def _show_all(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        say(ctx.get_help())
        ctx.exit()


_HELP_ALL: Any = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
    help="Show this message with all options and exit.",
)  # fmt: skip
_HELP_ALL.section = OUTPUT


class Command(click.Command):
    """A command whose help lists options in their sections, and ends with examples.

    Parameters
    ----------
    examples : sequence of str
        Command lines. Those of all commands run one after the other in one folder, those of ``sample`` first.
    first : str
        The names of the options that ``--help`` shows if all would not fit a screen; ``--help-all`` shows all.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), first: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples, self.first = tuple(examples), first.split()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, and the options about help last."""
        *parameters, of_help = super().get_params(ctx)
        return [*parameters, *([_HELP_ALL] if self.first else []), of_help]

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

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description; in short help, its first two paragraphs."""
        if not self._is_short(ctx):
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(cleandoc(self.help or "").split("\n\n")[:2]))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in self._shown(ctx).items():
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _is_short(self, ctx: click.Context) -> bool:
        return bool(self.first) and HELP_ALL not in ctx.meta

    def _shown(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return the options that help shows, by the title of their section."""
        if not self._is_short(ctx):
            return options_by_section(self, ctx)
        *options, of_help = (option for option in self.get_params(ctx) if isinstance(option, click.Option))
        by_name = {option.name: option for option in options}
        return {OPTIONS: [*(by_name[name] for name in (*self.first, HELP_ALL)), of_help]}

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.examples))
