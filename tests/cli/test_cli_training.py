"""confidently train: options, progress, passes, going on, classes."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from confidently import RULES, AutoClassifier, load
from confidently.cli import BAD_INPUT
from confidently.cli.options.files import CHECKPOINT
from confidently.learner.recipe import default_passes
from confidently.models.model import Model
from confidently.tasks.conformal import CONFORMAL, LEVELS, untrained_levels
from tests.command_line import rows
from tests.model_files import contents_of


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_trains(ok, data, tmp_path, rule):
    ok("train", data, "--rule", rule, "-q", "-o", tmp_path / "m.cw")
    assert Model.load(tmp_path / "m.cw").learner.settings.rule.name == rule


def test_options_reach_the_learner(ok, data, tmp_path):
    model = tmp_path / "m.cw"
    ok(
        "train", data, "-q", "-o", model, "--rule", "iellip", "--c", "0.2", "--rule-param", "b=0.5",
        "--covariance", "full", "--prior-variance", "0.1", "--min-variance", "1e-9", "--no-intercept", "--average",
        "--dtype", "float32", "--multiclass", "one-vs-rest", "--calibration", "none",
    )  # fmt: skip
    found = Model.load(model)
    settings = found.learner.settings
    assert settings.rule.get_params() == {"gamma": 0.1, "b": 0.5, "c": 0.2}
    assert (settings.covariance, settings.prior_variance, settings.min_variance) == ("full", 0.1, 1e-9)
    assert (settings.fit_intercept, settings.average, settings.dtype) == (False, True, "float32")
    assert found.estimator == {"multiclass": "one-vs-rest", "calibration": None}
    assert found.learner.state["calibration"][0] == 1.0


def test_passes_read_the_data_again(ok, data, tmp_path):
    result = json.loads(
        ok("train", data, "--no-shuffle", "--rule=arow", "--passes", 3, "--json", "-q", "-o", tmp_path / "m.cw")
    )
    assert result["rows"] == 300 and result["rows_seen"] == 900
    once = json.loads(ok("train", data, "--no-shuffle", "--rule=arow", "--json", "-q"))
    assert result["error"] == once["error"]
    one_pass = Model.load(tmp_path / "m.cw").learner.state["calibration"]
    ok("train", data, "--no-shuffle", "--rule=arow", "-q", "-o", tmp_path / "once.cw")
    np.testing.assert_array_equal(Model.load(tmp_path / "once.cw").learner.state["calibration"], one_pass)


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c", "d"), ("1,2", "2", "", "3,1")])
@pytest.mark.parametrize("options", [(), ("--multiclass", "one-vs-rest", "--rule", "gibbs_pa", "--average")])
def test_a_model_continues_as_if_it_had_never_stopped(ok, tmp_path, labels, options):
    first, second = tmp_path / "first.svm", tmp_path / "second.svm"
    first.write_text(rows(90, labels[:2] if len(labels[0]) < 2 else labels))
    second.write_text(rows(200, labels, seed=1, d=50))
    options = (*options, "--no-shuffle")
    ok("train", first, second, "--rule=arow", "-q", "-o", tmp_path / "whole.cw", *options)
    ok("train", first, "--rule=arow", "-q", "-o", tmp_path / "part.cw", *options)
    ok("train", second, "-q", "--init-model", tmp_path / "part.cw", "-o", tmp_path / "both.cw")
    whole, both = Model.load(tmp_path / "whole.cw"), Model.load(tmp_path / "both.cw")
    assert whole.header() == both.header()
    for name, array in whole.learner.state.items():
        np.testing.assert_array_equal(array, both.learner.state[name], err_msg=name)


def test_classes_in_a_given_order(ok, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows(labels=("x", "y", "+3")))
    ok("train", path, "--rule=arow", "-q", "--classes", "y,3.0,x", "-o", tmp_path / "m.cw")
    assert Model.load(tmp_path / "m.cw").classes == ["y", 3, "x"]


def test_a_step_out_of_range_in_the_middle_of_a_batch_leaves_the_last_checkpoint(call, ok, tmp_path):
    """A row of one feature moves its weight further than rows of two; nothing since the checkpoint is saved."""
    lines = [f"{'+-'[k % 2]}1 {2 * k + 1}:1 {2 * k + 2}:1" for k in range(600)]
    good, data, model = tmp_path / "good.svm", tmp_path / "data.svm", tmp_path / "m.cw"
    good.write_text("\n".join(lines[:400]) + "\n")
    data.write_text("\n".join([*lines[:450], "+1 3000:1", *lines[451:]]) + "\n")
    options = ["--rule", "iellip", "--gamma", "1.2e110", "--no-intercept", "--no-shuffle", "-q"]
    ok("train", good, "--rule=arow", "-o", model, *options)
    before = model.read_bytes()
    for resume in ([], ["--resume"]):
        code, out, err = call("train", data, "--rule=arow", "-o", model, "--checkpoint-every", 100, *options, *resume)
        assert (code, out) == (BAD_INPUT, "") and err.count("\n") == 1
        assert "data.svm, line 1, or soon after it: the rows take the model out of the range of float64" in err
        assert model.read_bytes() == before
        header, arrays = contents_of(model.with_name(model.name + CHECKPOINT))
        assert header["training"]["position"]["now"]["rows"] == 400
        for name, array in contents_of(model)[1].items():  # which has the features of the rows before
            assert array.tobytes() == arrays[name][tuple(map(slice, array.shape))].tobytes(), name


def test_an_invalid_row_in_the_middle_of_a_batch_saves_nothing(call, ok, tmp_path):
    lines = rows(600).splitlines()
    data, model = tmp_path / "data.svm", tmp_path / "m.cw"
    data.write_text("\n".join(lines) + "\n")
    ok("train", data, "--rule=arow", "-o", model, "-q")
    before = model.read_bytes()
    data.write_text("\n".join([*lines[:450], "+1 3000:x", *lines[451:]]) + "\n")
    code, out, err = call("train", data, "--rule=arow", "-o", model, "--checkpoint-every", 100, "-q")
    assert (code, out) == (BAD_INPUT, "") and err.count("\n") == 1 and "line 451, column 4: feature '3000:x'" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.svm", "m.cw"] and model.read_bytes() == before


@pytest.mark.long("seven stacks")
@pytest.mark.filterwarnings("ignore:rows are sorted")
def test_few_rows_of_classes_are_learned_twice_as_by_fit(ok, tmp_path):
    """In the order of the file the first rows are of one class; probabilities are those of two passes."""
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=np.array(["x", "y", "z"])[y])
    table.to_csv(tmp_path / "iris.csv", index=False)
    found = {}
    for options in ((), ("--passes=1",), ("--passes=2",), ("--no-shuffle",), ("--holdout=0.2",), ("--rule=arow",)):
        told = ok("train", tmp_path / "iris.csv", "--label=label", *options, "-q", "--json", "-o", tmp_path / "m.cw")
        model = load(tmp_path / "m.cw")
        p = model.predict_proba(table[list("abcd")])[np.arange(150), y]
        found[options] = json.loads(told)["passes"], model.learner_.n_seen, -np.log(p).mean(), (p < 0.5).mean()
    twice = found.pop(())
    assert twice[:2] == (2, 300) == found.pop(("--passes=2",))[:2]
    assert twice[3] < 0.04 and twice[2] < 0.9 * found[("--passes=1",)][2]
    assert {one[0] for one in found.values()} == {1}
    table[:2].assign(label=["x", "y"]).to_csv(tmp_path / "two.csv", index=False)
    ok("train", tmp_path / "two.csv", "--label=label", "-q", "-o", tmp_path / "m.cw")
    assert load(tmp_path / "m.cw").learner_.n_seen == 4


def test_as_many_passes_as_by_fit(ok, tmp_path):
    """Over a file that is shuffled; the error that is printed is that of the first."""
    X = np.random.default_rng(0).normal(size=(600, 3)).round(3)
    pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] * X[:, 1] > 0).to_csv(tmp_path / "rows.csv", index=False)
    told = {}
    for options in ((), ("--passes=1",)):
        told[options] = json.loads(ok("train", tmp_path / "rows.csv", "--label=y", *options, "--json", "-q"))
    one, two = told[("--passes=1",)], told[()]
    assert (two["passes"], two["rows_seen"], one["passes"], one["rows_seen"]) == (2, 1200, 1, 600)
    assert (two["mistakes"], two["log_loss"]) == (one["mistakes"], one["log_loss"])
    assert "in each of 2 passes" in ok("train", tmp_path / "rows.csv", "--label=y", "-q")
    for shape, passes in {(2999, 128): 2, (3000, 128): 1, (2999, 129): 1}.items():
        assert AutoClassifier()._passes(shape) == default_passes(*shape) == passes


@pytest.mark.parametrize("options", [("--auto",), ("--rule=logistic", "--passes=2")])
def test_files_that_are_shuffled_end_with_the_right_share(ok, tmp_path, options):
    """As arrays do; and rows that were not shuffled keep the offset that they have led to."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(900, 4)).round(3)
    y = generator.random(900) < 1.0 / (1.0 + np.exp(2.5 - X[:, 0] - X[:, 1]))
    pd.DataFrame(X).assign(y=np.where(y, "yes", "no")).to_csv(tmp_path / "rows.csv", index=False)
    shares = []
    for more in ((), ("--no-shuffle",)):
        ok("train", tmp_path / "rows.csv", "--label=y", *options, *more, "-q", "-o", tmp_path / "m.cw")
        model = load(tmp_path / "m.cw")
        p = model.predict_proba(pd.DataFrame(X, columns=list("0123")))
        shares.append(p[:, list(model.classes_).index("yes")].mean())
        followed = model.learner_.state[CONFORMAL][:LEVELS] != untrained_levels()
        assert followed.any() == bool(more)
    assert shares[0] == pytest.approx(y.mean(), rel=0.005) != shares[1]
