"""Inspection and explanation: the weights shown are those of the arrays, and contributions sum to the margin."""

import json
import math

import numpy as np
import pytest

from confidently import OnlineClassifier, Standard
from confidently.covariances.settings import Settings
from confidently.data import Batch, open_stream
from confidently.data.features import Features, NewFeatures, Strings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.explanation import explain
from confidently.models.inspection import INTERCEPT, class_views
from confidently.models.model import Model
from tests.command_line import here, process, rows
from tests.covariance_cases import OVER_WEIGHTS, has_task, serves
from tests.tables.tasks import MULTILABEL

D = 6
TASKS = {"binary": 2, "joint": 4, "one-vs-rest": 4, "softmax": 4} | dict.fromkeys(MULTILABEL, 3)
CASES = [
    (task, covariance, rule, average, intercept)
    for task in TASKS
    for covariance in OVER_WEIGHTS
    for rule, average, intercept in (
        ("arow", False, True),
        ("iellip", True, False),
        ("pa", True, True),
        ("logistic", False, False),
    )
    if serves(covariance, task) and has_task(rule, task)
]


def trained(task, covariance="diag", rule="arow", average=False, intercept=True, n=60, dtype="float64"):
    random = np.random.default_rng(3)
    learner = Learner(
        Settings(rule, covariance, task, average=average, fit_intercept=intercept, dtype=dtype), TASKS[task], D
    )
    X = random.normal(size=(n, D)) * (random.random((n, D)) < 0.6)
    X[:, -1] = 0.0  # an unseen feature
    sets = random.random((n, TASKS[task])) < 0.4
    start = np.append(0, np.cumsum(sets.sum(axis=1))) if task in MULTILABEL else None
    labels = sets.nonzero()[1] if task in MULTILABEL else random.integers(TASKS[task], size=n)
    learner.learn(as_matrix(X), labels.astype(np.int32), start)
    return Model(learner, [f"c{k}" for k in range(TASKS[task])])


def one_row(x):
    (columns,) = np.nonzero(x)
    start = np.array([0, len(columns)])
    return Batch(x[columns], columns.astype(np.int32), start, len(x), np.empty(0, dtype=np.int32))


def row_of(seed=5, d=D):
    random = np.random.default_rng(seed)
    return random.normal(size=d) * (random.random(d) < 0.8)


def dense_sigma(learner):
    """The whole covariance of all columns' weights, intercept last: (columns x D) squared."""
    settings, columns, size = learner.settings, learner.weights.shape[2], D + learner.settings.fit_intercept
    if not learner.covariance.couples_features:
        return np.diag(learner.column_variances().ravel())
    found = learner.covariance_matrix()
    if len(found) == 1 and found.shape[1] == size:  # of all columns
        return np.kron(np.eye(columns), found[0])
    if settings.independent:
        whole = np.zeros((columns * size, columns * size))
        for k, block in enumerate(found):
            whole[k * size : (k + 1) * size, k * size : (k + 1) * size] = block
        return whole
    return found[0]


@pytest.mark.parametrize("n", [7, 60])  # after 7 rows most of a dense covariance is pending
@pytest.mark.parametrize("case", CASES, ids=str)
def test_contributions_sum_to_the_margin(case, n):
    task, intercept = case[0], case[-1]
    model, x = trained(*case, n=n), row_of()
    learner = model.learner
    mean, variance = (array[0] for array in learner.margin_distribution(as_matrix(x[None])))
    x1 = np.append(x, 1.0) if intercept else x
    for about in [None, *model.classes]:
        found = explain(model, one_row(x), about)
        assert found.mean == pytest.approx(sum(c.mean for c in found.contributions), rel=1e-12)
        assert found.variance == pytest.approx(sum(c.variance for c in found.contributions), rel=1e-12)
        signs = np.zeros(learner.weights.shape[2])
        if task == "binary":
            signs[0] = -1.0 if about == "c0" else 1.0
            expected = mean * signs[0]
        else:
            k = model.classes.index(found.supported)
            if task in MULTILABEL:
                threshold = task == "multilabel"
                signs[0], expected = -1.0 if threshold else 0.0, mean[k]
                signs[k + threshold] = 1.0
                assert variance[k] == pytest.approx(found.variance)
            else:
                rival = model.classes.index(found.rival)
                signs[[k, rival]], expected = [1.0, -1.0], mean[k] - mean[rival]
                assert mean[rival] == max(np.delete(mean, k))
        assert about in (None, found.supported)
        z = np.kron(signs, x1)
        assert found.mean == pytest.approx(expected, abs=1e-12)
        assert found.variance == pytest.approx(z @ dense_sigma(learner) @ z, rel=1e-9)
        sizes = [abs(c.mean) for c in found.contributions]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == np.count_nonzero(x) + intercept


