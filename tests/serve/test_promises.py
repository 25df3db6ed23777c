"""The promises of the server as state machines, whose other halves are lists: of rows, and of decisions."""

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from confidently.bandits import Action, DecisionModel
from confidently.models.model import Model
from confidently.serve import offline
from confidently.serve.work.versions import MAX_LISTED
from tests.serve.conftest import Local
from tests.serve.log_model import Edit, LogModel, Version
from tests.serve.rows import FAR, FAR_OPTIONS, made, numbered, rewarded, trained
from tests.serve.running import NDJSON, as_lines, kind_of, lines_of, teach, wait_until
from tests.serve.test_merging import as_merged, contribution
from tests.serve.test_set_aside import TINY

MODEL = "/v1/models/m"
OPEN, SCW = {"view": "none"}, {"view": "none", "rule": "scw1"}
KINDS = {
    "open": (OPEN, ["--view=none"]),
    "closed": (OPEN | {"classes": ["ham", "spam", "spm"]}, ["--view=none"]),
    "far": (FAR | {"classes": ["ham", "spam"]}, [*FAR_OPTIONS, "--classes=ham,spam"]),
    "full": ({"view": "none", "covariance": "full"}, ["--view=none", "--covariance=full"]),
    "shared": ({"view": "standard", "covariance": "shared"}, ["--view=standard", "--covariance=shared"]),
    **{name: (settings, [f"--{option}={value}" for option, value in settings.items()]) for name, settings in (
        ("low rank", {"view": "none", "covariance": "low_rank", "rank": 3}),
        ("a matrix per class", {"view": "standard", "covariance": "full", "multiclass": "one-vs-rest"}),
    )},
    "numbers": ({"task": "numbers"}, ["--regression", "--rule=ridge"]),
}  # fmt: skip
IDS = st.sampled_from(["a", "b", "c", "d/e", "f", "é ?", "g", "h"])
CLASSES = ["ham", "spam", "spm"]
LABELS = st.sampled_from(CLASSES)
NUMBERS = {"ham": 1.5, "spam": -20, "spm": 0}  # the labels of a model of numbers
FEATURES = st.sampled_from([{}, {"x": 1}, {"x": 2, "w": "cash"}, {"w": "noon", "y": -3.5}, TINY["features"]])
BATCHES = st.sampled_from([None, None, "one.csv", "été & 2"])


def quoted(id):
    return quote(id, safe="")


