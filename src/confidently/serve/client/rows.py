"""Requests about rows: predict, learn, label, export, erase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ...data.memory.frames import is_frame
from .bodies import labelled_rows, new_id, plain, plain_label, plain_row, plain_rows
from .connection import NDJSON
from .requests import ModelRequests, json_object, quoted


class RowRequests(ModelRequests):
    """Requests about rows."""

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
        body = {"features": plain(features)} | ({} if id is None else {"id": id})
        return self._ask("POST", "/predict", body, query=_asking(coverage, max_risk, novelty, top_k))

    def explain(self, features: Mapping[str, Any], about: str | None = None) -> dict[str, Any]:
        """Return what each feature of a row adds to the margin of a class, by default the predicted one."""
        return self._ask("POST", "/explain", {"features": plain(features), "about": about})

    def learn(
        self, features: Mapping[str, Any], label: Any, id: str | None = None, weight: float = 1.0, wait: bool = False
    ) -> dict[str, Any]:
        """Learn a row; it is durable when this returns, and with ``wait`` it is learned."""
        body = plain_row({"features": features, "label": label, "weight": weight}, id or new_id())
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
        body = {"id": id, "label": plain_label(label), "correct": correct, "labeller": labeller}
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
        found = ({"id": new_id()} | row for row in labelled_rows(rows, label, id, weight))
        return self._lines("/learn", found, self._teaching(wait), wait)

    def try_many(
        self, rows: Any, *, label: str | None = None, id: str | None = None, weight: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return what :meth:`learn_many` would do with rows: how many are good, the first problems, classes, fields.

        The model does not change. All rows are sent in one request. With ``settings``, those of :meth:`create`, they
        are tried on a new model, which is not made.
        """
        content = msgspec.json.Encoder().encode_lines(list(labelled_rows(rows, label, id, weight)))
        query = {"dry_run": True} | ({} if settings is None else {"settings": msgspec.json.encode(settings).decode()})
        answer = self._server.send("POST", f"{self._path}/learn", content, query=query, kind=NDJSON)
        return json_object(msgspec.json.decode(answer.content))

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
        return self._lines("/predict", plain_rows(rows, columns), _asking(coverage, max_risk, novelty, top_k))

    def label_many(
        self, labels: Iterable[Mapping[str, Any]], *, park: bool = False, wait: bool = False
    ) -> list[dict[str, Any]]:
        """Send labels such as ``{"id": "m-17", "label": "spam"}``; return a receipt or a problem for each."""
        return self._lines("/labels", plain_rows(labels, None), self._teaching(wait) | {"park": park}, wait)

    # --- stored rows --------------------------------------------------------------------------------------------------

    def examples(self, after: int = 0, limit: int | None = None, vectors: bool = False) -> Iterator[dict[str, Any]]:
        """Return the learned rows in the order of learning, from those after an event on; perhaps with ``vectors``.

        These are what an encoder made of their texts; a row that brings it along is not encoded again.
        """
        return self._pages(f"{self._path}/examples", after, limit, vectors="true" if vectors else None)

    def set_aside(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return the rows that the model could not learn, with the reasons."""
        return self._pages(f"{self._path}/set-aside", after, limit)

    def rows(self, *, before: int | None = None, limit: int = 50, **filters: Any) -> dict[str, Any]:
        """Return a page of stored rows, the newest first.

        ``filters`` are those of ``GET .../rows``: text, label, predicted, by, batch, outcome, state, since, until.
        """
        return self._ask("GET", "/rows", query={"before": before, "limit": limit} | filters)

    def row(self, id: str) -> dict[str, Any]:
        """Return a stored row with what has happened to it."""
        return self._ask("GET", f"/rows/{quoted(id)}")

    def facets(self, **filters: Any) -> dict[str, Any]:
        """Return how many of the rows that filters choose, as for :meth:`rows`, have which labels and others."""
        return self._ask("GET", "/facets", query=filters)

    def example(self, id: str) -> dict[str, Any]:
        """Return a stored row, with its label and its prediction."""
        return self._ask("GET", f"/examples/{quoted(id)}")

    def erase(self, id: str) -> dict[str, Any]:
        """Overwrite the features and labels of a row; the model keeps what it learned of it until :meth:`rebuild`."""
        return self._ask("DELETE", f"/examples/{quoted(id)}")


def _asking(coverage: float | None, max_risk: float | None, novelty: bool, top_k: int | None = None) -> dict[str, Any]:
    """Return the parameters of predictions with what is to be promised of them."""
    return {"set": coverage, "max_risk": max_risk, "novelty": novelty or None, "top_k": top_k}
