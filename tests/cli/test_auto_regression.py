"""``confidently train --auto`` of numbers: stacks of regressions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from confidently import AutoRegressor, load

X, Y = make_friedman1(1500, n_features=5, noise=1.0, random_state=0)


def written(path: Path, rows: slice = slice(None)) -> Path:
    lines = [f"{y!r},{','.join(map(repr, x))}\n" for y, x in zip(Y[rows].tolist(), X[rows].tolist(), strict=True)]
    path.write_text("y,a,b,c,d,e\n" + "".join(lines))
    return path


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return written(tmp_path_factory.mktemp("numbers") / "rows.csv")


def test_a_stack_is_trained_evaluated_and_asked(ok, numbers, tmp_path):
    model = tmp_path / "m.cw"
    result = json.loads(ok("train", numbers, "--label", "y", "--auto", "--regression", "-o", model, "--json", "-q"))
    assert [member["name"] for member in result["members"]][:2] == ["ridge on rows", "ridge on products"]
    of_targets = [member["weight"] for member in result["members"] if "of the rest" not in member["name"]]
    assert sum(of_targets) == pytest.approx(1.0)
    single = json.loads(ok("train", numbers, "--label", "y", "--rule=ridge", "--json", "-q"))
    assert result["rmse"] < 0.8 * single["rmse"]
    assert "noise_std" in single and "noise_std" not in result
    evaluated = json.loads(ok("evaluate", model, numbers, "--json"))
    assert evaluated["rmse"] < 1.3
    lines = ok("predict", model, numbers, "--std", "--interval", "0.9").splitlines()
    assert lines[0].split("\t") == ["prediction", "std", "lower", "upper"]
    predicted = np.array([line.split("\t") for line in lines[1:]], dtype=float)
    assert np.sqrt(np.mean((predicted[:, 0] - Y) ** 2)) == pytest.approx(evaluated["rmse"], rel=1e-4)
    assert (predicted[:, 2] < predicted[:, 0]).all()
    text = ok("inspect", model)
    assert "ridge on cosines of ranks" in text and "RMSE" in text and "9 members, regression" in text
    assert ok("inspect", model, "--plot", tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 1000


def test_the_best_of_several_passes_is_kept(ok, numbers, tmp_path):
    """Although the members train on after it."""
    options = ("--label", "y", "--auto", "--regression", "-q", "--json")
    validation = written(tmp_path / "validation.csv", slice(1000, None))
    training = written(tmp_path / "training.csv", slice(300))
    model = tmp_path / "m.cw"
    stopping = ("--passes", "6", "--early-stop", "--validation", validation)
    result = json.loads(ok("train", training, *options, *stopping, "-o", model))
    evaluated = json.loads(ok("evaluate", model, validation, "--json"))
    assert evaluated["rmse"] == pytest.approx(result["validation"]["rmse"], rel=1e-9)


def test_what_is_not_supported_is_one_error(call, numbers, tmp_path):
    def refused(*arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (2, "")
        return " ".join(err.split())

    model = tmp_path / "m.cw"
    options = ("train", numbers, "--label", "y", "--auto", "--regression")
    assert "--auto chooses its learners; omit --prior-variance" in refused(*options, "--prior-variance", "2")
    assert "not supported for a regression" in refused(*options, "--classes", "a,b")
    other = tmp_path / "other.cw"
    AutoRegressor().fit(X, Y).save(model), AutoRegressor().fit(-X, Y).save(other)
    merging = ("merge", model, other, "-o", tmp_path / "merged.cw")
    assert "ridge on bins: the first 1,000 values of 5 columns differ between the models" in refused(*merging)


def test_several_numbers_are_inspected_output_by_output(ok, call, numbers, tmp_path):
    model = tmp_path / "m.cw"
    AutoRegressor().fit(X, np.column_stack([Y, X[:, 0], -Y])).save(model)
    text = ok("inspect", model)
    for name in ("RMSE", "9 members, regression", *(f"of what it sees, for output {k}" for k in range(3))):
        assert name in text
    found = json.loads(ok("inspect", model, "--json"))
    assert len(found["rmse"]) == 3
    assert [[view["class"] for view in member["classes"]] for member in found["weights"]] == 7 * [[0, 1, 2]]
    assert ok("inspect", model, "--plot", tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 1000
    assert "output 1" in (text := ok("inspect", model, "--class", "1")) and "output 0" not in text
    row, found = ("--row", "1:0.9 3:0.1 4:0.7"), load(model)
    expected, std = found.predict(np.array([[0.9, 0.0, 0.1, 0.7, 0.0]]), return_std=True)
    for k in range(3):
        explained = json.loads(ok("inspect", model, *row, "--class", k, "--top", 1000, "--json"))
        assert (explained["predicted"], explained["std"]) == (pytest.approx(expected[0, k]), pytest.approx(std[0, k]))
        for parts in ("members", "features"):
            assert sum(part["mean"] for part in explained[parts]) == pytest.approx(explained["predicted"])
        weights = {part["name"]: part["weight"] for part in explained["members"]}
        assert [weights[name] for name in found.members_] == found.weights_[k].tolist()
        added = {part["feature"]: part["mean"] for part in explained["features"]}
        assert added["(all columns together)"] != 0.0
    for arguments, message in (
        (("inspect", model, "--row", "1:1"), "--row: the model predicts 3 numbers; use --class with one from 0 to 2"),
        (("inspect", model, "--class", "3"), "--class: unknown class '3'; expected one of 0, 1, 2"),
        (("evaluate", model, numbers), "3 numbers per row, and rows of files have one; evaluate it in Python"),
        (("train", numbers, "--init-model", model), "the model predicts 3 numbers per row; continue its training in"),
    ):
        code, _, err = call(*arguments)
        assert code == 2 and message in " ".join(err.split())


def test_progress_shows_the_mixture_and_when_it_moved(ok, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 3)).round(4)
    y = np.where(np.arange(4000) < 2500, X[:, 0], -X[:, 0]) + 0.3 * generator.normal(size=4000).round(4)
    lines = [",".join(map(repr, row)) for row in np.column_stack([y, X]).tolist()]
    (tmp_path / "rows.csv").write_text("\n".join(["y,a,b,c", *lines]) + "\n")
    arguments = (
        "train",
        "--no-shuffle",
        tmp_path / "rows.csv",
        "--label",
        "y",
        "--auto",
        "--regression",
        "-o",
        tmp_path / "m.cw",
    )
    *events, result = map(json.loads, ok(*arguments, "--json").splitlines())
    progress = [event for event in events if event["event"] == "progress"]
    learner = load(tmp_path / "m.cw").learner_
    assert list(progress[-1]["shares"].values()) == learner.shares.tolist()
    assert progress[-1]["weights"] == dict(zip(learner.names, learner.member_weights.tolist(), strict=True))
    first = learner.moves.rows[0]
    assert 2500 < first < 2600
    assert result["drift"][0]["first_row"] == first
    assert {"event": "drift", "first_row": first} in events
    assert f"drift      shorter memories in rows {first:,} " in ok(*arguments, "-q")
