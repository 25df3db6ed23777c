"""Export of stacks to ONNX graphs: each member's view, scores and line, and the sum by their weights.

With the calibrated scores t_g of the members (:mod:`confidently.models.onnx_export`, without the correction)::

    mixed         = sum_g w_g t_g

of which the sigmoid is the probability of the second of two classes, or of a label, and the softmax those of more.

With the predictions m_g of regressions and their standard deviations sd_g, the factors f and c of the noise that the
mixture and its errors have (:class:`confidently.stack.number_stack.NumberStack`), and the sum below without rests::

    variable      = sum_g w_g m_g
    std           = sqrt(c f) sum_g |w_g| sd_g
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..data.class_order import ClassOrder
from ..learner.learner import Learner
from ..stack.generative import CALIBRATION, Generative
from ..stack.label_stack import LabelStack
from ..stack.members import WEIGHTS
from ..stack.number_stack import NumberStack, mixtures
from ..stack.plan import Member
from ..stack.stack import Stack
from ..tasks.targets import Prediction
from ..views.graph import unit_rows
from ..views.view import View
from .linear_form import linear_form
from .onnx_export import (
    Graph,
    clipped,
    finished,
    line,
    moderated,
    new_graph,
    numbers,
    outputs_of_classes,
    outputs_of_numbers,
    scores_of,
)

if TYPE_CHECKING:
    from onnx import ModelProto


def stack_to_onnx(
    stack: Stack, order: ClassOrder, feature_names: list[str] | None = None, dtype: str = "float32"
) -> ModelProto:
    """Return the predictor of a stack of classifiers; see :meth:`confidently.AutoClassifier.to_onnx`.

    Raises
    ------
    ImportError
        If ONNX is not installed.
    ValueError
        For an unknown type; for a member that cannot be exported.
    """
    graph, seen = new_graph(dtype), dict[View | None, tuple[str, str | None]]()
    weights = stack.state[WEIGHTS]
    if isinstance(stack, LabelStack):
        weights = order.columns(weights.T)  # one per label
    scores = [graph.add("Clip", _calibrated(graph, member, order, seen), *_limits(graph)) for member in stack.members]
    if (trust := stack.trust) is not None:
        scores = _with_late(graph, scores, trust.means, order.columns(trust.by_class[None]))
    parts = [
        graph.add("Mul", own, graph.constant(np.atleast_1d(weight)))
        for own, weight in zip(scores, weights, strict=True)
    ]
    mixed = graph.add("Sum", *parts)
    _decide(graph, stack, order, mixed)
    outputs = outputs_of_classes(graph, stack.task, order.classes)
    return finished(graph, stack.n_features, outputs, feature_names)


def number_stack_to_onnx(
    stack: NumberStack, feature_names: list[str] | None = None, dtype: str = "float32"
) -> ModelProto:
    """Return the predictor of a stack of regressions; see :meth:`confidently.AutoRegressor.to_onnx`.

    The errors are those of :func:`stack_to_onnx`.
    """
    graph, means, deviations, seen = new_graph(dtype), [], [], dict[View | None, tuple[str, str | None]]()
    weights = np.stack([mixture[WEIGHTS] for mixture in mixtures(stack.state)], axis=1)
    for k, (member, weight) in enumerate(zip(stack.members, weights, strict=True)):
        assert isinstance(member, Learner)  # the others are of classes
        graph.rows, graph.unseen = _rows(graph, member, seen)
        form = linear_form(member, "progressive")
        mean, deviation = numbers(graph, form, scores_of(graph, form))
        if stack.is_log(k):
            mean, deviation = _of_logs(graph, stack, k, mean, deviation)
        means.append(graph.add("Mul", mean, graph.constant(weight)))
        if k < len(stack.members) - stack.rests:
            deviations.append(graph.add("Mul", deviation, graph.constant(np.abs(weight))))
    clipped(graph, stack.targets, graph.add("Sum", *means), "variable")
    factors = stack.spread_factors()[None]
    factor = stack.number_deviations(Prediction(np.zeros_like(factors), factors))
    graph.add("Mul", graph.add("Sum", *deviations), graph.constant(factor), name="std")
    return finished(graph, stack.n_features, outputs_of_numbers(graph, stack.n_classes), feature_names)


def _of_logs(graph: Graph, stack: NumberStack, k: int, mean: str, deviation: str) -> tuple[str, str]:
    """Add what a member predicts that learns logarithms, and the deviations (:mod:`confidently.stack.logs`)."""
    largest, factor = stack.limits_and_factors(k)
    exponential = graph.add("Exp", graph.add("Min", mean, graph.constant(largest)))
    number = graph.add("Mul", exponential, graph.constant(factor))
    return number, graph.add("Mul", deviation, number)


def _with_late(graph: Graph, scores: list[str], means: int, trust: np.ndarray) -> list[str]:
    """Add the scores of members where some classes are late (:attr:`confidently.stack.stack.Stack.trust`)."""
    log_p = [graph.add("LogSoftmax", own, axis=1) for own in scores]
    rest = graph.add("Mul", log_p[means], graph.constant(1.0 - trust))
    found = [graph.add("Add", graph.add("Mul", own, graph.constant(trust)), rest) for own in log_p]
    return [graph.add("Clip", own, *_limits(graph)) for own in found]


def _limits(graph: Graph) -> tuple[str, str]:
    return graph.constant(-_core.max_logit), graph.constant(_core.max_logit)


def _calibrated(
    graph: Graph, member: Member, order: ClassOrder, seen: dict[View | None, tuple[str, str | None]]
) -> str:
    """Add the calibrated scores of a member, in the order of the classes; ``seen`` has the rows of each view."""
    if isinstance(member, Generative):
        return _of_generative(graph, member, order)
    graph.rows, graph.unseen = _rows(graph, member, seen)
    form = linear_form(member, "progressive", order)
    return line(graph, form, moderated(graph, form, scores_of(graph, form)))


def _rows(graph: Graph, member: Learner, seen: dict[View | None, tuple[str, str | None]]) -> tuple[str, str | None]:
    """Return the rows that a member's view makes, added once for members with equal views."""
    view = member.view
    if view not in seen:
        graph.unseen = None
        seen[view] = "X" if view is None else view.exported(graph, "X", member.state), graph.unseen
    return seen[view]


