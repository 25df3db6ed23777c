"""The estimator and streams of files: the same model as from arrays and as from the command line."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from confidently import OnlineClassifier
from confidently import load as load_model
from confidently.data import open_stream

MESSAGES = [
    ("ham", "see you at noon"), ("spam", "free money now"), ("ham", "lunch at noon then"),
    ("spam", "money for you now"), ("ham", "are you free for lunch"), ("spam", "free free free"),
] * 5  # fmt: skip


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "messages.txt"
    file.write_text("".join(f"{label}\t{text}\n" for label, text in MESSAGES))
    return file


def test_learning_goes_on_with_the_same_features(texts, tmp_path):
    lines = texts.read_text().splitlines(keepends=True)
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("".join(lines[:11]))
    second.write_text("".join(lines[11:]))
    whole = OnlineClassifier().fit_stream(open_stream(texts))
    parts = OnlineClassifier().fit_stream(open_stream(first))
    parts.save(tmp_path / "part.cw")
    parts = load_model(tmp_path / "part.cw").partial_fit_stream(second)
    assert np.array_equal(whole.coef_, parts.coef_) and np.array_equal(whole.variance_, parts.variance_)
    assert list(whole.features_.names) == list(parts.features_.names)


def test_unknown_words_leave_the_score_and_add_doubt(texts, tmp_path):
    fitted = OnlineClassifier().fit_stream(open_stream(texts, normalize="none"))
    other = tmp_path / "other.txt"
    other.write_text("free\nfree lottery lottery winner\n")
    mean, variance = next(fitted.predict_stream(other, "margin_distribution"))
    assert mean[0] == mean[1]
    assert variance[1] == pytest.approx(variance[0] + 2**2 + 1)
    assert fitted.n_features_in_ == len(fitted.features_)  # nothing was added to the classifier


def test_weights_of_classes_multiply_those_of_examples(texts):
    weighted = OnlineClassifier(class_weight={"spam": 0.25}).fit_stream(open_stream(texts, vocabulary=True))
    vectorizer = CountVectorizer(vocabulary=list(weighted.features_.names), token_pattern=r"\w+")
    X = vectorizer.transform([text for _, text in MESSAGES]).astype(float)
    X = csr_array(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))))
    y = np.array([label for label, _ in MESSAGES])
    twin = OnlineClassifier().fit(X, y, sample_weight=np.where(y == "spam", 0.25, 1.0))
    np.testing.assert_allclose(weighted.coef_, twin.coef_, rtol=1e-12)
