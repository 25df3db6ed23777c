"""Which members the first rows choose, at the limits of the numbers of columns and classes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently.data.memory.matrix import as_matrix
from confidently.stack.choice import MANY, MANY_CLASSES, MAX_FULL, choose, look
from confidently.stack.number_choice import MAX_FULL_TERMS, choose_numbers
from confidently.views.columns import ZERO, Columns


def names(X, n_classes=2):
    return [recipe.name for recipe in choose(as_matrix(X), Columns.alike(X.shape[1], ZERO), n_classes)]


def table(columns, rows=300):
    return np.random.default_rng(0).normal(size=(rows, columns))


def test_a_narrow_table_has_so_many_columns():
    assert MANY == MAX_FULL == 128
    assert any("without unit norm" in name for name in names(table(128)))
    assert any("all covariances" in name for name in names(table(128)))
    assert not any("without unit norm" in name or "covariances on standard" in name for name in names(table(129)))


def test_members_on_quantiles_need_rows_and_products_of_bins_few_columns():
    few, many, wide, more = (
        names(table(20, 999)), names(table(20, 1000)), names(table(21, 1000)), names(table(129, 1000)),
    )  # fmt: skip
    assert not any("bins" in name or "ranks" in name for name in few)
    assert "arow with all covariances on wide cosines" in few
    assert {"logistic on bins, forget 0.03", "logistic on products of 6 bins"} <= set(many)
    assert set(many) - set(wide) == {"logistic on products of 6 bins"}
    for found in (many, wide, more):
        assert "arow with all covariances on wide cosines of ranks" in found


def test_many_columns_that_are_mostly_zero_have_cosines_of_their_values_only():
    X = table(300)
    for zeros, expected in ((0.4, True), (0.6, False)):
        mostly = np.where(np.random.default_rng(1).random(X.shape) < zeros, 0.0, X)
        assert ("arow with all covariances on wide cosines" in names(mostly)) == expected
        assert "arow on unit,cosines" in names(mostly)


def test_naive_bayes_of_words_counts_any_classes_but_their_features_only_few():
    random = np.random.default_rng(0)
    X = csr_array((random.random((400, 3000)) < 0.01).astype(float))
    assert "arow on nb" in names(X, MANY_CLASSES)
    assert "arow on nb" not in names(X, MANY_CLASSES + 1)
    assert "naive Bayes" in names(X, MANY_CLASSES + 1)


def test_zeros_that_are_stored_are_no_values():
    X = csr_array((np.random.default_rng(0).random((1200, 300)) < 0.02).astype(float))
    with_zeros = csr_array((X.data.copy(), X.indices, X.indptr), shape=X.shape)
    with_zeros.data[::3] = 0.0
    without = with_zeros.copy()
    without.eliminate_zeros()
    assert with_zeros.nnz > without.nnz
    columns = Columns.alike(300, ZERO)
    assert look(as_matrix(with_zeros), columns) == look(as_matrix(without), columns)


@pytest.mark.parametrize(("columns", "covariance"), [(33, "full"), (34, "diag")])
def test_correlations_of_products_are_learned_up_to_so_many(columns, covariance):
    """Of d columns there are d themselves and d (d + 1)/2 products, squares included."""
    terms = columns + columns * (columns + 1) // 2
    assert (terms <= MAX_FULL_TERMS) == (covariance == "full")
    [recipe] = [
        one
        for one in choose_numbers(as_matrix(table(columns)), Columns.alike(columns, ZERO))
        if one.name.endswith("products")
    ]
    assert recipe.make(1, columns, Columns.alike(columns, ZERO)).settings.covariance == covariance
