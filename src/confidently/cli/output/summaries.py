"""Summaries of trainings and models: plain data for ``--json``, text for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ...tasks.table import task_named
from ...wording import counted
from .progress import validation_text
from .text import class_names, classes_text, digits, parameters_text, percent, say, shown, table

if TYPE_CHECKING:
    from ...covariances.settings import Settings
    from ...models.model import Model
    from ...topics.model import TopicModel
    from .counts import Counts

MAX_CLASSES_SHOWN = 12
MAX_SPANS_SHOWN = 5  # of rows with shorter memories


# --- trainings -------------------------------------------------------------------------------------------------------


def saved(model: Model | TopicModel, path: str | None) -> dict[str, Any]:
    """Save a model if there is a path to save it at; return the summary of its file."""
    if not path:
        return {}
    model.save(path)
    return {"model": path, "model_bytes": os.path.getsize(path)}


def training_facts(model: Model, first: Counts, passes: int, seconds: float) -> dict[str, Any]:
    """Return the facts about a model and its progressive measures, those of the first pass, as plain data."""
    learner = model.learner
    if "rmse" in learner.task.measures:
        measured, of_classes = {**target_facts(learner), "rmse": first.rmse, "mae": first.mae}, {}
    else:
        measured = {"mistakes": first.mistakes, "error": first.error, "log_loss": first.mean_log_loss}
        of_classes = {"classes": class_names(model)}
    return {
        "rows": first.rows,
        "rows_learned": first.learned,
        "passes": passes,
        **measured,
        "updates": learner.updates,
        **({"infeasible": counted_infeasible(learner)} if of_classes else {}),
        "task": learner.task.name,
        **of_classes,
        **alarm_facts(learner),
        "features": learner.n_features,
        **learner_facts(learner),
        "rows_seen": learner.n_seen,
        "seconds": round(seconds, 6),
    }


def training_text(result: dict[str, Any]) -> str:
    """Return the summary of a training of :func:`training_facts`."""
    rate = result["rows"] * result["passes"] / max(result["seconds"], 1e-9)
    infeasible, members = [], []
    if "classes" in result:
        of_task = [f"{task_named(result['task']).nouns:10} {classes_text(result['classes'])}"]
        log_loss = "" if result["log_loss"] is None else f", log-loss {result['log_loss']:.4f}"
        error = f"progressive validation error {percent(result['error'])}"
        measured = f"mistakes   {result['mistakes']:,} ({error}){log_loss}"
        members = [f"           {member['weight']:+.2f} {member['name']}" for member in result.get("members", [])]
        if result["infeasible"]:
            infeasible = [
                f"infeasible skipped {counted(result['infeasible'], 'example')} that no classifier in the ellipsoid "
                "satisfies: the data are not separable with this margin; lower --gamma or use --rule iellip"
            ]
    else:
        of_task = [f"target     {_target_text(result)}"]
        errors = "not measured" if result["rmse"] is None else f"{_errors_text(result)} (progressive validation)"
        measured = f"errors     {errors}"
    learned = [f"learned    {result['rows_learned']:,} of them"] if result["rows_learned"] < result["rows"] else []
    lines = [
        f"rows       {_rows_text(result['rows'], result['passes'])}",
        *learned,
        *of_task,
        f"features   {result['features']:,}",
        f"learner    {_learner_text(result)}",
        *members,
        *([f"drift      {_drift_text(result['drift'])}"] if result.get("drift") else []),
        *([f"alarm      {alarm_text(result)}"] if result.get("alarms") else []),
        measured,
        f"updates    {result['updates']:,}",
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} rows/s)",
        *skipped_lines(result),
        *_cluster_lines(result),
        *_validation_lines(result),
        *infeasible,
    ]
    return "\n".join([*lines, f"model      {_file_text(result)}"])


def _cluster_lines(result: dict[str, Any]) -> list[str]:
    if "rounds" not in result:
        return []
    return [
        f"cluster    {counted(result['partitions'], 'partition')} on {counted(result['workers'], 'worker')}, "
        f"{counted(result['rounds'], 'round')}, {result['bytes_moved']:,} bytes moved"
    ]


def topic_training_text(result: dict[str, Any]) -> str:
    """Return the summary of a topic model's training."""
    rate = result["words"] / max(result["seconds"], 1e-9)
    each = " per class" if task_named(result["task"]).separate else ""
    lines = [
        f"documents  {_rows_text(result['documents'], result['passes'])}",
        f"words      {result['words']:,} ({result['vocabulary']:,} distinct)",
        f"{task_named(result['task']).nouns:10} {classes_text(result['classes'])}",
        f"topics     {result['topics']:,}{each}{' at most' if result['nonparametric'] else ''}, {result['classifier']}",
        f"margin     {result['epsilon']:.4g}",
        *_progressive_lines(result["progressive"]),
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} words/s)",
        *skipped_lines(result),
    ]
    return "\n".join([*lines, f"model      {_file_text(result)}"])


