"""One cluster for all tests that need no other one."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let all tests that use the cluster run in one process of pytest -n, so that there is one."""
    for item in items:
        if "client" in getattr(item, "fixturenames", ()) and "distributed" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="session")
def client():
    """Two worker processes; tests leave as many behind."""
    from confidently.distributed.cluster import connected

    with connected(workers=2) as client:
        yield client
