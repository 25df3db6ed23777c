"""A served model is, byte for byte, the one that ``confidently train`` makes of the same rows, however they come."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from confidently import load
from confidently.learner.tables import MIN_PRESENT, ROWS_TO_INFER
from confidently.models.model import Model
from confidently.rules import REGRESSION_RULES, RULES
from confidently.serve.model.learning import Example
from confidently.serve.model.served import ROWS_FOR_PRODUCTS, ServedModel
from confidently.serve.model.settings import ModelSettings, Reading
from tests.serve.rows import FAR, FAR_OPTIONS, KINDS, KINDS_OF_NUMBERS, examples, made, numbered, trained
from tests.serve.same_bytes import QUESTIONS, check_same_bytes, learn_in_pieces, saved

NUMBERS, RIDGE = {"task": "numbers"}, ("--regression", "--rule", "ridge")
SETTINGS = {
    "arow": ({}, ()), "stdev": ({"rule": "cw_stdev"}, ("--rule", "cw_stdev")),
    "full": ({"covariance": "full"}, ("--covariance", "full")), "auto": ({"auto": True}, ("--auto",)),
    "numbers": (NUMBERS, RIDGE), "numbers, diag": (NUMBERS | {"covariance": "diag"}, (*RIDGE, "--covariance", "diag")),
    "numbers, full": (NUMBERS | {"covariance": "full"}, (*RIDGE, "--covariance", "full")),
    "numbers, auto": (NUMBERS | {"auto": True}, ("--regression",)),
}  # fmt: skip
STACKS_LATER = [pytest.param(name, marks=[pytest.mark.long("a stack")] * ("auto" in name)) for name in SETTINGS]
KIND = {kind: KINDS_OF_NUMBERS[k] for k, kind in enumerate(KINDS)}


def rows_for(name, n, kind="mixed", seed=0):
    """Rows of a kind, or of one alike with numbers; of two classes at least."""
    if "numbers" in name:
        return numbered(n, KIND[kind], seed)
    rows = made(n, kind, seed)
    if len({label for _, label in rows}) < 2:
        rows[-1] = (rows[-1][0], "ham" if rows[0][1] != "ham" else "spam")
    return rows


def settings_of(name):
    given, options = SETTINGS[name]
    return ModelSettings(**given), options


@pytest.mark.few
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 5, 57, 150])
@pytest.mark.parametrize("name", SETTINGS)
def test_same_bytes_as_train(tmp_path, kind, n, name):
    settings, options = settings_of(name)
    check_same_bytes(tmp_path, settings, rows_for(name, n, kind, 3), options, random.Random(n), 40)


LATE = ["arow", *(
    pytest.param(name, marks=pytest.mark.long("1,600 rows")) for name in ("full", "auto", "numbers", "numbers, auto")
)]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["numbers, diag", *LATE])
def test_same_bytes_beyond_the_rows_that_decide(tmp_path, kind, name):
    settings, options = settings_of(name)
    check_same_bytes(tmp_path, settings, rows_for(name, 1100, kind, 1), options, random.Random(kind), 500)


@settings_of_hypothesis(max_examples=25)
@given(data=st.data())
def test_same_bytes_whatever_the_slices_and_weights(tmp_path_factory, data):
    folder, name = tmp_path_factory.mktemp("served"), data.draw(st.sampled_from(["arow", "full", "numbers"]))
    settings, options = settings_of(name)
    rows = rows_for(
        name, data.draw(st.integers(2, 40)), data.draw(st.sampled_from(KINDS)), data.draw(st.integers(0, 9))
    )
    weights = data.draw(st.none() | st.lists(st.sampled_from([1.0, 0.5, 3.0]), min_size=len(rows), max_size=len(rows)))
    model, left = ServedModel(settings), examples(rows, weights)
    while left:
        n = data.draw(st.integers(1, len(left)))
        model.learn(left[:n])
        left = left[n:]
        if data.draw(st.booleans()):
            model.answers(QUESTIONS)
    assert saved(model, folder) == trained(folder, rows, *options, weights=weights)


BOTH = [
    ({"dtype": "float32"}, "--dtype float32"), ({"view": "standard,pairs"}, "--view standard,pairs"),
    ({"calibration": "none"}, "--calibration none"), ({"average": True}, "--average"),
    ({"prior_variance": 2.0, "fit_intercept": False}, "--prior-variance 2 --no-intercept"),
    ({"forget": 0.01}, "--forget 0.01"), ({"rule_parameters": {"r": 3.0}}, "--r 3"),
    ({"reading": Reading(text=["subject"], ngrams=(1, 2), bits=12)}, "--text subject --ngrams 1-2 --bits 12"),
    ({"reading": Reading(normalize="l2")}, "--normalize l2"),
    ({"reading": Reading(drop=["b"], category=["n"])}, "--drop b --category n"),
]  # fmt: skip
CLASSES = [
    ({"view": "none"}, "--view none"), ({"classes": ["ham", "spam"]}, "--classes ham,spam"),
    ({"classes": ["spam", "eggs", "ham"]}, "--classes spam,eggs,ham"),
    ({"auto": True, "classes": ["ham", "spam"]}, "--auto --classes ham,spam"),
    ({"covariance": "full", "classes": ["ham", "spam"]}, "--covariance full --classes ham,spam"),
    ({"reading": Reading(text=["subject"], analyzer="char")}, "--text subject --analyzer char"),
    ({"reading": Reading(text=["subject"], counts="binary")}, "--text subject --counts binary"),
    ({"reading": Reading(only=["a", "n"])}, "--only a --only n"),
    ({"reading": Reading(normalize="none", zeros=True)}, "--normalize none --zeros"),
    ({"reading": Reading(vocabulary=True)}, "--vocabulary"),
]  # fmt: skip


RULE_OF_EACH = [
    *(({"rule": rule}, f"--rule {rule}") for rule in RULES),
    *((NUMBERS | {"rule": rule}, f"--regression --rule {rule}") for rule in REGRESSION_RULES),
]
THREE = [
    ({"multiclass": name, "rule": rule}, f"--multiclass {name} --rule {rule}")
    for name, rule in (("joint", "arow"), ("one-vs-rest", "arow"), ("softmax", "logistic"))
]


@pytest.mark.parametrize(
    ("settings", "options"),
    [*RULE_OF_EACH, *THREE, *BOTH, *CLASSES, *((NUMBERS | one, " ".join([*RIDGE, of])) for one, of in BOTH)],
    ids=str,
)
def test_same_bytes_with_settings(tmp_path, settings, options):
    rows = made(120, "numbers") if "multiclass" in settings else made(80, "mixed")
    if "task" in settings:
        rows = numbered(80, "mixed")
        rows = [(features, abs(round(label))) for features, label in rows] if "rule" in settings else rows
    check_same_bytes(tmp_path, ModelSettings(**settings), rows, options.split(), random.Random(1), 30)


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


@pytest.mark.parametrize("name", SETTINGS)
def test_same_bytes_with_weights(tmp_path, name):
    settings, options = settings_of(name)
    rows, chance = rows_for(name, 90), random.Random(5)
    weights = [chance.choice([1.0, 0.5, 3.0] if name == "numbers, auto" else [1.0, 0.0, 0.5, 3.0]) for _ in rows]
    check_same_bytes(tmp_path, settings, rows, options, chance, 30, weights)


# --- what the first rows decide --------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["a class", "a text"])
def test_what_comes_later_is_learned_as_in_training(tmp_path, what):
    """A class after the rows that decide; texts, by which the scale of cosines in a stack changes as rows come."""
    rows, chance = made(1200 if what == "a class" else 120, "mixed"), random.Random(1)
    if what == "a class":
        rows[1100:] = [(features, "late" if k % 3 == 0 else label) for k, (features, label) in enumerate(rows[1100:])]
    else:
        for k, (features, label) in enumerate(rows):
            features = {"a": chance.gauss(k % 2, 1), "b": chance.gauss(0, 5)}
            rows[k] = (features | ({"word": chance.choice("xyz")} if chance.random() < k / 120 else {}), label)
    settings, options = ({}, ()) if what == "a class" else ({"auto": True}, ("--auto",))
    check_same_bytes(tmp_path, ModelSettings(**settings), rows, options, random.Random(3), len(rows) // 6)


def test_so_many_first_rows_decide_and_no_others(tmp_path):
    """They have just enough numbers for a table; those that come with the last of them have none."""
    least, n = int(MIN_PRESENT * ROWS_TO_INFER), ROWS_TO_INFER + 5
    rows = [({"a": k % 7} if k < least else {"word": "x"}, "spam" if k % 2 else "ham") for k in range(n)]
    given, model = examples(rows), ServedModel(ModelSettings())
    model.learn(given[: ROWS_TO_INFER - 5])
    model.learn(given[ROWS_TO_INFER - 5 :])
    assert saved(model, tmp_path) == trained(tmp_path, rows)


@pytest.mark.long("5,000 columns in a matrix")
def test_the_first_rows_decide_about_the_covariance(tmp_path):
    """With more than 1,000 columns it has one variance per weight; columns that come later do not count."""
    rows = numbered(1300, "wide")
    for first, expected in ((0, "diag"), (1000, "full")):
        few = [({"a": 1.0}, label) if k < first else (features, label) for k, (features, label) in enumerate(rows)]
        model = check_same_bytes(tmp_path, ModelSettings(**NUMBERS), few, RIDGE, random.Random(1), 300)
        assert model.stream.learner.settings.covariance == expected


# --- snapshots -------------------------------------------------------------------------------------------------------


def reloaded(model, given, folder):
    """A model from its snapshot, and the rows that its log would replay."""
    if model.early is not None or model.seq == 0:
        return ServedModel(model.settings), given
    path = folder / "snapshot.cw"
    model.model().save(path)
    return ServedModel(model.settings, Model.load(path), model.seq), [one for one in given if one.seq > model.seq]


@pytest.mark.parametrize(("settings", "options"), [
    ({"view": "none"}, "--view none"), ({"dtype": "float32", "view": "standard"}, "--dtype float32 --view standard"),
    pytest.param({"covariance": "full", "view": "none"}, "--covariance full --view none",
                 marks=pytest.mark.long("nine models of 300 columns")),
    ({"reading": Reading(vocabulary=True), "view": "none"}, "--vocabulary --view none"),
    (NUMBERS | {"view": "none"}, " ".join([*RIDGE, "--view", "none"])),
])  # fmt: skip
def test_same_bytes_after_a_snapshot_at_any_point(tmp_path, settings, options):
    rows, settings = (numbered if "task" in settings else made)(300, "late"), ModelSettings(**settings)
    given, expected = examples(rows), trained(tmp_path, rows, *options.split())
    for at in [1, 2, 41, 42, 255, 256, 257, 299, 300]:
        model = learn_in_pieces(ServedModel(settings), given[:at], random.Random(at), 200)
        model, rest = reloaded(model, given, tmp_path)
        learn_in_pieces(model, rest, random.Random(at), 200)
        assert saved(model, tmp_path) == expected, f"a snapshot after {at} rows"


@pytest.mark.parametrize("name", LATE)
def test_same_bytes_after_snapshots_beyond_the_rows_that_decide(tmp_path, name):
    settings, options = settings_of(name)
    rows = rows_for(name, 1600)
    given, expected = examples(rows), trained(tmp_path, rows, *options)
    model, rest = ServedModel(settings), given
    for at in [500, 999, 1000, 1001, 1300]:
        model.learn([one for one in rest if one.seq <= at])
        model, rest = reloaded(model, given, tmp_path)
    model.learn(rest)
    assert saved(model, tmp_path) == expected


@pytest.mark.long("a stack of 1,100 rows")
def test_a_stack_that_learns_row_by_row_is_that_of_train(tmp_path):
    """Beyond the rows that decide, its members with dense covariances continue their blocks, too."""
    rows = made(1100, "numbers", seed=2)
    model, given = ServedModel(ModelSettings(auto=True)), examples(rows)
    model.learn(given[:990])
    for one in given[990:]:
        model.learn([one])
    assert any(member.by_products for member in model.stream.learner.members if hasattr(member, "by_products"))
    model.model().save(tmp_path / "served.cw")
    assert (tmp_path / "served.cw").read_bytes() == trained(tmp_path, rows, "--auto")


@pytest.mark.parametrize(("d", "least"), [(10, 1), (120, ROWS_FOR_PRODUCTS)])
def test_rows_of_products_wait_for_others(d, least):
    """Only where they are learned by products: a matrix of few columns learns row by row."""
    model = ServedModel(ModelSettings(covariance="full", view="none"))
    rows = [({f"f{j}": (j + k) % 7 for j in range(d)}, "ab"[k % 2]) for k in range(20)]
    model.learn(examples(rows))
    assert model.least_rows == least


# --- rows that are set aside -----------------------------------------------------------------------------------------


TINY = '"tiny":1e-90'


def settings_far(covariance):
    return ModelSettings(**FAR | {"reading": Reading(**FAR["reading"])}, covariance=covariance)


UNREADABLE = [
    b'{"label":"ham","a":1e300}', b'{"label":"ham","a":[1,2', b'{"a":1}', b'{"label":"ham","subject":"\xff"}', b"\xff",
]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize(("covariance", "wider"), [("diag", 0), ("full", 0), ("full", 100), ("shared", 100)])
@pytest.mark.parametrize("n", [40, 200, pytest.param(1300, marks=pytest.mark.long("1,300 rows of 100 columns"))])
def test_a_row_that_is_set_aside_leaves_no_trace(tmp_path, covariance, wider, n):
    """Neither its class nor its features; and the blocks of wide rows, learned by products, are those of the others.

    Rows of weight 0, which the learner does not count, are learned once, too.
    """
    options = [*FAR_OPTIONS, *([] if covariance == "diag" else ["--covariance", covariance])]
    settings, chance = settings_far(covariance), random.Random(f"{covariance} {n}")
    rows = made(n, "numbers", seed=n)
    rows = [(features, "spam" if label == "spam" or k == 0 else "ham") for k, (features, label) in enumerate(rows)]
    rows = [(features | {f"f{j}": chance.gauss(0, 1) for j in range(wider)}, label) for features, label in rows]
    weights = None if wider else [0.0 if k % 3 == 0 and k > 5 else 1.0 for k in range(n)]
    given, bad = examples(rows, weights), []
    for k in sorted(chance.sample(range(1, n), 7), reverse=True):
        label, new = chance.choice(["spam", "odd", "ham"]), chance.choice(["", f',"new {k}":1e-80', ',"x":{"y":1e-70}'])
        bad.append(Example(f'{{"label":"{label}",{TINY}{new}}}'.encode(), 1.0, 10_000 + k))
        given.insert(k, bad[-1])
    for largest in (300, 1 if n == 40 else n):
        model = learn_in_pieces(ServedModel(settings), given, chance, largest)
        assert saved(model, tmp_path) == trained(tmp_path, rows, *options, weights=weights)
        aside = model.take_aside()
        assert sorted(one.seq for one in aside) == sorted(one.seq for one in bad)
        assert all(one.reason.startswith("the rows take the model out of the range") for one in aside)
        assert model.take_aside() == []


@pytest.mark.parametrize("name", STACKS_LATER)
def test_a_row_that_cannot_be_read_is_set_aside(tmp_path, name):
    """A log of an older version may have any; while the first rows decide, too."""
    settings, options = settings_of(name)
    rows = rows_for(name, 150, seed=11)
    given = examples(rows)
    for k, line in enumerate(UNREADABLE):
        given.insert(1 + 30 * k, Example(line, 1.0, 1000 + k))
    model = learn_in_pieces(ServedModel(settings), given, random.Random(3), 90)
    assert saved(model, tmp_path) == trained(tmp_path, rows, *options)
    assert sorted(one.seq for one in model.take_aside()) == [1000, 1001, 1002, 1003, 1004]


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STACKS_LATER)
def test_answers_are_those_of_the_model_file(tmp_path, name):
    """Together and alone, and after questions that were asked while it learned."""
    model, rows = ServedModel(settings_of(name)[0]), examples(rows_for(name, 300))
    for first in range(0, 300, 100):
        model.learn(rows[first : first + 100])
        model.answers(QUESTIONS)
    asked = [json.dumps(features).encode() for features, _ in rows_for(name, 50, seed=9)] + [*QUESTIONS]
    path = tmp_path / "asked.jsonl"
    path.write_bytes(b"\n".join([*asked, b""]))
    saved(model, tmp_path)
    file = load(tmp_path / "served.cw")
    together, alone = model.answers(asked), [one for line in asked for one in model.answers([line])]
    if "numbers" in name:
        [(mean, std)], [limits] = (list(file.predict_stream(path, of, coverage=0.9)) for of in
                                   ("predict_std", "predict_interval"))  # fmt: skip
        for answers in (together, alone):
            np.testing.assert_allclose([one.label for one in answers], mean, rtol=1e-9)
            np.testing.assert_allclose([one.variance for one in answers], std**2, rtol=1e-9)
            np.testing.assert_allclose([one.interval for one in answers], limits, rtol=1e-9)
        return
    proba = np.concatenate(list(file.predict_stream(path, "predict_proba")))
    for p, one, single in zip(proba, together, alone, strict=True):
        expected = dict(zip(map(str, file.classes_), p, strict=True))
        assert one.label == single.label == max(expected, key=expected.get)
        assert one.probability == pytest.approx(expected, rel=1e-12)
        assert single.probability == pytest.approx(expected, rel=1e-12)
        assert [*one[2:4]] == pytest.approx([*single[2:4]], rel=1e-9)
        assert one.ask == single.ask
