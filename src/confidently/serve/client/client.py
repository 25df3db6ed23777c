"""A client of the server: ``confidently.serve.Client``."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec

from .connection import Connection
from .decisions import DecisionRequests
from .exchange import ExchangeRequests
from .labelling import LabellingRequests
from .life import LifeRequests
from .requests import listed
from .rows import RowRequests

EVENTS_SECONDS = 30.0  # in which the server sends something, if only that nothing has changed


class Client(RowRequests, DecisionRequests, LabellingRequests, ExchangeRequests, LifeRequests):
    """A client of one model.

    Every method that sends has sent everything when it returns. Rows and labels have ids, chosen here where none is
    given. So a request that is repeated because its answer was lost is not learned twice.

    Parameters
    ----------
    url : str
        Of the server, such as ``"http://127.0.0.1:8642"``, with the path if a proxy has it below one.
    model : str
        The model's name.
    token : str, optional
    batch : str or None
        What the rows that this client teaches belong to, so that they can be taken out together. By default a batch of
        its own, ``client-`` with the date and random letters; None: none.
    timeout : float
        Seconds that the server may be silent during a request.
    patience : float
        Seconds for which a request is sent again while the server is away or has too much to do.
    transport : httpx.BaseTransport, optional
        Another transport to the server, for tests.

    Attributes
    ----------
    model : str
    batch : str or None

    Raises
    ------
    ServerError
        By every method, if the server refuses the request.
    httpx.TransportError
        By every method, if the server cannot be reached for longer than ``patience``.
    ValueError, TypeError
        By methods that take rows, if a value is infinite or has no counterpart in JSON.
    """

    def __init__(
        self, url: str, model: str, *, token: str | None = None, batch: str | None = "auto", timeout: float = 30.0,
        patience: float = 30.0, transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        own = f"client-{time.strftime('%Y-%m-%d')}-{secrets.token_hex(4)}"
        super().__init__(Connection(url, token, timeout, patience, transport), model, own if batch == "auto" else batch)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    # --- the server ---------------------------------------------------------------------------------------------------

    def models(self) -> list[dict[str, Any]]:
        """Return what the server reports about each of its models."""
        return listed(self._server.json("GET", "/v1/models"), "models")

    def events(self) -> Iterator[list[dict[str, Any]]]:
        """Yield what :meth:`models` returns whenever it has changed, until the server stops; asked for at once."""
        lines = self._server.stream("/v1/events", EVENTS_SECONDS)
        return (
            listed(msgspec.json.decode(line.removeprefix("data: ")), "models")
            for line in lines
            if line.startswith("data: ")
        )

    def audit(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return who taught, changed or deleted what on the server, the oldest first."""
        return self._pages("/v1/audit", after, limit, "n")

    def snapshot(self) -> dict[str, int]:
        """Write a snapshot of every model of the server; return the event up to which each goes."""
        return self._server.json("POST", "/v1/snapshot", slow=True)["snapshots"]

    def backup(self, name: str) -> str:
        """Copy the server's log and snapshots into a new folder of its directory; return the path of that."""
        return str(self._server.json("POST", "/v1/backup", {"name": name}, again=False, slow=True)["path"])
