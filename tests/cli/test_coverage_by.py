"""train --coverage-by: sets of predict and evaluate by a column, checkpoints, caches, and clear errors."""

import json

import numpy as np
import pandas as pd
import pytest

from confidently import AutoClassifier, load
from tests.command_line import here
from tests.stopping import Stop, stopping_after

TOWNS = np.array(["Delft", "Lund", "Porto"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of three towns; the labels of the third are hardly foreseeable."""
    folder, generator = tmp_path_factory.mktemp("towns"), np.random.default_rng(0)
    town = generator.integers(0, 3, 4000)
    frame = pd.DataFrame(generator.normal(size=(4000, 3)).round(3), columns=["a", "b", "c"]).assign(town=TOWNS[town])
    noise = np.array([0.0, 0.5, 3.0])[town] * generator.normal(size=4000)
    frame["label"] = np.where(frame["a"] + frame["b"] + noise > 0, "yes", "no")
    frame[:2500].to_csv(folder / "old.csv", index=False)
    frame[2500:].to_csv(folder / "new.csv", index=False)
    frame[2500:].drop(columns="town").to_csv(folder / "without.csv", index=False)
    frame.assign(label=frame["a"] + 0.5).to_csv(folder / "numbers.csv", index=False)
    (folder / "rows.svm").write_text("+1 1:2\n-1 1:3\n" * 30)
    lines = ({"label": ["x", "y"][: 1 + k % 2], "town": "Lund", "a": k % 3} for k in range(60))
    (folder / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def sets_of(lines):
    return [json.loads(line)["set"] for line in lines.splitlines()]


@pytest.mark.parametrize("options", [["--auto"], ["--rule", "arow"]])
def test_sets_are_those_of_python_and_evaluate_shows_them(ok, folder, tmp_path, options):
    model = tmp_path / "m.cw"
    ok("train", folder / "old.csv", *options, "--coverage-by", "town", "-q", "-o", model)
    trained, new = load(model), pd.read_csv(folder / "new.csv")
    assert trained.coverage_by == "town" and set(trained.learner_.groups.states) == set(TOWNS)
    expected = trained.predict_set(new.drop(columns="label"))
    p = trained.predict_proba(new.drop(columns="label"))
    names = [
        [trained.classes_[k] for k in np.argsort(-row, kind="stable") if own[k]]
        for row, own in zip(p, expected, strict=True)
    ]
    assert sets_of(ok("predict", model, folder / "new.csv", "--set", "0.9", "--json")) == names
    kept = ok("predict", model, folder / "new.csv", "--set", "0.9", "--keep", "a", "--json").splitlines()
    assert list(json.loads(kept[0])) == ["a", "class", "set"]
    inside = expected[np.arange(len(new)), (new["label"] == "yes").astype(int)]
    for by in ("town", "a"):
        found = json.loads(ok("evaluate", model, folder / "new.csv", "--set", "0.9", "--by", by, "--json", "-q"))
        assert found["set"]["coverage"] == pytest.approx(inside.mean())
        first = found["by"]["groups"][0]
        assert first["coverage"] == pytest.approx(inside[new[by].astype(str) == first["value"]].mean())


def test_the_stack_is_that_of_python(ok, folder, tmp_path):
    ok("train", "--no-shuffle", folder / "old.csv", "--coverage-by", "town", "-q", "-o", tmp_path / "m.cw")
    expected = AutoClassifier(coverage_by="town").fit_stream(folder / "old.csv")
    for value, state in load(tmp_path / "m.cw").learner_.groups.states.items():
        np.testing.assert_array_equal(expected.learner_.groups.states[value], state)


@pytest.mark.parametrize("checkpoints", [2, 25])
def test_resumed_training_ends_in_the_same_file(ok, folder, tmp_path, checkpoints):
    options = ["--rule", "arow", "--coverage-by", "town", "--passes", "2", "--holdout", "0.1", "-q", "-o"]
    ok("train", folder / "old.csv", *options, tmp_path / "whole.cw")
    with pytest.raises(Stop), stopping_after(checkpoints):
        here("train", folder / "old.csv", *options, tmp_path / "m.cw", "--checkpoint-every", 150)
    assert (tmp_path / "m.cw.checkpoint").exists()
    ok("train", folder / "old.csv", *options, tmp_path / "m.cw", "--checkpoint-every", 150, "--resume")
    assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()


def test_training_continues_and_models_merge(ok, folder, tmp_path):
    first, second, both = (tmp_path / f"{name}.cw" for name in ("first", "second", "both"))
    ok("train", folder / "old.csv", "--rule", "arow", "--coverage-by", "town", "-q", "-o", first)
    ok("train", folder / "new.csv", "--init-model", first, "-q", "-o", second)
    seen = {name: load(path).learner_.groups.states["Lund"] for name, path in (("one", first), ("two", second))}
    assert (seen["one"] != seen["two"]).any()
    ok("train", folder / "new.csv", "--rule", "arow", "--coverage-by", "town", "-q", "-o", second)
    ok("merge", first, second, "-o", both)
    assert set(load(both).learner_.groups.states) == set(TOWNS)
    ok("train", folder / "new.csv", "--rule", "arow", "-q", "-o", second)
    failed = here("merge", first, second, "-o", both)
    assert failed.returncode == 2 and "coverage_by = town in" in failed.stderr
    failed = here("train", folder / "new.csv", "--init-model", first, "--workers", "1")
    assert failed.returncode == 2 and "the sets of the model cover by a column" in failed.stderr


ERRORS = {
    "typo": (["old.csv", "--coverage-by", "Town"], "has no column 'Town' (did you mean 'town'?)"),
    "a format without names": (["rows.svm", "--coverage-by", "3"], "svmlight has no '3' to keep"),
    "uncalibrated": (["old.csv", "--coverage-by", "town", "--calibration", "none"], "omit --calibration none"),
    "a cluster": (["old.csv", "--coverage-by", "town", "--workers", "2"], "not supported on a cluster"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line(folder, case):
    (data, *options), message = ERRORS[case]
    failed = here("train", folder / data, *options)
    assert failed.returncode == 2 and message in failed.stderr
    assert failed.stderr.splitlines()[-1].startswith("confidently: error: ")


def test_new_rows_need_the_column_for_sets_only(ok, folder, tmp_path):
    ok("train", folder / "old.csv", "--rule", "arow", "--coverage-by", "town", "-q", "-o", tmp_path / "m.cw")
    assert here("predict", tmp_path / "m.cw", folder / "without.csv").returncode == 0
    for command in (["predict", "--set"], ["evaluate", "--set"]):
        failed = here(command[0], tmp_path / "m.cw", folder / "without.csv", command[1], "0.9")
        assert failed.returncode == 2 and "has no column 'town'" in failed.stderr
    failed = here("train", folder / "without.csv", "--init-model", tmp_path / "m.cw", "-o", tmp_path / "more.cw")
    assert failed.returncode == 2 and "has no column 'town'" in failed.stderr


@pytest.mark.parametrize("options", [["--auto"], ["--rule", "ridge"]])
def test_intervals_are_those_of_python_and_evaluate_shows_them(ok, folder, tmp_path, options):
    model, new = tmp_path / "m.cw", folder / "numbers.csv"
    ok("train", new, *options, "--coverage-by", "town", "--holdout", "0.1", "-q", "-o", model)
    trained, table = load(model), pd.read_csv(new)
    assert trained.coverage_by == "town" and set(trained.learner_.groups.states) == set(TOWNS)
    expected = trained.predict_interval(table.drop(columns="label"), 0.8)
    lines = ok("predict", model, new, "--interval", "0.8", "--json").splitlines()
    found = [[json.loads(line)[name] for name in ("lower", "upper")] for line in lines]
    assert found == pytest.approx(expected, rel=1e-6)
    low, high = trained.predict_interval(table.drop(columns="label")).T
    inside = (low <= table["label"]) & (table["label"] <= high)
    found = json.loads(ok("evaluate", model, new, "--by", "town", "--json", "-q"))
    first = found["by"]["groups"][0]
    assert first["coverage"] == pytest.approx(inside[table["town"] == first["value"]].mean())
    for command in (["predict", "--interval", "0.8"], ["evaluate"]):
        failed = here(command[0], model, folder / "without.csv", *command[1:])
        assert failed.returncode == 2 and "has no column 'town'" in failed.stderr
    assert here("predict", model, folder / "without.csv", "--std").returncode == 0
    more = tmp_path / "more.cw"
    ok("train", new, "--init-model", model, "-q", "-o", more)
    again = trained.partial_fit_stream(new)
    for value, state in load(more).learner_.groups.states.items():
        np.testing.assert_array_equal(state, again.learner_.groups.states[value])


def test_label_sets_are_those_of_python(ok, folder, tmp_path):
    model, data = tmp_path / "m.cw", folder / "labels.jsonl"
    ok("train", data, "--rule", "arow", "--coverage-by", "town", "-q", "-o", model)
    trained = load(model)
    [expected] = trained.predict_stream(data, "predict_set", coverage=0.8)
    names = [set(np.array(trained.classes_)[row]) for row in expected]
    assert list(map(set, sets_of(ok("predict", model, data, "--set", "0.8", "--json")))) == names
