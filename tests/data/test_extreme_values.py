"""The smallest and the largest numbers in every format, through training, saving and loading; and hostile bytes."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from confidently import OnlineClassifier, load
from confidently.data import DataError, open_stream
from confidently.data.formats.table import TABLE
from tests.data.test_arrow_tables import WRITE

pa = pytest.importorskip("pyarrow")

# As written, and the number it is.
NUMBERS = {
    "1e-320": 1e-320, "-5e-324": -5e-324, "2.2250738585072011e-308": 2.2250738585072011e-308, "1e-160": 1e-160,
    "1e100": 1e100, "-1e100": -1e100, "-0.0": 0.0, "1e-400": 0.0, "1" * 60: float("1" * 60),
    "0." + "0" * 320 + "1": 1e-321, "0.1" + "0" * 1000 + "1": 0.1, "9" * 100 + "." + "9" * 400: 1e100,
    "123456789012345678901234567890e-25": 12345.678901234567890,
}  # fmt: skip
BEYOND = ["1e101", "-1e308", "1e309", "1" * 102, "1" * 400, "-1e99999999999999999999"]
LINES = {
    "rows.svm": ("", "{} 1:{}\n"), "rows.vw": ("", "{} |a x:{}\n"), "rows.jsonl": ("", '{{"label": "{}", "x": {}}}\n'),
    "rows.csv": ("label,x\n", "{},{}\n"), "rows.tsv": ("label\tx\n", "{}\t{}\n"),
}  # fmt: skip
FILES = [*LINES, *WRITE]


def write(folder, name, numbers):
    """Write one row per number, of two classes by turns."""
    file, labels = folder / name, [("a", "b")[k % 2] for k in range(len(numbers))]
    if name in LINES:
        header, row = LINES[name]
        file.write_text(
            header + "".join(row.format(label, number) for label, number in zip(labels, numbers, strict=True))
        )
    else:
        WRITE[name](pa.table({"label": labels, "x": [float(number) for number in numbers]}), file)
    return file


@pytest.mark.parametrize("name", FILES)
def test_the_numbers_are_those_written(tmp_path, name):
    file = write(tmp_path, name, NUMBERS)
    for chunk_bytes in (1, 1 << 20):
        batches = list(open_stream(file, normalize="none", chunk_bytes=chunk_bytes))
        found = [row[row != 0.0] for batch in batches for row in np.split(batch.values, batch.start[1:-1])]
        assert [row.tolist() for row in found] == [[x] if x else [] for x in NUMBERS.values()]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("number", BEYOND)
def test_numbers_above_the_bound_are_refused(tmp_path, name, number):
    if name in WRITE and not np.isfinite(float(number)):
        problem = "is not finite"
    else:
        problem = r"above 1e\+100 in size; rescale it"
    with pytest.raises(DataError, match=problem):
        list(open_stream(write(tmp_path, name, [number])))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("normalize", ["none", "l2"])
@pytest.mark.parametrize("rule", ["arow", "pa", "probit", "iellip"])
def test_models_of_extreme_values_can_be_loaded(tmp_path, name, rule, normalize):
    file = write(tmp_path, name, [*NUMBERS, *reversed(NUMBERS)] * 3)
    classifier = OnlineClassifier(rule=rule, view=None).fit_stream(open_stream(file, normalize=normalize))
    classifier.save(tmp_path / "model.cw")
    loaded = load(tmp_path / "model.cw")
    assert np.isfinite(loaded.coef_).all() and np.array_equal(loaded.coef_, classifier.coef_)
    for method in ("predict_proba", "decision_function"):
        answers = np.concatenate(list(loaded.predict_stream(file, method=method)))
        assert np.isfinite(answers).all() and len(answers) == 6 * len(NUMBERS)


PIECES = [
    "\0", "\r", "\n", "\r\n", "\ufeff", '"', '""', "'", "|", ":", ",", "\t", " ", "#", "{", "}", "[", "]", "\\",
    "\\u0000", "\u2028", "\x85", "1", "-", "1e999", "nan", "label", "x", "a" * 300, "-" * 50, "1" * 400, "[" * 200, "^",
]  # fmt: skip


@pytest.mark.long("reads each of 50 texts sixteen times")
@given(
    st.sampled_from([format.name for format in TABLE if format.example]), st.lists(st.sampled_from(PIECES), max_size=30)
)
@example("csv", ["label", ",", "x", "\n", "1", ",", '"', "x"])
@example("csv", ["label", ",", "x", "\r", "1", ",", "1", "\r"])
@example("tsv", ["\ufeff", "label", "\t", "x", "\n", "1", "\t", "\0"])
@example("jsonl", ["\ufeff", "{", "}"])
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")  # of a column y without a column label
def test_hostile_text_is_read_or_one_error(tmp_path_factory, name, pieces):
    """Before and behind two good rows; if errors are passed over, a good row before them is always read."""
    format = next(format for format in TABLE if format.name == name)
    good, text = format.example, "".join(pieces)
    file = tmp_path_factory.mktemp("hostile") / "rows"
    for whole in (text, text + good, good + text, good + text + "\n" + good):
        file.write_text(whole, encoding="utf-8", newline="")
        for chunk_bytes in (3, 1 << 20):
            try:
                with open_stream(file, format=name, chunk_bytes=chunk_bytes) as stream:
                    assert all(np.isfinite(batch.values).all() for batch in stream)
            except DataError as error:
                assert str(file) in str(error) and "\n" not in str(error)
            if whole.startswith(good):
                with open_stream(file, format=name, chunk_bytes=chunk_bytes, on_error="skip") as stream:
                    assert sum(map(len, stream)) >= 1
