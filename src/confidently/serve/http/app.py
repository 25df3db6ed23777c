"""The HTTP face of an engine: an ASGI application."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.routing import Route as Address
from starlette.types import ASGIApp

from ..engine.engine import Engine
from ..exchange.personalizer import ADDRESS, OPERATIONS
from ..model.decision_counts import DecisionCounts
from ..model.hosted import Hosted
from ..problems import Problem
from .calls import Call, decoded
from .entrance import AccessLog, Entrance
from .gate import Gate, Gates, refused_at, refused_fault
from .health import watch_health
from .openapi import document
from .replies import JSON, Reply, Sendable, answered, encoder, refused
from .tokens import COOKIE, SESSION_SECONDS, Guard

PAGE = files("confidently.serve") / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}  # fmt: skip
MAX_LOGIN = 4096  # bytes, of the one body that is read before a token is known
LOGIN_SECONDS = 30.0  # for which it may take
PATH_NAME = re.compile(r"/[A-Za-z0-9_-]+(\.[a-z]+)?(/[A-Za-z0-9_-]+\.[a-z]+)?")


class LogIn(msgspec.Struct, forbid_unknown_fields=True):
    """The body of ``POST /session``."""

    token: str


def make_app(engine: Engine, guard: Guard | None = None, access: AccessLog | None = None) -> ASGIApp:
    """Return the application that serves an engine.

    Parameters
    ----------
    engine : Engine
        Started before the first request that needs it; until then ``/readyz`` reports that.
    guard : Guard, optional
        By default there are no tokens.
    access : AccessLog, optional
    """
    watch = guard or Guard([])
    registry = CollectorRegistry()
    registry.register(EngineMetrics(engine))
    watch_health(engine, registry)
    gates = Gates(engine, watch, registry)
    openapi = document(watch.public_url)

    async def live(request: HTTPRequest) -> Reply:
        return answered({"status": "alive"})

    async def ready(request: HTTPRequest) -> Reply:
        engine.check_open()
        if engine.replica is None:
            return answered({"status": "ready"})
        engine.replica.check_ready()
        lags = [engine.replica.lag(name) for name in list(engine.hosted)]
        behind, seconds = (max(part, default=0) for part in (zip(*lags, strict=True) if lags else ((), ())))
        return answered(
            {"status": "ready", "replica_of": engine.replica.address(), "behind": behind, "seconds": seconds}
        )

    async def prometheus(request: HTTPRequest) -> Response:
        watch.check(request.method, request.headers, "predict")
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4")

    async def openapi_document(request: HTTPRequest) -> Reply:
        return answered(openapi)

    async def log_in(request: HTTPRequest) -> Sendable:
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                body = decoded(await Call(request.scope, request.receive, engine, {}).body(MAX_LOGIN), LogIn)
        except TimeoutError:
            raise Problem("slow-body", f"the body did not come within {LOGIN_SECONDS:.0f} s") from None
        if not watch.tokens:
            return answered({"csrf": "", "scopes": ["admin", "label", "learn", "predict"]})
        key, session = watch.log_in(request.headers, body.token)
        told = encoder.encode({"csrf": session.csrf, "scopes": sorted(session.token.scopes)})
        response = Response(told, media_type=JSON)
        response.set_cookie(
            COOKIE, key, int(SESSION_SECONDS), path=f"{watch.base}/", httponly=True, samesite="strict",
            secure=watch.is_secure,
        )  # fmt: skip
        return response

    async def session(request: HTTPRequest) -> Reply:
        if not watch.tokens:
            return answered({"needed": False, "csrf": "", "scopes": ["admin", "label", "learn", "predict"]})
        found = watch.session(request.headers)
        if found is None:
            return answered({"needed": True, "csrf": "", "scopes": []})
        return answered({"needed": False, "csrf": found.csrf, "scopes": sorted(found.token.scopes)})

    async def page(request: HTTPRequest) -> Response:
        path = {"/": "/index.html", "/docs": "/docs.html"}.get(request.url.path, request.url.path)
        path = path.removeprefix("/page")
        name, suffix = path.lstrip("/"), path[path.rfind(".") :]
        found = PAGE / name
        if PATH_NAME.fullmatch(path) is None or suffix not in TYPES or not found.is_file():
            raise HTTPException(404)
        return Response(found.read_bytes(), headers=PAGE_HEADERS, media_type=TYPES[suffix])

    addresses = [Address(_path(gate), _endpoint(gate), methods=[gate.route.method]) for gate in gates.gates]
    others: list[tuple[str, str, Any]] = [
        ("GET", "/livez", live), ("GET", "/readyz", ready), ("GET", "/metrics", prometheus),
        ("GET", "/openapi.json", openapi_document), ("POST", "/session", log_in), ("GET", "/session", session),
        ("GET", "/", page), ("GET", "/docs", page), ("GET", "/page/{name:path}", page),
    ]  # fmt: skip
    addresses += [Address(path, handler, methods=[method]) for method, path, handler in others]
    gates.behind = Starlette(
        routes=_joined(addresses),
        exception_handlers={Problem: _problem, HTTPException: _http_error, Exception: _fault},
    )
    return Entrance(gates, watch.base, access)


def _path(gate: Gate) -> str:
    return gate.route.path.replace("{id}", "{id:path}")  # ids may have slashes


def _endpoint(gate: Gate) -> Callable[[HTTPRequest], Awaitable[Sendable]]:
    async def answer(request: HTTPRequest) -> Sendable:
        return await gate(request.scope, request.receive, request.path_params)

    return answer


def _joined(addresses: list[Address]) -> list[Address]:
    """Return one address for all methods of a path, so that other methods are answered with those allowed."""
    by_path: dict[str, list[Address]] = {}
    for address in addresses:
        by_path.setdefault(address.path, []).append(address)
    return [_one(path, same) if len(same) > 1 else same[0] for path, same in by_path.items()]


def _one(path: str, same: list[Address]) -> Address:
    by_method = {method: address.endpoint for address in same for method in address.methods or ()}

    async def answer(request: HTTPRequest) -> Sendable:
        return await by_method[request.method](request)

    return Address(path, answer, methods=list(by_method))


async def _problem(request: HTTPRequest, error: Exception) -> Any:
    assert isinstance(error, Problem)
    return refused(error)


async def _http_error(request: HTTPRequest, error: Exception) -> Any:
    assert isinstance(error, HTTPException)
    path = request.url.path
    hint = f"of Azure Personalizer there are {OPERATIONS}; " if ADDRESS.match(path) else ""
    kinds = {404: ("not-found", f"there is nothing at {path[:200]}; {hint}/docs lists the addresses")}
    kinds[405] = ("method", f"{request.method} is not allowed here")
    kind, detail = kinds.get(error.status_code, ("internal", str(error.detail)))
    return refused_at(path, Problem(kind, detail), dict(error.headers or {}))


async def _fault(request: HTTPRequest, error: Exception) -> Any:
    return refused_fault(error)


SUMS = {
    "mistakes": "Rows predicted wrongly before they were learned",
    "log_loss": "Sum of log-losses of rows before they were learned",
    "absolute_errors": "Sum of absolute errors of numbers predicted before they were learned",
    "squared_errors": "Sum of squared errors of numbers predicted before they were learned",
}  # of what is measured, for the models of which it is
DECISION_SUMS: dict[str, tuple[str, Callable[[DecisionCounts], float]]] = {
    "decisions": ("Decisions", lambda counts: counts.decisions),
    "rewards": ("Rewards of decisions", lambda counts: counts.rewards),
    "default_rewards": ("Rewards of decisions that got none in time", lambda counts: counts.default_rewards),
    "apprentice_matches": (
        "Decisions of an apprentice that would have been the baseline",
        lambda counts: counts.matches,
    ),
}


class EngineMetrics(Collector):
    """The metrics of an engine for Prometheus, in base units, without ids."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def collect(self) -> Any:
        """Yield the families of metrics."""
        families: dict[str, tuple[Any, str, Callable[[Hosted], float]]] = {
            "rows_learned": (CounterMetricFamily, "Rows learned", lambda h: h.metrics.rows),
            "predictions": (CounterMetricFamily, "Rows predicted", lambda h: h.metrics.predicted),
            "asked": (CounterMetricFamily, "Predictions whose label was asked for", lambda h: h.metrics.asked),
            "answers": (CounterMetricFamily, "Answers of labellers", lambda h: h.labelling.answers),
            "refused": (
                CounterMetricFamily, "Rows set aside because the model could not learn them",
                lambda h: h.metrics.refused,
            ),
            "alarms": (
                CounterMetricFamily, "Drift alarms", lambda h: h.model.order[0]
            ),
            "rows_since_alarm": (
                GaugeMetricFamily, "Rows since the last drift alarm, or since the first row",
                lambda h: h.model.order[1],
            ),
            "features": (GaugeMetricFamily, "Features of the model", lambda h: h.model.n_features),
            "waiting_rows": (GaugeMetricFamily, "Rows in the log that are not learned yet", lambda h: len(h.waiting)),
            "failed": (GaugeMetricFamily, "Whether the model has stopped", lambda h: float(h.failed is not None)),
            "rows_to_label": (GaugeMetricFamily, "Rows that wait for a label", lambda h: len(h.labelling)),
        }  # fmt: skip
        hosted = list(self.engine.hosted.values())
        for name, text in SUMS.items():
            metric = CounterMetricFamily(f"confidently_{name}", text, labels=["model"])
            for one in hosted:
                if name in one.metrics.measures.sums:
                    metric.add_metric([one.name], one.metrics.sums[one.metrics.measures.sums.index(name)])
            yield metric
        for name, (text, count) in DECISION_SUMS.items():
            metric = CounterMetricFamily(f"confidently_{name}", text, labels=["model"])
            for one in hosted:
                if one.model.setup.decides:
                    metric.add_metric([one.name], count(one.metrics.decisions))
            yield metric
        for name, (family, text, value) in families.items():
            metric = family(f"confidently_{name}", text, labels=["model"])
            for one in hosted:
                metric.add_metric([one.name], value(one))
            yield metric
        if (replica := self.engine.replica) is not None:
            behind = GaugeMetricFamily(
                "confidently_replica_behind_events", "Events behind the primary", labels=["model"]
            )
            late = GaugeMetricFamily("confidently_replica_behind_seconds", "Time since it was level", labels=["model"])
            for one in hosted:
                events, seconds = replica.lag(one.name)
                behind.add_metric([one.name], events)
                late.add_metric([one.name], seconds)
            yield from (behind, late)
        odd = CounterMetricFamily("confidently_odd_rows", "Odd rows by guard", labels=["model", "guard", "rows"])
        alarm = GaugeMetricFamily("confidently_alarm", "Whether there is an alarm now", labels=["model", "kind"])
        for one in hosted:
            for guard, counts in one.model.guards.shown().items():
                for rows, n in counts.items():
                    odd.add_metric([one.name, guard, rows], n)
            now = {found.kind for found in one.metrics.alarms.now()}
            for kind in one.metrics.alarms.kinds:
                alarm.add_metric([one.name, kind], float(kind in now))
        yield odd
        yield alarm
        if (backups := self.engine.backups) is not None:
            failed = CounterMetricFamily("confidently_backups_failed", "Backups on schedule that were not written")
            failed.add_metric([], backups.failed)
            last = GaugeMetricFamily(
                "confidently_last_backup_seconds", "Time of the last whole one, 0 if there is none"
            )
            last.add_metric([], backups.last or 0.0)
            yield from (failed, last)
