"""Malformed arrays straight into the compiled core: each is a ValueError or TypeError, and nothing is read or written
beyond an array.

Every function that takes arrays has calls with sound arguments in ``CALLS``. Each of their arrays is spoiled in every
way of ``spoiled``; what is allowed nevertheless is listed with the call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.linalg import cython_blas

import confidently
from confidently import _core
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.rules import make_rule
from confidently.tasks import errors, intervals, moved_columns, novelty
from confidently.tasks.calibration import INITIAL_LABEL, INITIAL_SIGMOID, INITIAL_TEMPERATURE
from confidently.tasks.conformal import untrained
from confidently.tasks.targets import initial
from confidently.views.columns import ZERO, Columns
from confidently.views.table import VIEWS, make_view
from confidently.views.trees import Trees
from confidently.views.view import Labelled
from tests.tables.tasks import MULTILABEL

INDEXES = ("labels", "label_start", "class_start", "order", "columns", "start", "words", "entry", "list_start", "slots")
# and the arrays of a state that is learned
OUTPUTS = (
    "out", "log_loss", "logits", "weights_of_mira", "weights_of_update", "proportions", "mean_out", "variance_out",
    "squares_out",
)  # fmt: skip

HARMLESS = (  # in every call: space that is not used
    "state.weights: longer", "weights_of_mira: longer", "s: longer", "text: longer", "valid: longer",
    "list_valid: longer",
)  # fmt: skip
WAYS = ("another type", "shorter", "longer", "empty", "another dimension", "not contiguous")

BLAS = _core.Blas(cython_blas.__pyx_capi__)

Arrays = dict[str, np.ndarray]


class Call(NamedTuple):
    """A call with sound arrays; ``allowed``: what does no harm, as "array: way of spoiling"."""

    make: Callable[[], Arrays]
    run: Callable[[Arrays], Any]
    allowed: tuple[str, ...] = ()


def of_any_length(name: str, make: Callable[[], np.ndarray], run: Callable[[Any], Any]) -> Call:
    ways = tuple(f"{name}: {way}" for way in ("shorter", "longer", "empty"))
    return Call(lambda: {name: make()}, lambda a: run(a[name]), ways)


def i32(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


def i64(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


CSR = {"values": np.ones(3), "columns": i32(0, 2, 1), "start": i64(0, 2, 3)}  # two rows, three columns


def matrix(a: Arrays, n_columns: int = 3) -> _core.Matrix:
    return _core.csr(a["values"], a["columns"], a["start"], n_columns)


def checked_matrix(a: Arrays) -> None:
    if fault := matrix(a).fault(1e100):
        raise ValueError(fault)


def settings(task: str, covariance: str = "diag") -> Settings:
    rule, covariance = ("pa", "diag") if covariance == "identity" else ("arow", covariance)
    rule = "logistic" if task == "softmax" else rule
    return Settings(rule, covariance=covariance, task=task, fit_intercept=True)


def state_of(task: str, covariance: str = "diag", n_classes: int = 3) -> Arrays:
    learner = Learner(settings(task, covariance), 2 if task == "binary" else n_classes, 3)
    if covariance == "sparse":  # with room for more weights than it has
        learner.learn(_core.dense(np.eye(3)), i32(0, 1, 0))
        learner.state = learner.covariance.with_room(learner.state, 50)
    return {f"state.{name}": array for name, array in learner.state.items()}


def state_in(a: Arrays) -> Arrays:
    return {name.removeprefix("state."): array for name, array in a.items() if name.startswith("state.")}


def compiled(task: str, covariance: str = "diag") -> _core.Learner:
    return Learner(settings(task, covariance), 2 if task == "binary" else 3, 3).covariance.compiled()


OF_BLOCK = tuple(name for name in state_of("binary", "full") if name.startswith("state.block."))


def training_rows(a: Arrays, n: int = 2, calibrate: bool = True) -> _core.TrainingRows:
    return _core.TrainingRows(
        a["labels"], a.get("label_start"), a["weight"], a.get("class_weight"), a.get("order"), 0, n,
        a.get("class_start"), a.get("targets"), calibrate, a.get("log_loss"), a.get("logits"), a.get("evidence"),
        a.get("recorded"),
    )  # fmt: skip


def distinct(a: Arrays) -> None:
    if not _core.lists_are_distinct(a["sizes"], a["columns"], 2):
        raise ValueError("they are not")


def learn(task: str, covariance: str = "diag", checked: bool = True, pending: bool = False) -> Call:
    def make() -> Arrays:
        lists = task in MULTILABEL
        labels = {"labels": i32(1, 2, 0), "label_start": i64(0, 2, 3)} if lists else {"labels": i32(1, 0)}
        weights = {"weight": np.ones(2), "order": i64(1, 0), "log_loss": np.zeros(1)}
        if not lists:
            weights["logits"] = np.zeros((2, 1 if task == "binary" else 3))
            weights["class_weight"] = np.ones(2 if task == "binary" else 3)
            weights["recorded"] = np.zeros(2)
        if not lists and task != "binary":
            labels["labels"][0] = 2
        class_start = {} if task == "binary" else {"class_start": i64(0, 0, 1) if lists else i64(1)}
        return CSR | labels | weights | class_start | state_of(task, covariance)

    def run(a: Arrays) -> None:
        largest = 0.0 if checked else 1e100
        core = Learner(settings(task, covariance), 2 if task == "binary" else 3, 3).covariance
        core = core._pending if pending else core.compiled()
        fault = core.learn(state_in(a), matrix(a), training_rows(a), largest)
        if fault is not None:
            raise ValueError(fault)

    allowed = ["order: longer", *(["labels: longer"] if task in MULTILABEL else [])]
    allowed += [f"class_start: {way}" for way in ("shorter", "empty", "negative at 0")]  # classes exist earlier
    allowed += SPARE_LISTS if covariance == "sparse" else ()
    if covariance in ("full", "shared"):
        unread = OF_BLOCK if pending else ("state.pending", *OF_BLOCK)
        allowed += [f"{name}: {way}" for name in unread for way in WAYS]
    return Call(make, run, tuple(allowed))


def predict(method: str, task: str, columns: int, covariance: str = "diag") -> Call:
    def make() -> Arrays:
        out = {"out": i32(0, 0) if method == "best" else np.zeros(2 if method == "top_variances" else (2, columns))}
        scores = {"scores": np.zeros((2, columns))} if method in ("moderated", "top_variances") else {}
        return CSR | state_of(task, covariance) | out | scores

    def run(a: Arrays) -> None:
        scores = [a["scores"]] if "scores" in a else []
        getattr(compiled(task, covariance), method)(state_in(a), matrix(a), *scores, a["out"])

    return Call(make, run, SPARE_LISTS if covariance == "sparse" else ())


SPARE_LISTS = ("state.lists: longer",)  # as of features that are still to come


def products(task: str, sharing: str, columns: int, covariance: str = "full") -> Call:
    def make() -> Arrays:
        size = 2 * columns if sharing == "joint" else 2
        lists = task in MULTILABEL
        labels = {"labels": i32(1, 2, 0), "label_start": i64(0, 2, 3)} if lists else {"labels": i32(1, 0)}
        weights = {}
        if not lists:
            weights = {"class_weight": np.ones(max(columns, 2)), "logits": np.zeros((2, columns))}
        return (
            {"gram": np.tile(np.eye(size), (columns if sharing == "independent" else 1, 1, 1))}
            | {"scores": np.zeros((2, columns)), "norm": np.ones(2), "weight": np.ones(2), "log_loss": np.zeros(1)}
            | labels | weights | state_of(task, covariance)
        )  # fmt: skip

    def run(a: Arrays) -> None:
        core = _core.ProductLearner(
            settings(task).rule.compiled, _core.Task[task.replace("-", "_")], _core.Sharing[sharing], 1.0, 0.0
        )
        core.learn(state_in(a), a["gram"], a["scores"], a["norm"], training_rows(a))

    unused = ("state.weights", "state.covariance", "state.pending", "state.pending_rows", *OF_BLOCK)
    allowed = [f"{name}: {way}" for name in unused for way in WAYS]
    return Call(make, run, (*allowed, *(["labels: longer"] if task in MULTILABEL else [])))


def support(task: str, columns: int) -> Call:
    def make() -> Arrays:
        given = products(task, "joint", columns).make()
        del given["gram"]
        kernel = {"inverse": np.eye(2), "kernel": np.ones((2, 2)), "own": np.eye(2), "sides": i32([0, 1], [2, -1])}
        likely = {"plus": i32(2, 0), "minus": i32(1, 3), "solved": np.ones((2, 2)), "along": np.ones((2, 2 * columns))}
        return kernel | likely | given

    def run(a: Arrays) -> None:
        core = _core.ProductLearner(settings(task).rule.compiled, _core.Task[task], _core.Sharing.joint, 1.0, 0.0)
        core.learn_support(
            state_in(a), a["inverse"], a["kernel"], a["own"], a["sides"], a["plus"], a["minus"], a["solved"],
            a["along"], a["scores"], a["norm"], training_rows(a),
        )  # fmt: skip

    return Call(make, run, products(task, "joint", columns).allowed)


def naive_bayes(n_classes: int) -> Arrays:
    state = {"frequency": np.ones((3, n_classes)), "known": np.ones(1)}
    by_class = {name: np.ones(n_classes) for name in ("entries", "rows")}
    return CSR | {f"state.{name}": array for name, array in (state | by_class).items()}


def naive_bayes_learn(n_classes: int) -> Call:
    def make() -> Arrays:
        weights = {"weight": np.ones(2), "class_weight": np.ones(n_classes), "order": i64(1, 0)}
        logits = np.zeros((2, 1 if n_classes == 2 else n_classes))
        weights["state.calibration"] = np.ones(5 if n_classes == 2 else 2)
        return naive_bayes(n_classes) | weights | {"labels": i32(1, 0), "logits": logits}

    def run(a: Arrays) -> None:
        _core.naive_bayes_learn(state_in(a), matrix(a), training_rows(a))

    return Call(make, run, ("order: longer", "start: longer", "state.frequency: longer"))


def class_means(n_classes: int) -> Arrays:
    groups = n_classes + 1
    state = {"means": np.zeros((3, groups)), "directions": np.zeros((3, groups)), "precision": np.eye(3)}
    by_group = {name: np.ones(groups) for name in ("squares", "rows")}
    rarities = {"rarities": novelty.untrained()}
    return CSR | {f"state.{name}": array for name, array in (state | by_group | rarities).items()}


def class_means_learn(n_classes: int) -> Call:
    def make() -> Arrays:
        weights = {"weight": np.ones(2), "class_weight": np.ones(n_classes), "order": i64(1, 0)}
        logits = np.zeros((2, 1 if n_classes == 2 else n_classes))
        weights["state.calibration"] = np.ones(5 if n_classes == 2 else 2)
        return class_means(n_classes) | weights | {"labels": i32(1, 0), "logits": logits}

    def run(a: Arrays) -> None:
        _core.class_means_learn(state_in(a), matrix(a), training_rows(a))

    return Call(make, run, ("order: longer", "start: longer"))


def mixture() -> Call:
    def make() -> Arrays:
        arrays = {"weights_of_members": np.ones(2), "share": np.full(3, 1 / 3), "own": np.ones((3, 2))}
        arrays |= {"hessian": np.stack([np.eye(2)] * 3), "rows": np.zeros(1), "counters": i64(0, 0)}
        labels = {"labels": i32(1, 2), "weight": np.ones(2), "log_loss": np.zeros(1)}
        more = {"scores": np.zeros((2, 2, 3)), "conformal": untrained(3), "lasting": i64(0, 1), "recorded": np.zeros(2)}
        return arrays | labels | more

    def run(a: Arrays) -> None:
        _core.mixture_learn(
            a["weights_of_members"], a["share"], a["own"], a["hessian"], a["rows"], a["counters"], a["scores"],
            a["labels"], a["weight"], a["log_loss"], None, a["conformal"], a["lasting"], a["recorded"],
        )  # fmt: skip

    return Call(make, run, ("lasting: shorter", "lasting: longer", "lasting: empty"))


def label_mixtures() -> Call:
    def make() -> Arrays:
        arrays = {"weights_of_members": np.ones((3, 2)), "share": np.ones((3, 3)), "own": np.ones((3, 3, 2))}
        arrays |= {"hessian": np.zeros((3, 3, 2, 2)), "rows": np.zeros(3), "counts": np.zeros((3, 2))}
        examples = {"scores": np.zeros((2, 2, 3)), "labels": i32(0, 2), "start": i64(0, 1, 2)}
        counted = {"counters": i64(0, 0), "weight": np.ones(2), "log_loss": np.zeros(1), "conformal": untrained(3)}
        return arrays | examples | counted | {"recorded": np.zeros(2)}

    def run(a: Arrays) -> None:
        _core.label_mixtures_learn(
            a["weights_of_members"], a["share"], a["own"], a["hessian"], a["rows"], a["counts"], a["counters"],
            a["scores"], a["labels"], a["start"], a["weight"], a["log_loss"], a["conformal"], a["recorded"],
        )  # fmt: skip

    return Call(make, run)


def number_mixture() -> Call:
    def make() -> Arrays:
        arrays = {"weights_of_members": np.ones(2), "share": np.full(3, 1 / 3), "products": np.stack([np.eye(2)] * 3)}
        arrays |= {"rows": np.ones(4), "counters": i64(0), "calibration": np.array(initial(None))}
        examples = {"predictions": np.ones((2, 2, 2)), "targets": np.ones(2), "weight": np.ones(2)}
        return arrays | examples | {"mixed": np.zeros(2), "recorded": np.zeros(2)}

    def run(a: Arrays) -> None:
        _core.number_mixture_learn(
            a["weights_of_members"], a["share"], a["products"], a["rows"], a["calibration"], a["counters"], 1,
            a["predictions"], a["targets"], a["weight"], True, a["mixed"], None, None, None, None, a["recorded"],
        )  # fmt: skip

    return Call(make, run)


def entities(numbers: bool = False) -> _core.Entities:
    found = _core.Entities(np.array([0.5, 1.0]), 1, numbers, 100)
    found.add(2)
    return found


def hierarchy() -> _core.Hierarchy:
    found = _core.Hierarchy(100)
    found.add(2)
    return found


def hierarchy_state() -> Arrays:
    learned = hierarchy()
    learned.learn(i32(1, 0), matrix(CSR), None, np.ones(2), None, 0, 0)
    return {f"state.{name}": array for name, array in learned.state().items()}


def entities_learn(numbers: bool) -> Call:
    def make() -> Arrays:
        y = {"targets": np.ones(2)} if numbers else {"labels": i32(1, 0)}
        return CSR | {"slots": i32(1, 0), "offsets": np.zeros((2, 1)), "weight": np.ones(2)} | y

    def run(a: Arrays) -> None:
        entities(numbers).learn(a["slots"], matrix(a), a["offsets"], a.get("labels"), a.get("targets"), a["weight"], 0)

    return Call(make, run, ("start: longer",))


def entities_state() -> Arrays:
    found = entities()
    found.learn(i32(1, 0), matrix(CSR), np.zeros((2, 1)), i32(1, 0), None, None, 0)
    return {f"state.{name}": array.copy() for name, array in found.state().items()}


def topics(method: str) -> Call:
    core = _core.Topics(
        topics=2, tasks=1, nonparametric=False, digamma=False, gibbs=True, document_prior=0.5, word_prior=0.5,
        stick_prior=1.0, c=1.0, epsilon=1.0, prior_variance=1.0, step_size=1.0, inner=1, samples=1, burn_in=0, batch=2,
        seed=1,
    )  # fmt: skip

    def make() -> Arrays:
        state = {
            "state.words": np.ones((3, 1, 2)), "state.totals": np.full((1, 2), 3.0), "state.shift": np.zeros((1, 1, 2)),
            "state.precision": np.eye(2).reshape(1, 1, 2, 2),
        }  # fmt: skip
        rows = {"start": i64(0, 2, 3), "words": i32(0, 2, 1), "counts": i32(1, 2, 1)}
        if method == "infer":
            return state | rows | {"proportions": np.zeros((2, 1, 2))}
        return state | rows | {"signs": np.ones((2, 1, 1), np.int8), "weights": np.ones(2)}

    def run(a: Arrays) -> None:
        rows = a["start"], a["words"], a["counts"]
        if method == "infer":
            core.infer(state_in(a), 3, *rows, 1, 1, a["proportions"], 2)
        else:
            core.learn(state_in(a), 3, *rows, a["signs"], a["weights"], 0, 2)

    return Call(make, run, ("state.words: longer",))


def mira(a: Arrays) -> None:
    _core.mira_learn(
        a["values"], a["columns"], a["start"], a["labels"], a["order"], a["weights_of_mira"], intercept=True, gamma=1.0,
        C=1.0,
    )  # fmt: skip


def options(bits: int = -1, own_columns: bool = False) -> _core.ReaderOptions:
    return _core.ReaderOptions(
        largest=1e100, max_columns=100, labels=_core.LabelCount.any, skip_errors=False, l2=False, bits=bits, classes=[],
        n_kept=0, zeros=False, own_columns=own_columns,
    )  # fmt: skip


NGRAMS = _core.NgramOptions(characters=False, shortest=1, longest=1, binary=False)


def line_reader(own_columns: bool = False) -> _core.LineReader:
    return _core.line_reader(
        "vw", options(own_columns=own_columns), zero_based=False, ngrams=NGRAMS, label="", weight="", drop=[],
        category=[], text=[], keep=[], only=[], dates=[],
    )  # fmt: skip


def state_of_two_classes() -> Arrays:
    return state_of("binary")


def bind(a: Arrays) -> None:
    core = _core.DictLearner(-1, 100)
    core.bind(compiled("binary"), state_in(a), True, 1e100, True, {"yes": 1}, [])
    core.learn({"a": 1.0}, "yes", 1.0)


def restore(make: Callable[[], Any], *freeze: bool) -> Call:
    def names() -> Arrays:
        return {"keys": np.array([1, 2], np.uint32), "text": np.frombuffer(b"abc", np.uint8), "start": i64(0, 1, 3)}

    return Call(names, lambda a: make().restore(a["keys"], a["text"], a["start"], *freeze))


def feed(a: Arrays) -> None:
    reader = _core.ArrowReader(options(), NGRAMS)
    reader.describe([_core.ColumnUse("a", _core.Use.value, []), _core.ColumnUse("b", _core.Use.category, [])])
    numbers = _core.ArrowColumn(
        0, numbers=a["numbers"], valid=a["valid"], list_start=a["list_start"], list_valid=a["list_valid"]
    )
    strings = _core.ArrowColumn(1, text=a["text"], start=a["start"], entry=a["entry"])
    reader.feed(2, [numbers, strings])


def arrow_arrays() -> Arrays:
    return {
        "numbers": np.ones(8), "valid": np.full(1, 255, np.uint8), "list_start": i64(0, 3, 8),
        "list_valid": np.full(1, 255, np.uint8), "text": np.frombuffer(b"abc", np.uint8), "start": i64(0, 1, 3),
        "entry": i32(1, 0),
    }  # fmt: skip


def rows_out(run: Callable[[Arrays], Any], **more: np.ndarray) -> Call:
    def make() -> Arrays:
        return CSR | {"order": i64(1, 0)} | {name: array.copy() for name, array in more.items()}

    return Call(make, run, ("start: longer",))


def block_update() -> Arrays:
    return {
        "G": np.ones((2, 3)), "order": i64(1, 0), "columns": i64(0, 1), "lower": np.zeros((2, 2)),
        "mean": np.ones((1, 2)), "size": np.ones(2), "weights_of_update": np.zeros((3, 1)), "out": np.zeros((2, 3)),
    }  # fmt: skip


def update_block(a: Arrays) -> None:
    rows = (a["order"], a["columns"], a["lower"], a["mean"], a["size"])
    _core.update_block(BLAS, a["G"], *rows, a["weights_of_update"], a["out"], 0, 3)


def arrays_of_trees() -> Arrays:
    """Two trees, and room for two more rows."""
    view, generator = Trees(rounds=2, first=50), np.random.default_rng(0)
    arrays, X = view.grown(view.new_arrays(2), Columns.alike(3, ZERO), 2), as_matrix(generator.normal(size=(50, 3)))
    labels = generator.integers(0, 2, 50).astype(np.int32)
    for n in (25, 25, 1):
        arrays, _ = view.learn(arrays, Labelled(X, None, 0, labels[:n], None, None, None, 2), None)
    assert len(arrays["trees.column"]) > 2
    return {f"state.{key}": array for key, array in arrays.items()}


def view_arrays(name: str) -> Arrays:
    if name == "trees":
        return arrays_of_trees()
    view = make_view(name, **({"n": 4} if name == "cosines" else {}))
    columns = Columns.named(["a", "b=x", "b=y"]) if name == "categories" else Columns.alike(3, ZERO)
    arrays = view.grown(view.new_arrays(2), columns, 2)
    arrays, _ = view.learn(arrays, Labelled(matrix(CSR), None, 0, i32(1, 0), None, None, None, 2), _core.UndoLog())
    return {f"state.{key}": array for key, array in arrays.items()}


# features that the rows lack
COUNTS = ("idf.frequency", "nb.frequency", "pairs.group", "cosines.direction", "cosines.key", "first.place")
UNREAD = tuple(f"trees.{name}: {way}" for name in ("scale", "gain") for way in WAYS)
UNSEEN = (
    *(f"{name}: longer" for name in COUNTS), "cosines.direction: shorter", "cosines.direction: empty",
    "trees.kind: longer", "trees.base: longer", *UNREAD,
)  # fmt: skip
TERMS = ("first", "second", "size", "slots")


def see(name: str, allowed: tuple[str, ...] = ()) -> Call:
    return Call(
        lambda: CSR | view_arrays(name), lambda a: _core.see(name, True, state_in(a), matrix(a), 0, 2),
        ("start: longer", *(f"state.{one}" for one in (*UNSEEN, *allowed))),
    )  # fmt: skip


def see_and_learn(name: str, allowed: tuple[str, ...] = (), lists: bool = False) -> Call:
    def make() -> Arrays:
        labels = {"labels": i32(1, 0, 0), "label_start": i64(0, 2, 3)} if lists else {"labels": i32(1, 0)}
        factors = {} if lists else {"class_weight": np.ones(2)}
        return CSR | labels | factors | {"weight": np.ones(2), "order": i64(1, 0)} | view_arrays(name)

    def run(a: Arrays) -> None:
        _core.see_and_learn(
            name, True, state_in(a), matrix(a), a["order"], 0, a["labels"], a.get("label_start"), a["weight"],
            a.get("class_weight"), 2, None,
        )  # fmt: skip

    return Call(make, run, ("order: longer", "start: longer", *(f"state.{one}" for one in UNSEEN), *allowed))


def renew_knots(name: str) -> Call:
    return Call(lambda: view_arrays(name), lambda a: _core.renew_knots(name, state_in(a)))


def of_row(task: str, covariance: str, learns: bool = False, pending: bool = False) -> Call:
    """A call for one member, which sees standardized columns; a matrix of a covariance has pending rows."""

    def make() -> Arrays:
        row = {"values": np.ones(2), "columns": i32(0, 2), "start": i64(0, 2)}
        out = {"out": np.zeros((1, 1, 1 if task == "binary" else 3))}
        state = state_of(task, covariance) | view_arrays("standard")
        if covariance != "diag":
            state["state.pending_rows"] = i64(1)
        return row | state | out

    def run(a: Arrays) -> None:
        learner = Learner(settings(task, covariance), 2 if task == "binary" else 3, 3).covariance
        core = learner._pending if pending else learner.compiled() if covariance == "diag" else learner._scorer
        bound, row = _core.BoundMembers(1), matrix(a)
        bound.bind(0, [("standard", True, -1)], [0], [(core, state_in(a), True, 1e9, 2**62)])
        left = bound.learn(row, 1, 1.0, 2 if task == "binary" else 3, [0], None, a["out"]) if learns else None
        if bound.score(row, a["out"]) if left is None else left:
            raise ValueError("columns beyond the weights, or arrays that cannot be written to")

    unread = () if covariance == "diag" else OF_BLOCK
    return Call(make, run, ("start: decreasing", "out: longer", *(f"{name}: {way}" for name in unread for way in WAYS)))


def row_of_numbers() -> Call:
    learner = Learner(Settings("ridge", "full", "regression", fit_intercept=False), 1, 3)

    def make() -> Arrays:
        row = {"values": np.ones(2), "columns": i32(0, 2), "start": i64(0, 2)}
        state = {f"state.{name}": array.copy() for name, array in learner.state.items()}
        state["state.calibration"][:] = 0.0  # of which some are as large as numbers can be
        return row | state | {"targets": np.ones((2, 1)), "out": np.zeros((1, 1, 2))}

    def run(a: Arrays) -> None:
        bound = _core.BoundMembers(1)
        bound.bind(0, [], [0], [(learner.covariance.row_scorer(learner.state), state_in(a), True, 1e9, 2**62)])
        if bound.learn(matrix(a), 0, 1.0, 1, [0], a["targets"], a["out"]):
            raise ValueError("columns beyond the weights, or arrays that cannot be written to")

    unread = [name for name in OF_BLOCK if name != "state.block.counts"] + ["state.precision", "state.shift"]
    others = (f"{name}: {way}" for name in unread for way in WAYS)
    return Call(make, run, ("start: decreasing", "state.weights: not contiguous", *others))


def arms(run: Callable[..., Any], scores: bool = True) -> Call:
    """A call of the weights of arms: two features, of which the first one has met the arms 0 and 2 of three."""

    def make() -> Arrays:
        state = {
            "start": i64(0, 3), "size": i32(2, 0), "room": i32(3, 2), "arm": i32(0, 2, 0, 0, 0),
            "entries": np.ones((5, 2)),
        }  # fmt: skip
        row = {"columns": i32(0, 1), "numbers": np.ones(2)}
        out = {"out": np.zeros((2, 3))} if scores else {}
        return {f"state.{name}": array for name, array in state.items()} | row | out

    return Call(make, lambda a: run(a, a["columns"], a["numbers"]))


CALLS = {
    "dense": Call(
        lambda: {"x": np.ones((2, 3))}, lambda a: _core.dense(a["x"]), ("x: shorter", "x: longer", "x: empty")
    ),
    "best_arm": Call(
        lambda: {"mean": np.zeros((2, 3)), "deviation": np.ones((2, 3)), "out": np.zeros((2, 3))},
        lambda a: _core.best_arm(a["mean"], a["deviation"], a["out"]),
    ),
    "json_probabilities": Call(
        lambda: {"ends": np.array([4, 8]), "probabilities": np.array([0.25, 0.75])},
        lambda a: _core.json_probabilities(b'"a":"b":', a["ends"], a["probabilities"]),
    ),
    "arm_scores": arms(lambda a, *row: _core.arm_scores(state_in(a), 1.0, 1e-12, *row, a["out"])),
    "arm_score": arms(lambda a, *row: _core.arm_score(state_in(a), 1.0, 1e-12, *row, 1), scores=False),
    "arm_update": arms(
        lambda a, *row: _core.arm_update(state_in(a), 1.0, 1e-12, *row, 1, 0.5, 1.0, True), scores=False
    ),
    "dense_arm_scores": Call(
        lambda: {
            "state.mean": np.zeros((2, 3)), "state.covariance": np.ones((2, 1, 1)) * np.eye(3), "columns": i32(0, 2),
            "values": np.ones(2), "arms": i32(0, -1, 1), "out": np.zeros((2, 3)),
        },
        lambda a: _core.dense_arm_scores(
            state_in(a), 1.0, a["columns"], a["values"], a["arms"], a["out"]
        ),
    ),
    "learn_dense_arms": Call(
        lambda: {
            "state.mean": np.zeros((2, 3)), "state.covariance": np.ones((2, 1, 1)) * np.eye(3), "rows": np.ones((2, 3)),
            "arms": i32(0, 1), "rewards": np.ones(2),
        },
        lambda a: _core.learn_dense_arms(
            make_rule("ridge").compiled, state_in(a), 1.0, 1e-12, a["rows"], a["arms"], a["rewards"]
        ),
    ),
    "csr": Call(lambda: dict(CSR), checked_matrix, ("start: shorter", "start: longer")),
    "count_numbers": of_any_length("numbers", lambda: np.array([3.0, 1.0, -999.0]), lambda a: _core.count_numbers(a)),
    "distinct_numbers": of_any_length("numbers", lambda: i64(3, 1, 3), lambda a: _core.distinct_numbers(a)),
    "LabelOrder.add": of_any_length("labels", lambda: i32(0, 1, 1), lambda a: _core.LabelOrder().add(a)),
    "least_positive": of_any_length("numbers", lambda: np.array([0.0, 2.0, 1.0]), lambda a: _core.least_positive(a)),
    "are_within": Call(
        lambda: {"labels": i32(0, 1, 1)}, lambda a: _core.are_within(a["labels"], 2),
        (
            "labels: shorter", "labels: longer", "labels: empty",
            *(f"labels: {way} at {place}" for way in ("negative", "above all") for place in (0, 2)),
        ),
    ),
    "Learner.learn": learn("binary"),
    "Learner.learn joint": learn("joint"),
    "Learner.learn one-vs-rest": learn("one-vs-rest"),
    "Learner.learn softmax": learn("softmax"),
    "Learner.learn softmax full": learn("softmax", "full"),
    "Learner.learn softmax shared": learn("softmax", "shared"),
    "Learner.learn multilabel": learn("multilabel"),
    "Learner.learn multilabel-one-vs-rest": learn("multilabel-one-vs-rest"),
    "Learner.learn full": learn("joint", "full"),
    "Learner.learn shared": learn("joint", "shared"),
    "Learner.learn full pending": learn("binary", "full", pending=True),
    "Learner.learn shared pending": learn("joint", "shared", pending=True),
    "Learner.learn one-vs-rest pending": learn("one-vs-rest", "full", pending=True),
    "Learner.learn sparse": learn("joint", "sparse"),
    "Learner.learn identity": learn("binary", "identity"),
    "Learner.learn unchecked": learn("binary", checked=False),
    "binary_probabilities": Call(
        lambda: {"scores": np.array([1.0, -1.0]), "calibration": np.array(INITIAL_SIGMOID), "out": np.zeros((2, 2))},
        lambda a: _core.binary_probabilities(a["scores"], a["calibration"], a["out"]),
    ),
    "conformal_begin": Call(
        lambda: {"conformal": untrained(3)}, lambda a: _core.conformal_begin(a["conformal"], 3)
    ),
    "conformal_begin_intervals": Call(
        lambda: {"conformal": intervals.untrained(1)}, lambda a: _core.conformal_begin_intervals(a["conformal"])
    ),
    "group_errors_begin": Call(
        lambda: {"errors": errors.untrained(2)}, lambda a: _core.group_errors_begin(a["errors"], 2)
    ),
    "group_errors_learn": Call(
        lambda: {"state": errors.untrained(2), "errors": np.zeros((3, 2))},
        lambda a: _core.group_errors_learn(a["state"], a["errors"]),
        ("errors: shorter", "errors: longer", "errors: empty"),
    ),
    "conformal_learn": Call(
        lambda: {"conformal": untrained(3), "scores": np.zeros(2), "labels": i32(0, 2)},
        lambda a: _core.conformal_learn(a["conformal"], 3, a["scores"], a["labels"]),
    ),
    "conformal_gather_rare": Call(
        lambda: {"conformal": untrained(3)}, lambda a: _core.conformal_gather_rare(a["conformal"], 3)
    ),
    "conformal_learn_late": Call(
        lambda: {
            "conformal": untrained(3), "scores": np.full((2, 3), 0.5), "labels": i32(0, 2), "weight": np.ones(2),
        },
        lambda a: _core.conformal_learn_late(a["conformal"], a["scores"], a["labels"], None, a["weight"]),
    ),
    "conformal_learn_late of labels": Call(
        lambda: {
            "conformal": untrained(3), "scores": np.full((2, 3), 0.5), "labels": i32(0, 2), "start": i64(0, 0, 2),
        },
        lambda a: _core.conformal_learn_late(a["conformal"], a["scores"], a["labels"], a["start"], None),
        ("labels: longer",),
    ),
    "conformal_p_values": Call(
        lambda: {"conformal": untrained(3), "scores": np.full((2, 3), 0.5), "out": np.zeros((2, 3))},
        lambda a: _core.conformal_p_values(a["conformal"], a["scores"], True, 30.0, True, a["out"]),
    ),
    "conformal_conformity": Call(
        lambda: {"conformal": untrained(3), "probabilities": np.full(2, 0.5), "out": np.zeros(2)},
        lambda a: _core.conformal_conformity(a["conformal"], 3, a["probabilities"], a["out"]),
    ),
    "calibration_learn": Call(
        lambda: {
            "calibration": np.array(INITIAL_TEMPERATURE), "scores": np.zeros((2, 3)), "labels": i32(0, 2),
            "weight": np.ones(2),
        },
        lambda a: _core.calibration_learn(a["calibration"], a["scores"], a["labels"], a["weight"]),
    ),
    "moved_columns_begin": Call(
        lambda: {"state": np.zeros(moved_columns.SIZE)},
        lambda a: _core.moved_columns_begin(a["state"]),
    ),
    "moved_columns_learn": Call(
        lambda: {
            "state": moved_columns.MovedColumns.begun().state, "by_column": np.zeros((moved_columns.PER_COLUMN, 3)),
            "first": np.zeros((moved_columns.FIRST_ROWS, 3)), "order": i64(0, 1),
        },
        lambda a: _core.moved_columns_learn(a["state"], a["by_column"], a["first"], as_matrix(np.eye(2)), a["order"]),
        ("order: shorter", "order: longer", "order: empty"),
    ),
    "margin_variances_learn": Call(
        lambda: {"counts": novelty.untrained(), "variances": np.ones(2)},
        lambda a: _core.margin_variances_learn(a["counts"], a["variances"]),
        ("variances: longer", "variances: shorter", "variances: empty"),
    ),
    "margin_variances_p_values": Call(
        lambda: {"counts": novelty.untrained(), "variances": np.ones(2), "out": np.zeros(2)},
        lambda a: _core.margin_variances_p_values(a["counts"], a["variances"], a["out"]),
    ),
    "class_probabilities": Call(
        lambda: {"scores": np.zeros((2, 3)), "calibration": np.array(INITIAL_TEMPERATURE), "out": np.zeros((2, 3))},
        lambda a: _core.class_probabilities(a["scores"], a["calibration"], a["out"]),
    ),
    "label_probabilities": Call(
        lambda: {"scores": np.zeros((2, 3)), "calibration": np.array(INITIAL_LABEL * 3), "out": np.zeros((2, 3))},
        lambda a: _core.label_probabilities(a["scores"], a["calibration"], a["out"]),
    ),
    "Learner.moderated": predict("moderated", "binary", 1),
    "Learner.moderated joint": predict("moderated", "joint", 3),
    "Learner.best": predict("best", "joint", 3, "sparse"),
    "Learner.scores": predict("scores", "binary", 1),
    "Learner.scores sparse": predict("scores", "joint", 3, "sparse"),
    "Learner.scores joint": predict("scores", "joint", 3),
    "Learner.variances": predict("variances", "multilabel", 4),
    "Learner.top_variances": predict("top_variances", "joint", 3),
    "Learner.top_variances one-vs-rest": predict("top_variances", "one-vs-rest", 3),
    "mira_learn": Call(
        lambda: CSR | {"labels": i32(1, 0), "order": i64(1, 0), "weights_of_mira": np.zeros((4, 2))}, mira,
        ("order: longer", "order: shorter", "order: empty"),
    ),
    "ProductLearner.learn": products("binary", "joint", 1),
    "ProductLearner.learn joint": products("joint", "joint", 3),
    "ProductLearner.learn shared": products("joint", "shared", 3, "shared"),
    "ProductLearner.learn one-vs-rest": products("one-vs-rest", "independent", 3),
    "ProductLearner.learn softmax": products("softmax", "independent", 3),
    "ProductLearner.learn softmax shared": products("softmax", "shared", 3, "shared"),
    "ProductLearner.learn multilabel": products("multilabel", "joint", 4),
    "ProductLearner.learn multilabel-one-vs-rest": products("multilabel-one-vs-rest", "independent", 3),
    "ProductLearner.learn_support": support("joint", 3),
    "ProductLearner.learn_support multilabel": support("multilabel", 4),
    "take_rows": rows_out(lambda a: _core.take_rows(matrix(a), a["order"], 0, 2)),
    "fill_rows": rows_out(lambda a: _core.fill_rows(matrix(a), a["order"], 0, True, a["out"]), out=np.zeros((2, 4))),
    "wider_row": Call(
        lambda: CSR | {"order": i64(1, 0)}, lambda a: _core.wider_row(matrix(a), a["order"], 0, 2, 1),
        ("order: longer", "start: longer"),
    ),
    "row_squares": of_any_length("rows", lambda: np.ones((2, 3)), lambda a: _core.row_squares(a)),
    "multiply_sparse_rows": Call(
        lambda: {"rows": np.eye(2, 40), "s": np.ones((40, 3)), "out": np.zeros((2, 3))},
        lambda a: _core.multiply_sparse_rows(a["rows"], a["s"], a["out"]),
    ),
    "add_gram": Call(
        lambda: {"out": np.eye(3), "rows": np.ones((2, 3))},
        lambda a: _core.add_gram(BLAS, a["out"], a["rows"], -1.0, 0, 3),
        ("rows: shorter", "rows: longer", "rows: empty"),
    ),
    "add_product": Call(
        lambda: {"out": np.eye(3), "left": np.ones((2, 3)), "right": np.ones((2, 3))},
        lambda a: _core.add_product(BLAS, a["out"], a["left"], a["right"], 0, 3),
    ),
    "update_block": Call(block_update, update_block, ("G: longer",)),
    "strings_with": Call(
        lambda: {"text": np.frombuffer(b"a=c", np.uint8), "start": i64(0, 1, 3)},
        lambda a: _core.strings_with(a["text"], a["start"], "="), ("start: shorter", "start: longer"),
    ),
    "column_counts": Call(
        lambda: {"columns": i32(0, 1, 1)}, lambda a: _core.column_counts(a["columns"], 2),
        ("columns: shorter", "columns: longer", "columns: empty"),
    ),
    "split_column": Call(
        lambda: {"weights": np.ones((3, 2, 1)), "prior": np.ones((1, 2, 1)), "out": np.zeros((3, 2, 2))},
        lambda a: _core.split_column(a["weights"], a["prior"], 0.5, True, a["out"]),
    ),
    "lists_are_distinct": Call(lambda: {"sizes": i64(1, 2), "columns": i32(0, 0, 1)}, distinct),
    "copy_lists": Call(
        lambda: {"numbers": np.ones(3), "from": i64(0, 1), "to": i64(3, 0), "sizes": i64(1, 2), "out": np.zeros(4)},
        lambda a: _core.copy_lists(a["numbers"], a["from"], a["to"], a["sizes"], a["out"]),
        ("numbers: longer", "out: longer"),
    ),
    "moved_rows": Call(
        lambda: {"weights": np.ones((3, 2, 1)), "prior": np.zeros((1, 2, 1))},
        lambda a: _core.moved_rows(a["weights"], a["prior"]), ("weights: shorter", "weights: longer", "weights: empty"),
    ),
    "copy_rows": Call(
        lambda: {"weights": np.ones((3, 2, 1)), "order": i64(2, 0), "out": np.zeros((2, 2, 1))},
        lambda a: _core.copy_rows(a["weights"], a["order"], a["out"]), ("weights: longer",),
    ),
    "ascend": of_any_length("numbers", lambda: i64(0, 2), lambda a: _core.ascend(a)),
    "come_announced": Call(
        lambda: {"labels": i32(0, 1), "start": i64(0, 1, 2)},
        lambda a: _core.come_announced(a["labels"], a["start"], [1], 2),
        (
            "labels: longer", "start: shorter", "start: longer",
            *(f"labels: {way} at {place}" for way in ("negative", "above all") for place in (0, 1)),
        ),
    ),
    "rows_of_known": Call(
        lambda: {"values": np.ones(3), "columns": i32(0, 1, 2), "start": i64(0, 2, 3), "model": i64(0, 2)},
        lambda a: _core.rows_of_known(a["values"], a["columns"], a["start"], 2, a["model"]),
        (  # columns of any number may be unknown
            *(f"columns: {way} at {place}" for way in ("negative", "above all") for place in (0, 2)),
            "start: shorter", "start: longer",
        ),
    ),
    "name_keys": Call(
        lambda: {"text": np.frombuffer(b"abc", np.uint8), "start": i64(0, 1, 3)},
        lambda a: _core.name_keys(a["text"], a["start"]), ("start: shorter", "start: longer", "start: empty"),
    ),
    "take_strings": Call(
        lambda: {"text": np.frombuffer(b"abc", np.uint8), "start": i64(0, 1, 3), "which": i64(1, 0)},
        lambda a: _core.take_strings(a["text"], a["start"], a["which"]),
        ("start: longer", "which: shorter", "which: longer", "which: empty"),
    ),
    "table_text": Call(
        lambda: {"x": np.ones(2), "classes": i32(0, 1)},
        lambda a: _core.table_text([a["x"], (a["classes"], ["a", "b"])], ","),
    ),
    "Numbering.restore": restore(lambda: _core.Numbering(options())),
    "LineReader.restore": restore(line_reader, True),
    "CsvReader.restore": restore(lambda: _core.CsvReader(options(), NGRAMS, delimiter=",", quotes=True), True),
    "ArrowReader.restore": restore(lambda: _core.ArrowReader(options(), NGRAMS), True),
    "DictLearner.restore": restore(lambda: _core.DictLearner(-1, 100)),
    "DictLearner.bind": Call(state_of_two_classes, bind, ("state.weights: shorter",)),
    "ArrowColumn.__init__": Call(arrow_arrays, feed, ("start: longer",)),
    "grow_trees": Call(
        lambda: {"rows": np.ones((4, 2), np.float32), "targets": np.ones((4, 1)), "weight": np.ones(4)},
        lambda a: _core.grow_trees(a["rows"], a["targets"], a["weight"], "classes", 2, 3),
    ),
    **{f"see {name}": see(name) for name in VIEWS if name != "nb"},
    "see nb": see("nb", ("nb.rows: shorter", "nb.rows: empty")),
    **{f"see_and_learn {name}": see_and_learn(name) for name in VIEWS},
    **{f"renew_knots {name}": renew_knots(name) for name in ("bins", "ranks")},
    "see_and_learn several labels": see_and_learn("nb", ("labels: longer",), lists=True),
    "meet_pairs": Call(
        lambda: CSR | {"order": i64(1, 0), "labels": i32(0, 1), "weight": np.ones(2)} | view_arrays("pairs"),
        lambda a: _core.meet_pairs(
            state_in(a), matrix(a), a["order"], 0, 2, a["labels"], a["weight"], None, 0, 100, None
        ),
        (
            "order: longer", "start: longer", "state.pairs.group: longer",
            *(f"labels: {way}" for way in ("shorter", "longer", "empty")),  # without class weights they do not matter
            *(f"labels: {way} at {place}" for way in ("negative", "above all") for place in (0, 1)),
        ),
    ),
    "index_pairs": Call(
        lambda: {f"state.pairs.{name}": view_arrays("pairs")[f"state.pairs.{name}"] for name in TERMS},
        lambda a: _core.index_pairs(state_in(a)),
    ),
    "naive_bayes_scores": Call(
        lambda: naive_bayes(2) | {"out": np.zeros((2, 1))},
        lambda a: _core.naive_bayes_scores(state_in(a), matrix(a), a["out"]),
        ("start: longer", "state.frequency: longer"),
    ),
    "naive_bayes_learn": naive_bayes_learn(2),
    "naive_bayes_learn of several": naive_bayes_learn(3),
    "class_means_scores": Call(
        lambda: class_means(2) | {"out": np.zeros((2, 1))},
        lambda a: _core.class_means_scores(state_in(a), matrix(a), a["out"]),
        ("start: longer",),
    ),
    "class_means_p_values": Call(
        lambda: class_means(2) | {"state.calibration": np.ones(5), "out": np.zeros(2)},
        lambda a: _core.class_means_p_values(state_in(a), matrix(a), a["out"]),
        ("start: longer",),
    ),
    "class_means_learn": class_means_learn(2),
    "class_means_learn of several": class_means_learn(3),
    "BoundMembers.score": of_row("binary", "diag"),
    "BoundMembers.score of several classes": of_row("joint", "diag"),
    "BoundMembers.score of a matrix": of_row("binary", "full"),
    "BoundMembers.score of a shared matrix": of_row("joint", "shared"),
    "BoundMembers.learn": of_row("binary", "diag", learns=True),
    "BoundMembers.learn of several classes": of_row("joint", "diag", learns=True),
    "BoundMembers.learn of a matrix": of_row("binary", "full", learns=True, pending=True),
    "BoundMembers.learn of a shared matrix": of_row("joint", "shared", learns=True, pending=True),
    "BoundMembers.learn of numbers": row_of_numbers(),
    "Entities.__init__": Call(
        lambda: {"priors": np.ones(2)}, lambda a: _core.Entities(a["priors"], 1, False, 100),
        ("priors: shorter", "priors: longer"),
    ),
    "Entities.learn": entities_learn(numbers=False),
    "Entities.learn numbers": entities_learn(numbers=True),
    "Entities.scores": Call(
        lambda: CSR | {
            "slots": i32(1, 0), "mean_out": np.zeros((2, 1, 2)), "variance_out": np.zeros((2, 1, 2)),
            "squares_out": np.zeros(2),
        },
        lambda a: entities().scores(a["slots"], matrix(a), 0, a["mean_out"], a["variance_out"], a["squares_out"]),
        ("start: longer", "slots: negative at 0", "slots: negative at 1"),  # an unknown entity
    ),
    "Entities.keep": Call(
        lambda: {"slots": i32(1, 0)}, lambda a: entities().keep(a["slots"]), ("slots: shorter", "slots: empty")
    ),
    "Entities.restore": Call(entities_state, lambda a: entities().restore(state_in(a))),
    "Hierarchy.learn": Call(
        lambda: CSR | {
            "slots": i32(1, 0), "targets": np.ones(2), "weight": np.ones(2), "missing": np.zeros(3, np.int8)
        },
        lambda a: hierarchy().learn(a["slots"], matrix(a), a["missing"], a["targets"], a["weight"], 0, 0),
        ("start: longer", "missing: longer"),
    ),
    "Hierarchy.predict": Call(
        lambda: CSR | {
            "slots": i32(1, 0), "missing": np.zeros(3, np.int8), "mean_out": np.zeros(2), "variance_out": np.zeros(2)
        },
        lambda a: hierarchy().predict(a["slots"], matrix(a), a["missing"], 0, a["mean_out"], a["variance_out"]),
        ("start: longer", "missing: longer", "slots: negative at 0", "slots: negative at 1"),  # an unknown entity
    ),
    "Hierarchy.keep": Call(
        lambda: {"slots": i32(1, 0)}, lambda a: hierarchy().keep(a["slots"]), ("slots: shorter", "slots: empty")
    ),
    "Hierarchy.restore": Call(hierarchy_state, lambda a: hierarchy().restore(state_in(a))),
    "mixture_learn": mixture(),
    "label_mixtures_learn": label_mixtures(),
    "number_mixture_learn": number_mixture(),
    "noise_sizes": Call(
        lambda: CSR | {"conformal": intervals.untrained(1), "predictions": np.ones(2), "sizes": np.zeros(2)},
        lambda a: _core.noise_sizes(a["conformal"], matrix(a), a["predictions"], a["sizes"]),
        ("columns: negative at 0", "columns: negative at 2", "columns: above all at 0", "columns: above all at 2"),
    ),
    "Topics.learn": topics("learn"),
    "Topics.infer": topics("infer"),
}  # fmt: skip


def spoiled(name: str, array: np.ndarray, learned: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield an array spoiled in every way that is possible."""
    other = {"f": np.int64, "i": np.float64, "u": np.int16}[array.dtype.kind]
    yield "another type", array.astype(other)
    yield "shorter", array[:-1].copy()
    yield "longer", np.concatenate([array, array[-1:]])
    yield "empty", array[:0].copy()
    yield "another dimension", array[None].copy()
    strided = np.repeat(array, 2, axis=-1)[..., ::2]
    if not strided.flags.c_contiguous:
        yield "not contiguous", strided
    if name in OUTPUTS or (learned and name.startswith("state.")):
        frozen = array.copy()
        frozen.flags.writeable = False
        yield "read-only", frozen
    if name in INDEXES:
        for way, number in (("negative", -1), ("above all", np.iinfo(array.dtype).max)):
            for place in (0, len(array) - 1):
                changed = array.copy()
                changed[place] = number
                yield f"{way} at {place}", changed
        if "start" in name:
            yield "decreasing", array[[0, -1, *range(1, len(array) - 1)]]