def _of_generative(graph: Graph, member: Generative, order: ClassOrder) -> str:
    """Add the calibrated scores of a model of the rows of each class."""
    by_feature, by_class = member.class_weights(slice(None)), member.by_class()
    state = member.state[CALIBRATION]
    numbers, slope, offset = order.numbers, state[0], 0.0
    if member.n_classes == 2:
        first, second = numbers
        by_feature, by_class = (x[..., [second]] - x[..., [first]] for x in (by_feature, by_class))
        offset = state[1] if second == 1 else -state[1]
    else:
        by_feature, by_class = by_feature[:, numbers], by_class[numbers]
    scores = graph.add("MatMul", unit_rows(graph, "X"), graph.constant(by_feature))
    scores = graph.add("Add", scores, graph.constant(by_class))
    if member.n_classes > 2:
        scores = graph.add("Sub", scores, graph.add("ReduceMax", scores, axes=[1], keepdims=1))
    return graph.add("Add", graph.add("Mul", scores, graph.constant(slope)), graph.constant(offset))


def _decide(graph: Graph, stack: Stack, order: ClassOrder, mixed: str) -> None:
    """Add the outputs: probabilities, and the class or labels."""
    task = stack.task
    if task.multilabel:
        assert isinstance(stack, LabelStack)
        p, least = graph.add("Sigmoid", mixed, name="probabilities"), stack.label_threshold
        found = ("Greater", mixed, graph.constant(0.0)) if least is None else ("Greater", p, graph.constant(least))
        graph.cast(graph.add(*found), np.int64, name="label")
        return
    if task.several:
        graph.add("Softmax", mixed, name="probabilities", axis=1)
        number = graph.add("ArgMax", mixed, axis=1, keepdims=0)
    else:
        p = graph.add("Sigmoid", mixed)
        graph.add("Concat", graph.add("Sub", graph.constant(1.0), p), p, name="probabilities", axis=1)
        positive = graph.cast(graph.add("Greater", mixed, graph.constant(0.0)), np.int64)
        number = graph.add("Reshape", positive, graph.constant([-1], np.int64))
    graph.add("Gather", graph.constant(order.classes, np.int64), number, name="label")
