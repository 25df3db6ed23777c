"""Features whose names read alike: which of them are one, and that the others stay apart wherever models go."""

import numpy as np
import pytest

from confidently import OnlineClassifier, load, merge
from confidently.data import open_stream
from tests.data.test_cache import cached

# Two rows: the first has one of the features, the second the other.
APART = {
    "namespace.vw": ("a | a^b\n", "b |a b\n"),
    "namespaces.vw": ("a |a^b c\n", "b |a b^c\n"),
    "category.csv": ("label,a=b,a\na,1,\n", "label,a=b,a\nb,,b\n"),
    "category.jsonl": ('{"label": "a", "a=b": 1}\n', '{"label": "b", "a": "b"}\n'),
    "categories.jsonl": ('{"label": "a", "a=b": "c"}\n', '{"label": "b", "a": "b=c"}\n'),
}
ONE = {
    "paths.jsonl": ('{"label": "a", "a.b": 1}\n', '{"label": "b", "a": {"b": 1}}\n'),
    "places.jsonl": ('{"label": "a", "a.0": 1}\n', '{"label": "b", "a": [1]}\n'),
}


def write(folder, name):
    files = []
    for number, text in enumerate((APART | ONE)[name]):
        files.append(folder / f"{number}-{name}")
        files[-1].write_text(text)
    return files


@pytest.mark.parametrize("vocabulary", [False, True])
@pytest.mark.parametrize("name", [*APART, *ONE])
def test_features_that_read_alike(tmp_path, name, vocabulary):
    files = write(tmp_path, name)
    batches = list(open_stream(files, vocabulary=vocabulary))
    names = [name for batch in batches if batch.new_features for name in batch.new_features.names]
    assert len(set(names)) == 1
    assert len(names) == len(set(np.concatenate([batch.columns for batch in batches]))) == 1 + (name in APART)


@pytest.mark.long("three models of forty files for each pair")
@pytest.mark.parametrize("vocabulary", [False, True])
@pytest.mark.parametrize("name", APART)
def test_features_that_read_alike_stay_apart(tmp_path, name, vocabulary):
    """In models saved and loaded, in a cache, and when models that met them in different orders are merged."""
    files = write(tmp_path, name)
    how = {"vocabulary": vocabulary}
    forth, back = (OnlineClassifier().fit_stream(open_stream(order, **how)) for order in (files * 20, files[::-1] * 20))
    forth.save(tmp_path / "forth.cw")
    whole = tmp_path / name
    whole.write_text("".join(dict.fromkeys("".join(APART[name]).splitlines(keepends=True))))  # a header once
    cache = cached(whole, tmp_path / "rows.cache", open_stream(whole, **how).reading)
    models = {"learned": forth, "saved": load(tmp_path / "forth.cw"), "merged": merge([forth, back])}
    models["cached"] = OnlineClassifier().fit_stream(open_stream([cache] * 20))
    for where, model in models.items():
        predicted = [next(model.predict_stream(file))[0] for file in files]
        assert predicted == ["a", "b"], where
        assert len(model.coef_[0]) == 2
