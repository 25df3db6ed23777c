"""Logs of decisions as tables, one row per decision, such as those of the Open Bandit Dataset."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from .. import _core
from ..data.batch import Batch, DataError
from ..data.formats.header import column_names
from ..data.reading import MAX_LISTED, ReaderOptions
from ..data.sources.source import display_name
from ..data.stream import open_stream
from ..data.warning import DataWarning
from ..similar import hint
from .actions import Action
from .logged_decision import LoggedDecision, Skipping, checked_choice
from .named_features import in_slot

Path = str | os.PathLike[str]
MAX_ACTIONS = 100_000

USUAL = {  # names of columns: those of JSON lines, and others that logs have
    "chosen": ("chosen", "action", "arm", "item_id", "action_id"),
    "probability": ("probability", "propensity_score", "propensity", "pscore", "action_prob"),
    "reward": ("reward", "click"),
    "slot": ("slot", "position"),
}
NO_FEATURES = ("", "id", "event_id", "timestamp")  # row names, and what is ignored in JSON lines, too
NO_LABEL = "\0"  # no column has this name, so that none is taken as that of labels


class LogColumns(NamedTuple):
    """The columns of a table that are not of the context."""

    chosen: str | None = None
    probability: str | None = None
    reward: str | None = None
    slot: str | None = None

    def found(self, path: Path, reading: ReaderOptions, required: Sequence[str]) -> LogColumns:
        """Return the columns of a file, those that are not named by their usual names.

        Raises
        ------
        DataError
            If a column is not there that is named or required.
        """
        names, name = column_names(path, reading), display_name(path)
        shown = ", ".join(map(repr, names[:MAX_LISTED])) + (", ..." if len(names) > MAX_LISTED else "")
        roles = dict[str, str | None]()
        for role, given in self._asdict().items():
            if given is not None and given not in names:
                meant = hint(given, list(names))
                raise DataError(f"{name}: no column {given!r} (--{role}){meant}; there are {shown}")
            usual = (one for one in USUAL[role] if one in names and one not in self)
            roles[role] = given if given is not None else next(usual, None)
            if roles[role] is None and role in required:
                expected = ", ".join(USUAL[role])
                raise DataError(
                    f"{name}: no column with {OF_ROLE[role]}, expected one of {expected}; use --{role} COLUMN; there "
                    f"are {shown}"
                )
        return LogColumns(**roles)


OF_ROLE = {"chosen": "the chosen action", "probability": "its probability", "reward": "the reward"}


def actions_in_tables(tables: Mapping[Path, ReaderOptions], columns: LogColumns) -> list[str]:
    """Return the actions that were chosen in tables: numbers ascending, other names in sorted order.

    Raises
    ------
    DataError
        If a table has no column of them, or cannot be read twice.
    """
    found = dict[str, None]()
    for path, reading in tables.items():
        chosen = columns.found(path, reading, ()).chosen
        if chosen is None:
            raise DataError(
                f"{display_name(path)}: no column with {OF_ROLE['chosen']}, expected one of "
                f"{', '.join(USUAL['chosen'])}; use --chosen COLUMN, or --actions for contexts alone"
            )
        if not os.path.isfile(path):
            raise DataError(f"{display_name(path)}: a table that cannot be read twice needs its actions; use --actions")
        kinds = {"category": (chosen,), "numbers": (), "dates": (), "units": (), "weight": None}
        only = replace(reading, only=(chosen,), drop=(), **kinds)  # type: ignore[arg-type]
        with warnings.catch_warnings(action="ignore", category=DataWarning):
            for batch in _batches(path, only, (chosen,), Skipping("skip")):
                found |= dict.fromkeys(batch.kept[chosen])
                if len(found) > MAX_ACTIONS:
                    raise DataError(
                        f"{display_name(path)}: more than {MAX_ACTIONS:,} actions in column {chosen!r}; use --chosen "
                        "for another one"
                    )
    names = [name for name in found if not _core.is_missing(name)]
    return sorted(names, key=lambda name: (0, int(name), name) if name.isdecimal() else (1, 0, name))


def read_table(
    path: Path, reading: ReaderOptions, columns: LogColumns, ids: Sequence[str], skipping: Skipping, labeled: bool
) -> Iterator[LoggedDecision]:
    """Yield the decisions of a table: its rows, in whose contexts features are called as in JSON.

    Parameters
    ----------
    path : path
    reading : ReaderOptions
    columns : LogColumns
    ids : sequence of str
        Of all actions.
    skipping : Skipping
    labeled : bool
        Whether to read what was chosen.

    Raises
    ------
    DataError
        As :func:`read_decisions`.
    """
    roles = columns.found(path, reading, ("chosen", "probability", "reward") if labeled else ())
    role_columns = {
        role: one for role, one in [*roles._asdict().items(), ("weight", reading.weight)] if one is not None
    }
    used = list(role_columns.values())
    others = [one for one in NO_FEATURES if one in column_names(path, reading) and one not in (*used, *reading.only)]
    drop = tuple(dict.fromkeys([*reading.drop, *used, *others]))
    how = replace(reading, drop=drop, weight=None, only=tuple(one for one in reading.only if one not in drop))
    names, number = list[str](), partial(_number, reading.number_format(), reading.missing or ())
    actions = [Action(one) for one in ids]
    places = {one: k for k, one in enumerate(ids)}

    def label_of(cells: dict[str, str]) -> dict[str, Any]:
        chosen, probability, reward = (cells[role] for role in ("chosen", "probability", "reward"))
        if chosen not in places:
            raise ValueError(f"chosen {chosen!r} is not among the actions")
        known = {"probability": number(probability), "weight": number(cells.get("weight", "1"))}
        if missing := [name for name, value in known.items() if value is None]:
            raise ValueError(f"it lacks a {missing[0]}")
        return known | {"chosen": places[chosen], "reward": number(reward)}

    for batch in _batches(path, how, used, skipping):
        names += [] if batch.new_features is None else list(batch.new_features.names)
        kept = {role: list(batch.kept[one]) for role, one in role_columns.items()}
        start, row_of = batch.start.tolist(), _places(batch)
        for k in range(len(batch)):
            entries, found = slice(start[k], start[k + 1]), None
            cells = {role: texts[k] for role, texts in kept.items()}
            with skipping.at(row_of(k)):
                columns_of_row, values = batch.columns[entries].tolist(), batch.values[entries].tolist()
                context = {names[j]: value for j, value in zip(columns_of_row, values, strict=True)}
                if not _core.is_missing(cells.get("slot", "")):
                    context = in_slot(context, {roles.slot: cells["slot"]})
                label = label_of(cells) if labeled else {}
                found = checked_choice(LoggedDecision(context, actions, place=row_of(k), **label))
            if found is not None:
                yield found


def _batches(path: Path, reading: ReaderOptions, keep: Sequence[str], skipping: Skipping) -> Iterator[Batch]:
    """Yield the rows of a table as they are, with names that are kept exactly."""
    how = replace(reading, vocabulary=True, normalize="none", label=NO_LABEL)
    on_error = "stop" if skipping.stops else "skip"
    with open_stream([path], how, ignore_labels=True, keep=tuple(keep), on_error=on_error, parsers=0) as stream:
        for batch in stream:
            skipping.add(batch.skipped, batch.skipped_examples)
            yield batch


def _places(batch: Batch) -> Callable[[int], str]:
    """Return a function of the number of a row in a batch, which says where it is in the file."""
    name, _, first = batch.location.rpartition(" ")
    if batch.skipped:
        return lambda k: f"{batch.location} or later"
    return lambda k: f"{name} {int(first) + k}"


def _number(form: _core.NumberFormat, missing: Sequence[str], text: str) -> float | None:
    """Return the number of a cell; ``None`` if it is missing; ``ValueError``: it is something else."""
    if not text.strip() or text in missing or _core.is_missing(text):
        return None
    if text in ("true", "True", "false", "False"):  # as Parquet has them
        return float(text in ("true", "True"))
    found = form.read(text)
    if found is None or found[1] or not math.isfinite(found[0]):
        raise ValueError(f"expected a number, got {text!r}")
    return found[0]
