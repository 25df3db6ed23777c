"""Features with names, as contexts and actions have them: numbered as they appear, and scaled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.file import checked_arrays
from ..tasks.targets import MAX_TARGET

Floats = NDArray[np.float64]
NUMBERS, MAPPINGS = (int, float, np.number, np.bool_), (dict, Mapping)  # a dict is faster to see
CONSTANT = 0  # the column of a feature that every row has, with the value 1


class NamedRow(NamedTuple):
    """A row [1, x]: ascending columns with their values; ``unknown``: the sum of squares of features not numbered."""

    columns: NDArray[np.int32]
    values: Floats
    unknown: float

    @property
    def square(self) -> float:
        """The squared length, with the features that are not numbered."""
        return float(self.values @ self.values) + self.unknown


def flat(features: Any) -> dict[str, float]:
    """Return the values of features by name, given as JSON has them.

    Numbers keep their values, and true and false are 1 and 0. A text is a feature of its own with the value 1,
    "name=text". Names in objects inside objects are joined by dots. Texts and objects in an array have the name of the
    array, and numbers also their positions. Null is left out. Values of one name are added.

    Raises
    ------
    ValueError, TypeError
        For a number that is not finite or beyond 1e50 in size, or a value that JSON does not have.

    Examples
    --------
    >>> flat({"age": 30, "city": "Rome", "tags": ["new", "red"], "at": {"night": True}})
    {'age': 30.0, 'city=Rome': 1.0, 'tags=new': 1.0, 'tags=red': 1.0, 'at.night': 1.0}
    """
    found: dict[str, float] = {}
    try:
        values = [*_named(features, "")]
    except RecursionError:
        raise ValueError("features are nested too deeply") from None
    for name, value in values:
        if not abs(value) <= MAX_TARGET:
            raise ValueError(f"feature {name!r} must be finite and at most {MAX_TARGET:g} in size, got {value!r}")
        found[name] = found.get(name, 0.0) + value
    return found


def _named(features: Any, name: str) -> Iterator[tuple[str, float]]:
    """Yield names and values of features below a name."""
    if isinstance(features, str):
        yield (f"{name}={features}" if name else features), 1.0
    elif isinstance(features, NUMBERS):
        yield name, float(features)
    elif isinstance(features, MAPPINGS):
        for key, value in features.items():
            yield from _named(value, f"{name}.{key}" if name else str(key))
    elif isinstance(features, list | tuple | np.ndarray):
        for k, value in enumerate(features):
            is_number = isinstance(value, int | float | np.number)
            yield from _named(value, (f"{name}.{k}" if name else str(k)) if is_number else name)
    elif features is not None:
        raise TypeError(f"feature {name!r}: expected a number, a text, a list or an object, got {features!r}")


def in_slot(context: Any, slot: Any) -> dict[str, float]:
    """Return the context of a choice for a slot: features of the context, and below "slot" those of the slot.

    Examples
    --------
    >>> in_slot({"age": 30}, {"place": "top"})
    {'age': 30.0, 'slot.place=top': 1.0}
    """
    found = flat(context)
    return found if isinstance(slot, dict) and not slot else found | flat({"slot": slot})


class FeatureNames:
    """Numbers of features from 1 (0 is the constant), and their scales.

    The scale of a feature is the least power of two, from 1 on, that its values so far do not exceed, and a row longer
    than 1 is scaled to length 1, so that the prior fits whatever units features have.
    """

    def __init__(self, names: Sequence[str] = (), scales: Sequence[float] = (1.0,)) -> None:
        self.columns = {name: column for column, name in enumerate(names, start=1)}
        self.scales = list(scales)

    @classmethod
    def restored(cls, names: Sequence[str], scales: NDArray[np.float64]) -> FeatureNames:
        """Return the features of a file; ``ValueError``: they do not fit together."""
        checked_arrays({"scales": scales}, {"scales": ((len(names) + 1,), "float64")})
        if len(set(names)) < len(names) or scales[CONSTANT] != 1.0 or scales.min() < 1.0:
            raise ValueError("the names of features do not fit their scales")
        return cls(names, scales.tolist())

    def __len__(self) -> int:
        """Return the number of columns, with the constant."""
        return len(self.scales)

    def row(self, features: Mapping[str, float]) -> NamedRow:
        """Return the row of features, as :func:`flat` names them."""
        known, unknown = [(CONSTANT, 1.0)], 0.0
        for name, value in features.items():
            column = self.columns.get(name)
            if column is not None:
                known.append((column, value / self.scales[column]))
            elif value:
                unknown += (value / _scale(value)) ** 2
        known.sort()
        found = np.array([value for _, value in known])
        square = float(found[1:] @ found[1:]) + unknown
        if square > 1.0:
            found[1:] /= math.sqrt(square)
            unknown /= square
        return NamedRow(np.array([column for column, _ in known], dtype=np.int32), found, unknown)

    def add(self, features: Mapping[str, float]) -> list[tuple[int, float]]:
        """Number new features; return the columns whose scale changes, and the factors of their weights."""
        factors = []
        for name, value in features.items():
            column = self.columns.get(name)
            if column is None:
                if value:
                    self.columns[name] = len(self.scales)
                    self.scales.append(_scale(value))
            elif abs(value) > self.scales[column]:
                scale = _scale(value)
                factors.append((column, scale / self.scales[column]))
                self.scales[column] = scale
        return factors


def _scale(value: float) -> float:
    """Return the smallest power of two from 1 on that a value does not exceed in size."""
    fraction, exponent = math.frexp(abs(value))
    return math.ldexp(1.0, max(exponent - (fraction == 0.5), 0))
