"""Versions side by side, promotion, batches that are taken out, classes that are corrected: on the page."""

from tests.serve.page.acts import WORDS, post_lines, teach
from tests.serve.running import wait_until


def facts(server, name):
    with server.client() as client:
        return client.get(f"/v1/models/{name}").json()


def test_other_settings_are_tried_promoted_and_taken_back(server, visit):
    teach(server, "tried")
    page = visit().open("/#/m/tried")
    page.get_by_role("link", name="Versions").click()
    page.get_by_text("Try other settings").click()
    page.get_by_label("Settings, a JSON object").fill('{"rule": "scw1"')
    page.get_by_role("button", name="Train a shadow").click()
    page.get_by_text("The settings are not JSON").wait_for()
    page.get_by_label("Settings, a JSON object").fill('{"rule": "scw1", "reading": {"text": ["text"]}}')
    assert not page.get_by_role("button", name="Roll back").count()
    page.get_by_role("button", name="Train a shadow").click()
    shadow = page.get_by_role("row", name="2 other settings")
    shadow.get_by_text("follows, does not answer").wait_for()
    page.locator(".chart .second").first.wait_for(state="attached")  # of the second version
    shadow.get_by_role("button", name="Promote").click()
    page.get_by_role("dialog").get_by_role("button", name="Promote").click()
    page.get_by_role("row", name="2 other settings").get_by_text("answers").first.wait_for()
    wait_until(lambda: facts(server, "tried")["version"] == 2)
    page.get_by_role("button", name="Roll back to version 1").click()
    wait_until(lambda: facts(server, "tried")["version"] == 1)
    page.get_by_role("row", name="1 made").get_by_text("answers").first.wait_for()
    page.get_by_role("row", name="2 other settings").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("only its settings are kept").wait_for()
    assert facts(server, "tried")["others"] == 0


def test_a_batch_is_taken_out_and_a_typo_is_one_click(server, client, visit):
    teach(server, "wrong")
    rows = [{"features": {"text": WORDS["spam"][k % 3]}, "label": "hma"} for k in range(12)]
    post_lines(client, "/v1/models/wrong/learn?wait=learned&batch=%D7%9E%D7%A8%D7%A5.csv", rows)
    page = visit().open("/#/m/wrong/versions")
    page.get_by_role("link", name="מרץ.csv").click()
    page.get_by_text("12 rows", exact=True).wait_for()
    page.get_by_role("link", name="Remove the filter Batch מרץ.csv").wait_for()
    page.go_back()
    page.get_by_label("Class", exact=True).select_option("hma")
    page.get_by_label("is called").fill("ham")
    page.get_by_role("button", name="Rename or merge").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    wait_until(lambda: facts(server, "wrong")["classes"] == ["ham", "spam"])
    page.get_by_text("hma is ham").first.wait_for()
    batch = page.get_by_role("row", name="מרץ.csv")
    batch.get_by_role("button", name="Take out").click()
    page.get_by_role("dialog").get_by_role("button", name="Take out").click()
    wait_until(lambda: facts(server, "wrong")["rows"] == 40)
    batch.get_by_role("button", name="Put back").click()
    wait_until(lambda: facts(server, "wrong")["rows"] == 52)
    page.get_by_role("button", name="Revert").click()
    wait_until(lambda: "hma" in facts(server, "wrong")["classes"])
