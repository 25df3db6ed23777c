"""confidently topics: what it learns and says is what the estimator learns and says of independently counted words."""

import json
import subprocess
from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import f1_score

from confidently import OnlineMedLDA, load
from confidently.topics.model import TopicModel
from tests.command_line import COMMAND, rows

WORDS = {
    "sport": "goal match team referee win league",
    "politics": "vote law party win senate senator",
    "food": "bread salt oven soup win pepper",
}


def texts(n=150, classes=("politics", "sport"), seed=0):
    """Texts of 30 words, most of them the class's own, and the classes; the first two come in this order."""
    random = np.random.default_rng(seed)
    everything = " ".join(WORDS.values()).split()
    named = [*classes, *random.choice(classes, n - len(classes))]
    return [
        " ".join([*random.choice(WORDS[name].split(), 20), *random.choice(everything, 10), "the", "a"])
        for name in named
    ], named


def written(path, classes=("politics", "sport"), **how):
    found, y = texts(classes=classes, **how)
    path.write_text("".join(json.dumps({"label": k, "text": t}) + "\n" for t, k in zip(found, y, strict=True)))
    return found, np.array(y)


def counted(found, words):
    counts = [Counter(text.split()) for text in found]
    return np.array([[count[word] for word in words] for count in counts])


@pytest.fixture
def learned(ok, tmp_path):
    """Trains on the texts of a file: returns the model, in the file m, and how often the texts have its words."""

    def train(found, *options, topics=("--topics", 4)):
        ok("topics", "train", tmp_path / "x.jsonl", "--text", "text", *topics, *options, "-q", "-o", tmp_path / "m")
        model = load(tmp_path / "m")
        return model, counted(found, [name.removeprefix("text:") for name in model.features_.names])

    return train


def table_of(output):
    heading, *lines = (line.split("\t") for line in output.splitlines())
    return heading, lines


@pytest.mark.parametrize(("options", "settings"), [
    ((), {}), (("--passes", 3), {"passes": 3}),
    (("--classifier", "averaging", "--step-size", 5, "--inner", 3),
     {"classifier": "averaging", "step_size": 5.0, "n_inner": 3}),
    (("--topics", "any", "--max-topics", 6, "--burn-in", 1, "--samples", 2),
     {"n_topics": None, "max_topics": 6, "burn_in": 1, "n_samples": 2}),
    (("--jobs", 2, "--epsilon", 20, "--batch-size", 16), {"n_jobs": 2, "epsilon": 20.0, "batch_size": 16}),
])  # fmt: skip
@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [("politics", "sport"), ("food", "politics", "sport")])
def test_learns_what_the_estimator_learns(ok, learned, tmp_path, classes, options, settings):
    found, y = written(tmp_path / "x.jsonl", classes)
    mine, X = learned(found, "--seed", 3, *options, topics=() if "--topics" in options else ("--topics", 5))
    assert len(mine.features_.names) == len(set(mine.features_.names)) == len(set(" ".join(found).split()))
    theirs = OnlineMedLDA(**({"n_topics": 5, "random_state": 3} | settings)).fit(X, y)
    assert mine.classes_.tolist() == theirs.classes_.tolist() == sorted(classes)
    np.testing.assert_array_equal(mine.coef_, theirs.coef_)
    np.testing.assert_array_equal(mine.components_, theirs.components_)
    assert mine.get_params() | {"n_jobs": None} == theirs.get_params() | {"n_jobs": None}

    heading, lines = table_of(ok("topics", "predict", tmp_path / "m", tmp_path / "x.jsonl", "--margin"))
    assert [line[0] for line in lines] == theirs.predict(X).tolist()
    n = theirs.n_topics_
    np.testing.assert_allclose(np.array([line[-n:] for line in lines], dtype=float), theirs.transform(X), rtol=1e-8)
    margins = np.array([line[1:-n] for line in lines], dtype=float)
    np.testing.assert_allclose(margins.squeeze(), theirs.decision_function(X), rtol=1e-7)
    K = theirs.coef_.shape[1]
    each = [""] if len(classes) == 2 else [f"{name}:" for name in classes]
    assert heading[-n:] == [f"topic:{name}{k}" for name in each for k in range(K)]


