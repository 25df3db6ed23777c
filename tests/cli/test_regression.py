"""Regressions on the command line: what train, predict, evaluate and inspect say about numbers."""

import json
import warnings

import numpy as np
import pytest

from confidently import OnlineRegressor, load
from confidently.models.explanation import explain_number
from confidently.models.model import Model
from tests.command_line import here
from tests.models.test_inspection import one_row

RNG = np.random.default_rng(11)
X = RNG.normal(size=(4000, 3)).round(3)
X[X == 0.0] = 0.001  # in a table 0 is a number, in an array it is a value that is absent
Y = (X @ [1.0, -2.0, 0.5] + 3.0 + 0.2 * RNG.normal(size=len(X))).round(4)


def table(rows, targets=Y):
    return "y,a,b,c\n" + "".join(f"{y},{','.join(map(str, x))}\n" for y, x in zip(targets[rows], X[rows], strict=True))


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rows.csv").write_text(table(slice(0, 3000)))
    (tmp_path / "new.csv").write_text(table(slice(3000, None)))
    return tmp_path / "rows.csv"


def train(ok, data, *options, model="m.cw"):
    found = json.loads(
        ok("train", data, "--covariance=auto", "--label", "y", "-q", "--json", "-o", data.parent / model, *options)
    )
    return found, data.parent / model


@pytest.mark.long("six trainings of thousands of rows")
def test_integers_of_which_most_rows_have_one_of_their_own_are_numbers(call, data):
    for n, numbers in ((29, False), (30, True), (3000, True)):
        data.write_text(table(slice(0, n), 7 * np.arange(4000)))
        code, out, err = call("train", data, "--label", "y")
        assert code == 0 and ("RMSE" in out) == numbers
        rows = f"{min(n, 1000):,}"
        text = f"labels are {rows} different integers in {rows} rows, so the model predicts numbers"
        assert (text in err) == numbers
    data.write_text(table(slice(0, 40), 7 * np.arange(4000)))
    assert "RMSE" not in call("train", data, "--label", "y", "--classification")[1]


@pytest.mark.long("seven trainings of thousands of rows")
def test_integers_are_classes_and_many_of_them_are_mentioned(call, ok, data):
    for n, mentioned in ((3, False), (77, True), (500, True)):
        data.write_text(table(slice(0, 2000), np.arange(4000) % n))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            code, out, err = call("train", data, "--average", "--label", "y", "-q")
            silent = call("train", data, "--average", "--label", "y", "-q", "--classification")[2]
        assert code == 0 and f"{n} (0, 1, 2" in out
        text = f"warning: labels are {n} different integers in the first 1,000 rows, read as classes; use --regression "
        assert (text in err) == mentioned and text not in silent
    result, _ = train(ok, data, "--no-shuffle", "--rule", "poisson")
    assert result["rule"]["name"] == "poisson" and result["target_offset"] == pytest.approx(63.5)  # of the first 128


def test_several_numbers_are_predicted_in_columns(ok, tmp_path):
    path, rows = tmp_path / "m.cw", tmp_path / "rows.svm"
    model = OnlineRegressor().fit(X[:500], np.column_stack([Y, X[:, 0] - Y])[:500])
    model.save(path)
    rows.write_text("".join(f"0 {' '.join(f'{j + 1}:{x!r}' for j, x in enumerate(row))}\n" for row in X[:9].tolist()))
    (mean, std), limits = model.predict(X[:9], return_std=True), model.predict_interval(X[:9], 0.8)
    names = [f"{name}:{k}" for name in ("prediction", "std", "lower", "upper") for k in range(2)]
    header, *lines = ok("predict", path, rows, "--std", "--interval", "0.8").splitlines()
    assert header.split("\t") == names
    expected = np.hstack([mean, std, limits[:, :, 0], limits[:, :, 1]])
    assert np.array([line.split("\t") for line in lines], dtype=float) == pytest.approx(expected, rel=1e-8)
    found = [json.loads(line)["prediction"] for line in ok("predict", path, rows, "--json").splitlines()]
    assert np.array([[one["0"], one["1"]] for one in found]) == pytest.approx(mean)
    assert ok("predict", path, rows).splitlines()[0] == "prediction:0\tprediction:1"


