"""Metrics: progressive error and log-loss, curves, calibration, rates; the same after a restart."""

import json
import math
import random

import pytest
from prometheus_client.parser import text_string_to_metric_families

from confidently.learner.tables import ROWS_TO_INFER
from confidently.serve.log.events import State, StoredVersion
from confidently.serve.model.metrics import MAX_POINTS, RECENT_ROWS, Curve, Metrics
from confidently.serve.model.settings import ModelSettings, canonical
from confidently.serve.model.version import ENOUGH, SAMPLED, SAMPLED_LATER, TOGETHER, Version
from tests.serve.rows import examples, made, trained
from tests.serve.running import NDJSON, lines_of

FIRST = "/v1/models/m"


def test_a_curve_keeps_all_counts_in_few_points():
    curve, chance, expected = Curve(), random.Random(0), [0, 0, 0.0]
    for k in range(5000):
        rows = chance.choice([1, 1, 7, 300])
        mistakes = chance.randint(0, rows)
        curve.add(float(k), rows, mistakes, 0.5 * rows)
        expected = [expected[0] + rows, expected[1] + mistakes, expected[2] + 0.5 * rows]
        assert len(curve.points) <= MAX_POINTS + 1
    assert [sum(column) for column in [*zip(*curve.points, strict=True)][1:]] == pytest.approx(expected)
    times = [at for at, *_ in curve.points]
    assert times == sorted(times) and times[-1] == 4999.0
    again = Curve(curve.points, curve.rows_per_point)
    again.add(5000.0, 1, 1, 0.1)
    assert sum(rows for _, rows, _, _ in again.points) == expected[0] + 1


def test_recent_rows_are_the_last_thousand():
    metrics = Metrics()
    for k in range(3 * RECENT_ROWS):
        metrics.learned(1, int(k < 2 * RECENT_ROWS), 0.25)
    shown = metrics.shown()
    assert shown["rows"] == 3 * RECENT_ROWS
    assert shown["error"] == pytest.approx(2 / 3)
    assert shown["recent"] == {"rows": RECENT_ROWS, "error": 0.0, "log_loss": 0.25}


def test_rows_that_are_learned_again_count_once():
    metrics = Metrics()
    for k in range(300):
        metrics.learned(1, int(k < 100), 0.5)
    metrics.began_again()
    metrics.learned(301, 3, 30.1)
    shown = metrics.shown()
    expected = {"rows": 301, "error": pytest.approx(3 / 301), "log_loss": pytest.approx(0.1)}
    assert shown["recent"] == {name: shown[name] for name in expected} == expected
    assert sum(point["rows"] for point in shown["curve"]) == 301


def test_rows_are_predicted_before_they_are_learned(tmp_path):
    """Otherwise the probabilities would look better than they are."""
    settings = canonical(ModelSettings(view="none"))
    version = Version("m", StoredVersion(1, 1, settings, False, 0, State.LIVE, "made", 0), tmp_path)
    rows = examples(made(128))
    first, sampled = rows[: TOGETHER - 1], rows[TOGETHER - 1 : 2 * TOGETHER - 1]
    version.learn(first)
    found = version.model.answers([row.line for row in sampled])
    version.learn(sampled)
    expected = Metrics()
    for one, row in zip(found, sampled, strict=True):
        expected.judged(one.probability[one.label], one.label == json.loads(row.label))
    assert version.metrics.shown()["reliability"] == expected.shown()["reliability"]
    assert sum(one["rows"] for one in version.metrics.shown()["reliability"]) == TOGETHER


def test_versions_that_do_not_answer_predict_fewer_of_their_rows(tmp_path):
    settings = canonical(ModelSettings(view="none"))
    counts = {}
    rows = examples(made(2 * ENOUGH))
    for state in (State.LIVE, State.SHADOW):
        version = Version("m", StoredVersion(1, 1, settings, False, 0, state, "made", 0), tmp_path)
        version.learn_events(rows, live=False)
        counts[state] = sum(one["rows"] for one in version.metrics.shown()["reliability"])
    assert counts[State.LIVE] == 2 * ENOUGH // SAMPLED
    assert counts[State.SHADOW] == ENOUGH // SAMPLED + ENOUGH // SAMPLED_LATER


def test_metrics_of_nothing_are_none():
    shown = Metrics().shown()
    assert (shown["rows"], shown["error"], shown["log_loss"]) == (0, None, None)
    assert shown["recent"] == {"rows": 0, "error": None, "log_loss": None}
    assert shown["learns_per_second"] == shown["predictions_per_second"] == 0.0


def test_the_reliability_of_probabilities():
    metrics = Metrics()
    for probability, hit in [(0.55, True), (0.59, False), (1.0, True), (0.0, False)]:
        metrics.judged(probability, hit)
    bins = metrics.shown()["reliability"]
    assert bins[5] == {"rows": 2, "probability": pytest.approx(0.57), "accuracy": 0.5}
    assert bins[9] == {"rows": 1, "probability": 1.0, "accuracy": 1.0}
    assert bins[0]["rows"] == 1 and bins[3] == {"rows": 0, "probability": None, "accuracy": None}
    assert Metrics(metrics.as_dict()).shown()["reliability"] == bins


def test_the_error_is_that_of_training(local, tmp_path, capsys):
    rows = made(ROWS_TO_INFER + 300, "mixed")
    server = local()
    server("PUT", FIRST, {})
    for features, label in rows[:100]:
        server("POST", f"{FIRST}/learn", {"features": features, "label": label})
    lines = "".join(json.dumps({"features": features, "label": label}) + "\n" for features, label in rows[100:])
    answer = server("POST", f"{FIRST}/learn?wait=learned", content=lines, headers=NDJSON)
    assert len(lines_of(answer)) == len(rows) - 100
    capsys.readouterr()
    trained(tmp_path, rows)
    said = capsys.readouterr().out
    shown = server("GET", f"{FIRST}/metrics").json()
    assert f"mistakes   {round(shown['error'] * len(rows)):,} " in said
    assert f"log-loss {shown['log_loss']:.4f}" in said
    assert sum(point["rows"] for point in shown["curve"]) == shown["rows"] == len(rows)
    server.stop()
    after = local()("GET", f"{FIRST}/metrics").json()
    for name in ("rows", "error", "log_loss", "curve", "reliability", "refused"):
        assert after[name] == shown[name], name


def test_prometheus_reads_the_metrics(local):
    server = local()
    server("PUT", FIRST, {"classes": ["a", "b"]})
    server("POST", f"{FIRST}/predict", {"id": "q<>", "features": {"a": 1}})
    server("POST", f"{FIRST}/learn?wait=learned", {"features": {"a": 1}, "label": "a"})
    answer = server("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {one.name: one for one in text_string_to_metric_families(answer.text)}
    values = {
        name: sample.value for name, family in families.items() for sample in family.samples
        if sample.labels == {"model": "m"}
    }  # fmt: skip
    assert values["confidently_rows_learned"] == 1
    assert values["confidently_predictions"] == 1
    assert values["confidently_waiting_rows"] == 0
    assert "q<>" not in answer.text, "ids are no labels"
    requests = families["confidently_request_seconds"].samples
    counts = {s.labels["route"]: s.value for s in requests if s.name.endswith("_count")}
    assert counts == {"put_model": 1, "predict": 1, "learn": 1}
    assert all(math.isfinite(value) for value in values.values())
