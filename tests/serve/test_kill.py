"""A server that is killed at random moments: nothing that it acknowledged is lost, or learned twice."""

import pytest

from tests.serve.kills import Torture

NUMBERS = ({"task": "numbers"}, ("--regression", "--rule", "ridge"))
DECISIONS = ({"task": "decisions"}, ())
BLOCKS = ({"covariance": "full", "view": "none"}, ("--covariance", "full", "--view", "none"))


@pytest.mark.long("ten kills")
@pytest.mark.parametrize(
    ("settings", "options"), [({}, ()), BLOCKS, NUMBERS, DECISIONS], ids=["rows", "blocks", "numbers", "decisions"]
)
def test_nothing_acknowledged_is_lost_or_learned_twice(tmp_path, settings, options):
    torture = Torture(tmp_path, seed=1, settings=settings, options=options)
    for _ in range(10):
        torture.round(0.25)
    torture.check()
    assert torture.counts["kills"] == 10
    assert torture.counts["acknowledged"] > 100
    assert torture.counts["retries"] > 0


@pytest.mark.parametrize(
    ("kills", "erasing"),
    [(1, True), *(pytest.param(10, erasing, marks=pytest.mark.long("ten kills")) for erasing in (False, True))],
)
def test_a_model_that_is_changed_meanwhile(tmp_path, kills, erasing):
    """Promotions, rollbacks, edits, erasures and backups: the model is that of the edited rows that are left."""
    torture = Torture(tmp_path, seed=2, changing=True, erasing=erasing)
    for _ in range(kills):
        torture.round(0.5)
    torture.check()
    assert torture.counts["kills"] == kills
    assert torture.counts["steps"] > kills
