"""Model files written by earlier versions still load, predict as they did then, and continue training.

``kept_models`` holds small files of every format, and the predictions that the version which wrote them made for a few
rows: before training on those rows, and from format 3 on also after it.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confidently import load
from confidently.data import DataWarning
from confidently.models.file import FORMAT
from confidently.topics.model import load_any

FOLDER = Path(__file__).parent / "kept_models"
KEPT = sorted(path.stem for path in FOLDER.glob("*.cw"))


def predictions(name):
    version, _, kind = name.partition("-")
    return json.loads((FOLDER / f"{version}.json").read_text())[kind]


def test_every_format_is_kept():
    assert {int(re.match(r"format(\d+)-", name)[1]) for name in KEPT} == set(range(1, FORMAT + 1))


def is_written(name):
    """Return whether models of this kind are still written in the format of the file."""
    return name.startswith(f"format{FORMAT}-")


@pytest.mark.parametrize("name", [name for name in KEPT if is_written(name)])
def test_files_of_the_formats_that_are_written_are_byte_identical(name, tmp_path):
    load_any(FOLDER / f"{name}.cw").save(tmp_path / "again.cw")
    assert (tmp_path / "again.cw").read_bytes() == (FOLDER / f"{name}.cw").read_bytes()


@pytest.mark.parametrize("name", [name for name in KEPT if not name.endswith("words") and "regression" not in name])
def test_kept_models_predict_and_train_as_before(name, tmp_path):
    model, expected = load(FOLDER / f"{name}.cw"), predictions(name)
    rows = np.array(expected["rows"])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    for method in ("decision_function", "predict_proba"):
        if method in expected:
            np.testing.assert_allclose(getattr(model, method)(rows), expected[method], rtol=1e-6)
    if "predict_set" in expected or "class_sets" in expected:
        if is_written(name):
            np.testing.assert_array_equal(model.predict_set(rows, 0.8), expected["predict_set"])
        else:  # what earlier versions knew of errors begins anew
            with pytest.warns(DataWarning, match="sets have every class"):
                assert model.predict_set(rows).all()
    model.save(tmp_path / "today.cw")
    again = load(tmp_path / "today.cw")
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    labels = model.classes_[np.arange(len(rows)) % 2] if "sets" not in name else np.eye(3, dtype=int)[[0, 1, 2, 0, 1]]
    after = model.partial_fit(rows, labels).decision_function(rows)
    np.testing.assert_array_equal(again.partial_fit(rows, labels).decision_function(rows), after)
    if "decision_function_after_partial_fit" in expected:
        window = name.startswith("format5-")  # of stacks: from format 7 on their mixture has shorter ones too
        rtol, atol = (1e-3, 1e-4) if window else (1e-6, 0.0)
        np.testing.assert_allclose(after, expected["decision_function_after_partial_fit"], rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", [name for name in KEPT if "regression" in name])
def test_kept_regressions_predict_and_train_as_before(name):
    model, expected = load(FOLDER / f"{name}.cw"), predictions(name)
    rows, targets = np.array(expected["rows"]), np.array(expected["targets"])
    for when in ("before", "after"):
        mean, std = model.predict(rows, return_std=True)
        found = {"mean": mean, "std": std, "interval": model.predict_interval(rows, 0.8)}
        known = {} if name.startswith("format13-") else {"interval"}  # whose limits are other ones since format 13
        for what, then in ((what, then) for what, then in expected.get(when, {}).items() if what not in known):
            np.testing.assert_allclose(found[what], then, rtol=1e-6, err_msg=f"{what} {when}")
        model.partial_fit(rows, targets)


@pytest.mark.parametrize("name", [name for name in KEPT if name.endswith("words")])
def test_kept_models_of_the_command_line_predict_as_before(name, ok, tmp_path):
    expected = predictions(name)
    (tmp_path / "new.vw").write_text(expected["rows"])
    found = ok("predict", FOLDER / f"{name}.cw", tmp_path / "new.vw", "--proba", "--margin").splitlines()
    header, *lines = expected["predict"].splitlines()
    assert header.split("\t") == ["class", "proba:spam", "proba:ham", "margin"]
    assert found[0].split("\t") == ["class", "proba:ham", "proba:spam", "margin"]  # classes are sorted now
    for line, then in zip(found[1:], lines, strict=True):
        (label, ham, spam, margin), (label_then, spam_then, ham_then, margin_then) = line.split("\t"), then.split("\t")
        assert label == label_then
        now, before = (ham, spam, margin), (ham_then, spam_then, -float(margin_then))
        np.testing.assert_allclose([float(x) for x in now], [float(x) for x in before], rtol=1e-6)
