"""The messages of the HTTP interface: what bodies must look like, and what answers do look like."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ..exchange import label_studio as ls
from ..model.settings import ModelSettings
from ..replica.source import Followed

Id = Annotated[str, Meta(min_length=1, max_length=256, description="names a row of the model; used once")]
Labeller = Annotated[str, Meta(min_length=1, max_length=64, description="who labels")]
Seat = Annotated[str, Meta(max_length=64, description="one of several places where a person labels")]
Text = Annotated[str, Meta(min_length=1, max_length=256)]
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Label = Annotated[
    Number | float | bool | Text | list[Number | Text],
    Meta(description="a class; where rows have several labels, a list of them; where numbers are predicted, a number"),
]
Guess = int | float | str | list[int | str]
Features = Annotated[
    msgspec.Raw,
    Meta(
        description="a JSON object, read as a line of JSON lines: numbers, strings, lists, objects",
        extra_json_schema={"type": "object"},
    ),
]


class Instance(Struct, forbid_unknown_fields=True):
    """A row without a label; with an id it is stored, so that its label can follow."""

    features: Features
    id: Id | None = None


class PredictBody(Struct, forbid_unknown_fields=True):
    """One row, or several as instances."""

    id: Id | None = None
    features: Features | UnsetType = UNSET
    instances: Annotated[list[Instance], Meta(min_length=1, max_length=10_000)] | UnsetType = UNSET


class Prediction(Struct):
    """What the model says of a row. ``ask``: the prediction is among the least certain ones, whose label helps most.

    With ``?top_k=``, ``probability`` has only the most probable classes, in this order. With ``?set=``, ``set`` has the
    classes that cannot be excluded, the most probable first; with ``?max_risk=``, ``abstain`` is whether the label
    should not be relied on. With ``?novelty=true``, ``novelty`` is a p-value, which is small for rows unlike all those
    learned.
    """

    id: str | None
    label: int | str | list[int | str] | None
    probability: dict[str, float]
    margin: float
    variance: float
    ask: bool
    set: list[int | str] | UnsetType = UNSET
    abstain: bool | UnsetType = UNSET
    novelty: float | UnsetType = UNSET


class NumberPrediction(Struct):
    """What a model of numbers says of a row: the number expected, and limits that it is between.

    The limits are those of 90 % of rows, or of the fraction ``?set=``. ``variance`` is that of the number around
    ``label``. ``ask``: about a tenth of recent rows were as uncertain. ``novelty`` is as for classes.
    """

    id: str | None
    label: float | None
    interval: tuple[float, float] | None
    variance: float | None
    ask: bool
    novelty: float | UnsetType = UNSET


SCHEMAS = "#/components/schemas/"
PredictionOrProblem = Annotated[
    Any,
    Meta(
        extra_json_schema={
            "anyOf": [{"$ref": f"{SCHEMAS}{name}"} for name in ("Prediction", "NumberPrediction", "Problem")]
        }
    ),
]


class Predictions(Struct):
    """Predictions in the order of the instances; a row that cannot be read has a problem in its place."""

    predictions: list[PredictionOrProblem]


class LearnBody(Struct, forbid_unknown_fields=True):
    """A row with its label."""

    features: Features
    label: Label
    id: Id | None = None
    weight: Annotated[float, Meta(ge=0.0, le=1e9)] = 1.0


class LabelBody(Struct, forbid_unknown_fields=True):
    """The label of a row that was predicted; with ``correct`` it may differ from an earlier one.

    ``labeller`` is who says so, for the history of the row.
    """

    id: Id
    label: Label
    correct: bool = False
    labeller: Labeller | None = None


class Receipt(Struct):
    """What became of a row: its event in the log, and whether it is durable, learned or parked."""

    id: str
    seq: int
    status: str


class DryRun(Struct):
    """What learning rows would do: rows in all and acceptable ones, and the first 20 problems, by their lines.

    ``labels`` has the 20 most frequent classes of acceptable rows. ``new_classes`` and ``unknown_fields`` are those
    that the model does not know; ``guards`` counts odd rows by kind, once the model has learned 100 rows.
    """

    rows: int
    good: int
    bad: list[dict[str, Any]]
    labels: dict[str, int]
    n_classes: int
    new_classes: list[str]
    unknown_fields: list[str]
    guards: dict[str, int]


class AnswerBody(Struct, forbid_unknown_fields=True):
    """A labeller's answer about a row, or that the row is skipped, with a reason or without.

    With ``second`` it is a second answer to a row that has one; it is compared with the first and never learned.
    ``seat`` is one of several places where a person labels at the same time, each with rows of its own.
    """

    id: Id
    label: Label | None = None
    labeller: Labeller = "somebody"
    seat: Seat = ""
    second: bool = False
    skip: bool = False
    reason: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Chance(Struct):
    """A class, and its probability according to the model."""

    label: str
    probability: float


class ToLabel(Struct):
    """A row to label.

    ``guess`` is what the model thinks now, ``top`` the most probable classes, ``random`` whether the row was drawn at
    random, ``second`` whether it has an answer already and is asked about a second time.
    """

    id: str
    features: dict[str, Any]
    guess: Guess | None
    top: list[Chance]
    certainty: float
    random: bool
    second: bool


class Queue(Struct):
    """Rows to label, which the labeller has for ``lease`` seconds; and how far labelling is."""

    rows: list[ToLabel]
    classes: list[str]
    lease: float
    progress: dict[str, Any]


class AlarmOut(Struct):
    """A sign that the rows of a model have changed: "error", "log-loss", "coverage" or "order", and since when."""

    kind: str
    since: float
    detail: str


class ModelFacts(Struct):
    """A model.

    ``recent``: metrics of about the last 1,000 rows; ``version``: the one that answers; ``others``: versions that are
    trained meanwhile; ``refused``: rows that were set aside; ``alarms``: signs that the rows have changed; ``guards``:
    by kind, how many odd rows were learned, and how many were predicted or refused; ``failed``: why it has stopped, if
    it has.

    Of classes it has ``error`` and ``log_loss``, of numbers ``mae`` and ``rmse``: means over all rows, of which each
    was predicted before it was learned.
    """

    name: str
    settings: ModelSettings
    created: float
    task: str
    classes: list[str]
    open: bool
    multilabel: bool
    features: int
    rows: int
    updates: int
    waiting: int
    seq: int
    snapshot: int
    version: int
    others: int
    refused: int
    alarms: list[AlarmOut]
    guards: dict[str, dict[str, int]]
    failed: str | None
    recent: dict[str, float | None]
    to_label: int
    behind: int
    error: float | UnsetType | None = UNSET
    log_loss: float | UnsetType | None = UNSET
    mae: float | UnsetType | None = UNSET
    rmse: float | UnsetType | None = UNSET


class Models(Struct):
    """All models."""

    models: list[ModelFacts]


class Version(Struct):
    """A version of a model: settings, and the log as it has learned it.

    ``state``: live (it answers), shadow, promoting or next (it will answer), retired. ``progress``: of the rows that
    the model has learned. ``error``, ``mae`` and the other metrics are progressive, of all rows that it has learned.
    """

    version: int
    state: str
    reason: str
    created: float
    settings: ModelSettings
    seq: int
    progress: float
    failed: str | None
    rows: int
    recent: dict[str, Any]
    refused: int
    curve: list[dict[str, Any]]
    error: float | UnsetType | None = UNSET
    log_loss: float | UnsetType | None = UNSET
    mae: float | UnsetType | None = UNSET
    rmse: float | UnsetType | None = UNSET


class Versions(Struct):
    """Versions of a model."""

    versions: list[Version]


class VersionState(Struct):
    """The version that answers, or will do so once it is trained; ``edit`` is the event of an edit."""

    version: int
    state: str
    edit: int | None


class Batch(Struct):
    """A batch of rows: those of an import, of a source or of a client. ``edit``: what has taken it out, if anything."""

    batch: str
    created: float
    rows: int
    edit: int | None


class Batches(Struct):
    """Batches of a model."""

    batches: list[Batch]


class EditBody(Struct, forbid_unknown_fields=True):
    """A class, and its new name: that of another class merges both; none removes the class with its rows."""

    source: Annotated[str, Meta(min_length=1, max_length=1000)] = msgspec.field(name="from")
    to: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None


class Edit(Struct):
    """An edit of a batch or a class; ``answers``: whether the version that answers has learned the rows as edited."""

    edit: int
    time: float
    batch: str | None
    source: str | None = msgspec.field(name="from")
    to: str | None
    answers: bool


class Imported(Struct):
    """What an import has done.

    ``rows`` are durable; ``skipped`` says nothing of a label; ``failed`` is wrong. ``problems`` has the first of these,
    with pointers that begin with the number of the record.
    """

    batch: str
    rows: int
    skipped: int
    failed: int
    problems: list[Any]


class BackendHealth(Struct):
    """That the backend answers."""

    status: str
    model: str


class BackendSetup(Struct):
    """A project of Label Studio: ``schema`` is its labeling config."""

    schema: str = ""


class BackendVersion(Struct):
    """Which model answers; it changes with the version and whenever the rows have doubled."""

    model_version: str


class BackendQuestion(Struct):
    """Tasks to predict."""

    tasks: list[ls.Task]
    label_config: str = ""


class BackendResults(Struct):
    """Predictions in the order of the tasks."""

    results: list[ls.TaskPrediction]
    model_version: str


class BackendProject(Struct):
    """A project of Label Studio."""

    id: int | None = None
    label_config: str = ""


class BackendEvent(Struct):
    """What has happened in a project: of a created annotation its task too, of a deleted one nothing but its number."""

    action: str
    project: BackendProject = msgspec.field(default_factory=BackendProject)
    annotation: ls.Annotation | list[ls.Annotation] | None = None
    annotations: list[ls.Annotation] = []
    task: ls.Task | list[ls.Task] | None = None


class BackendDone(Struct):
    """What an event has changed."""

    learned: int
    erased: int


class Edits(Struct):
    """Edits of a model."""

    edits: list[Edit]


class ExampleOut(Struct):
    """A learned row; ``time`` in seconds since 1970, ``by`` who labelled it, if that is known."""

    seq: int
    id: str | None
    features: dict[str, Any]
    label: Guess
    weight: float
    time: float
    by: str | UnsetType = UNSET


class SetAsideOut(Struct):
    """A row that the model could not learn: ``event`` is that of the row, ``seq`` that of setting it aside."""

    seq: int
    event: int
    id: str | None
    features: dict[str, Any] | None
    label: Guess | None
    weight: float
    time: float
    reason: str


class BrowsedRow(Struct):
    """A stored row. ``predicted``: what the model said before it had a label, with ``probability``; ``outcome``:
    whether that was right; ``by``: who gave the label, if that is known; ``reason``: why it was set aside.
    ``label`` and ``predicted`` have the names of classes after edits; ``logged`` is the label as it was given.
    """

    seq: int
    id: str
    time: float
    weight: float
    features: dict[str, Any] | None
    state: str
    label: Guess | None
    logged: Guess | None
    predicted: Guess | None
    probability: float | None
    outcome: str | None
    by: str | None
    reason: str | None


class BrowsedRows(Struct):
    """Stored rows, the newest first; ``before``: where the next page begins, null after the last one."""

    rows: list[BrowsedRow]
    before: int | None


class FacetCounts(Struct):
    """How many rows have each value; of those since an event only, if ``since`` is not null."""

    rows: int
    since: int | None
    state: dict[str, int]
    label: dict[str, int]
    predicted: dict[str, int]
    outcome: dict[str, int]
    by: dict[str, int]


class Moment(Struct):
    """An event of a row: its arrival, a label, an answer of a person, an undo, an erasure."""

    seq: int
    time: float
    kind: str
    label: Guess | None
    by: str | None
    reason: str | None


class BrowsedRowHistory(BrowsedRow):
    """A stored row with the whole prediction, and its events in order."""

    prediction: dict[str, Any] | None
    history: list[Moment]


class StoredRow(Struct):
    """A stored row: its features, its last label if it has one, and what the model said of it if it was predicted.

    ``history`` has everything that happened to it: what and when, the label, who gave it, and why it was skipped.
    """

    id: str
    seq: int
    features: dict[str, Any]
    label: Guess | None
    prediction: dict[str, Any] | None
    history: list[dict[str, Any]]


class ExplainBody(Struct, forbid_unknown_fields=True):
    """A row, and the class whose margin is explained; by default the predicted one."""

    features: Features
    about: str | None = None


class Explained(Struct):
    """What each feature adds to the margin between two classes, the largest first; of a stack, each member too."""

    predicted: int | str | list[int | str] | None
    supported: int | str | None
    rival: int | str | None
    mean: float
    variance: float
    classes: list[dict[str, Any]]
    contributions: list[dict[str, Any]]
    members: list[dict[str, Any]]


class NumberExplained(Struct):
    """What each feature adds to a number, the largest first; of a stack, each member too.

    ``predicted`` is ``offset`` and the ``mean`` of all contributions; with the rule "poisson" the exponential of that
    and half of their variances. ``std`` is the standard deviation of the number around it.
    """

    predicted: float
    std: float
    offset: float
    contributions: list[dict[str, Any]]
    members: list[dict[str, Any]]


class Saved(Struct):
    """The event up to which the snapshot of every model goes."""

    snapshots: dict[str, int]


class SampleBody(Struct, forbid_unknown_fields=True):
    """Which made-up rows a new model of that name is to learn."""

    sample: Literal["messages", "tickets", "rents"]


class BackupBody(Struct, forbid_unknown_fields=True):
    """The name of the backup, a new folder beside those made before."""

    name: Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})]


class BackupMade(Struct):
    """Where a backup is: a folder below the server's directory."""

    path: str


class Erased(Struct):
    """The event of an erasure. The model keeps what it had learned of the row until it is trained again without it."""

    id: str
    seq: int
    influence: str


class Done(Struct):
    """The event of an undo, or of another change."""

    id: str
    seq: int


class Followers(Struct):
    """The models of a primary, as replicas follow them."""

    models: list[Followed]
