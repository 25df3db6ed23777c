"""The gate of the API: every request about models passes the same checks before its handler, and is timed."""

from __future__ import annotations

import re
import time
from typing import Any

from prometheus_client import CollectorRegistry, Histogram
from starlette.types import ASGIApp, Receive, Scope, Send

from ..engine.engine import Engine
from ..exchange import personalizer
from ..problems import Problem
from ..work.models import check_name
from .api import MODEL, REPLICATED, ROUTES, Route
from .calls import Call
from .connections import admit
from .replies import Reply, Sendable, refused
from .request_ids import request_id
from .tokens import Guard, Token

DIRECT = re.compile(r"/v1/models/([^/]+)/(predict|learn|labels|decide|rewards)")


class Gate:
    """Lets requests of one route through to its handler.

    Parameters
    ----------
    route : Route
    engine : Engine
    guard : Guard
    seconds : Histogram
        Records how long answers take, by route and status.
    """

    def __init__(self, route: Route, engine: Engine, guard: Guard, seconds: Histogram) -> None:
        self.route, self.engine, self.guard, self._seconds = route, engine, guard, seconds
        self._parameters = {name for name, _ in route.query}
        self._by_status: dict[int, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, names: dict[str, str]) -> Sendable:
        """Return the answer to a request, a problem too."""
        began = time.perf_counter()
        try:
            call = Call(scope, receive, self.engine, names, self._allow, self._taught)
            self._check(call)
            reply = await self.route.handler(call)
            if self.route.changes or call.changes:
                self._changed(call)
        except Problem as problem:
            reply = refused_at(self.route.path, problem)
        observed = self._by_status.get(reply.status_code)
        if observed is None:
            observed = self._by_status[reply.status_code] = self._seconds.labels(self.route.name, reply.status_code)
        observed.observe(time.perf_counter() - began)
        return reply

    def _allow(self, headers: dict[str, str], model: str | None, scope: str | None) -> Token:
        return self.guard.check(self.route.method, headers, scope or self.route.scope, model, self.route.some)

    def _taught(self, call: Call, rows: int) -> None:
        query = call.scope["query_string"].decode("latin-1")
        self.engine.audit.taught(call.token.name, self.route.name, call.names["m"], query, rows)

    def _changed(self, call: Call) -> None:
        names, query = call.names, call.scope["query_string"].decode("latin-1")
        self.engine.audit.changed(
            call.token.name, self.route.name, names.get("m"), names.get("id"), query, request_id.get()
        )

    def _check(self, call: Call) -> None:
        call.check_allowed()
        if self.engine.replica is not None and self.route.name not in REPLICATED:
            raise self.engine.replica.refusal()
        admit(call.scope, call.check_allowed, call.token.name)
        name = call.names.get("m")
        if name is not None:
            check_name(name)
        if call.scope["query_string"] and (unknown := sorted(set(call.query) - self._parameters)):
            told = ", ".join(sorted(self._parameters)) or "none"
            raise Problem("invalid-parameter", f"unknown parameter {unknown[0][:80]!r}; the parameters are: {told}")


class Gates:
    """The gates of all routes; an application in front of another one.

    Requests about rows, of which there are thousands per second, go to their gates directly. All others are routed by
    the application behind.

    Parameters
    ----------
    engine, guard
        As of :class:`Gate`.
    registry : CollectorRegistry
        For the times.

    Attributes
    ----------
    behind : ASGI application
        Set by whoever makes both.
    """

    def __init__(self, engine: Engine, guard: Guard, registry: CollectorRegistry) -> None:
        seconds = Histogram(
            "confidently_request_seconds", "Time to answer", ["route", "status"], registry=registry,
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
        )  # fmt: skip
        self.gates = [Gate(route, engine, guard, seconds) for route in ROUTES]
        own = [gate for gate in self.gates if gate.route.method == "POST" and gate.route.path.startswith(MODEL)]
        self._direct = {gate.route.path.rpartition("/")[2]: gate for gate in own}
        self.behind: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = DIRECT.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            if "personalizer" in scope.get("path", ""):
                scope["path"] = personalizer.one_address(scope["path"])
            await self.behind(scope, receive, send)
            return
        try:
            reply = await self._direct[found[2]](scope, receive, {"m": found[1]})
        except Exception as error:
            await refused_fault(error)(scope, receive, send)
            raise
        await reply(scope, receive, send)


def refused_at(path: str, problem: Problem, headers: dict[str, str] | None = None) -> Reply:
    """Return a problem; at the addresses of Azure Personalizer, it has the error that clients read, too."""
    if personalizer.ADDRESS.match(path) is None:
        return refused(problem, headers)
    problem = personalizer.renamed(problem)
    return refused(problem, headers, {"error": personalizer.error_of(problem)})


def refused_fault(error: Exception) -> Sendable:
    """Return the answer to a request that met a fault of the server."""
    return refused(Problem("internal", f"{type(error).__name__}: the log of the server tells more"))
