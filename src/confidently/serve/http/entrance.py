"""The entrance of all requests: it takes off the path of a proxy, gives each an id, and tells the access log."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from contextlib import suppress

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .connections import STATE_TOKEN
from .replies import Reply, encoder
from .request_ids import HEADER, new_id, request_id

SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
NAME = HEADER.encode()
FAULTS = logging.getLogger("uvicorn.error")  # where uvicorn tells of those that it sees


class Access(Struct):
    """A line of the access log: one request and its answer.

    ``token`` is the name of the token, if it was shown and needed; ``sent`` counts the bytes of the answer's body.
    ``complete`` is false if the answer was cut off, since the client went or its token ended. ``status`` is then null
    if nothing was answered.
    """

    time: float
    request: str
    client: str | None
    forwarded_for: str | None
    method: str
    path: str
    query: str
    token: str | None
    status: int | None
    sent: int
    seconds: float
    complete: bool


class AccessLog:
    """A file of JSON lines; several processes may append to it.

    Parameters
    ----------
    path : path
        ``"-"``: standard output.

    Raises
    ------
    OSError
        If it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self._file = self._opened()

    def _opened(self) -> int:
        if self.path == "-":
            return os.dup(sys.stdout.fileno())
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)

    def reopen(self) -> None:
        """Open the file again, after another program has moved it away."""
        before, self._file = self._file, self._opened()
        os.close(before)

    def write(self, entry: Access) -> None:
        """Append a line. A full disk, or a reader that has gone, does not keep requests from being answered."""
        with suppress(OSError):
            os.write(self._file, encoder.encode(entry) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Entrance:
    """An application before another one.

    The header ``X-Request-Id`` of a request is kept if it is sane, so that a request has one id in the logs of all
    servers that it passes. Every answer has it. A fault of the server that was answered is logged, and the connection
    stays.

    Parameters
    ----------
    app : ASGI application
    base : str
        The path under which a proxy offers the server, such as ``"/learn"``; requests may have it or not.
    log : AccessLog, optional
    """

    def __init__(self, app: ASGIApp, base: str = "", log: AccessLog | None = None) -> None:
        self.app, self.base, self.log = app, base, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _header(scope, NAME)
        id = given if given is not None and SANE_ID.fullmatch(given) else new_id().encode()
        request_id.set(id.decode())

        is_complete = False

        async def tagged(message: Message) -> None:
            nonlocal is_complete
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (NAME, id)]
            await send(message)
            is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            if self.log is None:
                await self._pass_on(scope, receive, tagged)
            else:
                await self._logged(self.log, scope, receive, tagged)
        except Exception as error:
            if not is_complete:
                raise  # uvicorn cuts the connection, so that the answer is not taken for a whole one
            FAULTS.error("request %s met a fault", id.decode(), exc_info=error)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        base, path = self.base, scope["path"]
        if base and path.startswith(base) and path[len(base) :][:1] in ("", "/"):
            if path == base:  # addresses of the page are relative to one that ends in a slash
                await Reply(b"", 308, "text/plain", {"location": f"{base}/"})(scope, receive, send)
                return
            scope["path"] = path[len(base) :]
        await self.app(scope, receive, send)

    async def _logged(self, log: AccessLog, scope: Scope, receive: Receive, send: Send) -> None:
        forwarded = _header(scope, b"x-forwarded-for")
        entry = Access(
            time.time(), request_id.get(), scope["client"][0] if scope.get("client") else None,
            None if forwarded is None else forwarded[:256].decode("latin-1"), scope["method"], scope["path"],
            scope["query_string"].decode("latin-1"), None, None, 0, 0.0, complete=False,
        )  # fmt: skip
        began, state = time.perf_counter(), scope.setdefault("state", {})

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
            else:
                entry.sent += len(message.get("body", b""))
                entry.complete = not message.get("more_body", False)
            await send(message)

        try:
            await self._pass_on(scope, receive, counted)
        finally:
            entry.seconds = round(time.perf_counter() - began, 6)
            entry.token = state.get(STATE_TOKEN)
            log.write(entry)


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    """Return the first header of a name; a loop takes half as long as a generator."""
    value: bytes
    for name, value in scope["headers"]:
        if name == wanted:
            return value
    return None
