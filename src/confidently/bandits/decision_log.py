"""Logs of decisions among actions with named features, as files, and what a model makes of them."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

import numpy as np

from ..data.batch import DataError
from ..data.formats.delimiters import with_delimiter
from ..data.formats.guess import format_of_content
from ..data.formats.lines import pieces
from ..data.formats.table import BY_NAME, NAMESPACES, OBJECTS, TABLES, format_of_suffix
from ..data.reading import ReaderOptions
from ..data.sources.encoding import UTF8
from ..data.sources.json_schema import parse
from ..data.sources.paths import expand_paths
from ..data.sources.source import display_name, peek_chunks, read_chunks
from ..data.warning import warn
from ..wording import counted
from . import personalizer, vw_json
from .actions import Action, Actions
from .decision_model import DecisionModel
from .decision_tables import MAX_ACTIONS, LogColumns, actions_in_tables, read_table
from .logged_decision import LoggedDecision, Skipping, checked
from .named_features import flat
from .policies import Policy
from .vw_text import read_text

LEAST = 1e-12  # probability of all other actions, below which their mean reward does not matter
MAX_BEGUN = 1 << 16  # bytes of a first line that show what it is
OURS = frozenset(("context", "actions", "chosen"))  # of which a line without a label of others has one
FORMATS = (OBJECTS, NAMESPACES, *TABLES)

Path = str | os.PathLike[str]


class DecisionLog(Iterator[LoggedDecision]):
    """The decisions of logs, which are read as it goes on.

    Attributes
    ----------
    skipped : int
        Number of invalid decisions that were skipped.
    skipped_examples : list of str
        Location and error of the first of them.
    """

    def __init__(self, decisions: Iterator[LoggedDecision], skipping: Skipping) -> None:
        self._decisions, self._skipping = decisions, skipping

    def __next__(self) -> LoggedDecision:
        return next(self._decisions)

    @property
    def skipped(self) -> int:
        return self._skipping.skipped

    @property
    def skipped_examples(self) -> list[str]:
        return self._skipping.skipped_examples


def read_decisions(
    paths: Path | Sequence[Path],
    *,
    actions: int | Sequence[str] | None = None,
    on_error: str | int = "stop",
    format: str | None = None,
    chosen: str | None = None,
    probability: str | None = None,
    reward: str | None = None,
    slot: str | None = None,
    labeled: bool = True,
    **tables: Any,
) -> DecisionLog:
    """Read the decisions of logs, which may be compressed.

    A line of JSON is one decision: an object with ``context``, ``actions`` (ids, or objects with ``id`` and,
    optionally, ``features``, ``cost`` and ``excluded``), ``chosen`` (an id), ``probability``, ``reward`` (null until it
    is known) and perhaps ``excluded`` (ids). Further keys are ignored. The lines that Azure Personalizer exports
    (``--dsjson`` of Vowpal Wabbit) are read as the requests that they come from: one of several slots is a decision for
    each, events that were never activated are left out, and ``pdrop`` is a weight. Lines of Vowpal Wabbit's ``--json``
    have a label in each.

    A row of CSV, TSV, Parquet or Feather is one decision, too. Columns have the chosen action, its probability, the
    reward, if it is known, and perhaps the slot; their usual names are those of JSON and of the Open Bandit Dataset
    (``item_id``, ``propensity_score``, ``click``, ``position``). The others are the context, read as in tables of rows;
    columns called ``id``, ``event_id`` or ``timestamp`` are not.

    Other files are Vowpal Wabbit's text: for ``--cb_explore_adf`` with a line per action, or, with ``actions``, for
    ``--cb K`` with a line per decision. Rewards are minus the costs. Features have the names of those in JSON.

    Parameters
    ----------
    paths : path or list of paths
        Read one after the other.
    actions : int or sequence of str, optional
        The actions of every decision in tables, of ``--cb K`` and of lines of JSON that list none: K for those called
        "1" to "K", or the names of the first, the second and so on. By default, those that all tables together have.
    on_error : "stop", "skip" or int
        Action on an invalid decision: raise, skip it, or skip at most that many and then raise.
    format : str, optional
        Of all files: that of a table, ``jsonl`` or ``vw``; by default, by their suffixes or first lines.
    chosen, probability, reward, slot : str, optional
        The columns of tables, if they have other names. A slot is a part of the context (:func:`in_slot`).
    labeled : bool
        Otherwise only contexts and actions are read, and what was chosen need not be there.
    tables
        How to read tables, as keywords of :class:`confidently.data.ReaderOptions`: their delimiter, dates and so on.

    Raises
    ------
    ValueError
        If an argument is invalid.
    confidently.data.DataError
        While iterating, for an invalid decision that is not skipped, with the file and its line.
    OSError
        While iterating, if a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".vw") as file:
    ...     _ = file.write("2:-1:0.5 |user age:0.3\\n1:0:0.5 |user new\\n")
    ...     file.flush()
    ...     for one in read_decisions(file.name, actions=2):
    ...         print(one.context, one.actions[one.chosen].id, one.probability, one.reward)
    {'user.age': 0.3} 2 0.5 1.0
    {'user.new': 1.0} 1 0.5 0.0
    """
    if format not in (None, *FORMATS):
        raise ValueError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    skipping, columns = Skipping(on_error), LogColumns(chosen, probability, reward, slot)
    log = _Log(names_of(actions), columns, tables, format, labeled, skipping)
    return DecisionLog(_decisions(expand_paths(paths), log), skipping)


def names_of(actions: int | Sequence[str] | None) -> list[str] | None:
    """Return the names of actions, of which there may be only the number; ``ValueError``: there are none, or twice."""
    if actions is None:
        return None
    if isinstance(actions, int) and not 1 <= actions <= MAX_ACTIONS:
        raise ValueError(f"actions: expected a number from 1 to {MAX_ACTIONS:,}, got {actions}")
    names = [str(k) for k in range(1, actions + 1)] if isinstance(actions, int) else [str(one) for one in actions]
    Actions([Action(name) for name in names])
    return names


class _Log(NamedTuple):
    """How logs are read."""

    ids: list[str] | None
    columns: LogColumns
    tables: dict[str, Any]
    format: str | None
    labeled: bool
    skipping: Skipping

    def format_of(self, path: Path) -> str:
        """Return the format of a file; ``DataError``: it is no table, for which there are options."""
        found = _format_of(path) if self.format is None else self.format
        given = [*self.tables, *(name for name, column in self.columns._asdict().items() if column is not None)]
        if given and found not in TABLES:
            option = given[0].replace("_", "-")
            raise DataError(f"{display_name(path)}: --{option} is for tables ({', '.join(TABLES)}); omit it")
        return found

    def reading(self, path: Path, format: str) -> ReaderOptions:
        """Return how to read a table; ``DataError``: the options do not fit it."""
        try:
            return with_delimiter(path, ReaderOptions(format=format, **self.tables))
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"{display_name(path)}: {error}") from None


def _decisions(paths: Sequence[Path], log: _Log) -> Iterator[LoggedDecision]:
    formats, of_tables = {path: log.format_of(path) for path in paths}, log.ids
    tables = {path: log.reading(path, format) for path, format in formats.items() if format in TABLES}
    if tables and of_tables is None:
        of_tables = actions_in_tables(tables, log.columns)
    for path in paths:
        if of_tables is not None and path in tables:
            found = read_table(path, tables[path], log.columns, of_tables, log.skipping, log.labeled)
        elif formats[path] == NAMESPACES:
            found = read_text(path, log.ids, log.skipping)
        else:
            found = _of_lines(path, log)
        yield from found


def _format_of(path: Path) -> str:
    """Return the format of a log: of a table, ``jsonl`` or ``vw``."""
    named = format_of_suffix(path)
    if named in TABLES:
        return named
    guessed = ""
    if named is None:
        with suppress(OSError, ValueError):  # raised again when the file is read
            guessed = format_of_content(path) or ""
    if guessed and BY_NAME[guessed].binary:
        return guessed
    begun = b""
    with closing(peek_chunks(path, UTF8)) as chunks:
        for chunk, _ in chunks:
            begun = (begun + chunk).removeprefix(BOM_UTF8).lstrip()
            if b"\n" in begun or len(begun) > MAX_BEGUN:
                break
    first = begun.partition(b"\n")[0]
    if first.startswith(b"{"):
        return OBJECTS
    return guessed if guessed in TABLES and b"|" not in first else NAMESPACES


def _of_lines(path: Path, log: _Log) -> Iterator[LoggedDecision]:
    """Yield the decisions of lines of JSON."""
    name, alone = display_name(path), 0
    for place, line in _lines(path):
        found = list[LoggedDecision]()
        with log.skipping.at(place, "a decision" if log.labeled else "a context with actions"):
            record = parse(line, dict[str, Any])
            alone += personalizer.is_reward(record)
            found = [checked(one)._replace(place=place) for one in _of_record(record, line, log)]
        yield from found
    if alone and log.labeled:
        warn(f"{name}: {counted(alone, 'reward')} of decisions in other files; left out")


def _of_record(record: dict[str, Any], line: bytes, log: _Log) -> Iterator[LoggedDecision]:
    if "_label_ca" in record:
        raise ValueError("_label_ca: continuous actions (--cats) are not read; round them to a few actions")
    if personalizer.is_exported(record):
        yield from personalizer.decisions_of(record, log.labeled)
    elif vw_json.is_vw(record) or (log.ids is not None and OURS.isdisjoint(record)):
        yield from vw_json.decisions_of(vw_json.parsed(line), log.ids, log.labeled)
    else:
        yield _of_json(record, log.ids, log.labeled)


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a file that are not empty, each with its place."""
    name = display_name(path)
    for piece in pieces(read_chunks(path)):
        *complete, _ = (piece.begun + piece.text).split(b"\n")
        for number, line in enumerate(complete, start=piece.line):
            if line.strip():
                yield f"{name}, line {number}", line