class Promises(RuleBasedStateMachine):
    """A server with one model, and a log of lists.

    Every step is answered as the lists say; after it, all that is told of rows, labels, batches, edits and versions is
    what they say; now and then, and at the end, the model is byte for byte the one that is trained on them.
    """

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.server, self.log, self.answers, self.part, self.tried = None, None, {}, None, None

    def ask(self, method, path="", body=None, status=200, kind=None, **options):
        answer = self.server(method, f"{MODEL}{path}", body, **options)
        assert answer.status_code == status, answer.text
        assert kind is None or kind_of(answer) == kind
        return answer

    def begin(self, given):
        self.server = Local(self.folder / "served")
        self.log = LogModel(given, lambda one, features: one.get("rule") == "iellip" and features == TINY["features"])
        self.ask("PUT", "", given, status=201)

    def change(self, method, path, body=None):
        """Edit, promote or train again, and wait until the version answers."""
        return self.ask(method, f"/{path}?wait=live", body).json()

    def replace(self, method, path, body=None):
        told = self.change(method, path, body)
        if told["version"] != self.log.live:
            self.log.replace(told["version"], told["edit"] or 0)
        return told["edit"]

    def settle(self):
        """Wait until all versions have learned all rows."""

        def versions():
            return self.ask("GET", "/versions").json()["versions"]

        last = next(one["seq"] for one in versions() if one["state"] == "live")
        wait_until(lambda: all(one["seq"] >= last for one in versions() if one["state"] == "shadow"))

    # --- at any time -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.log.batches)
    @rule(data=st.data())
    def take_out(self, data):
        name = data.draw(st.sampled_from(self.log.batches))
        [before] = [edit for one, _, edit in self.log.batches_shown() if one == name]
        found = self.replace("DELETE", f"batches/{quoted(name)}")
        if before is None:
            self.log.edits.append(Edit(found, batch=name))
        else:
            assert found == before, "it is out already"

    @precondition(lambda self: self.log.edits)
    @rule(data=st.data())
    def revert(self, data):
        edit = data.draw(st.sampled_from(self.log.edits))
        if len(self.log.classes(without=edit)) == 1:
            self.ask("DELETE", f"/edits/{edit.seq}", status=422, kind="invalid-settings")
            return
        self.log.edits.remove(edit)
        self.replace("DELETE", f"edits/{edit.seq}")
        self.ask("DELETE", f"/edits/{edit.seq}", status=404, kind="unknown-edit")

    @precondition(lambda self: set(self.log.rows) - set(self.log.erased))
    @rule(data=st.data())
    def erase(self, data):
        id = data.draw(st.sampled_from(sorted(set(self.log.rows) - set(self.log.erased))))
        self.settle()
        path = f"/examples/{quoted(id)}"
        found = self.ask("DELETE", path).json()
        self.log.erase(found["seq"], id)
        assert self.ask("DELETE", path).json()["seq"] == found["seq"]
        self.ask("GET", path, status=410)

    @precondition(lambda self: self.log.taught)
    @rule()
    def rebuild(self):
        self.replace("POST", "rebuild")

    @rule(killed=st.booleans())
    def restart(self, killed):
        """After a kill the directory is as it is at some moment: a copy of it."""
        served, copy = self.folder / "served", self.folder / "killed"
        if killed:
            self.server.copy(copy)
        self.server.stop()
        if killed:
            shutil.rmtree(served)
            copy.rename(served)
        self.server = Local(served)

    @rule()
    def save(self):
        assert self.server("POST", "/v1/snapshot").status_code == 200

    @rule()
    def check(self):
        """The model is the one that is trained on the rows."""
        if self.log.versions[self.log.live].is_sure:
            self.check_file(self.log.learned())

    # --- versions ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.tried is not None and self.tried not in self.settings())
    @rule()
    def other_settings(self):
        self.ask("PUT", "", self.tried, status=202)
        number = max(self.log.versions) + 1
        self.log.versions[number] = Version(self.tried, "shadow", self.log.last)
        self.settle()

    @rule()
    def same_settings(self):
        """Those that answer, as they were put, whatever edits have made of their classes."""
        self.ask("PUT", "", self.log.versions[self.log.live].settings)

    def settings(self):
        return [one.settings for one in self.log.versions.values() if one.state != "retired"]

    @precondition(lambda self: len(self.log.versions) > 1)
    @rule(data=st.data())
    def promote(self, data):
        number = data.draw(st.sampled_from(sorted(self.log.versions)))
        assert self.change("POST", f"versions/{number}/promote")["version"] == number
        self.log.promote(number)

    @rule()
    def roll_back(self):
        if self.log.before is None:
            self.ask("POST", "/rollback", status=404, kind="unknown-version")
        else:
            number = self.log.before
            assert self.change("POST", "rollback")["version"] == number
            self.log.promote(number)

    @precondition(lambda self: [one for one in self.log.versions.values() if one.state == "shadow"])
    @rule()
    def retire(self):
        number = next(n for n, one in self.log.versions.items() if one.state == "shadow")
        self.ask("DELETE", f"/versions/{number}")
        self.log.versions[number].state = "retired"
        self.ask("DELETE", f"/versions/{self.log.live}", status=409, kind="live-version")

    # --- what is always true -----------------------------------------------------------------------------------------

    @invariant()
    def all_that_is_told_is_true(self):
        if self.server is None:
            return
        log, facts = self.log, self.ask("GET").json()
        shown = [(one["seq"], one["id"], one["features"], one["label"], one["weight"]) for one in self.exported()]
        assert shown == [row[:5] for row in log.learned(with_erased=False)]
        if log.versions[log.live].is_sure:
            assert facts["rows"] == len(log.learned())
        assert facts["version"] == log.live
        versions = self.ask("GET", "/versions").json()
        found = {one["version"]: one["state"] for one in versions["versions"]}
        retired = [number for number, one in log.versions.items() if one.state == "retired"][-MAX_LISTED:]
        assert found == {n: one.state for n, one in log.versions.items() if one.state != "retired" or n in retired}
        assert versions["before"] == log.before
        found = self.ask("GET", "/batches").json()["batches"]
        assert [(one["batch"], one["rows"], one["edit"]) for one in found] == log.batches_shown()
        found = self.ask("GET", "/edits").json()["edits"]
        assert [(one["edit"], one["batch"], one["from"], one["to"]) for one in found] == log.edits
        there = [row for row in log.taught if row.id not in log.erased and not log.is_out(row)]
        aside = [row.seq for row in there if log.is_aside(row)]
        wait_until(lambda: {one["event"] for one in self.set_aside()} >= {*aside})

    @invariant()
    def all_rows_are_shown(self):
        if self.server is not None:
            found = self.ask("GET", "/rows?limit=200").json()["rows"]
            shown = self.log.browsed()
            assert [(one["id"], one["state"], one["label"], one["logged"]) for one in found] == shown
            facets = self.ask("GET", "/facets").json()
            assert facets["state"] == self.log.states()
            self.names_are_edited(found, shown, facets)

    def names_are_edited(self, found, shown, facets):
        pass

    def set_aside(self):
        return lines_of(self.ask("GET", "/set-aside"))

    def exported(self):
        return lines_of(self.ask("GET", "/examples"))

    def teardown(self):
        try:
            if self.server is not None:
                self.check()
                self.replace("POST", "rebuild")
                self.check()
                self.server.stop()
                assert [told for ok, told in offline.check(self.folder / "served") if not ok] == []
        finally:
            if self.server is not None:
                self.server.stop()
            shutil.rmtree(self.folder)


