"""Made-up data: the same everywhere, of the promised distribution, and fit for what the documentation does with it."""

import csv
import hashlib
import json
from collections import Counter
from datetime import datetime

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from confidently.samples import clicks, messages, routes
from confidently.samples.clicks import CAMPAIGNS, SITES
from confidently.samples.routes import MODELS, quality

DIGESTS = {messages: "eeb21a73ddb4c94f", clicks: "927c86bb1d083d50", routes: "854299c0a92403a1"}


@pytest.mark.parametrize("sample", DIGESTS)
def test_rows_are_the_same_everywhere(sample):
    text = "".join(json.dumps(row) + "\n" for row in sample(500))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGESTS[sample]


@pytest.mark.parametrize("sample", DIGESTS)
def test_seeds_give_other_rows_and_fewer_rows_are_the_first(sample):
    rows = list(sample(50, seed=3))
    assert rows == list(sample(80, seed=3))[:50]
    assert rows != list(sample(50, seed=4))
    assert list(sample(0)) == []


@pytest.mark.parametrize("sample", DIGESTS)
@pytest.mark.parametrize(("arguments", "message"), [((-1,), "n_rows: .* got -1"), ((1, -2), "seed: .* got -2")])
def test_negative_numbers_are_errors(sample, arguments, message):
    with pytest.raises(ValueError, match=message):
        sample(*arguments)


def test_messages_are_learned_but_not_by_heart():
    rows, test = list(messages()), list(messages(1000, seed=1))
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression())
    model.fit([row["text"] for row in rows], [row["label"] for row in rows])
    score = model.score([row["text"] for row in test], [row["label"] for row in test])
    assert 0.92 < score < 0.98  # one in two has a sentence of another kind
    assert 0.32 < Counter(row["label"] for row in rows)["spam"] / len(rows) < 0.38
    assert not any("{" in row["text"] for row in rows)
    assert len({row["kind"] for row in rows}) == 12


def test_drift_changes_the_kinds_of_spam():
    rows = list(messages(900, drift=True))
    kinds = [{row["kind"] for row in rows[k : k + 300] if row["label"] == "spam"} for k in (0, 300, 600)]
    assert [len(some) for some in kinds] == [2, 2, 2]
    assert len(set.union(*kinds)) == 6
    assert len({row["kind"] for row in rows[:300] if row["label"] == "ham"}) == 6


def test_clicks_depend_on_site_hour_and_price():
    rows = list(clicks(30_000))
    click = np.array([row["click"] for row in rows])
    times = [datetime.fromisoformat(row["time"]) for row in rows]
    assert times == sorted(times)
    assert 0.14 < click.mean() < 0.2
    sites = Counter(row["site"] for row in rows)
    assert set(sites) == set(SITES)
    assert sites[SITES[0]] > 10 * sites[SITES[-1]]
    assert {row["campaign"] for row in rows} == set(CAMPAIGNS)
    evening = np.array([17 <= time.hour <= 23 for time in times])
    assert click[evening].mean() > 1.2 * click[~evening].mean()
    assert roc_auc_score(click, [-row["price"] for row in rows]) > 0.53
    rates = {site: click[[row["site"] == site for row in rows]].mean() for site in SITES[:20]}
    assert max(rates.values()) > 2 * min(rates.values())


def test_routes_are_uniform_choices_whose_rewards_have_the_quality():
    rows = list(routes(20_000))
    assert all(abs(count / 20_000 - 1 / 3) < 0.02 for count in Counter(row["chosen"] for row in rows).values())
    expected = np.array([quality(**row["context"], model=row["chosen"]) for row in rows])
    assert np.mean([row["reward"] for row in rows]) == pytest.approx(expected.mean(), abs=0.01)
    for row in rows[:100]:  # a better model costs more, and is no worse
        found = [quality(**row["context"], model=name) for name in MODELS]
        assert found == sorted(found)


@pytest.mark.parametrize("name", ["messages.jsonl", "clicks.csv", "routes.jsonl"])
def test_the_command_writes_the_rows(ok, tmp_path, name):
    path, sample = tmp_path / name, {"messages": messages, "clicks": clicks, "routes": routes}[name.split(".")[0]]
    result = json.loads(ok("sample", name.split(".")[0], "-o", path, "--rows", 40, "--seed", 2, "--json"))
    assert result == {"sample": name.split(".")[0], "rows": 40, "seed": 2, "file": str(path)}
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            assert list(csv.DictReader(file)) == [{k: str(v) for k, v in row.items()} for row in sample(40, 2)]
    else:
        assert [json.loads(line) for line in path.read_text().splitlines()] == list(sample(40, 2))


def test_the_command_passes_drift_on(ok, tmp_path):
    path = tmp_path / "messages.jsonl"
    assert "60 rows of messages" in ok("sample", "messages", "-o", path, "--rows", 60, "--drift")
    assert [json.loads(line) for line in path.read_text().splitlines()] == list(messages(60, drift=True))


@pytest.mark.parametrize(("arguments", "message"), [
    (("clicks", "-o", "a.csv", "--drift"), "--drift applies to messages, got clicks"),
    (("clicks", "-o", "a.jsonl"), "clicks are written as csv, got a.jsonl; use a name that ends in .csv"),
    (("messages", "-o", "a.jsonl.gz"), "messages are written as jsonl, got a.jsonl.gz"),
    (("messages", "-o", "a.jsonl", "--rows", 0), "0 is not in the range x>=1"),
    (("mails", "-o", "a.jsonl"), "'mails' is not one of 'messages', 'clicks', 'routes'"),
])  # fmt: skip
def test_what_cannot_be_written_is_one_error(call, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, error = call("sample", *arguments)
    assert (code, message in error, list(tmp_path.iterdir())) == (2, True, [])