@pytest.mark.parametrize("parameters", [
    {}, {"covariance": "diag"}, {"view": "standard,pairs"}, {"calibration": None},
    {"rule": "poisson", "covariance": "diag"}, {"rule": "pa1_reg", "average": True},
])  # fmt: skip
def test_contributions_to_each_of_several_numbers_are_those_to_one(ok, tmp_path, parameters):
    """Here numbers share nothing that depends on the targets."""
    targets = np.column_stack([np.abs(Y), np.arange(4000) % 7, 5.0 + X[:, 0]])[:500]
    OnlineRegressor(**parameters).fit(X[:500], targets).save(tmp_path / "several.cw")
    row = ("--row", "1:0.5 2:-1.5", "--json")
    for k in range(3):
        OnlineRegressor(**parameters).fit(X[:500], targets[:, k]).save(tmp_path / "one.cw")
        found = json.loads(ok("inspect", tmp_path / "several.cw", *row, "--class", k))
        expected = json.loads(ok("inspect", tmp_path / "one.cw", *row))
        for name in ("predicted", "std", "offset", "mean", "variance"):
            assert found[name] == pytest.approx(expected[name], rel=1e-6, abs=1e-9), name
        for name in ("mean", "variance"):
            assert sum(one[name] for one in expected["contributions"]) == pytest.approx(expected[name])
        assert sum(one["weight"] * one["value"] for one in expected["contributions"]) == pytest.approx(expected["mean"])
        score = expected["offset"] + expected["mean"]
        total = np.exp(score + expected["variance"] / 2) if parameters.get("rule") == "poisson" else score
        assert total == pytest.approx(expected["predicted"])
        by_name = [{one["feature"]: one for one in each["contributions"]} for each in (found, expected)]
        for feature, one in by_name[1].items():
            for name in ("weight", "mean", "variance"):
                assert by_name[0][feature][name] == pytest.approx(one[name], rel=1e-6, abs=1e-9), (feature, name)
    with pytest.raises(ValueError, match="the model predicts 3 numbers per row; pass about, the number of one from 0"):
        explain_number(Model.load(tmp_path / "several.cw"), one_row(np.array([0.5, -1.5, 0.0])))


def test_bounds_are_those_of_the_regressor(ok, data):
    counts = np.random.default_rng(2).poisson(np.exp(X[:, 0])).astype(float)
    data.write_text(table(slice(0, 3000), counts))
    for bounds in (None, "0,", "-1,500", ","):
        options = ["--regression", *([] if bounds is None else [f"--bounds={bounds}"])]
        _, path = train(ok, data, *options)
        model = load(path)
        found = {None: None, "0,": (0.0, None), "-1,500": (-1.0, 500.0), ",": (None, None)}[bounds]
        assert model.get_params()["bounds"] == found
        text = ok("predict", path, data.parent / "new.csv", "--interval", "0.9").splitlines()[1:]
        values = np.array([line.split("\t")[:3] for line in text], float)
        np.testing.assert_allclose(values[:, 0], model.predict(X[3000:]), rtol=1e-4, atol=1e-6)
        least = {None: 0.0, "0,": 0.0, "-1,500": -1.0, ",": -np.inf}[bounds]
        assert (values >= least).all() and (values[:, 0].min() < 0) == (bounds in ("-1,500", ","))


def test_infinite_limits_are_a_warning_and_null_in_json(ok, tmp_path):
    (tmp_path / "few.csv").write_text(table(slice(0, 5)))
    path, out = tmp_path / "few.cw", tmp_path / "out.jsonl"
    ok("train", tmp_path / "few.csv", "--label=y", "--regression", "--rule=ridge", "-o", path)
    done = here("predict", path, tmp_path / "few.csv", "--interval", "0.9", "-o", out)
    assert done.returncode == 0 and done.stderr.count("--interval: intervals are infinite") == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 5 and all(row["lower"] is None and row["upper"] is None for row in rows)
