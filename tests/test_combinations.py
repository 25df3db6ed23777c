"""The choice of combinations that are not long."""

from itertools import combinations, product

import pytest

from tests.combinations import choice, few

CASES = [case for case in product("abc", range(4), [None, {}, []], [True, False], "xy") if case[:2] != ("a", 0)]


def together(cases, n):
    """What comes together in some case: the values of each n parameters."""
    return {(at, *(repr(case[i]) for i in at)) for case in cases for at in combinations(range(5), n)}


@pytest.mark.parametrize(("n", "most"), [(1, 4), (2, 18), (3, 55)])
def test_all_values_that_come_together_are_chosen(n, most):
    chosen = [CASES[k] for k in choice(CASES, n)]
    assert together(chosen, n) == together(CASES, n)
    assert len(chosen) <= most < len(CASES) / 2


def test_the_others_are_long():
    parameters = few(CASES)
    assert [parameter.values for parameter in parameters] == CASES
    assert {k for k, parameter in enumerate(parameters) if not parameter.marks} == choice(CASES, 2)
    assert {mark.name for parameter in parameters for mark in parameter.marks} == {"long"}