@pytest.mark.parametrize(
    ("rule", "task"),
    [(rule, task) for rule in ("arow", "iellip", "logistic") for task in TASKS if has_task(rule, task)],
)
def test_unseen_features_add_the_prior_variance_and_leave_the_model_unchanged(task, rule):
    model = trained(task, rule=rule)
    shape = model.learner.weights.shape
    x = np.append(row_of(), [0.0, 2.0, 0.0, -1.5])
    found = explain(model, one_row(x))
    known = explain(model, one_row(x[:D]), found.supported)
    assert found.mean == pytest.approx(known.mean)
    prior = model.learner.unseen_variances()
    expected = prior[0] * (1 if task in ("binary", *MULTILABEL) else 2)
    assert found.variance - known.variance == pytest.approx(expected * (2.0**2 + 1.5**2))
    assert [(c.feature, c.weight) for c in found.contributions if not c.known] == [(D + 1, 0.0), (D + 3, 0.0)]
    assert model.learner.n_features == D and model.learner.weights.shape == shape


@pytest.mark.parametrize(("view", "names"), [(Standard(unit_norm=False), {3}), ("unit", {3}),
                                             ("standard,pairs", {"terms not seen in training"})])  # fmt: skip
def test_a_view_shows_unseen_features_with_the_prior_variance(view, names):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) * [1.0, 5.0, 0.1]
    model = OnlineClassifier(view=view).fit(X, (X[:, 0] > 0).astype(int)).as_model()
    found = explain(model, one_row(np.array([0.5, -1.0, 2.0, 3.0])))
    unknown = [part for part in found.contributions if not part.known]
    assert {part.feature for part in unknown} == names and not sum(part.mean for part in unknown)
    assert found.mean == pytest.approx(sum(part.mean for part in found.contributions))
    assert found.variance == pytest.approx(sum(part.variance for part in found.contributions))
    assert names != {3} or sum(part.variance for part in unknown) == pytest.approx(9.0 if view != "unit" else 9 / 14.25)
    assert model.learner.n_features == 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_equal_the_arrays(case):
    task, _, rule, _, intercept = case
    model = trained(*case)
    mean, variance = model.learner.mean(), model.learner.variance()
    views = class_views(model, top=100, sort="sure")
    by_effect = class_views(model, top=100)
    assert [view.name for view in views] == (["c1"] if task == "binary" else model.classes)
    for view, other, m, v in zip(views, by_effect, mean, variance, strict=True):
        positions = [D if w.feature == INTERCEPT else w.feature for w in view.top]
        assert sorted(positions) == [j for j in range(D + intercept) if j != D - 1] and view.updated == len(positions)
        ratios = [w.decisive for w in view.top]
        assert ratios == sorted(ratios, reverse=True)
        assert sorted(other.top, key=lambda w: (not w.is_sure, -abs(w.mean))) == other.top and not other.is_scaled
        assert {*other.top} == {*view.top} and other.uncertain == view.uncertain
        for position, weight in zip(positions, view.top, strict=True):
            assert (weight.mean, weight.effect, weight.std) == (m[position], m[position], math.sqrt(v[position]))
            assert weight.is_sure == (rule != "pa" and abs(weight.mean) >= 2 * weight.std)
            assert weight.variance_left == pytest.approx(v[position] / v[D - 1])
        if rule == "pa":
            assert view.uncertain is None
            continue
        known = {w.feature for w in view.uncertain}
        assert len(known) == (len(positions) + 1) // 2 or len({w.variance_left for w in view.top}) < len(positions)
        others = [w for w in view.top if w.feature not in known]
        assert max(w.variance_left for w in view.uncertain) <= min(w.variance_left for w in others)
        assert [w.decisive for w in view.uncertain] == sorted(w.decisive for w in view.uncertain)


