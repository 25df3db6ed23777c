"""Models of numbers: byte for byte those of ``confidently train``, with intervals, errors and alarms of their own."""

import math
from random import Random

import numpy as np
import pytest

from confidently import load
from confidently.serve.log.events import State, StoredVersion
from confidently.serve.model import labelling
from confidently.serve.model.learning import RowLearner
from confidently.serve.model.served import ServedModel
from confidently.serve.model.settings import ModelSettings, canonical
from confidently.serve.model.version import Version
from tests.serve.rows import examples, numbered
from tests.serve.running import as_lines, lines_of, measured, post_lines, teach, wait_until

MODEL = "/v1/models/m"


def settings_of(**settings):
    return ModelSettings(task="numbers", **settings)


# --- over HTTP -------------------------------------------------------------------------------------------------------


def learned(server, rows, first=0, **settings):
    server("PUT", MODEL, {"task": "numbers", **settings})
    teach(server, rows, first)


def file_of(server, folder):
    (folder / "m.cw").write_bytes(server("GET", f"{MODEL}/file").content)
    return load(folder / "m.cw")


@pytest.mark.long("600 rows, one of them of a stack")
@pytest.mark.parametrize("settings", [{}, {"auto": True}, {"covariance": "diag"}])
def test_intervals_are_those_of_the_model_file(local, tmp_path, settings):
    server, rows = local(), numbered(700, "mixed")
    learned(server, rows[:600], **settings)
    file = file_of(server, tmp_path)
    new = [features for features, _ in rows[600:]]
    (tmp_path / "rows.jsonl").write_text(as_lines(new))
    for coverage in (0.5, 0.9, 0.99):
        [limits] = file.predict_stream(tmp_path / "rows.jsonl", "predict_interval", coverage=coverage)
        asked = f"{MODEL}/predict?set={coverage}"
        found = post_lines(server, asked, [{"features": x} for x in new])
        assert np.array([one["interval"] for one in found]) == pytest.approx(limits, rel=1e-9)
        several = server("POST", asked, {"instances": [{"features": x} for x in new[:5]]}).json()["predictions"]
        for one, other in zip(several, found, strict=False):
            assert one["interval"] == pytest.approx(other["interval"], rel=1e-9)
    plain = server("POST", f"{MODEL}/predict", {"features": new[0]}).json()
    assert list(plain) == ["id", "label", "interval", "variance", "ask"]
    [expected] = file.predict_stream(tmp_path / "rows.jsonl", "predict_interval", coverage=0.9)
    assert plain["interval"] == pytest.approx(expected[0].tolist(), rel=1e-9)
    [novelty] = file.predict_stream(tmp_path / "rows.jsonl", "novelty")
    answer = server("POST", f"{MODEL}/predict?novelty=true", {"features": new[0]}).json()
    assert answer["novelty"] == novelty[0] and answer["interval"] == plain["interval"]


def test_before_the_first_row(with_model):
    server = with_model({"task": "numbers"})
    nothing = {"id": None, "label": None, "interval": None, "variance": None, "ask": True}
    assert server("POST", f"{MODEL}/predict?set=0.5", {"features": {"a": 1}}).json() == nothing
    assert server("POST", f"{MODEL}/predict", {"features": {"a": 1}, "id": "q"}).json() == nothing | {"id": "q"}
    assert server("GET", f"{MODEL}/file").status_code == 409
    assert server("POST", f"{MODEL}/explain", {"features": {"a": 1}}).status_code == 409
    facts = server("GET", MODEL).json()
    assert (facts["task"], facts["classes"], facts["mae"], facts["rmse"]) == ("numbers", [], None, None)
    assert "error" not in facts and "log_loss" not in facts and not facts["multilabel"]


def test_a_number_that_comes_later(local):
    server, row = local(), {"id": "q", "features": {"a": 1.0, "b": 2.0}}
    learned(server, numbered(200, "mixed"))
    first = server("POST", f"{MODEL}/predict", row).json()
    for label in (3.0, 3):  # are the same number
        answer = server("POST", f"{MODEL}/labels?wait=learned", {"id": "q", "label": label})
        assert answer.json()["status"] == "learned"
    stored = server("GET", f"{MODEL}/examples/q").json()
    shown = {name: first[name] for name in ("label", "interval", "variance", "ask")}
    size = stored["prediction"]["size"]
    assert (stored["label"], stored["prediction"]) == (3, shown | {"center": first["label"], "size": size})
    assert server("POST", f"{MODEL}/predict", row).json() == first
    wide = server("POST", f"{MODEL}/predict?set=0.99", row).json()
    assert wide["label"] == first["label"]
    assert wide["interval"][0] < first["interval"][0] < first["label"] < first["interval"][1] < wide["interval"][1]


def test_numbers_without_a_calibration_have_intervals(local):
    server = local()
    learned(server, numbered(100), calibration="none")
    found = server("POST", f"{MODEL}/predict?set=0.5", {"features": {"a": 1}}).json()
    assert found["interval"][0] < found["label"] < found["interval"][1]


# --- what is measured ------------------------------------------------------------------------------------------------


