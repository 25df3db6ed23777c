"""Training on a cluster, in rounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...wording import counted
from ..inputs import BadInput
from ..output.counts import Counts

if TYPE_CHECKING:
    from ...rounds.rounds import Rounds
    from .learner import LearnerTraining


def train_on_cluster(training: LearnerTraining, paths: Sequence[str], passes: int) -> dict[str, Any]:
    """Train on a cluster; return the summary of the cluster.

    Raises
    ------
    BadInput
        If dask.distributed is not installed, no scheduler answers, or workers keep failing.
    """
    try:
        from ...distributed.cluster import connected, dashboard, n_threads
        from ...distributed.training import surveyed
    except ImportError as error:
        raise BadInput(f"{error}") from None
    from distributed.scheduler import KilledWorker

    options = training.options
    if training.learner.learner.groups is not None:
        raise BadInput("the sets of the model cover by a column, which is not supported on a cluster")
    try:
        with connected(options["scheduler"], options["workers"]) as client:
            threads = n_threads(client)
            partitions = options["partitions"] or threads
            inferred = options["init_model"] is None and not options["multilabel"]
            multilabel = None if inferred else options["multilabel"] or training.task.multilabel
            found = surveyed(client, paths, training.reading, multilabel, options["on_error"], targets=training.targets)
            training.suit(found.multilabel)
            if training.undecided:
                training.decide(found.n_columns)
            rounds = _rounds(client, training, found, partitions, passes)
            training.report.note(
                "cluster", f"{counted(partitions, 'partition')} on {counted(threads, 'worker')}, "
                f"{counted(len(rounds), 'round')}; {dashboard(client)}",
                workers=threads, partitions=partitions, rounds=len(rounds), scheduler=client.scheduler.address,
                dashboard=dashboard(client),
            )  # fmt: skip
            moved = _train(training, rounds, passes, sum(found.sizes))
            return {"workers": threads, "partitions": partitions, "rounds": len(rounds), "bytes_moved": moved}
    except (OSError, TimeoutError) as error:
        raise BadInput(str(error)) from error
    except KilledWorker as error:
        raise BadInput(f"four workers in a row failed on one partition (out of memory?): {error}") from error


def _rounds(client: Any, training: LearnerTraining, found: Any, partitions: int, passes: int) -> Rounds:
    from ...distributed.training import training_on_files
    from ...rounds.preparation import DEFAULT_ROUNDS

    options = training.options
    return training_on_files(
        client, found, training.model(), partitions, rounds=options["rounds"] or DEFAULT_ROUNDS, passes=passes,
        shuffle="between" if options["shuffle_partitions"] else "within" if options["shuffle"] else None,
        on_error=options["on_error"],
        calibrate=training.calibrated,
    )  # fmt: skip


def _train(training: LearnerTraining, rounds: Rounds, passes: int, size: int) -> int:
    """Train round by round; return the bytes moved."""
    position, report, moved = training.position, training.report, 0
    each, began = max(len(rounds) // passes, 1), time.monotonic()
    calibrated = training.calibrated
    try:
        for number, result in enumerate(rounds):
            if number % each == 0:
                position.now = Counts(log_loss=training.first_log_loss(calibrated and number == 0))
                report.begin(position.passes + 1, passes, position.now, size)
            now, done = position.now, size * (number % each + 1) // each
            log_loss = None if now.log_loss is None else now.log_loss + result.log_loss
            position.now = Counts(
                now.rows + result.rows, now.learned + result.learned, now.mistakes + result.mistakes,
                now.updates + result.updates, log_loss, done, now.seconds + result.seconds,
            )  # fmt: skip
            if number < each:
                learner = rounds.model.learner
                position.now = replace(position.now, **learner.task.progressive_errors(learner.state))
            moved += result.bytes_moved
            training.data.skipped += result.skipped if number < each else 0
            training.data.skipped_examples = (training.data.skipped_examples + result.skipped_examples)[:5]
            report.update(position.now)
            if number % each == each - 1:
                report.end(position.now)
                position.end_pass()
    finally:
        report.close()
        position.seconds = time.monotonic() - began
    training.learner = training.continued(rounds.model)
    training.check_learned()
    return moved
