"""Options of training on a log of decisions, and of evaluating a policy on one."""

from __future__ import annotations

from typing import Any

import click

from ..inputs import kind_of_model
from .arguments import FRACTION, is_given, listed
from .sections import BANDIT, adding

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
_OPTIONS = [
    click.option(
        "--bandit",
        is_flag=True,
        help="Train on a log of decisions, as JSON lines or as Vowpal Wabbit's text for --cb_explore_adf.",
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
]
bandit_options = adding(_OPTIONS, BANDIT)
OF_BANDITS = ("policy", "shared", "reward_range", "min_propensity")
WITH_BANDIT = ("bandit", *OF_BANDITS, "data", "output_path", "init_model", "as_json", "quiet")
IN_MODEL = ("policy", "shared", "reward_range")  # what --init-model has


def check_bandit(ctx: click.Context, options: dict[str, Any]) -> None:
    """Raise an error for options that do not go together."""
    given = [name for name in ctx.params if is_given(ctx, name)]
    if not options["bandit"]:
        if wrong := [name for name in given if name in OF_BANDITS]:
            raise click.UsageError(f"{listed(wrong)} needs --bandit")
        return
    if wrong := [name for name in given if name not in WITH_BANDIT]:
        raise click.UsageError(f"{listed(wrong)}: not supported with --bandit; omit it")
    if options["init_model"] and (wrong := [name for name in given if name in IN_MODEL]):
        raise click.UsageError(f"{listed(wrong)}: the model to continue has it; omit it")


def check_given(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Raise an error for options that a command does not have for the model of a bandit."""
    if wrong := [name for name in ctx.params if is_given(ctx, name) and name not in names]:
        raise click.UsageError(f"{listed(wrong)}: not supported for the model of a bandit; omit it")


def is_bandit(path: str) -> bool:
    """Return whether a file is that of a model of ``train --bandit``."""
    return kind_of_model(path) == "decisions"
