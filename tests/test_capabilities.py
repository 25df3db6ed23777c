"""The table of capabilities in the documentation: every yes is done on few rows, every no is one clear error."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import warnings
from copy import deepcopy
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import confidently
from confidently import active, load, merge, plots, progressive_validation, river
from confidently.bandits import ContextualBandit
from confidently.entities import EntityModels
from confidently.serve.model.served import ServedModel
from confidently.serve.model.settings import ModelSettings
from confidently.serve.problems import Problem
from tests.command_line import here
from tests.serve.rows import examples

FILE = Path(__file__).parents[1] / "docs" / "capabilities.py"
SPEC = importlib.util.spec_from_file_location("capabilities", FILE)
TABLE = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = TABLE
SPEC.loader.exec_module(TABLE)

N, D = 160, 4
ERRORS = (ValueError, TypeError, AttributeError, Problem)
BANDIT, TOPICS = "ContextualBandit", "OnlineMedLDA"


class CommandError(ValueError):
    """What a command prints where it cannot do what it is asked."""


def command(*arguments):
    done = here(*arguments)
    if done.returncode:
        raise CommandError(done.stderr)
    return done.stdout


def rows(seed=0):
    """Counts of four words, with a class, two labels and two numbers that depend on them."""
    generator = np.random.default_rng(seed)
    X = generator.poisson(2.0, size=(N, D)).astype(float)
    X[:, 0] += 1.0  # no row is empty
    return X, X[:, 1] + generator.normal(size=N) > 2.0, X[:, [1, 2]] > 2.0, X[:, [1, 2]] + generator.normal(size=(N, 2))


class Subject:
    """An estimator by name, with rows that suit it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.X, classes, self.labels, self.numbers = rows()
        self.regression = name.endswith("Regressor")
        self.y = self.numbers[:, 0] if self.regression else classes.astype(int)

    def new(self, **parameters):
        if self.name == BANDIT:
            return ContextualBandit([0, 1], random_state=0, **parameters)
        more = {"n_topics": 2, "random_state": 0} if self.name == TOPICS else {}
        return getattr(confidently, self.name)(**more, **parameters)

    def given(self, X=None, y=None):
        """What ``fit`` takes: of bandits arms, rewards and contexts."""
        X, y = self.X if X is None else X, self.y if y is None else y
        return (y, np.ones(len(y)), X) if self.name == BANDIT else (X, y)

    def fitted(self, **parameters):
        return self.new(**parameters).fit(*self.given())

    def fitted_to_many(self):
        """Trained on rows and classes that topic models can learn, which score few rows before training."""
        easier = (self.X[:, 1] > self.X[:, 2]).astype(int)
        return self.new().fit(*self.given(np.tile(self.X, (8, 1)), np.tile(easier, 8)))

    def first(self, model, last):
        """Train on the first rows as a stream begins."""
        given = [part[:last] for part in self.given()]
        known = {} if self.regression or self.name == BANDIT else {"classes": [0, 1]}
        return model.partial_fit(*given, **known)

    def file(self):
        path = self.folder / "rows.csv"
        frame(self.X).assign(label=self.y).to_csv(path, index=False)
        return path

    def saved(self):
        path = self.folder / "m.cw"
        self.fitted().save(path)
        return path

    def trained(self):
        """A model file of the command line, with the options of this estimator."""
        path, kinds = self.folder / "trained.cw", {
            "OnlineClassifier": ["train", "--rule", "arow"], "OnlineRegressor": ["train", "--rule", "ridge"],
            "AutoClassifier": ["train", "--auto"], "AutoRegressor": ["train", "--auto", "--regression"],
            TOPICS: ["topics", "train", "--topics", "2"],
        }  # fmt: skip
        command(
            *kinds.get(self.name, ["train", "--rule", self.name.lower()]),
            self.file(),
            "--label",
            "label",
            "-q",
            "-o",
            path,
        )
        return path


def frame(X):
    return pd.DataFrame(X, columns=[f"w{j}" for j in range(X.shape[1])])


def answers(model, X):
    return np.asarray(model.predict(X))


# --- what each capability is ------------------------------------------------------------------------------------------


def sparse_rows(s):
    dense, sparse = s.fitted(), s.new().fit(*s.given(csr_array(s.X)))
    assert answers(sparse, csr_array(s.X)).shape == answers(dense, s.X).shape


def data_frames(s):
    model = s.new().fit(*s.given(frame(s.X)))
    assert list(model.feature_names_in_) == ["w0", "w1", "w2", "w3"]


def example_weights(s):
    weight = np.where(np.arange(N) % 2, 1.0, 3.0)
    one, other = s.new().fit(*s.given(), sample_weight=weight), s.fitted()
    assert not np.array_equal(scores(one, s.X), scores(other, s.X))


