"""The command line: one module per command, imported when it runs."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, TextIO

import click
from click.shell_completion import CompletionItem, shell_complete

from ..printable import printable
from .output.text import say

# The first line of each command's help; listing it here avoids importing the commands to list them.
COMMANDS = {
    "look": "Show what train would read in the first 1,000 rows of data, and how to train on them.",
    "train": "Train a classifier or a regression on data of any size in little memory.",
    "predict": "Predict the class or, with a regression model, the number of every row.",
    "evaluate": "Compare a model's predictions with the labels of data.",
    "compare": "Compare many rules in one pass over the data.",
    "topics": "Learn topics that discriminate classes of documents.",
    "convert": "Convert data to another format.",
    "inspect": "Show what a model has learned, or explain its prediction for one row.",
    "merge": "Merge models that were trained separately.",
    "cache": "Parse data once into a binary cache.",
    "serve": "Serve models that learn online, over HTTP, with a page to label rows.",
    "rules": "List the update rules, or show one in detail.",
    "sample": "Write made-up data to try the other commands on.",
    "demo": "Train on 1,200 digits and predict 597 more, with probabilities, prediction sets and abstention.",
    "doctor": "Show what this installation is made of and check that it works.",
    "completion": "Print a script that completes commands and options in bash, zsh or fish.",
}
REFUSED_MEMORY = (  # in messages of the system and of Python
    "cannot allocate memory", "can't start new thread", "failed to map segment", "without exception set",
    "without setting an exception",
)  # fmt: skip
BAD_INPUT, BROKEN_PIPE = 2, 141  # exit codes
PROGRAM, COMPLETE = "confidently", "_CONFIDENTLY_COMPLETE"  # the variable of the script that completes in a shell
WINDOWS = os.name == "nt"


class LazyGroup(click.Group):
    """A group whose commands are modules, imported when they run.

    Parameters
    ----------
    package : str
        The package of the modules; each module has a command of its own name.
    about : dict
        One line about each command, by name.
    """

    def __init__(self, *args: Any, package: str, about: dict[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.package, self.about = package, about

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; options of Vowpal Wabbit, which has no commands, are named as such."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from .options.vowpal_wabbit import explained

            raise explained(error) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named and its arguments; an error has the command that may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from ..similar import similar

            if (meant := similar(args[0], list(self.about))) is None:
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}; did you mean {meant!r}?", ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.about)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return getattr(import_module(f"{self.package}.{name}"), name) if name in self.about else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        commands = [CompletionItem(name, help=text) for name, text in self.about.items() if name.startswith(incomplete)]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about.items()))


@click.group(
    cls=LazyGroup,
    package=f"{__name__}.commands",
    about=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, given: _say_version(ctx, given),
    help="Show the version, the compiler and the system.",
)
def cli() -> None:
    """Learn from data in one pass, and say how sure every prediction is.

    \b
    confidently train spam.svm -o spam.cw
    confidently predict spam.cw new.svm --proba
    confidently evaluate spam.cw test.svm
    """
    if "CONFIDENTLY_SIMD" in os.environ:
        from .. import _core

        try:
            _core.build()
        except ValueError as error:  # an unknown path, or one that the processor lacks
            raise click.UsageError(str(error)) from None


def _say_version(ctx: click.Context, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        from .environment import version_text

        say(version_text())
        ctx.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; an error becomes one line on standard error."""
    open_closed_streams()
    if sys.stdout is None:
        return _complain("standard output is closed; use >/dev/null to ignore it")
    if WINDOWS:
        write_utf8(sys.stdout)
        write_utf8(sys.stderr)
    code = run(arguments)
    drop_unwritten()
    return code


def open_closed_streams() -> None:
    """Open closed standard streams to the null device: otherwise files that are opened later would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (it stays open)


def write_utf8(stream: TextIO) -> None:
    """Write UTF-8 with plain line ends to a pipe or a file, whatever the system's default is."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", newline="\n")


def drop_unwritten() -> None:
    """Drop what a standard stream cannot write; otherwise Python tries again when it ends, and reports that."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0, 2 for bad usage, bad input or too little memory, 128 + its number after a signal, 141 on a broken pipe.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            if (instruction := os.environ.get(COMPLETE)) is not None:
                return shell_complete(cli, {}, PROGRAM, COMPLETE, instruction)
            with cli.make_context(PROGRAM, list(given), obj=given) as context:
                cli.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        return _complain(_described(error))
    except (click.Abort, KeyboardInterrupt) as interrupt:
        say("confidently: interrupted", err=True)
        return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
    except OSError as error:
        if is_broken_pipe(error):
            return BROKEN_PIPE  # the reader of our output has gone: report nothing
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")
    except (MemoryError, RuntimeError, ImportError, SystemError) as error:
        reason = refused_memory(error)
        if reason is None:
            raise
        return _complain(f"not enough memory: {reason}")


def is_broken_pipe(error: OSError) -> bool:
    """Return whether the reader of our output has gone."""
    nameless = WINDOWS and error.errno == errno.EINVAL and error.filename is None  # how Windows reports it
    return isinstance(error, BrokenPipeError) or nameless


def refused_memory(error: Exception) -> str | None:
    """Return why the system refused memory for an array, a thread or a library; ``None`` if the error is another."""
    found = [refusal for refusal in REFUSED_MEMORY if refusal in str(error).lower()]
    return found[0] if found else (str(error) or "an allocation failed") if isinstance(error, MemoryError) else None


def _described(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message.rstrip('.')} (see {error.ctx.command_path} --help)"
    return message


def _warn(message: Warning | str, *where: object, **how: object) -> None:
    say(f"confidently: warning: {printable(str(message))}", err=True)


def _complain(message: str) -> int:
    with suppress(OSError):  # standard error may be the file that cannot be written
        say(f"confidently: error: {printable(message)}", err=True)
    return BAD_INPUT
