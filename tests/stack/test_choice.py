"""Which members the first rows choose, with all their settings, at the limits of rows, columns, values and classes.

``python -m tests.stack.test_choice`` writes the table of members again, after a change that is meant.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.stack.choice import MANY_CLASSES, choose, choose_for_labels, look
from confidently.stack.number_choice import choose_numbers
from confidently.views.columns import MISSING, ZERO, Columns

FILE = Path(__file__).parents[1] / "tables" / "members.txt"


def table(columns: int, rows: int = 300, zeros: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(columns)
    return np.where(generator.random((rows, columns)) < zeros, 0.0, generator.normal(size=(rows, columns)))


def words(scaled: bool = False, counts: bool = False, columns: int = 3000) -> csr_array:
    generator = np.random.default_rng(0)
    X = (generator.random((400, columns)) < 30 / columns).astype(float)
    X *= generator.integers(1, 4, X.shape) if counts else 1.0
    return csr_array(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9) if scaled else X)


def embeddings(columns: int, scale: float = 1.0, rows: int = 100) -> np.ndarray:
    X = table(columns, rows) * np.where(np.arange(columns) < columns // 10, scale, 1.0)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def mixed(numbers: int, categories: int, values: int, names: int = 0) -> tuple[np.ndarray, Columns]:
    """Numbers, one-hot categories, and words of a text."""
    generator = np.random.default_rng(0)
    parts, called = [table(numbers, 1000)], [f"n{k}" for k in range(numbers)]
    for k in range(categories):
        parts.append(np.eye(values)[generator.integers(0, values, 1000)])
        called += [f"c{k}=v{v}" for v in range(values)]
    parts.append((generator.random((1000, names)) < 0.02) * 1.0)
    called += [f"text:w{v}" for v in range(names)]
    return np.hstack(parts), Columns.named(called)


def positive(n: int) -> np.ndarray:
    return np.exp(2.0 * np.random.default_rng(0).normal(size=(n, 1)))


CASES: dict[str, Callable[[], tuple[Callable[..., Any], Any, Columns, int, dict[str, Any]]]] = {}


def case(name: str, X: Callable[[], Any], n: int = 2, how: Callable[..., Any] = choose, kind: int = ZERO, **more: Any):
    def given():
        rows = X()
        rows, columns = rows if isinstance(rows, tuple) else (rows, Columns.alike(rows.shape[1], kind))
        return how, rows, columns, n, more

    CASES[name] = given


for width, height in ((128, 300), (129, 300), (20, 999), (20, 1000), (21, 1000), (129, 1000)):
    case(f"{width} columns of {height} rows", lambda width=width, height=height: table(width, height))
for zeros in (0.4, 0.6):
    case(f"300 columns, {zeros} zeros", lambda zeros=zeros: table(300, 300, zeros))
for classes in (2, MANY_CLASSES, MANY_CLASSES + 1):
    case(f"words, {classes} classes", words, classes)
    case(f"a table, {classes} classes", lambda: table(12), classes)
case("words of unit norm", lambda: words(scaled=True))
case("counts of words", lambda: words(counts=True))
case("few words", lambda: words(columns=120))
case("few words of unit norm", lambda: words(scaled=True, columns=120))
case("single precision", lambda: table(12), dtype="float32")
case("missing values", lambda: table(150, zeros=0.5), kind=MISSING)
for width, scale in ((63, 1.0), (64, 1.0), (384, 1.0), (384, 30.0)):
    case(f"embeddings of {width} columns, scale {scale}", lambda width=width, scale=scale: embeddings(width, scale))
case("numbers and categories", lambda: mixed(5, 3, 50))
case("numbers and many categories", lambda: mixed(5, 9, 16), 3)
case("numbers, categories and text", lambda: mixed(5, 2, 4, 400))
for d in (12, 33, 34, 150):
    case(f"numbers to predict from {d} columns", lambda d=d: table(d), 1, choose_numbers)
case("prices", lambda: table(12), 1, choose_numbers, targets=positive(300))
case("many prices", lambda: table(12, 1000), 1, choose_numbers, targets=positive(1000))
case("numbers to predict from words", words, 1, choose_numbers)
case("numbers to predict from categories", lambda: mixed(5, 3, 50), 1, choose_numbers)
for n in (3, MANY_CLASSES + 1):
    case(f"{n} labels of a table", lambda: table(12), n, choose_for_labels)
    case(f"{n} labels of words", words, n, choose_for_labels)
case("labels of wide tables", lambda: table(150), 3, choose_for_labels)


def described(plan: Any, n_classes: int, n_features: int, columns: Columns) -> str:
    member = plan.make(n_classes, n_features, columns)
    if not isinstance(member, Learner):
        return f"{plan.name}: {type(member).__name__}"
    kind = "".join(f" {name}" for name in ("rest", "log") if getattr(plan, name))
    of = member.settings
    more = "".join([f" forget {of.forget:g}"] * (of.forget > 0) + [f" {of.dtype}"] * (of.dtype != "float64"))
    return f"{plan.name}:{kind} {of.rule} {of.covariance} {of.task} {of.prior_variance:g}{more} of {member.view}"


def members_of(name: str) -> list[str]:
    how, X, columns, n, more = CASES[name]()
    found = how(as_matrix(X), columns, n, **more)
    return [described(one, n, X.shape[1], columns) for one in found]


def written() -> dict[str, list[str]]:
    blocks = FILE.read_text().strip().split("\n\n")
    return {lines[0]: lines[1:] for lines in (block.split("\n") for block in blocks)}


@pytest.mark.parametrize("name", CASES)
def test_members_are_those_of_the_table(name):
    assert members_of(name) == written()[name]


def test_the_table_has_no_other_cases():
    assert list(written()) == list(CASES)


def test_zeros_that_are_stored_are_no_values():
    X = csr_array((np.random.default_rng(0).random((1200, 300)) < 0.02).astype(float))
    with_zeros = csr_array((X.data.copy(), X.indices, X.indptr), shape=X.shape)
    with_zeros.data[::3] = 0.0
    without = with_zeros.copy()
    without.eliminate_zeros()
    assert with_zeros.nnz > without.nnz
    columns = Columns.alike(300, ZERO)
    assert look(as_matrix(with_zeros), columns) == look(as_matrix(without), columns)


if __name__ == "__main__":
    FILE.write_text("\n\n".join("\n".join([name, *members_of(name)]) for name in CASES) + "\n")
