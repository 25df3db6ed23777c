"""The promises of the server as a state machine, whose other half is a dict."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.serve.conftest import Local
from tests.serve.rows import trained
from tests.serve.running import lines_of

MODEL = "/v1/models/m"
ids = st.sampled_from(["a", "b", "c", "d/e", "f"])
labels = st.sampled_from(["ham", "spam"])
features = st.sampled_from([{}, {"x": 1}, {"x": 2, "w": "cash"}, {"w": "noon"}])


class Promises(RuleBasedStateMachine):
    """Every id has features, and maybe a label; labels are learned in the order in which they were acknowledged."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.rows, self.labels, self.parked, self.erased, self.learned = {}, {}, {}, set(), []
        self.server = None

    @initialize()
    def begin(self):
        self.server = Local(self.folder / "served")
        assert self.ask("PUT", "", {"view": "none", "classes": ["ham", "spam"]}).status_code == 201

    def ask(self, method, path, body=None):
        return self.server(method, f"{MODEL}{path}", body)

    def expect(self, answer, status):
        assert answer.status_code == status, answer.text
        return answer.json()

    def label(self, id, label):
        self.labels[id] = label
        self.learned.append((id, self.rows[id], label))

    @rule(id=ids, features=features, label=labels)
    def learn(self, id, features, label):
        answer = self.ask("POST", "/learn", {"id": id, "features": features, "label": label})
        if id in self.parked and id not in self.rows:
            same = self.parked[id] == label
            self.expect(answer, 200 if same else 409)
            if same:
                self.rows[id] = features
                self.label(id, label)
        elif id not in self.rows:
            self.expect(answer, 200)
            self.rows[id] = features
            self.label(id, label)
        elif id in self.erased or self.rows[id] != features:
            self.expect(answer, 422)
        elif id not in self.labels:
            self.expect(answer, 200)
            self.label(id, label)
        elif self.labels[id] == label:
            self.expect(answer, 200)
        else:
            assert answer.status_code in (409, 422)

    @rule(id=ids, features=features)
    def predict(self, id, features):
        answer = self.ask("POST", "/predict", {"id": id, "features": features})
        if id in self.rows and (id in self.erased or self.rows[id] != features):
            self.expect(answer, 422)
            return
        assert self.expect(answer, 200)["id"] == id
        if id not in self.rows:
            self.rows[id] = features
            if id in self.parked:
                self.label(id, self.parked[id])

    @rule(id=ids, label=labels, correct=st.booleans(), park=st.booleans())
    def send_label(self, id, label, correct, park):
        query = "?park=true" if park else ""
        answer = self.ask("POST", f"/labels{query}", {"id": id, "label": label, "correct": correct})
        if id in self.erased:
            self.expect(answer, 410)
        elif id not in self.rows and id in self.parked:
            self.expect(answer, 200 if self.parked[id] == label else 409)
        elif id not in self.rows and park:
            self.expect(answer, 200)
            self.parked[id] = label
        elif id not in self.rows:
            self.expect(answer, 404)
        elif self.labels.get(id, label) == label:
            self.expect(answer, 200)
            if id not in self.labels:
                self.label(id, label)
        elif correct:
            self.expect(answer, 200)
            self.label(id, label)
        else:
            self.expect(answer, 409)

    @precondition(lambda self: set(self.rows) - self.erased)
    @rule(data=st.data())
    def erase(self, data):
        id = data.draw(st.sampled_from(sorted(set(self.rows) - self.erased)))
        self.expect(self.ask("DELETE", f"/examples/{id}"), 200)
        self.erased.add(id)
        self.learned = [one for one in self.learned if one[0] != id]

    @rule(killed=st.booleans())
    def restart(self, killed):
        """After a kill the directory is as it is at some moment: a copy of it."""
        if killed:
            copy = self.folder / "killed"
            shutil.copytree(self.folder / "served", copy)
            self.server.stop()
            shutil.rmtree(self.folder / "served")
            copy.rename(self.folder / "served")
        else:
            self.server.stop()
        self.server = Local(self.folder / "served")

    @rule()
    def save(self):
        assert self.server("POST", "/v1/snapshot").status_code == 200

    @invariant()
    def the_export_is_what_was_acknowledged(self):
        if self.server is not None:
            rows = [(one["id"], one["features"], one["label"]) for one in lines_of(self.ask("GET", "/examples"))]
            assert rows == self.learned

    def teardown(self):
        if self.server is None:
            return
        try:
            file = self.ask("GET", "/file")
            rows = [(features, label) for _, features, label in self.learned]
            if not self.erased and {label for _, label in rows} == {"ham", "spam"}:
                expected = trained(self.folder, rows, "--view", "none", "--classes", "ham,spam")
                assert file.content == expected
        finally:
            self.server.stop()
            shutil.rmtree(self.folder)


def check(examples, steps):
    run_state_machine_as_test(
        Promises,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, suppress_health_check=[*HealthCheck], deadline=None
        ),
    )


def test_the_server_keeps_its_promises():
    check(6, 20)


@pytest.mark.long
def test_the_server_keeps_its_promises_for_longer():
    check(100, 50)