def is_learned(which: str) -> bool:
    return "learn" in which or which == "DictLearner.bind"


@pytest.mark.parametrize("which", CALLS)
def test_sound_arrays_are_accepted(which):
    CALLS[which].run(CALLS[which].make())


@pytest.mark.parametrize("which", CALLS)
def test_malformed_arrays_are_refused(which):
    call, accepted = CALLS[which], []
    for name, array in call.make().items():
        for way, wrong in spoiled(name, array, is_learned(which)):
            if f"{name}: {way}" not in (*HARMLESS, *call.allowed):
                with suppress(ValueError, TypeError):
                    call.run(call.make() | {name: wrong})
                    accepted.append(f"{name}: {way}")
    assert not accepted


@pytest.mark.parametrize("which", CALLS)
def test_what_is_allowed_does_no_harm(which):
    call = CALLS[which]
    for name in call.make():
        for way, array in spoiled(name, call.make()[name], is_learned(which)):
            if f"{name}: {way}" in (*HARMLESS, *call.allowed):
                with suppress(ValueError):  # a covariance has to fit even unused weights
                    call.run(call.make() | {name: array})


def spread(weights: np.ndarray, spacing: int) -> np.ndarray:
    """Return a copy of weights whose planes are this far from each other."""
    features, planes, columns = weights.shape
    out = np.ndarray(weights.shape, buffer=np.zeros(features * planes * spacing + columns), strides=(
        8 * planes * spacing, 8 * spacing, 8
    ))  # fmt: skip
    out[:] = weights
    return out


