"""Model files that earlier versions wrote still load, answer as they did then, and go on learning.

``kept_models`` has small files of formats 1 and 2, and what the version that wrote them answered to a few rows.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confidently import load
from confidently.models.file import FORMAT

FOLDER = Path(__file__).parent / "kept_models"
KEPT = sorted(path.stem for path in FOLDER.glob("*.cw"))


def answers(name):
    version, _, kind = name.partition("-")
    return json.loads((FOLDER / f"{version}.json").read_text())[kind]


def test_every_earlier_format_is_kept():
    assert {int(re.match(r"format(\d+)-", name)[1]) for name in KEPT} == set(range(1, FORMAT))


@pytest.mark.parametrize("name", [name for name in KEPT if not name.endswith("words")])
def test_kept_models_answer_as_they_did(name, tmp_path):
    model, expected = load(FOLDER / f"{name}.cw"), answers(name)
    rows = np.array(expected["rows"])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    for method in ("decision_function", "predict_proba"):
        if method in expected:
            np.testing.assert_allclose(getattr(model, method)(rows), expected[method], rtol=1e-6)
    model.save(tmp_path / "today.cw")
    again = load(tmp_path / "today.cw")
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    labels = model.classes_[np.arange(len(rows)) % 2] if "sets" not in name else np.eye(3, dtype=int)[[0, 1, 2, 0, 1]]
    np.testing.assert_array_equal(
        again.partial_fit(rows, labels).decision_function(rows), model.partial_fit(rows, labels).decision_function(rows)
    )


@pytest.mark.parametrize("name", [name for name in KEPT if name.endswith("words")])
def test_kept_models_of_the_command_line_answer_as_they_did(name, ok, tmp_path):
    expected = answers(name)
    (tmp_path / "new.vw").write_text(expected["rows"])
    found = ok("predict", FOLDER / f"{name}.cw", tmp_path / "new.vw", "--proba", "--margin").splitlines()
    heading, *lines = expected["predict"].splitlines()
    assert found[0] == heading
    for line, then in zip(found[1:], lines, strict=True):
        (label, *numbers), (label_then, *numbers_then) = line.split("\t"), then.split("\t")
        assert label == label_then
        np.testing.assert_allclose([float(x) for x in numbers], [float(x) for x in numbers_then], rtol=1e-6)
