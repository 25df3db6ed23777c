"""Clusters for all tests that need no other one: two workers in threads of this process, or in processes."""

import warnings
from contextlib import ExitStack
from functools import cache

import pytest

cluster = ExitStack()


def pytest_runtest_teardown(item, nextitem):
    """Stop the clusters after the last test here, since they take processor time as long as they wait."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        cluster.close()
        started.cache_clear()
        in_threads.cache_clear()


@cache
def started():
    from confidently.distributed.cluster import connected

    return cluster.enter_context(connected(workers=2))


@cache
def in_threads():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from distributed import Client, LocalCluster

    how = {"processes": False, "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}  # what is sent is copied
    workers = cluster.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, **how))
    return cluster.enter_context(Client(workers))


@pytest.fixture
def client():
    """Of two workers in this process, which begin at once."""
    return in_threads()


@pytest.fixture
def processes():
    """Of two worker processes; tests leave as many behind."""
    return started()
