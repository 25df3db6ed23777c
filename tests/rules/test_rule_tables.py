"""The tables of rules in the documentation are those of RULES."""

import importlib.util
from pathlib import Path

import pytest

from confidently import RULES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("rule_tables", DOCS / "rule_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_rules_are_current(tables):
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page(), f"docs are stale; run: {tables.REFRESH}"


def test_the_tables_have_every_rule_and_every_parameter(tables):
    assert tables.rule_table().count("\n") == 2 + len(RULES)
    for rule in RULES.values():
        for name in rule().get_params():
            assert any(
                f"`{name}`" in line and f"`{rule.name}`" in line for line in tables.parameter_table().splitlines()
            )


@pytest.mark.parametrize(("formula", "tex"), [
    ("alpha = (1 - m)/(v + r)", r"\alpha = (1 - m)/(v + r)"),
    ("sqrt(m^2 phi^4/4 + v (1 + xi))", r"\sqrt{m^2 \phi^4/4 + v (1 + \xi)}"), ("m <= c_k", r"m \le c_k"),
    ("min(C, alpha of cw_stdev)", r"\min(C, \alpha \text{ of } \text{cw\_stdev})"),
    ("scale = noise^2", r"\text{scale} = \text{noise}^2"),
])  # fmt: skip
def test_formulas_as_tex(tables, formula, tex):
    assert tables.tex(formula) == tex