def scores(model, X):
    return np.asarray(model.predict(X) if hasattr(model, "predict_interval") else model.decision_function(X))


def class_weights(s):
    one, other = s.fitted(class_weight={0: 5.0, 1: 1.0}), s.fitted()
    assert not np.array_equal(scores(one, s.X), scores(other, s.X))


def several_passes(s):
    one, other = s.fitted(passes=3), s.fitted(passes=1)
    assert one.n_seen_ == 3 * other.n_seen_


def three_classes(s):
    y = np.digitize(s.X[:, 1], [1.5, 3.5])
    assert set(s.new().fit(*s.given(y=y)).predict(s.X).tolist()) <= {0, 1, 2}


def label_sets(s):
    predicted = s.new().fit(s.X, s.labels.astype(int)).predict(s.X)
    assert predicted.shape == (N, 2) and set(predicted.ravel().tolist()) == {0, 1}


def several_targets(s):
    assert s.new().fit(s.X, s.numbers).predict(s.X).shape == (N, 2)


def later_rows(s):
    model = s.first(s.new(), N // 2)
    before = scores(model, s.X) if s.name != BANDIT else model.predict_expectations(s.X)
    model.partial_fit(*(part[N // 2 :] for part in s.given()))
    after = scores(model, s.X) if s.name != BANDIT else model.predict_expectations(s.X)
    assert not np.array_equal(before, after)


def new_classes(s):
    model = s.first(s.new(), N // 2)
    model.partial_fit(s.X, np.digitize(s.X[:, 1], [1.5, 3.5]), classes=[0, 1, 2])
    assert len(model.classes_) == 3


def tables(s):
    X = frame(s.X).assign(town=np.where(s.X[:, 1] > 2.0, "Delft", None), day=pd.Timestamp("2026-01-01"))
    texts = ["free money" if y else "see you" for y in s.X[:, 1] > 2.0]
    for rows in (X, X.to_dict("records"), texts):
        assert len(answers(s.new().fit(*s.given(rows)), rows)) == N


def measures(s):
    model = s.new().fit_stream(s.file()) if hasattr(s.new(), "fit_stream") else s.fitted()
    assert confidently.evaluate(model, s.file())["rows"] == N


def files(s):
    model = s.new().fit_stream(s.file())
    assert len(np.concatenate(list(model.predict_stream(str(s.file()))))) == N


def commands(s):
    assert s.trained().exists()


def exact_resume(s):
    one, path = s.first(s.new(), N // 2), s.folder / "half.cw"
    one.save(path)
    again = ContextualBandit.load(path) if s.name == BANDIT else load(path)
    for model in (one, again):
        model.partial_fit(*(part[N // 2 :] for part in s.given()))
    if s.name == BANDIT:
        assert np.array_equal(one.predict_expectations(s.X), again.predict_expectations(s.X))
    else:
        assert np.array_equal(scores(one, s.X), scores(again, s.X))


def merging(s):
    base = s.new().fit(*(np.concatenate([part] * 8) for part in s.given()))  # views of a thousand rows are alike
    halves = [deepcopy(base).partial_fit(*(part[k::2] for part in s.given())) for k in range(2)]
    assert merge(halves, base=base).n_seen_ == base.n_seen_ + N


def entities(s):
    model = EntityModels(shared=s.new()).fit(*s.given()[:2], key=np.arange(N) % 5)
    assert model.n_entities_ == 5


def dicts(s):
    model = getattr(river, s.name)()
    for x, y in zip(frame(s.X).to_dict("records"), s.y.tolist(), strict=True):
        model.learn_one(x, y)
    assert np.isfinite(model.predict_one({"w0": 1.0}))


def dicts_of_labels(s):
    model = getattr(river, s.name.replace("Classifier", "MultiLabelClassifier"))()
    for x, (a, b) in zip(frame(s.X).to_dict("records"), s.labels.tolist(), strict=True):
        model.learn_one(x, {"a": a, "b": b})
    assert set(model.predict_one({"w0": 1.0})) == {"a", "b"}


def onnx(s):
    pytest.importorskip("onnx")
    assert s.fitted().to_onnx().graph.node


def importances(s):
    assert s.fitted().feature_importances_.sum() == pytest.approx(1.0)


def coefficients(s):
    own = {"view": None} if s.name == "OnlineClassifier" else {}
    predictor, model = s.fitted(**own).to_sklearn(), s.fitted(**own)
    assert np.allclose(predictor.predict(s.X), model.predict(s.X))


def probabilities(s):
    assert np.allclose(s.fitted().predict_proba(s.X).sum(axis=1), 1.0)


def intervals(s):
    limits = s.fitted().predict_interval(s.X, 0.8)
    assert (limits[..., 0] < limits[..., 1]).all()


def variances(s):
    model = s.fitted()
    if s.regression:
        deviation = model.predict(s.X, return_std=True)[1]
    else:
        deviation = (model.score_distribution if s.name == BANDIT else model.margin_distribution)(s.X)[1]
    assert (np.asarray(deviation) > 0).all()


def abstention(s):
    found = command("predict", s.trained(), s.file(), "--abstain", "0.5")
    assert len(found.splitlines()) >= N


def class_sets(s):
    found = s.fitted_to_many().predict_set(s.X, 0.8)
    assert found.shape == (N, 2) and 0 < found.mean() < 1


def group_sets(s):
    model = s.new(coverage_by=0).fit(*s.given())
    if s.regression:
        assert model.predict_interval(s.X, 0.5).shape == (N, 2)
    else:
        found = model.predict_set(s.X, 0.8)
        assert found.shape == (N, 2) and 0 < found.mean() < 1
    assert set(model.learner_.groups.states) == {str(int(value)) for value in s.X[:, 0]}


def bounded_risk(s):
    leave = s.fitted_to_many().abstain(s.X, 0.4)
    assert leave.shape == (N,) and 0 <= leave.mean() < 1


def novelty(s):
    p = s.fitted().novelty(s.X)
    assert p.shape == (N,) and ((p > 0) & (p <= 1)).all()


def active_learning(s):
    assert len(active.query(s.fitted(), s.X, 5)) == 5


def validation(s):
    curve = progressive_validation(s.new(), s.X, s.y, at=N)
    assert 0 < curve.mistakes[0, -1] < N


def inspection(s):
    found = json.loads(command("inspect", s.trained(), "--json"))
    assert found["weights"]


def explanations(s):
    found = json.loads(command("inspect", s.trained(), "--row", json.dumps({"w0": 1, "w1": 5}), "--json"))
    assert found["contributions" if "contributions" in found else "features"]


def drawn_weights(s):
    path = s.folder / "plot.png"
    command("inspect", s.trained(), "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def drawn_rows(s):
    path = s.folder / "plot.png"
    command("inspect", s.trained(), "--row", json.dumps({"w0": 1, "w1": 5}), "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def decision_maps(s):
    X = s.X[:, 1:3]
    plots.DecisionMapDisplay.from_estimator(s.new().fit(*s.given(X)), X, s.y)


def comparison(s):
    found = command("compare", s.file(), "--label", "label", "--rules", "arow", "--json", "-q",
                    *(["--auto"] if s.name.startswith("Auto") else []))  # fmt: skip
    assert json.loads(found)["trials"]


def serving(s):
    own = {"AutoClassifier": {"auto": True}, "OnlineRegressor": {"rule": "ridge"}, "MIRA": {"rule": "mira"}}
    settings = own.get(s.name, {} if s.name == "OnlineClassifier" else {"estimator": s.name})
    model = ServedModel(msgspec.convert(settings, ModelSettings))
    records = zip(frame(s.X).to_dict("records"), s.y.tolist(), strict=True)
    model.learn(examples(list(records)))
    (answer,) = model.answers([b'{"w0": 1, "w1": 5}'])
    assert answer.label in (0, 1)


def clusters(s):
    dask = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    from confidently.distributed import fit

    given = [dask.from_array(part, chunks=(N // 2, *part.shape[1:])) for part in s.given()]
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        model = fit(s.new(), *given[:2], client=client)
    assert model.n_seen_ == N


ACTIONS = {name: found for name, found in list(globals().items()) if name in TABLE.CAPABILITIES}
CASES = [(capability, estimator) for capability in TABLE.CAPABILITIES for estimator in TABLE.ESTIMATORS]


def test_the_page_is_current():
    assert TABLE.PAGE.read_text(encoding="utf-8") == TABLE.page(), f"docs are stale; run: {TABLE.REFRESH}"


def test_every_capability_has_an_action_and_every_no_a_reason():
    assert set(ACTIONS) == set(TABLE.CAPABILITIES)
    for (capability, estimator), no in TABLE.NO.items():
        assert capability in TABLE.CAPABILITIES
        assert estimator in TABLE.ESTIMATORS
        assert len(no.reason.split()) > 2


@pytest.mark.parametrize(("capability", "estimator"), CASES, ids=lambda value: value)
def test_every_yes_is_done_and_every_no_is_a_clear_error(capability, estimator, tmp_path):
    subject, no = Subject(estimator, tmp_path), TABLE.answer(capability, estimator)
    if no is not None and no.error is None:
        assert subject.regression  # the question is about classes
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if no is None:
            ACTIONS[capability](subject)
            return
        with pytest.raises(ERRORS) as caught:
            ACTIONS[capability](subject)
    message = str(caught.value).strip()
    assert re.search(no.error, message), message
    assert "\n" not in message
