"""``confidently merge``, and models of streams: names, hashes, classes that appear late."""

from dataclasses import replace

import numpy as np
import pytest

from confidently import OnlineClassifier, load, merge
from confidently.cli import run
from confidently.data import open_stream
from confidently.models.merging import MergeError
from confidently.models.model import Model
from tests.command_line import rows

SPAM = "spam\tfree money now\nham\tsee you at noon\nspam\tmoney for free\nham\tlunch at noon\n"
MAIL = "ham\tminutes of the meeting\nspam\tcheap pills\nham\tthe next meeting\nspam\tpills and watches\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k in range(2):
        (tmp_path / f"{k}.svm").write_text(rows(200, seed=k))
        assert run(["train", f"{k}.svm", "-q", "-o", f"{k}.cw", "--rule", "arow"]) == 0
    return tmp_path


def command(*arguments):
    return run([str(argument) for argument in arguments])


def of_text(text, **options):
    """A classifier of lines of label and text."""
    with open("lines.txt", "w") as file:
        file.write(text)
    settings = {name: options.pop(name) for name in ("rule", "fit_intercept") if name in options}
    return OnlineClassifier(**settings).fit_stream(open_stream("lines.txt", **options))


def test_labels_that_appear_in_another_order(here):
    """The positive class of one model is the other's negative one; and a model may have met one class only."""
    random = np.random.default_rng(0)
    text = {}
    for first in ("spam", "ham"):
        other = {"spam": "ham", "ham": "spam"}[first]
        kinds = [first, other, *random.choice(["spam", "ham"], 98)]
        words = {"spam": ["free", "money", "now"], "ham": ["lunch", "noon", "now"]}
        text[first] = "".join(f"{kind}\t{' '.join(random.choice(words[kind], 2))}\n" for kind in kinds)
    (here / "a.txt").write_text(text["spam"])
    (here / "b.txt").write_text(text["ham"])
    (here / "c.txt").write_text("spam\tfree money\n" * 5)
    for name in ("same", "met"):
        for part in ("a", "b", "c"):
            announced = ["--classes", "spam,ham"] if name == "same" or part == "c" else []
            assert command("train", f"{part}.txt", "--rule=arow", "-q", "-o", f"{part}-{name}.cw", *announced) == 0
        if name == "met":  # as earlier versions saved it
            one = Model.load("c-met.cw")
            replace(one, classes=["spam", None], source=one.source | {"closed": False}).save("c-met.cw")
        assert command("merge", *(f"{part}-{name}.cw" for part in ("a", "b", "c")), "-o", f"{name}.cw") == 0
    same, met = load("same.cw"), load("met.cw")
    assert list(met.classes_) == list(same.classes_) == ["ham", "spam"]
    np.testing.assert_allclose(met.coef_, same.coef_, rtol=1e-9, atol=1e-12)
    probabilities = [next(model.predict_stream(["b.txt"], "predict_proba")) for model in (same, met)]
    np.testing.assert_allclose(*probabilities, rtol=1e-7)


@pytest.mark.parametrize("reading", [{"bits": 18}, {"vocabulary": True}])
def test_features_with_names(here, reading):
    """Texts without a word in common: merging is learning both; the columns are others in each model."""
    settings = {"rule": "arow", "fit_intercept": False}
    parts = [of_text(text, **settings, **reading) for text in (SPAM, MAIL)]
    whole, merged = of_text(SPAM + MAIL, **settings, **reading), merge(parts)
    assert list(merged.features_.names) == list(whole.features_.names)
    np.testing.assert_array_equal(merged.features_.key, whole.features_.key)
    np.testing.assert_allclose(merged.coef_, whole.coef_ * np.where(merged.classes_[0] == whole.classes_[0], 1, -1))
    np.testing.assert_allclose(merged.variance_, whole.variance_)


def test_other_hashing_is_refused(here):
    with pytest.raises(MergeError, match="bits = 22 in model 1, bits = 18 in model 2"):
        merge([of_text(SPAM), of_text(MAIL, bits=18)])
    with pytest.raises(MergeError, match="ngrams = "):
        merge([of_text(SPAM), of_text(MAIL, ngrams=(1, 2))])
    with pytest.raises(MergeError, match="rows from = files in model 1, rows from = arrays in model 2"):
        merge([of_text(SPAM), OnlineClassifier(view=None).fit([[1.0], [2.0]], ["ham", "spam"])])


def test_many_hashed_names_are_forgotten(here, monkeypatch):
    """As in training: the names of the heaviest weights stay."""
    from confidently.data import features

    monkeypatch.setattr(features, "MAX_NAMES", 8)
    monkeypatch.setattr(features, "KEPT_NAMES", 4)
    parts = [of_text(text) for text in (SPAM, MAIL)]
    merged = merge(parts)
    assert len(merged.features_.key) == merged.n_features_in_
    assert merged.features_.n_named <= 8
    merged.save("merged.cw")
    assert load("merged.cw").features_.n_named == merged.features_.n_named


def test_long_lists_that_differ_are_cut(here, capsys):
    columns = [f"col{k}" for k in range(42)]
    (here / "rows.csv").write_text(",".join([*columns, "label"]) + "\n" + "".join(f"{'1,' * 42}{y}\n" for y in "xyxy"))
    for name, dropped in (("few", columns[:2]), ("many", columns[:40])):
        drop = [text for column in dropped for text in ("--drop", column)]
        assert command("train", "rows.csv", "--rule=arow", "-q", "-o", f"{name}.cw", *drop) == 0
    capsys.readouterr()
    assert command("merge", "few.cw", "many.cw", "-o", "all.cw") == 2
    error = capsys.readouterr().err
    assert "'col2', 'col3', 'col4', 'col5', 'col6' and 33 more in many.cw" in error and len(error) < 300
