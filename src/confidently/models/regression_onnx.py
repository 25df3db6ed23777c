"""Export of regressions to ONNX graphs, which run without this package; needs the extra ``onnx``.

With the means W, b and the variances S of weights, the offset o of the targets, the variance r of the rule's noise and
the factor c of the noise that training has found::

    score      = X W' + b,    variance = (X * X) S'
    prediction = score + o,   std = sqrt(c (r + variance))

Rules of counts have rate = exp(score + o + variance/2) and the spread rate + rate^2 (exp(variance) - 1). With a view, X
stands for the rows that it makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..learner.learner import Learner
from .onnx_export import Graph, finished, new_graph, variances
from .regression_form import RegressionForm

if TYPE_CHECKING:
    from onnx import ModelProto

MAX_LOG = {np.dtype("float32"): 40.0, np.dtype("float64"): 200.0}  # no square of its exponential overflows


def regression_to_onnx(
    learner: Learner, form: RegressionForm, factor: np.ndarray, feature_names: list[str] | None, dtype: str
) -> ModelProto:
    """Return the predictor of a regression; see :meth:`confidently.OnlineRegressor.to_onnx`."""
    from onnx import helper

    graph = new_graph(learner, dtype)
    settings, targets, k = form.settings, form.targets, len(form.coef)
    whole = form.intercept + settings.task.offset(settings.rule, targets)
    center = graph.add("Gemm", graph.rows, graph.constant(form.coef), graph.constant(whole), transB=1)
    if settings.rule.counts:
        spread = _of_counts(graph, center, variances(graph, form.spread))
    else:
        graph.add("Identity", center, name="variable")
        nothing = np.zeros((1, k))
        noise = settings.task.prediction(settings.rule, targets, nothing, nothing).spread[0]
        v = variances(graph, form.spread) if settings.rule.learns_precision else graph.constant([0.0])
        spread = graph.add(
            "Add", graph.add("Mul", center, graph.constant([0.0])), graph.add("Add", v, graph.constant(noise))
        )
    graph.add("Sqrt", graph.add("Mul", spread, graph.constant(factor)), name="std")
    number = helper.np_dtype_to_tensor_dtype(graph.dtype)
    outputs = [helper.make_tensor_value_info(name, number, ["n", k]) for name in ("variable", "std")]
    return finished(graph, outputs, learner.n_features, feature_names)


def _of_counts(graph: Graph, center: str, v: str) -> str:
    """Add the rate, the output "variable", and return the variance of counts around it."""
    largest = graph.constant(MAX_LOG[graph.dtype])
    log_rate = graph.add("Add", center, graph.add("Mul", v, graph.constant([0.5])))
    rate = graph.add("Exp", graph.add("Min", log_rate, largest), name="variable")
    more = graph.add("Sub", graph.add("Exp", graph.add("Min", v, largest)), graph.constant([1.0]))
    return graph.add("Add", rate, graph.add("Mul", graph.add("Mul", rate, rate), more))
