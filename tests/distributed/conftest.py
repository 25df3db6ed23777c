"""One cluster for all tests that need no other one."""

from contextlib import ExitStack
from functools import cache

import pytest

cluster = ExitStack()


def pytest_runtest_teardown(item, nextitem):
    """Stop the cluster after the last test here, since it takes processor time as long as it waits."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        cluster.close()
        started.cache_clear()


@cache
def started():
    from confidently.distributed.cluster import connected

    return cluster.enter_context(connected(workers=2))


@pytest.fixture
def client():
    """Of two worker processes; tests leave as many behind."""
    return started()