WITH_WEIGHTS = [
    which
    for which, call in CALLS.items()
    if "state.weights" in call.make() and "state.weights: not contiguous" not in call.allowed
]


@pytest.mark.parametrize("which", WITH_WEIGHTS)
def test_several_columns_of_weights_may_have_spare_ones_after_them(which):
    call, plain, arrays = CALLS[which], CALLS[which].make(), CALLS[which].make()
    weights = arrays["state.weights"] = spread(arrays["state.weights"], arrays["state.weights"].shape[2] + 2)
    if weights.shape[2] == 1:
        with pytest.raises(ValueError, match="no columns to spare"):
            call.run(arrays)
        return
    call.run(arrays)
    call.run(plain)
    for name in plain:
        np.testing.assert_array_equal(arrays[name], plain[name], err_msg=name)
    untouched = np.ndarray(
        (*weights.shape[:2], 2), buffer=weights.base, offset=8 * weights.shape[2], strides=weights.strides
    )
    assert not untouched.any()


@pytest.mark.parametrize("which", ["Learner.learn joint", "Learner.scores joint", "Learner.top_variances"])
@pytest.mark.parametrize(
    "strides",
    [
        (6, 2, 1), (6, 0, 1), (6, -3, 1), (0, 3, 1), (3, 3, 1), (7, 3, 1), (8, 3, 1), (-6, 3, 1), (6, 3, 2), (6, 3, 0),
        (6, 3, -1), (2**40, 2**39, 1),
    ],
)  # fmt: skip
def test_weights_that_overlap_or_have_no_order_are_refused(which, strides):
    call = CALLS[which]
    arrays = call.make()
    numbers = np.zeros(100)
    arrays["state.weights"] = np.lib.stride_tricks.as_strided(
        numbers[50:], (4, 2, 3), [8 * stride for stride in strides]
    )
    with pytest.raises(ValueError, match="weights"):
        call.run(arrays)


