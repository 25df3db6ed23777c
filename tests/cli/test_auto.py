"""``confidently train --auto``: what is shown of stacks: members, weights, explanations, plots, drift."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from confidently import AutoClassifier, AutoRegressor, load, progressive_validation
from confidently.cli.output import plots
from confidently.cli.output.learner_summaries import drift_text
from confidently.data import open_stream
from confidently.models.model import Model
from confidently.models.stack_explanation import explain_stack
from confidently.stack.members import WEIGHTS


def written(path, rows):
    """A table of numbers to predict."""
    X, Y = make_friedman1(1500, n_features=5, noise=1.0, random_state=0)
    lines = [f"{y!r},{','.join(map(repr, x))}\n" for y, x in zip(Y[rows].tolist(), X[rows].tolist(), strict=True)]
    path.write_text("y,a,b,c,d,e\n" + "".join(lines))
    return path


def test_weights_of_features_are_those_of_the_members(ok, table, tmp_path):
    model = tmp_path / "m.cw"
    ok("train", table, "--label", "label", "--auto", "-o", model, "-q")
    text = ok("inspect", model, "--top", 2, "--members")
    assert text.count(": the largest effects of") == 3 and "positive for yes" in text
    facts, stack = json.loads(ok("inspect", model, "--json")), load(model)
    assert list(facts["importances"].values()) == pytest.approx(sorted(stack.feature_importances_, reverse=True))
    important, short = next(iter(facts["importances"])), ok("inspect", model, "--top", 1)
    assert f"\n{important}" in short and "--members" in short and "logistic" not in short
    found = {entry["member"]: entry["classes"] for entry in facts["weights"]}
    assert set(found) == {
        name for name in stack.members_ if not ("cosines" in name or "trees" in name)
    }  # which have none of features
    weights = dict(zip(stack.members_, abs(stack.weights_), strict=True))
    assert weights[next(iter(found))] == max(weights[name] for name in found)
    [of_class] = found["logistic on standard without unit norm"]
    alone = stack.members_["logistic on standard without unit norm"]
    expected = dict(zip([*stack.features_.names, "(intercept)"], [*alone.coef_[0], *alone.intercept_], strict=True))
    assert of_class["class"] == "yes"
    assert {weight["feature"]: weight["mean"] for weight in of_class["top"]} == pytest.approx(expected)
    products = found["logistic on standard,pairs without unit norm"][0]["top"]
    assert {"age * income", "income * age"} & {weight["feature"] for weight in products}


def test_a_text_of_several_classes_is_explained(ok, tmp_path):
    path, model = tmp_path / "data.txt", tmp_path / "m.cw"
    generator = np.random.default_rng(0)
    words = [f"w{k}" for k in range(400)]
    labels = generator.integers(0, 3, 400)
    own = [" ".join(f"k{k}x{j}" for j in generator.integers(0, 9, 3)) for k in labels]
    texts = [f"c{k}\t{' '.join(generator.choice(words, 50))} {more}\n" for k, more in zip(labels, own, strict=True)]
    path.write_text("".join(texts))
    result = json.loads(ok("train", path, "--auto", "-o", model, "--json", "-q"))
    assert "naive Bayes" in [member["name"] for member in result["members"]]
    assert result["error"] < 0.3
    found = json.loads(ok("inspect", model, "--row", "k1x3 k1x4 w7 unseen", "--json", "--top", 1000))
    assert found["predicted"] == "c1"
    for part in ("members", "features"):
        assert sum(one["mean"] for one in found[part]) == pytest.approx(found["margin"]["mean"])
    assert found["features"][0]["feature"] in ("k1x3", "k1x4")
    assert "--class NAME shows the weights of features for a class" in ok("inspect", model, "--members")
    of_class = ok("inspect", model, "--class", "c1")
    assert "positive for c1" in of_class and "k1x" in of_class and "positive for c2" not in of_class


@pytest.mark.long("a thousand texts of a stack")
def test_words_beside_numbers_have_members_for_both(ok, tmp_path):
    path = tmp_path / "data.jsonl"
    generator = np.random.default_rng(0)
    words = [f"w{k}" for k in range(500)]
    with path.open("w") as file:
        for _ in range(1200):
            size, text = float(generator.normal()) * 1e4, list(generator.choice(words, 60))
            label = (size > 0) == ("w1" in text or "w2" in text or "w3" in text or "w4" in text)
            print(json.dumps({"text": " ".join(text), "size": size, "label": "yn"[label]}), file=file)
    result = json.loads(ok("train", path, "--text", "text", "--label", "label", "--auto", "--json", "-q"))
    names = [member["name"] for member in result["members"]]
    assert [name for name in names if not name.endswith(" by kind")] == [
        "arow on standard", "logistic on standard", "arow on standard,nb", "naive Bayes", "arow on standard,idf",
    ]  # fmt: skip
    assert "logistic on standard without unit norm by kind" in names  # of the number alone


def test_objects_of_words_are_text(ok, tmp_path):
    path = tmp_path / "data.jsonl"
    generator = np.random.default_rng(0)
    with path.open("w") as file:
        for k in generator.integers(0, 2, 300):
            words = {f"w{2 * j + (k if j < 20 else 0)}": int(j % 3 + 1) for j in generator.integers(0, 300, 50)}
            print(json.dumps({"words": words, "label": "ab"[k]}), file=file)
    result = json.loads(ok("train", path, "--label", "label", "--auto", "--json", "-q"))
    assert "arow on nb" in [member["name"] for member in result["members"]]


def test_one_row_is_explained_at_a_time(ok, table, tmp_path):
    model = tmp_path / "m.cw"
    ok("train", table, "--label", "label", "--auto", "-o", model, "-q")
    with (
        open_stream(str(table), normalize="none", zeros=True, label="label") as stream,
        pytest.raises(ValueError, match="explain takes one row at a time, got 1500"),
    ):
        explain_stack(Model.load(model), next(stream))


@pytest.mark.long("several drawings")
def test_plots_draw_members_and_what_they_and_features_add(ok, table, tmp_path):
    model, plot, row = tmp_path / "m.cw", tmp_path / "plot.png", "age,town,income,label\n70,Rom,2000000,yes\n"
    ok("train", "--no-shuffle", table, "--label", "label", "--auto", "-o", model, "-q")
    for options in ([], ["--row", row, "--top", 3]):
        assert ok("inspect", model, "--plot", plot, *options).endswith(f"Plot: {plot}\n")
        assert plot.read_bytes().startswith(b"\x89PNG")
        plot.unlink()
    loaded = Model.load(model)
    (axes,) = plots.plot_members(loaded.learner).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == loaded.learner.names
    assert [bar.get_width() for bar in axes.patches] == loaded.learner.state[WEIGHTS].tolist()
    lengths = [end[0] - start[0] for start, end in axes.collections[0].get_segments()]
    assert lengths == pytest.approx(4 * loaded.learner.weight_deviations())
    with open_stream(str(table), normalize="none", zeros=True, label="label") as stream:
        found = explain_stack(loaded, next(stream).rows(0, 1))
    for axes, parts in zip(plots.plot_stack_row(found, 3).axes, (len(loaded.learner.names), 4), strict=True):
        widths = [bar.get_width() for bar in axes.patches]
        assert len(widths) == parts + 1
        assert sum(widths[:-1]) == pytest.approx(widths[-1]) == pytest.approx(found.mean)
    label = replace(found, supported="big", rival=None)
    assert plots.plot_stack_row(label, 3).get_suptitle() == "Contributions to the margin of big"


@pytest.mark.long("a stack of three numbers, ten commands")
def test_several_numbers_are_inspected_output_by_output(ok, tmp_path):
    X, Y = make_friedman1(400, n_features=5, noise=1.0, random_state=0)
    model = tmp_path / "m.cw"
    AutoRegressor().fit(X, np.column_stack([Y, X[:, 0], -Y])).save(model)
    text = ok("inspect", model, "--members")
    for name in ("RMSE", *(f"of what it sees, for output {k}" for k in range(3))):
        assert name in text
    found = json.loads(ok("inspect", model, "--json"))
    assert len(found["rmse"]) == 3
    assert [[view["class"] for view in member["classes"]] for member in found["weights"]] == len(found["weights"]) * [
        [0, 1, 2]
    ]
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


def test_the_best_of_several_passes_is_kept(ok, tmp_path):
    """Although the members train on after it."""
    options = ("--label", "y", "--auto", "--regression", "-q", "--json")
    validation = written(tmp_path / "validation.csv", slice(1000, None))
    training = written(tmp_path / "training.csv", slice(300))
    model = tmp_path / "m.cw"
    stopping = ("--passes", "6", "--early-stop", "--validation", validation)
    result = json.loads(ok("train", training, *options, *stopping, "-o", model))
    evaluated = json.loads(ok("evaluate", model, validation, "--json"))
    assert evaluated["rmse"] == pytest.approx(result["validation"]["rmse"], rel=1e-9)


@pytest.mark.long("stacks of 3,500 rows")
@pytest.mark.parametrize("regression", [False, True])
def test_progress_shows_the_mixture_and_when_it_moved(ok, call, tmp_path, regression):
    generator = np.random.default_rng(0)
    X, wrong = generator.normal(size=(3500, 3)).round(4), generator.random(3500) < 0.1
    turned = np.arange(3500) >= 2500
    y = np.where(turned, -X[:, 0], X[:, 0]) + 0.3 * generator.normal(size=3500).round(4)
    labels = y.tolist() if regression else ((X[:, 0] > 0) ^ turned ^ wrong).astype(int).tolist()
    lines = ["a,b,c,y", *(",".join(map(str, [*x, label])) for x, label in zip(X.tolist(), labels, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    model, kind = tmp_path / "m.cw", ["--regression"] if regression else []
    arguments = ["train", "--no-shuffle", tmp_path / "rows.csv", "--label", "y", "--auto", *kind, "-o", model]
    *events, result = map(json.loads, ok(*arguments, "--json").splitlines())
    progress, learner = [event for event in events if event["event"] == "progress"], load(model).learner_
    assert [event["rows"] for event in progress] == [1000, 2000, 3500]
    assert list(progress[-1]["shares"].values()) == learner.shares.tolist()
    weights = dict(zip(learner.names, learner.member_weights.tolist(), strict=True))
    assert progress[-1]["weights"] == {name: w for name, w in weights.items() if w or regression}
    first = learner.moves.rows[0]
    assert 2500 < first < 2600 and {"event": "drift", "first_row": first} in events
    assert result["drift"][0]["first_row"] == first
    assert json.loads(ok("inspect", model, "--json"))["drift"] == result["drift"]
    assert f"shorter memories in rows {first:,} " in ok("inspect", model)
    if not regression:
        with open_stream(tmp_path / "rows.csv", normalize="none", zeros=True, label="y") as stream:
            (mixture,) = progressive_validation(AutoClassifier(), stream, at=[1000, 2000, 3500]).mixtures
        for k, event in enumerate(progress):
            assert list(event["shares"].values()) == mixture.shares[k].tolist()
        _, out, err = call(*arguments)
        assert f"the mixture moved to shorter memories at row {first:,}\n" in err
        assert f"drift      shorter memories in rows {first:,} " in out


def test_what_does_not_move_has_no_drift(ok, call, table):
    *events, result = map(
        json.loads, ok("train", "--no-shuffle", table, "--label", "label", "--auto", "--json").splitlines()
    )
    assert result["drift"] == [] and all(event["event"] == "progress" for event in events)
    *events, result = map(json.loads, ok("train", table, "--label", "label", "--rule=arow", "--json").splitlines())
    assert "drift" not in result and all("shares" not in event for event in events)


def test_of_many_times_the_last_are_listed():
    spans = [{"first_row": 1000 * k, "last_row": 1000 * k + 200} for k in range(1, 8)]
    spans.append({"first_row": 9000, "last_row": None})
    assert drift_text(spans) == (
        "shorter memories in rows 4,000 to 4,200, 5,000 to 5,200, 6,000 to 6,200, 7,000 to 7,200, 9,000 on "
        "(3 times before)"
    )
