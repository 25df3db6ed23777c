"""A decision of a log, and what becomes of those that are invalid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..data.batch import DataError
from ..data.stream import MAX_SKIPPED_SHOWN, max_skipped
from ..wording import counted
from .action_rewards import MAX_WEIGHT
from .actions import Action, Actions
from .named_features import flat

# What the parts of an invalid line raise, in whatever depth.
INVALID = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class LoggedDecision(NamedTuple):
    """A decision of a log.

    Attributes
    ----------
    context : object
        Features, as :func:`confidently.bandits.flat` reads them.
    actions : list of Action
    chosen : int
        The number of the chosen action.
    probability : float
        With which it was chosen, in (0, 1].
    reward : float, optional
        None until it is known.
    weight : float
        The number of decisions that it stands for, where a log has a part of them.
    place : str
        The file and the line.
    """

    context: Any
    actions: list[Action]
    chosen: int = 0
    probability: float = 1.0
    reward: float | None = None
    weight: float = 1.0
    place: str = ""


def checked(decision: LoggedDecision) -> LoggedDecision:
    """Return a decision; ``ValueError``, ``TypeError``: a part of it is out of range."""
    Actions(decision.actions)
    return checked_choice(decision)


def checked_choice(decision: LoggedDecision) -> LoggedDecision:
    """Return a decision whose actions are sound; ``ValueError``, ``TypeError``: another part is out of range."""
    if not 0 < decision.probability <= 1:
        raise ValueError(f"probability must be in (0, 1], got {decision.probability!r}")
    reward = decision.reward
    if reward is not None and (not isinstance(reward, int | float) or not math.isfinite(reward)):
        raise ValueError(f"reward must be a finite number or null, got {reward!r}")
    if not 0 <= decision.chosen < len(decision.actions):
        raise ValueError(f"the chosen action {decision.chosen} is not one of {len(decision.actions)}")
    if not 0 < decision.weight <= MAX_WEIGHT:
        raise ValueError(f"the weight must be in (0, {MAX_WEIGHT:g}], got {decision.weight!r}")
    flat(decision.context)
    return decision


class Skipping:
    """What to do about invalid decisions, and those that were skipped.

    Parameters
    ----------
    on_error : "stop", "skip" or int
        Raise, skip them, or skip at most that many and then raise.

    Attributes
    ----------
    skipped : int
    skipped_examples : list of str
        Location and error of the first of them.
    """

    def __init__(self, on_error: str | int = "stop") -> None:
        self.stops, self.limit = on_error == "stop", max_skipped(on_error)
        self.skipped, self.skipped_examples = 0, list[str]()

    def add(self, n: int, problems: Sequence[str]) -> None:
        """Count invalid decisions; ``DataError``: they are not skipped, or too many."""
        if self.stops and n:
            raise DataError(problems[0])
        self.skipped += n
        room = max(MAX_SKIPPED_SHOWN - len(self.skipped_examples), 0)
        self.skipped_examples += [str(DataError(one)) for one in problems[:room]]
        if self.skipped > self.limit:
            shown = "; ".join(self.skipped_examples)
            raise DataError(f"more than {counted(int(self.limit), 'invalid decision')}; the first: {shown}")

    @contextmanager
    def at(self, place: str, what: str = "a decision") -> Iterator[None]:
        """Count what the context raises as an invalid decision."""
        try:
            yield
        except DataError as error:
            self.add(1, [str(error)])
        except RecursionError:
            self.add(1, [f"{place}: not {what}: it is nested too deeply"])
        except INVALID as error:
            problem = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            self.add(1, [f"{place}: not {what}: {problem}"])
