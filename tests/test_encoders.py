"""Encoders: what is one, what is checked of their vectors, the cache, and how they are recognized."""

import logging
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from confidently import encoders
from confidently.encoders import KNOWN, PROBES, Encoder, EncoderError, EncoderInfo, check_encoder, encoder_of
from tests.encoders import Vectors, vectors_of

TEXTS = ["late parcel", "refund please", "late parcel", "   ", "", "où est\nle colis"]


class Embedder:
    """An encoder that calls its method otherwise."""

    def embed(self, texts):
        return vectors_of(texts)


@pytest.mark.parametrize("source", [Vectors(), Embedder(), vectors_of, lambda texts: vectors_of(texts).tolist()])
def test_objects_and_functions_are_encoders(source):
    found = encoder_of(source)(TEXTS)
    assert found.dtype == np.float32 and found.shape == (6, 16)
    np.testing.assert_allclose(found[:3], vectors_of(TEXTS[:3]), rtol=1e-6)
    assert not found[3:5].any() and found[5].any()


@pytest.mark.parametrize("source", [5, None, [1.0], Vectors, "nothing", b"wordllama"])
def test_other_things_are_not(source):
    with pytest.raises(EncoderError, match="encoder"):
        Encoder(source)
    if source is not None:  # which stands for no encoder at all
        with pytest.raises(EncoderError, match="encoder"):
            check_encoder(source)


@pytest.mark.parametrize("found, told", [
    (lambda texts: np.ones((len(texts) + 1, 4)), r"shape \(4, 4\) for 3 texts; expected \(n, d\)"),
    (lambda texts: np.ones(len(texts)), r"shape \(3,\)"), (lambda texts: np.ones((len(texts), 0)), r"shape \(3, 0\)"),
    (lambda texts: np.ones((len(texts), 4), int), "an array of int64; expected an array of floats"),
    (lambda texts: [[1.0] * k for k in range(len(texts))], "returned list; expected an array of floats"),
    (lambda texts: None, "returned NoneType"), (lambda texts: [[object()]] * len(texts), "returned list"),
    (lambda texts: np.full((len(texts), 4), np.nan), "NaN or infinity for the text 'The parcel"),
    (lambda texts: np.full((len(texts), 4), 1e39), "NaN or infinity"),  # beyond float32
])  # fmt: skip
def test_what_is_no_vectors_is_one_clear_error(found, told):
    with pytest.raises(EncoderError, match=told):
        _ = encoder_of(found).info


def test_vectors_of_another_length_later_are_an_error():
    lengths = iter([4, 4, 4, 5])
    encoder = Encoder(lambda texts: np.ones((len(texts), next(lengths))))
    encoder(["a"])
    with pytest.raises(EncoderError, match=r"shape \(1, 5\) for 1 text; expected \(n, 4\)"):
        encoder(["b"])


def test_answers_that_change_are_an_error():
    generator = np.random.default_rng(0)
    with pytest.raises(EncoderError, match="switch off what is random"):
        _ = Encoder(lambda texts: generator.normal(size=(len(texts), 4))).info
    with pytest.raises(EncoderError, match="switch off"):  # an answer that depends on the place
        _ = Encoder(lambda texts: np.arange(4.0 * len(texts)).reshape(-1, 4)).info


def test_a_text_is_encoded_once():
    source = Vectors()
    encoder = encoder_of(source)
    first = encoder(TEXTS)
    assert sorted(source.encoded) == sorted([*PROBES, *PROBES, *{text for text in TEXTS if text.strip()}])
    before = len(source.encoded)
    np.testing.assert_array_equal(encoder_of(source)(TEXTS[::-1]), first[::-1])
    assert len(source.encoded) == before
    first[:] = 0  # which the cache does not share
    assert encoder(TEXTS)[0].any()


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(encoders, "MAX_CACHED", 3 * 4 * 16)  # three vectors
    source = Vectors()
    encoder = encoder_of(source)
    encoder([f"text {k}" for k in range(5)])
    assert len(encoder._cached) == 3
    before = len(source.encoded)
    encoder(["text 4", "text 0"])
    assert source.encoded[before:] == ["text 0"]


def test_texts_come_in_pieces(monkeypatch):
    monkeypatch.setattr(encoders, "TEXTS_PER_CALL", 2)
    sizes = []

    def encode(texts):
        sizes.append(len(texts))
        return vectors_of(texts)

    texts = [f"text {k}" for k in range(5)]
    np.testing.assert_allclose(Encoder(encode)(texts), vectors_of(texts), rtol=1e-6)
    assert sizes == [3, 3, 2, 2, 1]


def test_a_pickle_has_no_cache():
    encoder = encoder_of(vectors_of)
    encoder(TEXTS)
    again = pickle.loads(pickle.dumps(encoder))
    assert not again._cached and again.info == encoder.info


def test_an_encoder_is_recognized_by_its_answers():
    encoder = encoder_of(Vectors())
    info = encoder.info
    assert info.name == "tests.encoders.Vectors" and info.dimension == 16
    encoder.check(info)
    encoder.check(replace(info, name="another", version="9"))  # which gives the same vectors
    near = tuple(tuple(np.add(answer, 1e-4)) for answer in info.answers)
    encoder.check(replace(info, answers=near))  # rounded otherwise
    with pytest.raises(EncoderError, match=r"gives other vectors than that of the model, x 1 \(16 dimensions\)"):
        encoder.check(replace(info, name="x", version="1", answers=info.answers[::-1]))
    with pytest.raises(EncoderError, match="8 dimensions"):
        encoder.check(encoder_of(Vectors(8)).info)


def test_a_dimension_is_positive():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        EncoderInfo("x", "", 0, ())


def test_errors_of_an_encoder_are_its_own():
    def fails(texts):
        raise ConnectionError("no such host")

    with pytest.raises(ConnectionError, match="no such host"):
        encoder_of(fails)(["a"])


def test_a_missing_package_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(EncoderError, match=r"wordllama needs a package that is missing .*; run pip install '.\[wordll"):
        Encoder("wordllama")


def test_missing_weights_are_one_clear_error(monkeypatch):
    def load():
        raise FileNotFoundError("weights are not there")

    monkeypatch.setitem(KNOWN, "wordllama", KNOWN["wordllama"]._replace(load=load))
    with pytest.raises(EncoderError, match="wordllama cannot be loaded: weights are not there"):
        Encoder("wordllama")


def test_wordllama():
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    found = encoder_of("wordllama")(["my parcel is late", "the package has not arrived", "a vegan dish", "\x00", "."])
    assert (root.level, root.handlers) == before
    assert found.shape == (5, 256) and np.isfinite(found).all()
    np.testing.assert_allclose(np.linalg.norm(found[:3], axis=1), 1, rtol=1e-5)
    assert found[0] @ found[1] > found[0] @ found[2] + 0.2
    assert encoder_of("wordllama") is encoder_of("wordllama")


def test_checking_a_name_loads_nothing():
    code = "import sys\nfrom confidently.encoders import check_encoder\ncheck_encoder('wordllama')\n"
    code += "assert 'wordllama' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