def test_variances_show_updates_and_small_ratios_show_doubtful_signs():
    """Three features: frequent and informative, frequent and noise, rare."""
    random = np.random.default_rng(0)
    n = 600
    y = random.integers(2, size=n)
    X = np.column_stack([2.0 * y - 1, random.choice([-1.0, 1.0], n), (random.random(n) < 0.02) * (2.0 * y - 1)])
    learner = Learner(Settings("arow", fit_intercept=False), n_features=3).learn
    model = Model(learner.__self__, ["a", "b"])
    learner(as_matrix(X), y.astype(np.int32))
    (view,) = class_views(model)
    assert view.top[0].feature == 0
    left = {w.feature: w.variance_left for w in view.top}
    assert left[2] > max(left[0], left[1])
    assert view.uncertain[0].feature == 1
    assert view.uncertain[0].sign_error == pytest.approx(0.5 * math.erfc(view.uncertain[0].decisive / math.sqrt(2)))


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c"), ("1,2", "2", "3,1")])
def test_the_explanation_agrees_with_predict(ok, tmp_path, labels):
    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(120, labels))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    line = path.read_text().splitlines()[7]
    row = json.loads(ok("inspect", model, "--row", line, "--top", 3, "--json"))
    (tmp_path / "row.svm").write_text(line + "\n")
    predicted = json.loads(ok("predict", model, tmp_path / "row.svm", "--proba", "--margin", "--variance", "--json"))
    assert row["predicted"] == predicted.get("class", predicted.get("labels"))
    margins = (
        predicted["margin"]
        if isinstance(predicted["margin"], dict)
        else {"-1": -predicted["margin"], "1": predicted["margin"]}
    )
    for entry in row["classes"]:
        assert entry["mean"] == pytest.approx(margins[str(entry["name"])])
        assert entry["probability"] == pytest.approx(predicted["proba"][str(entry["name"])])
    parts, rest = row["contributions"], row["others"]
    assert len(parts) == 3 and sum(c["mean"] for c in parts) + rest["mean"] == pytest.approx(row["margin"]["mean"])
    assert sum(c["variance"] for c in parts) + rest["variance"] == pytest.approx(row["margin"]["std"] ** 2)
    named = row["predicted"] if isinstance(row["predicted"], list) else [row["predicted"]]
    assert f"predicted  {', '.join(map(str, named))}\n" in ok("inspect", model, "--row", line)


def test_features_without_names_have_their_number_in_the_file(ok, tmp_path):
    path = tmp_path / "data.svm"
    for based in (0, 1):
        path.write_text(f"1 {3 + based}:1\n-1 {3 + based}:-1\n" * 5)
        zero = ["--zero-based"] if based == 0 else []
        ok("train", path, "-q", "--no-intercept", *zero, "-o", tmp_path / "m.cw")
        found = json.loads(ok("inspect", tmp_path / "m.cw", "--json"))
        assert [w["feature"] for w in found["weights"][0]["top"]] == [3 + based]


def test_effects_are_those_of_typical_values(ok, tmp_path):
    """Of one deviation of a standardized number, of a category and of a word, times what the view makes of them."""
    random = np.random.default_rng(0)
    rows = [(random.normal(0, 2), random.choice(["p", "q", "r"]), "common" + " rare" * (random.random() < 0.1))
            for _ in range(500)]  # fmt: skip
    path = tmp_path / "data.csv"
    path.write_text(
        "label,income,town,note\n"
        + "".join(f"{'yn'[(a / 2 + (t == 'p') + ('rare' in n)) > 0.5]},{a:.4f},{t},{n}\n" for a, t, n in rows)
    )

    def first(*options):
        ok("train", path, "--text", "note", "--rule", "arow", *options, "-q", "-o", tmp_path / "m.cw")
        view = json.loads(ok("inspect", tmp_path / "m.cw", "--json"))["weights"][0]
        return {w["feature"]: w["effect"] / w["mean"] for w in view["top"]}, view["is_scaled"], view

    ratios, is_scaled, view = first()
    assert is_scaled and {*ratios.values()} == {1.0} and view["top"][0]["is_sure"]
    assert [w["feature"] for w in view["top"]][:2] == ["income", "note:rare"]  # which decide alone
    ratios, is_scaled, _ = first("--view", "none", "--normalize", "none")
    assert not is_scaled and {*ratios.values()} == {1.0}
    assert "effects are those of 1 unit" in ok("inspect", tmp_path / "m.cw")
    ratios, is_scaled, _ = first("--view", "idf", "--drop", "income")
    assert is_scaled and ratios[INTERCEPT] == 1.0
    n_rare = sum("rare" in n for *_, n in rows)
    assert ratios["note:rare"] == pytest.approx(math.log(502 / (1 + n_rare)))
    assert ratios["note:common"] == pytest.approx(math.log(502 / 501))
    assert "unit" not in ok("inspect", tmp_path / "m.cw").partition("largest effects of")[2]


