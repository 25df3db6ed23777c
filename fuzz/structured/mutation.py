"""Random changes of what files hold: values of JSON and arrays. Targets write them with right checksums."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import numpy as np

Content = TypeVar("Content")
NUMBERS = (
    0, 1, -1, 2, 3, 7, 255, 256, 1 << 15, (1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40,
    (1 << 63) - 1, -(1 << 63), 1 << 64, 10**30, 10**400, 0.5, -0.0, 1e-320, 1e-100, 1e10, 1e100, 1.7e308, math.nan,
    math.inf, -math.inf,
)  # fmt: skip
VALUES = (
    *NUMBERS,
    None,
    True,
    False,
    "",
    "x",
    "1",
    "\ud800",
    "\udc80",
    "\x1b[31m",
    "\n",
    "a" * 300,
    [],
    [[]],
    {},
    {"": 0},
)
KINDS = ("<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "<u2", "|u1", "|i1", "|b1", "<f2", ">f8", ">i4", "<c8")


def changed(content: Content, mutated: Callable[[Content, Random], Content], random: Random) -> Content:
    """Return content with one change or a few."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = mutated(content, random)
    return content


def mutated_json(value: Any, random: Random) -> Any:
    """Return a JSON value with one random change somewhere inside."""
    inside = isinstance(value, (dict, list)) and len(value) and random.random() < 0.85
    if inside and isinstance(value, dict):
        changed, name = dict(value), random.choice(list(value))
        if random.random() < 0.1:
            del changed[name]
        elif random.random() < 0.1:
            changed[random.choice(list(value))] = changed[name]
        else:
            changed[name] = mutated_json(value[name], random)
        return changed
    if inside:
        changed, at = list(value), random.randrange(len(value))
        if random.random() < 0.3:
            changed[at : at + 1] = random.choice(([], [changed[at]] * 2, [random.choice(changed)]))
        else:
            changed[at] = mutated_json(value[at], random)
        return changed
    return _other_value(value, random)


def _other_value(value: Any, random: Random) -> Any:
    if type(value) in (int, float) and abs(value) < 1e300 and random.random() < 0.4:
        return value + random.choice((-1, 1, 2, 0.5, 64)) if random.random() < 0.8 else -value
    if isinstance(value, str) and value and random.random() < 0.4:
        at = random.randrange(len(value))
        return value[:at] + random.choice(("", "é", "\x00", "\ud800", "0")) + value[at + 1 :]
    if random.random() < 0.05:
        return deep(random.choice((50, 300)))
    return random.choice(VALUES)


def deep(levels: int) -> Any:
    """Return a list nested so deeply."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def mutated_array(array: np.ndarray, random: Random) -> np.ndarray:
    """Return an array with a random change: of a number, of its length, or of its type."""
    chance = random.random()
    if len(array) == 0 or chance < 0.1:
        return np.concatenate([array, np.resize(array, (random.randrange(1, 4), *array.shape[1:])).astype(array.dtype)])
    if chance < 0.2:
        return array[: random.randrange(len(array))].copy()
    with np.errstate(all="ignore"):
        if chance < 0.3:
            return array.real.astype(random.choice(KINDS))  # which may be complex, after a change before
        if chance < 0.35:
            return np.frombuffer(
                array.tobytes(), dtype=random.choice(("|u1", "<u4", "<f4") if array.nbytes % 4 == 0 else ("|u1",))
            )
        changed = array.copy()
        flat = changed.reshape(-1)
        if chance < 0.45:
            at = [random.randrange(flat.size) for _ in range(2)]
            flat[at] = flat[at[::-1]]
            return changed
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            flat[random.randrange(flat.size)] = _number_of(flat.dtype, random)
        return changed


def _number_of(kind: np.dtype, random: Random) -> Any:
    number = random.choice([x for x in NUMBERS if not isinstance(x, int) or abs(x) < 1 << 64])
    if kind.kind == "f":
        return number
    if kind.kind == "b":
        return bool(number)
    number = int(number) if math.isfinite(number) and abs(number) < 1e18 else random.randrange(256)
    return np.array(number & ((1 << 8 * kind.itemsize) - 1), dtype=np.uint64).astype(f"u{kind.itemsize}").view(kind)
