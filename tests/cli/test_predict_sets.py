"""predict --set and --max-risk, what evaluate measures of them, and alarms of training."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from confidently import load
from tests.command_line import here

NAMES = np.array([f"d{k}" for k in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7)])  # sorted otherwise than by digit


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Digits in random order."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"p{k}" for k in range(X.shape[1])])
    order = np.random.default_rng(0).permutation(len(y))
    frame.assign(label=NAMES[y]).iloc[order[:1200]].to_csv(folder / "old.csv", index=False)
    frame.assign(label=NAMES[y]).iloc[order[1200:]].to_csv(folder / "new.csv", index=False)
    frame.assign(label=NAMES[y]).iloc[np.tile(order, 2)].to_csv(folder / "twice.csv", index=False)
    return folder


@pytest.fixture
def model(files, ok, tmp_path):
    ok("train", files / "old.csv", "--rule", "arow", "-q", "-o", tmp_path / "m.cw")
    return tmp_path / "m.cw"


def test_windows_are_of_a_thousand_rows(ok, model, files):
    """Any that follow each other, however many are read at once."""
    trained, frame = load(model), pd.read_csv(files / "twice.csv")
    sets = trained.predict_set(frame.drop(columns="label").to_numpy(), 0.9)
    inside = sets[np.arange(len(frame)), np.searchsorted(trained.classes_, frame["label"])]
    by_window = np.lib.stride_tricks.sliding_window_view(inside, 1000).mean(axis=1)
    assert by_window.min() < by_window.max()
    found = json.loads(ok("evaluate", model, files / "twice.csv", "--set", "0.9", "--json"))["set"]
    assert (found["lowest"], found["highest"]) == pytest.approx((by_window.min(), by_window.max()))
    text = ok("evaluate", model, files / "twice.csv", "--set", "0.9")
    assert "lowest in any 1,000 rows" in text and "highest in any 1,000 rows" in text


def test_unknown_classes_are_in_no_set(ok, model, files, tmp_path):
    text = (files / "new.csv").read_text().replace(",d3\n", ",unknown\n")
    (tmp_path / "unknown.csv").write_text(text)
    known = json.loads(ok("evaluate", model, files / "new.csv", "--set", "0.9", "--json"))
    found = json.loads(ok("evaluate", model, tmp_path / "unknown.csv", "--set", "0.9", "--json"))
    [three] = [entry for entry in known["classes"] if entry["name"] == "d3"]
    lost = three["rows"] * three["coverage"] / known["rows"]
    assert found["set"]["coverage"] == pytest.approx(known["set"]["coverage"] - lost)
    assert next(entry for entry in found["classes"] if entry["name"] == "d3")["coverage"] is None


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_warnings_say_what_few_rows_leave_open(command, model, files):
    done = here(command, model, files / "new.csv", "--set", "0.9999", "--max-risk", "0.001", "--json")
    told, out = done.stderr, done.stdout
    assert done.returncode == 0 and told.count("\n") == 2
    assert "warning: --set: sets have every class: coverage 0.9999 needs 9,999 rows" in told
    assert "warning: --max-risk: the model abstains from every prediction" in told
    first = json.loads(out.splitlines()[0])
    if command == "predict":
        assert first["class"] is None and sorted(first["set"]) == sorted(NAMES)
    else:
        assert first["max_risk"]["probability"] is None and first["max_risk"]["error"] is None
        assert first["set"]["coverage"] == 1.0 and first["set"]["mean_size"] == 10.0


ALARMED = {
    "classes": ["--rule", "arow"],
    "numbers": ["--regression", "--rule", "ridge"],
    "stack": ["--auto", "--regression"],
}


@pytest.mark.parametrize("kind", ["classes", "numbers", pytest.param("stack", marks=pytest.mark.long("stacks"))])
def test_alarms_are_reported_where_there_are_any(call, ok, tmp_path, kind):
    generator, n = np.random.default_rng(0), 2400
    x, noise = generator.normal(size=n), generator.normal(size=n)
    labels = 2.0 * x + noise * np.where(np.arange(n) < 1600, 0.1, 5.0)
    if kind == "classes":
        labels = np.where(np.arange(n) < 1600, 1, -1) * (x + 0.1 * noise) > 0
    frame, model = pd.DataFrame({"x": x, "label": labels}), tmp_path / "m.cw"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.iloc[:1600].to_csv(tmp_path / "calm.csv", index=False)
    train = ["train", "--no-shuffle", *ALARMED[kind], "-o", model]
    code, out, told = call(*train, tmp_path / "rows.csv")
    found = load(model).learner_.conformal
    assert code == 0 and found.alarms and 1600 < found.last_alarm <= n - found.rows_since_alarm
    text = f"drift alarm at row {found.last_alarm:,}" + (f" ({found.alarms} alarms)" if found.alarms > 1 else "")
    assert text in out and "drift alarm at row" in told and text in ok("inspect", model)
    *events, result = map(json.loads, ok(*train, tmp_path / "rows.csv", "--json").splitlines())
    for facts in (json.loads(ok("inspect", model, "--json")), result):
        assert (facts["alarms"], facts["last_alarm"]) == (found.alarms, found.last_alarm)
    first = next(event for event in events if event.get("event") == "alarm")
    assert 1 <= first["alarms"] <= found.alarms and first["last_alarm"] <= found.last_alarm
    assert "drift alarm" not in ok(*train, tmp_path / "calm.csv") and "drift alarm" not in ok("inspect", model)
    facts = json.loads(ok("inspect", model, "--json"))
    assert (facts["alarms"], facts["last_alarm"]) == (0, None)