def test_every_function_with_arrays_has_a_call():
    stub = ast.parse((Path(confidently.__file__).parent / "_core.pyi").read_text())
    found = set()
    for node in stub.body:
        methods = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in methods:
            if isinstance(one, ast.FunctionDef) and re.search("NDArray|state:", ast.unparse(one.args)):
                found.add(prefix + one.name)
    found.remove("TrainingRows.__init__")  # what it keeps is checked where it is used
    assert found == {which.partition(" ")[0] for which in CALLS}


def test_rows_are_numbered_before_they_are_taken():
    for own_columns in (False, True):
        reader = line_reader(own_columns)
        reader.parse(b"", b"1 |n a b\n", 1)
        with pytest.raises(ValueError, match="not numbered"):
            reader.take()
        with pytest.raises(ValueError, match="line 2"):
            reader.parse(b"", b"2 |n a b\n3 |n a:nan\n", 1)
        numbering = _core.Numbering(options())
        reader.parse(b"", b"1 |n a b\n", 1)
        reader.number(numbering)
        with pytest.raises(ValueError, match="those before them failed"):
            reader.take()


@pytest.mark.parametrize("bits", [0, 33, 64, -2, 2**31 - 1])
def test_tables_of_features_have_a_sound_size(bits):
    with pytest.raises(ValueError, match="bits"):
        options(bits)
    with pytest.raises(ValueError, match="bits"):
        _core.DictLearner(bits, 100)
    with pytest.raises(ValueError, match="max_columns"):
        _core.DictLearner(1, 2**31)


