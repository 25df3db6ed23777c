"""The addresses of the server: one table, from which routing and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from ..model.settings import ModelSettings
from . import messages as m
from .calls import Call
from .handlers import directory, labelling, models, rows, stored, versions
from .replies import Sendable

Scope = Literal["predict", "learn", "label", "admin"]
MODEL = "/v1/models/{m}"


class Route(NamedTuple):
    """One method of one address.

    Attributes
    ----------
    method, path : str
    handler : callable
        Its docstring describes it.
    scope : str
        What a token must allow.
    body, answer : type, optional
        Messages; None: there is none, or it is a file. A tuple: one of several.
    query : tuple of (name, schema)
        Parameters of the URL.
    statuses : tuple of int
        Of success, the first one usual.
    lines : str
        Which of body and answer may be NDJSON: "", "both", "answer".
    file : str
        Which of them is a file: "", "body", "answer".
    """

    method: str
    path: str
    handler: Callable[[Call], Awaitable[Sendable]]
    scope: Scope
    body: Any = None
    answer: Any = None
    query: tuple[tuple[str, dict[str, Any]], ...] = ()
    statuses: tuple[int, ...] = (200,)
    lines: str = ""
    file: str = ""

    @property
    def name(self) -> str:
        return self.handler.__name__


WAIT = ("wait", {"enum": ["durable", "learned"], "default": "durable"})
LIVE = ("wait", {"enum": ["begun", "live"], "default": "begun"})
BATCH = ("batch", {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\x00-\x1f\x7f]+$"})
PARK = ("park", {"enum": ["false", "true"], "default": "false"})
SET = ("set", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
MAX_RISK = ("max_risk", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
NOVELTY = ("novelty", {"enum": ["false", "true"], "default": "false"})
AFTER = ("after", {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0})
LIMIT = ("limit", {"type": "integer", "minimum": 1, "maximum": 2**53})
TOP_K = ("top_k", {"type": "integer", "minimum": 1, "maximum": 10_000})
DRY_RUN = ("dry_run", {"enum": ["false", "true"], "default": "false"})
N = ("n", {"type": "integer", "minimum": 1, "maximum": 100, "default": 5})
LABELLER = ("labeller", {"type": "string", "minLength": 1, "maxLength": 64, "default": "somebody"})
HOLD = ("hold", {"type": "array", "items": {"type": "string"}, "maxItems": 100})

ROUTES = (
    Route(
        "POST", f"{MODEL}/predict", rows.predict, "predict", m.PredictBody,
        (m.Prediction, m.NumberPrediction, m.Predictions), (SET, MAX_RISK, NOVELTY, TOP_K),
        lines="both",
    ),
    Route(
        "POST", f"{MODEL}/learn", rows.learn, "learn", m.LearnBody, (m.Receipt, m.DryRun), (WAIT, BATCH, DRY_RUN),
        lines="both",
    ),
    Route("POST", f"{MODEL}/labels", rows.label, "label", m.LabelBody, m.Receipt, (WAIT, PARK, BATCH), lines="both"),
    Route("POST", f"{MODEL}/explain", rows.explain, "predict", m.ExplainBody, (m.Explained, m.NumberExplained)),
    Route("GET", "/v1/models", models.list_models, "predict", None, m.Models),
    Route("GET", MODEL, models.get_model, "predict", None, m.ModelFacts),
    Route("PUT", MODEL, models.put_model, "admin", ModelSettings, m.ModelFacts, statuses=(200, 201, 202)),
    Route("DELETE", MODEL, models.delete_model, "admin", statuses=(204,)),
    Route("GET", f"{MODEL}/file", models.get_file, "admin", file="answer"),
    Route("PUT", f"{MODEL}/file", models.put_file, "admin", None, m.ModelFacts, statuses=(200, 201), file="body"),
    Route("POST", f"{MODEL}/rebuild", versions.rebuild, "admin", None, m.VersionState, (LIVE,)),
    Route("POST", f"{MODEL}/rollback", versions.rollback, "admin", None, m.VersionState, (LIVE,)),
    Route("GET", f"{MODEL}/versions", versions.get_versions, "predict", None, m.Versions),
    Route("POST", f"{MODEL}/versions/{{id}}/promote", versions.promote_version, "admin", None, m.VersionState, (LIVE,)),
    Route("DELETE", f"{MODEL}/versions/{{id}}", versions.delete_version, "admin", None, m.VersionState),
    Route("GET", f"{MODEL}/batches", versions.get_batches, "admin", None, m.Batches),
    Route("DELETE", f"{MODEL}/batches/{{id}}", versions.delete_batch, "admin", None, m.VersionState, (LIVE,)),
    Route("GET", f"{MODEL}/edits", versions.get_edits, "admin", None, m.Edits),
    Route("POST", f"{MODEL}/edits", versions.post_edit, "admin", m.EditBody, m.VersionState, (LIVE,)),
    Route("DELETE", f"{MODEL}/edits/{{id}}", versions.delete_edit, "admin", None, m.VersionState, (LIVE,)),
    Route("GET", f"{MODEL}/metrics", models.metrics, "predict", None, dict[str, Any]),
    Route(
        "GET", f"{MODEL}/examples", stored.get_examples, "admin", None, m.ExampleOut, (AFTER, LIMIT), lines="answer"
    ),
    Route(
        "GET", f"{MODEL}/set-aside", stored.get_set_aside, "admin", None, m.SetAsideOut, (AFTER, LIMIT),
        lines="answer",
    ),
    Route("GET", f"{MODEL}/examples/{{id}}", stored.get_example, "admin", None, m.StoredRow),
    Route("DELETE", f"{MODEL}/examples/{{id}}", stored.delete_example, "admin", None, m.Erased),
    Route("GET", f"{MODEL}/queue", labelling.get_queue, "label", None, m.Queue, (N, LABELLER, HOLD)),
    Route("POST", f"{MODEL}/answers", labelling.post_answer, "label", m.AnswerBody, m.Done),
    Route("DELETE", f"{MODEL}/answers/{{id}}", labelling.delete_answer, "label", None, m.Done),
    Route("GET", "/v1/events", directory.events, "predict"),
    Route("POST", "/v1/snapshot", directory.snapshot, "admin", None, m.Saved),
    Route("POST", "/v1/backup", directory.backup, "admin", m.BackupBody, m.BackupMade, statuses=(201,)),
)  # fmt: skip
