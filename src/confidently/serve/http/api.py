"""The addresses of the server: one table, from which routing and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from ..exchange import label_studio as ls
from ..exchange import personalizer as pz
from ..exchange import prodigy
from ..log.audit import AuditEntry
from ..log.browse import OUTCOMES, STATES
from ..model.settings import ModelSettings
from ..replica.source import Line
from . import dry_run
from . import messages as m
from .calls import Call
from .handlers import (
    backend,
    browse,
    decisions,
    directory,
    evaluate,
    exchange,
    explain,
    labelling,
    merging,
    models,
    personalizer,
    replication,
    rows,
    samples,
    stored,
    versions,
)  # fmt: skip
from .replies import Sendable

Scope = Literal["predict", "learn", "label", "admin"]
MODEL = "/v1/models/{m}"
PERSONALIZER = f"{MODEL}/personalizer"  # of Azure Personalizer; one_address() says which other addresses lead here
BACKEND = "/label-studio/{m}"  # of Label Studio, whose protocol this is


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
        Which of body and answer may be NDJSON: "", "both", "body", "answer".
    file : str
        Which of them is a file: "", "body", "answer".
    some : bool
        Of what is not about one model: whether a token for some models suffices, and gets the answer about them.
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
    some: bool = False

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def changes(self) -> bool:
        """Whether an answer without a problem means that something was changed, other than rows that were taught."""
        return (
            self.method != "GET"
            and self.scope != "predict"
            and not (self.lines == "both" or self.path.startswith(PERSONALIZER))
        )


WAIT = ("wait", {"enum": ["durable", "learned"], "default": "durable"})
LIVE = ("wait", {"enum": ["begun", "live"], "default": "begun"})
BATCH = ("batch", {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\x00-\x1f\x7f]+$"})
PARK = ("park", {"enum": ["false", "true"], "default": "false"})
SET = ("set", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
MAX_RISK = ("max_risk", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
NOVELTY = ("novelty", {"enum": ["false", "true"], "default": "false"})
VECTORS = ("vectors", {"enum": ["false", "true"], "default": "false"})
AFTER = ("after", {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0})
LIMIT = ("limit", {"type": "integer", "minimum": 1, "maximum": 2**53})
TOP_K = ("top_k", {"type": "integer", "minimum": 1, "maximum": 10_000})
DRY_RUN = ("dry_run", {"enum": ["false", "true"], "default": "false"})
SETTINGS = ("settings", {"type": "string"})  # JSON of a model that is only tried
N = ("n", {"type": "integer", "minimum": 1, "maximum": 100, "default": 5})
LABELLER = ("labeller", {"type": "string", "minLength": 1, "maxLength": 64, "default": "somebody"})
SEAT = ("seat", {"type": "string", "maxLength": 64, "default": ""})
SECOND = ("second", {"enum": ["false", "true"], "default": "false"})
TEXT = {"type": "string", "minLength": 1, "maxLength": 256}
SECONDS = {"type": "integer", "minimum": 0, "maximum": 2**40}  # since 1970
FILTERS = (
    ("text", TEXT), ("label", TEXT), ("predicted", TEXT), ("by", TEXT), ("batch", TEXT),
    ("outcome", {"enum": ["any", *OUTCOMES], "default": "any"}),
    ("state", {"enum": ["stored", *STATES], "default": "stored"}), ("since", SECONDS), ("until", SECONDS),
)  # fmt: skip
BEFORE = ("before", {"type": "integer", "minimum": 1, "maximum": 2**53})
ROWS = ("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50})
HOLD = ("hold", {"type": "array", "items": {"type": "string"}, "maxItems": 100})
API_VERSION = ("api-version", {"enum": [*personalizer.API_VERSIONS]})
OF = ("of", {"enum": ["snapshot", "base"], "default": "snapshot"})
VERSION, BEGUN = (
    (name, {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0}) for name in ("version", "begun")
)
REPLICATED = {  # what replicas answer
    "predict", "explain", "evaluate", "list_models", "get_model", "get_file", "metrics", "events",
}  # fmt: skip
NAME = {"type": "string", "minLength": 1, "maxLength": 200}
CONTROL, TARGET, TEXT_COLUMN = ("control", NAME), ("target", NAME), ("text", NAME)
COLUMN = ("column", {"type": "array", "items": NAME, "maxItems": 100})
POLICY = ("policy", {"type": "array", "items": NAME, "maxItems": 10})
PERIODS = ("periods", {"type": "string", "pattern": "^(day|[1-9][0-9]?)$"})
REWARD_RANGE = ("reward_range", {"type": "string", "maxLength": 100, "examples": ["0,1"]})
WHICH = ("rows", {"enum": ["learned", "waiting"], "default": "learned"})

ROUTES = (
    Route(
        "POST", f"{MODEL}/predict", rows.predict, "predict", rows.PredictBody,
        (rows.Prediction, rows.NumberPrediction, rows.Predictions), (SET, MAX_RISK, NOVELTY, TOP_K),
        lines="both",
    ),
    Route(
        "POST", f"{MODEL}/learn", rows.learn, "learn", m.LearnBody, (m.Receipt, dry_run.DryRun),
        (WAIT, BATCH, DRY_RUN, SETTINGS), lines="both",
    ),
    Route("POST", f"{MODEL}/labels", rows.label, "label", rows.LabelBody, m.Receipt, (WAIT, PARK, BATCH), lines="both"),
    Route(
        "POST", f"{MODEL}/explain", explain.explain, "predict", explain.ExplainBody,
        (explain.Explained, explain.NumberExplained),
    ),
    Route(
        "POST", f"{MODEL}/decide", decisions.decide, "predict", decisions.DecideBody,
        (decisions.Decision, decisions.SlotDecisions), lines="both",
    ),
    Route("POST", f"{MODEL}/activate", decisions.activate, "predict", decisions.ActivateBody, decisions.Activated),
    Route(
        "POST", f"{MODEL}/rewards", decisions.reward, "label", decisions.RewardBody, m.Receipt, (WAIT, BATCH),
        lines="both",
    ),
    Route(
        "POST", f"{PERSONALIZER}/rank", personalizer.personalizer_rank, "predict", pz.RankRequest, pz.RankResponse,
        (API_VERSION,), statuses=(201,),
    ),
    Route(
        "POST", f"{PERSONALIZER}/multislot/rank", personalizer.personalizer_rank_slots, "predict", pz.RankSlotsRequest,
        pz.RankSlotsResponse, (API_VERSION,), statuses=(201,),
    ),
    Route(
        "POST", f"{PERSONALIZER}/events/{{id}}/reward", personalizer.personalizer_reward, "label", pz.RankReward, None,
        (API_VERSION,), statuses=(204,),
    ),
    Route(
        "POST", f"{PERSONALIZER}/multislot/events/{{id}}/reward", personalizer.personalizer_reward_slots, "label",
        pz.SlotRewards, None, (API_VERSION,), statuses=(204,),
    ),
    Route(
        "POST", f"{PERSONALIZER}/events/{{id}}/activate", personalizer.personalizer_activate, "predict", None, None,
        (API_VERSION,), statuses=(204,),
    ),
    Route(
        "POST", f"{PERSONALIZER}/multislot/events/{{id}}/activate", personalizer.personalizer_activate_slots, "predict",
        None, None, (API_VERSION,), statuses=(204,),
    ),
    Route(
        "GET", f"{MODEL}/evaluate", evaluate.evaluate, "admin", None, evaluate.Evaluation,
        (POLICY, PERIODS, REWARD_RANGE),
    ),
    Route("GET", "/v1/models", models.list_models, "predict", None, models.Models, some=True),
    Route("GET", MODEL, models.get_model, "predict", None, models.ModelFacts),
    Route("PUT", MODEL, models.put_model, "admin", ModelSettings, models.ModelFacts, statuses=(200, 201, 202)),
    Route("DELETE", MODEL, models.delete_model, "admin", statuses=(204,)),
    Route("GET", f"{MODEL}/file", models.get_file, "admin", file="answer"),
    Route("PUT", f"{MODEL}/file", models.put_file, "admin", None, models.ModelFacts, statuses=(200, 201), file="body"),
    Route("GET", f"{MODEL}/contribution", merging.get_contribution, "admin", file="answer"),
    Route("POST", f"{MODEL}/merge", merging.merge, "learn", None, merging.Merged, (WAIT,), file="body"),
    Route("POST", f"{MODEL}/rebuild", versions.rebuild, "admin", None, versions.VersionState, (LIVE,)),
    Route("POST", f"{MODEL}/rollback", versions.rollback, "admin", None, versions.VersionState, (LIVE,)),
    Route("GET", f"{MODEL}/versions", versions.get_versions, "predict", None, versions.Versions),
    Route(
        "POST", f"{MODEL}/versions/{{id}}/promote", versions.promote_version, "admin", None, versions.VersionState,
        (LIVE,),
    ),
    Route("DELETE", f"{MODEL}/versions/{{id}}", versions.delete_version, "admin", None, versions.VersionState),
    Route("GET", f"{MODEL}/batches", versions.get_batches, "admin", None, versions.Batches),
    Route("DELETE", f"{MODEL}/batches/{{id}}", versions.delete_batch, "admin", None, versions.VersionState, (LIVE,)),
    Route("GET", f"{MODEL}/edits", versions.get_edits, "admin", None, versions.Edits),
    Route("POST", f"{MODEL}/edits", versions.post_edit, "admin", versions.EditBody, versions.VersionState, (LIVE,)),
    Route("DELETE", f"{MODEL}/edits/{{id}}", versions.delete_edit, "admin", None, versions.VersionState, (LIVE,)),
    Route("GET", f"{MODEL}/metrics", models.metrics, "predict", None, dict[str, Any]),
    Route(
        "GET", f"{MODEL}/examples", stored.get_examples, "admin", None, stored.ExampleOut, (AFTER, LIMIT, VECTORS),
        lines="answer",
    ),
    Route(
        "GET", f"{MODEL}/set-aside", stored.get_set_aside, "admin", None, stored.SetAsideOut, (AFTER, LIMIT),
        lines="answer",
    ),
    Route("GET", f"{MODEL}/examples/{{id}}", stored.get_example, "admin", None, stored.StoredRow),
    Route("DELETE", f"{MODEL}/examples/{{id}}", stored.delete_example, "admin", None, stored.Erased),
    Route("GET", f"{MODEL}/rows", browse.get_rows, "admin", None, browse.BrowsedRows, (*FILTERS, BEFORE, ROWS)),
    Route("GET", f"{MODEL}/rows/{{id}}", browse.get_row, "admin", None, browse.BrowsedRowHistory),
    Route("GET", f"{MODEL}/facets", browse.get_facets, "admin", None, browse.FacetCounts, FILTERS),
    Route(
        "GET", f"{MODEL}/exchange/label-studio", exchange.get_label_studio, "admin", None, list[ls.ExportedTask],
        (WHICH, CONTROL, TARGET),
    ),
    Route(
        "POST", f"{MODEL}/exchange/label-studio", exchange.post_label_studio, "learn", list[ls.Task], exchange.Imported,
        (BATCH, COLUMN, CONTROL), lines="body",
    ),
    Route(
        "GET", f"{MODEL}/exchange/prodigy", exchange.get_prodigy, "admin", None, prodigy.Record, (WHICH, TEXT_COLUMN),
        lines="answer",
    ),
    Route(
        "POST", f"{MODEL}/exchange/prodigy", exchange.post_prodigy, "learn", list[prodigy.Record], exchange.Imported,
        (BATCH, TEXT_COLUMN), lines="body",
    ),
    Route("GET", f"{BACKEND}/health", backend.backend_health, "predict", None, backend.BackendHealth),
    Route("POST", f"{BACKEND}/setup", backend.backend_setup, "predict", backend.BackendSetup, backend.BackendVersion),
    Route(
        "POST", f"{BACKEND}/predict", backend.backend_predict, "predict", backend.BackendQuestion,
        backend.BackendResults,
    ),
    Route("POST", f"{BACKEND}/webhook", backend.backend_webhook, "learn", backend.BackendEvent, backend.BackendDone),
    Route("GET", f"{MODEL}/queue", labelling.get_queue, "label", None, labelling.Queue, (N, LABELLER, SEAT, HOLD)),
    Route("POST", f"{MODEL}/answers", labelling.post_answer, "label", labelling.AnswerBody, labelling.Done),
    Route(
        "DELETE", f"{MODEL}/answers/{{id}}", labelling.delete_answer, "label", None, labelling.Done,
        (LABELLER, SEAT, SECOND),
    ),
    Route("GET", "/v1/replication", replication.get_followed, "admin", None, replication.Followers),
    Route("GET", f"{MODEL}/replication/snapshot", replication.get_snapshot, "admin", query=(OF,), file="answer"),
    Route(
        "GET", f"{MODEL}/replication/learned", replication.get_learned, "admin", None, Line,
        (VERSION, BEGUN, AFTER), lines="answer",
    ),
    Route(
        "GET", "/v1/audit", directory.get_audit, "admin", None, AuditEntry, (AFTER, LIMIT), lines="answer", some=True
    ),
    Route("GET", "/v1/events", directory.events, "predict", some=True),
    Route("POST", "/v1/samples", samples.post_sample, "admin", samples.SampleBody, models.ModelFacts, statuses=(201,)),
    Route("POST", "/v1/snapshot", directory.snapshot, "admin", None, directory.Saved),
    Route("POST", "/v1/backup", directory.backup, "admin", directory.BackupBody, directory.BackupMade, statuses=(201,)),
)  # fmt: skip
