"""``confidently serve``: an online learning server, and work on its directory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...extras import install
from ..options.arguments import POSITIVE_FLOAT, POSITIVE_INTEGER, is_given, json_option
from ..options.command import Command
from ..options.files import InputFolder, OneFile, OutputFile, OutputFolder
from ..options.sections import adding
from ..output.text import say

if TYPE_CHECKING:
    from ...serve.server import Server

OFFLINE = ("check", "backup", "restore", "verify_backup", "export", "new_token")
_OPTIONS = [
    click.option("--host", default="127.0.0.1", help="Listen on this address; all but this machine's need tokens."),
    click.option("--port", type=click.IntRange(0, 65535), default=8642, help="Listen on this port; 0: a free one."),
    click.option(
        "--token-file", metavar="FILE", type=OneFile(),
        help="Require the tokens in this file; SIGHUP reads it again.  [default: none]",
    ),
    click.option(
        "--public-url", metavar="URL",
        help="Browsers find the server here, behind a proxy, perhaps below a path; with https://, cookies are sent "
        "over TLS only.  "
        "[default: none]",
    ),
    click.option(
        "--access-log", metavar="FILE", type=OutputFile(),
        help="Write a line of JSON for each request at the end of this file, - for standard output; SIGHUP opens it "
        "again.  [default: none]",
    ),
    click.option(
        "--webhook", metavar="URL", multiple=True,
        help="Send alarms about models to this address; can be repeated.  [default: none]",
    ),
    click.option(
        "--webhook-secret-file", metavar="FILE", type=OneFile(),
        help="Sign what is sent to webhooks with the secret in this file (HMAC-SHA256).  [default: none]",
    ),
    click.option(
        "--model", metavar="FILE", type=OneFile(),
        help="Begin with this model file, under its name without the suffix, unless there is one already.",
    ),
    click.option(
        "--follow", metavar="FILE", type=OneFile(),
        help="Learn from a JSON-lines file that grows, - for standard input, or kafka://HOST:PORT/TOPIC. Needs --into.",
    ),
    click.option("--into", metavar="NAME", help="Teach this model with --follow; it is made if it is missing."),
    click.option(
        "--replica-of", metavar="SERVER",
        help="Only answer questions, with the models of the server at this address or of this directory.",
    ),
    click.option(
        "--replica-token-file", metavar="FILE", type=OneFile(),
        help="This file has a token of that server, with the scope admin.",
    ),
    click.option(
        "--snapshot-every", metavar="EVENTS", type=POSITIVE_INTEGER, default=50_000,
        help="Write a snapshot of a model after this many events, at the latest a minute after the last one.",
    ),
    click.option(
        "--demo", metavar="NAME", type=click.Choice(["messages", "heads", "decisions"]), is_flag=False,
        flag_value="messages",
        help="Send made-up messages to label on the page, heads (tickets that an encoder reads) or decisions.",
    ),
    click.option("--check", is_flag=True, help="Verify the log and the snapshots, and end."),
    click.option(
        "--backup", metavar="FOLDER", type=OutputFolder(), help="Write a copy of the directory to this folder, and end."
    ),
    click.option(
        "--backup-to", metavar="FOLDER", type=OutputFolder(),
        help="Write backups to this folder while serving.  [default: none]",
    ),
    click.option(
        "--backup-every", metavar="HOURS", type=POSITIVE_FLOAT, default=24.0,
        help="So many hours after the last one. Needs --backup-to.",
    ),
    click.option(
        "--backup-keep", metavar="N", type=POSITIVE_INTEGER, default=7,
        help="Keep so many backups, the newest ones. Needs --backup-to.",
    ),
    click.option("--restore", metavar="FOLDER", type=InputFolder(), help="Copy a backup into DIR, and end."),
    click.option(
        "--verify-backup", metavar="FOLDER", type=InputFolder(),
        help="Restore a backup into a temporary folder, make every model of its snapshots and of its rows, compare, "
        "and end. Takes no DIR.",
    ),
    click.option(
        "--export", metavar="NAME",
        help="Write the rows that a model has learned as JSON lines, weights other than 1 as sample_weight, and end.",
    ),
    click.option(
        "--new-token", metavar="NAME SCOPES", nargs=2,
        help="Make a token with scopes of predict, learn, label, admin, separated by commas, and end.",
    ),
    click.option(
        "--models", metavar="NAMES", default="*",
        help="With --new-token: the models that it is for, separated by commas; team-* are all that begin with team-.",
    ),
]  # fmt: skip
FIRST = "host port token_file public_url model follow into demo check backup restore as_json"
EXAMPLES = (
    "confidently serve trial --demo",
    "confidently serve trial --demo heads",
    "confidently serve shop --demo decisions",
    "confidently serve filter --model spam.cw",
    "confidently serve filter --check",
)


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@click.argument("folder", metavar="DIR", required=False)
@adding(_OPTIONS)
@json_option
@click.pass_context
def serve(ctx: click.Context, /, folder: str | None, as_json: bool, **options: Any) -> None:
    """Serve models that learn online, over HTTP, with a page to label rows.

    DIR holds the log of all rows and the snapshots of the models; it is made if it is missing. An acknowledged row is
    never lost and never learned twice, whatever kills the server. The models are, byte for byte, those of confidently
    train. SIGTERM and Ctrl-C end the server in order.
    """
    chosen = [name for name in OFFLINE if options[name]]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} are mutually exclusive; use one".replace("_", "-"))
    if options["models"] != "*" and chosen != ["new_token"]:
        raise click.UsageError("--models says what a token is for; add --new-token NAME SCOPES")
    if chosen == ["new_token"]:
        name, scopes = options["new_token"]
        _new_token(name, scopes, options["models"], as_json)
        return
    if chosen == ["verify_backup"] and folder is not None:
        raise click.UsageError("--verify-backup takes no DIR; it reads the backup alone")
    if folder is None and chosen != ["verify_backup"]:
        raise click.UsageError("Missing argument 'DIR'; name the directory of the log and the models")
    if options["replica_of"] is None and options["replica_token_file"] is not None:
        raise click.UsageError("--replica-token-file needs --replica-of SERVER")
    for name in ("model", "follow", "demo", "backup_to"):
        if options["replica_of"] is not None and options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is for the server that --replica-of names")
    for name in ("backup_every", "backup_keep"):
        if options["backup_to"] is None and is_given(ctx, name):
            raise click.UsageError(f"--{name.replace('_', '-')} needs --backup-to FOLDER")
    if bool(options["follow"]) != bool(options["into"]):
        raise click.UsageError("--follow FILE and --into MODEL belong together")
    if options["webhook_secret_file"] and not options["webhook"]:
        raise click.UsageError("--webhook-secret-file FILE signs what is sent to --webhook URL; name one")
    try:
        from ...serve.log.log_file import LogError
        from ...serve.problems import Problem
    except ImportError as error:
        raise click.ClickException(f"the server needs {error.name}; run {install('serve')}") from None
    try:
        if folder is None:
            from ...serve import offline

            _report(ctx, offline.verify_backup(options["verify_backup"]), as_json)
        elif chosen:
            _work_offline(ctx, folder, chosen[0], options[chosen[0]], as_json)
        else:
            _serve(ctx, folder, options, as_json)
    except (LogError, Problem) as error:
        raise click.ClickException(str(error)) from None


def _new_token(name: str, scopes: str, models: str, as_json: bool) -> None:
    from ...serve.http.tokens import new_token

    try:
        token, line = new_token(name, scopes, models)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        say(json.dumps({"token": token, "line": line}))
        return
    say(f"token: {token}\nline of the token file: {line}\nThe token is shown only now; the file keeps its hash.")


def _report(ctx: click.Context, parts: Iterable[tuple[bool, str]], as_json: bool) -> None:
    """Say which parts are sound, and end with status 2 unless all are."""
    found = list(parts)
    sound = all(ok for ok, _ in found)
    if as_json:
        say(json.dumps({"sound": sound, "parts": [{"sound": ok, "about": text} for ok, text in found]}))
    else:
        say("\n".join(f"{'ok     ' if ok else 'DAMAGED'} {text}" for ok, text in found))
    ctx.exit(0 if sound else 2)


def _work_offline(ctx: click.Context, folder: str, task: str, argument: Any, as_json: bool) -> None:
    from ...serve import offline

    if task == "check":
        _report(ctx, offline.check(folder), as_json)
    elif task == "export":
        for line in offline.export(folder, argument, partial(say, err=True)):
            say(line)
    elif task == "backup":
        offline.backup(folder, argument)
        say(json.dumps({"backup": str(argument)}) if as_json else f"{folder} copied to {argument}")
    else:
        offline.restore(argument, folder)
        say(json.dumps({"restored": folder}) if as_json else f"{argument} copied to {folder}")


def _serve(ctx: click.Context, folder: str, options: dict[str, Any], as_json: bool) -> None:
    from ...serve.server import Server, UsageError
    from ...serve.waiting import Limits

    def tell(line: str) -> None:
        say(f"confidently: {line}", err=True)

    def begun(server: Server) -> None:
        if as_json:
            say(json.dumps({"address": server.address, "directory": folder}))
        else:
            say(f"confidently serves {folder} at {server.address}")
        sys.stdout.flush()

    token = None
    if options["replica_token_file"] is not None:
        token = Path(options["replica_token_file"]).read_text("utf-8").strip()
    try:
        server = Server(
            folder, options["host"], options["port"], token_file=options["token_file"],
            public_url=options["public_url"], access_log=options["access_log"],
            limits=Limits(snapshot_events=options["snapshot_every"]), say=tell,
            replica_of=options["replica_of"], replica_token=token,
            webhooks=options["webhook"], webhook_secret_file=options["webhook_secret_file"],
        )  # fmt: skip
    except ValueError as error:  # a UsageError is one
        raise click.ClickException(str(error)) from None
    server.model, server.demo = options["model"], options["demo"]
    if options["backup_to"] is not None:
        server.backups = options["backup_to"], 3600.0 * options["backup_every"], options["backup_keep"]
    server.follow = (options["follow"], options["into"]) if options["follow"] else None
    try:
        status = server.run(begun)
    except UsageError as error:
        raise click.ClickException(str(error)) from None
    ctx.exit(status)
