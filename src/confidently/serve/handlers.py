"""What the server does at each address; :data:`confidently.serve.api.ROUTES` lists them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from ..models.explanation import Explanation
from ..models.stack_explanation import StackExplanation
from . import answers, examples, listing, models
from . import messages as m
from . import rebuild as rebuilding
from .calls import Call, decoded, decoded_lines
from .engine import PASSING
from .erasing import erase
from .hosted import Hosted
from .labelling import LEASE_SECONDS
from .lines import ROWS_PER_CHUNK, by_lines
from .predicted import Answer, Promises
from .problems import Problem, tried
from .replies import NDJSON, Flow, Reply, Sendable, answered, encoder
from .requests import Request
from .settings import ModelSettings

MAX_FILE = 8 << 30  # bytes, of a model file
SSE_SECONDS = 1.0
T = TypeVar("T")

# --- rows ------------------------------------------------------------------------------------------------------------


async def predict(call: Call) -> Sendable:
    """Predict rows; the model does not change."""
    hosted, asked = call.hosted, _promises(call)
    if call.is_ndjson:
        return by_lines(call, partial(_predict_lines, call, hosted, asked))
    body = await call.message(m.PredictBody)
    if isinstance(body.features, msgspec.UnsetType) == isinstance(body.instances, msgspec.UnsetType):
        raise Problem("invalid-body", 'expected "features" of one row, or "instances": a list of rows')
    if isinstance(body.instances, msgspec.UnsetType):
        assert not isinstance(body.features, msgspec.UnsetType)
        id = body.id if body.id is not None else call.key
        row = examples.question(hosted, id, bytes(body.features))
        [found] = await _predicted(call, hosted, asked, [row])
        if isinstance(found, Problem):
            raise found
        return answered(found)
    checked = [
        tried(examples.question, hosted, one.id, bytes(one.features), pointer=f"/instances/{k}")
        for k, one in enumerate(body.instances)
    ]
    both = _filled(checked, await _predicted(call, hosted, asked, _good(checked)))
    shown = [one.as_json() if isinstance(one, Problem) else one for one in both]
    return answered({"predictions": shown})


def _promises(call: Call) -> Promises:
    """Return what is to be promised of predictions."""
    novelty = call.choice("novelty", ("false", "true")) == "true"
    asked = Promises(call.fraction("set"), call.fraction("max_risk"), novelty)
    call.hosted.model.check_promises(asked)
    return asked


async def _predict_lines(call: Call, hosted: Hosted, asked: Promises, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, m.Instance)
    rows = [(body.id, bytes(body.features)) for body in _good(bodies)]
    checked = _filled(bodies, examples.all_questions(hosted, rows))
    return _filled(checked, await _predicted(call, hosted, asked, _good(checked)))


def _good(parts: list[T | Problem]) -> list[T]:
    """Return what is not a problem."""
    return [part for part in parts if not isinstance(part, Problem)]


def _filled(parts: list[Any], results: Iterable[Any]) -> list[Any]:
    """Return parts, with the results of the good ones in their places."""
    following = iter(results)
    return [part if isinstance(part, Problem) else next(following) for part in parts]


async def _predicted(
    call: Call, hosted: Hosted, asked: Promises, rows: list[examples.Question]
) -> list[m.Prediction | Problem]:
    """Return predictions; those of rows with an id are stored first."""
    if not rows:
        return []
    found: list[Answer | Problem] = await call.ask(examples.predict(hosted, rows))
    if any(row.id is not None for row in rows):
        given = [answer for answer in found if isinstance(answer, Answer)]
        found = await call.log(examples.store_predictions(call.engine, hosted, rows, given))
    if asked == Promises():
        return [
            one if isinstance(one, Problem) else m.Prediction(row.id, *one)
            for row, one in zip(rows, found, strict=True)
        ]
    more = _filled(found, await call.ask(examples.promises(hosted, _good(found), asked)))
    novelty = await call.ask(examples.novelty(hosted, rows)) if asked.novelty else [msgspec.UNSET] * len(rows)
    return [
        one if isinstance(one, Problem) else m.Prediction(row.id, *one, **own, novelty=p)
        for row, one, own, p in zip(rows, found, more, novelty, strict=True)
    ]


async def learn(call: Call) -> Sendable:
    """Learn rows with labels; answered when they are durable, with ``?wait=learned`` when they are learned."""
    hosted, wait = call.hosted, call.choice("wait", ("durable", "learned")) == "learned"
    if call.is_ndjson:
        return by_lines(call, partial(_learn_lines, call, hosted, wait))
    body = await call.message(m.LearnBody)
    id = body.id if body.id is not None else call.key
    row = examples.taught(hosted, id, bytes(body.features), _label(body.label), body.weight)
    return _receipt(await call.log(examples.learn(call.engine, hosted, [row], wait)))


def _label(label: Any) -> Any:
    """Return a label as rows have it: true and false are the classes 1 and 0."""
    return int(label) if isinstance(label, bool) else label


async def _learn_lines(call: Call, hosted: Hosted, wait: bool, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, m.LearnBody)
    rows = [(body.id, bytes(body.features), _label(body.label), body.weight) for body in _good(bodies)]
    checked = _filled(bodies, examples.all_taught(hosted, rows))
    good = _good(checked)
    return _filled(checked, await call.log(examples.learn(call.engine, hosted, good, wait)) if good else [])


async def label(call: Call) -> Sendable:
    """Label rows that were predicted, by their ids."""
    hosted, wait = call.hosted, call.choice("wait", ("durable", "learned")) == "learned"
    park = call.choice("park", ("false", "true")) == "true"
    if call.is_ndjson:
        return by_lines(call, partial(_label_lines, call, hosted, park, wait))
    body = await call.message(m.LabelBody)
    given = examples.LabelOf(body.id, _label(body.label))
    request = examples.label_rows(call.engine, hosted, [given], correct=[body.correct], park=park, wait=wait)
    return _receipt(await call.log(request))


async def _label_lines(call: Call, hosted: Hosted, park: bool, wait: bool, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, m.LabelBody)
    good = _good(bodies)
    labels = [examples.LabelOf(body.id, _label(body.label)) for body in good]
    request = examples.label_rows(
        call.engine, hosted, labels, correct=[body.correct for body in good], park=park, wait=wait
    )
    return _filled(bodies, await call.log(request) if good else [])


def _receipt(found: list[examples.Receipt | Problem]) -> Reply:
    if isinstance(found[0], Problem):
        raise found[0]
    return answered(m.Receipt(*found[0]))


async def explain(call: Call) -> Sendable:
    """Explain a prediction: what each feature adds to the margin's mean and variance."""
    hosted, body = call.hosted, await call.message(m.ExplainBody)
    row = examples.question(hosted, None, bytes(body.features))

    def work(log: Any, request: Any) -> Any:
        hosted.check_working()
        try:
            return hosted.model.explanation(row.features, body.about)
        except ValueError as error:
            raise Problem("invalid-body", str(error), "/about") from None

    return answered(_explained(await call.ask(Request(work))))