class Rows(Promises):
    """Of classes: learned, predicted, labelled, corrected, parked; classes edited, versions promoted, others merged."""

    @initialize(kind=st.sampled_from(["open", *KINDS]))
    def start(self, kind):
        self.kind, self.tried = kind, SCW if kind in ("open", "full") else None
        self.begin(KINDS[kind][0])
        self.other, self.sent, self.guessed = None, 0, {}

    def as_label(self, name):
        return NUMBERS[name] if self.kind == "numbers" else name

    def names_are_edited(self, found, shown, facets):
        """Labels and predictions have the names that edits gave their classes, in filters and counts as well.

        What was predicted stays if its class was removed.
        """
        if self.kind == "numbers":
            return
        labels = Counter(label for _, _, label, _ in shown if label is not None)
        guesses = {
            id: self.log.name(label, seq) or label
            for id, (label, seq) in self.guessed.items() if id not in self.log.erased
        }  # fmt: skip
        assert {one["id"]: one["predicted"] for one in found if one["id"] in guesses} == guesses
        assert facets["label"] == labels
        assert facets["predicted"] == Counter(guess for guess in guesses.values() if guess is not None)
        for name in CLASSES[1:]:
            asked = self.ask("GET", f"/rows?limit=200&label={name}").json()["rows"]
            assert [one["id"] for one in asked] == [id for id, _, label, _ in shown if label == name]
            asked = self.ask("GET", f"/rows?limit=200&predicted={name}").json()["rows"]
            assert {one["id"] for one in asked} == {id for id, guess in guesses.items() if guess == name}

    def refuses(self, label):
        """Whether the classes of the settings exclude a label."""
        classes = self.log.classes()
        return bool(classes) and label not in classes

    def taught(self, answer, id, features, label, weight, batch):
        """A row or a label was taken, and learned unless the model refuses it."""
        if self.log.refused(self.log.versions[self.log.live].settings, features):
            assert answer.status_code == 422 and kind_of(answer) == "set-aside"
            aside = lambda: [one["event"] for one in self.set_aside() if one["event"] > self.log.last]  # noqa: E731
            [seq] = wait_until(aside)
        else:
            assert (answer.status_code, answer.json()["status"]) == (200, "learned"), answer.text
            seq = answer.json()["seq"]
        self.log.teach(seq, id, features, label, weight, batch)

    def send(self, path, body, batch):
        if batch is not None and batch not in self.log.batches and not self.refuses(body["label"]):
            self.log.batches.append(batch)
        query = "" if batch is None else f"&batch={quoted(batch)}"
        return self.server("POST", f"{MODEL}/{path}wait=learned{query}", body)

    @rule(id=IDS, features=FEATURES, label=LABELS, weight=st.sampled_from([1.0, 1.0, 2.5, 0.5]), batch=BATCHES)
    def learn(self, id, features, label, weight, batch):
        log, before, label = self.log, self.log.last_label(id), self.as_label(label)
        answer = self.send("learn?", {"id": id, "features": features, "label": label, "weight": weight}, batch)
        came_with = next((row.weight for row in log.taught if row.id == id), None) if id not in self.answers else None
        if self.refuses(label):
            assert kind_of(answer) == "unknown-class"
        elif id in log.parked:
            if log.parked[id] == label:
                self.taught(answer, id, features, label, weight, batch)
            else:
                assert kind_of(answer) == "other-label"
        elif id not in log.rows:
            self.taught(answer, id, features, label, weight, batch)
        elif id in log.erased or log.rows[id] != features:
            assert kind_of(answer) == "other-content"
        elif before is None:
            self.taught(answer, id, features, label, 1.0, batch)
        elif came_with not in (None, weight) or label != before:
            assert kind_of(answer) == ("other-label" if came_with is None else "other-content")
        else:
            self.is_known(answer, id)

    @precondition(lambda self: len(self.log.rows) < 150)
    @rule(n=st.integers(3, 20), batch=BATCHES)
    def learn_many(self, n, batch):
        """Rows that come in lines, with ids of their own; those of a class that is none fail alone."""
        first, self.sent, drawn = self.sent, self.sent + n, numbered if self.kind == "numbers" else made
        rows = [(f"r{k}", features, label) for k, (features, label) in enumerate(drawn(n, "mixed", seed=first), first)]
        body = as_lines({"id": id, "features": features, "label": label} for id, features, label in rows)
        query = "" if batch is None else f"&batch={quoted(batch)}"
        told = lines_of(self.ask("POST", f"/learn?wait=learned{query}", content=body, headers=NDJSON))
        for (id, features, label), one in zip(rows, told, strict=True):
            if self.refuses(label):
                assert one["type"] == "urn:confidently:unknown-class"
                continue
            assert one["status"] == "learned"
            self.log.teach(one["seq"], id, features, label, 1.0, batch)
            if batch not in (None, *self.log.batches):
                self.log.batches.append(batch)

    def is_known(self, answer, id):
        """What was sent before has the receipt of then."""
        [*_, last] = [row for row in self.log.taught if row.id == id]
        if self.log.is_aside(last):
            assert kind_of(answer) == "set-aside"
        else:
            assert (answer.status_code, answer.json()["seq"]) == (200, last.seq)

    @rule(id=IDS, features=FEATURES)
    def predict(self, id, features):
        answer = self.server("POST", f"{MODEL}/predict", {"id": id, "features": features})
        if id in self.log.rows and (id in self.log.erased or self.log.rows[id] != features):
            assert kind_of(answer) == "other-content"
            return
        assert (answer.status_code, answer.json()["id"]) == (200, id), answer.text
        if id not in self.log.rows:
            self.log.rows[id], self.answers[id] = features, answer.json()
            self.guessed[id] = (answer.json()["label"], self.log.last)
            if id in self.log.parked:
                self.server("GET", f"{MODEL}/file")  # once it has learned the label
                history = self.ask("GET", f"/rows/{quoted(id)}").json()["history"]
                [seq] = [one["seq"] for one in history if one["kind"] == "label"]
                self.log.teach(seq, id, features, self.log.parked[id])
        elif id in self.answers:
            assert answer.json() == self.answers[id], "the first answer counts"

    @rule(id=IDS, label=LABELS, correct=st.booleans(), park=st.booleans(), batch=BATCHES)
    def label(self, id, label, correct, park, batch):
        log, before, label = self.log, self.log.last_label(id), self.as_label(label)
        answer = self.send(f"labels?park={str(park).lower()}&", {"id": id, "label": label, "correct": correct}, batch)
        weight = next((row.weight for row in log.taught if row.id == id), 1.0)
        if batch is not None and batch not in log.batches:
            log.batches.append(batch)
        if id in log.parked:
            assert kind_of(answer) == "other-label" if log.parked[id] != label else answer.status_code == 200
        elif id not in log.rows and not park:
            assert kind_of(answer) == "unknown-id"
        elif id in log.erased:
            assert kind_of(answer) == "expired"
        elif self.refuses(label):
            assert kind_of(answer) == "unknown-class"
        elif id not in log.rows:
            assert answer.json()["status"] == "parked"
            log.parked[id] = label
        elif before == label:
            self.is_known(answer, id)
        elif before is None or correct:
            self.taught(answer, id, log.rows[id], label, weight, batch)
        else:
            assert kind_of(answer) == "other-label"

    @precondition(lambda self: self.kind not in ("far", "numbers") and len(self.log.versions) < 12)
    @rule(source=LABELS, to=st.sampled_from([*CLASSES, "junk", None]))
    def edit_class(self, source, to):
        classes = self.log.classes()
        body = {"from": source} | ({} if to is None else {"to": to})
        known = self.ask("GET").json()["classes"]  # those of others, too
        if source not in known:
            self.ask("POST", "/edits", body, status=422, kind="unknown-class")
        elif source == to or (0 < len(classes) < 3 and to in [None, *classes]):
            self.ask("POST", "/edits", body, status=422, kind="invalid-body")
        else:
            found = self.replace("POST", "edits", body)
            self.log.edits.append(Edit(found, None, source, to))

    # --- what others have learned ------------------------------------------------------------------------------------

    @precondition(lambda self: self.kind == "open")
    @rule(n=st.integers(2, 9))
    def merge(self, n):
        """Another server learns some rows, and this one gets what it has learned so far."""
        if self.other is None:
            self.other = Local(self.folder / "other")
            self.other("PUT", MODEL, OPEN)
            teach(self.other, [({"x": 3}, "ham"), ({"w": "cash"}, "spam")])
        first = self.other("GET", MODEL).json()["rows"]
        teach(self.other, made(n, "late", seed=first), first)
        part = contribution(self.other)
        answer = self.server("POST", f"{MODEL}/merge?wait=learned", content=part)
        if answer.status_code == 200:
            assert answer.json()["rows"] == first + n
            self.part, self.merged = part, answer.json()["seq"]
            self.log.last = self.merged
            again = self.server("POST", f"{MODEL}/merge?wait=learned", content=part)
            assert again.json() == answer.json()
        else:
            assert kind_of(answer) == "cannot-merge"
            assert self.log.versions[self.log.live].settings != OPEN or self.log.edits, answer.text

    # --- the model ---------------------------------------------------------------------------------------------------

    def check_file(self, learned):
        facts = self.ask("GET").json()
        closed = self.log.classes()
        if not closed and self.kind != "numbers":
            assert sorted(facts["classes"]) == sorted({row.label for row in learned} | set(self.merged_classes(facts)))
        if self.kind != "far" and self.part is None:  # a version may lack what others have learned
            assert facts["refused"] == 0
        if not learned or (self.kind != "numbers" and len(closed or {row.label for row in learned}) < 2):
            return
        live = self.log.versions[self.log.live].settings
        options = ["--view=none", "--rule=scw1"] if live == SCW else list(KINDS[self.kind][1])
        options += [f"--classes={','.join(closed)}"] * bool(closed and self.kind != "far")
        weights = [row.weight for row in learned]
        plain = trained(self.folder, [(row.features, row.label) for row in learned], *options, weights=weights)
        if self.is_merged(facts):
            own = contribution(self.server)
            if max(row.seq for row in learned) < self.merged:  # later rows are learned by what was merged
                assert self.ask("GET", "/file").content == as_merged(self.folder, own, self.part)
            (self.folder / "own.cw").write_bytes(own)
            (self.folder / "plain.cw").write_bytes(plain)
            ours, theirs = (Model.load(self.folder / name).arrays() for name in ("own.cw", "plain.cw"))
            for name, array in theirs.items():
                np.testing.assert_array_equal(ours[name], array)
        else:
            assert self.ask("GET", "/file").content == plain

    def is_merged(self, facts):
        return bool(facts["merged"]) and facts["merged"][0]["missing"] is None

    def merged_classes(self, facts):
        return ["ham", "spam"] if self.is_merged(facts) else []

    def teardown(self):
        if getattr(self, "other", None) is not None:
            self.other.stop()
        super().teardown()


