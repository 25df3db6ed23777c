"""Models made of files that are dropped on the page."""

import csv
import io
import json
import random

import pytest

from tests.serve.page.acts import shown_id, teach, text_of
from tests.serve.page.files import DROP, drop, table
from tests.serve.rows import made, trained
from tests.serve.running import as_lines, lines_of, wait_until


def test_a_dropped_csv_file_becomes_a_model(client, visit):
    visitor = visit()
    page = visitor.open()
    drop(page, "my mail.csv", table(2500))
    columns = table(1).split("\n")[0].split(";")
    roles = {one: page.get_by_label(f"Role of the column {one}").input_value() for one in columns}
    assert roles == {"id": "drop", "message": "text", "links": "feature", "zip": "feature", "label": "label"}
    page.get_by_label("Method").select_option("arow")
    page.get_by_role("button", name="Create and learn").click()
    page.get_by_text("2,500 rows learned").wait_for()
    wait_until(lambda: client.get("/v1/models/my-mail").json()["rows"] == 2500)
    facts = client.get("/v1/models/my-mail").json()
    assert facts["settings"]["reading"] == {"text": ["message"]} and "auto" not in facts["settings"]
    [row] = lines_of(client.get("/v1/models/my-mail/examples?limit=1"))
    assert row["features"] == {"message": f'{text_of("ham", 0)}; said "she"\nand left', "links": 0.5, "zip": "000"}
    page = visitor.open("/#/add")
    drop(page, "my mail.csv", table(2500))
    assert page.get_by_label("Name of the model").input_value() == "my-mail-2"
    page.get_by_label("Rows go to").select_option("my-mail")
    page.get_by_text("Adds to my-mail, which has 2,500 rows: learns 2,500 rows.").wait_for()
    page.get_by_role("button", name="Add and learn").click()
    page.get_by_text("2,500 rows learned").wait_for()
    assert client.get("/v1/models/my-mail").json()["rows"] == 2500  # the ids are the same


def test_json_lines_with_and_without_labels(client, visit):
    rows = [{"text": text_of(("ham", "spam")[k % 2], k), "n": k, "at": {"deep": [1]}} for k in range(20)]
    for k in range(0, 12):
        rows[k]["label"] = ("ham", "spam")[k % 2]
    page = visit().open("/#/add")
    drop(page, "mail.jsonl", as_lines(rows))
    page.get_by_label("Method").select_option("arow")
    page.get_by_role("button", name="Create and learn").click()
    page.get_by_text("12 rows learned, 8 to label").wait_for()
    page.get_by_role("link", name="Label rows").click()
    shown_id(page)
    [row] = lines_of(client.get("/v1/models/mail/examples?limit=1"))
    assert row["features"] == {key: value for key, value in rows[0].items() if key != "label"}


@pytest.mark.long("loads an encoder")
def test_texts_become_vectors_if_that_is_chosen(client, visit):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    page = visit().open("/#/add")
    drop(page, "tickets.csv", table(40))
    page.get_by_label("Method").select_option("vectors")
    page.get_by_role("button", name="Create and learn").click()
    page.get_by_text("40 rows learned").wait_for()
    wait_until(lambda: client.get("/v1/models/tickets").json()["rows"] == 40)
    assert client.get("/v1/models/tickets").json()["settings"]["encoder"] == "wordllama"
    [row] = lines_of(client.get("/v1/models/tickets/examples?limit=1&vectors=true"))
    assert len(row["features"]["vector"]) == 256


def test_a_model_file_continues_its_training(client, visit, tmp_path):
    trained(tmp_path, made(50), "--view", "none")
    page = visit().open()
    page.locator("#overview-file").set_input_files(tmp_path / "trained.cw")
    page.get_by_label("Name of the model").fill("uploaded")
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("heading", name="uploaded").wait_for()
    assert client.get("/v1/models/uploaded/file").content == (tmp_path / "trained.cw").read_bytes()


