"""How rows of frames, dicts and texts are read, said in Python; and what is said of rows that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from confidently import AROW, MIRA, AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, make_rule, river
from confidently.data import DataError, Schema, open_stream
from confidently.data.schema import Column
from confidently.entities import EntityModels

TEXTS, SIDES = ["good movie not bad", "bad movie not good"] * 60, [1, 0] * 60
FRAME = pd.DataFrame({"zip": [11, 22, 33] * 20, "size": np.arange(60.0), "y": [0, 1, 1] * 20})
KINDS = (AutoClassifier, OnlineClassifier, AutoRegressor, OnlineRegressor)
COLUMNS: Any = [("zip", "feature", "category"), ("size", "ignored", "any"), ("y", "label", "any")]


@pytest.mark.parametrize("kind", KINDS)
def test_options_are_those_of_a_stream(kind: Any) -> None:
    frame, label = FRAME[["zip", "size"]], FRAME["y"]
    by_array = kind().fit(frame, label, category="zip")
    with open_stream(FRAME, label="y", category=("zip",), normalize="none", zeros=True) as stream:
        next(iter(stream))
        assert list(by_array.features_.names) == ["zip=11", "size", "zip=22", "zip=33"] and stream.reading.category == (
            "zip",
        )
    assert by_array.score(frame, label) > 0.9 > kind().fit(frame, label, drop=["zip"]).score(frame, label)
    with pytest.raises(ValueError, match=r"^drop: how rows are read is settled by the first call"):
        by_array.partial_fit(frame, label, drop="zip")


def test_word_order_needs_ngrams() -> None:
    for options, right in (({}, False), ({"ngrams": (1, 2)}, True), ({"analyzer": "char", "ngrams": (2, 4)}, True)):
        model = OnlineClassifier().partial_fit(TEXTS, SIDES, classes=[0, 1], **options)
        assert (model.score(TEXTS, SIDES) == 1.0) == right


def test_a_schema_is_followed_and_must_be_that_of_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    Schema(columns=tuple(Column(*one) for one in COLUMNS)).save(path)
    for schema in (path, str(path), Schema.load(path)):
        for rows in (FRAME, FRAME.to_dict("records")):
            model = OnlineClassifier().fit(rows, "y", schema=schema)
            assert list(model.features_.names) == ["zip=11", "zip=22", "zip=33"]
    with pytest.raises(DataError, match="is the schema of other columns: X lacks 'zip' and has 'zap' besides"):
        OnlineClassifier().fit(FRAME.rename(columns={"zip": "zap"}), "y", schema=path)
    with pytest.raises(ValueError, match="a schema is for frames and dicts"):
        OnlineClassifier().fit(TEXTS, SIDES, schema=path)


def test_models_of_entities_are_told_alike(tmp_path: Path) -> None:
    """Rows are read as the shared model alone would read them without keys; a schema may have the column of these."""
    rows, path = FRAME.assign(user=[f"u{k % 5}" for k in range(60)]), tmp_path / "schema.json"
    columns: Any = [*COLUMNS, ("user", "feature", "any")]
    Schema(columns=tuple(Column(*one) for one in columns)).save(path)
    for options in ({"schema": path}, {"category": "zip", "drop": "size"}, {"missing": 22.0, "drop": "size"}):
        model = EntityModels("user").fit(rows, "y", **options)
        if "missing" not in options:
            assert list(model.shared_.features_.names) == ["zip=11", "zip=22", "zip=33"]
            first = EntityModels("user").partial_fit(rows, "y", classes=[0, 1], **options)
            np.testing.assert_array_equal(first.predict_proba(rows), model.predict_proba(rows))
        else:
            assert model.shared_.source_["missing"] == ["22"]
    with pytest.raises(ValueError, match=r"^drop: how rows are read is settled by the first call"):
        model.partial_fit(rows, "y", drop="zip")
    with pytest.raises(TypeError, match=r"^unknown option 'mising' of reading"):
        EntityModels("user").fit(rows, "y", mising="22")
    with pytest.raises(ValueError, match=r"^how rows are read is said of frames"):
        EntityModels().fit(np.ones((60, 2)), FRAME["y"], key=rows["user"], missing="22")


@pytest.mark.parametrize(
    ("X", "options", "error"),
    [
        (TEXTS, {"ngram": 2}, r"^unknown option 'ngram' of reading \(did you mean 'ngrams'\?\); there are schema, "),
        (TEXTS, {"ngrams": (2, 1)}, "^ngrams must be two integers"),
        (TEXTS, {"text": "note"}, "^text is for formats with named columns"),
        (np.ones((120, 2)), {"ngrams": (1, 2)}, "^how rows are read is said of frames, dicts and texts, and X is an a"),
    ],
)
def test_options_that_mean_nothing_are_errors(X: Any, options: dict[str, Any], error: str) -> None:
    model = OnlineClassifier()
    with pytest.raises((TypeError, ValueError), match=error):
        model.fit(X, SIDES, **options)
    assert not hasattr(model, "learner_")


@pytest.mark.parametrize("kind", [AutoClassifier, OnlineRegressor, MIRA])
@pytest.mark.parametrize(
    ("X", "error"),
    [
        ([[1, 2], [3]], "^the rows of X must have as many values each, got 2 values in row 0 and 1 value in row 1$"),
        ([[1, 2], 3], "got 2 values in row 0 and no list in row 1$"),
        (None, "^X must be an array of shape .*, got None$"),
        ("text", "^X must be an array of shape .*, got a str$"),
        ((row for row in ([1, 2], [3, 4])), "^X must be an array of shape .*, got a generator$"),
        (
            np.array([["1", "a"], ["3", "b"]]),
            "^X has 'a' in row 0, column 1, which is not a number; pass strings in a ",
        ),
    ],
)
def test_rows_that_are_none_are_named(kind: Any, X: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        kind().fit(X, [0, 1])


def test_targets_of_different_lengths_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"^the rows of y must have as many values each, got 1 value in row 0 and 2 val"
    ):
        OnlineRegressor().fit([[1.0], [2.0]], [[1], [1, 2]])


ONE = [[1.0]], [1]


@pytest.mark.parametrize(("call", "error"), [
    (lambda: OnlineClassifier("arrow").fit(*ONE), r"unknown rule 'arrow' \(did you mean 'arow'\?\); expected"),
    (lambda: OnlineRegressor(view="standrd").fit(*ONE), r"unknown view 'standrd' \(did you mean 'standard'"),
    (lambda: OnlineClassifier(dtype="float23").fit(*ONE), r"got 'float23' \(did you mean 'float32'\?\)$"),
    (lambda: AutoRegressor(pases=2), r"^AutoRegressor has no parameter 'pases' \(did you mean 'passes'\?\); there are"),
    (lambda: MIRA(gama=2), r"^MIRA has no parameter 'gama' \(did you mean 'gamma'\?\); there are gamma, C, "),
    (lambda: river.AutoClassifier(tres=2), r"^AutoClassifier has no parameter 'tres' \(did you mean 'trees'\?\)"),
    (lambda: river.AutoRegressor(limits=2), r"has no parameter 'limits'; there are dtype, bounds, trees$"),
    (lambda: AROW(rr=2), r"^AROW has no parameter 'rr'; there are r$"),
    (lambda: make_rule("scw1", fi=2), r"^SCW1: unknown parameter 'fi'; expected "),
    (lambda: AROW(1, 2), "takes from 1 to 2 positional arguments"),
])  # fmt: skip
def test_names_that_may_be_meant_are_said(call: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        call()
