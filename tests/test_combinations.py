"""The choice of combinations that are not long."""

from itertools import combinations, product

import pytest

from tests.combinations import choice

CASES = [case for case in product("abc", range(4), [None, ({}, 1), []], [True, False], "xy") if case[:2] != ("a", 0)]


def together(cases, n):
    """What comes together in some case: the values of each n parameters."""
    return {(at, *(repr(case[i]) for i in at)) for case in cases for at in combinations(range(5), n)}


@pytest.mark.parametrize(("n", "most"), [(1, 4), (2, 18), (3, 55)])
def test_all_values_that_come_together_are_chosen(n, most):
    chosen = [CASES[k] for k in choice(CASES, n)]
    assert together(chosen, n) == together(CASES, n)
    assert len(chosen) <= most


def test_of_fewer_parameters_all_are_chosen():
    assert choice([("a",), ("b",), ("a",)], 2) == {0, 1}


@pytest.mark.few(1)
@pytest.mark.parametrize("second", "abcd")
@pytest.mark.parametrize("first", range(4))
def test_the_others_are_long(request, first, second):
    is_long = request.node.get_closest_marker("long") is not None
    assert is_long == (first != "abcd".index(second))
