"""A browser, a server for the tests of a file, and visitors."""

import pytest

from tests.serve.page.browser import Visit, launched
from tests.serve.running import running


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, which need a process without other event loops."""
    for item in items:
        if item.nodeid.startswith("tests/serve/page/"):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory, browser):
    with running(tmp_path_factory.mktemp("page") / "served") as found:
        yield found


@pytest.fixture(scope="module")
def client(server):
    with server.client() as found:
        yield found


@pytest.fixture
def visit(browser, server):
    """Makes visitors of the server."""
    made = []

    def make(url=server.url, **options):
        made.append(Visit(browser, url, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