def _validation_lines(result: dict[str, Any]) -> list[str]:
    if "validation" not in result:
        return []
    return [validation_text(result["validation"] | {"best": None}) + (", the best" if result["stopped_early"] else "")]


def _progressive_lines(found: dict[str, Any] | None) -> list[str]:
    """The progressive score of the last documents."""
    if found is None:
        return []
    measure = f"accuracy {found['accuracy']:.3f}" if "accuracy" in found else f"micro-F1 {found['micro_f1']:.3f}"
    warning = [f"warning    {found['warning']}"] if found["warning"] else []
    return [f"predicted  {measure} on {counted(found['documents'], 'document')}, before training on them", *warning]


def skipped_lines(result: dict[str, Any]) -> list[str]:
    """Return how many rows were skipped, and why the first of them."""
    if not result.get("skipped"):
        return []
    examples = result["skipped_examples"]
    rest = result["skipped"] - len(examples)
    lines = [f"skipped    {counted(result['skipped'], 'invalid row')}:"]
    lines += [f"           {example}" for example in examples]
    return lines + ([f"           and {rest:,} more"] if rest > 0 else [])


def _file_text(result: dict[str, Any]) -> str:
    if "model" not in result:
        return "not saved; use -o MODEL to save it"
    return f"{result['model']} ({result['model_bytes']:,} bytes)"


def _learner_text(result: dict[str, Any]) -> str:
    if members := result.get("members"):
        return f"{counted(len(members), 'member')}, {result['task']}"
    rule = result["rule"]
    name = f"{rule['name']}({parameters_text(rule['parameters'])})"
    return ", ".join([name, stored_text(result), result["task"]])


def stored_text(facts: dict[str, Any]) -> str:
    """Return the covariance and, if there is one, the view of a learner as text."""
    seen = f", view {','.join(part['name'] for part in facts['view'])}" if facts["view"] else ""
    return f"covariance {facts['covariance']}{seen}"


def learner_facts(learner: Any) -> dict[str, Any]:
    """Return rule, covariance and views of a learner, or the members of a stack, as plain data."""
    if (members := weighted_members(learner)) is not None:
        drift = {} if learner.moves is None else {"drift": drift_facts(learner)}
        return {"members": members, "dropped": learner.dropped or {}, **drift}
    settings = learner.settings
    return {
        "rule": {"name": settings.rule.name, "parameters": settings.rule.get_params()},
        "covariance": settings.covariance,
        "view": [] if learner.view is None else learner.view.header(),
    }


def drift_facts(learner: Any) -> list[dict[str, int | None]]:
    """Return the rows in which the mixture of a stack had moved to shorter memories, as plain data."""
    moves = getattr(learner, "moves", None)
    spans = [] if moves is None else moves.spans()
    return [{"first_row": first, "last_row": None if end is None else end - 1} for first, end in spans]


def alarm_facts(learner: Any) -> dict[str, int | None]:
    """Return how often the order of rows was doubtful, and since which row, as plain data."""
    return {"alarms": learner.conformal.alarms, "last_alarm": learner.conformal.last_alarm}


def alarm_text(facts: dict[str, Any]) -> str:
    """Return the last alarm as text."""
    noun = "label" if task_named(facts["task"]).multilabel else "row"
    times = f" ({counted(facts['alarms'], 'alarm')})" if facts["alarms"] > 1 else ""
    return f"the order of rows is doubtful since {noun} {facts['last_alarm']:,}{times}"


def _drift_text(spans: list[dict[str, int | None]]) -> str:
    """Return the last of such rows as text."""
    rows = [f"{one['first_row']:,} " + (f"to {one['last_row']:,}" if one["last_row"] else "on") for one in spans]
    before = f" ({counted(len(rows) - MAX_SPANS_SHOWN, 'time')} before)" if len(rows) > MAX_SPANS_SHOWN else ""
    return f"shorter memories in rows {', '.join(rows[-MAX_SPANS_SHOWN:])}{before}"


