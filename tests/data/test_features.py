"""Names of features: strings in arrays, and which names stay when there are too many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from confidently import _core
from confidently.data import features as module
from confidently.data.features import Features, NewFeatures, Strings

texts = st.lists(st.text(max_size=12), max_size=20)


@given(texts, st.data())
def test_strings_are_what_was_put_in(strings, data):
    whole = Strings.of(strings)
    assert list(whole) == strings and len(whole) == len(strings)
    a, b = sorted(data.draw(st.lists(st.integers(0, len(strings)), min_size=2, max_size=2)))
    assert list(whole.part(a, b)) == strings[a:b]
    which = data.draw(st.lists(st.sampled_from(range(len(strings))), max_size=30)) if strings else []
    assert list(whole.take(np.array(which, dtype=np.int64))) == [strings[k] for k in which]
    assert list(Strings.joined([whole.part(0, a), whole.part(a, b), whole.part(b, len(strings))])) == strings


@given(texts)
def test_keys_are_murmur_hashes(strings):
    whole = Strings.of(strings)
    expected = [murmurhash3_32(s.encode(), seed=0, positive=True) for s in strings]
    assert _core.name_keys(whole.text, whole.start).tolist() == expected


@pytest.mark.parametrize("ties", [False, True])
def test_the_heaviest_names_stay(monkeypatch, ties):
    monkeypatch.setattr(module, "KEPT_NAMES", 30)
    weight = np.random.default_rng(0).permutation(100).astype(float)
    if ties:
        weight //= 10
    names = Strings.of([f"name{k}" for k in range(100)])
    features = Features(bounded=True)
    features.add(NewFeatures(np.zeros(100, dtype=np.int64), np.arange(100, dtype=np.uint32), names))
    features.prune(weight)
    expected = sorted(sorted(range(100), key=lambda k: (-weight[k], k))[:30])
    assert features.column.tolist() == expected
    assert features.name_of() == {k: f"name{k}" for k in expected}
    assert len(features) == 100 and features.n_named == 30


def test_pruning_does_not_depend_on_how_the_stream_is_cut(tmp_path, monkeypatch):
    from confidently import OnlineClassifier
    from confidently.data import open_stream

    monkeypatch.setattr(module, "KEPT_NAMES", 40)
    monkeypatch.setattr(module, "MAX_NAMES", 100)
    random = np.random.default_rng(0)
    file = tmp_path / "rows.jsonl"
    rows = [(random.integers(2), random.integers(0, 2000, 8)) for _ in range(400)]
    lines = (f'{{"label": {y}, ' + ", ".join(f'"w{k}": {1 + k % 3}' for k in sorted(set(w))) + "}\n" for y, w in rows)
    file.write_text("".join(lines))
    fitted = [
        OnlineClassifier(view=None).fit_stream(open_stream(file, chunk_bytes=size)) for size in (300, 7000, 1 << 20)
    ]
    assert fitted[0].features_.n_named <= 100 < len(fitted[0].features_)
    for other in fitted[1:]:
        assert fitted[0].features_.name_of() == other.features_.name_of()
        assert np.array_equal(fitted[0].coef_, other.coef_)
