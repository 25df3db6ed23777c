"""A client of the server: ``confidently.serve.Client``."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from ..data.memory.frames import arrow_table, is_frame
from ..data.memory.lines import json_value
from .connection import NDJSON, Connection, ServerError

__all__ = ["Client", "ServerError"]

ROWS_PER_REQUEST = 10_000
ROWS_PER_PAGE = 10_000  # of exports
EVENTS_SECONDS = 30.0  # in which the server sends something, if only that nothing has changed
FILE = "application/octet-stream"
LABEL_STUDIO, PRODIGY = "/exchange/label-studio", "/exchange/prodigy"


class Client:
    """A client of one model.

    Every method that sends has sent everything when it returns. Rows and labels have ids, chosen here where none is
    given. So a request that is repeated because its answer was lost is not learned twice.

    Parameters
    ----------
    url : str
        Of the server, such as ``"http://127.0.0.1:8642"``, with the path if a proxy has it below one.
    model : str
        The model's name.
    token : str, optional
    batch : str or None
        What the rows that this client teaches belong to, so that they can be taken out together. By default a batch of
        its own, ``client-`` with the date and random letters; None: none.
    timeout : float
        Seconds that the server may be silent during a request.
    patience : float
        Seconds for which a request is sent again while the server is away or has too much to do.
    transport : httpx.BaseTransport, optional
        Another transport to the server, for tests.

    Attributes
    ----------
    model : str
    batch : str or None

    Raises
    ------
    ServerError
        By every method, if the server refuses the request.
    httpx.TransportError
        By every method, if the server cannot be reached for longer than ``patience``.
    ValueError, TypeError
        By methods that take rows, if a value is infinite or has no counterpart in JSON.
    """

    def __init__(
        self, url: str, model: str, *, token: str | None = None, batch: str | None = "auto", timeout: float = 30.0,
        patience: float = 30.0, transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._server = Connection(url, token, timeout, patience, transport)
        self.model, self._path = model, f"/v1/models/{_quoted(model)}"
        self.batch = f"client-{time.strftime('%Y-%m-%d')}-{secrets.token_hex(4)}" if batch == "auto" else batch

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    # --- the model ---------------------------------------------------------------------------------------------------

    def create(self, **settings: Any) -> dict[str, Any]:
        """Make the model; return what the server reports about it.

        If it exists with other settings, a version with these is trained beside it, which :meth:`promote` lets answer.
        """
        return self._ask("PUT", "", settings)

    def info(self) -> dict[str, Any]:
        """Return what the server reports about the model."""
        return self._ask("GET", "")

    def metrics(self) -> dict[str, Any]:
        """Return progressive error and log-loss, or the errors of numbers, their course, calibration, alarms, rates."""
        return self._ask("GET", "/metrics")

    def delete(self) -> None:
        """Delete the model with all its rows."""
        self._ask("DELETE", "", again=False)

    def download(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, which :func:`confidently.load` reads."""
        Path(path).write_bytes(self._server.send("GET", f"{self._path}/file", slow=True).content)

    def upload(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Make the model of a model file, whose training continues; return what the server reports about it."""
        answer = self._server.send("PUT", f"{self._path}/file", Path(path).read_bytes(), kind=FILE, slow=True)
        return _object(msgspec.json.decode(answer.content))

    # --- rows --------------------------------------------------------------------------------------------------------

    def predict(
        self, features: Mapping[str, Any], id: str | None = None, *, coverage: float | None = None,
        max_risk: float | None = None, novelty: bool = False, top_k: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the prediction of a row; with an id the row is stored, so that its label can follow.

        Parameters
        ----------
        features : mapping
            By the names of columns, as :func:`confidently.OnlineClassifier.fit` takes them: numbers, strings, dates,
            lists, dicts and NumPy's scalars. None and NaN are missing values.
        id : str, optional
        coverage : float, optional
            In (0, 1): ``set`` then has the classes that cannot be excluded, the most probable first; the true one is
            among them with this probability. Of a model of numbers, ``interval`` has the number with this probability;
            by default .9.
        max_risk : float, optional
            In (0, 1): ``abstain`` is then whether not to rely on the label, so that at most this fraction of the
            others is wrong.
        novelty : bool
            Whether ``novelty`` is asked for: a p-value, which is small for rows unlike all those learned.
        top_k : int, optional
            ``probability`` has only this number of classes, the most probable first.
        """
        body = {"features": _plain(features)} | ({} if id is None else {"id": id})
        return self._ask("POST", "/predict", body, query=_asking(coverage, max_risk, novelty, top_k))

    def explain(self, features: Mapping[str, Any], about: str | None = None) -> dict[str, Any]:
        """Return what each feature of a row adds to the margin of a class, by default the predicted one."""
        return self._ask("POST", "/explain", {"features": _plain(features), "about": about})

    def learn(
        self, features: Mapping[str, Any], label: Any, id: str | None = None, weight: float = 1.0, wait: bool = False
    ) -> dict[str, Any]:
        """Learn a row; it is durable when this returns, and with ``wait`` it is learned."""
        body = _row({"features": features, "label": label, "weight": weight}, id or new_id())
        return self._ask("POST", "/learn", body, query=self._teaching(wait))

    def label(
        self, id: str, label: Any, correct: bool = False, *, park: bool = False, wait: bool = False,
        labeller: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Send the label of a row that was predicted with this id.

        Parameters
        ----------
        id : str
        label : int, str or list
        correct : bool
            Whether it may replace another label.
        park : bool
            Whether the server keeps it until the row comes, if there is none yet.
        wait : bool
            Whether to return only once it is learned.
        labeller : str, optional
            Who gives it.
        """
        body = {"id": id, "label": _label(label), "correct": correct, "labeller": labeller}
        return self._ask("POST", "/labels", body, query=self._teaching(wait) | {"park": park})

    def learn_many(
        self, rows: Any, *, label: str | None = None, id: str | None = None, weight: str | None = None,
        wait: bool = False,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Learn rows; return a receipt or a problem for each.

        All rows are durable when this returns, 10,000 in a request. An error leaves those of the requests before it
        learned: give rows ids of your own to send them again.

        Parameters
        ----------
        rows : iterable of mappings, or a data frame of pandas, Polars or Arrow
            Rows such as ``{"features": {...}, "label": "spam"}``, perhaps with ``"id"`` and ``"weight"``; or, with
            ``label``, tables, whose rows are such as ``{"n_links": 4, "class": "spam"}``.
        label : str, optional
            The column of labels of tables.
        id, weight : str, optional
            The columns of ids and weights of tables.
        wait : bool
            Whether to return only once they are learned.
        """
        found = ({"id": new_id()} | row for row in _labelled(rows, label, id, weight))
        return self._lines("/learn", found, self._teaching(wait), wait)

    def try_many(
        self, rows: Any, *, label: str | None = None, id: str | None = None, weight: str | None = None
    ) -> dict[str, Any]:
        """Return what :meth:`learn_many` would do with rows: how many are good, the first problems, classes, fields.

        The model does not change. All rows are sent in one request.
        """
        content = msgspec.json.Encoder().encode_lines(list(_labelled(rows, label, id, weight)))
        answer = self._server.send("POST", f"{self._path}/learn", content, query={"dry_run": True}, kind=NDJSON)
        return _object(msgspec.json.decode(answer.content))

    def predict_many(
        self, rows: Any, *, id: str | None = None, coverage: float | None = None, max_risk: float | None = None,
        novelty: bool = False, top_k: int | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Predict rows such as ``{"features": {...}}``, or those of a data frame; return a prediction or a problem for
        each.

        Rows with an ``"id"``, or of a data frame with a column of ids, are stored, so that their labels can follow; the
        rest is as for :meth:`predict`.
        """
        columns = {"id": id} if is_frame(rows) else None
        return self._lines("/predict", _rows(rows, columns), _asking(coverage, max_risk, novelty, top_k))

    def label_many(
        self, labels: Iterable[Mapping[str, Any]], *, park: bool = False, wait: bool = False
    ) -> list[dict[str, Any]]:
        """Send labels such as ``{"id": "m-17", "label": "spam"}``; return a receipt or a problem for each."""
        return self._lines("/labels", _rows(labels, None), self._teaching(wait) | {"park": park}, wait)

    # --- stored rows -------------------------------------------------------------------------------------------------

    def examples(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return the learned rows in the order of learning, from those after an event on."""
        return self._pages(f"{self._path}/examples", after, limit)

    def set_aside(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return the rows that the model could not learn, with the reasons."""
        return self._pages(f"{self._path}/set-aside", after, limit)

    def rows(self, *, before: int | None = None, limit: int = 50, **filters: Any) -> dict[str, Any]:
        """Return a page of stored rows, the newest first.

        ``filters`` are those of ``GET .../rows``: text, label, predicted, by, outcome, state, since, until.
        """
        return self._ask("GET", "/rows", query={"before": before, "limit": limit} | filters)

    def row(self, id: str) -> dict[str, Any]:
        """Return a stored row with what has happened to it."""
        return self._ask("GET", f"/rows/{_quoted(id)}")

    def facets(self, **filters: Any) -> dict[str, Any]:
        """Return how many of the rows that filters choose, as for :meth:`rows`, have which labels and others."""
        return self._ask("GET", "/facets", query=filters)

    def example(self, id: str) -> dict[str, Any]:
        """Return a stored row, with its label and its prediction."""
        return self._ask("GET", f"/examples/{_quoted(id)}")

    def erase(self, id: str) -> dict[str, Any]:
        """Overwrite the features and labels of a row; the model keeps what it learned of it until :meth:`rebuild`."""
        return self._ask("DELETE", f"/examples/{_quoted(id)}")

    # --- other tools -------------------------------------------------------------------------------------------------

    def label_studio_tasks(
        self, rows: str = "learned", *, control: str = "label", target: str = "text"
    ) -> list[dict[str, Any]]:
        """Return rows as tasks of Label Studio.

        Parameters
        ----------
        rows : {"learned", "waiting"}
            Learned rows with their labels as annotations, or those without a label with predictions.
        control, target : str
            In the labeling config, the names of the ``Choices`` and of the ``Text`` that they are about.
        """
        query = {"rows": rows, "control": control, "target": target}
        found: list[dict[str, Any]] = self._server.json("GET", self._path + LABEL_STUDIO, query=query)
        return found

    def import_label_studio(
        self, tasks: Iterable[Mapping[str, Any]], *, columns: Sequence[str] = (), control: str | None = None
    ) -> dict[str, Any]:
        """Learn the annotations of tasks, as Label Studio exports them as JSON; return what was done.

        An annotation that was learned before with another label is corrected.

        Parameters
        ----------
        tasks : iterable of mappings
        columns : sequence of str
            Those of the data of a task that are columns of its row; by default all.
        control : str, optional
            The name of the ``Choices``, if there are several.
        """
        return self._import(LABEL_STUDIO, tasks, {"column": list(columns) or None, "control": control})

    def prodigy_records(self, rows: str = "learned", *, text: str | None = None) -> list[dict[str, Any]]:
        """Return rows as records of Prodigy, one for each line of its JSONL.

        Parameters
        ----------
        rows : {"learned", "waiting"}
            Learned rows with their labels, or those without.
        text : str, optional
            The column of texts; by default the only one that the model reads as text, or ``"text"``.
        """
        answer = self._server.send("GET", self._path + PRODIGY, query={"rows": rows, "text": text})
        return [msgspec.json.decode(line) for line in answer.content.splitlines()]

    def import_prodigy(self, records: Iterable[Mapping[str, Any]], *, text: str | None = None) -> dict[str, Any]:
        """Learn records of Prodigy that have an answer, as ``db-out`` writes them; return what was done."""
        return self._import(PRODIGY, records, {"text": text})

    # --- labelling ---------------------------------------------------------------------------------------------------

    def queue(
        self, n: int = 5, labeller: str = "somebody", hold: Sequence[str] = (), *, seat: str = ""
    ) -> dict[str, Any]:
        """Lease rows to label to somebody; those to ``hold``, at most 100 ids, are kept.

        ``seat`` is one of several places where a person labels at the same time, each with rows of its own.
        """
        query = {"n": n, "labeller": labeller, "seat": seat, "hold": list(hold) or None}
        return self._ask("GET", "/queue", query=query)

    def answer(
        self, id: str, label: Any, labeller: str = "somebody", *, seat: str = "", second: bool = False
    ) -> dict[str, Any]:
        """Send a labeller's answer, which is learned a few seconds later; a second one is only compared with that."""
        who = {"labeller": labeller, "seat": seat, "second": second}
        return self._ask("POST", "/answers", {"id": id, "label": _label(label)} | who)

    def skip(self, id: str, labeller: str = "somebody", *, seat: str = "", reason: str | None = None) -> dict[str, Any]:
        """Do not ask a labeller about a row again."""
        who = {"labeller": labeller, "seat": seat, "reason": reason}
        return self._ask("POST", "/answers", {"id": id, "skip": True} | who)

    def undo(self, id: str, labeller: str = "somebody", *, seat: str = "", second: bool = False) -> dict[str, Any]:
        """Undo an answer that was not learned yet, or a second one."""
        query = {"labeller": labeller, "seat": seat, "second": second}
        return self._ask("DELETE", f"/answers/{_quoted(id)}", query=query, again=False)

    # --- the life of the model ---------------------------------------------------------------------------------------

    def versions(self) -> list[dict[str, Any]]:
        """Return the versions of the model, the newest first."""
        return _listed(self._ask("GET", "/versions"), "versions")

    def promote(self, version: int, wait: bool = False) -> dict[str, Any]:
        """Let a version answer as soon as it has learned all rows; with ``wait``, return once it does."""
        return self._change("POST", f"/versions/{version:d}/promote", wait, again=True)

    def retire(self, version: int) -> dict[str, Any]:
        """Stop training a version that does not answer."""
        return self._ask("DELETE", f"/versions/{version:d}", again=False)

    def rollback(self, wait: bool = False) -> dict[str, Any]:
        """Let the version answer again that did so before the last promotion."""
        return self._change("POST", "/rollback", wait)

    def rebuild(self, wait: bool = False) -> dict[str, Any]:
        """Train the model again from its log, without the rows that were erased."""
        return self._change("POST", "/rebuild", wait)

    def batches(self) -> list[dict[str, Any]]:
        """Return the batches of the model, the newest first."""
        return _listed(self._ask("GET", "/batches"), "batches")

    def take_out(self, batch: str | None = None, wait: bool = False) -> dict[str, Any]:
        """Take a batch out, by default that of this client: the model is trained again without its rows."""
        name = self.batch if batch is None else batch
        if name is None:
            raise ValueError("this client has no batch of its own; name the one to take out")
        return self._change("DELETE", f"/batches/{_quoted(name)}", wait)

    def rename_class(self, old: str, new: str, wait: bool = False) -> dict[str, Any]:
        """Rename a class; the name of another class merges both."""
        return self._change("POST", "/edits", wait, {"from": old, "to": new})

    def remove_class(self, name: str, wait: bool = False) -> dict[str, Any]:
        """Remove a class with its rows."""
        return self._change("POST", "/edits", wait, {"from": name})

    def edits(self) -> list[dict[str, Any]]:
        """Return the edits that count: batches taken out, and classes renamed, merged or removed."""
        return _listed(self._ask("GET", "/edits"), "edits")

    def revert(self, edit: int, wait: bool = False) -> dict[str, Any]:
        """Revert an edit, by its number."""
        return self._change("DELETE", f"/edits/{edit:d}", wait)

    # --- the server --------------------------------------------------------------------------------------------------

    def models(self) -> list[dict[str, Any]]:
        """Return what the server reports about each of its models."""
        return _listed(self._server.json("GET", "/v1/models"), "models")

    def events(self) -> Iterator[list[dict[str, Any]]]:
        """Yield what :meth:`models` returns whenever it has changed, until the server stops; asked for at once."""
        lines = self._server.stream("/v1/events", EVENTS_SECONDS)
        return (
            _listed(msgspec.json.decode(line.removeprefix("data: ")), "models")
            for line in lines
            if line.startswith("data: ")
        )

    def audit(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return who taught, changed or deleted what on the server, the oldest first."""
        return self._pages("/v1/audit", after, limit, "n")

    def snapshot(self) -> dict[str, int]:
        """Write a snapshot of every model of the server; return the event up to which each goes."""
        found: dict[str, int] = self._server.json("POST", "/v1/snapshot", slow=True)["snapshots"]
        return found

    def backup(self, name: str) -> str:
        """Copy the server's log and snapshots into a new folder of its directory; return the path of that."""
        return str(self._server.json("POST", "/v1/backup", {"name": name}, again=False, slow=True)["path"])

    # --- requests ----------------------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        return _object(self._server.json(method, self._path + path, body, **options))

    def _change(self, method: str, path: str, wait: bool, body: Any = None, again: bool = False) -> dict[str, Any]:
        query = {"wait": "live" if wait else None}
        return self._ask(method, path, body, query=query, again=again, slow=wait)

    def _teaching(self, wait: bool) -> dict[str, Any]:
        return {"wait": "learned" if wait else None, "batch": self.batch}

    def _lines(
        self, path: str, rows: Iterable[Mapping[str, Any]], query: Mapping[str, Any], slow: bool = False
    ) -> list[dict[str, Any]]:
        left, found = iter(rows), list[dict[str, Any]]()
        while some := list(islice(left, ROWS_PER_REQUEST)):
            found += self._server.lines(self._path + path, some, query, slow)
        return found

    def _import(self, path: str, records: Iterable[Mapping[str, Any]], query: dict[str, Any]) -> dict[str, Any]:
        """Send records as lines of JSON; what is sent again corrects itself."""
        left, encoder = iter(records), msgspec.json.Encoder()
        done: dict[str, Any] = {"batch": self.batch, "rows": 0, "skipped": 0, "failed": 0, "problems": []}
        while some := list(islice(left, ROWS_PER_REQUEST)):
            given = query | {"batch": done["batch"]}
            content = encoder.encode_lines(some)
            answer = self._server.send("POST", self._path + path, content, query=given, kind=NDJSON)
            found = msgspec.json.decode(answer.content)
            for name in ("rows", "skipped", "failed", "problems"):
                done[name] += found[name]
            done["batch"] = found["batch"]
        return done

    def _pages(self, path: str, after: int, limit: int | None, number: str = "seq") -> Iterator[dict[str, Any]]:
        """Return rows, of which some are asked for at once and the others when they are needed."""
        first = self._page(path, after, limit)

        def following() -> Iterator[dict[str, Any]]:
            page, left = first, limit
            while page:
                yield from page
                left = None if left is None else left - len(page)
                page = self._page(path, page[-1][number], left) if left is None or left > 0 else []

        return following()

    def _page(self, path: str, after: int, limit: int | None) -> list[dict[str, Any]]:
        query = {"after": after, "limit": ROWS_PER_PAGE if limit is None else min(limit, ROWS_PER_PAGE)}
        answer = self._server.send("GET", path, query=query)
        return [msgspec.json.decode(line) for line in answer.content.splitlines()]


def new_id() -> str:
    """Return an id that no other row has."""
    return secrets.token_hex(12)


def _asking(coverage: float | None, max_risk: float | None, novelty: bool, top_k: int | None = None) -> dict[str, Any]:
    """Return the parameters of predictions with what is to be promised of them."""
    return {"set": coverage, "max_risk": max_risk, "novelty": novelty or None, "top_k": top_k}


def _quoted(name: str) -> str:
    """Return a name as one part of an address, even if it is two dots."""
    return quote(name, safe="").replace(".", "%2E")


def _object(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer or {}
    return found


def _listed(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer[name]
    return found


def _plain(features: Any) -> Any:
    """Return features as JSON has them, read as confidently reads dicts."""
    if not isinstance(features, Mapping):
        raise TypeError(f"features: expected a dict, got {features!r:.80}")
    return json_value(features, "", {})


def _label(label: Any) -> Any:
    """Return a label as JSON has it; columns of whole numbers with missing ones are floats."""
    found = json_value(label, "label", {})
    return int(found) if isinstance(found, float) and found.is_integer() else found


def _row(row: Mapping[str, Any], id: str | None = None) -> dict[str, Any]:
    found = dict(row) if id is None else {"id": id, **row}
    if "features" in found:
        found["features"] = _plain(found["features"])
    if "label" in found:
        found["label"] = _label(found["label"])
    return found


def _rows(rows: Any, columns: Mapping[str, str | None] | None) -> Iterator[dict[str, Any]]:
    """Yield the bodies of rows: with ``columns``, of tables, whose labels, ids and weights are columns.

    Raises
    ------
    TypeError, ValueError
        If a row is no dict, a column is missing, or a value has no counterpart in JSON; with the number of the row.
    """
    if is_frame(rows):
        rows = arrow_table(rows).to_pylist()
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number}: expected a dict, got {row!r:.80}")
        try:
            yield _row(row if columns is None else _parted(row, columns))
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {number}: {error}") from None


def _labelled(rows: Any, label: str | None, id: str | None, weight: str | None) -> Iterator[dict[str, Any]]:
    """Return the bodies of rows with labels: with ``label``, of tables."""
    if label is None and is_frame(rows):
        raise ValueError("rows is a data frame; name its column of labels: label=...")
    return _rows(rows, None if label is None else {"label": label, "id": id, "weight": weight})


def _parted(row: Mapping[str, Any], columns: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the row of a table with its label, its id and its weight beside its features."""
    features, found = dict(row), dict[str, Any]()
    for name, column in columns.items():
        if column is None:
            continue
        if column not in features:
            raise ValueError(f"there is no column {column!r}; the columns are {', '.join(map(str, row))}"[:200])
        found[name] = features.pop(column)
    if "id" in found:
        found["id"] = str(found["id"])
    return {"features": features} | found
