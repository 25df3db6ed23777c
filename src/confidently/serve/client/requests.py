"""Requests about one model, and what all of them need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import quote

import msgspec

from .connection import Connection

ROWS_PER_REQUEST = 10_000
ROWS_PER_PAGE = 10_000  # of exports


class ModelRequests:
    """Sends requests about a model; each group of them is a class that extends this one.

    Parameters
    ----------
    server : Connection
    model : str
        The model's name.
    batch : str or None
        What the rows that are taught belong to.
    """

    def __init__(self, server: Connection, model: str, batch: str | None) -> None:
        self._server, self.model, self.batch = server, model, batch
        self._path = f"/v1/models/{quoted(model)}"

    def _ask(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        return json_object(self._server.json(method, self._path + path, body, **options))

    def _change(self, method: str, path: str, wait: bool, body: Any = None, again: bool = False) -> dict[str, Any]:
        query = {"wait": "live" if wait else None}
        return self._ask(method, path, body, query=query, again=again, slow=wait)

    def _teaching(self, wait: bool) -> dict[str, Any]:
        return {"wait": "learned" if wait else None, "batch": self.batch}

    def _lines(
        self, path: str, rows: Iterable[Mapping[str, Any]], query: Mapping[str, Any], slow: bool = False
    ) -> list[dict[str, Any]]:
        left, found = iter(rows), list[dict[str, Any]]()
        while some := list(islice(left, ROWS_PER_REQUEST)):
            found += self._server.lines(self._path + path, some, query, slow)
        return found

    def _pages(
        self, path: str, after: int, limit: int | None, number: str = "seq", **more: Any
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Return rows, of which some are asked for at once and the others when they are needed."""
        first = self._page(path, after, limit, more)

        def following() -> Iterator[dict[str, Any]]:
            page, left = first, limit
            while page:
                yield from page
                left = None if left is None else left - len(page)
                page = self._page(path, page[-1][number], left, more) if left is None or left > 0 else []

        return following()

    def _page(self, path: str, after: int, limit: int | None, more: dict[str, Any]) -> list[dict[str, Any]]:
        query = {"after": after, "limit": ROWS_PER_PAGE if limit is None else min(limit, ROWS_PER_PAGE)} | more
        answer = self._server.send("GET", path, query=query)
        return [msgspec.json.decode(line) for line in answer.content.splitlines()]


def quoted(name: str) -> str:
    """Return a name as one part of an address, even if it is two dots."""
    return quote(name, safe="").replace(".", "%2E")


def json_object(answer: Any) -> dict[str, Any]:
    """Return an answer that is an object; that of nothing is empty."""
    return answer or {}


def listed(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list that an answer has."""
    return answer[name]
