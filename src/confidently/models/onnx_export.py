"""Export of classifiers and regressions to ONNX graphs, which run without this package; needs the extra ``onnx``.

With the means W, b and the variances S, s of weights and intercept, rows have::

    score         = X W' + b
    variance      = (X * X) S' + s

and with the calibration a, c and w, two classes::

    t             = a score / sqrt(1 + variance/prior) + c
    probability   = sigmoid(t + w(t))

where w is the sum of its differences from knot to knot times min(max(t - knot, 0), 1). With three or more classes, t is
a (score - largest score) / sqrt(1 + v/prior), where v is the variance of the difference between the row's two best
scores, and probabilities are softmax(t + w(t)). Labels have a sigmoid each.

With the offset o of the targets, the variance r of the rule's noise and the factor c of the noise that training has
found, numbers have::

    variable      = score + o
    std           = sqrt(c (r + variance))

Rules of counts have variable = exp(score + o + variance/2) and in place of r + variance the spread
variable + variable^2 (exp(variance) - 1). With a view, X stands for the rows that it makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import install
from ..learner.learner import Learner
from ..rules.ranges import check_choice
from ..tasks.calibration import correction
from ..tasks.targets import Targets, variance_factor
from ..tasks.task import Task
from .linear_form import LinearForm, Spread

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET = 17
ML_OPSET = 3  # of trees
IR_VERSION = 8  # as old as the opset
TYPES = ("float32", "float64")
OF_NUMBERS = ("variable", "std")  # outputs of regressions
MAX_LOG = {np.dtype("float32"): 40.0, np.dtype("float64"): 200.0}  # no square of its exponential overflows


class Graph:
    """A graph under construction, which names nodes and constants.

    Attributes
    ----------
    dtype : dtype
        Type of its real numbers.
    rows : str
        The rows that are scored.
    unseen : str, optional
        The sum of squares of what these rows have besides, without a weight so far.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.rows = "X"
        self.unseen: str | None = None

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Add a constant and return its name."""
        from onnx import TensorProto, helper, numpy_helper

        name, array = f"constant_{len(self.constants)}", np.asarray(value)
        if array.dtype.kind in "OUS":
            strings: Any = [str(string).encode() for string in array.ravel()]
            tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, strings)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array, dtype=dtype or self.dtype), name)
        self.constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its output; for TopK, that of the indices."""
        from onnx import helper

        name = name or f"{operator.lower()}_{len(self.nodes)}"
        outputs = [f"{name}_values", name] if operator == "TopK" else [name]
        self.nodes.append(helper.make_node(operator, list(inputs), outputs, **attributes))
        return name

    def cast(self, x: str, dtype: Any = None, name: str = "") -> str:
        """Add a conversion, by default to the type of the graph's real numbers, and return its name."""
        from onnx import helper

        return self.add("Cast", x, name=name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype)))


def to_onnx(
    learner: Learner, form: LinearForm, feature_names: list[str] | None = None, dtype: str = "float32"
) -> ModelProto:
    """Return the predictor of a learner with a linear form.

    See :meth:`confidently.OnlineClassifier.to_onnx` and :meth:`confidently.OnlineRegressor.to_onnx`.

    Raises
    ------
    ImportError
        If ONNX is not installed.
    ValueError
        For an unknown type.
    """
    graph = new_graph(dtype)
    if learner.view is not None:
        graph.rows = learner.view.exported(graph, "X", learner.state)
    scores = scores_of(graph, form)
    if form.task.regression:
        numbers(graph, form, scores, *OF_NUMBERS)
        outputs = outputs_of_numbers(graph, len(form.coef))
    else:
        outputs = _classes(graph, form, scores)
    return finished(graph, learner.n_features, outputs, feature_names)