def weighted_members(learner: Any) -> list[dict[str, Any]] | None:
    """Return name and weight of a stack's members; ``None`` for a single learner."""
    if (names := getattr(learner, "names", None)) is None:
        return None
    weights = learner.member_weights.tolist()
    return [{"name": name, "weight": weight} for name, weight in zip(names, weights, strict=True)]


def counted_infeasible(learner: Any) -> int | None:
    """Return the number of infeasible examples, if the rule counts them."""
    counts = weighted_members(learner) is None and learner.settings.rule.counts_misses
    return learner.infeasible if counts else None


def _rows_text(rows: int, passes: int) -> str:
    return f"{rows:,}" + (f" in each of {passes} passes" if passes > 1 else "")


# --- models ----------------------------------------------------------------------------------------------------------


def model_facts(model: Model, path: str) -> dict[str, Any]:
    """Return what a classifier or a regression is and how it was trained."""
    learner = model.learner
    if "rmse" in learner.task.measures:
        of_task = target_facts(learner) | alarm_facts(learner)
    else:
        of_task = {
            "classes": class_names(model),
            **alarm_facts(learner),
            "mistakes": learner.mistakes,
            "infeasible": counted_infeasible(learner),
        }
    facts = {
        "model": path,
        "model_bytes": os.path.getsize(path),
        **learner_facts(learner),
        "task": learner.task.name,
        **({} if weighted_members(learner) else _settings_facts(learner.settings)),
        "dtype": learner.dtype,
        "features": model.n_features,
        "names": model.features is not None,
        "rows_seen": learner.n_seen,
        "updates": learner.updates,
        **of_task,
        "source": model.source,
        "estimator": model.estimator,
    }
    if weighted_members(learner) is None and learner.covariance.keeps_examples:
        settings = learner.settings
        facts["kernel"] = {
            "name": settings.kernel, "parameters": settings.kernel_params, "budget": settings.budget,
            "examples_kept": learner.covariance.n_examples(learner.state),
        }  # fmt: skip
    return facts


def _settings_facts(settings: Settings) -> dict[str, Any]:
    names = ("prior_variance", "fit_intercept", "average", "forget", "projection")
    return {name: getattr(settings, name) for name in names}


def target_facts(learner: Any) -> dict[str, Any]:
    """Return the statistics of a regression's targets, as lists if there are several per row."""
    from ...tasks.targets import Targets

    targets = Targets.of(learner.state["calibration"])
    weight, predicted = targets.weight.clip(1e-300), targets.predicted.clip(1e-300)
    alone = weighted_members(learner) is None
    noise = {"noise_std": (targets.noise_factor() * learner.settings.rule.noise_variance()) ** 0.5} if alone else {}
    found = {
        "target_offset": targets.mean,
        "target_std": (targets.squares / weight) ** 0.5,
        **noise,
        "rmse": (targets.squared_errors / predicted) ** 0.5,
        "mae": targets.absolute_errors / predicted,
    }
    return {name: numbers.tolist() if len(numbers) > 1 else float(numbers[0]) for name, numbers in found.items()}


def _targets_rows(facts: dict[str, Any]) -> list[list[str]]:
    noise = [["noise", f"standard deviation {_digits(facts['noise_std'])}"]] if "noise_std" in facts else []
    errors = f"{_errors_text(facts)} before training on the rows"
    return [["errors", errors], ["target", _target_text(facts)], *noise]


def _target_text(facts: dict[str, Any]) -> str:
    return f"offset {_digits(facts['target_offset'])}, standard deviation {_digits(facts['target_std'])}"


def _errors_text(facts: dict[str, Any]) -> str:
    return f"RMSE {_digits(facts['rmse'])}, MAE {_digits(facts['mae'])}"


def _digits(numbers: float | list[float]) -> str:
    return ", ".join(map(digits, numbers)) if isinstance(numbers, list) else digits(numbers)


def _mistakes_rows(facts: dict[str, Any]) -> list[list[str]]:
    fraction = percent(facts["mistakes"] / facts["rows_seen"]) if facts["rows_seen"] else "no rows"
    return [["mistakes", f"{facts['mistakes']:,} of them misclassified before training on them ({fraction})"]]


