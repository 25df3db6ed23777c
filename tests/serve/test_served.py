"""Served models without a server: what is set aside and why, and answers that a model file does not give."""

import json
import math

import pytest

from confidently.learner.learner import Learner
from confidently.serve.model.learning import Example, raise_of_machine
from confidently.serve.model.rows import RowReader
from confidently.serve.model.served import ServedModel
from confidently.serve.model.settings import ModelSettings
from confidently.serve.problems import Problem
from tests.serve.rows import examples, made, trained
from tests.serve.same_bytes import saved
from tests.serve.test_same_bytes import TINY, settings_far


def test_each_row_of_a_block_is_set_aside_for_its_own_reason():
    """A row that cannot be read ends the reading of a block before anything of it is learned."""
    settings = settings_far("full")
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
    [aside] = model.take_aside()
    assert aside.seq == 1000 and "KeyError: 'a fault'" in aside.reason, "what nobody has thought of has its type"
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


NUMBERS = {"task": "numbers"}


@pytest.mark.parametrize(("settings", "first"), [
    ({}, (None, {})), (NUMBERS, (None, None, None)), (NUMBERS | {"auto": True}, (None, None, None))
], ids=str)  # fmt: skip
def test_before_the_first_row_there_is_no_label_and_no_model(settings, first):
    model = ServedModel(ModelSettings(**settings))
    [answer] = model.answers([b'{"a":1}'])
    assert answer[: len(first)] == first and answer.ask
    with pytest.raises(Problem, match="no row was learned yet"):
        model.model()
    assert (model.order[0], model.classes) == (0, [])


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
