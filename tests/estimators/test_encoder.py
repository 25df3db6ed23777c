"""Estimators of texts whose vectors an encoder makes."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, load, merge
from confidently.data import DataError, open_stream
from confidently.encoders import PROBES, EncoderError
from confidently.samples.tickets import tickets
from tests.encoders import Vectors, vectors_of

ROWS = list(tickets(300))
TEXTS, TEAMS = [str(row["text"]) for row in ROWS], np.array([row["team"] for row in ROWS])
FLOORS = np.array([float(row["floor"]) for row in ROWS])
STACKS = pytest.mark.long("stacks take texts by the same code, and longer")
KINDS = [
    OnlineClassifier,
    OnlineRegressor,
    *(pytest.param(kind, marks=STACKS) for kind in (AutoClassifier, AutoRegressor)),
]
EACH = pytest.mark.parametrize("kind", KINDS)


def labels_for(kind):
    return FLOORS if kind in (OnlineRegressor, AutoRegressor) else TEAMS


def answers(model, X):
    return model.predict(X) if model.predicts_numbers else model.predict_proba(X)


@EACH
def test_texts_columns_and_frames_are_learned_alike(kind, tmp_path):
    y = labels_for(kind)
    model = kind(encoder=vectors_of).fit(TEXTS, y)
    assert model.n_features_in_ == 16 and not hasattr(model, "features_")
    found = answers(model, TEXTS)
    frame = pd.DataFrame({"text": TEXTS, "other": 1.0, "y": y})
    for X in (
        np.array(TEXTS, dtype=object),
        frame["text"],
        pl.Series(TEXTS),
        frame[["text"]],
        frame,
        pl.DataFrame(frame),
    ):
        np.testing.assert_array_equal(answers(model, X), found)
    named = kind(encoder=vectors_of).fit(frame[["text", "y"]].rename(columns={"text": "subject"}), "y")
    np.testing.assert_array_equal(answers(named, TEXTS), found)
    np.testing.assert_array_equal(answers(model, vectors_of(TEXTS).astype(np.float32)), found)  # without the encoder
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in zip(TEXTS, y, strict=True))
    )
    of_file = kind(encoder=vectors_of, **({"shuffle": False, "passes": 1})).fit_stream(path)
    in_order = kind(encoder=vectors_of, **({"shuffle": False, "passes": 1})).fit(TEXTS, y)
    np.testing.assert_array_equal(answers(of_file, TEXTS), answers(in_order, TEXTS))
    streamed = np.concatenate(list(of_file.predict_stream(path)))
    np.testing.assert_array_equal(streamed, of_file.predict(TEXTS))


@EACH
def test_arrays_are_taken_for_vectors(kind):
    y, vectors = labels_for(kind), vectors_of(TEXTS).astype(np.float32)
    model = kind(encoder=vectors_of).fit(vectors, y)
    np.testing.assert_array_equal(answers(model, TEXTS), answers(model, vectors))
    model.partial_fit(TEXTS[:9], y[:9]).partial_fit(vectors[:9], y[:9])
    assert model.n_seen_ % 300 == 18
    with pytest.raises(EncoderError, match=r"X has 5 columns, and the encoder is tests.encoders.vectors_of"):
        kind(encoder=vectors_of).fit(vectors[:, :5], y)
    with pytest.raises(DataError, match="a frame of numbers; with an encoder, pass texts, or their vectors as an"):
        kind(encoder=vectors_of).fit(pd.DataFrame(vectors), y)


@EACH
def test_saved_models_expect_their_encoder(kind, tmp_path):
    y = labels_for(kind)
    model = kind(encoder=Vectors()).fit(TEXTS, y)
    model.save(tmp_path / "model.cw")
    again, found = load(tmp_path / "model.cw"), answers(model, TEXTS)
    assert again.encoder is None
    np.testing.assert_array_equal(answers(again, vectors_of(TEXTS).astype(np.float32)), found)
    with pytest.raises(
        EncoderError, match=r"vectors of the encoder tests.encoders.Vectors \(16 dimensions\); pass it: set_"
    ):
        again.predict(TEXTS)
    with pytest.raises(EncoderError, match="pass it: set_params"):
        again.partial_fit(TEXTS, y)
    np.testing.assert_array_equal(answers(again, vectors_of(TEXTS).astype(np.float32)), found)  # as before
    again.set_params(encoder=lambda texts: vectors_of(texts)[:, ::-1])
    with pytest.raises(EncoderError, match="gives other vectors than that of the model"):
        again.predict(TEXTS)
    again.set_params(encoder=Vectors())
    np.testing.assert_array_equal(answers(again, TEXTS), found)
    again.partial_fit(TEXTS[:50], y[:50])
    np.testing.assert_array_equal(answers(again, TEXTS), answers(model.partial_fit(TEXTS[:50], y[:50]), TEXTS))


def test_a_name_is_enough_to_load_an_encoder(tmp_path):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    model = AutoClassifier(encoder="wordllama").fit(TEXTS[:200], TEAMS[:200])
    assert model.score(TEXTS[200:], TEAMS[200:]) > 0.8
    model.save(tmp_path / "model.cw")
    again = load(tmp_path / "model.cw")
    assert again.encoder == "wordllama"
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert (tmp_path / "model.cw").stat().st_size < 2**22  # the encoder, of 16 MB, is not in it


def test_clones_share_the_encoder_and_its_cache():
    source = Vectors()
    model = OnlineClassifier(encoder=source)
    assert model.get_params()["encoder"] is source
    assert clone(model).encoder is source and not hasattr(clone(model), "learner_")
    cross_val_score(model, TEXTS, TEAMS == "password", cv=3)
    assert sorted(source.encoded[2 * len(PROBES) :]) == sorted(set(TEXTS))
    again = copy.deepcopy(model.fit(TEXTS, TEAMS))
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert len(pickle.dumps(model)) < 100_000  # without the vectors


def test_members_and_merged_models_have_it():
    model = AutoClassifier(encoder=vectors_of).fit(TEXTS, TEAMS)
    member = next(iter(model.members_.values()))
    assert member.predict(TEXTS[:3]).shape == (3,)
    halves = [OnlineClassifier(encoder=vectors_of, view=None).fit(TEXTS[k::2], TEAMS[k::2]) for k in range(2)]
    whole = merge(halves)
    assert whole.n_seen_ == 300 and whole.score(TEXTS, TEAMS) > 0.7
    other = OnlineClassifier(encoder=lambda texts: -vectors_of(texts), view=None).fit(TEXTS, TEAMS)
    with pytest.raises(ValueError, match="encoder"):
        merge([halves[0], other])


def test_missing_and_blank_texts_are_rows_of_zeros():
    model = OnlineClassifier(encoder=vectors_of).fit(TEXTS, TEAMS)
    blank = model.predict_proba(np.zeros((1, 16)))
    for text in ("", "  \n", None, float("nan"), pd.NA):
        np.testing.assert_array_equal(model.predict_proba([TEXTS[0], text])[1:], blank)


def test_nothing_of_a_text_is_lost():
    seen = []

    def encode(texts):
        seen.extend(texts)
        return vectors_of([text or "x" for text in texts])

    texts = ["a\nb\r\nc\td", 'quoted "text", with commas', "\ud800 lone", "مرحبا"]
    OnlineClassifier(encoder=encode).fit(texts, [0, 1, 0, 1])
    assert seen[2 * len(PROBES) :] == [*texts[:2], "? lone", texts[3]]


def test_invalid_rows_leave_the_estimator_unchanged():
    model = OnlineClassifier(encoder=vectors_of).fit(TEXTS, TEAMS)
    before = model.predict_proba(TEXTS)
    with pytest.raises(DataError, match="X, row 2: expected a text, got 5"):
        model.partial_fit(["a", 5], TEAMS[:2])
    with pytest.raises(DataError, match=r"no column 'text'|takes one text per row, and X has 2 columns: 'a', 'b'"):
        model.predict(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(np.zeros((1, 3)))
    np.testing.assert_array_equal(model.predict_proba(TEXTS), before)


def test_an_encoder_that_fails_in_training_leaves_the_estimator_unchanged():
    broken = []

    def encode(texts):
        return np.full((len(texts), 16), np.nan) if broken else vectors_of(texts)

    model = OnlineClassifier(encoder=encode).fit(TEXTS[:200], TEAMS[:200])
    before = model.predict_proba(TEXTS[:200])
    broken.append(True)
    with pytest.raises(
        DataError, match=r"X, row 1, or soon after it: the encoder .* returned NaN or infinity for the text"
    ):
        model.partial_fit(["a new text"], TEAMS[:1])
    np.testing.assert_array_equal(model.predict_proba(TEXTS[:200]), before)


def test_an_encoder_cannot_come_later():
    words = OnlineClassifier().fit(TEXTS, TEAMS).set_params(encoder=vectors_of)
    with pytest.raises(EncoderError, match="was trained without an encoder; call fit"):
        words.predict(TEXTS)
    with pytest.raises(EncoderError, match="was trained without an encoder; call fit"):
        words.partial_fit(TEXTS, TEAMS)
    assert words.fit(TEXTS, TEAMS).n_features_in_ == 16
    numbers = OnlineClassifier().fit(np.eye(16), np.arange(16) % 2).set_params(encoder=vectors_of)
    with pytest.raises(ValueError, match="trained on numbers in arrays"):
        numbers.predict(TEXTS)


def test_open_streams_bring_their_vectors(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("".join(f"{team}\t{text}\n" for text, team in zip(TEXTS, TEAMS, strict=True)))
    with open_stream(path, encoder=vectors_of) as stream:
        model = OnlineClassifier(encoder=vectors_of).fit_stream(stream)
    assert model.n_features_in_ == 16 and model.score(TEXTS, TEAMS) > 0.8
    with open_stream(path) as stream, pytest.raises(ValueError, match="open it with encoder"):
        OnlineClassifier(encoder=vectors_of).fit_stream(stream)


def test_sets_cover_by_a_column_beside_the_text():
    frame = pd.DataFrame(ROWS)[["team", "text", "site"]]
    model = OnlineClassifier(encoder=vectors_of, coverage_by="site").fit(frame, "team")
    assert model.predict_set(frame, 0.5).shape == (300, len(model.classes_))
