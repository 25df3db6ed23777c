"""What ``confidently train`` does: passes over a stream, and an account of how they went."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import click

from ..data import Reading
from ..features import Features
from ..labels import ClassTable
from .common import class_names, load_model, open_data, percent
from .progress import Quiet, Standing, at_doublings, reporter
from .rule_options import chosen_rule

if TYPE_CHECKING:
    from ..data import Stream
    from ..model_file import Model
    from ..streaming import StreamLearner

MOST_CLASSES_LISTED = 10


class Training:
    """One run of the command: its data, the learner that grows with them, how it went."""

    def __init__(self, data: tuple[str, ...], options: dict[str, Any]) -> None:
        self.data, self.options = data, options
        self.first_pass = Standing()
        self.reading, self.closed = Reading(zero_based=options["zero_based"]), bool(options["classes"])
        self.features = Features(bounded=not self.reading.vocabulary) if self.reading.named else None
        self.estimator = {
            "multiclass": options["multiclass"],
            "calibration": None if options["calibration"] == "none" else "progressive",
        }
        if options["start"]:
            self.multilabel, self.stream_learner = self._continued(load_model(options["start"]))
        else:
            self.rule, self.announced = chosen_rule(options), announced(options["classes"])
            self.multilabel = options["multilabel"] or None  # None: the first rows decide
            self.stream_learner = self._new(options["multilabel"])

    def _continued(self, model: Model) -> tuple[bool, StreamLearner]:
        from ..streaming import StreamLearner

        self.reading, self.features = Reading.from_dict(model.source), model.features
        self.closed, self.estimator = model.source.get("closed", False), self.estimator | model.estimator
        multilabel = model.learner.settings.task == "multilabel"
        table = ClassTable(model.classes, multilabel, self.closed)
        return multilabel, StreamLearner(model.learner, table, self.estimator["multiclass"], self.features)

    def _new(self, multilabel: bool) -> StreamLearner:
        from ..learner import Learner
        from ..streaming import StreamLearner

        options, table = self.options, ClassTable(self.announced, multilabel, closed=bool(self.announced))
        task = "multilabel" if multilabel else options["multiclass"] if len(table) > 2 else "binary"
        if options["covariance"] == "shared" and options["multiclass"] == "one-vs-rest":
            raise click.UsageError("--covariance shared couples the classes, --multiclass one-vs-rest keeps them apart")
        try:
            learner = Learner(
                self.rule, options["covariance"], task, len(table),
                prior_variance=options["prior_variance"], fit_intercept=not options["no_intercept"],
                average=options["average"], min_variance=options["min_variance"], dtype=options["dtype"],
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from None
        return StreamLearner(learner, table, options["multiclass"], self.features)

    def run(self) -> None:
        """Learn the data, as often as asked."""
        began = time.monotonic()
        sizes = [os.path.getsize(path) if os.path.isfile(path) else None for path in self.data]
        report = reporter(self.options["quiet"], None if None in sizes else sum(sizes))
        passes = self.options["passes"]
        try:
            for number in range(passes):
                report.begin(f"pass {number + 1}" if passes > 1 else "learning")
                standing = self._pass(report, calibrate=number == 0 and self.estimator["calibration"] is not None)
                report.end(standing)
                self.first_pass = self.first_pass if number else standing
        finally:
            report.close()
        self.seconds = time.monotonic() - began

    def _pass(self, report: Quiet, calibrate: bool) -> Standing:
        with self._open() as stream:
            learner = self.stream_learner.learner
            mistakes, updates, began = learner.mistakes, learner.updates, time.monotonic()
            rows, standing = 0, Standing()
            for batch in self.stream_learner.learn(at_doublings(stream), calibrate):
                rows += len(batch)
                found = learner.mistakes - mistakes, learner.updates - updates
                standing = Standing(rows, *found, batch.bytes_read, time.monotonic() - began)
                report.update(standing)
        return standing

    def _open(self) -> Stream:
        dtype = self.stream_learner.learner.settings.dtype
        stream = open_data(self.data, self.reading, dtype, multilabel=self.multilabel, features=self.features)
        if stream.multilabel and self.multilabel is None:
            self.stream_learner = self._new(multilabel=True)
        self.multilabel = stream.multilabel
        return stream

    def model(self) -> Model:
        """What was learned, to be saved."""
        from ..model_file import Model

        table = self.stream_learner.classes
        source = {**self.reading.as_dict(), "closed": self.closed}
        return Model(self.stream_learner.learner, table.names, self.features, self.estimator, source)

    def result(self) -> dict[str, Any]:
        """An account of the run, as plain data."""
        learner, model = self.stream_learner.learner, self.model()
        settings = learner.settings
        return {
            "rows": self.first_pass.rows,
            "passes": self.options["passes"],
            "mistakes": self.first_pass.mistakes,
            "error": self.first_pass.error,
            "updates": learner.updates,
            "infeasible": learner.infeasible if settings.rule.counts_misses else None,
            "task": settings.task,
            "classes": class_names(model),
            "features": learner.n_features,
            "rule": {"name": settings.rule.name, "parameters": settings.rule.get_params()},
            "covariance": settings.covariance,
            "rows_seen": learner.n_seen,
            "seconds": round(self.seconds, 6),
        }


def announced(text: str | None) -> list[int | str]:
    """The classes of ``--classes``; integers in any spelling are one class, as in the data."""
    names: list[int | str] = []
    for name in text.split(",") if text else []:
        number = re.fullmatch(r"([+-]?[0-9]+)(\.0*)?", name.strip())
        names.append(int(number[1]) if number else name.strip())
    if text is not None and (len(names) < 2 or "" in names or len(set(names)) < len(names)):
        raise click.UsageError(f"--classes takes two or more different names separated by commas; got {text!r}")
    return names


def summary(result: dict[str, Any]) -> str:
    """The account as people read it."""
    names, rule = result["classes"], result["rule"]
    listed = ", ".join(names[:MOST_CLASSES_LISTED]) + (", ..." if len(names) > MOST_CLASSES_LISTED else "")
    parameters = ", ".join(f"{k}={v:g}" for k, v in rule["parameters"].items() if v is not None)
    what = "labels" if result["task"] == "multilabel" else "classes"
    rate = result["rows"] * result["passes"] / max(result["seconds"], 1e-9)
    lines = [
        f"rows       {result['rows']:,}" + (f" in each of {result['passes']} passes" if result["passes"] > 1 else ""),
        f"{what:10} {len(names):,} ({listed})",
        f"features   {result['features']:,}",
        f"learner    {rule['name']}({parameters}), covariance {result['covariance']}, {result['task']}",
        f"mistakes   {result['mistakes']:,}, a progressive error of {percent(result['error'])}",
        f"updates    {result['updates']:,}",
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} rows/s)",
    ]
    if result["infeasible"]:
        lines.append(
            f"infeasible {result['infeasible']:,} examples, which no classifier in the ellipsoid satisfies, were "
            "passed over: the data cannot be separated with this margin; lower --gamma, or use the rule iellip"
        )
    if "model" in result:
        lines.append(f"model      {result['model']} ({result['model_bytes']:,} bytes)")
    else:
        lines.append("model      not saved (-o MODEL saves it)")
    return "\n".join(lines)
