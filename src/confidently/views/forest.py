"""Boosted trees as arrays of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from .. import _core
from .graph import Graph
from .view import NUMBER

LARGEST = float(np.finfo(np.float32).max)
MAX_SCORE = 30.0  # as in core/views/trees.hpp
LEAF = -1  # instead of a column
NEW_CLASS = 2.0  # by how much the score of a class without rows is below the least


class Forest(NamedTuple):
    """Trees whose leaves add up to scores. Nodes come in an order in which the left child follows its parent.

    Attributes
    ----------
    column : int32 array
        By node: the column that it compares; -1: it is a leaf.
    threshold : float32 array
        Rows whose value is at most this go to the left; 0 of a leaf.
    value : float32 array
        What a leaf adds; of other nodes, what they would add as leaves.
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
    value: np.ndarray
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
        return cls(whole, real, real, whole, np.zeros(0, "int8"), whole, whole, np.zeros(outputs), np.zeros(width))

    @classmethod
    def added(cls, parts: Sequence[Self], shares: Sequence[float] | None = None) -> Self:
        """Return the sum of forests with the same scores and columns, each times its share."""
        shares = [1.0] * len(parts) if shares is None else shares
        first = np.cumsum([0, *(len(forest.column) for forest in parts)]).tolist()
        found: dict[str, list[np.ndarray]] = {name: [] for name in cls._fields}
        for forest, share, start in zip(parts, shares, first, strict=False):
            right = np.where(forest.column == LEAF, 0, forest.right + start).astype(NUMBER)
            moved = {"right": right, "root": (forest.root + start).astype(NUMBER)}
            moved["value"] = (share * forest.value).astype(np.float32)
            moved |= {name: share * getattr(forest, name) for name in ("base", "gain")}
            for name, array in (forest._asdict() | moved).items():
                found[name].append(array)
        sums = {name: np.sum(found.pop(name), axis=0) for name in ("base", "gain")}
        return cls(**{name: np.concatenate(arrays) for name, arrays in found.items()}, **sums)

    def divided(self, x: np.ndarray) -> np.ndarray:
        """Return what each column of a row adds to each score, shape (scores, columns).

        On its way through a tree, a column that is compared adds the difference between the nodes before and after
        (Saabas 2014). The sum over the columns, the base and the first nodes are the score, which has a limit.
        """
        found = np.zeros((len(self.base), len(x)))
        node, tree, scores = self.root.copy(), np.arange(len(self.root)), self.base.copy()
        np.add.at(scores, self.output, self.value[node])
        while len(tree):
            inner = self.column[node] != LEAF
            node, tree = node[inner], tree[inner]
            column = self.column[node]
            own = x[column]
            left = np.where(np.isnan(own), self.missing_left[node] != 0, own <= self.threshold[node])
            after = np.where(left, node + 1, self.right[node])
            np.add.at(found, (self.output[tree], column), self.value[after] - self.value[node])
            node = after
        scores += found.sum(axis=1)
        found *= (MAX_SCORE / np.maximum(np.abs(scores), MAX_SCORE))[:, None]
        return found

    def exported(self, graph: Graph, x: str) -> str:
        """Add the scores of dense rows to a graph, and return their name."""
        n = len(self.base)
        if not len(self.root):
            one = graph.add("Gather", x, graph.constant([0], np.int64), axis=1)
            return graph.add("MatMul", one, graph.constant(np.zeros((1, n))))
        tree = np.searchsorted(self.root, np.arange(len(self.column)), side="right") - 1
        number = np.arange(len(self.column)) - self.root[tree]
        leaf = self.column == LEAF
        inner = ~leaf
        scores = graph.add(
            "TreeEnsembleRegressor", graph.cast(x, np.float32), domain="ai.onnx.ml", n_targets=n,
            base_values=self.base.astype(np.float32).tolist(), aggregate_function="SUM", post_transform="NONE",
            nodes_treeids=tree.tolist(), nodes_nodeids=number.tolist(),
            nodes_featureids=np.where(inner, self.column, 0).tolist(),
            nodes_modes=np.where(inner, "BRANCH_LEQ", "LEAF").tolist(),
            nodes_values=np.where(inner, self.threshold, 0.0).tolist(),
            nodes_truenodeids=np.where(inner, number + 1, 0).tolist(),
            nodes_falsenodeids=np.where(inner, self.right - self.root[tree], 0).tolist(),
            nodes_missing_value_tracks_true=self.missing_left.tolist(),
            target_treeids=tree[leaf].tolist(), target_nodeids=number[leaf].tolist(),
            target_ids=self.output[tree[leaf]].tolist(), target_weights=self.value[leaf].tolist(),
        )  # fmt: skip
        limits = (graph.constant(limit, np.float32) for limit in (-MAX_SCORE, MAX_SCORE))
        return graph.cast(graph.add("Clip", scores, *limits))


def boosted(
    kind: str, X: np.ndarray, targets: np.ndarray, weight: np.ndarray, outputs: int, rounds: int
) -> Forest | None:
    """Return trees grown on rows, or ``None`` if these do not differ in their class or labels.

    Parameters
    ----------
    kind : {"classes", "labels", "numbers"}
        What is predicted. The score of the second of two classes is the logarithm of its odds, and the first one has
        none; of several classes, the softmax of the scores are their probabilities; of labels, the scores are the
        logarithms of the odds.
    X : float32 array of shape (n, columns)
        NaN: a missing value.
    targets : array of shape (n, k)
        The class (k = 1), whether the row has each label, or the numbers.
    weight : array of shape (n,)
    outputs : int
        Number of scores.
    rounds : int
        Number of trees of each score.
    """
    forest = Forest(*_core.grow_trees(X, np.ascontiguousarray(targets), weight, kind, outputs, rounds))
    if not len(forest.root):
        return None
    if kind == "classes":
        present = np.unique(targets).astype(np.int64)
        absent = np.setdiff1d(np.arange(outputs), present)
        if len(present) > 2 or outputs > 2:
            forest.base[absent] = forest.base.min() - NEW_CLASS
    return forest
