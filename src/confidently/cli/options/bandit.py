"""Options of training on a log of decisions, and of evaluating a policy on one."""

from __future__ import annotations

from typing import Any

import click

from ..inputs import kind_of_model
from .arguments import FRACTION, all_names, is_given, listed, names_of
from .reading import on_error_option
from .sections import BANDIT, Decorator, adding

POLICY = click.option(
    "--policy",
    metavar="NAME",
    help="The policy: rand_ucb, lin_ts, lin_ucb, square_cb, epsilon_greedy or greedy.  [default: rand_ucb, or that of "
    "the model]",
)
MIN_PROPENSITY = click.option(
    "--min-propensity",
    type=FRACTION,
    help="The least probability that the policy of the log gives an action.  [default: the least one of the log]",
)
_OF_LOGS: list[Decorator] = [
    click.option(
        "--actions",
        "--cb",
        "actions",
        metavar="K|NAMES",
        callback=lambda ctx, parameter, value: None if value is None else _actions(value),
        help="Tables, VW text and JSON for --cb K: the actions, K for 1 to K, or their names.  [default: tables: those "
        "in the data]",
    ),
    *(
        click.option(f"--{name}", metavar="COLUMN", help=f"Tables of decisions: {what}.  [default: {usual}]")
        for name, what, usual in (
            ("chosen", "the chosen action", "chosen, action, arm, item_id"),
            ("probability", "its probability", "probability, propensity_score, pscore"),
            ("reward", "the reward; an empty cell is not known", "reward, click"),
            ("slot", "what the action was chosen for", "slot, position"),
        )
    ),
]
_DROP = click.option(
    "--drop",
    metavar="NAMES",
    multiple=True,
    callback=all_names,
    help="Tables of decisions: leave out these columns, as in training. Repeatable.",
)
_OPTIONS = [
    click.option(
        "--bandit",
        is_flag=True,
        help="Train on a log of decisions: JSON lines, tables, or Vowpal Wabbit's text.",
    ),
    POLICY,
    click.option(
        "--shared/--own",
        "shared",
        default=None,
        help="One model learns from the features of actions, or each action has its own.  [default: --shared if "
        "the first decision's actions have features]",
    ),
    click.option(
        "--reward-range",
        type=float,
        nargs=2,
        default=(0.0, 1.0),
        show_default=True,
        metavar="LOW HIGH",
        help="The least and the largest reward that are expected.",
    ),
    MIN_PROPENSITY,
    *_OF_LOGS,
]
bandit_options = adding(_OPTIONS, BANDIT)
log_options = adding([*_OF_LOGS, _DROP, on_error_option], BANDIT)
OF_BANDITS = ("policy", "shared", "reward_range", "min_propensity")
OF_LOGS = ("actions", "chosen", "probability", "reward", "slot")
OF_TABLES = (
    "format", "columns", "delimiter", "missing", "weight", "drop", "only", "category", "numbers", "dates",
    "date_format", "decimal", "thousands", "units", "encoding",
)  # fmt: skip
NEW_LOGS = (*OF_LOGS, "drop", "on_error")  # of data for a trained model
WITH_BANDIT = (
    "bandit", *OF_BANDITS, *OF_LOGS, *OF_TABLES, "data", "output_path", "init_model", "as_json", "quiet", "on_error",
)  # fmt: skip
MAX_DIGITS = 9  # of a number of actions
IN_MODEL = ("policy", "shared", "reward_range")  # what --init-model has


def check_bandit(ctx: click.Context, options: dict[str, Any]) -> None:
    """Raise an error for options that do not go together."""
    given = [name for name in ctx.params if is_given(ctx, name)]
    if not options["bandit"]:
        if wrong := [name for name in given if name in (*OF_BANDITS, *OF_LOGS)]:
            raise click.UsageError(f"{listed(wrong)} needs --bandit")
        return
    if wrong := [name for name in given if name not in WITH_BANDIT]:
        raise click.UsageError(f"{listed(wrong)}: not supported with --bandit; omit it")
    if options["init_model"] and (wrong := [name for name in given if name in IN_MODEL]):
        raise click.UsageError(f"{listed(wrong)}: the model to continue has it; omit it")


def check_no_bandit(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Raise an error for options that are for the model of a bandit only."""
    if wrong := [name for name in ctx.params if is_given(ctx, name) and name in names]:
        raise click.UsageError(f"{listed(wrong)}: for a model of train --bandit; omit it")


def check_given(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Raise an error for options that a command does not have for the model of a bandit."""
    if wrong := [name for name in ctx.params if is_given(ctx, name) and name not in names]:
        raise click.UsageError(f"{listed(wrong)}: not supported for the model of a bandit; omit it")


def is_bandit(path: str) -> bool:
    """Return whether a file is that of a model of ``train --bandit``."""
    return kind_of_model(path) == "decisions"


def opening_of_logs(options: dict[str, Any]) -> dict[str, Any]:
    """Return how to read logs, as :func:`confidently.bandits.read_decisions` takes it."""
    found = {name: options.get(name) for name in (*OF_LOGS, "on_error")}
    return found | {name: options[name] for name in OF_TABLES if options.get(name)}


def _actions(text: str) -> int | list[str]:
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else list(names_of(text))
