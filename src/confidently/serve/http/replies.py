"""What handlers return: replies that are sent at once, and flows that are sent as they are made."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Protocol

import msgspec
from starlette.types import Receive, Scope, Send

from ..problems import Problem
from .request_ids import request_id

NDJSON, JSON, PROBLEM = "application/x-ndjson", "application/json", "application/problem+json"
encoder = msgspec.json.Encoder()


class Sendable(Protocol):
    """An answer, as ASGI sends it; the responses of Starlette are such answers."""

    status_code: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Reply:
    """An answer whose body is complete.

    Parameters
    ----------
    body : bytes
    status_code : int
    media_type : str
    headers : dict, optional
        Others than type and length of the body.
    """

    __slots__ = ("body", "headers", "status_code")

    def __init__(
        self, body: bytes, status_code: int = 200, media_type: str = JSON, headers: dict[str, str] | None = None
    ) -> None:
        self.body, self.status_code = body, status_code
        self.headers = [(b"content-type", media_type.encode()), (b"content-length", b"%d" % len(body))]
        if headers:
            self.headers += [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class Flow:
    """An answer whose body is sent as it is made, while the body of the request may still arrive.

    Parameters
    ----------
    parts : asynchronous generator of bytes
    media_type : str
    headers : dict, optional
    """

    status_code = 200

    def __init__(
        self, parts: AsyncGenerator[bytes, None], media_type: str, headers: dict[str, str] | None = None
    ) -> None:
        given = {"content-type": media_type} | (headers or {})
        self.parts, self.headers = parts, [(name.encode(), value.encode()) for name, value in given.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.headers})
        try:
            async with aclosing(self.parts) as parts:
                async for part in parts:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        except Problem:
            return  # without an end, so that the parts are not taken for the whole: uvicorn cuts the connection
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def answered(value: Any, status: int = 200) -> Reply:
    """Return JSON."""
    return Reply(encoder.encode(value), status)


def refused(problem: Problem, headers: dict[str, str] | None = None, more: dict[str, Any] | None = None) -> Reply:
    """Return a problem, perhaps with more members, and with the id of the request that it is about."""
    given = dict(headers or {})
    told = problem.as_json() | (more or {})
    if request := request_id.get():
        told["request"] = request
    if problem.status == 503:
        given["retry-after"] = "1"
    if problem.status == 401:
        given["www-authenticate"] = "Bearer"
    return Reply(encoder.encode(told), problem.status, PROBLEM, given)