@pytest.mark.long("1,500 rows of a stack")
@pytest.mark.parametrize("settings", [{}, {"auto": True}])
def test_the_errors_are_those_of_the_model_file(local, tmp_path, settings):
    server, rows = local(), numbered(1500, "mixed")
    learned(server, rows[:700], **settings)
    learned(server, rows[700:], 700, **settings)
    file, shown = file_of(server, tmp_path), server("GET", f"{MODEL}/metrics").json()
    assert shown["rows"] == 1500 and "error" not in shown and "log_loss" not in shown
    assert (shown["mae"], shown["rmse"]) == pytest.approx((file.mae_, file.rmse_), rel=1e-9)
    facts = server("GET", MODEL).json()
    assert (facts["mae"], facts["rmse"]) == (shown["mae"], shown["rmse"])
    assert sum(point["rows"] for point in shown["curve"]) == 1500
    assert 0 < shown["recent"]["mae"] <= shown["recent"]["rmse"] < 2 * shown["rmse"]
    assert shown["labelling"]["gain"] is None
    inside = {round(one["probability"], 1): one for one in shown["reliability"] if one["rows"]}
    assert sorted(inside) == [k / 10 for k in range(1, 10)]
    for coverage, one in inside.items():
        assert one["rows"] >= 64 and one["accuracy"] == pytest.approx(coverage, abs=0.15)
    server.stop()
    after = local()("GET", f"{MODEL}/metrics").json()
    for name in ("rows", "mae", "rmse", "curve", "reliability", "refused"):
        assert after[name] == shown[name], name


def test_prometheus_has_the_errors_of_numbers_and_of_classes_apart(local):
    server = local()
    learned(server, numbered(50))
    server("PUT", "/v1/models/classes", {})
    server("POST", "/v1/models/classes/learn?wait=learned", {"features": {"a": 1}, "label": "x"})
    told = measured(server)
    models = {name: {key[1] for key in told if key[0] == f"confidently_{name}_total"} for name in (
        "absolute_errors", "squared_errors", "mistakes", "log_loss",
    )}  # fmt: skip
    assert models["absolute_errors"] == models["squared_errors"] == {"m"}
    assert models["mistakes"] == models["log_loss"] == {"classes"}
    assert told["confidently_absolute_errors_total", "m"] == pytest.approx(49 * server("GET", MODEL).json()["mae"])


@pytest.mark.long("2,500 rows")
def test_uncertain_rows_are_asked_about(local):
    """At first all of them, then about a tenth of rows like those before, and rows unlike them."""
    server, rows = local(), numbered(2700, "mixed")
    server("PUT", MODEL, {"task": "numbers"})

    def asks(server, rows):
        return [one["ask"] for one in post_lines(server, f"{MODEL}/predict", [{"features": x} for x, _ in rows])]

    assert asks(server, rows[:1]) == [True]
    learned(server, rows[:2500])
    found = asks(server, rows[2500:])
    assert 0 <= sum(found) < 0.25 * len(found) and asks(server, [({"a": 1000.0}, 0)]) == [True]
    server.stop()
    assert asks(local(), rows[2500:]) == found


@pytest.mark.parametrize(
    ("settings", "kind"), [({}, "mixed"), ({"auto": True}, "prices"), ({"rule": "poisson"}, "mixed")]
)
def test_an_explanation_adds_up(local, settings, kind):
    rows = [(features, abs(round(label)) if "rule" in settings else label) for features, label in numbered(300, kind)]
    server = local()
    learned(server, rows, **settings)
    found = server("POST", f"{MODEL}/explain", {"features": rows[0][0]}).json()
    one = server("POST", f"{MODEL}/predict", {"features": rows[0][0]}).json()
    assert found["predicted"] == pytest.approx(one["label"]) and found["std"] ** 2 == pytest.approx(one["variance"])
    total = found["offset"] + sum(part["mean"] for part in found["contributions"])
    if "rule" in settings:
        total = math.exp(total + 0.5 * sum(part["variance"] for part in found["contributions"]))
    assert max(total, 0.0) == pytest.approx(one["label"])  # no target was negative
    assert bool(found["members"]) == ("auto" in settings)
    if found["members"]:
        assert max(sum(part["mean"] for part in found["members"]), 0.0) == pytest.approx(one["label"])


# --- a model's life --------------------------------------------------------------------------------------------------


def test_a_shadow_of_numbers_is_measured_beside_the_model(local):
    server, rows = local(), numbered(300, "mixed")
    learned(server, rows)
    answer = server("PUT", MODEL, {"task": "numbers", "auto": True})
    assert answer.status_code == 202, answer.text

    def versions():
        return {one["version"]: one for one in server("GET", f"{MODEL}/versions").json()["versions"]}

    wait_until(lambda: min(one["progress"] for one in versions().values()) == 1.0)
    for one in versions().values():
        assert one["rows"] == 300 and 0.0 < one["mae"] <= one["rmse"] and "error" not in one
    assert server("POST", f"{MODEL}/versions/2/promote").status_code < 300
    wait_until(lambda: server("GET", MODEL).json()["version"] == 2)
    found = server("POST", f"{MODEL}/predict", {"features": rows[0][0]}).json()
    assert found["interval"][0] < found["label"] < found["interval"][1]


