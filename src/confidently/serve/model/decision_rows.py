"""The rows of decisions: what was chosen in which context, as the log keeps it and models learn it.

A row is a JSON object with parts, of which only ``arm`` must be there::

    {"context": {...}, "slot": {...}, "arm": "news", "action": {...}}
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from ...bandits.actions import Action
from ...bandits.named_features import flat, in_slot
from ..problems import Problem
from .rows import RowCheck
from .settings import DECISIONS, ModelSettings, Setup

NO_FEATURES, BARE_ROW = b"{}", b'{"arm":0}'
MAX_REWARD = 1e6  # ranges of rewards
WRONG = (ValueError, TypeError, OverflowError, RecursionError)  # features


class DecisionRow(msgspec.Struct, forbid_unknown_fields=True):
    """The parts of a row, with its label if it has one."""

    arm: str | int
    context: dict[str, Any] = {}
    slot: dict[str, Any] = {}
    action: dict[str, Any] = {}
    label: float | str | None = None

    @property
    def features(self) -> dict[str, float]:
        """Features of the context and of the slot."""
        return in_slot(self.context, self.slot)

    def check(self) -> None:
        """Raise one of ``WRONG`` if a feature cannot be read."""
        in_slot(self.context, self.slot)
        flat(self.action)

    @property
    def chosen(self) -> Action:
        """The action."""
        return Action(str(self.arm), flat(self.action))


_decoder = msgspec.json.Decoder(DecisionRow)


def read_row(line: bytes) -> DecisionRow:
    """Return the parts of a row; a ``ValueError`` if it is none."""
    return _decoder.decode(line)


def row_of(context: bytes, slot: bytes, arm: str, features: bytes) -> bytes:
    """Return a row as a line of JSON.

    >>> row_of(b'{"hour":9}', b"{}", "news", b"{}")
    b'{"context":{"hour":9},"arm":"news"}'
    """
    parts = [_part("context", context), _part("slot", slot), b'"arm":' + msgspec.json.encode(arm)]
    return b"{" + b",".join(filter(None, [*parts, _part("action", features)])) + b"}"


def _part(name: str, line: bytes) -> bytes:
    return b"" if line == NO_FEATURES else b'"%b":%b' % (name.encode(), line)


def features_of(line: bytes, pointer: str) -> dict[str, float]:
    """Return the features in a JSON object.

    Raises
    ------
    Problem
        If it is none, or a value cannot be a feature.
    """
    if line == NO_FEATURES:
        return {}
    try:
        _objects().features(line)  # what can be decided can then be learned
        return flat(msgspec.json.decode(line))
    except WRONG as error:
        raise Problem("invalid-row", _told(error), pointer) from None
    except Problem as problem:
        raise Problem(problem.kind, problem.detail, pointer) from None


@cache
def _objects() -> RowCheck:
    """Return what checks the parts of rows."""
    setup = Setup(ModelSettings(task=DECISIONS))
    return RowCheck(setup.reading(), setup.label, "float64", setup.task)


def _told(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "a number is too large" if isinstance(error, OverflowError) else str(error)


class DecisionCheck(RowCheck):
    """Checks rows of decisions before they are accepted; no model changes. For threads.

    Parameters
    ----------
    reward_range : pair of float
        Of the model, which bounds rewards.
    """

    def __init__(self, *args: Any, reward_range: tuple[float, float]) -> None:
        super().__init__(*args)
        self._low, self._width = reward_range[0], reward_range[1] - reward_range[0]

    def _read_features(self, many: Sequence[bytes]) -> None:
        super()._read_features(many)
        for number, line in enumerate(many, 1):
            self._check(number, line)

    def _read(self, lines: Sequence[bytes]) -> None:
        super()._read(lines)
        for number, line in enumerate(lines, 1):
            reward = float(self._check(number, line).label or 0.0)
            if not abs(reward - self._low) <= MAX_REWARD * self._width:
                raise ValueError(
                    f"line {number}: the reward must be within {MAX_REWARD:g} ranges of rewards, got {reward!r}; set "
                    "reward_range"
                )

    def label(self, features: bytes, label: bytes) -> None:
        self.labelled(BARE_ROW, label)  # the reward does not depend on the features

    def _check(self, number: int, line: bytes) -> DecisionRow:
        try:
            found = read_row(line)
            found.check()
            return found
        except WRONG as error:
            raise ValueError(f"line {number}: {_told(error)}") from None