@pytest.mark.parametrize("method", ["auto", "arow"])
def test_labels_with_fractions_are_numbers(visit, client, method):
    page = visit().open("/#/add")
    drop(page, f"price-{method}.csv", "y;size;target\n1;1;0.5\n0;2;3\n1;4;1.25\n")
    assert page.get_by_label("Role of the column target").input_value() == "label"
    page.get_by_label("Method").select_option(method)
    page.get_by_role("button", name="Create and learn").click()
    page.get_by_text("3 rows learned").wait_for()
    assert client.get(f"/v1/models/price-{method}").json()["task"] == "numbers"
    rows = lines_of(client.get(f"/v1/models/price-{method}/examples"))
    assert [float(row["label"]) for row in rows] == [0.5, 3.0, 1.25]


def test_no_column_is_taken_for_the_label_because_of_its_values(client, visit):
    days = [f"2026-01-{1 + k % 28:02}" for k in range(60)]
    rows = [f"{day},{('red', 'green')[k % 3 == 0]},{k}.5,word{k} and more" for k, day in enumerate(days)]
    page = visit().open("/#/add")
    page.wait_for_selector(".drop")
    page.evaluate(DROP, [".drop", "enron.csv", "\n".join(["date,color,size,message", *rows]) + "\n"])
    page.get_by_text("Choose the label column, or that the file has none.").wait_for()
    assert page.get_by_label("Label column").input_value() == ""
    assert page.get_by_role("button", name="Create and learn").is_disabled()
    plan = page.get_by_role("region", name="What will happen")
    page.get_by_label("Label column").select_option("message")
    plan.get_by_text("60 different labels in 60 rows: is message really the label?").wait_for()
    assert page.get_by_label("Role of the column message").input_value() == "label"
    page.get_by_label("Role of the column color").select_option("label")
    plan.get_by_text("2 classes in color: red 40, green 20").wait_for()
    assert page.get_by_label("Label column").input_value() == "color"
    assert page.get_by_label("Role of the column message").input_value() == "text"
    assert "Creates enron and learns 60 rows." in plan.inner_text()
    page.get_by_label("Label column").select_option("None: all rows wait for labels")
    plan.get_by_text("Creates enron and 60 rows without a label wait for labels.").wait_for()
    assert client.get("/v1/models/enron").status_code == 404  # nothing was sent


def test_rows_are_added_to_a_model_only_if_it_is_chosen(client, visit):
    client.put("/v1/models/taken", json={"rule": "arow", "classes": ["ham", "eggs"]}).raise_for_status()
    page = visit().open("/#/add")
    drop(page, "taken.csv", "n,label\n" + "".join(f"{k},{('ham', 'spam')[k % 2]}\n" for k in range(10)))
    assert page.get_by_label("Name of the model").input_value() == "taken-2"
    page.get_by_label("Name of the model").fill("taken")
    page.get_by_label("Method").select_option("arow")
    page.get_by_role("button", name="Create and learn").click()
    page.get_by_text('there is one already; to add the rows to it, choose it under "Rows go to"').wait_for()
    page.get_by_label("Rows go to").select_option("taken")
    page.get_by_text("Adds to taken, which has 0 rows: learns 5 rows.").wait_for()
    refused = page.get_by_role("region", name="What will happen").get_by_role("listitem").all_inner_texts()
    assert refused == [f"row {k}: the label 'spam' is not one of eggs, ham" for k in (2, 4, 6, 8, 10)]
    assert client.get("/v1/models/taken").json()["rows"] == 0


