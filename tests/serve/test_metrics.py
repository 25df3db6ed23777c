"""Metrics: progressive error and log-loss, curves, calibration, rates; the same after a restart."""

import json
import math
import random
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from scipy.stats import binomtest

from confidently.learner.tables import ROWS_TO_INFER
from confidently.serve.log.events import State, StoredVersion
from confidently.serve.model import metrics as module
from confidently.serve.model.metrics import MAX_POINTS, RECENT_ROWS, Curve, Metrics, Rate, wilson
from confidently.serve.model.settings import ModelSettings, canonical
from confidently.serve.model.version import ENOUGH, SAMPLED, SAMPLED_LATER, TOGETHER, Version
from tests.serve.rows import examples, made, trained
from tests.serve.running import teach

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


def test_rows_that_are_learned_again_count_once():
    metrics = Metrics()
    for k in range(300):
        metrics.learned(1, int(k < 100), 0.5)
    metrics.began_again()
    metrics.learned(1, 0, 0.1)
    metrics.learned(300, 3, 30.0)
    shown = metrics.shown()
    expected = {"rows": 301, "error": pytest.approx(3 / 301), "log_loss": pytest.approx(0.1)}
    assert shown["recent"] == {name: shown[name] for name in expected} == expected
    assert [point["rows"] for point in shown["curve"]] == [1, 300]
    for _ in range(RECENT_ROWS):
        metrics.learned(1, 1, 0.5)
    assert metrics.shown()["recent"] == {"rows": RECENT_ROWS, "error": 1.0, "log_loss": 0.5}


@pytest.fixture
def clock(monkeypatch):
    now = [100.25]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0]))
    return now


def test_rates_are_those_of_the_last_minute(clock):
    rate = Rate()
    assert rate.per_second() == 0.0
    rate.add(3)
    rate.add(4)
    assert rate.per_second() == 7.0, "of a second at least"
    for now, n, expected in ((102.0, 1, 8 / 2), (160.0, 0, 8 / 60), (160.5, 0, 1 / 58.5), (163.0, 2, 2 / 3)):
        clock[0] = now
        rate.add(n)
        assert rate.per_second() == pytest.approx(expected)
    assert len(rate._seconds) == 2, "what is older is forgotten"


def test_all_counts_are_kept_and_shown(clock):
    metrics = Metrics()
    metrics.learned(0, 0, 0.0)
    assert metrics.shown()["curve"] == []
    metrics.learned(300, 30, 60.0)
    metrics.learned(5, 1, 0.5, live=False)
    metrics.answered(4, 1)
    metrics.answered(3, 0)
    metrics.judged(0.5, hit=True)
    metrics.refused = 3
    shown = metrics.shown()
    assert [shown[name] for name in ("rows", "predicted", "asked", "refused")] == [305, 7, 1, 3]
    assert (shown["error"], shown["log_loss"]) == (pytest.approx(31 / 305), pytest.approx(60.5 / 305))
    assert [(point["time"], point["rows"]) for point in shown["curve"]] == [(100.25, 300), (100.25, 5)]
    assert [sum(column) for column in [*zip(*metrics.history.as_list(), strict=True)][1:]] == [300, 7, 1]
    assert (shown["learns_per_second"], shown["predictions_per_second"]) == (300.0, 7.0)
    clock[0] = 103.0
    assert metrics.shown()["predictions_per_second"] == 2.333
    clock[0] = 107.0
    assert metrics.shown()["learns_per_second"] == 42.857
    clock[0], metrics.curve.rows_per_point = 100.25, 8
    again = Metrics(metrics.as_dict())
    assert again.as_dict() == metrics.as_dict() and again.curve.rows_per_point == 8
    after = Metrics()
    after.take_traffic(metrics)
    traffic = ("predicted", "asked", "learns_per_second", "predictions_per_second", "history")
    assert [after.shown()[name] for name in traffic] == [shown[name] for name in traffic]
    assert (after.rows, after.decisions) == (0, metrics.decisions)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (500, 1000)])
def test_wilson_interval(hits, n):
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert wilson(0, 0) == (0.0, 1.0)


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


def test_the_reliability_of_probabilities():
    metrics = Metrics()
    for probability, hit in [(0.55, True), (0.59, False), (1.0, True), (0.0, False)]:
        metrics.judged(probability, hit)
    bins = metrics.shown()["reliability"]
    assert bins[5] == {"rows": 2, "probability": pytest.approx(0.57), "accuracy": 0.5}
    assert bins[9] == {"rows": 1, "probability": 1.0, "accuracy": 1.0}
    assert bins[0]["rows"] == 1 and bins[3] == {"rows": 0, "probability": None, "accuracy": None}
    assert Metrics(metrics.as_dict()).shown()["reliability"] == bins


def test_the_error_is_that_of_training(local, with_model, tmp_path, capsys):
    rows = made(ROWS_TO_INFER + 300, "mixed")
    server = with_model()
    for features, label in rows[:100]:
        server("POST", f"{FIRST}/learn", {"features": features, "label": label})
    teach(server, rows[100:])
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


def test_prometheus_reads_the_metrics(with_model):
    server = with_model({"classes": ["a", "b"]})
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