def test_a_row_that_cannot_be_learned_is_set_aside(with_model):
    server = with_model({"task": "numbers", "rule": "poisson"})
    server("POST", f"{MODEL}/learn?wait=learned", {"features": {"a": 1.0}, "label": 3})
    answer = server("POST", f"{MODEL}/learn?wait=learned", {"id": "neg", "features": {"a": 1.0}, "label": -2})
    assert answer.status_code == 422 and answer.json()["type"] == "urn:confidently:set-aside"
    wait_until(lambda: server("GET", f"{MODEL}/set-aside").text)
    [aside] = lines_of(server("GET", f"{MODEL}/set-aside"))
    assert aside["id"] == "neg" and aside["label"] == -2 and aside["reason"]
    assert server("GET", MODEL).json()["rows"] == 1 and server("GET", MODEL).json()["refused"] == 1


@pytest.mark.long("2,400 rows of a stack")
@pytest.mark.parametrize("settings", [{"auto": True}, {"covariance": "diag"}], ids=str)
def test_an_import_is_learned_in_large_pieces(settings, monkeypatch, tmp_path):
    """Also the first rows, which show a new column now and then, so that a stack begins again."""
    rows, pieces = examples(numbered(2400, "words")), []
    stored = StoredVersion(1, 1, canonical(settings_of(**settings)), False, 0, State.LIVE, "made", 0)
    version, learn = Version("m", stored, tmp_path), RowLearner.learn
    monkeypatch.setattr(RowLearner, "learn", lambda self, some: pieces.append(len(some)) or learn(self, some))
    version.learn_events(rows)
    assert version.model.stream.learner.n_seen == len(rows)
    assert len(pieces) < 200  # with one of 16 rows predicted alone, they would be 400


def test_people_are_asked_for_numbers(local, monkeypatch):
    monkeypatch.setattr(labelling.Labelling, "begin_refresh", lambda self, state: [])  # guesses stay those shown
    server = local()
    learned(server, numbered(200, "mixed"))
    for k, (features, _) in enumerate(numbered(60, "mixed", seed=7)):
        server("POST", f"{MODEL}/predict", {"id": f"q-{k}", "features": features})
    rows = server("GET", f"{MODEL}/queue?n=60").json()["rows"]
    unsure = [row["certainty"] for row in rows if not row["random"]]
    assert unsure == sorted(unsure) and all(isinstance(row["guess"], float) for row in rows)
    errors = []
    for row in rows:
        answer = server("POST", f"{MODEL}/answers", {"id": row["id"], "label": 1.25})
        assert answer.status_code == 200, answer.text
        errors += [abs(row["guess"] - 1.25)] if row["random"] else []
    shown = server("GET", f"{MODEL}/metrics").json()["labelling"]
    assert errors and shown["random"] == {"answers": len(errors), "mae": pytest.approx(sum(errors) / len(errors))}
    server.stop()
    assert local()("GET", f"{MODEL}/metrics").json()["labelling"]["random"] == shown["random"]


def test_limits_that_are_infinite_are_null_and_bounds_hold(with_model):
    server = with_model({"task": "numbers", "bounds": [0, None]})
    random = np.random.default_rng(0)
    rows = [{"features": {"a": float(a)}, "label": float(abs(a) + 0.1)} for a in random.normal(size=60)]
    for k, row in enumerate(rows):
        server("POST", f"{MODEL}/learn?wait=learned", row)
        if k == 5:
            assert server("POST", f"{MODEL}/predict", {"features": {"a": -9.0}}).json()["interval"] == [0.0, None]
    found = server("POST", f"{MODEL}/predict?set=0.8", {"features": {"a": -90.0}}).json()
    assert found["label"] >= 0.0 and 0.0 <= found["interval"][0] <= found["interval"][1]
    server("POST", f"{MODEL}/learn?wait=learned", {"features": {"a": 1.0}, "label": -1.0})
    assert server("POST", f"{MODEL}/predict?set=0.8", {"features": {"a": -90.0}}).json() == found


@pytest.mark.parametrize("largest", [1, 2, 5, 12, 60])
def test_errors_of_rows_that_are_learned_again_count_once(largest):
    """Members that begin again at row 10 have their own errors on the rows before, also under the same names."""
    rows, chance = examples([({"a": k % 7, "b": k}, 0.5 * k) for k in range(60)]), Random(largest)
    model, total, at = ServedModel(settings_of(auto=True)), (0.0, 0.0, 0.0), 0
    while at < len(rows):
        learned = model.learn(rows[at : (at := at + chance.randint(1, largest))])
        assert min(learned.sums) >= 0.0
        total = tuple(map(sum, zip((0.0, 0.0, 0.0) if learned.anew else total, learned.sums, strict=True)))
    predicted = model.task.progressive_errors(model.stream.learner.state)
    assert total == pytest.approx((predicted["absolute_errors"], predicted["squared_errors"], predicted["predicted"]))
