"""What a client needs to be heard: requests that are sent again until the server has answered them once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import httpx
import msgspec

NDJSON = "application/x-ndjson"
RETRIED = (408, 425, 429, 500, 502, 503, 504, 507)  # the server may answer differently a little later
REFUSED = ("overloaded", "not-ready", "stopping", "log-failed")  # problems that say that nothing was done
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
FIRST_PAUSE, MAX_PAUSE = 0.05, 2.0  # seconds; the server may ask for longer ones
KIND = "urn:confidently:"


class ServerError(Exception):
    """The server has refused a request.

    Attributes
    ----------
    status : int
        The HTTP status.
    problem : dict
        The members of ``application/problem+json``: type, title, status, detail and perhaps pointer.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{problem.get('title', status)}: {problem.get('detail', '')}")
        self.status, self.problem = status, dict(problem)

    @property
    def kind(self) -> str:
        """The name of the problem, such as ``"unknown-model"``; empty if the refusal is not the server's own."""
        return str(self.problem.get("type", "")).removeprefix(KIND)


class Patience:
    """Waits between repeated attempts, for longer each time, until some seconds have passed."""

    def __init__(self, seconds: float) -> None:
        self._until, self._pause = time.monotonic() + seconds, FIRST_PAUSE

    def wait(self, asked: float = 0.0) -> bool:
        """Wait, at least as long as the server has asked for; return False without waiting if there is no time left."""
        pause = max(self._pause, asked)
        if time.monotonic() + pause > self._until:
            return False
        time.sleep(pause)
        self._pause = min(2 * self._pause, MAX_PAUSE)
        return True


class Connection:
    """The connections to a server, which are kept for further requests; for threads.

    Parameters
    ----------
    url : str
        Of the server, perhaps with the path below which a proxy has it.
    token : str or None
    timeout : float
        Seconds that a request may take.
    patience : float
        Seconds for which a request is sent again.
    transport : httpx.BaseTransport or None
    """

    def __init__(
        self, url: str, token: str | None, timeout: float, patience: float, transport: httpx.BaseTransport | None
    ) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self._timeout, self.patience = timeout, patience

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def json(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Return the JSON that the server answers to a body of JSON; None if the answer is empty."""
        content = None if body is None else msgspec.json.encode(body)
        answer = self.send(method, path, content, **options)
        return msgspec.json.decode(answer.content) if answer.content else None

    def send(
        self, method: str, path: str, content: bytes | None = None, *, query: Mapping[str, Any] | None = None,
        kind: str = "application/json", again: bool = True, slow: bool = False,
    ) -> httpx.Response:  # fmt: skip
        """Send a request, again while the server is away or has too much to do; return its answer.

        Parameters
        ----------
        method, path : str
        content : bytes, optional
        query : mapping, optional
            Parameters of the URL; those that are None are left out, and booleans are words.
        kind : str
            The media type of the content.
        again : bool
            Whether doing it twice is doing it once. Otherwise it is sent again only if the server has not done it.
        slow : bool
            Whether the answer may take any time.

        Raises
        ------
        ServerError
            If the server refuses.
        httpx.TransportError
            If it cannot be reached.
        """
        request = self._request(method, path, content, query, kind, slow)
        patience = Patience(self.patience)
        while True:
            asked = 0.0
            try:
                answer = self._http.send(request)
            except httpx.TransportError as error:
                if not (again or isinstance(error, NOT_SENT)) or not patience.wait():
                    raise
                continue
            if answer.status_code < 400:
                return answer
            refusal, asked = refused(answer), _seconds(answer.headers.get("retry-after", ""))
            may = answer.status_code in RETRIED if again else refusal.kind in REFUSED
            if not may or not patience.wait(asked):
                raise refusal

    def lines(
        self, path: str, rows: Sequence[Any], query: Mapping[str, Any], slow: bool = False
    ) -> list[dict[str, Any]]:
        """Send rows as lines of JSON; return the answer to each, in their order.

        Rows that the server had no time for, or that an answer which ended early is silent about, are sent again.
        """
        encoder, patience = msgspec.json.Encoder(), Patience(self.patience)
        found: dict[int, dict[str, Any]] = {}
        left = list(range(len(rows)))
        while left:
            content = encoder.encode_lines([rows[k] for k in left])
            answer = self.send("POST", path, content, query=query, kind=NDJSON, slow=slow)
            told = [msgspec.json.decode(line) for line in answer.content.splitlines()]
            if len(told) < len(left) and told and told[-1].get("status") not in RETRIED:
                raise ServerError(told[-1].get("status", 500), told[-1])  # it ends what follows, too
            found |= zip(left, told, strict=False)
            late = [k for k in left if k not in found or found[k].get("status") in RETRIED]
            if not late or not patience.wait():
                break
            left = late
        if len(found) < len(rows):
            raise ServerError(503, {"title": "The server ended its answer early", "detail": "send the rows again"})
        return [found[k] for k in range(len(rows))]

    def _request(
        self, method: str, path: str, content: bytes | None, query: Mapping[str, Any] | None, kind: str, slow: bool
    ) -> httpx.Request:
        given = {name: _word(value) for name, value in (query or {}).items() if value is not None}
        timeout = httpx.Timeout(self._timeout, read=None) if slow else httpx.Timeout(self._timeout)
        headers = None if content is None else {"Content-Type": kind}
        return self._http.build_request(
            method, path, content=content, params=given or None, headers=headers, timeout=timeout
        )

    def stream(self, path: str, timeout: float) -> Iterator[str]:
        """Return the lines of an answer that does not end; the request is sent at once.

        Parameters
        ----------
        path : str
        timeout : float
            Seconds in which a next line has to come.
        """
        request = self._http.build_request("GET", path, timeout=httpx.Timeout(self._timeout, read=timeout))
        answer = self._http.send(request, stream=True)
        if answer.status_code >= 400:
            answer.read()
            raise refused(answer)
        return _lines_of(answer)


def _lines_of(answer: httpx.Response) -> Iterator[str]:
    with closing(answer):
        yield from answer.iter_lines()


def refused(answer: httpx.Response) -> ServerError:
    """Return the error that an answer stands for."""
    try:
        problem = msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        problem = {"title": answer.reason_phrase, "detail": answer.text[:200]}
    return ServerError(answer.status_code, problem)


def _word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _seconds(text: str) -> float:
    """Return the seconds of a header ``Retry-After``; dates, which clocks would have to agree on, are passed over."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0
