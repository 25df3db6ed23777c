"""Requests with the records of other tools: Label Studio and Prodigy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from .connection import NDJSON
from .requests import ROWS_PER_REQUEST, ModelRequests

LABEL_STUDIO, PRODIGY = "/exchange/label-studio", "/exchange/prodigy"


class ExchangeRequests(ModelRequests):
    """Requests with the records of other tools."""

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
        return self._server.json("GET", self._path + LABEL_STUDIO, query=query)

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
