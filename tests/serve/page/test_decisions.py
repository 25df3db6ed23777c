"""Models of decisions on the page: what they earned, what was chosen, one decision explained."""

import random

import pytest

from tests.serve.page.acts import fits

LIKES = {"reader": "news", "fan": "sport"}


def decide(server, name, n=120, **policy):
    """Make a model that has decided and was rewarded, but for the last three decisions."""
    chance = random.Random(name)
    with server.client() as client:
        settings = {"task": "decisions", "policy": {"least_share": 0.2, **policy}}
        client.put(f"/v1/models/{name}", json=settings).raise_for_status()
        for k in range(n):
            who = chance.choice(list(LIKES))
            body = {"id": f"visit-{k}", "context": {"who": who}, "actions": ["news", "sport", "games"]}
            found = client.post(f"/v1/models/{name}/decide", json=body).json()
            if k < n - 3:
                given = {"id": f"visit-{k}", "reward": float(found["chosen"] == LIKES[who])}
                client.post(f"/v1/models/{name}/rewards?wait=learned", json=given).raise_for_status()


@pytest.fixture(scope="module")
def shop(server):
    decide(server, "shop")
    return "shop"


def test_the_view_shows_rewards_and_shares(client, visit, shop):
    page = visit().open(f"/#/m/{shop}")
    facts = client.get(f"/v1/models/{shop}").json()["decisions"]
    found = client.get(f"/v1/models/{shop}/evaluate?policy=baseline&policy=always:sport").json()
    table = page.get_by_role("table", name="What policies would have earned per decision")
    table.wait_for()
    tiles = page.get_by_role("region", name="Decisions", exact=True).inner_text()
    assert f"{facts['decisions']}\n3 without a reward" in tiles
    lines = table.locator("tbody tr").all_inner_texts()
    rows = {one.split("\t")[0].removesuffix("little known").strip(): one for one in lines}
    for name, one in zip(
        ("as decided", "baseline", "always sport"), [found["logged"], *found["policies"]], strict=True
    ):
        assert f"{one['value']:.3g}" in rows[name], name
    assert {"uniform", "always news", "always games"} <= rows.keys()
    reward = page.get_by_role("img", name="Reward per decision").locator("path")
    kinds = reward.evaluate_all("all => all.map((one) => one.getAttribute('class').split(' ')[0])")
    assert kinds == ["area"] * 3 + ["line"] * 3
    assert page.get_by_role("img", name="Actions chosen").locator("rect").count() >= 8 * 2
    assert page.get_by_text("Of 117 rewarded decisions; left out: 3 waiting.").is_visible()
    assert not page.get_by_role("link", name="Label rows").is_visible()
    assert page.get_by_role("link", name="visit-119").is_visible()
    assert page.get_by_role("region", name="Actions", exact=True).locator("tbody tr").count() == 3


def test_a_decision_is_explained(client, visit, shop):
    kept = client.get(f"/v1/models/{shop}/rows/visit-50").json()["prediction"]["decision"]
    page = visit().open(f"/#/m/{shop}/rows?text=visit-50")
    page.get_by_text(f"{100 * kept['probabilities'][kept['chosen']]:.0f} %").wait_for()
    assert page.get_by_role("columnheader", name="Reward").is_visible()
    page.locator(".row-link").first.click()
    table = page.get_by_role("table", name="Actions, the most probable first")
    table.wait_for()
    rows = table.locator("tbody tr").all_inner_texts()
    order = sorted(range(3), key=lambda k: -kept["probabilities"][k])
    for k, text in zip(order, rows, strict=True):
        assert text.startswith(kept["actions"][k])
        assert f"{100 * kept['probabilities'][k]:.1f} %" in text
        assert ("chosen" in text, "baseline" in text) == (k == kept["chosen"], k == kept["baseline"])
    assert page.get_by_text("least share 0.2").is_visible()
    assert page.get_by_role("button", name="Save").count() == 0, "a reward counts once"


@pytest.mark.long("forty decisions over HTTP")
def test_of_an_apprentice_little_is_known(server, visit):
    decide(server, "trainee", n=40, apprentice=True)
    page = visit().open("/#/m/trainee")
    page.get_by_text("of an apprentice's choices").wait_for()
    line = page.get_by_role("row", name="uniform")
    line.wait_for()
    assert "only that can be evaluated" in line.locator(".tag").get_attribute("title")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_views_fit_and_axe_finds_nothing(server, visit, shop, theme, width):
    page = visit(viewport={"width": width, "height": 844}, color_scheme=theme).open()
    for path, table in (("", "What policies would have earned"), ("/row/visit-50", "Actions, the most probable first")):
        page.goto(f"{server.url}/#/m/{shop}{path}")
        page.get_by_role("table", name=table).wait_for()
        fits(page, path)
