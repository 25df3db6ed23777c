"""Measures of ranks equal those of scikit-learn, also where scores are equal, and those of sets their definition."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_loss, roc_auc_score

from confidently.evaluation.metrics import GroupMetrics, SetMetrics, area_under_curve, ranking_loss


@pytest.mark.parametrize("different", [2, 5, 1000])
def test_equal_scores(different):
    rng = np.random.default_rng(different)
    scores, relevant = rng.integers(0, different, (50, 6)).astype(float), rng.random((50, 6)) < 0.4
    for row, yes, lost in zip(scores, relevant, ranking_loss(scores, relevant), strict=True):
        assert lost == pytest.approx(label_ranking_loss(yes[None], row[None]))
    assert area_under_curve(scores[:, 0], relevant[:, 0]) == pytest.approx(roc_auc_score(relevant[:, 0], scores[:, 0]))


def test_sets_are_measured_however_rows_are_cut():
    """The lowest and highest coverage are those of all windows of a thousand rows, and unknown classes are missed."""
    random = np.random.default_rng(0)
    n = 3700
    sets, classes = random.random((n, 4)) < 0.6, random.integers(-1, 4, n)
    true, unknown = classes[:, None] == np.arange(4), (classes < 0).astype(int)
    metrics, first = SetMetrics(0.9, 4), 0
    for rows in (1, 700, 299, 1500, 1200):
        metrics.add(sets[first : first + rows], true[first : first + rows], unknown[first : first + rows])
        first += rows
    covered = (sets & true).any(axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(covered, 1000).mean(axis=1)
    assert first == n and metrics.result() == {
        "probability": 0.9, "coverage": pytest.approx(covered.mean()), "lowest": pytest.approx(windows.min()),
        "highest": pytest.approx(windows.max()), "mean_size": pytest.approx(sets.sum(axis=1).mean()),
    }  # fmt: skip
    for k, found in enumerate(metrics.by_class()):
        own = classes == k
        assert found == {
            "coverage": pytest.approx(sets[own, k].mean()), "mean_size": pytest.approx(sets[own].sum(axis=1).mean()),
        }  # fmt: skip


def test_groups_are_means_of_their_rows_however_rows_are_cut():
    generator, n = np.random.default_rng(0), 400
    values = generator.integers(0, 80, n).astype(str)
    error, inside, true = generator.random(n), generator.integers(0, 3, n), generator.integers(0, 4, n)
    metrics = GroupMetrics()
    for first in range(0, n, 37):
        cut = slice(first, first + 37)
        metrics.add(values[cut], {"error": error[cut], "coverage": inside[cut]}, {"coverage": true[cut]})
    kept = list(dict.fromkeys(values))[:64]
    found = metrics.result()
    assert [one["value"] for one in found] == [*sorted(kept, key=int), None]
    for one in found:
        own = values == one["value"] if one["value"] is not None else ~np.isin(values, kept)
        assert one["rows"] == own.sum()
        assert one["error"] == pytest.approx(error[own].mean())
        coverage = inside[own].sum() / true[own].sum() if true[own].any() else None
        assert one["coverage"] == (None if coverage is None else pytest.approx(coverage))
