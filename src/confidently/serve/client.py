"""A client of the server: ``confidently.serve.Client``."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import httpx
import msgspec

NDJSON = "application/x-ndjson"
RETRIED = (408, 425, 429, 500, 502, 503, 504, 507)  # the server may answer differently a little later
ROWS_PER_REQUEST = 10_000


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


class Client:
    """A client of one model.

    Every row and label has an id, chosen here where none is given. So a request that is repeated because its answer was
    lost is not learned twice.

    Parameters
    ----------
    url : str
        Of the server, such as ``"http://127.0.0.1:8642"``.
    model : str
        The model's name.
    token : str, optional
    timeout : float
        Seconds that a request may take.
    patience : float
        Seconds for which a request is sent again while the server is away or has too much to do.
    transport : httpx.BaseTransport, optional
        Another transport to the server, for tests.

    Raises
    ------
    ServerError
        By every method, if the server refuses the request.
    httpx.TransportError
        By every method, if the server cannot be reached for longer than ``patience``.
    """

    def __init__(
        self, url: str, model: str, *, token: str | None = None, timeout: float = 30.0, patience: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self.model, self._path, self._patience = model, f"/v1/models/{model}", patience

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # --- the model ---------------------------------------------------------------------------------------------------

    def create(self, **settings: Any) -> dict[str, Any]:
        """Make the model, unless it exists with the same settings; return what the server reports about it."""
        return self._json("PUT", "", settings)

    def info(self) -> dict[str, Any]:
        """Return what the server reports about the model."""
        return self._json("GET", "")

    def metrics(self) -> dict[str, Any]:
        """Return progressive error, log-loss, their course, calibration, alarms and rates."""
        return self._json("GET", "/metrics")

    def delete(self) -> None:
        """Delete the model with all its rows."""
        self._send("DELETE", "")

    def download(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, which :func:`confidently.load` reads."""
        answer = self._send("GET", "/file")
        with open(path, "wb") as file:
            file.write(answer.content)

    # --- rows --------------------------------------------------------------------------------------------------------

    def predict(
        self, features: Mapping[str, Any], id: str | None = None, *, coverage: float | None = None,
        max_risk: float | None = None, novelty: bool = False, top_k: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the prediction of a row; with an id the row is stored, so that its label can follow.

        Parameters
        ----------
        features : mapping
        id : str, optional
        coverage : float, optional
            In (0, 1): ``set`` then has the classes that cannot be excluded, the most probable first; the true one is
            among them with this probability.
        max_risk : float, optional
            In (0, 1): ``abstain`` is then whether not to rely on the label, so that at most this fraction of the
            others is wrong.
        novelty : bool
            Whether ``novelty`` is asked for: a p-value, which is small for rows unlike all those learned.
        top_k : int, optional
            ``probability`` has only this number of classes, the most probable first.
        """
        body = {"features": features} | ({} if id is None else {"id": id})
        return self._json("POST", _asking(coverage, max_risk, novelty, top_k), body)

    def learn(
        self, features: Mapping[str, Any], label: Any, id: str | None = None, weight: float = 1.0, wait: bool = False
    ) -> dict[str, Any]:
        """Learn a row; it is durable when this returns, and with ``wait`` it is learned."""
        body = {"id": id or new_id(), "features": features, "label": label, "weight": weight}
        return self._json("POST", "/learn?wait=learned" if wait else "/learn", body)

    def label(self, id: str, label: Any, correct: bool = False) -> dict[str, Any]:
        """Send the label of a row that was predicted with this id."""
        return self._json("POST", "/labels", {"id": id, "label": label, "correct": correct})

    def learn_many(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Learn rows such as ``{"features": {...}, "label": "spam"}``; return a receipt or a problem for each.

        All rows are durable when this returns, 10,000 in a request. An error leaves those of the requests before it
        learned: give rows an ``"id"`` of your own to send them again.
        """
        return self._lines("/learn", ({"id": new_id()} | dict(row) for row in rows))

    def try_many(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what :meth:`learn_many` would do with rows: how many are good, the first problems, classes, fields.

        The model does not change. All rows are sent in one request.
        """
        body = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        answer = self._send("POST", "/learn?dry_run=true", body, {"Content-Type": NDJSON})
        found: dict[str, Any] = msgspec.json.decode(answer.content)
        return found

    def predict_many(
        self, rows: Iterable[Mapping[str, Any]], *, coverage: float | None = None, max_risk: float | None = None,
        novelty: bool = False, top_k: int | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Predict rows such as ``{"features": {...}}``; return a prediction or a problem for each.

        Rows with an ``"id"`` are stored, so that their labels can follow; the rest is as for :meth:`predict`.
        """
        return self._lines(_asking(coverage, max_risk, novelty, top_k), rows)

    def label_many(self, labels: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Send labels such as ``{"id": "m-17", "label": "spam"}``; return a receipt or a problem for each."""
        return self._lines("/labels", labels)

    def examples(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the learned rows in the order of learning."""
        with self._http.stream("GET", f"{self._path}/examples", params={"after": after}) as answer:
            if answer.status_code >= 400:
                answer.read()
                raise _refusal(answer)
            for line in answer.iter_lines():
                yield msgspec.json.decode(line)

    def _lines(self, path: str, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        encoder, left, found = msgspec.json.Encoder(), iter(rows), list[dict[str, Any]]()
        while some := list(islice(left, ROWS_PER_REQUEST)):
            body = b"".join(encoder.encode(row) + b"\n" for row in some)
            answer = self._send("POST", path, body, {"Content-Type": NDJSON})
            found += map(msgspec.json.decode, answer.content.splitlines())
        return found

    # --- requests ----------------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        content = None if body is None else msgspec.json.encode(body)
        found: dict[str, Any] = msgspec.json.decode(self._send(method, path, content).content)
        return found

    def _send(
        self, method: str, path: str, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Send a request, again while the server is away or has too much to do."""
        until, pause = time.monotonic() + self._patience, 0.05
        while True:
            try:
                answer = self._http.request(method, self._path + path, content=content, headers=headers)
            except httpx.TransportError:
                if time.monotonic() + pause > until:
                    raise
            else:
                if answer.status_code < 400:
                    return answer
                if answer.status_code not in RETRIED or time.monotonic() + pause > until:
                    raise _refusal(answer)
            time.sleep(pause)
            pause = min(2 * pause, 2.0)


def _asking(coverage: float | None, max_risk: float | None, novelty: bool, top_k: int | None) -> str:
    """Return the address of predictions with what is asked for of them."""
    asked = {"set": coverage, "max_risk": max_risk, "novelty": "true" if novelty else None, "top_k": top_k}
    return f"/predict?{urlencode({name: value for name, value in asked.items() if value is not None})}".rstrip("?")


def new_id() -> str:
    """Return an id that no other row has."""
    return secrets.token_hex(12)


def _refusal(answer: httpx.Response) -> ServerError:
    try:
        problem = msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        problem = {"title": answer.reason_phrase, "detail": answer.text[:200]}
    return ServerError(answer.status_code, problem)