def _of_json(record: dict[str, Any], ids: list[str] | None, labeled: bool) -> LoggedDecision:
    given = record["actions"] if ids is None else record.get("actions", ids)
    if not isinstance(given, list):
        raise TypeError(f"actions: expected a list, got {given!r}")
    actions, excluded = [_action(one) for one in given], {_id(one) for one in record.get("excluded") or ()}
    if unknown := excluded - {one.id for one in actions}:
        raise ValueError(f"excluded {min(unknown)!r} is not among the actions")
    actions = [one._replace(excluded=one.excluded or one.id in excluded) for one in actions]
    found = LoggedDecision(record.get("context"), actions)
    if not labeled:
        return found
    names, reward, chosen = [one.id for one in found.actions], record.get("reward"), str(record["chosen"])
    if chosen not in names:
        raise ValueError(f"chosen {chosen!r} is not among the actions")
    return found._replace(chosen=names.index(chosen), probability=float(record["probability"]), reward=reward)


def _action(given: Any) -> Action:
    if not isinstance(given, dict):
        return Action(_id(given))
    return Action(
        _id(given["id"]), given.get("features"), float(given.get("cost", 0.0)), excluded=bool(given.get("excluded"))
    )


def _id(given: Any) -> str:
    if isinstance(given, dict | list) or given is None:
        raise TypeError(f"actions: expected ids, which are texts or numbers, got {given!r}")
    return str(given)