def test_an_order_is_of_weights(call, ok, data, tmp_path):
    ok("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    assert "the most decisive of" in ok("inspect", tmp_path / "m.cw", "--sort", "sure")
    code, _, err = call("inspect", tmp_path / "m.cw", "--sort", "sure", "--row", "1:1")
    assert code == 2 and "--sort: orders the weights of features, not those of a row" in err


def test_features_have_their_names(ok, tmp_path):
    import pandas as pd

    from confidently import OnlineClassifier

    X = pd.DataFrame({"price": [1.0, -1.0] * 9, "age": [0.1, 0.3] * 9})
    OnlineClassifier("arow").fit(X, ["hi", "lo"] * 9).save(tmp_path / "m.cw")
    found = json.loads(ok("inspect", tmp_path / "m.cw", "--json"))
    assert {w["feature"] for w in found["weights"][0]["top"]} == {"price", "age", INTERCEPT}
    assert "price" in ok("inspect", tmp_path / "m.cw")


def test_the_text_and_json_of_a_model(ok, data, tmp_path):
    model = tmp_path / "m.cw"
    result = json.loads(ok("train", data, "--rule=arow", "-q", "--json", "-o", model))
    facts = json.loads(ok("inspect", model, "--json"))
    for key in ("mistakes", "updates", "rows_seen", "features", "classes", "rule", "covariance", "task"):
        assert facts[key] == result[key], key
    text = ok("inspect", model, "--top", 2)
    assert "arow(r=0.1), covariance diag, binary" in text and "effects are those of 1 unit" in text
    assert "the least decisive after many updates" in text and "positive weights favor 1, negative -1" in text


def test_one_of_many_classes(ok, call, tmp_path):
    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    labels = tuple(f"label{k}" for k in range(15))
    path.write_text(rows(200, labels))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    assert "(3 more classes; use --class NAME to show one)" in ok("inspect", model)
    assert len(json.loads(ok("inspect", model, "--json"))["weights"]) == 15
    (view,) = json.loads(ok("inspect", model, "--json", "--class", "label7"))["weights"]
    assert view["class"] == "label7"
    row = json.loads(ok("inspect", model, "--row", "3:1", "--class", "label7", "--json"))
    assert row["margin"]["for"] == "label7"
    assert call("inspect", model, "--class", "nonsense")[0] == 2


def test_rules_without_variances_and_models_without_rows(ok, data, tmp_path):
    ok("train", data, "-q", "--rule", "pa", "-o", tmp_path / "m.cw")
    assert "keeps no variances" in ok("inspect", tmp_path / "m.cw")
    Model(Learner(Settings(), n_features=2), ["a", "b"]).save(tmp_path / "new.cw")
    assert "nothing learned yet" in ok("inspect", tmp_path / "new.cw", "--plot", tmp_path / "x.png")
    assert "predicted  a" in ok("inspect", tmp_path / "new.cw", "--row", "1:1")


@pytest.mark.long("a process and two pictures")
def test_a_row_from_standard_input_and_plots(data, tmp_path):
    model, line = tmp_path / "m.cw", data.read_text().splitlines()[0] + "\n"
    here("train", data, "--rule=arow", "-q", "-o", model)
    done = process("inspect", model, "--row", "-", input=line)
    drawn = here("inspect", model, "--row", line, "--plot", tmp_path / "row.png")
    assert done.returncode == 0 and f"Plot: {tmp_path / 'row.png'}" in drawn.stdout
    assert drawn.stdout.split("\n\nPlot")[0] + "\n" == done.stdout
    assert here("inspect", model, "--plot", tmp_path / "m.png").returncode == 0
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("row.png", "m.png"))


