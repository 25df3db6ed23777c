"""Columns that are perhaps no features: a warning that names them, and none for ordinary columns."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from confidently import OnlineClassifier
from confidently.data import DataWarning, open_stream
from tests.data_sets import load

ROWS = 1000


def table(**columns):
    """Columns of numbers of size 1, and others; and labels."""
    rng = np.random.default_rng(0)
    ordinary = {"a": rng.normal(size=ROWS), "b": rng.integers(0, 3, ROWS).astype(float)}
    return ordinary | columns, (ordinary["a"] > 0).astype(int)


def warned(train, *arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        train(*arguments)
    assert all(warning.category is DataWarning for warning in found)
    return [str(warning.message) for warning in found]


def warned_in_fit(columns, y, as_matrix=np.asarray, **parameters):
    X = as_matrix(np.column_stack(list(columns.values())))
    return warned(OnlineClassifier(**{"view": None} | parameters).fit, X, y)


random = np.random.default_rng(1)
COUNT = np.arange(ROWS, dtype=float)
SUSPICIOUS = {
    "ascending": (COUNT, "different integer in each of the first 1,000 rows"),
    "descending": (1e6 - 7 * COUNT, "different integer"),
    "shuffled": (random.permutation(3 * ROWS)[:ROWS] + 1e5, "different integer"),
    "seconds": (1.7e9 + random.integers(0, 10**7, ROWS), "looks like a timestamp (17"),
    "milliseconds": (1e3 * (1.2e9 + random.random(ROWS) * 1e8), "looks like a timestamp (12"),
    "nanoseconds": (1e9 * (1.7e9 + COUNT), "looks like a timestamp (17"),
    "dates": (20_210_101 + 100 * random.integers(0, 12, ROWS) + random.integers(0, 28, ROWS), "timestamp (2021"),
    "income": (random.normal(5e4, 1e4, ROWS), "makes up 99.9 % of the squared length of the rows"),
    "skewed": (random.pareto(2, ROWS) * 1e3, "of the squared length of the rows"),
    "constant": (np.full(ROWS, 2024.0), "makes up 99.9 %"),
}


@pytest.mark.parametrize("as_matrix", [np.asarray, csr_matrix, np.asfortranarray, np.float32])
@pytest.mark.parametrize("name", SUSPICIOUS)
def test_suspicious_columns_are_named(name, as_matrix):
    values, text = SUSPICIOUS[name]
    if as_matrix is np.float32 and name == "dates":
        pytest.skip("float32 rounds integers beyond 16,777,216, so that days change")
    columns, y = table(x=values)
    [message] = warned_in_fit(columns, y, as_matrix)
    assert message.startswith("column 2 ") and text in message
    assert ("use view='standard', or leave it out" in message) == ("squared length" in message)
    messages = warned_in_fit(columns, y, as_matrix, view="standard")
    assert len(messages) == ("squared length" not in message)  # a view makes numbers comparable, not ids useful


ORDINARY = {
    "counts": random.integers(0, 12, ROWS).astype(float),
    "large different integers": random.choice(10**7, ROWS, replace=False) / 1e7,
    "prices": np.round(random.lognormal(1, 1, ROWS), 2), "ascending numbers": np.sort(random.random(ROWS)),
    "sparse": np.where(random.random(ROWS) < 0.05, 30.0, 0.0), "nothing": np.zeros(ROWS),
}  # fmt: skip


@pytest.mark.parametrize("as_matrix", [np.asarray, csr_matrix])
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns_are_not(name, as_matrix):
    assert not warned_in_fit(*table(x=ORDINARY[name]), as_matrix)


def test_money_is_no_time_and_no_id():
    sums = random.lognormal(21.5, 1, ROWS).round()  # around two billions
    [message] = warned_in_fit(*table(x=sums))
    assert "squared length" in message
    tens = 1e3 * random.permutation(10**6)[:ROWS]  # different, but in a range where chance does that too
    [message] = warned_in_fit(*table(x=tens))
    assert "squared length" in message


def test_few_rows_and_later_calls_say_nothing():
    columns, y = table(x=COUNT)
    X = np.column_stack(list(columns.values()))
    assert not warned(OnlineClassifier().fit, X[:199], y[:199])
    classifier = OnlineClassifier()
    assert len(warned(lambda: classifier.partial_fit(X, y, classes=[0, 1]))) == 1
    assert not warned(classifier.partial_fit, X, y)


def test_several_columns_and_names_of_data_frames():
    pandas = pytest.importorskip("pandas")
    columns, y = table(time=1.7e9 + COUNT, income=random.normal(5e4, 1e4, ROWS), row=COUNT)
    messages = warned(OnlineClassifier(view=None).fit, pandas.DataFrame(columns), y)
    assert [message.split()[1] for message in messages] == ["'time'", "'row'"]
    del columns["time"]
    messages = warned(OnlineClassifier(view=None).fit, pandas.DataFrame(columns), y)
    assert [message.split()[1] for message in messages] == ["'row'", "'income'"]


@pytest.mark.parametrize("rows", [load_breast_cancer, load_digits, load_wine])
def test_sets_of_scikit_learn_do_not_warn(rows):
    assert not warned(OnlineClassifier(shuffle=True, random_state=0, view=None).fit, *rows(return_X_y=True))


@pytest.mark.long("seven data sets")
@pytest.mark.parametrize("name", ["a9a", "spambase", "letter", "shuttle", "enron1", "avazu", "yeast"])
def test_real_data_do_not_warn(name):
    X, y, _, _ = load(name)
    assert not warned(OnlineClassifier(view=None).fit, X, y)


def test_text_does_not_warn():
    X = random_array((ROWS, 5_000), density=0.01, random_state=0, format="csr")
    assert not warned(OnlineClassifier().fit, csr_matrix(X), random.integers(0, 2, ROWS))
    one_word = csr_matrix((np.ones(ROWS), (np.arange(ROWS), random.integers(0, 5, ROWS))), shape=(ROWS, 5))
    assert not warned(OnlineClassifier().fit, one_word, random.integers(0, 2, ROWS))
    empty = csr_matrix((ROWS, 5))
    assert not warned(OnlineClassifier().fit, empty, random.integers(0, 2, ROWS))


def test_invalid_values_remain_the_error(recwarn):
    columns, y = table(x=np.where(COUNT == 3, np.nan, COUNT))
    with pytest.raises(ValueError, match="NaN"):
        OnlineClassifier().fit(np.column_stack(list(columns.values())), y)
    assert not recwarn.list


def test_streams_warn_once_and_of_ids_in_rows_that_are_not_scaled(tmp_path):
    file = tmp_path / "rows.csv"
    columns, y = table(row=COUNT)
    lines = zip(y, *columns.values(), strict=True)
    file.write_text("label,a,b,row\n" + "".join(f"{','.join(map(str, line))}\n" for line in lines))
    stream = open_stream(file, normalize="none", zeros=True)
    [message] = warned(OnlineClassifier(view="standard").fit_stream, stream)
    assert message.startswith("column 'row' has a different integer in each of the first 1,000 rows; if it is an id")
    stream = open_stream(file, normalize="none", drop="row")
    assert not warned(OnlineClassifier(view=None).fit_stream, stream)
