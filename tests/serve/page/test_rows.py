"""The table of rows and the page of one row: search, filters, links, corrections, erasure."""

import pytest

from tests.serve.page.acts import fits, labels, messages, offer, post_lines, teach
from tests.serve.running import wait_until

LONG = {"row-long": {"text": "prize " * 900, "w" * 80: "x" * 200}, "row-arabic": {"text": "مرحبا بكم " * 30}}


@pytest.fixture(scope="module")
def filled(server):
    """A model with rows of every state: 60 learned ones, 100 that wait, 20 of them with labels."""
    teach(server, "rows", n=60)
    offer(server, "rows", messages(100) | LONG)
    given = [
        {"id": f"row-{k}", "label": ("ham", "spam")[k % 2], "labeller": ("ann", "bob")[k % 4 < 2]} for k in range(20)
    ]
    with server.client() as client:
        post_lines(client, "/v1/models/rows/labels?wait=learned", given)
        client.delete("/v1/models/rows/examples/row-30").raise_for_status()


def shown(page):
    """What the table shows."""
    page.wait_for_function("() => document.querySelector('.told')?.innerText.includes('Searching') === false")
    return page.locator(".row-link").all_inner_texts()


def facet(page, group, name):
    counts = page.get_by_role("complementary", name="Counts").locator("section", has_text=group)
    return counts.locator(".facet", has_text=name)


def test_every_state_of_the_table_has_an_address(server, filled, visit):
    visitor = visit()
    page = visitor.open("/#/m/rows")
    page.get_by_role("link", name="Rows", exact=True).click()
    page.get_by_text("161 rows").wait_for()  # the erased one is not among them
    assert len(shown(page)) == 50
    facet(page, "State", "unlabelled").click()
    page.get_by_text("81 rows").wait_for()
    facet(page, "Predicted", "spam").click()
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 2")
    page.keyboard.press("/")
    page.keyboard.type("winner ROW-7")
    page.wait_for_url("**text=winner*ROW-7*")  # not one in the middle of typing
    found = shown(page)
    assert 0 < len(found) < 10 and all("winner" in text for text in found)
    address = page.url
    other = visitor.open(address.removeprefix(visitor.url))
    assert shown(other) == found and other.get_by_label("Search rows").input_value() == "winner ROW-7"
    page.get_by_label("Remove the filter Predicted spam").click()
    page.get_by_label("Remove the filter State unlabelled").click()
    page.wait_for_url(lambda url: "state" not in url)
    page.go_back()
    page.wait_for_url(lambda url: "state=unlabelled" in url and "predicted" not in url)
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 1")  # the address changes first
    assert page.locator(".chip").all_inner_texts() == ["State unlabelled ×"]


def test_older_rows_follow_and_no_row_is_shown_twice(server, filled, visit):
    page = visit().open("/#/m/rows/rows")
    links = []
    while True:
        shown(page)
        links += [one.get_attribute("href") for one in page.locator(".row-link").all()]
        older = page.get_by_role("link", name="Older rows")
        if not older.count():
            break
        address = page.url
        older.click()
        page.wait_for_url(lambda url, before=address: url != before)
    assert len(links) == 161 and len({link.partition("?")[0] for link in links}) == 161
    page.get_by_role("link", name="Newest rows").click()
    page.get_by_text("161 rows").wait_for()


