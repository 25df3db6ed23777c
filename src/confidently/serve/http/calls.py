"""What every handler needs: the request, its body within limits, and the threads of the engine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request as HTTPRequest
from starlette.types import Message, Receive, Scope

from ..engine.engine import Engine
from ..engine.requests import Request
from ..model.hosted import Hosted
from ..problems import Problem, tried
from .connections import COMPLETE
from .replies import NDJSON
from .tokens import ANYONE, Token

MAX_BODY = 16 << 20  # bytes, of JSON
MAX_LINE = 4 << 20  # bytes, of a row in NDJSON
BODY_SECONDS = 30.0  # between two pieces of a body
PAUSE = 0.05  # seconds, while the server has too much to do
PATH = re.compile(r"(.*) - at `\$(.*)`", re.DOTALL)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NUMBER = re.compile(r"[0-9]{0,30}\.?[0-9]{1,30}([eE][-+]?[0-9]{1,3})?")
STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]|\[\.\.\.\]")

Body = TypeVar("Body")
T = TypeVar("T")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoded(text: bytes, kind: type[Body]) -> Body:
    """Return the message in a body.

    Raises
    ------
    Problem
        If it is not JSON, or not of the expected form; the pointer says where.
    """
    decoder = _decoder(kind)
    try:
        found: Body = decoder.decode(text)
    except msgspec.ValidationError as error:
        told = PATH.fullmatch(str(error))
        detail, path = (told[1], told[2]) if told else (str(error), "")
        raise Problem("invalid-body", detail + _expected(kind, detail, path), pointer_of(path)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        detail = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        lines = f"; send lines of JSON with Content-Type: {NDJSON}" if "trailing characters" in detail else ""
        raise Problem("invalid-json", detail + lines) from None
    return found


def _expected(kind: type[Body], detail: str, path: str) -> str:
    """Return which fields a message has, if a body has another one; features are easily sent without their key."""
    names: tuple[str, ...] = getattr(kind, "__struct_encode_fields__", ())
    if path or not names or not detail.startswith("Object contains unknown field"):
        return ""
    row = '; the columns of a row go under "features"' if "features" in names else ""
    return f"; expected {', '.join(names)}{row}"


def decoded_lines(lines: list[bytes], kind: type[Body]) -> list[Body | Problem]:
    """Return the message of each line, an object, or what is wrong with it."""
    found: list[Body | Problem] = []
    try:
        if all(line.startswith(b"{") and line.endswith(b"}") for line in lines):  # so that none ends in another line
            found = list(_decoder(kind).decode_lines(b"\n".join(lines)))
    except (ValueError, RecursionError):  # all errors of decoding are of one of these
        pass
    return found if len(found) == len(lines) else [tried(decoded, line, kind) for line in lines]


def _decoder(kind: type[Body]) -> msgspec.json.Decoder[Body]:
    found = _decoders.get(kind)
    if found is None:
        found = _decoders[kind] = msgspec.json.Decoder(kind)
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
    scope, receive
        As ASGI has them.
    engine : Engine
    names : dict
        The variable parts of the address.
    guard : callable, optional
        Called with the headers, the name of the model and perhaps a scope; returns the token, and raises a ``Problem``
        unless it allows what the call does, or what needs that scope.
    note : callable, optional
        Called with the call and the number of rows that were acknowledged.

    Attributes
    ----------
    token : Token
    changes : bool
        Whether it has changed something, although calls of its route mostly do not.
    is_patient : bool
        Whether it waits while the server has too much to do.
    headers : dict
        By their names in small letters; of several of one name, the first.
    """

    def __init__(
        self, scope: Scope, receive: Receive, engine: Engine, names: dict[str, str],
        guard: Callable[[dict[str, str], str | None, str | None], Token] = lambda headers, model, scope: ANYONE,
        note: Callable[[Call, int], None] = lambda call, rows: None,
    ) -> None:  # fmt: skip
        self.scope, self.engine, self.names, self._receive, self._guard = scope, engine, names, receive, guard
        self._is_later = False  # the next part of the body
        self.changes = self.is_patient = False
        self._note = note
        self.token = ANYONE
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])
        }

    @cached_property
    def query(self) -> QueryParams:
        """The parameters of the URL."""
        return QueryParams(self.scope["query_string"])

    @property
    def hosted(self) -> Hosted:
        """The model that the address names."""
        return self.engine.find(self.names["m"], self.token.sees)

    async def checked(self, check: Callable[..., T], hosted: Hosted, *arguments: Any) -> T:
        """Return what checking rows of a model gives; an encoder, which takes time, works in a thread of its own."""
        if hosted.vectors is None:
            return check(hosted, *arguments)
        return await asyncio.get_running_loop().run_in_executor(hosted.vectors.thread, check, hosted, *arguments)

    @property
    def all_hosted(self) -> list[Hosted]:
        """The models that the token is for."""
        return [hosted for hosted in list(self.engine.hosted.values()) if self.token.sees(hosted.name)]

    def check_allowed(self, scope: str | None = None) -> None:
        """Raise a ``Problem`` unless the call is allowed: its token or its session may end while it lasts.

        A scope is that of what only some calls of the route do.
        """
        self.token = self._guard(self.headers, self.names.get("m"), scope)

    def taught(self, rows: int) -> None:
        """Tell the audit log that rows were acknowledged."""
        self._note(self, rows)

    async def is_disconnected(self) -> bool:
        """Return whether the client has gone; called after the body was read."""
        return await HTTPRequest(self.scope, self._receive).is_disconnected()

    @property
    def is_ndjson(self) -> bool:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower() == NDJSON

    @property
    def key(self) -> str | None:
        """The header ``Idempotency-Key``, which stands for the id of a body without one."""
        key = self.headers.get("idempotency-key")
        if key is not None and not 1 <= len(key) <= 256:
            raise Problem("invalid-parameter", "Idempotency-Key: expected 1 to 256 characters")
        return key

    def _given(self, name: str) -> str | None:
        """Return a parameter of the query, which most requests do not have."""
        return self.query.get(name) if self.scope["query_string"] else None

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return an integer of the query."""
        text = self._given(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,18}", text) or not low <= int(text) <= high:
            raise Problem("invalid-parameter", f"{name}: expected an integer from {low} to {high}, got {text[:40]!r}")
        return int(text)

    def fraction(self, name: str) -> float | None:
        """Return a number between 0 and 1 of the query, if it is there."""
        text = self._given(name)
        if text is None:
            return None
        if NUMBER.fullmatch(text) is None or not 0.0 < float(text) < 1.0:
            raise Problem("invalid-parameter", f"{name}: expected a number between 0 and 1, got {text[:40]!r}")
        return float(text)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a word of the query; the first allowed one is the default."""
        text = self._given(name)
        if text is None:
            return allowed[0]
        if text not in allowed:
            raise Problem("invalid-parameter", f"{name}: expected one of {', '.join(allowed)}, got {text[:40]!r}")
        return text

    def text(self, name: str, most: int) -> str | None:
        """Return a text of the query, if it is there."""
        text = self._given(name)
        if text is not None and (not 0 < len(text) <= most or CONTROL.search(text)):
            told = f"expected 1 to {most} characters, none of control"
            raise Problem("invalid-parameter", f"{name}: {told}, got {text[:40]!r}")
        return text

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives.

        Raises
        ------
        Problem
            If nothing more comes for a while, or the connection ends before the body does.
        """
        more = True
        while more:
            piece, more = await self._piece()
            if piece:
                yield piece

    async def _piece(self) -> tuple[bytes, bool]:
        """Return the next part of the body, and whether there is more."""
        message = await self._message()
        if message["type"] == "http.disconnect":
            raise Problem("invalid-json", "the connection ended before the body did")
        if self._is_later:
            self.check_allowed()
        self._is_later = True
        return message.get("body", b""), message.get("more_body", False)

    async def _message(self) -> Message:
        """Return the next part of the body, which has to come in time."""
        if self.scope.get("state", {}).get(COMPLETE):
            return await self._receive()
        task, late = asyncio.current_task(), False

        def expire() -> None:
            nonlocal late
            late = True
            assert task is not None
            task.cancel()

        timer = asyncio.get_running_loop().call_later(BODY_SECONDS, expire)
        try:
            return await self._receive()
        except asyncio.CancelledError:
            if not late or task is None:
                raise
            task.uncancel()
            raise Problem("slow-body", f"nothing more of the body came for {BODY_SECONDS:.0f} s") from None
        finally:
            timer.cancel()

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """Return the whole body.

        Raises
        ------
        Problem
            If it is too large, or does not arrive.
        """
        declared = self.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit:
            raise Problem("too-large", f"the body has {declared} bytes, at most {limit} are allowed; send fewer rows")
        body, more = bytearray(), True
        while more:
            piece, more = await self._piece()
            body += piece  # many small pieces would take more memory than their content
            if len(body) > limit:
                raise Problem("too-large", f"the body has more than {limit} bytes, the most allowed; send fewer rows")
        return bytes(body)

    async def message(self, kind: type[Body]) -> Body:
        """Return the message in the body."""
        return decoded(await self.body(), kind)

    async def lines(self, with_empty: bool = False) -> AsyncGenerator[list[bytes], None]:
        """Yield the lines of an NDJSON body, some at a time, as they arrive, by default without empty ones."""
        rest = bytearray()  # of a line whose end has not come; only what is new is searched for it
        async for piece in self.pieces():
            end = piece.rfind(b"\n") + 1
            if end:
                lines = (bytes(rest) + piece[:end]).split(b"\n")
                lines.pop()  # what follows the last line end
                yield [stripped for line in lines if (stripped := line.strip()) or with_empty]
                rest.clear()
            rest += piece[end:]
            if len(rest) > MAX_LINE:
                raise Problem("too-large", f"a line has more than {MAX_LINE} bytes, the most allowed")
        if stripped := bytes(rest).strip():
            yield [stripped]

    async def log(self, request: Request) -> Any:
        """Return the answer of the log thread."""
        return await self._answer(self.engine.submit, request)

    async def ask(self, request: Request) -> Any:
        """Return the answer of the learner thread."""
        return await self._answer(self.engine.ask, request)

    async def _answer(self, queue: Callable[[Request], Any], request: Request) -> Any:
        future = request.future()
        while True:
            try:
                queue(request)
                break
            except Problem as problem:
                if not self.is_patient or problem.kind != "overloaded":
                    raise
            await asyncio.sleep(PAUSE)
        return await future
