"""Limits of connections: the size of headers, the time they take, unread answers, and how many there are at once.

uvicorn's protocol on httptools has none of these limits: it stores headers of any length, its only timer runs between
an answer and the next byte, and it takes in any number of requests that a client sends without waiting for answers. It
also accepts requests without a Host, or with several.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..problems import Problem, tried
from .replies import Reply, refused
from .request_ids import HEADER, new_id, request_id

MAX_HEAD = 64 << 10  # bytes, of the address and the headers of a request, trailers of its body included
MAX_HEADERS = 100
HEAD_SECONDS = 30.0  # for the head of a request, from its first byte; of the first one, from the connection
KEEP_SECONDS = 75  # for which a connection is kept between two requests
UNREAD_SECONDS = 60.0  # for which an answer may stay unread, unless the connection has shown a token
MAX_CONNECTIONS = 2048
PARSED = 2048  # bytes that are parsed at once before a token is known, so that few requests in them wait for others
PARSED_BODY = 64 << 10  # bytes of a body, in which there are no other requests
SPARE_FILES = 64  # file descriptors for the log, the models and what is written
ADMITTED = "admitted"  # in a scope's state: raises a Problem once the request may not do what it asks for
COMPLETE = "complete"  # in a scope's state: true once the whole body has come
HOST = re.compile(rb"[\w.~!$&'()*+,;=%:\[\]-]*", re.ASCII)  # the value of the header (RFC 3986, 3.2.2)
STATE_TOKEN = "token"  # in a scope's state: the name of the token


class Flow(FlowControl):
    """What uvicorn reads of a connection: nothing more while requests that have come wait for others.

    Parameters
    ----------
    transport
        As asyncio has it.
    is_full : callable
        Whether they do.
    """

    def __init__(self, transport: asyncio.Transport, is_full: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_full = is_full

    def resume_reading(self) -> None:
        if self.read_paused and not self._is_full():
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """One connection, as uvicorn makes it.

    If there are more than ``limit_concurrency`` of them, the one that has waited longest for a request is closed; if
    all are busy, the newest is refused.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.most, self.limit_concurrency = self.limit_concurrency or MAX_CONNECTIONS, None
        self._size = self._fields = 0  # of the head: bytes and headers
        self._untold = 0  # bytes received since the parser last told of any
        self._body_left = 0  # bytes that are still to come of a body whose length is stated
        self._begun = False  # a head, of which the end is missing
        self._idle_since = self.loop.time()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_lost = False  # an answer may still be made for it
        self._held = b""  # received, but not parsed as long as requests wait for others

    # --- what asyncio tells ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport, lambda: bool(self.pipeline or self._held))
        if len(self.connections) > self.most:
            self._make_room()
        self._begin("head", HEAD_SECONDS, self._close)

    def data_received(self, data: bytes) -> None:
        size = PARSED if len(data) > PARSED and not self._is_admitted else len(data)
        begin = 0
        while begin < len(data):
            if self.pipeline or self._held:
                self._held += data[begin:]
                break
            end = begin + max(size, min(self._body_left, PARSED_BODY))
            self._parse(data[begin:end])
            begin = end

    def _parse_held(self) -> None:
        held, self._held = self._held, b""
        if not self.transport.is_closing():
            self.data_received(held)
            self.flow.resume_reading()

    def _parse(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._untold += len(data)
        super().data_received(data)
        if self._untold > MAX_HEAD:
            self._refuse(_too_long())
        elif self._begun or self._is_idle:
            self._begin("head", HEAD_SECONDS, self._close)
        else:
            self._end("head")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._begin("unread", UNREAD_SECONDS, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end("unread")

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        for name in list(self._timers):
            self._end(name)
        super().connection_lost(exc)

    # --- what the parser tells ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._begun, self._untold = True, 0
        self._size = self._fields = self._body_left = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._count(len(name) + len(value))
        if len(name) == 14 and name.lower() == b"content-length" and value.isdigit():
            self._body_left = int(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._begun, self._untold = False, 0
        if len(self.connections) > self.most:
            problem = Problem("overloaded", f"the server has {self.most} connections, the most allowed")
            self.app = _closing(problem)
        elif not self._has_one_host():
            self.app = _closing(Problem("invalid-http", "HTTP/1.1 needs one header Host, of a host and perhaps a port"))
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._untold = 0
        self._body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.scope["state"][COMPLETE] = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Reject what the parser does not accept, or what :meth:`_count` has stopped."""
        too_long = self._size > MAX_HEAD or self._fields > MAX_HEADERS
        self._refuse(_too_long() if too_long else Problem("invalid-http", "the request is not HTTP/1.1"))

    def _has_one_host(self) -> bool:
        """Return whether a head has the one Host that it needs (RFC 9112, 3.2); before HTTP/1.1 it may have none."""
        found = [value.strip() for name, value in self.headers if name == b"host"]
        if not found:
            return self.parser.get_http_version() in ("0.9", "1.0")
        return len(found) == 1 and HOST.fullmatch(found[0]) is not None

    def _count(self, size: int) -> None:
        """Count a part of a head; an exception stops the parser."""
        self._untold = 0
        self._size += size
        if self._size > MAX_HEAD or self._fields > MAX_HEADERS:
            raise OverflowError

    # --- answers -----------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._idle_since = self.loop.time()
        if self.cycle.response_complete:
            self.cycle.body = bytearray()  # of which the rest was not read
        if self._held and not self.pipeline:
            self.loop.call_soon(self._parse_held)
        elif self.flow.read_paused:
            self.flow.resume_reading()
        if self.transport.is_closing():
            self._close()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> None:
        """Close the connection that has been idle for longest, other than this one."""
        idle = [one for one in self.connections if one is not self and isinstance(one, Connection) and one._is_idle]
        if idle:
            oldest = min(idle, key=lambda one: one._idle_since)
            self.connections.discard(oldest)
            oldest._close()

    def _refuse(self, problem: Problem) -> None:
        """Answer with a problem unless another answer is under way, and close the connection."""
        if self._is_idle and not self.transport.is_closing():
            reply = _closing(problem)
            lines = [name + b": " + value + b"\r\n" for name, value in reply.headers]
            self.transport.write(b"".join([STATUS_LINE[reply.status_code], *lines, b"\r\n", reply.body]))
        self._close()

    def _close(self) -> None:
        """Close the connection once all is sent, or if that takes too long."""
        self.transport.close()
        self._begin("unread", UNREAD_SECONDS, self._abort)

    def _abort(self) -> None:
        """Stop sending to a client that reads nothing, unless its request is admitted; then check again later."""
        if self._is_admitted:
            self._begin("unread", UNREAD_SECONDS, self._abort)
        else:
            self.transport.abort()

    @property
    def _is_admitted(self) -> bool:
        check = None if self.scope is None else self.scope["state"].get(ADMITTED)
        return check is not None and not isinstance(tried(check), Problem)

    # --- timers ------------------------------------------------------------------------------------------------------

    def _begin(self, name: str, seconds: float, action: Callable[[], None]) -> None:
        """Schedule a call, unless it is scheduled already or the connection has ended."""

        def act() -> None:
            self._timers.pop(name, None)
            action()

        if name not in self._timers and not self._is_lost:
            self._timers[name] = self.loop.call_later(seconds, act)

    def _end(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def admit(scope: Scope, check: Callable[[], None], token: str | None) -> None:
    """Note that a request may do what it asks for as long as a check raises no ``Problem``: it may take its time."""
    scope.setdefault("state", {}).update({ADMITTED: check, STATE_TOKEN: token})


def most_connections() -> int:
    """Return how many connections the process may have: each needs a file descriptor, and one for what it sends.

    The limit of file descriptors is raised as far as that needs and the system allows.
    """
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    wanted = 2 * MAX_CONNECTIONS + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft) - SPARE_FILES) // 2


def _closing(problem: Problem) -> Reply:
    """Return the answer of a connection, which no application has seen."""
    request_id.set(new_id())
    return refused(problem, {"connection": "close", HEADER: request_id.get()})


def _too_long() -> Problem:
    return Problem(
        "head-too-large", f"address and headers: at most {MAX_HEAD} bytes and {MAX_HEADERS} headers are allowed"
    )
