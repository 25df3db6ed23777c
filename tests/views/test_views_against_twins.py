"""Every view against its twin in plain Python, on random rows and real ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import _core
from confidently.data.memory.matrix import as_matrix
from confidently.views.bins import Bins
from confidently.views.categories import FIRST, PLACE, Categories
from confidently.views.columns import MISSING, PLAIN, ZERO, Columns
from confidently.views.cosines import DIRECTION, PHASE, Cosines
from confidently.views.pairs import Pairs
from confidently.views.ranks import Ranks
from confidently.views.standard import Standard
from confidently.views.table import VIEWS, make_view
from confidently.views.view import Labelled
from tests.twins import views as twins

KINDS = {"plain": PLAIN, "missing": MISSING, "zero": ZERO}
N, D, K = 60, 9, 3
PLAIN_NORM = {  # views without unit norm
    "standard of any norm": Standard(unit_norm=False),
    "ranks of any norm": Ranks(unit_norm=False),
    "bins of any norm": Bins(n=5, unit_norm=False),
    "pairs of any norm": Pairs(unit_norm=False),
    "cosines of any norm": Cosines(n=20, scale=1e-9, unit_norm=False),
}


def random_rows(generator, kinds):
    """Rows as dicts: large shifts and scales, repeated values, absent columns, stored zeros, empty rows."""
    rows = []
    for i in range(N):
        row = {}
        for j, kind in kinds.items():
            if generator.random() < 0.3 or i % 17 == 5:
                continue
            value = (
                float(generator.choice([1.0, 2.3, 7.1]))
                if j % 3 == 0
                else generator.normal() * 10.0 ** (j - 2) + 1e4 * (j % 2)
            )
            row[j] = 0.0 if i % 11 == j else 1.0 if kind == "plain" else value
        rows.append(row)
    return rows


def matrix_of(rows):
    start = np.cumsum([0, *map(len, rows)])
    columns = [j for row in rows for j in sorted(row)]
    return as_matrix(csr_array(([row[j] for row in rows for j in sorted(row)], columns, start), shape=(len(rows), D)))


def as_dicts(seen, name_of=lambda j: j):
    parts = zip(seen.start[:-1], seen.start[1:], strict=True)
    return [{name_of(int(seen.columns[k])): float(seen.values[k]) for k in range(a, b)} for a, b in parts]


def close(found, expected, near=1e-9):
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert got.keys() == wanted.keys()
        assert [got[j] for j in wanted] == pytest.approx(list(wanted.values()), rel=near, abs=near)


def twin_of(view, kinds, arrays):
    if view.name == "unit":
        return twins.Unit()
    if view.name == "standard":
        return twins.Standard(kinds, view.unit_norm)
    if view.name == "center":
        return twins.Center(kinds)
    if view.name == "ranks":
        return twins.Ranks(kinds, view.unit_norm)
    if view.name == "bins":
        return twins.Bins(kinds, view.n, view.unit_norm)
    if view.name == "idf":
        return twins.Idf()
    if view.name == "nb":
        return twins.NaiveBayes(K)
    if view.name == "pairs":
        return twins.Pairs(unit_norm=view.unit_norm)
    if view.name == "first":
        return twins.First(view.n)
    if view.name == "categories":
        return twins.Categories(kinds)
    if view.name == "trees":
        return twins.Trees(kinds, K, view.first, view.rounds)
    assert view.name == "cosines", f"choose a twin of {view.name} here"
    return twins.Cosines(arrays[DIRECTION], arrays[PHASE], view.unit_norm)


def names_of(view, arrays):
    """What a column of the rows of a view is called in those of its twin."""
    if view.name == "bins":
        return bins_of(view, arrays["bins.kind"]).__getitem__
    if view.name == "categories":
        return categories_of(view, arrays).__getitem__
    if view.name != "pairs":
        return lambda j: j
    first, second = view.terms(arrays)

    def name(j):
        if j == len(first):
            return "unseen"
        return (int(first[j]),) if second[j] < 0 else (int(first[j]), int(second[j]))

    return name


def bins_of(view, kinds):
    """The columns of the rows of the view "bins", in their order."""
    found = []
    for j, kind in enumerate(kinds):
        found += [j] if kind == PLAIN else [(j, k) for k in range(view.n)]
        found += [(j, "missing")] if kind == MISSING else []
    return found


def categories_of(view, arrays, names=()):
    """The columns of the rows of the view "categories", in their order."""
    found = {int(place): j for j, place in enumerate(arrays["categories.place"]) if place >= 0}
    for j, c in enumerate(arrays["categories.category"]):
        for k in range(view.outputs) if c >= 0 else ():
            found[int(arrays["categories.first"][c]) + k] = names[j].partition("=")[0], k
    return found


def grown(view, kinds):
    columns = Columns(np.array([KINDS[kinds[j]] for j in range(D)], dtype=np.int8))
    return view.grown(view.new_arrays(K), columns, K)


@pytest.mark.long("a slow twin of each view")
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [list(KINDS), "zero", "missing"], ids=["any kind", "zero", "missing"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("batch", [1, 7, N])
@pytest.mark.parametrize("name", [*VIEWS, *PLAIN_NORM])
def test_rows_and_statistics_are_those_of_the_twin(name, batch, seed, kind):
    generator = np.random.default_rng(seed)
    kinds = dict(zip(range(D), generator.choice(np.atleast_1d(kind), size=D), strict=True))
    parameters = {"cosines": {"n": 20}, "first": {"n": 5}, "trees": {"first": 20, "rounds": 5}}.get(name, {})
    view = PLAIN_NORM[name] if name in PLAIN_NORM else make_view(name, **parameters)
    rows, arrays = random_rows(generator, kinds), grown(view, kinds)
    twin, labels = twin_of(view, kinds, arrays), generator.integers(0, K, N).astype(np.int32)
    weights = generator.choice([0.0, 1.0, 2.5], size=N)
    class_weight = np.array([1.0, 0.5, 2.0])
    order = generator.permutation(N)
    counted = weights * class_weight[labels] > 0.0
    X, found = matrix_of(rows), []
    for first in range(0, N, batch):
        chosen = order[first : first + batch]
        labelled = Labelled(X, chosen, 0, labels[chosen], None, weights[chosen], class_weight, K)
        arrays, seen = view.learn(arrays, labelled, _core.UndoLog())
        found += as_dicts(seen, names_of(view, arrays))
    expected = []
    for i in order:
        expected.append(twin.see(rows[i]))
        if counted[i]:
            twin.learn(rows[i], [int(labels[i])], weights[i] * class_weight[labels[i]])
    # rows of weight 0 are not trained on
    near = 0.02 if name == "trees" else 1e-9  # of splits that gain the same, its twin takes another one
    close(
        *([row for row, i in zip(all_rows, order, strict=True) if counted[i]] for all_rows in (found, expected)), near
    )
    # afterwards rows are only seen
    seen = as_dicts(view.see(arrays, X, 0, N), names_of(view, arrays))
    options = {"learning": False} if view.name == "pairs" else {}
    close(seen, [twin.see(row, **options) for row in rows], near)


def test_rows_of_several_labels_are_counted_in_with_each():
    view, twin = make_view("nb"), twins.NaiveBayes(K)
    rows = [{0: 1.0, 2: 3.0}, {2: 1.0}, {0: 2.0, 1: 1.0}]
    labels = [[0, 2], [], [1]]
    start = np.array([0, 2, 2, 3])
    X = matrix_of(rows)
    flat = np.array([k for row in labels for k in row], dtype=np.int32)
    arrays = grown(view, dict.fromkeys(range(D), "zero"))
    arrays, seen = view.learn(arrays, Labelled(X, None, 0, flat, start, None, None, K), _core.UndoLog())
    expected = []
    for row, its in zip(rows, labels, strict=True):
        expected.append(twin.see(row))
        twin.learn(row, its, 1.0)
    close(as_dicts(seen), expected)


@pytest.mark.long("a slow twin, row by row")
@pytest.mark.parametrize("batch", [1, 7, N])
@pytest.mark.parametrize(("outputs", "numbers"), [(0, False), (1, False), (3, False), (2, True)])
def test_categories_are_statistics_of_the_rows_before(outputs, numbers, batch):
    names = ["u", "a=x", "a=y", "v", "a=z", "b=x", "b=y", "word:x", "flag"]
    kinds = dict(enumerate("plain" if set(name) & set("=:") or name == "flag" else "missing" for name in names))
    generator = np.random.default_rng([outputs, batch])
    rows, labels = random_rows(generator, kinds), generator.integers(0, K, N).astype(np.int32)
    view = Categories(n=2, outputs=outputs)
    twin = twins.Categories(kinds, dict(enumerate(names)), 2, outputs, numbers)
    targets, weights = generator.normal(size=(N, 2)), generator.choice([0.0, 1.0, 2.5], size=N)
    columns = Columns(np.array([KINDS[kinds[j]] for j in range(D)], dtype=np.int8), names)
    X, found, expected, arrays = matrix_of(rows), [], [], view.grown(view.new_arrays(K), columns, K)
    for first in range(0, N, batch):
        part = slice(first, first + batch)
        of_part = Labelled(
            X, None, first, labels[part], None, weights[part], None, K, targets[part] if numbers else None
        )
        arrays, seen = view.learn(arrays, of_part, _core.UndoLog())
        found += as_dicts(seen, categories_of(view, arrays, names).__getitem__)
    for row, label, y, w in zip(rows, labels.tolist(), targets.tolist(), weights, strict=True):
        expected.append(twin.see(row))
        if w:
            twin.learn(row, y if numbers else [label], w)
    close(found, expected)
    close(
        as_dicts(view.see(arrays, X, 0, N), categories_of(view, arrays, names).__getitem__), list(map(twin.see, rows))
    )
    statistics = view.statistics(arrays)
    for j in range(D):
        for k in range(outputs):
            assert statistics[j, k] == pytest.approx(twin.statistic(j, k) if "=" in names[j] else 0.0, abs=1e-12)
    assert view.unpacked(arrays, D) is arrays
    with pytest.raises(ValueError, match="the columns of categories are not those of their values and statistics"):
        view.unpacked(arrays | ({FIRST: arrays[FIRST] + 1} if outputs else {PLACE: arrays[PLACE] + 1}), D)


@pytest.mark.parametrize("name", VIEWS)
def test_what_a_call_has_counted_in_can_be_undone(name):
    generator = np.random.default_rng(0)
    view = make_view(name)
    arrays = grown(view, dict.fromkeys(range(D), "zero"))
    X = matrix_of(random_rows(generator, dict.fromkeys(range(D), "zero")))
    labels = generator.integers(0, K, N).astype(np.int32)
    before = {key: array.copy() for key, array in arrays.items()}
    undo = _core.UndoLog()
    after, _ = view.learn(arrays, Labelled(X, None, 0, labels, None, None, None, K), undo)
    changed = any(not np.array_equal(after[key], before[key]) for key in before)
    assert changed == (name not in ("unit", "cosines", "first"))
    undo.roll_back()
    assert all(np.array_equal(arrays[key], before[key]) for key in before)


def test_a_chain_is_its_views_one_after_the_other():
    generator = np.random.default_rng(1)
    kinds = dict(zip(range(D), generator.choice(list(KINDS), size=D), strict=True))
    rows, labels = random_rows(generator, kinds), generator.integers(0, K, N).astype(np.int32)
    view = make_view("standard,pairs")
    arrays = grown(view, kinds)
    one, other, expected = twins.Standard(kinds), twins.Pairs(), []
    for row in rows:
        between = one.see(row)
        expected.append(other.see(between))
        one.learn(row, [0], 1.0)
        other.learn(between, [0], 1.0)
    found = []
    X = matrix_of(rows)
    for first in range(0, N, 25):
        part = labels[first : first + 25]
        arrays, seen = view.learn(arrays, Labelled(X, None, first, part, None, None, None, K), _core.UndoLog())
        found += as_dicts(seen, names_of(view.parts[1], arrays))
    close(found, expected)
    seen = as_dicts(view.see(arrays, X, 0, N), names_of(view.parts[1], arrays))
    close(seen, [other.see(one.see(row), learning=False) for row in rows])


def test_chosen_columns_are_paired():
    view = make_view("pairs", columns=[("age", "town"), ("word", "word")])
    names = ["age", "town=Rome", "town=Oslo", "word:a", "word:b", "other", "n^x", "b", "c"]
    group = {"age": {"town"}, "town": {"age"}, "word": {"word"}}
    column = [name.replace(":", "=").split("=")[0] for name in names]
    twin = twins.Pairs(lambda i, j: column[j] in group.get(column[i], ()))
    arrays = view.grown(view.new_arrays(2), Columns.alike(D, PLAIN, names), 2)
    rows = random_rows(np.random.default_rng(2), dict.fromkeys(range(D), "zero"))
    labels = np.zeros(N, dtype=np.int32)
    arrays, seen = view.learn(arrays, Labelled(matrix_of(rows), None, 0, labels, None, None, None, 2), _core.UndoLog())
    close(as_dicts(seen, names_of(view, arrays)), [twin.see(row) for row in rows])


def test_directions_do_not_depend_on_the_number_of_columns():
    view = make_view("cosines", n=7, seed=3)
    few = view.grown(view.new_arrays(2), Columns.alike(2), 2)
    more = view.grown(few, Columns.alike(3), 2)
    at_once = view.grown(view.new_arrays(2), Columns.alike(5), 2)
    assert all(np.array_equal(more[key], at_once[key]) for key in at_once)
    assert np.array_equal(few[DIRECTION], more[DIRECTION][:2])
    assert not np.array_equal(few[PHASE], make_view("cosines", n=7, seed=4).new_arrays(2)[PHASE])


def test_products_of_cosines_approximate_the_gaussian_kernel():
    view = make_view("cosines", n=20_000, scale=2.0)
    generator = np.random.default_rng(5)
    X = generator.normal(size=(6, D))
    arrays = view.grown(view.new_arrays(2), Columns.alike(D), 2)
    seen = view.see(arrays, as_matrix(X), 0, len(X))
    rows = seen.values.reshape(len(X), -1)[:, np.argsort(seen.columns[:20_000])]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    squared = ((unit[:, None] - unit[None]) ** 2).sum(axis=2)
    assert np.allclose(rows @ rows.T, np.exp(-squared), atol=0.03)  # exp(-scale squared/2)


def test_rows_may_not_become_longer_than_the_limit():
    """However gradually columns come: those that are 0 where they are absent are counted together."""
    view = make_view("standard")
    state = view.grown(view.new_arrays(K), Columns.alike(6000, ZERO), K)
    state = view.grown(state, Columns.alike(5000, MISSING), K)  # which stay absent
    state = view.grown(state, Columns.alike(4000, ZERO), K)
    assert view.n_known(state) == 15_000
    with pytest.raises(ValueError, match="all 10,001 columns of a row would differ from 0, at most 10,000"):
        view.grown(state, Columns.alike(1, ZERO), K)
    assert view.n_known(view.grown(state, Columns.alike(1, PLAIN), K)) == 15_001
    centered = make_view("center")
    state = centered.grown(centered.new_arrays(K), Columns.alike(6000, MISSING), K)
    state = centered.grown(state, Columns.alike(4000, ZERO), K)
    with pytest.raises(ValueError, match="at most 10,000 columns, got 10,001"):
        centered.grown(state, Columns.alike(1, ZERO), K)
