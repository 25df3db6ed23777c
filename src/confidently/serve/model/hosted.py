"""A model of the server: a name with versions, one of which answers, and the rows that people are to label."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...memory import give_back
from ...models.file import ModelFileError
from ..log.edits import NO_EDITS, Edits
from ..log.event_log import EventLog
from ..log.events import State, StoredModel
from ..problems import Problem, tried
from .base import HostedModel
from .candidates import candidate
from .decision_rows import DecisionCheck
from .encoding import Vectors
from .labelling import POOL, Labeller, Labelling
from .logged_decisions import is_decision
from .metrics import Metrics
from .predicted import Answer
from .rows import KeyCheck, RowCheck
from .settings import ModelSettings
from .version import Version


class Hosted:
    """A model of the server.

    Parameters
    ----------
    stored : StoredModel
        As the log has it.
    folder : path
        Of its versions.
    live : Version
        The one that answers.

    Attributes
    ----------
    others : dict of Version
        Those that are trained from the log meanwhile, by their numbers.
    check : RowCheck
        Of the rows that come in.
    vectors : Vectors or None
        Adds to them what an encoder makes of their texts, if the model has one.
    behind : int
        By how many events it is behind the primary, in a replica.
    rewarded_until : int
        In milliseconds since 1970: older decisions have a reward, or none is due.
    """

    def __init__(self, stored: StoredModel, folder: Path, live: Version) -> None:
        self.number, self.name, self.created, self.folder = stored.number, stored.name, stored.created, folder
        self.live, self.others = live, dict[int, Version]()
        self.deleted, self.behind = False, 0  # events, of a replica
        self.rewarded_until = 0
        self.labelling = Labelling(twice=not live.model.task.regression)  # people seldom give the same number
        self.take_check()

    # --- the version that answers ------------------------------------------------------------------------------------

    @property
    def model(self) -> HostedModel:
        """What answers."""
        return self.live.model

    @property
    def metrics(self) -> Metrics:
        """The metrics of what answers."""
        return self.live.metrics

    @property
    def settings(self) -> ModelSettings:
        """The settings of what answers."""
        return self.live.settings

    @property
    def waiting(self) -> deque[tuple[Any, Any]]:
        """What is durable and not learned yet."""
        return self.live.waiting

    @property
    def cursor(self) -> int:
        """The last event learned."""
        return self.live.cursor

    @property
    def failed(self) -> str | None:
        """Why the model has stopped answering and learning."""
        return self.live.failed

    def promoted(self, version: Version) -> Version:
        """Let a version answer from now on; return the one before."""
        before, self.live = self.live, version
        self.others.pop(version.number, None)
        version.metrics.take_traffic(before.metrics)
        version.model.take_traffic(before.model)
        self.take_check()
        return before

    def take_check(self, edits: Edits = NO_EDITS) -> None:
        """Check rows as the version that answers reads them; given classes are those after edits."""
        model = self.model
        self.closed = edits.classes([str(name) for name in model.classes] if model.closed else [])
        self.label_key = self.live.label_key
        reading, dtype = model.reading, model.dtype
        self.vectors = None if reading.encoder is None else Vectors(reading, dtype)
        given = reading, self.label_key, dtype, model.task, self.closed
        decides, reward_range = model.setup.decides, model.settings.reward_range
        if (key := model.settings.key) is not None:
            self.check: RowCheck = KeyCheck(*given, key=key)
        else:
            self.check = DecisionCheck(*given, reward_range=reward_range) if decides else RowCheck(*given)

    # --- guards ------------------------------------------------------------------------------------------------------

    def refusals(self, rows: Sequence[tuple[bytes, bytes | None]]) -> list[Problem | None]:
        """Return why rows, with their labels if they have any, are not accepted by the settings; None: they are."""
        guards, strict = self.model.guards, self.settings.strict
        found = list[Problem | None]()
        for (_, label), odd in zip(rows, self.model.findings([features for features, _ in rows]), strict=True):
            problem = next((one.problem() for one in odd if one.kind in strict), None)
            if problem is None and label is not None:
                problem = tried(self.model.check_class, label)
            if problem is not None:
                guards.asked[problem.kind] += 1
            found.append(problem)
        return found

    # --- stored predictions ------------------------------------------------------------------------------------------

    def count_prediction(self, seq: int, asked: bool) -> None:
        """Count a prediction that was stored, by its event; called in the log thread."""
        self.model.asking.predicted(seq, asked)

    def restore_asking(self, log: EventLog) -> None:
        """Count the predictions that were stored after those that the last snapshot knows."""
        for seq, asked in log.predictions(self.number, self.model.asking.seq):
            self.model.asking.predicted(seq, asked)

    def restore_decisions(self, log: EventLog) -> None:
        """Count the decisions and rewards that were stored after those that the last snapshot knows."""
        if self.model.setup.decides:
            for event in log.decisions.after(self.number, self.metrics.decisions.seq):
                self.metrics.decisions.restore(*event)

    def rewarded(self, until: int) -> None:
        """Note up to when decisions have a reward, in the log thread; the clock may have been set back."""
        self.rewarded_until = until

    # --- failure -----------------------------------------------------------------------------------------------------

    def check_living(self) -> None:
        """Raise a ``Problem`` if the model was deleted while a request waited."""
        if self.deleted:
            raise Problem("unknown-model", f"the model {self.name!r} was deleted")

    def check_working(self) -> None:
        """Raise a ``Problem`` if the model was deleted or has stopped."""
        self.check_living()
        if self.failed is not None:
            raise self.live.failure()

    def release(self) -> None:
        """Give the memory of a deleted model back to the system."""
        for version in (self.live, *self.others.values()):
            version.release()
        self.labelling = Labelling()
        give_back()

    # --- rows to label -----------------------------------------------------------------------------------------------

    def restore_labelling(self, log: EventLog) -> None:
        """Find the rows without labels, and the answers, of earlier runs."""
        self.labelling.restore_answers(log, self.number)
        for row in reversed(log.unlabelled(self.number, POOL)):
            if row.note is not None and row.features is not None and not is_decision(row.note):
                self.labelling.add(candidate(str(row.id), row.seq, row.features, Answer.of(row.note)))
        for id, note in log.answers.skips(self.number):
            told = msgspec.json.decode(note)
            self.labelling.skip(id, Labeller(told["by"]), told.get("reason"))
        for answer in log.answers.waiting(self.number):
            self.labelling.restore(*answer)


def restored(log: EventLog, stored: StoredModel, folder: Path, broken: Exception | None = None) -> Hosted:
    """Return a model as the log has it, with nothing learned; its versions that are trained meanwhile too.

    Raises
    ------
    ModelFileError, OSError
        If the file that it began with cannot be read.
    """
    found = [one for one in log.versions.of(stored.number) if one.state != State.RETIRED]
    live = next(one for one in found if one.state == State.LIVE)
    hosted = Hosted(stored, folder, Version(stored.name, live, folder, log.edits.basis(live).edits, broken))
    for one in found:
        if one is not live:
            edits = log.edits.basis(one).edits
            try:
                hosted.others[one.number] = Version(stored.name, one, folder, edits)
            except (ModelFileError, OSError) as error:  # of the file that it began with
                hosted.others[one.number] = Version(stored.name, one, folder, edits, error)
    return hosted
