"""Trees grown by gradient boosting, as arrays of nodes; scikit-learn grows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .view import NUMBER, REAL

LARGEST = float(np.finfo(np.float32).max)
RIDGE = 1.0  # on the values of leaves: those of rare classes would explode without
LEAF = -1  # instead of a column
MAX_BINS = 255  # of a column
NEW_CLASS = 2.0  # by how much the score of a class without rows is below the least


class Forest(NamedTuple):
    """Trees whose leaves add up to scores. Nodes come in an order in which the left child follows its parent.

    Attributes
    ----------
    column : int32 array
        By node: the column that it compares; -1: it is a leaf.
    threshold : float32 array
        Rows whose value is at most this go to the left. Of a leaf, what it adds.
    right : int32 array
        The right child, which comes behind all nodes of the left one; 0 of a leaf.
    missing_left : int8 array
        1 where rows that lack the value go to the left.
    root, output : int32 arrays
        By tree: its first node; the score to which it adds.
    base : float64 array
        By score: what the trees are added to.
    gain : float64 array
        By column: by how much all its splits have reduced the loss.
    """

    column: np.ndarray
    threshold: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    root: np.ndarray
    output: np.ndarray
    base: np.ndarray
    gain: np.ndarray

    @classmethod
    def none(cls, outputs: int, width: int) -> Self:
        """Return no trees, for so many scores and columns."""
        whole, real = np.zeros(0, NUMBER), np.zeros(0, "float32")
        return cls(whole, real, whole, np.zeros(0, "int8"), whole, whole, np.zeros(outputs), np.zeros(width))

    @classmethod
    def added(cls, parts: Sequence[Self], shares: Sequence[float] | None = None) -> Self:
        """Return the sum of forests with the same scores and columns, each times its share."""
        shares = [1.0] * len(parts) if shares is None else shares
        first = np.cumsum([0, *(len(forest.column) for forest in parts)]).tolist()
        found: dict[str, list[np.ndarray]] = {name: [] for name in cls._fields}
        for forest, share, start in zip(parts, shares, first, strict=False):
            leaf = forest.column == LEAF
            threshold = np.where(leaf, share * forest.threshold, forest.threshold).astype(np.float32)
            right = np.where(leaf, 0, forest.right + start).astype(NUMBER)
            moved = {"threshold": threshold, "right": right, "root": (forest.root + start).astype(NUMBER)}
            moved |= {name: share * getattr(forest, name) for name in ("base", "gain")}
            for name, array in (forest._asdict() | moved).items():
                found[name].append(array)
        sums = {name: np.sum(found.pop(name), axis=0) for name in ("base", "gain")}
        return cls(**{name: np.concatenate(arrays) for name, arrays in found.items()}, **sums)


def grown_of_classes(
    X: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int, rounds: int
) -> Forest | None:
    """Return trees that tell the classes of rows, or ``None`` if there is one class only.

    The score of the second of two classes is the logarithm of its odds, and the first one has none; of several
    classes, the softmax of the scores are their probabilities.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # imported here, since it takes half a second

    present = np.unique(labels).astype(int)
    if len(present) < 2:
        return None
    grown = _fitted(HistGradientBoostingClassifier, X, labels, weight, rounds)
    own = present[1:] if len(present) == 2 else present
    forest = _forest(grown, own, n_classes, X.shape[1])
    if n_classes > len(present):
        absent = np.setdiff1d(np.arange(n_classes), present)
        forest.base[absent] = forest.base.min() - NEW_CLASS
    return forest


def grown_of_labels(X: np.ndarray, has: np.ndarray, weight: np.ndarray, n_labels: int, rounds: int) -> Forest | None:
    """Return trees whose scores are the logarithms of the odds that rows have labels; ``has`` has a column of each."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # as above

    known = [k for k, own in enumerate(has.T) if own.min() < own.max()]
    if not known:
        return None
    grown = (_fitted(HistGradientBoostingClassifier, X, has[:, k], weight, rounds) for k in known)
    return Forest.added(
        [_forest(model, np.array([k]), n_labels, X.shape[1]) for k, model in zip(known, grown, strict=True)]
    )


def grown_of_numbers(X: np.ndarray, targets: np.ndarray, weight: np.ndarray, rounds: int) -> Forest:
    """Return trees that predict the numbers of rows, shape (n, numbers)."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # as above

    n = targets.shape[1]
    grown = (_fitted(HistGradientBoostingRegressor, X, own, weight, rounds) for own in targets.T)
    return Forest.added([_forest(model, np.array([k]), n, X.shape[1]) for k, model in enumerate(grown)])


def _fitted(kind: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray, rounds: int) -> Any:
    from threadpoolctl import threadpool_limits

    X = np.where(np.isnan(X).all(axis=0), np.float32(0.0), X)  # scikit-learn takes no column without values
    model = kind(max_iter=rounds, max_bins=_bins(X), early_stopping=False, random_state=0, l2_regularization=RIDGE)
    with threadpool_limits(1, user_api="openmp"):  # sums of several threads have other last digits
        return model.fit(X, y, None if (weight == weight[0]).all() else weight)


def _bins(X: np.ndarray) -> int:
    """Return how many bins a column needs: the time to grow is that of all bins, whatever columns are like."""
    most = 2
    for column in X.T:
        most = max(most, len(np.unique(column)))
        if most >= MAX_BINS:
            return MAX_BINS
    return most


def _forest(model: Any, outputs: np.ndarray, n_outputs: int, width: int) -> Forest:
    """Return the trees of a fitted model of scikit-learn, which keeps them where it promises nothing."""
    trees = [(tree.nodes, k) for of_round in model._predictors for k, tree in zip(outputs, of_round, strict=True)]
    nodes = np.concatenate([own for own, _ in trees])
    sizes = np.array([len(own) for own, _ in trees])
    root = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    first = np.repeat(root, sizes)
    is_leaf = nodes["is_leaf"].astype(bool)
    if (nodes["left"] != np.arange(len(nodes)) - first + 1)[~is_leaf].any():
        raise RuntimeError("this version of scikit-learn has its nodes in another order; report it to confidently")
    threshold = np.clip(nodes["num_threshold"], -LARGEST, LARGEST)
    low = threshold.astype(np.float32)
    low = np.where(low > threshold, np.nextafter(low, np.float32(-LARGEST)), low)  # the same rows are below
    base = np.zeros(n_outputs)
    base[outputs] = np.ravel(model._baseline_prediction)
    column = np.where(is_leaf, LEAF, nodes["feature_idx"]).astype(NUMBER)
    gain = np.bincount(column[~is_leaf], np.maximum(nodes["gain"][~is_leaf], 0.0), width)
    return Forest(
        column=column,
        threshold=np.where(is_leaf, nodes["value"], low).astype(np.float32),
        right=np.where(is_leaf, 0, nodes["right"] + first).astype(NUMBER),
        missing_left=np.where(is_leaf, 0, nodes["missing_go_to_left"]).astype(np.int8),
        root=root.astype(NUMBER),
        output=np.array([k for _, k in trees], NUMBER),
        base=base.astype(REAL),
        gain=gain.astype(REAL),
    )
