"""What every handler needs: reading bodies within limits, and answering."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .engine import Engine
from .hosted import Hosted
from .problems import Problem
from .requests import Request

MAX_BODY = 16 << 20  # bytes, of JSON
MAX_LINE = 4 << 20  # bytes, of a row in NDJSON
BODY_SECONDS = 30.0  # between two pieces of a body
NDJSON, JSON, PROBLEM = "application/x-ndjson", "application/json", "application/problem+json"
PATH = re.compile(r"(.*) - at `\$(.*)`", re.DOTALL)
STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]|\[\.\.\.\]")

Body = TypeVar("Body")
encoder = msgspec.json.Encoder()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoded(text: bytes, kind: type[Body]) -> Body:
    """Return the message in a body.

    Raises
    ------
    Problem
        If it is not JSON, or not of the expected form; the pointer says where.
    """
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        found: Body = decoder.decode(text)
    except msgspec.ValidationError as error:
        told = PATH.fullmatch(str(error))
        detail, path = (told[1], told[2]) if told else (str(error), "")
        raise Problem("invalid-body", detail, pointer_of(path)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        detail = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Problem("invalid-json", detail) from None
    return found


def pointer_of(path: str) -> str:
    """Return a JSON pointer for a path such as ``.instances[3].id``.

    >>> pointer_of(".instances[3].id")
    '/instances/3/id'
    """
    return "".join(f"/{name or number}" for name, number in STEP.findall(path) if name or number)


class Call:
    """A request to the server.

    Parameters
    ----------
    request : starlette.requests.Request
    engine : Engine
    """

    def __init__(self, request: HTTPRequest, engine: Engine) -> None:
        self.request, self.engine = request, engine

    @property
    def hosted(self) -> Hosted:
        """The model that the address names."""
        return self.engine.find(self.request.path_params["m"])

    @property
    def is_ndjson(self) -> bool:
        return self.request.headers.get("content-type", "").partition(";")[0].strip().lower() == NDJSON

    @property
    def key(self) -> str | None:
        """The header ``Idempotency-Key``, which stands for the id of a body without one."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and not 1 <= len(key) <= 256:
            raise Problem("invalid-parameter", "Idempotency-Key: expected 1 to 256 characters")
        return key

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return an integer of the query."""
        text = self.request.query_params.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,18}", text) or not low <= int(text) <= high:
            raise Problem("invalid-parameter", f"{name}: expected an integer from {low} to {high}, got {text[:40]!r}")
        return int(text)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a word of the query; the first allowed one is the default."""
        text = self.request.query_params.get(name, allowed[0])
        if text not in allowed:
            raise Problem("invalid-parameter", f"{name}: expected one of {', '.join(allowed)}, got {text[:40]!r}")
        return text

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives.

        Raises
        ------
        Problem
            If nothing more comes for a while, or the connection ends before the body does.
        """
        stream = self.request.stream()
        while True:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    piece = await anext(stream, None)
            except TimeoutError:
                raise Problem("slow-body", f"nothing more of the body came for {BODY_SECONDS:.0f} s") from None
            except ClientDisconnect:
                raise Problem("invalid-json", "the connection ended before the body did") from None
            if piece is None:
                return
            yield piece

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """Return the whole body.

        Raises
        ------
        Problem
            If it is too large, or does not arrive.
        """
        declared = self.request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit:
            raise Problem("too-large", f"the body has {declared} bytes, at most {limit} are allowed; send fewer rows")
        parts, size = list[bytes](), 0
        async for piece in self.pieces():
            parts.append(piece)
            size += len(piece)
            if size > limit:
                raise Problem("too-large", f"the body has more than {limit} bytes, the most allowed; send fewer rows")
        return b"".join(parts)

    async def message(self, kind: type[Body]) -> Body:
        """Return the message in the body."""
        return decoded(await self.body(), kind)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an NDJSON body as they arrive, without empty ones."""
        rest = b""
        async for piece in self.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
            if len(rest) > MAX_LINE:
                raise Problem("too-large", f"a line has more than {MAX_LINE} bytes, the most allowed")
        if rest.strip():
            yield rest

    async def log(self, request: Request) -> Any:
        """Return the answer of the log thread."""
        future = request.future()
        self.engine.submit(request)
        return await future

    async def ask(self, request: Request) -> Any:
        """Return the answer of the learner thread."""
        future = request.future()
        self.engine.ask(request)
        return await future


class Flow(Response):
    """A response whose body is sent as it is made, while the body of the request may still arrive."""

    def __init__(
        self, parts: AsyncGenerator[bytes, None], media_type: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(None, 200, headers, media_type)
        del self.headers["content-length"]
        self.parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self.parts) as parts:
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def answered(value: Any, status: int = 200) -> Response:
    """Return JSON."""
    return Response(encoder.encode(value), status, media_type=JSON)


def refused(problem: Problem) -> Response:
    """Return a problem."""
    headers = {"Retry-After": "1"} if problem.status == 503 else {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(encoder.encode(problem.as_json()), problem.status, headers, PROBLEM)
