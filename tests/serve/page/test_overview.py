"""The overview: the first visit, samples, a line for each model."""

import pytest

from tests.serve.page.acts import fits, messages, offer, teach
from tests.serve.running import running


@pytest.fixture
def empty(tmp_path):
    with running(tmp_path / "empty") as server:
        yield server


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_first_visit_offers_samples_and_one_click_makes_a_model(empty, visit, theme, width):
    page = visit(empty.url, viewport={"width": width, "height": 800}, color_scheme=theme).open()
    page.get_by_text("There is no model yet. Try a sample, or drop a file of your own.").wait_for()
    fits(page)
    page.get_by_role("button", name="Try the sample Tickets").click()
    page.get_by_role("heading", name="tickets").wait_for()
    page.get_by_text("1,500", exact=True).first.wait_for()
    page.locator(".chart .line").first.wait_for(state="attached")
    for name in ("rows learned", "wrong predictions, %", "nats per row", "stated probability, %"):
        assert page.locator(".axis", has_text=name).count(), f"an axis says {name}"
    page.get_by_role("link", name="Models", exact=True).first.click()
    line = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="tickets", exact=True))
    line.get_by_text("1,500 rows learned").wait_for()
    assert "20 classes" in line.inner_text() and "recent error" in line.inner_text()
    assert page.get_by_role("button", name="Try the sample Tickets").count() == 0


def test_a_model_of_numbers_has_views_without_classes(empty, visit):
    page = visit(empty.url).open()
    page.get_by_role("button", name="Try the sample Rents").click()
    page.get_by_role("heading", name="rents").wait_for()
    page.get_by_role("heading", name="Recent mean absolute error").wait_for()
    assert page.get_by_text("Classes").count() == 0
    page.get_by_role("link", name="Rows", exact=True).click()
    page.get_by_text("1,700 rows").wait_for()
    facets = page.locator(".facets-of-rows").inner_text()
    assert "unlabelled" in facets and "Predict" not in facets  # each label is another number
    page.locator(".row-link").first.click()
    page.get_by_role("table", name="What each feature adds").wait_for()
    page.get_by_label("Label it").fill("812.5")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("region", name="History").get_by_text("Labelled 812.5").wait_for()
    page.goto(f"{empty.url}/#/m/rents/explain")
    page.get_by_role("table", name="What each feature adds").wait_for()
    assert page.get_by_label("Class").count() == 0 or not page.get_by_label("Class").is_visible()
    page.goto(f"{empty.url}/#/")
    page.get_by_text("recent mean absolute error").wait_for()


def test_each_model_has_a_line_and_those_in_need_come_first(server, visit):
    for name in ("b-second", "a-first", "z-last"):
        teach(server, name, n=8)
    offer(server, "a-first", messages(3, first="wait"))
    page = visit().context.new_page()
    page.add_init_script("""
      const listen = EventSource.prototype.addEventListener;
      EventSource.prototype.addEventListener = function (kind, told) {
        listen.call(this, kind, kind !== "models" ? told : (event) => {
          const { models } = JSON.parse(event.data);
          for (const model of models) {
            if (model.name === "z-last") model.failed = "the memory is full";
            if (model.name === "b-second") model.alarms = [{ kind: "error", since: 1, detail: "it doubled" }];
          }
          told({ data: JSON.stringify({ models }) });
        });
      };
    """)
    page.goto(server.url)
    page.get_by_text("alarm: error").wait_for()
    names = page.locator(".model-line h2").all_inner_texts()
    assert names.index("z-last") == 0 and names.index("b-second") == 1 and names[2:] == sorted(names[2:])
    line = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="a-first", exact=True))
    line.get_by_role("link", name="Label 3 rows").wait_for()
    other = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="b-second", exact=True))
    assert other.get_by_role("link", name="Label").count() == 0
