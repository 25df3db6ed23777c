"""The page for everybody: widths, themes, keyboard, screen readers; and nothing but text in rows."""

import re
from pathlib import Path

import pytest

from tests.serve.page.acts import fits, messages, offer, shown_id, teach
from tests.serve.page.files import drop, table

PAGE = Path(__file__).parents[3] / "src" / "confidently" / "serve" / "page"


@pytest.fixture(scope="module")
def filled(server):
    """A model of which every view shows something."""
    teach(server, "filled", n=60)
    with server.client() as client:
        client.put("/v1/models/filled", json={"rule": "scw1", "reading": {"text": ["text"]}}).raise_for_status()
        row = {"features": {"text": "late"}, "label": "ham"}
        client.post("/v1/models/filled/learn?wait=learned&batch=march.csv", json=row).raise_for_status()
        client.delete("/v1/models/filled/batches/march.csv?wait=live").raise_for_status()
        client.post("/v1/models/filled/edits?wait=live", json={"from": "ham", "to": "good"}).raise_for_status()
        client.post("/v1/models/filled/edits?wait=live", json={"from": "good", "to": "ham"}).raise_for_status()
    offer(server, "filled", messages(30) | {"row-long": {"text": "prize " * 40, "w" * 120: "x" * 200}})


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 400)])
def test_views_fit_and_axe_finds_nothing(server, filled, visit, theme, width):
    page = visit(viewport={"width": width, "height": 800}, color_scheme=theme).open()
    for path, ready in [
        ("/#/", ".spark path"), ("/#/m/filled", ".chart .line"), ("/#/m/filled/label", ".row-card[data-row]"),
        ("/#/m/filled/explain", ".bar"), ("/#/m/filled/versions", ".edits"), ("/#/m/filled/rows", ".facet"),
        ("/#/add", ".drop"), ("/docs", ".operation"),
    ]:  # fmt: skip
        page.goto(f"{server.url}{path}")
        page.wait_for_selector(ready, state="attached")
        if path == "/#/add":
            drop(page, "some.csv", table(5))
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        fits(page, path)


def test_the_switch_of_the_theme_lasts(visit):
    page = visit(color_scheme="light").open()
    page.get_by_role("button", name="Switch to the dark theme").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_keyboard_reaches_the_content(filled, visit):
    page = visit().open("/#/m/filled/label")
    shown_id(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'main'")
    here = shown_id(page)
    button = page.get_by_role("button", name="Skip", exact=True)
    button.focus()
    page.keyboard.press(" ")  # presses the button, and only that
    assert shown_id(page) != here
    assert page.evaluate("document.activeElement.className") == "row-card"


def test_files_are_served_with_a_policy_and_have_nothing_inline(client):
    for path in sorted(PAGE.rglob("*.*")):
        answer = client.get(f"/page/{path.relative_to(PAGE)}")
        assert answer.content == path.read_bytes()
        assert "script-src 'self'; style-src 'self'" in answer.headers["content-security-policy"]
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        if path.suffix == ".html":
            assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", text), path
        if path.suffix == ".js":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), path
    for path in ("../app.py", "%2e%2e/app.py", "js/../../app.py", "js%2f..%2f..%2fapp.py", "", "js", "none.js"):
        assert client.get(f"/page/{path}").status_code == 404, path


EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def test_markup_in_rows_ids_and_classes_stays_text(server, client, visit):
    client.put("/v1/models/evil", json={"reading": {"text": ["text"]}}).raise_for_status()
    for label in (EVIL, "ham"):
        body = {"features": {"text": EVIL, EVIL: EVIL}, "label": label}
        client.post("/v1/models/evil/learn?wait=learned", json=body).raise_for_status()
    offer(server, "evil", {EVIL: {"text": EVIL, EVIL: 1}})
    visitor = visit()
    for view in ("", "/label", "/explain"):
        page = visitor.open(f"/#/m/evil{view}")
        page.wait_for_function("(text) => document.querySelector('main').innerText.includes(text)", arg=EVIL)
        if view == "/label":
            assert shown_id(page) == EVIL
            page.keyboard.press("a")
            page.keyboard.press("Backspace")
            assert shown_id(page) == EVIL
            page.keyboard.press("a")
        assert page.locator("main script, main img").count() == 0
        assert "owned" not in page.title()


def test_a_name_that_is_no_model(visit):
    page = visit(expected=("404",)).open("/#/m/nobody")
    page.get_by_text("There is no model nobody.").wait_for()