def _explained(found: Explanation | StackExplanation) -> m.Explained:
    members: list[dict[str, Any]] = []
    if isinstance(found, StackExplanation):
        parts = [part._asdict() for part in found.features]
        members = [member._asdict() | {"mean": member.mean} for member in found.members]
    else:
        parts = [asdict(contribution) for contribution in found.contributions]
    return m.Explained(
        found.predicted, found.supported, found.rival, found.mean, found.variance, found.classes, parts, members
    )


# --- models ----------------------------------------------------------------------------------------------------------


def _facts(hosted: Hosted) -> dict[str, Any]:
    shown = hosted.metrics.shown()
    return models.facts(hosted) | {
        "error": shown["error"], "log_loss": shown["log_loss"], "to_label": len(hosted.labelling)
    }  # fmt: skip


async def list_models(call: Call) -> Sendable:
    """List the models."""
    call.engine.check_open()
    return answered({"models": [_facts(hosted) for hosted in list(call.engine.hosted.values())]})


async def get_model(call: Call) -> Sendable:
    """Return what is known about a model."""
    return answered(_facts(call.hosted))


async def put_model(call: Call) -> Sendable:
    """Make a model; nothing changes if there is one with the same settings."""
    name, body = call.names["m"], await call.body()
    settings = decoded(body or b"{}", ModelSettings)
    if settings.file is not None:
        raise Problem("invalid-settings", "file: upload a model with PUT .../file", "/file")
    _, new = await call.log(models.create(call.engine, name, settings))
    return answered(_facts(call.engine.find(name)), 201 if new else 200)