def has_features(decision: LoggedDecision) -> bool:
    """Return whether an action has features, so that one model can serve all."""
    return any(flat(one.features) for one in decision.actions)


def play(
    model: DecisionModel, decisions: Iterable[LoggedDecision], *, learn: bool, policy: str | Policy | None = None
) -> dict[str, Any]:
    """Return what off-policy estimators need of the policy that a model has at each decision with a reward.

    Parameters
    ----------
    model : DecisionModel
    decisions : iterable of LoggedDecision
    learn : bool
        Whether the model learns from each reward, after its probabilities and expected rewards were taken: the values
        are then those of a policy that learns, and of a model that has not seen what it predicts.
    policy : str or Policy, optional
        Instead of the model's own.

    Returns
    -------
    dict
        The arguments of :func:`evaluate_policy`. Since the number of actions may vary, action 0 is the chosen one, and
        action 1 stands for all others.
    """
    names = "reward", "pscore", "action_dist", "estimated_rewards_by_reg_model", "sample_weight"
    found: dict[str, list[Any]] = {name: [] for name in names}
    for one in decisions:
        if one.reward is None:
            continue
        actions = Actions(one.actions)
        p = model.probabilities(one.context, actions, policy)
        mean = model.scores(one.context, actions)[0]
        own, rest = float(p[one.chosen]), 1.0 - float(p[one.chosen])
        others = (float(p @ mean) - own * float(mean[one.chosen])) / rest if rest > LEAST else 0.0
        found["reward"].append(one.reward)
        found["pscore"].append(one.probability)
        found["sample_weight"].append(one.weight)
        found["action_dist"].append((own, rest))
        found["estimated_rewards_by_reg_model"].append((float(mean[one.chosen]), others))
        if learn:
            model.learn(one.context, one.actions[one.chosen], one.reward, one.weight)
    arrays = {name: np.array(values, dtype=np.float64) for name, values in found.items()}
    return {**arrays, "action": np.zeros(len(found["reward"]), dtype=np.intp)}