def scores_to_onnx(
    coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray, feature_names: list[str] | None = None,
    dtype: str = "float32",
) -> ModelProto:  # fmt: skip
    """Return the predictor of a linear classifier without probabilities; errors as of :func:`to_onnx`."""
    from onnx import TensorProto, helper

    graph = new_graph(dtype)
    scores = graph.add("Gemm", "X", graph.constant(coef), graph.constant(intercept), name="scores", transB=1)
    if len(coef) == 1:
        positive = graph.add("Cast", graph.add("Greater", scores, graph.constant(0.0)), to=TensorProto.INT64)
        number = graph.add("Reshape", positive, graph.constant([-1], np.int64))
    else:
        number = graph.add("ArgMax", scores, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(classes, np.int64), number, name="label")
    kind = TensorProto.STRING if classes.dtype.kind in "OUS" else TensorProto.INT64
    values = helper.make_tensor_value_info
    outputs = [values("label", kind, ["n"]), values("scores", _type(graph), ["n", len(coef)])]
    return finished(graph, coef.shape[1], outputs, feature_names)


def new_graph(dtype: str) -> Graph:
    """Return an empty graph; the errors are those of :func:`to_onnx`."""
    check_choice("dtype", dtype, TYPES)
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise ImportError(f"the export to ONNX needs the package onnx; run {install('onnx')}") from None
    return Graph(dtype)


def finished(graph: Graph, n_features: int, outputs: list[Any], feature_names: list[str] | None) -> ModelProto:
    """Return a graph with these outputs as a model."""
    from onnx import checker, helper

    rows = helper.make_tensor_value_info("X", _type(graph), ["n", n_features])
    whole = helper.make_graph(graph.nodes, "confidently", [rows], outputs, graph.constants)
    used = {node.domain: {"": OPSET}.get(node.domain, ML_OPSET) for node in graph.nodes} | {"": OPSET}
    opsets = [helper.make_opsetid(domain, version) for domain, version in used.items()]
    model = helper.make_model(whole, producer_name="confidently", ir_version=IR_VERSION, opset_imports=opsets)
    if feature_names is not None:
        helper.set_model_props(model, {"feature_names": "\n".join(feature_names)})
    checker.check_model(model, full_check=True)
    return model


def _type(graph: Graph) -> int:
    """Return the number that ONNX has for the type of the graph's real numbers."""
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(graph.dtype))


def _classes(graph: Graph, form: LinearForm, scores: str) -> list[Any]:
    """Add the outputs of a classifier, and return their names and types."""
    assert form.classes is not None
    _label(graph, form, scores, _probabilities(graph, form, scores))
    return outputs_of_classes(graph, form.task, form.classes)


def outputs_of_classes(graph: Graph, task: Task, classes: np.ndarray) -> list[Any]:
    """Return names and types of the outputs of a classifier."""
    from onnx import TensorProto, helper

    has_strings = not task.multilabel and classes.dtype.kind in "OUS"
    columns = [len(classes)] if task.multilabel else []
    values = helper.make_tensor_value_info
    return [
        values("label", TensorProto.STRING if has_strings else TensorProto.INT64, ["n", *columns]),
        values("probabilities", _type(graph), ["n", len(classes)]),
    ]


def outputs_of_numbers(graph: Graph, n: int) -> list[Any]:
    """Return names and types of the outputs of a regression with so many numbers per row."""
    from onnx import helper

    return [helper.make_tensor_value_info(name, _type(graph), ["n", n]) for name in OF_NUMBERS]


def numbers(graph: Graph, form: LinearForm, center: str, variable: str = "", std: str = "") -> tuple[str, str]:
    """Add the predictions of a regression and their standard deviations, and return their names."""
    assert form.spread is not None  # which every regression has
    targets = form.targets
    if form.rule.counts:
        rate, spread = _of_counts(graph, center, variances(graph, form.spread))
        variable = clipped(graph, targets, rate, variable)
    else:
        variable = clipped(graph, targets, center, variable)
        nothing = np.zeros((1, len(form.coef)))
        noise = form.task.prediction(form.rule, targets, nothing, nothing).spread[0]
        v = variances(graph, form.spread) if form.rule.learns_precision else graph.constant([0.0])
        spread = graph.add(
            "Add", graph.add("Mul", center, graph.constant([0.0])), graph.add("Add", v, graph.constant(noise))
        )
    factor = variance_factor(form.rule, targets, form.calibrated)
    return variable, graph.add("Sqrt", graph.add("Mul", spread, graph.constant(factor)), name=std)


