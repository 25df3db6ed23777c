"""A served model is, byte for byte, the one that ``confidently train`` makes of the same rows."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confidently.cli import run
from confidently.learner.learner import Learner
from confidently.learner.tables import MIN_PRESENT, ROWS_TO_INFER
from confidently.models.model import Model
from confidently.rules import RULES
from confidently.serve.model.learning import Example, raise_of_machine
from confidently.serve.model.rows import RowReader
from confidently.serve.model.served import ServedModel
from confidently.serve.model.settings import ModelSettings, Reading
from confidently.serve.problems import Problem
from tests.serve.rows import KINDS, examples, made, trained
from tests.serve.same_bytes import QUESTIONS, check_same_bytes, learn_in_pieces, saved

SETTINGS = {
    "default": (ModelSettings(), ()),
    "stdev": (ModelSettings(rule="cw_stdev"), ("--rule", "cw_stdev")),
    "full": (ModelSettings(covariance="full"), ("--covariance", "full")),
    "auto": (ModelSettings(auto=True), ("--auto",)),
}


@pytest.mark.few
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 5, 57, 300])
@pytest.mark.parametrize("settings", SETTINGS)
def test_same_bytes_as_train(tmp_path, kind, n, settings):
    made_of, options = SETTINGS[settings]
    rows = made(n, kind, seed=3)
    if len({label for _, label in rows}) < 2:
        rows[-1] = (rows[-1][0], "ham" if rows[0][1] != "ham" else "spam")
    check_same_bytes(tmp_path, made_of, rows, options, random.Random(n), 40)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", ["default", "full", "auto"])
def test_same_bytes_beyond_the_rows_that_decide(tmp_path, kind, settings):
    made_of, options = SETTINGS[settings]
    rows = made(1100, kind, seed=1)
    check_same_bytes(tmp_path, made_of, rows, options, random.Random(kind), 500)


def test_members_of_the_same_names_may_differ(tmp_path):
    """The scale of cosines depends on the values per row, which change as rows come."""
    chance = random.Random(1)
    rows = [({"a": chance.gauss(k % 2, 1), "b": chance.gauss(0, 5)}, "ham" if k % 2 else "spam") for k in range(120)]
    for k, (features, _) in enumerate(rows):
        if chance.random() < k / 120:
            features["word"] = chance.choice("xyz")
    check_same_bytes(tmp_path, ModelSettings(auto=True), rows, ["--auto"], random.Random(3), 20)


def test_so_many_first_rows_decide_and_no_others(tmp_path):
    """They have just enough numbers for a table; those that come with the last of them have none."""
    least = int(MIN_PRESENT * ROWS_TO_INFER)
    rows = [
        ({"a": k % 7} if k < least else {"word": "x"}, "spam" if k % 2 else "ham") for k in range(ROWS_TO_INFER + 5)
    ]
    given, model = examples(rows), ServedModel(ModelSettings())
    model.learn(given[: ROWS_TO_INFER - 5])
    model.learn(given[ROWS_TO_INFER - 5 :])
    assert saved(model, tmp_path) == trained(tmp_path, rows)


@given(data=st.data())
def test_same_bytes_whatever_the_slices(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("served")
    settings, options = SETTINGS[data.draw(st.sampled_from(["default", "full"]))]
    rows = made(data.draw(st.integers(2, 40)), data.draw(st.sampled_from(KINDS)), data.draw(st.integers(0, 9)))
    rows[0], rows[1] = (rows[0][0], "ham"), (rows[1][0], "spam")
    model, given = ServedModel(settings), examples(rows)
    while given:
        n = data.draw(st.integers(0, len(given)))
        model.learn(given[:n])
        given = given[n:]
        if data.draw(st.booleans()):
            model.answers(QUESTIONS)
        if n == 0:
            model.learn(given)
            break
    assert saved(model, folder) == trained(folder, rows, *options)


@pytest.mark.parametrize("rule", RULES)
def test_same_bytes_with_every_rule(tmp_path, rule):
    rows = made(60, "mixed")
    check_same_bytes(tmp_path, ModelSettings(rule=rule), rows, ["--rule", rule], random.Random(rule), 30)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"dtype": "float32"}, "--dtype float32"),
        ({"view": "none"}, "--view none"),
        ({"view": "standard,pairs"}, "--view standard,pairs"),
        ({"calibration": "none"}, "--calibration none"),
        ({"prior_variance": 2.0, "fit_intercept": False}, "--prior-variance 2 --no-intercept"),
        ({"average": True}, "--average"),
        ({"forget": 0.01}, "--forget 0.01"),
        ({"rule_parameters": {"r": 3.0}}, "--r 3"),
        ({"classes": ["ham", "spam"]}, "--classes ham,spam"),
        ({"classes": ["spam", "eggs", "ham"]}, "--classes spam,eggs,ham"),
        ({"auto": True, "classes": ["ham", "spam"]}, "--auto --classes ham,spam"),
        ({"covariance": "full", "classes": ["ham", "spam"]}, "--covariance full --classes ham,spam"),
        ({"reading": Reading(text=["subject"], ngrams=(1, 2), bits=12)}, "--text subject --ngrams 1-2 --bits 12"),
        ({"reading": Reading(text=["subject"], analyzer="char")}, "--text subject --analyzer char"),
        ({"reading": Reading(text=["subject"], counts="binary")}, "--text subject --counts binary"),
        ({"reading": Reading(drop=["b"], category=["n"])}, "--drop b --category n"),
        ({"reading": Reading(only=["a", "n"])}, "--only a --only n"),
        ({"reading": Reading(normalize="l2")}, "--normalize l2"),
        ({"reading": Reading(normalize="none", zeros=True)}, "--normalize none --zeros"),
        ({"reading": Reading(vocabulary=True)}, "--vocabulary"),
    ],
    ids=str,
)  # fmt: skip
def test_same_bytes_with_settings(tmp_path, settings, options):
    rows = made(80, "mixed")
    check_same_bytes(tmp_path, ModelSettings(**settings), rows, options.split(), random.Random(1), 30)


@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest", "softmax"])
def test_same_bytes_of_three_classes(tmp_path, multiclass):
    rows = made(120, "numbers")
    options = ["--multiclass", multiclass, "--rule", "logistic" if multiclass == "softmax" else "arow"]
    settings = ModelSettings(multiclass=multiclass, rule=options[3])
    check_same_bytes(tmp_path, settings, rows, options, random.Random(2), 30)


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("classes", [[], ["ham", "spam", "urgent"]])
def test_same_bytes_of_several_labels(tmp_path, classes, auto):
    chance = random.Random(4)
    rows = [
        (features, [name for name in (label, "urgent") if name != "urgent" or chance.random() < 0.4])
        for features, label in made(100, "text")
    ]
    settings = ModelSettings(multilabel=True, classes=classes, auto=auto)
    options = ["--multilabel", *(["--classes", ",".join(classes)] if classes else []), *(["--auto"] if auto else [])]
    check_same_bytes(tmp_path, settings, rows, options, chance, 30)


@pytest.mark.parametrize("settings", SETTINGS)
def test_same_bytes_with_weights(tmp_path, settings):
    made_of, options = SETTINGS[settings]
    rows, chance = made(90, "mixed"), random.Random(5)
    weights = [chance.choice([1.0, 0.0, 0.5, 3.0]) for _ in rows]
    check_same_bytes(tmp_path, made_of, rows, options, chance, 30, weights)


# --- snapshots -------------------------------------------------------------------------------------------------------


def reloaded(model, given, folder):
    """A model from its snapshot, and the rows that its log would replay."""
    if model.early is not None or model.seq == 0:
        return ServedModel(model.settings), given
    path = folder / "snapshot.cw"
    model.model().save(path)
    return ServedModel(model.settings, Model.load(path), model.seq), [one for one in given if one.seq > model.seq]


@pytest.mark.parametrize(("settings", "options"), [
    (ModelSettings(view="none"), ("--view", "none")),
    (ModelSettings(covariance="full", view="none"), ("--covariance", "full", "--view", "none")),
    (ModelSettings(dtype="float32", view="standard"), ("--dtype", "float32", "--view", "standard")),
    (ModelSettings(reading=Reading(vocabulary=True), view="none"), ("--vocabulary", "--view", "none")),
])  # fmt: skip
def test_same_bytes_after_a_snapshot_at_any_point(tmp_path, settings, options):
    rows = made(600, "late")
    given, expected = examples(rows), trained(tmp_path, rows, *options)
    for at in [1, 2, 41, 42, 255, 256, 257, 300, 511, 512, 513, 599, 600]:
        model = learn_in_pieces(ServedModel(settings), given[:at], random.Random(at), 200)
        model, rest = reloaded(model, given, tmp_path)
        learn_in_pieces(model, rest, random.Random(at), 200)
        assert saved(model, tmp_path) == expected, f"a snapshot after {at} rows"


@pytest.mark.parametrize("name", ["default", "full", "auto"])
def test_same_bytes_after_snapshots_beyond_the_rows_that_decide(tmp_path, name):
    settings, options = SETTINGS[name]
    rows = made(1600, "mixed")
    given, expected = examples(rows), trained(tmp_path, rows, *options)
    model, rest = ServedModel(settings), given
    for at in [500, 999, 1000, 1001, 1300]:
        model.learn([one for one in rest if one.seq <= at])
        model, rest = reloaded(model, given, tmp_path)
    model.learn(rest)
    assert saved(model, tmp_path) == expected


# --- rows that are refused, classes that come late -------------------------------------------------------------------


FAR = {  # asks for margins that rows of tiny values reach by weights beyond the range only
    "rule": "iellip", "rule_parameters": {"gamma": 1e60}, "fit_intercept": False, "reading": Reading(normalize="none")
}  # fmt: skip
FAR_OPTIONS = ("--rule", "iellip", "--gamma", "1e60", "--no-intercept", "--normalize", "none")
REFUSING = {
    "none": (ModelSettings(**FAR, view="none"), (*FAR_OPTIONS, "--view", "none")),
    **{
        covariance: (
            ModelSettings(**FAR, view="none", covariance=covariance),
            (*FAR_OPTIONS, "--view", "none", "--covariance", covariance),
        )
        for covariance in ("full", "shared")
    },
}  # fmt: skip
TINY = '"tiny":1e-90'


@pytest.mark.parametrize("together", [False, True])
def test_a_row_that_the_learner_refuses_is_set_aside(tmp_path, together):
    settings, options = REFUSING["none"]
    rows = made(40, "numbers")
    rows = [(features, "spam" if label == "spam" else "ham") for features, label in rows]
    bad = Example(f'{{"label":"spam",{TINY}}}'.encode(), 1.0, 1000)
    model = ServedModel(settings)
    given = [*examples(rows[:20]), bad, *examples(rows[20:])]
    for piece in [given] if together else [[one] for one in given]:
        model.learn(piece)
    [aside] = model.take_aside()
    assert aside.seq == 1000 and aside.reason.startswith("the rows take the model out of the range")
    assert model.take_aside() == []
    assert saved(model, tmp_path) == trained(tmp_path, rows, *options)


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "wider"), [("none", 0), ("full", 0), ("full", 100), ("shared", 100)])
@pytest.mark.parametrize("n", [40, 700, 1300])
def test_a_row_that_is_set_aside_leaves_no_trace(tmp_path, name, wider, n):
    """Neither its class nor its features; and the blocks of wide rows, learned by products, are those of the others."""
    settings, options = REFUSING[name]
    chance = random.Random(f"{name} {n}")
    rows = made(n, "numbers", seed=n)
    rows = [(features, "spam" if label == "spam" or k == 0 else "ham") for k, (features, label) in enumerate(rows)]
    rows = [(features | {f"f{j}": chance.gauss(0, 1) for j in range(wider)}, label) for features, label in rows]
    given, bad = examples(rows), []
    for k in sorted(chance.sample(range(1, n), 7), reverse=True):
        label, new = chance.choice(["spam", "odd", "ham"]), chance.choice(["", f',"new {k}":1e-80', ',"x":{"y":1e-70}'])
        bad.append(Example(f'{{"label":"{label}",{TINY}{new}}}'.encode(), 1.0, 10_000 + k))
        given.insert(k, bad[-1])
    model = learn_in_pieces(ServedModel(settings), given, chance, 300)
    assert saved(model, tmp_path) == trained(tmp_path, rows, *options)
    assert sorted(one.seq for one in model.take_aside()) == sorted(one.seq for one in bad)


@pytest.mark.parametrize("together", [False, True])
def test_rows_before_one_that_is_set_aside_are_learned_once(tmp_path, together):
    """Also those of weight 0, which the learner does not count."""
    settings, options = REFUSING["none"]
    rows = [(features, "spam" if label == "spam" else "ham") for features, label in made(60, "numbers", seed=6)]
    weights = [0.0 if k % 3 == 0 or 18 <= k < 24 else 1.0 for k in range(60)]
    given = examples(rows, weights)
    for k in (24, 12):
        given.insert(k, Example(f'{{"label":"odd",{TINY}}}'.encode(), 1.0, 100 + k))
    model = ServedModel(settings)
    for piece in [given] if together else [given[:22], given[22:]]:
        model.learn(piece)
    assert len(model.take_aside()) == 2
    assert saved(model, tmp_path) == trained(tmp_path, rows, *options, weights=weights)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_row_that_cannot_be_read_is_set_aside(tmp_path, settings):
    """A log of an older version may have any; while the first rows decide, too."""
    made_of, options = SETTINGS[settings]
    rows = made(300, "mixed", seed=11)
    given = examples(rows)
    bad = [
        b'{"label":"ham","a":1e300}',
        b'{"label":"ham","a":[1,2',
        b'{"a":1}',
        b'{"label":"ham","subject":"\xff"}',
        b"\xff",
    ]
    for k, line in enumerate(bad):
        given.insert(1 + 60 * k, Example(line, 1.0, 1000 + k))
    model = learn_in_pieces(ServedModel(made_of), given, random.Random(3), 90)
    assert saved(model, tmp_path) == trained(tmp_path, rows, *options)
    assert sorted(one.seq for one in model.take_aside()) == [1000, 1001, 1002, 1003, 1004]


def test_each_row_of_a_block_is_set_aside_for_its_own_reason():
    """A row that cannot be read ends the reading of a block before anything of it is learned."""
    settings, _ = REFUSING["full"]
    given = examples([(features, "spam" if label == "spam" else "ham") for features, label in made(40, "numbers")])
    given.insert(20, Example(f'{{"label":"spam",{TINY}}}'.encode(), 1.0, 1000))
    given.insert(30, Example(b'{"label":"ham","a":[1,2', 1.0, 1001))
    model = ServedModel(settings)
    model.learn(given)
    reasons = {one.seq: one.reason for one in model.take_aside()}
    assert set(reasons) == {1000, 1001}
    assert reasons[1000].startswith("the rows take the model out of the range")
    assert "range" not in reasons[1001]


def test_a_row_that_is_set_aside_decides_nothing(tmp_path, monkeypatch):
    """With it, half of the rows would have the number, and be a table."""
    rows = [({"word": f"w{k % 5}"} | ({"n": 3} if k == 0 else {}), "xy"[k % 2]) for k in range(12)]
    given, bad = examples(rows), Example(b'{"label":"x","word":"odd","n":5}', 1.0, 1000)
    model, learn = ServedModel(ModelSettings()), Learner.learn
    model.learn(given[:3])
    known = model.stream.learner.n_features

    def faulty(self, *arguments, **options):
        if self.view is not None and self.n_features > known:
            raise KeyError("a fault")
        return learn(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Learner, "learn", faulty)
        model.learn([bad])
    assert [one.seq for one in model.take_aside()] == [1000]
    assert saved(model, tmp_path) == trained(tmp_path, rows[:3]), "the decision is taken back at once"
    model.learn(given[3:])
    assert saved(model, tmp_path) == trained(tmp_path, rows)


def test_errors_that_say_nothing_about_a_row():
    raise_of_machine(ValueError("the row"))
    for error in (MemoryError("full"), OSError(5, "disk")):
        with pytest.raises(type(error)):
            raise_of_machine(error)
    told = ValueError("the weights of a kernel do not fit")
    told.__cause__ = MemoryError()
    with pytest.raises(MemoryError, match="the weights of a kernel"):
        raise_of_machine(told)


def test_a_class_that_comes_after_the_rows_that_decide(tmp_path):
    rows = made(1200, "mixed")
    rows[1100:] = [(features, "late" if k % 3 == 0 else label) for k, (features, label) in enumerate(rows[1100:])]
    model = learn_in_pieces(ServedModel(ModelSettings()), examples(rows), random.Random(8), 300)
    assert model.classes == ["ham", "late", "spam"]
    assert saved(model, tmp_path) == trained(tmp_path, rows)


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_answers_are_those_of_the_model_file(tmp_path, name):
    settings, _ = SETTINGS[name]
    rows = made(300, "mixed")
    model = ServedModel(settings)
    model.learn(examples(rows))
    asked = [json.dumps(features).encode() for features, _ in made(50, "mixed", seed=9)] + [*QUESTIONS]
    (tmp_path / "asked.jsonl").write_bytes(b"\n".join([*asked, b""]))
    saved(model, tmp_path)
    files = [str(tmp_path / file) for file in ("served.cw", "asked.jsonl", "said.jsonl")]
    assert run(["predict", *files[:2], "-o", files[2], "--proba"]) == 0
    said = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    alone = [one for line in asked for one in model.answers([line])]
    for line, together, single in zip(said, model.answers(asked), alone, strict=True):
        assert together.label == single.label == line["class"]
        assert together.probability == pytest.approx(line["proba"], rel=1e-12)
        assert single.probability == pytest.approx(line["proba"], rel=1e-12)
        assert [*together[2:4]] == pytest.approx([*single[2:4]], rel=1e-9)
        assert together.ask == single.ask


@pytest.mark.parametrize("name", SETTINGS)
def test_answers_are_those_of_the_model_after_the_last_row(name):
    """Also where the same was asked before: nothing of an earlier answer is kept."""
    settings, _ = SETTINGS[name]
    given = examples(made(1200, "mixed", seed=4))
    asked, once = ServedModel(settings), ServedModel(settings)
    for first in range(0, 1200, 150):
        asked.answers(QUESTIONS)
        asked.learn(given[first : first + 150])
        once.learn(given[first : first + 150])
        fresh = ServedModel(settings)
        for k in range(0, first + 150, 150):
            fresh.learn(given[k : k + 150])
        assert asked.answers(QUESTIONS) == fresh.answers(QUESTIONS)
    assert asked.answers(QUESTIONS) == once.answers(QUESTIONS)


@pytest.mark.parametrize(("first", "last"), [("a", "b"), ("b", "a")])
def test_a_margin_is_that_of_the_class_sorted_last(first, last):
    """Whichever of two classes comes first: it is positive where that class is the answer."""
    model = ServedModel(ModelSettings(view="none"))
    sign = {first: 1, last: -1}
    for k in range(40):
        label = (first, last)[k % 2]
        model.learn([Example(f'{{"label":"{label}","x":{sign[label]}}}'.encode(), 1.0, k + 1)])
    for label in "ab":
        [answer] = model.answers([f'{{"x":{sign[label]}}}'.encode()])
        assert answer.label == label and answer.probability[label] > 0.5
        assert (answer.margin > 0) == (label == "b")


def test_of_several_labels_the_least_certain_one_counts():
    rows = [(features, [label] if k % 3 else ["other", label]) for k, (features, label) in enumerate(made(200, "text"))]
    model = ServedModel(ModelSettings(multilabel=True, view="none"))
    model.learn(examples(rows))
    asked = [json.dumps(features).encode() for features, _ in made(40, "text", seed=5)]
    found = model.answers(asked)
    answering, batch = model._answering, model._questions.batch(asked)
    mean, variance = answering.learner.margin_distribution(answering.matrix(batch))
    for k, one in enumerate(found):
        least = min(range(mean.shape[1]), key=lambda j, k=k: abs(mean[k, j]) / math.sqrt(variance[k, j]))
        assert (one.margin, one.variance) == pytest.approx((mean[k, least], variance[k, least]))
    assert len({one.ask for one in found}) == 2


def test_before_the_first_row_there_is_no_label_and_no_model():
    model = ServedModel(ModelSettings())
    [answer] = model.answers([b'{"a":1}'])
    assert (answer.label, answer.probability, answer.ask) == (None, {}, True)
    with pytest.raises(Problem, match="no row was learned yet"):
        model.model()


def test_one_class_only_is_always_the_answer():
    model = ServedModel(ModelSettings())
    model.learn([Example(b'{"label":"ham","a":1}', 1.0, 1)])
    [answer] = model.answers([b'{"a":1}'])
    assert answer.label == "ham"
    assert answer.probability.keys() == {"ham"}


def test_each_of_the_first_rows_is_looked_at_once(monkeypatch):
    """What they decide is counted row by row, so that one long row does not make all others slow."""
    read = []

    def counted(self, lines, weights=None, batch=RowReader.batch):
        read.append(len(lines))
        return batch(self, lines, weights)

    monkeypatch.setattr(RowReader, "batch", counted)
    model = ServedModel(ModelSettings())
    for example in examples(made(100, "numbers", seed=3)):
        model.learn([example])
    assert sum(read) <= 3 * 100  # to decide, to learn, and to learn again when they decide otherwise