def model_text(facts: dict[str, Any]) -> str:
    """Return the facts about a classifier or a regression as text."""
    classes = [[task_named(facts["task"]).nouns, classes_text(facts["classes"])]] if "classes" in facts else []
    rows = [
        ["model", _file_text(facts)],
        ["learner", _learner_text(facts)],
        *(["", f"{member['weight']:+.2f} {member['name']}"] for member in facts.get("members", [])),
        *(
            ["", f"      {name}, dropped after {counted(rows, 'row')}"]
            for name, rows in facts.get("dropped", {}).items()
        ),
        *([["drift", _drift_text(facts["drift"])]] if facts.get("drift") else []),
        *([["alarm", alarm_text(facts)]] if facts.get("alarms") else []),
        ["trained on", f"{counted(facts['rows_seen'], 'row')} (all passes together)"],
        *(_mistakes_rows(facts) if "mistakes" in facts else _targets_rows(facts)),
        ["updates", f"{facts['updates']:,}"],
        *classes,
        ["features", f"{facts['features']:,}"],
    ]
    if kernel := facts.get("kernel"):
        texts = {name: f"{v:.4g}" if isinstance(v, float) else str(v) for name, v in kernel["parameters"].items()}
        given = ", ".join(f"{name}={text}" for name, text in texts.items())
        most = "" if kernel["budget"] is None else f", at most {kernel['budget']:,}"
        rows.append(["kernel", f"{kernel['name']}({given})"])
        rows.append(["kept", f"{counted(kernel['examples_kept'], 'example')}{most}"])
    if facts["source"].get("format"):
        rows.append(["format", facts["source"]["format"]])
    return table(rows, str.ljust)


def topic_model_facts(model: TopicModel, path: str) -> dict[str, Any]:
    """Return what a topic model is and how it was trained."""
    learner = model.learner
    settings = learner.settings
    return {
        "model": path,
        "model_bytes": os.path.getsize(path),
        "classifier": settings.classifier,
        "task": str(settings.task),
        "topics": settings.n_topics,
        "nonparametric": settings.nonparametric,
        "epsilon": settings.epsilon,
        "classes": class_names(model),
        "vocabulary": learner.n_features,
        "documents_seen": learner.n_seen,
        "words_seen": int(learner.state["counters"][1]),
        "source": model.source,
        "estimator": model.estimator,
    }


def topic_model_text(facts: dict[str, Any]) -> str:
    """Return the facts about a topic model as text."""
    each = " per class" if task_named(facts["task"]).separate else ""
    most = " at most" if facts["nonparametric"] else ""
    documents, words = counted(facts["documents_seen"], "document"), counted(facts["words_seen"], "word")
    rows = [
        ["model", _file_text(facts)],
        ["topics", f"{facts['topics']}{each}{most}, classifier {facts['classifier']}, {facts['task']}"],
        ["trained on", f"{documents}, {words} (all passes together)"],
        [task_named(facts["task"]).nouns, classes_text(facts["classes"])],
        ["vocabulary", counted(facts["vocabulary"], "word")],
    ]
    return table(rows, str.ljust)


# --- models, class by class ------------------------------------------------------------------------------------------


def check_class(model: Model | TopicModel, name: str | None) -> None:
    """Reject the name of an unknown class."""
    if name is not None and name not in class_names(model):
        raise click.UsageError(f"--class: unknown class {name!r}; expected one of {', '.join(class_names(model))}")


def of_class(views: list[Any], name: str | None) -> list[Any]:
    """Return the view of the class asked for; all views if none was, or if one view shows both classes."""
    return views if name is None or len(views) == 1 else [view for view in views if str(view.name) == name]


def class_title(model: Model | TopicModel, name: Any) -> str:
    """Return the title of a class's weights."""
    if model.learner.task.regression:
        return "weights" if len(model.classes) == 1 else f"weights of output {shown(name)}"
    if model.learner.task.binary:
        return f"positive weights favor {shown(name)}, negative {shown(class_names(model)[0])}"
    return f"{model.learner.task.noun} {shown(name)}"


def print_classes(facts: str, views: Sequence[Any], text: Callable[[Any], list[str]], plot: str | None) -> None:
    """Print the facts about a model, then the paragraphs that ``text`` returns for each class."""
    parts = [facts, *(part for view in views[:MAX_CLASSES_SHOWN] for part in text(view))]
    if len(views) > MAX_CLASSES_SHOWN:
        parts.append(f"({len(views) - MAX_CLASSES_SHOWN} more classes; use --class NAME to show one)")
    say("\n\n".join(parts + ([f"Plot: {plot}"] if plot else [])))