def clipped(graph: Graph, targets: Targets, variable: str, name: str = "") -> str:
    """Add predictions within the bounds of the targets, and return their name."""
    low, high = targets.bounds
    above = graph.add("Max", variable, graph.constant(low)) if np.isfinite(low).any() else variable
    return graph.add("Min", above, graph.constant(high), name=name)


def _of_counts(graph: Graph, center: str, v: str) -> tuple[str, str]:
    """Add the rate and the variance of counts around it, and return their names."""
    largest = graph.constant(MAX_LOG[graph.dtype])
    log_rate = graph.add("Add", center, graph.add("Mul", v, graph.constant([0.5])))
    rate = graph.add("Exp", graph.add("Min", log_rate, largest))
    more = graph.add("Sub", graph.add("Exp", graph.add("Min", v, largest)), graph.constant([1.0]))
    return rate, graph.add("Add", rate, graph.add("Mul", graph.add("Mul", rate, rate), more))


def scores_of(graph: Graph, form: LinearForm) -> str:
    """Add the scores of the graph's rows."""
    return graph.add("Gemm", graph.rows, graph.constant(form.coef), graph.constant(form.whole_intercept), transB=1)


def _label(graph: Graph, form: LinearForm, scores: str, p: str) -> None:
    """Add the predicted classes or labels, from scores and from probabilities, of two classes those of the second."""
    from onnx import TensorProto

    if form.task.several:
        number = graph.add("ArgMax", scores, axis=1, keepdims=0)
    else:
        calibration = form.calibration
        by_score = calibration is None or not form.task.decides_by_probability(calibration)
        least = 0.0 if calibration is None or by_score else form.task.least_probability(calibration)
        positive = graph.add("Greater", scores if by_score else p, graph.constant(least))
        name = "label" if form.task.multilabel else ""
        number = graph.add("Cast", positive, name=name, to=TensorProto.INT64)
    if form.task.multilabel:
        return
    if form.task.binary:
        number = graph.add("Reshape", number, graph.constant([-1], np.int64))
    graph.add("Gather", graph.constant(form.classes, np.int64), number, name="label")


def _probabilities(graph: Graph, form: LinearForm, scores: str) -> str:
    """Add the probabilities, and return their name; of two classes, those of the second."""
    name, spread = "probabilities" if form.task.multilabel else "", form.spread
    if spread is None:
        return _softmax(graph, form, scores) if form.task.several else _sigmoid(graph, form, scores, name)
    if form.task.several:
        return _softmax(graph, form, moderated(graph, form, scores))
    if form.calibration is None:
        p = _posterior_probability(graph, form, scores, variances(graph, spread), name)
    else:
        p = _sigmoid(graph, form, moderated(graph, form, scores), name)
    if form.task.binary:
        graph.add("Concat", graph.add("Sub", graph.constant(1.0), p), p, name="probabilities", axis=1)
    return p


def _softmax(graph: Graph, form: LinearForm, scores: str) -> str:
    return graph.add("Softmax", _corrected(graph, form, line(graph, form, scores)), name="probabilities", axis=1)


def _sigmoid(graph: Graph, form: LinearForm, scores: str, name: str) -> str:
    return graph.add("Sigmoid", _corrected(graph, form, line(graph, form, scores)), name=name)


def line(graph: Graph, form: LinearForm, scores: str) -> str:
    """Add the logarithms of odds that scores are calibrated to, before the correction."""
    assert form.calibration is not None  # linear_form refuses several classes without
    if form.task.several:
        largest = graph.add("ReduceMax", scores, axes=[1], keepdims=1)
        return graph.add("Mul", graph.add("Sub", scores, largest), graph.constant(form.calibration[:1]))
    state = form.calibration.reshape(_calibrations(form), -1)
    scaled = graph.add("Mul", scores, graph.constant(state[:, 0]))
    return graph.add("Add", scaled, graph.constant(state[:, 1]))


def _calibrations(form: LinearForm) -> int:
    """Return the number of calibrations: one per label, otherwise one."""
    return len(form.coef) if form.task.multilabel else 1