def test_the_plan_tells_what_the_model_would_find_odd_or_reject(server, visit):
    teach(server, "known", n=200)
    rows = [{"text": text_of("ham", k), "links": k % 2, "label": "ham"} for k in range(30)]
    rows[3] |= {"links": "many"}
    rows[4] |= {"sender": "ann"}
    rows[5] |= {"label": "eggs"}
    del rows[7]["label"]
    page = visit().open("/#/add")
    drop(page, "more.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    page.get_by_label("Rows go to").select_option("known")
    plan = page.get_by_role("region", name="What will happen")
    for text in (
        "Adds to known, which has 200 rows: learns 29 rows; 1 row without a label wait for labels.",
        "1 new class: eggs 1",
        "1 row has a column that no row had before: sender.",
        "1 row has text where almost all rows had a number.",
    ):
        plan.get_by_text(text).wait_for()
    page.get_by_label("Role of the column sender").select_option("drop")
    plan.get_by_text("no row had before").wait_for(state="detached")
    page.get_by_label("Rows go to").select_option("A new model")
    page.get_by_label("Label column").select_option("links")
    plan.get_by_text("Creates more and learns 30 rows.").wait_for()


def test_numbers_that_are_none_are_rejected_before_the_import(server, visit):
    page = visit().open("/#/add")
    prices = "".join(f"{k}.5,{k}\n" for k in range(60)) + "cheap,3\n"
    drop(page, "price.csv", f"label,size\n{prices}")
    plan = page.get_by_role("region", name="What will happen")
    plan.get_by_text("Creates price and learns 60 rows.").wait_for()
    assert plan.get_by_role("listitem").all_inner_texts() == ["row 61: target 'cheap' is not a number"]
    page.get_by_label("The labels are").select_option("classes")
    plan.get_by_text("60 rows will be rejected").wait_for()


def test_many_different_integers_are_asked_about(visit):
    page = visit().open("/#/add")
    drop(page, "count.csv", "label,size\n" + "".join(f"{k},{k % 7}\n" for k in [*range(40), *range(40)]))
    plan = page.get_by_role("region", name="What will happen")
    plan.get_by_text("These classes look like numbers.").wait_for()
    page.get_by_label("The labels are").select_option("numbers")
    plan.get_by_text("These classes look like numbers.").wait_for(state="detached")
    plan.get_by_text("Creates count and learns 80 rows.").wait_for()


@pytest.mark.long("a file of megabytes")
def test_of_a_large_file_the_first_rows_are_tried(server, visit):
    text = "word " * 200
    page = visit().open("/#/add")
    drop(page, "large.csv", "text,label\n" + "".join(f"{text}{k},{('ham', 'spam')[k % 2]}\n" for k in range(6000)))
    plan = page.get_by_role("region", name="What will happen")
    plan.get_by_text("Creates large and of the first").wait_for()
    plan.get_by_text("The file is too large to check as a whole. All of its rows will be sent.").wait_for()
    first = int(plan.inner_text().partition("of the first ")[2].partition(" ")[0].replace(",", ""))
    assert 1000 < first < 6000 and f"learns {first:,} rows." in plan.inner_text()


def test_files_that_cannot_be_read_say_why(visit):
    page = visit().open("/#/add")
    for name, text, reason in [
        ("a.csv", "a,b\n1,2\n3\n", "row 3 has 1 cell, the header has 2"),
        ("b.csv", 'a,b\n1,"2\n', "a quoted cell does not end"),
        ("c.jsonl", '{"a": 1}\n{"a"\n', "line 2 is not JSON"),
        ("d.csv", "a,b\n", "has no rows"),
    ]:
        page.wait_for_selector(".drop")
        page.evaluate(DROP, [".drop", name, text])
        page.get_by_text(reason).wait_for()


def test_the_csv_parser_agrees_with_pythons(visit):
    draw = random.Random(1)
    page = visit().open("/docs")
    for _ in range(40):
        texts = ["".join(draw.choice('ab ",;\n\té\U0001f600') for _ in range(draw.randrange(6))) for _ in range(12)]
        rows = [["first", *texts[k : k + 3]] for k in range(0, 12, 3)]
        out = io.StringIO()
        csv.writer(out, lineterminator=draw.choice(["\n", "\r\n"])).writerows(rows)
        found = page.evaluate(
            """async ([text, cut]) => {
              const { CsvParser } = await import("/page/js/csv.js");
              const parser = new CsvParser(",");
              return [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut)), ...parser.finish()];
            }""",
            [out.getvalue(), draw.randrange(8)],
        )
        assert found == rows
