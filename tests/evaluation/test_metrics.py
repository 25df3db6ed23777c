"""Measures of ranks equal those of scikit-learn, also where scores are equal."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_loss, roc_auc_score

from confidently.evaluation.metrics import area_under_curve, ranking_loss


@pytest.mark.parametrize("different", [2, 5, 1000])
def test_equal_scores(different):
    rng = np.random.default_rng(different)
    scores, relevant = rng.integers(0, different, (50, 6)).astype(float), rng.random((50, 6)) < 0.4
    for row, yes, lost in zip(scores, relevant, ranking_loss(scores, relevant), strict=True):
        assert lost == pytest.approx(label_ranking_loss(yes[None], row[None]))
    assert area_under_curve(scores[:, 0], relevant[:, 0]) == pytest.approx(roc_auc_score(relevant[:, 0], scores[:, 0]))
