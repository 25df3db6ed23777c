"""The command line: one module a command, imported only when it is asked for."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

import click

from .. import __version__
from ..data.sources.whole_files import WINDOWS
from .lazy import LazyGroup

# What each command does, in the words its own help begins with: here, so that listing them imports none.
COMMANDS = {
    "train": "Learn a model from data of any size, in little memory.",
    "predict": "Predict the class of every row.",
    "evaluate": "Compare a model's predictions with the labels of data.",
    "compare": "Compare many rules on one reading of the data.",
    "topics": "Learn topics of documents that tell their classes apart.",
    "convert": "Write the same rows in another format.",
    "inspect": "Show what a model has learned, or why it says what it says of a row.",
    "merge": "Merge models that were trained apart into one.",
    "cache": "Build the binary cache of data, to be read in their place without parsing.",
    "rules": "Show the rules there are, or one of them in detail.",
    "reproduce": "Run a paper's experiments and report which of its claims are reproduced.",
    "demo": "Learn 1,200 handwritten digits in one pass and say how sure of 597 others.",
}
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


@click.group(
    cls=LazyGroup,
    package=f"{__name__}.commands",
    about=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Online classifiers that know how sure they are.

    \b
    confidently train spam.svm --rule cw_stdev --eta 0.9 -o spam.cw
    confidently predict spam.cw new.svm --proba
    confidently evaluate spam.cw test.svm
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what is wrong becomes one line on standard error and an exit code."""
    if WINDOWS:
        write_utf8(sys.stdout)
        write_utf8(sys.stderr)
    sys.exit(run(arguments))


def write_utf8(stream: TextIO) -> None:
    """Have a pipe or a file written in UTF-8 with plain line ends, whatever the system's own custom is."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", newline="\n")


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command line: 0, 2 for bad usage or input, 130 when interrupted, 141 on a broken pipe."""
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            with cli.make_context("confidently", list(given), obj=given) as context:
                cli.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        return _complain(_described(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("confidently: interrupted", err=True)
        return INTERRUPTED
    except OSError as error:
        if is_broken_pipe(error):
            # whoever read our output has gone: nothing to say, and nothing to be flushed at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")
    except MemoryError as error:
        return _complain(f"not enough memory: {error}")


def is_broken_pipe(error: OSError) -> bool:
    """Whether an error says that nobody reads what is written any more."""
    nameless = WINDOWS and error.errno == errno.EINVAL and error.filename is None  # what Windows calls it
    return isinstance(error, BrokenPipeError) or nameless


def _described(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message.rstrip('.')} (see {error.ctx.command_path} --help)"
    return message


def _warn(message: Warning | str, *where: object, **how: object) -> None:
    click.echo(f"confidently: warning: {message}", err=True)


def _complain(message: str) -> int:
    click.echo(f"confidently: error: {message}", err=True)
    return BAD_INPUT
