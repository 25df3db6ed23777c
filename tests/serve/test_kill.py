"""A server that is killed at random moments: nothing that it acknowledged is lost, or learned twice."""

import pytest

from tests.serve.kills import Torture

BLOCKS = ({"covariance": "full", "view": "none"}, ("--covariance", "full", "--view", "none"))


@pytest.mark.parametrize(("settings", "options"), [({}, ()), BLOCKS], ids=["rows", "blocks"])
def test_nothing_acknowledged_is_lost_or_learned_twice(tmp_path, settings, options):
    torture = Torture(tmp_path, seed=1, settings=settings, options=options)
    for _ in range(10):
        torture.round(0.25)
    torture.check()
    assert torture.counts["kills"] == 10
    assert torture.counts["acknowledged"] > 100
    assert torture.counts["retries"] > 0
