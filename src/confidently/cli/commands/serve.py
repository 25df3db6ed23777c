"""``confidently serve``: an online learning server."""

from __future__ import annotations

from typing import Any

import click

from ..options.arguments import add_options
from ..options.command import Command
from ..output.text import say

_OPTIONS = [
    click.option("--host", default="127.0.0.1", help="Listen on this address."),
    click.option("--port", type=click.IntRange(0, 65535), default=8642, help="Listen on this port; 0: a free one."),
    click.option("--token-file", metavar="FILE", help="Require tokens; each line has a name, scopes and a hash."),
]
EXAMPLES = ("confidently serve messages", "confidently serve messages --port 9000")


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folder", metavar="DIR")
@lambda command: add_options(command, _OPTIONS)
@click.pass_context
def serve(ctx: click.Context, /, folder: str, **options: Any) -> None:
    """Serve models that learn online.

    DIR is made if it is missing. It holds the log of all rows and the snapshots of the models. An acknowledged row is
    never lost.
    """
    from ...serve.log import LogError
    from ...serve.server import Server, UsageError

    try:
        server = Server(folder, options["host"], options["port"], token_file=options["token_file"], say=_say)
    except (UsageError, LogError) as error:
        raise click.ClickException(str(error)) from None
    ctx.exit(server.run(lambda address: say(f"confidently serves {folder} at {address}")))


def _say(line: str) -> None:
    say(f"confidently: {line}", err=True)