@pytest.mark.long("a training for each error")
@pytest.mark.parametrize(("arguments", "problem"), [
    (["{data}"], "not a model file"), (["{model}", "--row", "1:x"], "error: --row, line 1, column"),
    (["{model}", "--row", "1:1\n2:1"], "--row: expected 1 row, got 2"), (["{model}", "--row", ""], "--row has no rows"),
    (["{model}", "--class", "7"], "--class: unknown class '7'; expected one of -1, 1"),
    (["{model}", "--plot", "{model}.txt"], "--plot: unknown file type"), (["{model}", "--top", "0"], "--top"),
])  # fmt: skip
def test_errors_are_one_line(ok, call, data, tmp_path, arguments, problem):
    model = tmp_path / "m.cw"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    code, out, err = call("inspect", *(a.format(data=data, model=model) for a in arguments))
    assert code == 2 and out == "" and err.startswith("confidently: error: ") and err.count("\n") == 1
    assert problem in err


def test_exactly_one_row_can_be_explained(data):
    with open_stream(data) as stream:
        batch = next(stream)
    with pytest.raises(ValueError, match="explain takes one row at a time, got 300"):
        explain(trained("binary"), batch)
    with pytest.raises(ValueError, match="unknown class 'x'; expected one of c0, c1"):
        explain(trained("binary"), one_row(row_of()), "x")


def test_unseen_features_of_a_row_have_their_names():
    model, x = trained("binary"), np.append(row_of(), [1.0, 2.0])
    model.features = Features.named([f"f{j}" for j in range(D)])
    batch = one_row(x)
    names = Strings.of(["eight", "nine"])
    batch.new_features = NewFeatures(np.zeros(2, dtype=np.int64), np.array([8, 9], dtype=np.uint32), names)
    found = {c.feature: (c.value, c.known) for c in explain(model, batch).contributions}
    assert found["eight"] == (1.0, False) and found["nine"] == (2.0, False)
    assert {f"f{j}" for j in np.flatnonzero(x[:D])} <= found.keys()


def test_float32_models(tmp_path):
    model, x = trained("joint", "full", dtype="float32"), row_of()
    model.save(tmp_path / "m.cw")
    found = explain(Model.load(tmp_path / "m.cw"), one_row(x))
    mean, _ = model.learner.margin_distribution(as_matrix(x[None]))
    assert found.mean == pytest.approx(np.sort(mean[0])[-1] - np.sort(mean[0])[-2], rel=1e-6)


@pytest.mark.parametrize("task", ["binary", "joint", *MULTILABEL])
def test_kernel_models_show_the_examples_they_keep(call, ok, tmp_path, task):
    random = np.random.default_rng(0)
    X, path = random.normal(size=(60, 4)), tmp_path / "m.cw"
    names = ["a", "b"] if task == "binary" else ["a", "b", "c"]
    learner = Learner(Settings("arow", "kernel", task, kernel="linear", budget=300), len(names), 4)
    labels, start = random.integers(len(names), size=60).astype(np.int32), np.arange(61)
    learner.learn(as_matrix(X), labels, start if task in MULTILABEL else None)
    Model(learner, names, Features.named(["u", "v", "w", "x"])).save(path)
    found = json.loads(ok("inspect", path, "--top", 1000, "--json"))
    rows = learner.dual()[1]
    assert found["kernel"] == {"name": "linear", "parameters": {}, "budget": 300, "examples_kept": len(rows)}
    views = found["kept"]
    assert [view["class"] for view in views] == (["b"] if task == "binary" else names)
    scores = learner.decision(as_matrix(np.eye(4))).reshape(4, -1)
    for view, score in zip(views, scores.T, strict=True):
        sizes = [abs(kept["coefficient"]) for kept in view["decisive"]]
        assert sizes == sorted(sizes, reverse=True)
        # with a linear kernel the score of a unit vector is the sum of coefficients times one feature, plus intercepts
        total = sum(kept["coefficient"] * (1 + kept["features"]["u"]) for kept in view["decisive"])
        assert total == pytest.approx(score[0], rel=1e-9)
    text = ok("inspect", path, "--top", 3, "--class", "b")
    assert "kernel      linear()" in text and "at most 300" in text and text.count("u:") == 3
    for arguments in (["--row", "1:1"], ["--plot", tmp_path / "x.png"]):
        code, out, err = call("inspect", path, *arguments)
        assert code == 2 and out == "" and "kernel model" in err and err.count("\n") == 1


def test_an_untrained_kernel_model(ok, tmp_path):
    Model(Learner(Settings("arow", "kernel"), n_features=2), ["a", "b"]).save(tmp_path / "m.cw")
    assert "coefficients: none" in ok("inspect", tmp_path / "m.cw")
    with pytest.raises(ValueError, match="not weights of features"):
        class_views(Model.load(tmp_path / "m.cw"))