@pytest.mark.parametrize(("task", "labels"), [
    ("binary", [2]), ("binary", [-1]), ("binary", []), ("joint", [0, 1]), ("multilabel", [3]),
    ("multilabel-one-vs-rest", [3]),
])  # fmt: skip
def test_labels_of_dicts_are_checked(task, labels):
    core = _core.DictLearner(-1, 100)
    learner = Learner(settings(task), 2 if task == "binary" else 3, 3)
    core.bind(learner.covariance.compiled(), learner.state, True, 1e100, True, {}, [])
    with pytest.raises(ValueError):
        core.learn_labels({"a": 1.0}, labels, 1.0)


def test_a_column_of_a_table_is_needed():
    reader = _core.ArrowReader(options(), NGRAMS)
    reader.describe([_core.ColumnUse("a", _core.Use.value, [])])
    with pytest.raises((ValueError, TypeError)):
        reader.feed(1, [None])


def test_functions_of_a_blas_have_the_expected_types():
    functions = dict(cython_blas.__pyx_capi__)
    for wrong in ({}, functions | {"dgemm": functions["dsyrk"]}, functions | {"ssyrk": print}):
        with pytest.raises(ValueError, match="SciPy's BLAS"):
            _core.Blas(wrong)


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (0, 4), (2, 1)])
def test_strips_of_columns_lie_within_the_matrix(first, last):
    with pytest.raises(ValueError, match="columns out of range"):
        _core.add_gram(BLAS, np.eye(3), np.ones((2, 3)), 1.0, first, last)
    with pytest.raises(ValueError, match="columns out of range"):
        _core.add_product(BLAS, np.eye(3), np.ones((2, 3)), np.ones((2, 3)), first, last)
    a = block_update()
    with pytest.raises(ValueError, match="columns out of range"):
        _core.update_block(BLAS, *a.values(), first, last)