def _corrected(graph: Graph, form: LinearForm, t: str) -> str:
    """Add t + w(t)."""
    assert form.calibration is not None
    knots, values = correction(form.calibration.reshape(_calibrations(form), -1), form.task.several)
    each = graph.add("Unsqueeze", t, graph.constant([2], np.int64))
    beyond = graph.add("Sub", each, graph.constant(knots[:-1]))
    parts = graph.add("Clip", beyond, graph.constant(0.0), graph.constant(1.0))
    steps = graph.add("Mul", parts, graph.constant(np.diff(values, axis=1)))
    added = graph.add("ReduceSum", steps, graph.constant([2], np.int64), keepdims=0)
    return graph.add("Add", t, graph.add("Add", added, graph.constant(values[:, 0])))


def variances(graph: Graph, spread: Spread) -> str:
    """Add the variance of every score; where columns share a matrix, half that of any difference."""
    if not spread.matrix:
        weights, intercept = spread.weights[:, :-1], spread.weights[:, -1]
        squares = graph.add("Mul", graph.rows, graph.rows)
        found = graph.add("Gemm", squares, graph.constant(weights), graph.constant(intercept), transB=1)
        return _with_unseen(graph, spread, found)
    matrix = spread.weights
    product = graph.add("Gemm", graph.rows, graph.constant(matrix[:-1, :-1]), graph.constant(2.0 * matrix[-1, :-1]))
    form = graph.add("ReduceSum", graph.add("Mul", graph.rows, product), graph.constant([1], np.int64), keepdims=1)
    whole = graph.add("Add", form, graph.constant([matrix[-1, -1]]))
    return _with_unseen(graph, spread, graph.add("Max", whole, graph.constant([0.0])))


def _with_unseen(graph: Graph, spread: Spread, variances: str) -> str:
    """Add what the view makes of a row and has no weight so far: it has the prior's variance."""
    if graph.unseen is None:
        return variances
    return graph.add("Add", variances, graph.add("Mul", graph.unseen, graph.constant(spread.unseen)))


def _of_the_best_two(graph: Graph, spread: Spread, scores: str, variances: str) -> str:
    """Add the variance of the difference between each row's two best scores."""
    if spread.matrix:
        return graph.add("Mul", variances, graph.constant([2.0]))
    best = graph.add("TopK", scores, graph.constant([2], np.int64), axis=1)
    chosen = graph.add("GatherElements", variances, best, axis=1)
    return graph.add("ReduceSum", chosen, graph.constant([1], np.int64), keepdims=1)


def moderated(graph: Graph, form: LinearForm, scores: str) -> str:
    """Add the scores, shrunk where their variance is large relative to the prior's; without a spread as they are."""
    spread = form.spread
    if spread is None:
        return scores
    of_scores = variances(graph, spread)
    if form.task.several:
        of_scores = _of_the_best_two(graph, spread, scores, of_scores)
    relative = graph.add("Mul", of_scores, graph.constant([1.0 / spread.prior]))
    return graph.add("Div", scores, graph.add("Sqrt", graph.add("Add", relative, graph.constant([1.0]))))


def _posterior_probability(graph: Graph, form: LinearForm, scores: str, variances: str, name: str) -> str:
    """Add sum_i weight_i Phi(m/sqrt(v + noise_i)), in single precision: most runtimes have Erf in no other."""
    from onnx import TensorProto

    parts = []
    for weight, noise in form.rule.score_noise():
        noisy = graph.add("Add", variances, graph.constant([noise])) if noise else variances
        deviation = graph.add("Sqrt", graph.add("Mul", noisy, graph.constant([2.0])))
        ratio = graph.add("Cast", graph.add("Div", scores, deviation), to=TensorProto.FLOAT)
        whole = graph.add("Add", graph.add("Erf", ratio), graph.constant([1.0], np.float32))
        parts.append(graph.add("Mul", whole, graph.constant([0.5 * weight], np.float32)))
    own = TensorProto.FLOAT if graph.dtype == np.float32 else TensorProto.DOUBLE
    return graph.add("Cast", graph.add("Sum", *parts), name=name, to=own)
