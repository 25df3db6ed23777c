"""Allowed values of parameters: intervals, integers and choices, and the errors for other values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import NamedTuple

from ..similar import hint


class Range(NamedTuple):  # defining a dataclass would take a millisecond of the command line's start
    """An interval of allowed values; open ends are excluded."""

    low: float
    high: float
    closed_low: bool = False
    closed_high: bool = False

    def includes(self, value: float) -> bool:
        """Return whether the interval includes a value."""
        above = value >= self.low if self.closed_low else value > self.low
        below = value <= self.high if self.closed_high else value < self.high
        return above and below

    def __str__(self) -> str:
        return f"{'[' if self.closed_low else '('}{self.low:g}, {self.high:g}{']' if self.closed_high else ')'}"


POSITIVE = Range(0.0, math.inf)
UNIT = Range(0.0, 1.0)


def check_number(owner: str, name: str, value: object, allowed: Range) -> None:
    """Raise ``TypeError`` or ``ValueError`` naming the allowed interval unless ``value`` is a number in it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{owner}: {name} must be a number in {allowed}, got {value!r}")
    try:
        inside = allowed.includes(float(value))
    except OverflowError:  # an integer beyond all floats
        inside = False
    if not inside:
        raise ValueError(f"{owner}: {name} must be in {allowed}, got {value!r}")


def check_integer(owner: str, name: str, value: object, minimum: int) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless ``value`` is an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{owner}: {name} must be an integer >= {minimum}, got {value!r}")
    check_number(owner, name, value, Range(minimum, math.inf, closed_low=True))


class UnknownChoice(ValueError):
    """A value that is none of those allowed; in a model file perhaps one of a later version."""

    @classmethod
    def of(cls, kind: str, name: object, allowed: Collection[str]) -> UnknownChoice:
        """Return the error for an unknown name of a kind, which lists the allowed ones."""
        return cls(f"unknown {kind} {name!r}{hint(str(name), list(allowed))}; expected one of {', '.join(allowed)}")


def check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise ``UnknownChoice`` listing the allowed values unless ``value`` is one of them."""
    if value not in allowed:
        meant = hint(str(value), list(map(str, allowed)))
        raise UnknownChoice(f"{name}: expected one of {', '.join(repr(a) for a in allowed)}, got {value!r}{meant}")
