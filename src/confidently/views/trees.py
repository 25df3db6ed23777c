"""Scores of boosted trees that were grown on the rows before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import _core
from ..rules.parametric import parameter
from ..rules.ranges import Range, check_integer
from .columns import MISSING, ZERO, Columns
from .forest import LARGEST, LEAF, Forest, boosted
from .graph import Graph
from .room import appended, joined
from .view import COUNTED, KIND, NUMBER, REAL, Arrays, Labelled, Placed, SeenRows, Shapes, View, column_kinds

(KINDS, ROWS, TARGET, WEIGHT, COUNTS, SCALE) = (
    f"trees.{name}" for name in ("kind", "rows", "target", "weight", "counts", "scale")
)
NODES = tuple(f"trees.{name}" for name in Forest._fields)
# Counts: rows that are kept, rows since trees grew, and how many these were grown on; whether rows have label sets.
HELD, SINCE, GROWN, LISTS = range(4)
MAX_COLUMNS = 1024
MAX_VALUES = 2**24  # of rows that are kept
MIN_MORE, QUARTER, OFTEN = 20, 0.25, 2000  # rows, part of the rows and rows until which trees grow often
MAX_PARTS = 8  # of a merged model whose trees are kept
MAX_ROUNDS = 10_000
FINITE = Range(-LARGEST, LARGEST, closed_low=True, closed_high=True)


class Trees(View):
    """Boosted trees grown on the rows so far, whose scores are the columns: for boxes of several columns.

    After 100 rows, with every quarter more and from 2,000 rows on with twice as many, trees are grown on the rows
    before. Between two growths, the scores of a row are fixed functions of it: of two classes the logarithm of the odds
    of the second, of more one score of each, of label sets the logarithms of the odds of each label, and of numbers to
    predict what the trees predict, standardized by the first rows. So every row is seen by trees that have not seen it,
    and the Gaussian over the scores learns how far they can be trusted. In later passes they would know the labels;
    train in one.

    Growth is histogram-based gradient boosting with Newton steps. With g_i and h_i the first and second derivatives of
    the log-loss (of numbers, half the squared error) by the score of row i, and G and H their sums in a node, a leaf
    adds -.1 G/(H + 1) to the score, and the split of the node is made that gains most::

        G_l^2/(H_l + 1) + G_r^2/(H_r + 1) - G^2/(H + 1)

    over up to 255 quantiles of each column, eight rows or more apart, first where the gain is largest, until the tree
    has 31 leaves. A leaf has at least 20 rows. Rows that lack a value go to the side where this gains more.

    With a shuffled ``fit``, trees grow once more at the end, on all rows, and these are kept no longer. A model that
    has been trained with ``partial_fit`` has the rows of its ``window``, in memory and in its file: 4 bytes per value.

    Words and categories are columns of zeros and ones. Absent values of numeric columns of tables are missing.

    Parameters
    ----------
    rounds : int, default=100
        Number of trees, of each class where there are more than two.
    first : int, default=100
        Number of rows after which trees grow for the first time.
    window : int, optional
        Number of last rows on which trees grow. By default all, up to 16 million values.
    every : int, optional
        Number of rows after which they grow again at the latest. By default only when the rows have doubled.

    References
    ----------
    Friedman (Annals of Statistics 29, 2001). Ke et al. (NeurIPS 2017): histograms.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently import OnlineClassifier, Trees
    >>> X = np.random.default_rng(0).uniform(-1, 1, (6000, 3))
    >>> y = (X > 0).sum(axis=1) % 2  # a checkerboard in three dimensions
    >>> model = OnlineClassifier("logistic", view=Trees()).fit(X[:4000], y[:4000])
    >>> bool(model.score(X[4000:], y[4000:]) > 0.95)
    True
    """

    name = "trees"
    formula = "the scores of boosted trees that were grown on the rows before"
    keeps_columns = False
    takes_values = True
    sees_labels = True
    comes_first = True
    comes_last = True
    mixes_columns = True
    has_scale = True

    rounds: int = parameter(Range(1, MAX_ROUNDS, closed_low=True, closed_high=True), "number of trees", default=100)
    first: int = parameter(Range(20, 2**31, closed_low=True), "rows after which trees grow first", default=100)
    window: int | None = parameter(
        Range(20, 2**31, closed_low=True), "last rows on which trees grow; by default all", default=None
    )
    every: int | None = parameter(
        Range(20, 2**31, closed_low=True), "rows after which trees grow again at the latest", default=None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rounds", "first", "window", "every"):
            if (value := getattr(self, name)) is not None:
                check_integer("Trees", name, value, 1)

    # --- the arrays -----------------------------------------------------------------------------------------------

    def new_arrays(self, n_classes: int) -> Arrays:
        rows = {
            KINDS: np.zeros(0, KIND), ROWS: np.zeros((0, 0), "float32"), TARGET: np.zeros((0, 1)),
            WEIGHT: np.zeros(0), COUNTS: np.zeros(4), SCALE: np.zeros((0, 2)),
        }  # fmt: skip
        return rows | _named(Forest.none(n_classes, 0))

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        arrays = self.arrays(state)
        if len(new):
            arrays[KINDS] = joined(state[KINDS], new.kind)
            width = min(len(arrays[KINDS]), MAX_COLUMNS)
            added = arrays[KINDS][len(state[ROWS].T) : width]
            if len(added):
                absent = np.where(added == MISSING, np.nan, 0.0).astype(np.float32)
                arrays[ROWS] = np.concatenate([state[ROWS], np.tile(absent, (len(state[ROWS]), 1))], axis=1)
                arrays["trees.gain"] = appended(state["trees.gain"], len(added))
        if (more := n_classes - len(state["trees.base"])) > 0:
            arrays["trees.base"] = appended(state["trees.base"], more)
            arrays[COUNTS] = state[COUNTS] * [1.0, 0.0, 0.0, 1.0]  # so that they grow soon
        return arrays

    def n_known(self, state: Arrays) -> int:
        return len(state[KINDS])

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        return f"trees {column}"

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        found, gain = np.zeros(self.n_known(state)), state["trees.gain"]
        found[: len(gain)] = sizes.max(initial=0.0) * gain / (gain.sum() or 1.0)
        return found

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return len(state["trees.base"])

    def _room(self, state: Arrays) -> int:
        """Return how many rows are kept at most."""
        most: int = MAX_VALUES // max(state[ROWS].shape[1], 1)
        return most if self.window is None else min(self.window, most)

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        arrays = self.arrays(state) | self._kept(state)
        arrays[ROWS] = np.nan_to_num(arrays[ROWS], nan=-LARGEST)
        return arrays

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        nodes = len(packed["trees.column"])
        column, right, root = (packed[f"trees.{name}"] for name in ("column", "right", "root"))
        inner = np.flatnonzero(column >= 0)
        last = np.append(root[1:], nodes) if len(root) else root
        if (right[inner] <= inner + 1).any() or (right >= nodes).any() or (len(root) and root[0] != 0):
            raise ValueError("the nodes of trees do not follow each other")
        if (np.diff(root) <= 0).any() or (nodes and not len(root)) or (column[last - 1] >= 0).any():
            raise ValueError("the trees do not follow each other")
        tree = np.searchsorted(root, inner, side="right") - 1
        if (right[inner] >= last[tree]).any():
            raise ValueError("a node of a tree leads to another tree")
        if packed[COUNTS][HELD] != len(packed[WEIGHT]):
            raise ValueError("the rows that trees grow on do not fit their number")
        target, scale, outputs = packed[TARGET], packed[SCALE], len(packed["trees.base"])
        classes = 2 if packed[COUNTS][LISTS] else outputs if target.shape[1] == 1 < outputs else None
        if classes is not None and not np.isin(target, np.arange(classes)).all():
            raise ValueError("the rows that trees grow on have other classes")
        if len(scale) not in (0, target.shape[1]) or (scale[:, 1] <= 0.0).any():
            raise ValueError("the scale of the numbers that trees predict does not fit")
        arrays = self.arrays(packed)
        arrays[ROWS] = np.where(packed[ROWS] == -LARGEST, np.float32(np.nan), packed[ROWS])
        return arrays

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        nodes, trees, rows = len(packed["trees.column"]), len(packed["trees.root"]), len(packed[WEIGHT])
        width = min(n_features, MAX_COLUMNS)
        targets = packed[TARGET].shape[1]
        if not 1 <= targets <= max(n_classes, 1):
            raise ValueError(f"{TARGET} does not match the numbers to predict")
        return {
            KINDS: ((n_features,), KIND), ROWS: ((rows, width), "float32"), TARGET: ((rows, targets), REAL),
            WEIGHT: ((rows,), REAL), COUNTS: ((4,), REAL), SCALE: ((len(packed[SCALE]), 2), REAL),
            "trees.column": ((nodes,), NUMBER), "trees.threshold": ((nodes,), "float32"),
            "trees.value": ((nodes,), "float32"),
            "trees.right": ((nodes,), NUMBER), "trees.missing_left": ((nodes,), KIND),
            "trees.root": ((trees,), NUMBER), "trees.output": ((trees,), NUMBER), "trees.base": ((n_classes,), REAL),
            "trees.gain": ((width,), REAL),
        }  # fmt: skip

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        nodes, outputs, width = len(packed["trees.column"]), len(packed["trees.base"]), len(packed["trees.gain"])
        yield KINDS, packed[KINDS], Range(0, ZERO, closed_low=True, closed_high=True)
        yield WEIGHT, packed[WEIGHT], COUNTED
        yield COUNTS, packed[COUNTS], COUNTED
        yield "trees.column", packed["trees.column"], Range(LEAF, width, closed_low=True)
        yield "trees.right", packed["trees.right"], Range(0, max(nodes, 1), closed_low=True)
        yield "trees.root", packed["trees.root"], Range(0, max(nodes, 1), closed_low=True)
        yield "trees.output", packed["trees.output"], Range(0, outputs, closed_low=True)
        yield "trees.missing_left", packed["trees.missing_left"], Range(0, 1, closed_low=True, closed_high=True)
        yield "trees.gain", packed["trees.gain"], COUNTED
        yield "trees.base", packed["trees.base"], FINITE

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        kind = column_kinds([*parts, base], KINDS, n_features)
        width = min(n_features, MAX_COLUMNS)
        own = [_placed(part, width, n_classes, kind) for part in parts]
        rows = dict[str, np.ndarray]()
        for name in (ROWS, TARGET, WEIGHT):  # those of the base count once
            known = len(base.arrays[name])
            gained = [part[name] if k == 0 else part[name][known:] for k, part in enumerate(own)]
            rows[name] = np.concatenate(gained)
        grown = sorted((part for part in own if part[COUNTS][GROWN]), key=lambda part: -part[COUNTS][GROWN])
        start = _placed(base, width, n_classes, kind)
        since = [part for part in grown if not _are_equal(part, start)]  # the others know nothing else than the base
        forests = _different([(_forest_of(part), float(part[COUNTS][GROWN])) for part in since or grown])[:MAX_PARTS]
        counts = np.max([part[COUNTS] for part in own], axis=0)
        counts[HELD] = len(rows[WEIGHT])
        scale = next((part[SCALE] for part in grown), np.zeros((0, 2)))
        forest = Forest.none(n_classes, width)
        if forests:
            total = sum(weight for _, weight in forests)
            forest = Forest.added([own for own, _ in forests], [weight / total for _, weight in forests])
        found = {KINDS: kind, SCALE: scale} | self._kept(rows | {COUNTS: counts}) | _named(forest)
        return {name: found[name] for name in self.new_arrays(0)}

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        return part.classes

    # --- rows -----------------------------------------------------------------------------------------------------

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        arrays, found, done = self.arrays(state), list[SeenRows](), 0
        counted = np.flatnonzero(_weights(rows) > 0.0)
        while True:
            left = max(self._rows_left(arrays), 1)
            before = int(np.searchsorted(counted, done))
            last = int(counted[before + left - 1]) + 1 if before + left <= len(counted) else rows.n
            arrays = self._with_room(arrays, rows, last - done)
            part, labels, label_start = slice(done, last), rows.labels[done:last], None
            if rows.label_start is not None:
                label_start = rows.label_start[done : last + 1] - rows.label_start[done]
                labels = rows.labels[rows.label_start[done] : rows.label_start[last]]
            seen = _core.see_and_learn(
                self.name, True, arrays, rows.X, None if rows.order is None else rows.order[part],
                rows.first if rows.order is not None else rows.first + done, labels, label_start,
                None if rows.weight is None else rows.weight[part], rows.class_weight, rows.n_classes, None,
                None if rows.targets is None else rows.targets[part],
            )  # fmt: skip
            found.append(SeenRows(*seen))
            done = last
            if self._rows_left(arrays) <= 0:
                arrays = self._regrown(arrays, rows.targets is not None)
            if done == rows.n:
                return arrays, SeenRows.joined(found)

    @property
    def pauses(self) -> bool:
        return True

    def learns_row(self, state: Arrays) -> bool:
        held, _, grown, lists = state[COUNTS].tolist()
        return bool(grown and not lists and held < len(state[WEIGHT]) and self._rows_left(state) > 1)

    def settled(self, state: Arrays, regression: bool) -> Arrays:
        arrays = self.arrays(state)
        if not arrays[COUNTS][HELD]:
            return {}
        if arrays[COUNTS][GROWN] and arrays[COUNTS][SINCE]:
            arrays = self._regrown(arrays, regression)
        arrays[COUNTS] = arrays[COUNTS] * [0.0, 0.0, 1.0, 1.0]
        return arrays | {name: arrays[name][:0].copy() for name in (ROWS, TARGET, WEIGHT)}

    def _rows_left(self, arrays: Arrays) -> int:
        """Return after how many more rows trees grow."""
        _, since, grown, _ = arrays[COUNTS].tolist()
        if not grown:
            return int(self.first - since)
        due = max(grown * min(max(QUARTER, grown / OFTEN), 1.0), MIN_MORE)
        return int((due if self.every is None else min(due, self.every)) - since)

    def _kept(self, state: Arrays) -> Arrays:
        """Return the arrays of the rows on which trees grow next, as far as they are there."""
        held = int(state[COUNTS][HELD])
        first = max(held - self._room(state), 0)
        counts = state[COUNTS].copy()
        counts[HELD] = held - first
        return {name: state[name][first:held] for name in (ROWS, TARGET, WEIGHT)} | {COUNTS: counts}

    def _with_room(self, arrays: Arrays, rows: Labelled, more: int) -> Arrays:
        """Return arrays that may be written to behind the rows that are kept, with room for more of them."""
        arrays = arrays | {COUNTS: arrays[COUNTS].copy()}
        width = rows.n_classes if rows.label_start is not None else 1
        if rows.targets is not None:
            width = rows.targets.shape[1]
        elif rows.label_start is not None:
            arrays[COUNTS][LISTS] = 1.0
        if (wider := width - arrays[TARGET].shape[1]) > 0:  # no row has had the new labels
            arrays[TARGET] = np.pad(arrays[TARGET], ((0, 0), (0, wider)))
        held, capacity = int(arrays[COUNTS][HELD]), len(arrays[WEIGHT])
        if held + more <= capacity:
            return arrays
        kept = self._kept(arrays)
        held = int(kept[COUNTS][HELD])
        size = held + max(more, held)
        for name in (ROWS, TARGET, WEIGHT):
            new = np.zeros((size, *kept[name].shape[1:]), kept[name].dtype)
            new[:held] = kept[name]
            arrays[name] = new
        return arrays | {COUNTS: kept[COUNTS]}

    def _regrown(self, arrays: Arrays, regression: bool) -> Arrays:
        """Return the arrays with trees that are grown on the rows kept."""
        kept = self._kept(arrays)
        counts = arrays[COUNTS].copy()
        counts[SINCE] = 0.0
        X, target, weight = (kept[name] for name in (ROWS, TARGET, WEIGHT))
        kind = "numbers" if regression else "labels" if counts[LISTS] else "classes"
        if regression:
            scale = arrays[SCALE]
            if not len(scale):
                scale = np.stack([target.mean(axis=0), target.std(axis=0)], axis=1)
                scale[scale[:, 1] == 0.0, 1] = 1.0
            target = (target - scale[:, 0]) / scale[:, 1]
            arrays = arrays | {SCALE: scale}
        forest = boosted(kind, X, target, weight, len(arrays["trees.base"]), self.rounds)
        if forest is None:
            return arrays | {COUNTS: counts}
        counts[GROWN] = len(X)
        return arrays | {COUNTS: counts} | _named(forest)

    def divided(self, state: Arrays, X: _core.Matrix) -> np.ndarray:
        kind = state[KINDS][: state[ROWS].shape[1]]
        row = np.where(kind == MISSING, np.nan, 0.0)
        values, columns, _ = _core.take_rows(X, None, 0, 1)
        seen = columns < len(row)
        row[columns[seen]] = values[seen]
        return _forest_of(state).divided(row.astype(np.float32))

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        return _forest_of(state).exported(graph, x)


def _named(forest: Forest) -> Arrays:
    return dict(zip(NODES, forest, strict=True))


def _forest_of(arrays: Arrays) -> Forest:
    return Forest(*(arrays[name] for name in NODES))


def _are_equal(part: Arrays, other: Arrays) -> bool:
    """Return whether two models have the same trees."""
    return all(np.array_equal(part[name], other[name]) for name in ("trees.column", "trees.value"))


def _different(forests: list[tuple[Forest, float]]) -> list[tuple[Forest, float]]:
    """Return forests and their weights, those that are equal once."""
    found = dict[bytes, tuple[Forest, float]]()
    for forest, weight in forests:
        key = forest.column.tobytes() + forest.value.tobytes()
        found[key] = forest, weight + (found[key][1] if key in found else 0.0)
    return list(found.values())


def _weights(rows: Labelled) -> np.ndarray:
    weight: np.ndarray = np.ones(rows.n) if rows.weight is None else rows.weight
    return weight if rows.class_weight is None else weight * rows.class_weight[rows.labels]


def _placed(part: Placed, width: int, n_classes: int, kind: np.ndarray) -> Arrays:
    """Return the arrays of a part with the numbers that columns and classes have in the merged model."""
    own, found = part.arrays, dict(part.arrays)
    features = part.features[: own[ROWS].shape[1]]
    inside = features < width
    column = own["trees.column"]
    rows = np.tile(np.where(kind[:width] == MISSING, -LARGEST, 0.0).astype(np.float32), (len(own[WEIGHT]), 1))
    rows[:, features[inside]] = own[ROWS][:, inside]
    found[ROWS] = rows
    found["trees.column"] = np.where(column >= 0, features[column], LEAF).astype(NUMBER)
    found["trees.output"] = part.classes[own["trees.output"]].astype(NUMBER)
    found["trees.base"], found["trees.gain"] = np.zeros(n_classes), np.zeros(width)
    found["trees.base"][part.classes] = own["trees.base"]
    found["trees.gain"][features[inside]] = own["trees.gain"][inside]
    if (found["trees.column"] >= width).any():  # beyond the columns that are looked at
        found |= _named(Forest.none(n_classes, width)) | {COUNTS: own[COUNTS] * [1.0, 1.0, 0.0, 1.0]}
    if own[COUNTS][LISTS]:
        found[TARGET] = np.zeros((len(own[WEIGHT]), n_classes))
        found[TARGET][:, part.classes[: own[TARGET].shape[1]]] = own[TARGET]
    elif len(own[SCALE]) == 0 and own[TARGET].shape[1] == 1 and len(part.classes) > 1:
        found[TARGET] = part.classes[own[TARGET].astype(np.int64)].astype(REAL)
    return found
