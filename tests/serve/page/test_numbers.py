"""Models of numbers on the page."""

import random

import pytest

from tests.serve.page.acts import offer, post_lines
from tests.serve.running import wait_until


def teach_numbers(server, name, n=200, **settings):
    chance = random.Random(name)
    rows = [{"rooms": chance.randrange(1, 6), "city": chance.choice(["Ulm", "Bonn"])} for _ in range(n)]
    labels = [100.0 * row["rooms"] + (50 if row["city"] == "Ulm" else 0) + chance.gauss(0, 20) for row in rows]
    with server.client() as client:
        client.put(f"/v1/models/{name}", json={"task": "numbers", **settings}).raise_for_status()
        taught = [{"features": x, "label": y} for x, y in zip(rows, labels, strict=True)]
        post_lines(client, f"/v1/models/{name}/learn?wait=learned", taught)


@pytest.mark.long("two models in the browser")
@pytest.mark.parametrize("auto", [False, True])
def test_the_explanation_of_a_number(server, client, visit, auto):
    name = f"rent-{'auto' if auto else 'one'}"
    teach_numbers(server, name, **({"auto": True} if auto else {}))
    features = {"rooms": 3, "city": "Ulm"}
    offer(server, name, {"row-9": features})
    page = visit().open(f"/#/m/{name}/explain")
    page.get_by_label("Id of a stored row").fill("row-9")
    page.get_by_role("button", name="Look up").click()
    found = client.post(f"/v1/models/{name}/explain", json={"features": features}).json()
    table = page.get_by_role("table", name="What each feature adds")
    table.get_by_role("rowheader", name="rooms", exact=True).wait_for()
    assert table.get_by_role("rowheader").all_inner_texts() == [str(one["feature"]) for one in found["contributions"]]
    assert page.get_by_role("table", name="What each learner adds").count() == auto
    said = page.get_by_role("heading", name="Predicted").inner_text()
    assert float(said.split()[1]) == pytest.approx(found["predicted"], rel=0.01)
    assert float(said.split("±")[1]) == pytest.approx(found["std"], rel=0.01)
    assert not page.get_by_label("Class", exact=True).is_visible(), "a number is about itself"


def test_the_root_mean_square_of_parts_is_that_of_all(visit):
    page = visit().open("/")
    total, recent = page.evaluate("""async () => {
        const { course } = await import("/page/js/chart.js");
        const curve = [{ time: 1, rows: 1, rmse: 3 }, { time: 2, rows: 3, rmse: 1 }];
        const { total, recent } = course(curve, "rmse", false);
        return [total.at(-1), recent.at(-1)];
    }""")
    assert total == [4, pytest.approx(3**0.5)] and recent == [4, 1]


def test_versions_of_numbers_are_compared_by_their_errors(server, client, visit):
    teach_numbers(server, "life")
    client.put("/v1/models/life", json={"task": "numbers", "auto": True}).raise_for_status()
    page = visit().open("/#/m/life/versions")
    page.get_by_role("columnheader", name="RMSE").wait_for()
    page.get_by_role("rowheader", name="other settings").wait_for()

    def shown():
        found = client.get("/v1/models/life/versions").json()["versions"]
        cells = page.locator("tbody tr").first.get_by_role("cell").all_inner_texts()
        newest = found[0]
        return newest["rows"] == 200 and [float(cells[3]), float(cells[5])] == pytest.approx(
            [newest["mae"], newest["rmse"]], rel=0.01
        )

    wait_until(shown)
    assert page.locator(".chart .line").count() == 2
    assert page.get_by_text("Rename or merge").count() == 0, "numbers have no classes"


def test_every_view_of_numbers_has_words_for_numbers(server, client, visit):
    teach_numbers(server, "words", n=2000)
    offer(server, "words", {f"row-{k}": {"rooms": k, "city": "Ulm"} for k in range(1, 4)})
    for k in (1, 2):
        body = {"id": f"row-{k}", "label": 1000.0 * (k - 1)}
        client.post("/v1/models/words/labels?wait=learned", json=body).raise_for_status()
    guess = [client.get(f"/v1/models/words/rows/row-{k}").json()["predicted"] for k in (1, 2)]
    page, said = visit().open("/#/m/words"), ""
    page.get_by_role("heading", name="Coverage of intervals").wait_for()
    page.get_by_text("a number per row").wait_for()
    for path, ready in (
        ("", ".chart .line"), ("/rows", ".row-link"), ("/row/row-1", ".bar"), ("/explain", ".bar"),
        ("/versions", ".versions"), ("/label", ".number-form"),
    ):  # fmt: skip
        page.goto(f"{server.url}/#/m/words{path}")
        page.wait_for_selector(ready)
        said += page.inner_text("main").lower()
    for word in ("classif", "reliability", "probabilit", "accuracy", "wrong", "class ", "underline"):
        assert word not in said, word
    off = [float(text.strip("()").split()[0]) for text in page_rows(page, server.url)]
    assert off == pytest.approx([abs(guess[1] - 1000), guess[0]], rel=0.01)


def page_rows(page, url):
    """Return how far the predictions of labelled rows were off, the newest first."""
    page.goto(f"{url}/#/m/words/rows?text=row-")
    page.locator(".off").first.wait_for()
    found = page.locator(".off").all_inner_texts()
    assert [text.split()[-1] for text in found] == ["low)", "high)"]
    return found
