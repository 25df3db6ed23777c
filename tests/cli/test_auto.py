"""``confidently train --auto``: stacks on the command line, from training to explanation."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from confidently import AutoClassifier, load, progressive_validation
from confidently.cli.output import plots
from confidently.cli.output.learner_summaries import drift_text
from confidently.data import open_stream
from confidently.models.model import Model
from confidently.models.stack_explanation import explain_stack
from confidently.stack.members import WEIGHTS
from tests.estimators.test_auto_classifier import OF_MANY_ROWS


def test_a_stack_is_trained_evaluated_and_asked(ok, table, tmp_path):
    model = tmp_path / "m.cw"
    result = json.loads(ok("train", "--no-shuffle", table, "--label", "label", "--auto", "-o", model, "--json", "-q"))
    assert [member["name"] for member in result["members"]] == OF_MANY_ROWS
    assert "rule" not in result
    assert result["error"] < 0.15
    assert (result["rows"], result["features"], result["classes"]) == (1500, 5, ["no", "yes"])
    single = json.loads(ok("train", "--no-shuffle", table, "--label", "label", "--rule=arow", "--json", "-q"))
    assert single["error"] > 0.4
    evaluated = json.loads(ok("evaluate", model, table, "--json"))
    assert evaluated["error"] < 0.1
    predicted = [line.split("\t") for line in ok("predict", model, table, "--proba", "--std").splitlines()[1:]]
    truth = [line.split(",")[3] for line in table.read_text().splitlines()[1:]]
    assert np.mean([row[0] != label for row, label in zip(predicted, truth, strict=True)]) == pytest.approx(
        evaluated["error"]
    )
    assert all((row[0] == "yes") == (float(row[2]) > 0.5) for row in predicted)
    text = ok("train", "--no-shuffle", table, "--label", "label", "--auto", "-q")
    assert f"{len(OF_MANY_ROWS)} members, binary" in text and OF_MANY_ROWS[0] in text


def test_weights_of_features_are_those_of_the_members(ok, table, tmp_path):
    model = tmp_path / "m.cw"
    ok("train", table, "--label", "label", "--auto", "-o", model, "-q")
    text = ok("inspect", model, "--top", 2)
    assert text.count(": the largest effects of") == 3 and "positive for yes" in text
    found = {entry["member"]: entry["classes"] for entry in json.loads(ok("inspect", model, "--json"))["weights"]}
    stack = load(model)
    assert set(found) == {name for name in stack.members_ if "cosines" not in name}  # which have none of features
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
    assert "--class NAME shows the weights of features for a class" in ok("inspect", model)
    of_class = ok("inspect", model, "--class", "c1")
    assert "positive for c1" in of_class and "k1x" in of_class and "positive for c2" not in of_class


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
    for axes, parts in zip(plots.plot_stack_row(found, 3).axes, (len(OF_MANY_ROWS), 4), strict=True):
        widths = [bar.get_width() for bar in axes.patches]
        assert len(widths) == parts + 1
        assert sum(widths[:-1]) == pytest.approx(widths[-1]) == pytest.approx(found.mean)
    label = replace(found, supported="big", rival=None)
    assert plots.plot_stack_row(label, 3).get_suptitle() == "Contributions to the margin of big"


@pytest.fixture
def turned(tmp_path):
    """A table whose labels are turned from row 2500 on."""
    generator = np.random.default_rng(0)
    X, wrong = generator.normal(size=(4000, 3)).round(4), generator.random(4000) < 0.1
    y = (X[:, 0] > 0) ^ (np.arange(4000) >= 2500) ^ wrong
    lines = ["a,b,c,y", *(",".join(map(str, [*x, int(label)])) for x, label in zip(X.tolist(), y, strict=True))]
    (tmp_path / "turned.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "turned.csv"


def test_progress_shows_the_mixture_and_when_it_moved(ok, call, turned, tmp_path):
    *events, result = map(
        json.loads, ok("train", "--no-shuffle", turned, "--label", "y", "--auto", "--json").splitlines()
    )
    lines = [event for event in events if event["event"] == "progress"]
    assert [event["rows"] for event in lines] == [1000, 2000, 4000]
    stream = open_stream(str(turned), normalize="none", zeros=True, label="y")
    (mixture,) = progressive_validation(AutoClassifier(), stream, at=[1000, 2000, 4000]).mixtures
    for k, event in enumerate(lines):
        assert list(event["shares"].values()) == mixture.shares[k].tolist()
        weights = dict(zip(mixture.members, mixture.weights[k].tolist(), strict=True))
        assert event["weights"] == {name: w for name, w in weights.items() if w}
    first, end = mixture.moves[0]
    assert {"event": "drift", "first_row": first} in events
    assert result["drift"][0] == {"first_row": first, "last_row": end and end - 1}
    assert 2500 < first < 2600
    model = tmp_path / "m.cw"
    _, out, err = call("train", "--no-shuffle", turned, "--label", "y", "--auto", "-o", model)
    assert f"the mixture moved to shorter memories at row {first:,}\n" in err
    assert f"drift      shorter memories in rows {first:,} " in out
    assert f"shorter memories in rows {first:,} " in ok("inspect", model)
    assert json.loads(ok("inspect", model, "--json"))["drift"] == result["drift"]


def test_what_does_not_move_has_no_drift(ok, call, table):
    *events, result = map(
        json.loads, ok("train", "--no-shuffle", table, "--label", "label", "--auto", "--json").splitlines()
    )
    assert result["drift"] == []
    assert all(event["event"] == "progress" for event in events)
    _, out, err = call("train", "--no-shuffle", table, "--label", "label", "--auto")
    assert "memories" not in out + err
    *events, result = map(
        json.loads, ok("train", "--no-shuffle", table, "--label", "label", "--rule=arow", "--json").splitlines()
    )
    assert "drift" not in result
    assert all("shares" not in event for event in events)


def test_of_many_times_the_last_are_listed():
    spans = [{"first_row": 1000 * k, "last_row": 1000 * k + 200} for k in range(1, 8)]
    spans.append({"first_row": 9000, "last_row": None})
    assert drift_text(spans) == (
        "shorter memories in rows 4,000 to 4,200, 5,000 to 5,200, 6,000 to 6,200, 7,000 to 7,200, 9,000 on "
        "(3 times before)"
    )
