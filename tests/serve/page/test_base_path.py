"""The page below a path of a proxy: all of its addresses are relative."""

import re
from pathlib import Path

import pytest

from tests.serve.page.acts import labels, messages, offer, outbox, shown_id, teach
from tests.serve.running import running, wait_until
from tests.serve.test_tokens import token_file

PAGE = Path(__file__).parents[3] / "src" / "confidently" / "serve" / "page"
ABSOLUTE = re.compile(r"""["'`]/(v1|session|docs|page|openapi|livez|readyz|metrics)|(?:href|src)="/""")


@pytest.mark.parametrize(
    "path", sorted(path for path in PAGE.rglob("*.*") if path.suffix != ".svg"), ids=lambda p: p.name
)
def test_no_address_begins_at_the_root(path):
    modules = re.sub(r'modelPath\([^)]*\)|replace\("[^)]*\)|"/openapi.json"\)', "", path.read_text(encoding="utf-8"))
    assert not ABSOLUTE.search(modules), ABSOLUTE.search(modules)


@pytest.fixture(scope="module")
def below(tmp_path_factory, browser):
    """A server below a path, with a model and rows to label."""
    with running(tmp_path_factory.mktemp("below") / "served", "--public-url", "http://localhost/team/learn/") as found:
        teach(found, "filled", n=60)
        offer(found, "filled", messages(30))
        yield found


@pytest.mark.long("a server of its own, and each view in the browser")
def test_every_view_works_below_a_path(below, visit):
    visitor = visit(below.url)
    page, asked = visitor.open("/team/learn"), []
    visitor.context.on("request", lambda request: asked.append(request.url))
    assert page.url == f"{below.url}/team/learn/"
    for path, ready in [
        ("#/", ".spark path"), ("#/m/filled", ".chart .line"), ("#/m/filled/explain", ".bar"), ("#/add", ".drop"),
        ("docs", ".operation"), ("#/m/filled/label", ".row-card[data-row]"),
    ]:  # fmt: skip
        page.goto(f"{below.url}/team/learn/{path}")
        page.wait_for_selector(ready, state="attached")
    before = shown_id(page)
    page.keyboard.press("1")
    page.wait_for_function("(id) => document.querySelector('.row-card')?.dataset.row !== id", arg=before)
    assert outbox(page) == 0, "those of a server at the root of this host are others"
    wait_until(lambda: before in labels(below, "filled"))
    page.goto(f"{below.url}/team/learn/docs")
    assert f"curl {below.url}/team/learn/v1/models/spam/predict" in page.locator("main").inner_text()
    page.get_by_role("link", name="Models", exact=True).click()
    page.wait_for_selector(".spark path", state="attached")
    assert page.url == f"{below.url}/team/learn/#/"
    assert asked and all(url.startswith(f"{below.url}/team/learn/") for url in asked)


def test_a_session_below_a_path(tmp_path, visit):
    path, [token] = token_file(tmp_path, "admin,predict")
    with running(tmp_path / "served", "--token-file", path, "--public-url", "http://localhost/team/learn") as server:
        visitor = visit(server.url, expected=("401",))
        page = visitor.open("/team/learn/")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Live").wait_for()
        [cookie] = visitor.context.cookies()
        assert cookie["path"] == "/team/learn/"
        page.close()
