"""What the summaries of trainings and of models both say of a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...models.moved_columns import alarm_columns, moved_columns
from ...wording import counted, listed
from .text import digits, parameters_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...models.model import Model

MAX_SPANS_SHOWN = 5  # of rows with shorter memories
MAX_COLUMNS_SHOWN = 3  # of those that moved


def learner_text(result: dict[str, Any]) -> str:
    """Return the rule, its parameters, what is stored and the task of a learner."""
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


def alarm_facts(model: Model) -> dict[str, Any]:
    """Return how many drift alarms there were, the row of the last one, and which columns moved, as plain data."""
    return {
        "alarms": model.learner.conformal.alarms,
        "last_alarm": model.learner.conformal.last_alarm,
        "alarm_columns": alarm_columns(model),
        "moved_columns": moved_columns(model),
    }


def alarm_text(facts: dict[str, Any]) -> str:
    """Return the last alarm as text."""
    times = f" ({counted(facts['alarms'], 'alarm')})" if facts["alarms"] > 1 else ""
    columns = facts["alarm_columns"]
    moved = "" if columns is None else f": {_columns_text(columns) if columns else 'no column'} moved"
    return f"drift alarm at row {facts['last_alarm']:,}{times}{moved}"


def moved_text(facts: dict[str, Any]) -> str | None:
    """Return the columns that moved without an alarm as text; None: there are none."""
    named = facts["alarm_columns"] or ()
    left = {name: row for name, row in (facts["moved_columns"] or {}).items() if name not in named}
    return f"{_columns_text(list(left))}, last at row {max(left.values()):,}" if left else None


def last_move_text(columns: Mapping[str | int, int]) -> str:
    """Return the columns that moved last as text."""
    last = max(columns.values())
    return f"{_columns_text([name for name, row in columns.items() if row == last])} moved at row {last:,}"


def _columns_text(columns: list[str | int]) -> str:
    return f"column{'s' * (len(columns) > 1)} {listed(columns, MAX_COLUMNS_SHOWN)}"


def drift_text(spans: list[dict[str, int | None]]) -> str:
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


def rows_text(rows: int, passes: int) -> str:
    """Return how many rows were read, and in how many passes."""
    return f"{rows:,}" + (f" in each of {passes} passes" if passes > 1 else "")


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


def targets_rows(facts: dict[str, Any]) -> list[list[str]]:
    """Return the rows of a table about errors, targets and noise."""
    noise = [["noise", f"standard deviation {_digits(facts['noise_std'])}"]] if "noise_std" in facts else []
    errors = f"{errors_text(facts)} before training on the rows"
    return [["errors", errors], ["target", target_text(facts)], *noise]


def target_text(facts: dict[str, Any]) -> str:
    """Return offset and standard deviation of the targets."""
    return f"offset {_digits(facts['target_offset'])}, standard deviation {_digits(facts['target_std'])}"


def errors_text(facts: dict[str, Any]) -> str:
    """Return the progressive errors of numbers."""
    return f"RMSE {_digits(facts['rmse'])}, MAE {_digits(facts['mae'])}"


def _digits(numbers: float | list[float]) -> str:
    return ", ".join(map(digits, numbers)) if isinstance(numbers, list) else digits(numbers)


def file_text(result: dict[str, Any]) -> str:
    """Return where a model is saved."""
    if "model" not in result:
        return "not saved; use -o MODEL to save it"
    return f"{result['model']} ({result['model_bytes']:,} bytes)"