@pytest.mark.long("five trainings and a process")
def test_a_stream_is_learned_as_it_comes_wherever_it_is_cut(ok, tmp_path):
    written(tmp_path / "x.jsonl", n=700)
    lines = (tmp_path / "x.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(lines[:601]))
    (tmp_path / "b.jsonl").write_text("".join(lines[601:]))
    options = ("--text", "text", "--topics", 4, "--stream", "--classes", "politics,sport", "-q", "-o")
    ok("topics", "train", tmp_path / "x.jsonl", *options, tmp_path / "one")
    ok("topics", "train", tmp_path / "a.jsonl", tmp_path / "b.jsonl", *options, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    model = load(tmp_path / "one")
    X = counted(
        *[[json.loads(line)["text"] for line in lines], [n.removeprefix("text:") for n in model.features_.names]]
    )
    epsilon = X[:512].sum(axis=1).mean()
    assert model.epsilon_ == pytest.approx(epsilon)
    ok("topics", "train", tmp_path / "x.jsonl", "--passes", 2, *options, tmp_path / "twice")
    assert load(tmp_path / "twice").n_seen_ == 1400


def test_stop_words(ok, tmp_path):
    written(tmp_path / "x.jsonl")
    (tmp_path / "stop.txt").write_text("win\nvote\n")
    train = ("topics", "train", tmp_path / "x.jsonl", "--text", "text", "--topics", 3, "-q", "--json", "--stop-words")
    everything = 150 * 32
    assert json.loads(ok(*train, "english", "-o", tmp_path / "m"))["words"] == everything - 2 * 150  # the, a
    shown = json.loads(ok("topics", "show", tmp_path / "m", "--words", 99, "--json"))
    assert {word for topic in shown["weights"][0]["topics"] for word in topic["words"]} == set(
        " ".join(WORDS.values()).split()
    )
    texts = [json.loads(line)["text"].split() for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    dropped = sum(word in ("win", "vote") for text in texts for word in text)
    assert json.loads(ok(*train, tmp_path / "stop.txt"))["words"] == everything - dropped


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c"), ("1,2", "2", "3,1")])
def test_counts_of_svmlight_in_every_task(ok, tmp_path, labels):
    """Counts that are not whole are rounded up, as the estimator does."""
    (tmp_path / "x.svm").write_text(rows(120, labels))
    ok("topics", "train", tmp_path / "x.svm", "--topics", 4, "-q", "-o", tmp_path / "m")
    model = TopicModel.load(tmp_path / "m")
    K, n = 4, len(model.classes)
    several = model.learner.settings.task == "one-vs-rest"
    arguments = ("topics", "predict", tmp_path / "m", tmp_path / "x.svm", "--proba", "--std", "--variance", "--ranking")
    heading, lines = table_of(ok(*arguments))
    assert len(lines) == 120 and sum(name.startswith("topic:") for name in heading) == K * (n if several else 1)
    found = [json.loads(line) for line in ok(*arguments, "--json").splitlines()]
    for line, entry in zip(lines, found, strict=True):
        shares = list(entry["topic"].values())
        np.testing.assert_allclose([float(x) for x in line[-len(shares) :]], shares, rtol=1e-8)
        np.testing.assert_allclose(np.reshape(shares, (-1, K)).sum(axis=1), 1)
        p = list(entry["proba"].values())
        assert all(0 <= x <= 1 for x in p) and ("labels" in entry or sum(p) == pytest.approx(1))
    without = ok("topics", "predict", tmp_path / "m", tmp_path / "x.svm", "--no-topics")
    assert without.splitlines() == [line[0] for line in lines]


def test_show_says_what_the_estimator_has(ok, learned, tmp_path):
    model, _ = learned(written(tmp_path / "x.jsonl", ("food", "politics", "sport"))[0])
    best, shown = (
        json.loads(ok("topics", "show", tmp_path / "m", "--words", 3, *relevance, "--json"))
        for relevance in ((), ("--relevance", 1))
    )
    assert [view["class"] for view in shown["weights"]] == model.classes_.tolist()
    for relevance, views in ((0.6, best), (1.0, shown)):
        top = model.top_words(n=3, relevance=relevance)
        for number, view in enumerate(views["weights"]):
            for topic in view["topics"]:
                assert [f"text:{word}" for word in topic["words"]] == top[4 * number + topic["number"]]
    for number, view in enumerate(shown["weights"]):
        weights = [topic["mean"] for topic in view["topics"]]
        assert weights == sorted(weights, reverse=True) and sorted(t["number"] for t in view["topics"]) == [0, 1, 2, 3]
        assert sum(topic["share"] for topic in view["topics"]) == pytest.approx(1)
        for topic in view["topics"]:
            k = topic["number"]
            assert topic["mean"] == model.coef_[number, k]
            assert topic["std"] ** 2 == pytest.approx(model.variance_[number, k])
    text = ok("topics", "show", tmp_path / "m", "--class", "sport", "--top", 2, "--words", 3, "--relevance", 1)
    part = shown["weights"][2]["topics"]
    surest = sorted(part, key=lambda t: -abs(t["mean"]) / t["std"])[:2]
    tail = text.split("class sport\n")[1].splitlines()[1:]
    assert sorted(int(line.split()[0]) for line in tail) == sorted(t["number"] for t in surest)
    assert all(" ".join(t["words"]) in text for t in surest) and "class food" not in text


def test_plot_draws_the_numbers():
    from confidently.cli.output.plots import plot_topics
    from confidently.topics.views import topic_views

    found, y = texts()
    words = sorted(set(" ".join(found).split()))
    model = OnlineMedLDA(4, random_state=0).fit(counted(found, words), y)
    held_model = TopicModel(model.learner_, model.classes_.tolist())
    figure = plot_topics(held_model, topic_views(held_model))
    (axes,) = [axes for axes in figure.axes if axes.get_visible()]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], np.sort(model.coef_[0])[::-1])
    order = np.argsort(-model.coef_[0])
    (lines,) = next(held for held in axes.containers if hasattr(held, "has_xerr")).lines[2]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_allclose(np.ptp(ends, axis=1), 4 * np.sqrt(model.variance_[0, order]))


def test_a_model_of_the_command_line_goes_on_as_an_estimator(ok, learned, tmp_path):
    found, y = written(tmp_path / "x.jsonl")
    model, X = learned(found)
    model.partial_fit(X, y).save(tmp_path / "n")
    again = load(tmp_path / "n")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert json.loads(ok("topics", "show", tmp_path / "n", "--json"))["documents_seen"] == 300
    with pytest.raises(ValueError, match="columns of new words have no names"):
        again.partial_fit(np.hstack([X, X]), y)
    assert "features_" not in vars(again.fit(X[:, :5], y))


def test_weights_are_the_estimator_s(learned, tmp_path):
    found, y = written(tmp_path / "x.jsonl")
    weights = np.random.default_rng(3).choice([0.0, 0.5, 4.0], len(y))
    rows = zip(found, y, weights, strict=True)
    lines = [json.dumps({"label": name, "text": text, "w": w}) for text, name, w in rows]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    mine, X = learned(found, "--weight", "w")
    order = np.random.RandomState(0).permutation(len(y))
    theirs = OnlineMedLDA(4, random_state=0, epsilon=mine.epsilon_, batch_size=32)
    for part in np.split(order, [64, 128]):
        theirs.partial_fit(X[part], y[part], classes=["politics", "sport"], sample_weight=weights[part])
    np.testing.assert_array_equal(mine.coef_, theirs.coef_)
    assert mine.epsilon_ == np.average(X.sum(axis=1), weights=weights) and mine.n_seen_ == np.count_nonzero(weights)


def test_caches_of_counts_are_learned_as_their_texts(ok, learned, tmp_path):
    model, _ = learned(written(tmp_path / "x.jsonl")[0])
    ok("cache", tmp_path / "x.jsonl", "--text=text", "--vocabulary", "--normalize=none", "-o", tmp_path / "counts")
    ok("topics", "train", tmp_path / "counts", "--topics", 4, "-q", "-o", tmp_path / "a")
    np.testing.assert_array_equal(load(tmp_path / "a").coef_, model.coef_)


@pytest.mark.parametrize(
    ("labels", "measure"), [(("a", "b"), "accuracy"), (("a", "b", "c"), "accuracy"), (("a", "b", "a,b"), "micro_f1")]
)
def test_documents_are_scored_before_training_on_them(ok, tmp_path, labels, measure):
    """The account has the score of predictions made before the documents were learned, and what one class says."""
    (tmp_path / "x.svm").write_text(rows(700, labels))
    train = ("topics", "train", tmp_path / "x.svm", "--topics", 4, "-q", "-o", tmp_path / "m")
    found = json.loads(ok(*train, "--json"))["progressive"]
    scores, signs, _ = TopicModel.load(tmp_path / "m").learner.progressive_scores()
    if measure == "micro_f1":
        expected = f1_score(signs > 0, scores > 0, average="micro")
    else:
        both = (scores > 0, signs > 0) if len(labels) == 2 else (scores.argmax(axis=1), signs.argmax(axis=1))
        expected = np.mean(both[0] == both[1])
    assert found == {"documents": 160, measure: pytest.approx(expected), "warning": None}
    assert "on 160 documents, before training on them" in ok(*train)
    assert json.loads(ok(*train, "--json", "--calibration", "none"))["progressive"] is None


def test_one_class_for_all_is_told(ok, tmp_path):
    """One document of twenty is of another class, and words say nothing of it."""
    random = np.random.default_rng(0)
    words = WORDS["sport"].split()
    labels = ["rare" if k % 20 == 5 else "usual" for k in range(700)]
    lines = [json.dumps({"label": name, "text": " ".join(random.choice(words, 30))}) for name in labels]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    found = ok("topics", "train", tmp_path / "x.jsonl", "--text", "text", "--topics", 3, "-q")
    assert "warning    all 160 documents are predicted to be of one class" in found


def test_predicting_does_not_import_scikit_learn(ok, data, tmp_path):
    ok("topics", "train", data, "--topics", 3, "-q", "-o", tmp_path / "m")
    code = f"""
import sys
from confidently.cli import run
assert run(["topics", "predict", {str(tmp_path / "m")!r}, {str(data)!r}]) == 0
assert run(["topics", "show", {str(tmp_path / "m")!r}]) == 0
assert not {{"sklearn", "scipy", "matplotlib", "pyarrow"}} & sys.modules.keys()
"""
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_sets_and_answers_are_those_of_python(ok, learned, tmp_path):
    """Classes are numbered as they appear, so that their columns have another order."""
    found, _ = written(tmp_path / "x.jsonl", ("sport", "food", "politics"), n=1200)
    model, X = learned(found, topics=("--topics", 3))
    asked = ("topics", "predict", tmp_path / "m", tmp_path / "x.jsonl", "--json", "--no-topics")
    sets, left_out = model.predict_set(X, 0.8), model.abstain(X, 0.15)
    lines = [json.loads(line) for line in ok(*asked, "--set", 0.8, "--max-risk", 0.15).splitlines()]
    assert [sorted(line["set"]) for line in lines] == [model.classes_[row].tolist() for row in sets]
    assert [line["class"] is None for line in lines] == left_out.tolist()
    assert 0 < sets.mean() < 1 and not left_out.all()
    together = [json.loads(line) for line in ok(*asked, "--set", 0.8, "--set-together").splitlines()]
    expected = model.predict_set(X, 0.8, by_class=False)
    assert [sorted(line["set"]) for line in together] == [model.classes_[row].tolist() for row in expected]
