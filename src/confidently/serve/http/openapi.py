"""The OpenAPI document, made from the table of addresses and the messages."""

from __future__ import annotations

from typing import Any

import msgspec

from ... import __version__
from ..problems import KINDS
from .api import ROUTES, Route
from .replies import JSON, NDJSON, PROBLEM
from .tokens import KEY

FILE = "application/octet-stream"
COMMON = ("400", "401", "403", "404", "405", "408", "409", "410", "413", "422", "431", "503", "507")
PARAMETERS = {
    "m": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
    "id": {"type": "string", "minLength": 1, "maxLength": 256},
}


def document(url: str | None = None) -> dict[str, Any]:
    """Return the document as plain data; with the address of the server, if it is not that of the document."""
    types = [kind for route in ROUTES for one in (route.body, route.answer) for kind in _several(one)]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))

    def schema(of: Any) -> Any:
        found = [by_type[kind] for kind in _several(of)]
        return {"oneOf": found} if len(found) > 1 else found[0] if found else None

    paths: dict[str, Any] = {}
    for route in ROUTES:
        operation = _operation(route, schema(route.body), schema(route.answer))
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    components["Problem"] = {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"enum": [f"urn:confidently:{kind}" for kind in KINDS]},
            "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"},
            "pointer": {"type": "string", "description": "JSON pointer to the part of the body that is wrong"},
            "request": {"type": "string", "description": "the id of the request, as in X-Request-Id"},
        },
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "confidently serve", "version": __version__,
            "description": "Online classifiers that know how sure they are. Errors are application/problem+json.",
        },
        "servers": [{"url": url or "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "header", "name": KEY},
            },
        },
        "security": [{"token": []}, {"key": []}, {}],
    }  # fmt: skip


def _several(types: Any) -> tuple[Any, ...]:
    """Return the types of a place in the table: none, one or more."""
    return () if types is None else types if isinstance(types, tuple) else (types,)


def _operation(route: Route, body: Any, answer: Any) -> dict[str, Any]:
    names = [part.strip("{}") for part in route.path.split("/") if part.startswith("{")]
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": (route.handler.__doc__ or "").strip().splitlines()[0],
        "tags": [route.scope],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": PARAMETERS[name]} for name in names),
            *({"name": name, "in": "query", "schema": schema} for name, schema in route.query),
        ],
        "responses": {str(status): _success(route, status, answer) for status in route.statuses},
    }
    if body is not None or route.file == "body":
        found["requestBody"] = {"required": body is None or route.method == "POST", "content": _content(route, body)}
    problem = {"$ref": "#/components/schemas/Problem"}
    for status in COMMON:
        titles = [kind.title for kind in KINDS.values() if str(kind.status) == status]
        found["responses"][status] = {"description": "; ".join(titles), "content": {PROBLEM: {"schema": problem}}}
    return found


def _content(route: Route, body: Any) -> dict[str, Any]:
    if route.file == "body":
        return {FILE: {"schema": {"type": "string", "contentMediaType": FILE}}}
    lines = {NDJSON: {"schema": {"type": "string", "description": "such an object a line"}}}
    return {JSON: {"schema": body}} | (lines if route.lines in ("both", "body") else {})


def _success(route: Route, status: int, answer: Any) -> dict[str, Any]:
    told = {"description": {200: "Done", 201: "Made", 202: "Begun", 204: "Gone"}[status]}
    if status == 204:
        return told
    lines = {NDJSON: {"schema": {"type": "string", "description": "such an object, or a problem, a line"}}}
    if route.file == "answer":
        content: dict[str, Any] = {FILE: {"schema": {"type": "string", "contentMediaType": FILE}}}
    elif answer is None:
        content = {"text/event-stream": {"schema": {"type": "string"}}}
    elif route.lines == "answer":
        content = lines
    else:
        content = {JSON: {"schema": answer}} | (lines if route.lines == "both" else {})
    return told | {"content": content}