ACTIONS = ["news", "sport", "games"]


class Decisions(Promises):
    """Of decisions: each is the one that the library makes which has learned the same rewards."""

    @initialize()
    def start(self):
        self.begin({"task": "decisions"})
        self.tried = {"task": "decisions", "drift": False}
        self.arms, self.contexts, self.n = {}, {}, 0

    def features(self, id):
        return {"context": self.contexts[id], "arm": self.arms[id]}

    def made(self, who, k, deferred):
        """A request for a new decision."""
        self.n += 1
        return {"id": f"d{self.n}", "context": {"who": who, "hour": self.n % 24}, "actions": ACTIONS[:k],
                "deferred": deferred}  # fmt: skip

    def is_decided(self, bodies, answers):
        """The answers are the decisions of the library."""
        live = self.log.versions[self.log.live]
        model = DecisionModel(forget=live.settings != self.tried) if live.is_sure else None
        for row in self.log.learned() if model is not None else ():
            model.learn(row.features["context"], Action(row.features["arm"]), row.label, row.weight)
        for body, found in zip(bodies, answers, strict=True):
            id, actions = body["id"], body["actions"]
            if model is not None:
                choice = model.decide(body["context"], [Action(one) for one in actions], id)
                assert (found["chosen"], found["probability"]) == (actions[choice.chosen], choice.probability)
                assert list(found["probabilities"].values()) == choice.probabilities.tolist()
            self.contexts[id], self.arms[id] = body["context"], found["chosen"]
            self.log.rows[id], self.answers[id] = self.features(id), (body, found)

    @rule(who=st.sampled_from(["reader", "fan"]), k=st.integers(2, 3), deferred=st.booleans())
    def decide(self, who, k, deferred):
        body = self.made(who, k, deferred)
        self.is_decided([body], [self.ask("POST", "/decide", body).json()])

    @precondition(lambda self: len(self.log.rows) < 150)
    @rule(n=st.integers(2, 40), k=st.integers(2, 3))
    def decide_many(self, n, k):
        """Requests that come in lines, some twice and some that cannot be decided, which fail alone."""
        bodies = [self.made(["reader", "fan"][j % 2], k, deferred=False) for j in range(n)]
        lines = [*bodies, {"id": "none", "actions": []}, bodies[0] | {"actions": ["other"]}, bodies[0]]
        *found, none, other, again = lines_of(self.ask("POST", "/decide", content=as_lines(lines), headers=NDJSON))
        assert (none["status"], other["type"], again) == (422, "urn:confidently:other-content", found[0])
        self.is_decided(bodies, found)

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def decide_again(self, data):
        id = data.draw(st.sampled_from(sorted(self.answers)))
        body, found = self.answers[id]
        if id in self.log.erased:
            self.ask("POST", "/decide", body, status=422, kind="other-content")
        else:
            assert self.ask("POST", "/decide", body).json() == found
            self.ask("POST", "/decide", body | {"actions": ["other"]}, status=422, kind="other-content")

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), reward=st.sampled_from([0.0, 0.5, 1.0]), batch=BATCHES)
    def reward(self, data, reward, batch):
        id = data.draw(st.sampled_from(sorted(self.answers)))
        query, before = "" if batch is None else f"&batch={quoted(batch)}", self.log.last_label(id)
        answer = self.server("POST", f"{MODEL}/rewards?wait=learned{query}", {"id": id, "reward": reward})
        if batch is not None and batch not in self.log.batches:
            self.log.batches.append(batch)
        if id in self.log.erased:
            assert kind_of(answer) == "expired"
        elif before is None:
            self.log.teach(answer.json()["seq"], id, self.features(id), reward, 1.0, batch)
        else:
            assert kind_of(answer) == "other-label" if before != reward else answer.status_code == 200

    @invariant()
    def decisions_are_counted(self):
        if self.server is not None and self.answers:
            found = self.ask("GET").json()["decisions"]
            rewards = [row.label for row in self.log.taught]
            if self.log.erased:  # those of erased decisions are forgotten by a kill
                return
            assert (found["decisions"], found["rewards"]) == (len(self.answers), len(rewards))
            assert not rewards or found["mean_reward"] == pytest.approx(np.mean(rewards))

    def check_file(self, learned):
        if learned:
            lines = [{"features": row.features, "label": row.label, "weight": row.weight} for row in learned]
            forget = self.log.versions[self.log.live].settings != self.tried
            found = rewarded(self.folder, json.loads(json.dumps(lines)), forget=forget)
            assert self.ask("GET", "/file").content == found


def check(machine, examples, steps):
    options = settings(
        max_examples=examples, stateful_step_count=steps, suppress_health_check=[*HealthCheck], deadline=None,
        phases=[Phase.generate],  # a failure is told at once: to look for a shorter one would take minutes
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=options)


@pytest.mark.parametrize(
    ("examples", "steps"), [(6, 20), pytest.param(15, 60, marks=pytest.mark.long("15 lives of 60 steps"))]
)
@pytest.mark.parametrize("machine", [Rows, Decisions])
def test_the_server_keeps_its_promises(machine, examples, steps):
    check(machine, examples, steps)