def test_past_answers_are_reviewed_and_corrected_by_keyboard(server, filled, visit):
    page = visit().open("/#/m/rows/rows?by=ann&state=labelled")
    shown(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_text("2 of 10 in this list").wait_for()
    id = page.url.partition("/row/")[2].partition("?")[0]
    before = page.locator("#label").input_value()
    after = {"ham": "spam", "spam": "ham"}[before]
    page.evaluate("localStorage.setItem('confidently.name', 'cy')")
    page.keyboard.press("c")
    page.keyboard.type(after)
    page.keyboard.press("Enter")
    page.get_by_role("region", name="History").get_by_text(f"Corrected to {after} by cy").wait_for()
    assert labels(server, "rows")[id] == [before, after]
    page.keyboard.press("k")
    page.get_by_text("1 of 10 in this list").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url("**/rows?*by=ann*")
    assert len(shown(page)) == 9  # the one that was corrected is now of another person


def test_a_new_class_is_added_only_when_it_is_confirmed(server, filled, visit):
    page = visit().open("/#/m/rows/row/row-41")
    page.get_by_label("Label it").fill("spm")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("spm: new to the model.").wait_for()
    assert "row-41" not in labels(server, "rows")
    page.get_by_label("Label it").fill("spam")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Correct it").wait_for()
    assert labels(server, "rows")["row-41"] == ["spam"]


def test_a_row_is_erased_after_a_question(client, filled, visit):
    page = visit().open("/#/m/rows/row/row-50")
    page.get_by_role("heading", name="The model says now").wait_for()
    page.get_by_role("button", name="Erase the row").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Erase the row").click()
    page.get_by_role("dialog").get_by_role("button", name="Erase").click()
    page.get_by_text("This row was erased.").wait_for()
    assert client.get("/v1/models/rows/rows/row-50").json()["state"] == "erased"


def test_new_rows_are_shown_when_they_are_asked_for(server, client, visit):
    teach(server, "growing", n=4)
    page = visit().open("/#/m/growing/rows")
    page.get_by_text("4 rows", exact=True).wait_for()
    offer(server, "growing", {"row-new": {"text": "hello"}})
    post_lines(client, "/v1/models/growing/labels?wait=learned", [{"id": "row-new", "label": "ham"}])
    page.get_by_role("button", name="Show new rows").click()
    page.get_by_text("5 rows", exact=True).wait_for()
    assert "hello" in shown(page)[0]


def test_a_search_without_a_match_says_so_and_a_wrong_address_too(server, filled, visit):
    page = visit(expected=("404", "422")).open("/#/m/rows/rows?text=nowhere")
    page.get_by_text("No row matches.").wait_for()
    for path, text in (
        ("/#/m/rows/row/none", "no row has the id 'none'"),
        ("/#/m/nobody/rows", "There is no model nobody."),
        ("/#/m/rows/rows?state=lost", "state: expected one of stored"),
    ):
        page.goto(server.url + path)
        page.get_by_text(text).wait_for()


def test_ids_with_slashes_and_questions_have_pages(server, visit):
    teach(server, "odd", n=4)
    offer(server, "odd", {"a/b?c#d%&": {"text": "hello"}})
    page = visit().open("/#/m/odd/rows?state=unlabelled")
    page.locator(".row-link").click()
    page.get_by_text("Id a/b?c#d%&").wait_for()


@pytest.mark.long("axe looks at six views twice")
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_views_fit_and_axe_finds_nothing(server, filled, visit, theme, width):
    page = visit(viewport={"width": width, "height": 800}, color_scheme=theme).open()
    for path, ready in [
        ("/rows", ".facet"), ("/rows?outcome=wrong&label=ham&text=lunch", ".chip"), ("/row/row-1", ".bar"),
        ("/row/row-long", ".bar"), ("/row/row-arabic", ".bar"), ("/row/row-30", ".moments"),
    ]:  # fmt: skip
        page.goto(f"{server.url}/#/m/rows{path}")
        page.wait_for_selector(ready, state="attached")
        wait_until(lambda: not page.get_by_text("Searching …").count())
        fits(page, path)


def test_labels_are_shown_as_edited_and_what_was_given_beside_them(server, client, visit):
    teach(server, "edited")
    rows = [{"id": f"typo-{k}", "features": {"text": "cash"}, "label": "spm"} for k in range(3)]
    post_lines(client, "/v1/models/edited/learn?wait=learned", rows)
    rows = [{"id": f"wrong-{k}", "features": {"text": "lunch"}, "label": "spam"} for k in range(2)]
    post_lines(client, "/v1/models/edited/learn?wait=learned&batch=wrong.csv", rows)
    edits = "/v1/models/edited/edits?wait=live"
    client.post(edits, json={"from": "spm", "to": "spam"}).raise_for_status()
    client.delete("/v1/models/edited/batches/wrong.csv?wait=live").raise_for_status()
    page = visit().open("/#/m/edited/rows?label=spam&text=typo")
    page.get_by_text("3 rows", exact=True).wait_for()
    cell = page.locator("tbody tr").first.get_by_role("cell").nth(1).inner_text()
    assert cell.split("\n") == ["spam", "given as spm"]
    page.locator(".row-link").first.click()
    label = page.get_by_role("region", name="Label")
    label.get_by_text("Given as").wait_for()
    assert page.get_by_label("Correct it").input_value() == "spam"
    page.goto(f"{server.url}/#/m/edited/rows")
    facet(page, "State", "taken out").click()
    page.get_by_text("2 rows", exact=True).wait_for()
    cell = page.locator("tbody tr").first.get_by_role("cell").nth(1).inner_text()
    assert cell.split("\n") == ["taken out", "given as spam"]
