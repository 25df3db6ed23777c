"""JSON from files: everything that is not of the expected type is one ValueError."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Required, TypedDict

import pytest

from confidently.data.sources.json_schema import Count, FileText, Interval, conform, parse


class Point(NamedTuple):
    x: float
    name: str


@dataclass
class Whole:
    points: list[Point]
    kind: Literal["a", "b"]
    n: Count = 0
    more: dict[str, Any] = field(default_factory=dict)


class Typed(TypedDict, total=False):
    x: Required[int]
    y: str


GOOD = {"points": [[1, "one"], [2.5, "two"]], "kind": "a", "unknown": 1}


def test_objects_become_what_they_stand_for():
    assert conform(GOOD, Whole) == Whole([Point(1, "one"), Point(2.5, "two")], "a")
    assert conform([1, 2, 3], tuple[int, ...]) == (1, 2, 3)
    assert conform([1, None], tuple[int, str | None]) == (1, None)
    assert conform({"x": 1, "z": 2}, Typed) == {"x": 1}
    assert conform("\udcff", FileText) == "\udcff"


BAD = [
    ([], Whole, "it: expected an object, got"), ({"kind": "a"}, Whole, "it has no 'points'"),
    (GOOD | {"kind": []}, Whole, "it.kind: expected one of"), (GOOD | {"kind": "c"}, Whole, "it.kind: expected one of"),
    (GOOD | {"n": -1}, Whole, "it.n: expected"), (GOOD | {"n": True}, Whole, "it.n: expected an integer, got True"),
    (GOOD | {"n": 1.0}, Whole, "it.n: expected an integer, got 1.0"), (GOOD | {"n": 10**19}, Whole, "it.n: expected"),
    (GOOD | {"n": 10**400}, Whole, "it.n: expected"), (GOOD | {"more": [1]}, Whole, "it.more: expected an object"),
    (GOOD | {"more": {"\ud800": 1}}, Whole, "it.more: expected text"),
    (GOOD | {"points": [[1, "one"], [2]]}, Whole, r"it.points\[1\]: expected a list of 2"),
    (GOOD | {"points": [[1, "\ud800"]]}, Whole, r"it.points\[0\]\[1\]: expected text"),
    (GOOD | {"points": [[float("nan"), ""]]}, Whole, r"it.points\[0\]\[0\]: expected a finite number, got nan"),
    (GOOD | {"points": [[10**400, ""]]}, Whole, r"it.points\[0\]\[0\]: expected a finite number"),
    (GOOD | {"points": {"a": 1}}, Whole, "it.points: expected a list"), ({"y": "a"}, Typed, "it has no 'x'"),
    ({"x": 1, "y": 1}, Typed, "it.y: expected text"), ([1, "x"], list[int | None], r"it\[1\]: expected null"),
    ("\ud800", FileText, "it: expected text"), (2, Annotated[int, Interval(0, 1)], "it: expected"),
    ([1], tuple[int, int], "it: expected a list of 2"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "problem"), BAD)
def test_what_is_of_another_type_is_refused(value, kind, problem):
    with pytest.raises(ValueError, match=problem) as error:
        conform(value, kind)
    assert len(str(error.value)) < 400 and "\n" not in str(error.value)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError):
        parse(text, list[int])
