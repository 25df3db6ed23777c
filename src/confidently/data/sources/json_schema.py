"""JSON from files, checked against types: any deviation is one ``ValueError``.

The types are those of annotations; ``Annotated[int, Interval(low, high)]`` bounds a number. Objects become dataclasses
or typed dicts, and lists named tuples; other entries of an object are ignored. Numbers are finite, and strings can be
written as UTF-8.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from functools import cache
from reprlib import Repr
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)  # fmt: skip


class Interval(NamedTuple):
    """The least and the largest allowed number."""

    low: float
    high: float


FileText = Annotated[str, "may hold names of files"]  # where surrogates stand for bytes that are not UTF-8
Count = Annotated[int, Interval(0, 2**63 - 1)]


def parse(text: str | bytes, kind: Any) -> Any:
    """Return the value of JSON text as a type; ``ValueError``: it is not JSON, or not of that type."""
    try:
        return conform(json.loads(text), kind)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def conform(value: Any, kind: Any, where: str = "it") -> Any:
    """Return a value of JSON as a type.

    Raises
    ------
    ValueError
        If it is not of that type; the message names the place and what is there.

    Examples
    --------
    >>> conform({"rows": [1, 2]}, dict[str, list[Count]])
    {'rows': [1, 2]}
    >>> conform({"rows": [1, -2]}, dict[str, list[Count]])
    Traceback (most recent call last):
        ...
    ValueError: it.rows[1]: expected Interval(low=0, high=9223372036854775807), got -2
    """
    if kind is Any:
        return value
    if kind in _PLAIN:
        return _plain(value, kind, where)
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Required, NotRequired):
        return conform(value, of[0], where)
    if origin is Annotated:
        number = conform(value, of[0], where)
        return number if of[1].low <= number <= of[1].high else _refuse(value, str(of[1]), where)
    if origin in (Union, UnionType):
        return _first_that_fits(value, of, where)
    if origin is Literal:
        fits = any(type(value) is type(one) and value == one for one in of)
        return value if fits else _refuse(value, f"one of {of}", where)
    if origin in (list, tuple):
        return origin(_items(value, of, where))
    if origin is dict:
        return {_plain(key, str, where): conform(one, of[1], f"{where}.{key}") for key, one in _entries(value, where)}
    if not is_typeddict(kind) and issubclass(kind, tuple):
        return kind._make(_items(value, tuple(_hints(kind).values()), where))
    return _object(dict(_entries(value, where)), kind, where)


def _plain(value: Any, kind: Any, where: str) -> Any:
    name, types, is_sound = _PLAIN[kind]
    try:
        if type(value) in types and is_sound(value):
            return value
    except (ValueError, OverflowError):
        pass
    _refuse(value, name, where)


def _always(value: object) -> bool:
    return True


_PLAIN: dict[Any, tuple[str, tuple[type, ...], Callable[[Any], object]]] = {
    bool: ("true or false", (bool,), _always),
    NoneType: ("null", (NoneType,), _always),
    int: ("an integer", (int,), _always),
    float: ("a finite number", (int, float), math.isfinite),
    str: ("text", (str,), lambda text: [text.encode()]),
    FileText: ("text", (str,), lambda text: [os.fsencode(text)]),
}


def _first_that_fits(value: Any, kinds: Iterable[Any], where: str) -> Any:
    problem = ValueError()
    for kind in kinds:
        try:
            return conform(value, kind, where)
        except ValueError as error:
            problem = error
    raise problem


def _items(value: Any, kinds: tuple[Any, ...], where: str) -> Iterable[Any]:
    """Return the items of a list: as many as types, or, with one type or one before an ellipsis, any number."""
    if not isinstance(value, list | tuple):
        _refuse(value, "a list", where)
    if len(kinds) == 1 or kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(value) != len(kinds):
        _refuse(value, f"a list of {len(kinds)}", where)
    return (conform(one, kind, f"{where}[{k}]") for k, (one, kind) in enumerate(zip(value, kinds, strict=True)))


def _entries(value: Any, where: str) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else _refuse(value, "an object", where)


def _object(entries: dict[str, Any], kind: Any, where: str) -> Any:
    given = {}
    for name, expected in _hints(kind).items():
        if name in entries:
            given[name] = conform(entries[name], expected, f"{where}.{name}")
        elif name in _required(kind):
            raise ValueError(f"{where} has no {name!r}")
    return kind(**given)


@cache
def _required(kind: Any) -> frozenset[str]:
    if is_typeddict(kind):
        return frozenset(kind.__required_keys__)
    return frozenset(one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _refuse(value: object, expected: str, where: str) -> NoReturn:
    shown = Repr()
    shown.maxlevel, shown.maxstring, shown.maxother, shown.maxlong = 2, 60, 60, 40
    raise ValueError(f"{where[:200]}: expected {expected}, got {shown.repr(value)}")
