"""The values in rule_vectors.csv, from the compiled rules and from the reference."""

import csv
import json
from pathlib import Path

import pytest

from confidently import RULES, make_rule, step
from tests.twins import reference
from tests.twins.exact_moments import exact_step, relative_error

ROWS = list(csv.DictReader((Path(__file__).parents[1] / "tables" / "rule_vectors.csv").read_text().splitlines()))
# The zeta of these rows of the table lost digits to cancellation; values: a lower bound of the relative error.
INEXACT = {("-0.3", 0.5): 1e-8, ("-0.3", 2.0): 9e-9, ("-1.1756809442379517", 2.0): 0.028}


def error_of_table(row):
    """Return the known relative error of the zeta of a row; None for all rows but three."""
    if row["rule"] != "gibbs_pa_exact":
        return None
    return INEXACT.get((row["margin"], json.loads(row["parameters"])["c"]))


def compiled(rule, m, v, **parameters):
    return step(rule, m, v, **parameters)


def plain(rule, m, v, **parameters):
    return reference.step(rule, m, v, **make_rule(rule, **parameters).get_params())


def case(row):
    return pytest.param(row, id=f"{row['rule']}-{row['parameters']}-{row['margin']}-{row['variance']}")


def arguments(row):
    return row["rule"], float(row["margin"]), float(row["variance"]), json.loads(row["parameters"])


def test_the_table_of_vectors_is_complete():
    assert len(ROWS) >= 363
    assert {row["rule"] for row in ROWS} <= set(RULES)
    assert sum(error_of_table(row) is not None for row in ROWS) == len(INEXACT)


@pytest.mark.parametrize("implementation", [compiled, plain])
@pytest.mark.parametrize("row", [case(row) for row in ROWS if error_of_table(row) is None])
def test_reproduces_the_table(row, implementation):
    rule, m, v, parameters = arguments(row)
    answer = implementation(rule, m, v, **parameters)
    if row["alpha"] == "":
        assert answer is None
    else:
        assert answer == pytest.approx([float(row[k]) for k in ("alpha", "zeta", "scale")], rel=1e-9, abs=0)


@pytest.mark.parametrize("implementation", [compiled, plain])
@pytest.mark.parametrize("row", [case(row) for row in ROWS if error_of_table(row) is not None])
def test_three_rows_of_the_table_lost_digits_and_the_rules_did_not(row, implementation):
    rule, m, v, parameters = arguments(row)
    alpha, zeta = exact_step(rule, m, v, **parameters)
    assert relative_error(float(row["zeta"]), zeta) > 0.9 * error_of_table(row)
    answer = implementation(rule, m, v, **parameters)
    assert relative_error(answer[0], alpha) < 1e-10
    assert relative_error(answer[1], zeta) < 1e-10
    assert float(row["alpha"]) == pytest.approx(answer[0], rel=1e-9, abs=0)
    assert answer[2] == float(row["scale"]) == 1.0


@pytest.mark.parametrize("rule", ["cw_stdev", "cw_var", "scw1", "scw2"])
def test_the_reference_survives_a_step_far_longer_than_the_deviation(rule):
    """sqrt(u) as Crammer et al. print it cancels to 0 there, and zeta would be infinite."""
    assert plain(rule, -1e3, 1e-12) == pytest.approx(compiled(rule, -1e3, 1e-12), rel=1e-9)


def test_steps_of_gibbs_pa_exact_underflow_alike():
    margins = [1 + deviations / 4 for deviations in range(100, 200)]
    acts = [compiled("gibbs_pa_exact", m, 1.0) is not None for m in margins]
    assert acts == [plain("gibbs_pa_exact", m, 1.0) is not None for m in margins]
    assert True in acts and False in acts
