"""Looking through stored rows: filters, pages, counts, histories."""

import asyncio
import random
from collections import Counter

import pytest

from confidently.serve.log import browse
from tests.serve.conftest import Local
from tests.serve.rows import FAR
from tests.serve.running import post_lines, teach
from tests.serve.test_set_aside import TINY

MODEL = "/v1/models/m"


def send(server, path, rows):
    found = post_lines(server, f"{MODEL}/{path}", rows)
    assert not [one for one in found if "detail" in one], found
    return found


def rows_of(server, query=""):
    """All rows, page by page."""
    found, before = [], ""
    while True:
        answer = server("GET", f"{MODEL}/rows?limit=7{query}{before}")
        assert answer.status_code == 200, answer.text
        found += answer.json()["rows"]
        if answer.json()["before"] is None:
            return found
        before = f"&before={answer.json()['before']}"


def ids(server, query=""):
    return [row["id"] for row in rows_of(server, query)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A server with rows of every state, which tests only read; the truth about them, in the order of their arrival."""
    server = Local(tmp_path_factory.mktemp("filled"))
    yield server, fill(server)
    server.stop()


def fill(server):
    chance, truth = random.Random(3), []
    server("PUT", MODEL, {"classes": ["ham", "spam", "eggs"]}).raise_for_status()
    for k in range(60):
        row = {"id": f"row-{k}", "features": {"word": f"lunch{k % 5}", "n": k}}
        if k % 3 == 0:
            row["label"] = chance.choice(["ham", "spam"])
            send(server, f"learn?batch=b{k % 2}", [row])
            truth.append({"id": row["id"], "label": row["label"], "predicted": None, "batch": f"b{k % 2}"})
            continue
        [answer] = send(server, "predict", [row])
        truth.append({"id": row["id"], "label": None, "predicted": answer["label"], "batch": None})
        if k % 3 == 1:
            truth[-1]["label"] = chance.choice(["ham", "eggs"])
            truth[-1]["batch"] = "b1"
            send(server, "labels?batch=b1", [{"id": row["id"], "label": truth[-1]["label"]}])
    assert server("GET", f"{MODEL}/file").status_code == 200  # all are learned
    return truth


FILTERS = {
    "": lambda row: True,
    "label=ham": lambda row: row["label"] == "ham",
    "predicted=spam": lambda row: row["predicted"] == "spam",
    "outcome=right": lambda row: None not in (row["label"], row["predicted"]) and row["label"] == row["predicted"],
    "outcome=wrong": lambda row: None not in (row["label"], row["predicted"]) and row["label"] != row["predicted"],
    "state=unlabelled": lambda row: row["label"] is None,
    "state=labelled": lambda row: row["label"] is not None,
    "text=LUNCH3": lambda row: int(row["id"][4:]) % 5 == 3,
    "text=lunch3 row-1": lambda row: int(row["id"][4:]) % 5 == 3 and row["id"].startswith("row-1"),
    "text=word": lambda row: False,  # the name of a column is not a value
    "state=erased": lambda row: False,
    "batch=b1": lambda row: row["batch"] == "b1",
    "batch=b0&label=ham": lambda row: row["batch"] == "b0" and row["label"] == "ham",
    "batch=b2": lambda row: False,
    "label=ham&predicted=ham": lambda row: row["label"] == row["predicted"] == "ham",
}


@pytest.mark.parametrize("query", FILTERS)
def test_filters_leave_the_rows_that_a_loop_finds_and_counts_are_theirs(filled, query):
    server, truth = filled
    kept = [row for row in truth if FILTERS[query](row)]
    shown = rows_of(server, f"&{query}")
    assert [(row["id"], row["label"], row["predicted"]) for row in shown] == [
        (row["id"], row["label"], row["predicted"]) for row in reversed(kept)
    ]
    for row in shown:
        assert row["features"]["n"] == int(row["id"].partition("-")[2])
        assert row["state"] == ("unlabelled" if row["label"] is None else "labelled")
        assert (row["probability"] is None) == (row["predicted"] is None)
    found = server("GET", f"{MODEL}/facets?{query}").json()
    assert (found["rows"], found["since"]) == (len(kept), None)
    for name in ("label", "predicted"):
        assert found[name] == Counter(row[name] for row in kept if row[name] is not None)
    both = [row for row in kept if None not in (row["label"], row["predicted"])]
    assert found["outcome"] == Counter(["wrong", "right"][row["label"] == row["predicted"]] for row in both)
    assert found["state"] == Counter("unlabelled" if row["label"] is None else "labelled" for row in kept)


def test_small_ranges_give_the_same_pages(filled, monkeypatch):
    server, _ = filled
    whole, some = ids(server), ids(server, "&label=eggs")
    for name, value in {"FIRST_RANGE": 1, "MAX_RANGE": 3, "MAX_BYTES": 60}.items():
        monkeypatch.setattr(browse, name, value)
    monkeypatch.setattr("confidently.serve.work.browse.MAX_LOOK", 5)
    assert (ids(server), ids(server, "&label=eggs")) == (whole, some)
    monkeypatch.setattr("confidently.serve.work.browse.MAX_COUNT", 20)
    found = server("GET", f"{MODEL}/facets").json()
    assert found["since"] > 1 and 0 < found["rows"] < len(whole)


def test_rows_of_other_models_do_not_hide_those_of_a_small_one(filled, monkeypatch):
    """A request looks at so many events of the model, wherever in the log they are."""
    server, _ = filled
    counts = server("GET", f"{MODEL}/facets").json()
    server("PUT", "/v1/models/large", {"classes": ["ham", "spam"]}).raise_for_status()
    teach(server, [({"n": k}, "ham") for k in range(300)], model="large")
    for name in ("MAX_LOOK", "MAX_COUNT"):
        monkeypatch.setattr(f"confidently.serve.work.browse.{name}", 101)  # the model has 100 events
    found = server("GET", f"{MODEL}/rows?limit=200").json()
    assert (len(found["rows"]), found["before"]) == (60, None)
    assert server("GET", f"{MODEL}/facets").json() == counts


def test_time(filled):
    server, _ = filled
    times = [row["time"] for row in rows_of(server)]
    assert ids(server, f"&since={int(max(times)) + 1}") == ids(server, f"&until={int(min(times))}") == []
    both = f"&since={int(min(times))}&until={int(max(times)) + 1}"
    assert ids(server, both) == ids(server)


def test_texts_are_found_whatever_their_case_and_their_escapes(with_model):
    server = with_model()
    for k, text in enumerate(
        ["Caf\\u00c9 ol\\u00e9", "café", "100 %", "a_b", 'say \\"hi\\"', "back\\\\slash", "x\\ny"]
    ):
        body = b'{"id": "r%d", "label": "a", "features": {"t": "%s", "deep": {"er": ["in%d"]}}}' % (k, text.encode(), k)
        server("POST", f"{MODEL}/learn", content=body).raise_for_status()
    for text, expected in {
        "café": ["r1", "r0"], "CAFÉ": ["r1", "r0"], "olé": ["r0"], "%": ["r2"], "a_b": ["r3"], '"hi"': ["r4"],
        "\\": ["r5"], "x": ["r6"], "IN3": ["r3"], "R2": ["r2"], "deep": [], "_": ["r3"], "'; DROP": [],
    }.items():  # fmt: skip
        answer = server("GET", f"{MODEL}/rows", params={"text": text})
        assert [row["id"] for row in answer.json()["rows"]] == expected, text


def test_erased_rows_and_those_set_aside(with_model):
    server = with_model(FAR | {"classes": ["ham", "spam", "odd"]})
    rows = [{"id": f"r{k}", "features": {"n": k, "t": "secret"}, "label": ["ham", "spam"][k % 2]} for k in range(4)]
    send(server, "learn", rows)
    assert server("POST", f"{MODEL}/learn?wait=learned", TINY | {"id": "bad"}).status_code == 422
    assert server("DELETE", f"{MODEL}/examples/r2").status_code == 200
    [gone] = rows_of(server, "&state=erased")
    assert (gone["id"], gone["features"], gone["label"]) == ("r2", None, None)
    found = server("GET", f"{MODEL}/rows/r2")
    assert "secret" not in found.text and [one["kind"] for one in found.json()["history"]] == ["learn", "erasure"]
    [aside] = rows_of(server, "&state=set-aside")
    assert aside["id"] == "bad" and "out of the range" in aside["reason"]
    assert ids(server) == ["bad", "r3", "r1", "r0"] and ids(server, "&text=secret") == ["r3", "r1", "r0"]
    assert server("GET", f"{MODEL}/facets").json()["state"]["erased"] == 1


def test_sets_of_labels(with_model):
    server = with_model({"multilabel": True, "classes": ["a", "b", "c"]})
    send(server, "predict", [{"id": f"r{k}", "features": {"n": k}} for k in range(3)])
    send(server, "labels", [{"id": "r0", "label": ["b", "a"]}, {"id": "r1", "label": []}])
    guesses = {row["id"]: row["predicted"] for row in rows_of(server)}
    assert ids(server, "&label=a") == ids(server, "&label=b") == ["r0"] and ids(server, "&label=c") == []
    right = [id for id, label in (("r1", set()), ("r0", {"a", "b"})) if set(guesses[id]) == label]
    assert ids(server, "&outcome=right") == right
    found = server("GET", f"{MODEL}/facets").json()
    assert found["label"] == {"a": 1, "b": 1} and found["state"] == {"labelled": 2, "unlabelled": 1}


def test_a_long_search_lets_others_pass(local, monkeypatch):
    """Rows are stored between the steps of a search."""
    server = local()
    fill(server)
    for name in ("FIRST_RANGE", "MAX_RANGE"):
        monkeypatch.setattr(browse, name, 1)

    async def both():
        async with server.client() as client:
            search = asyncio.create_task(client.get(f"{MODEL}/rows?text=nothing"))
            row = {"id": "new", "features": {"word": "x"}, "label": "ham"}
            taught = await client.post(f"{MODEL}/learn", json=row)
            return taught.status_code, (await search).json()

    status, found = asyncio.run(both())
    assert (status, found) == (200, {"rows": [], "before": None})


def counts(server, name, query=""):
    return server("GET", f"{MODEL}/facets?{query}").json()[name]


def test_numbers_are_neither_right_nor_wrong(with_model):
    server = with_model({"task": "numbers"})
    send(server, "learn", [{"id": f"r{k}", "features": {"n": k}, "label": 2.5 * k} for k in range(9)])
    assert server("GET", f"{MODEL}/file").status_code == 200  # all are learned
    send(server, "predict", [{"id": "p", "features": {"n": 4}}])
    send(server, "labels", [{"id": "p", "label": 10.0}])
    [row] = rows_of(server, "&text=p")
    assert (row["label"], row["outcome"]) == (10.0, None) and isinstance(row["predicted"], float)
    assert ids(server, "&outcome=wrong") == [] and counts(server, "outcome") == {}
