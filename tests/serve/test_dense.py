"""Models with dense covariances learn blocks of rows; however rows come in, the model is that of ``train``."""

import pytest

from confidently.serve.model.served import ROWS_FOR_PRODUCTS, ServedModel
from confidently.serve.model.settings import ModelSettings
from tests.serve.rows import examples, made, trained


@pytest.mark.long("a stack of 1,100 rows")
def test_a_stack_that_learns_row_by_row_is_that_of_train(tmp_path):
    """Beyond the rows that decide, its members with dense covariances continue their blocks, too."""
    rows = made(1100, "numbers", seed=2)
    model, given = ServedModel(ModelSettings(auto=True)), examples(rows)
    model.learn(given[:990])
    for one in given[990:]:
        model.learn([one])
    assert any(member.by_products for member in model.stream.learner.members if hasattr(member, "by_products"))
    model.model().save(tmp_path / "served.cw")
    assert (tmp_path / "served.cw").read_bytes() == trained(tmp_path, rows, "--auto")


@pytest.mark.parametrize(("d", "least"), [(10, 1), (120, ROWS_FOR_PRODUCTS)])
def test_rows_of_products_wait_for_others(d, least):
    """Only where they are learned by products: a matrix of few columns learns row by row."""
    model = ServedModel(ModelSettings(covariance="full", view="none"))
    rows = [({f"f{j}": (j + k) % 7 for j in range(d)}, "ab"[k % 2]) for k in range(20)]
    model.learn(examples(rows))
    assert model.least_rows == least