async def delete_model(call: Call) -> Sendable:
    """Delete a model with all its rows."""
    await call.log(models.delete(call.engine, call.names["m"]))
    return Response(status_code=204)


async def get_file(call: Call) -> Sendable:
    """Download the model file of all rows acknowledged so far, once they are learned."""
    hosted = call.hosted
    descriptor, path = tempfile.mkstemp(".cw", PASSING, call.engine.folder)
    os.close(descriptor)
    remove = partial(Path(path).unlink, missing_ok=True)
    try:
        await call.ask(models.download(hosted, path))
    except BaseException:
        remove()
        raise
    return FileResponse(
        path, media_type="application/octet-stream", filename=f"{hosted.name}.cw", background=BackgroundTask(remove)
    )


async def put_file(call: Call) -> Sendable:
    """Make a model of a model file; its training continues."""
    name, digest = call.names["m"], hashlib.sha256()
    descriptor, path = tempfile.mkstemp(".cw", PASSING, call.engine.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for piece in call.pieces():
                digest.update(piece)
                file.write(piece)
                if file.tell() > MAX_FILE:
                    raise Problem("too-large", f"the file has more than {MAX_FILE} bytes, the most allowed")
        request = await asyncio.to_thread(models.upload, call.engine, name, path, digest.hexdigest())
        _, new = await call.log(request)
    finally:
        Path(path).unlink(missing_ok=True)
    return answered(_facts(call.engine.find(name)), 201 if new else 200)


async def rebuild(call: Call) -> Sendable:
    """Train the model again from its log, without the rows that were erased; the old one answers meanwhile."""
    hosted = call.hosted
    return answered(m.Done(hosted.name, await call.log(rebuilding.rebuild(call.engine, hosted))))


async def metrics(call: Call) -> Sendable:
    """Return progressive error and log-loss, their course, calibration, alarms, rates of the last hour, labelling."""
    hosted, learned = call.hosted, call.hosted.model.conformal
    alarms = {"alarms": learned.alarms, "rows_since_alarm": learned.rows_since_alarm}
    return answered(hosted.metrics.shown() | alarms | {"labelling": _labelling(hosted)})


def _labelling(hosted: Hosted) -> dict[str, Any]:
    return hosted.labelling.shown() | {"gain": hosted.metrics.gain()}


async def events(call: Call) -> Sendable:
    """Send what changes, as server-sent events."""
    call.engine.check_open()

    async def told() -> AsyncGenerator[bytes, None]:
        """Yield events until the server stops, the client goes, or its token ends: it then asks again, in vain."""
        last = call.headers.get("last-event-id", "")
        number, before = int(last) if re.fullmatch("[0-9]{1,18}", last) else 0, b""
        yield b"retry: 2000\n\n"
        while not call.engine.stopping and not await call.is_disconnected():
            if isinstance(tried(call.check_allowed), Problem):
                return
            summary = [_facts(hosted) for hosted in list(call.engine.hosted.values())]
            data = encoder.encode({"models": summary})
            if data != before:
                number, before = number + 1, data
                yield b"id: %d\nevent: models\ndata: %s\n\n" % (number, data)
            else:
                yield b": nothing new\n\n"
            await asyncio.sleep(SSE_SECONDS)

    return Flow(told(), "text/event-stream", {"Cache-Control": "no-store"})


# --- stored rows -----------------------------------------------------------------------------------------------------


async def get_examples(call: Call) -> Sendable:
    """Export learned rows in the order of learning, a line of JSON each."""
    return _pages(call, listing.export)


async def get_set_aside(call: Call) -> Sendable:
    """Export the rows that the model could not learn, with the reason, a line of JSON each."""
    return _pages(call, listing.set_aside)


def _pages(call: Call, some: Callable[[Hosted, int, int], Request]) -> Flow:
    """Send all rows that requests find, some at a time."""
    hosted = call.hosted
    after = call.number("after", 0, 0, 2**53)
    limit = call.number("limit", 2**53, 1, 2**53)

    async def lines() -> AsyncGenerator[bytes, None]:
        last, left = after, limit
        while left > 0:
            call.check_allowed()
            found, last = await call.log(some(hosted, last, min(left, ROWS_PER_CHUNK)))
            left -= len(found)
            if found:
                yield b"".join(encoder.encode(row) + b"\n" for row in found)
            if last is None:
                return

    return Flow(lines(), NDJSON)


async def get_example(call: Call) -> Sendable:
    """Return a stored row."""
    hosted, id = call.hosted, call.names["id"]
    stored, label = await call.log(examples.find(hosted, id))
    return answered({
        "id": id, "seq": stored.seq, "features": listing.shown(stored.features),
        "label": None if label is None else msgspec.Raw(label),
        "prediction": None if stored.note is None else msgspec.Raw(stored.note),
    })  # fmt: skip


async def delete_example(call: Call) -> Sendable:
    """Overwrite the features and labels of a row."""
    hosted, id = call.hosted, call.names["id"]
    seq = await asyncio.to_thread(erase, call.engine, hosted, id)
    return answered(
        m.Erased(id, seq, "the model keeps what it learned of the row until POST .../rebuild trains it again")
    )


# --- labelling -------------------------------------------------------------------------------------------------------


async def get_queue(call: Call) -> Sendable:
    """Lease rows to label."""
    hosted, n = call.hosted, call.number("n", 5, 1, 100)
    labeller = decoded(encoder.encode(call.query.get("labeller", "somebody")), m.Labeller)
    hold = call.query.getlist("hold")[:100]
    rows = await call.log(answers.next_rows(hosted, n, labeller, hold))
    shown = [
        {"id": row.id, "features": listing.shown(row.features), "guess": row.guess, "certainty": row.certainty,
         "random": row.random}
        for row in rows
    ]  # fmt: skip
    classes = [str(name) for name in hosted.model.classes]
    return answered({"rows": shown, "classes": classes, "lease": LEASE_SECONDS, "progress": _labelling(hosted)})


async def post_answer(call: Call) -> Sendable:
    """Store a labeller's answer; it is learned a few seconds later, and can be undone until then."""
    hosted, body = call.hosted, await call.message(m.AnswerBody)
    if body.skip:
        return answered(m.Done(body.id, await call.log(answers.skip(hosted, body.id, body.labeller))))
    if body.label is None:
        raise Problem("invalid-body", 'expected "label", or "skip": true', "/label")
    seq = await call.log(answers.answer(hosted, body.id, _label(body.label), body.labeller))
    return answered(m.Done(body.id, seq))


async def delete_answer(call: Call) -> Sendable:
    """Undo an answer that was not learned yet."""
    id = call.names["id"]
    return answered(m.Done(id, await call.log(answers.undo(call.hosted, id))))


# --- the directory ---------------------------------------------------------------------------------------------------


async def snapshot(call: Call) -> Sendable:
    """Write a snapshot of every model now."""
    found = {}
    for name, hosted in list(call.engine.hosted.items()):
        found[name] = await call.ask(models.save(hosted))
    return answered({"snapshots": found})


async def backup(call: Call) -> Sendable:
    """Copy the log and the snapshots into a new folder, while the server runs."""
    body = await call.message(m.BackupBody)
    models.check_name(body.name, "the name of a backup", "invalid-body", "/name")
    target = call.engine.folder / "backups" / body.name
    if target.exists():
        raise Problem("other-content", f"there is a backup {body.name!r} already; take another name", "/name")
    await call.log(models.backup(call.engine, target))
    return answered({"path": str(target.relative_to(call.engine.folder))}, 201)
