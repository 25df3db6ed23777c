"""The kill loop: clients that send, retry and label, and a server that is killed under them.

Every client keeps what it was told. At the end the export must have every acknowledged row once, with its label, and
the served model must be, byte for byte, the one that ``confidently train`` makes of the exported rows; of decisions,
the one that a ``DecisionModel`` is after these.
"""

import json
import random
import threading
import time
from collections import Counter

import httpx

from tests.serve.rows import made, numbered, rewarded, trained
from tests.serve.running import NDJSON, ServerProcess, as_lines, lines_of, wait_until

CLIENTS = 4
STEPS = ("batch", "batch", "take out", "settings", "promote", "roll back", "class")  # of an operator
MODEL = "/v1/models/spam"
SETTINGS = ({"view": "none"}, {"rule": "scw1"}, {"view": "none", "rule": "cw_stdev"}, {})


class Talker(threading.Thread):
    """A thread that does things to one server after the other, as long as each lives.

    Attributes
    ----------
    url : str or None
        Of the server; None between two.
    fault : exception or None
        What went wrong in the thread itself.
    """

    pause = 0.0  # the longest one between two things, in seconds

    def __init__(self, name, seed):
        super().__init__(name=name, daemon=True)
        self.chance, self.counts = random.Random(f"{seed} {name}"), Counter()
        self.url, self.stopping, self.fault = None, threading.Event(), None

    def run(self):
        try:
            while not self.stopping.is_set():
                if self.url is None:
                    time.sleep(0.002)
                else:
                    self._talk(self.url)
        except Exception as error:
            self.fault = error

    def _talk(self, url):
        try:
            with httpx.Client(base_url=url, timeout=20.0, trust_env=False) as client:
                while not self.stopping.is_set() and self.url == url:
                    self.act(client)
                    if self.pause:
                        time.sleep(self.chance.uniform(0.0, self.pause))
        except httpx.TransportError:
            self.counts["broken"] += 1
            if self.url == url:
                self.url = None  # until the next server


def with_ids(rows):
    """Rows, which are features and labels by id, as a body of NDJSON."""
    return as_lines({"id": id, "features": features, "label": label} for id, (features, label) in rows.items())


class Sender(Talker):
    """A client: it predicts, learns and labels rows, and sends again, with the same ids, what was not answered.

    Attributes
    ----------
    learned : dict
        Features and label of the ids whose label was acknowledged.
    """

    def __init__(self, name, seed, made=made):
        super().__init__(name, seed)
        self.made, self.learned, self.tried, self.unlabelled = made, {}, {}, []

    def act(self, client):
        """Send something, or again what was not answered."""
        if self.tried:  # what was sent and not answered comes first
            id, (path, body) = next(iter(self.tried.items()))
            self.counts["retries"] += 1
            return self._send(client, id, path, body)
        if self.unlabelled and self.chance.random() < 0.4:
            id, features, label = self.unlabelled.pop(self.chance.randrange(len(self.unlabelled)))
            self.tried[id] = ("labels", {"id": id, "label": label, "features": features})
        else:
            id = f"{self.name}-{self.counts['made']}"
            [(features, label)] = self.made(1, "mixed", seed=id)
            self.counts["made"] += 1
            kind = self.chance.choice(["predict", "learn", "learn", "many"])
            row = {"id": id, "features": features, "label": label}
            self.tried[id] = (kind, row | {"n": self.chance.choice([1, 5, 700])} if kind == "many" else row)
        self._send(client, id, *self.tried[id])

    def _send(self, client, id, kind, row):
        features, label = row["features"], row["label"]
        if kind == "predict":
            self._post(client, "predict", {"id": id, "features": features})
            self.unlabelled.append((id, features, label))
        elif kind == "labels":
            self._post(client, "labels", {"id": id, "label": label})
            self.learned[id] = (features, label)
        elif kind == "learn":
            self._post(client, "learn", row)
            self.learned[id] = (features, label)
        else:
            several = self.made(row["n"], "mixed", seed=id)
            rows = {f"{id}-{k}": one for k, one in enumerate(several)}
            with client.stream("POST", f"{MODEL}/learn", content=with_ids(rows), headers=NDJSON) as answer:
                for line in answer.iter_lines():
                    told = json.loads(line)
                    assert told["status"] == "durable", told
                    self.learned[told["id"]] = rows[told["id"]]
            self.counts["rows"] += len(rows) - 1
        self.counts["rows"] += 1
        del self.tried[id]

    def _post(self, client, what, body):
        answer = client.post(f"{MODEL}/{what}", json=body)
        assert answer.status_code == 200, answer.text


class Decider(Sender):
    """A client that asks for decisions and rewards them, some twice; a decision that is asked for again is the same."""

    def __init__(self, name, seed):
        super().__init__(name, seed)
        self.decided = {}

    def act(self, client):
        """Decide or reward something, one or many, or again what was not answered."""
        many = self.chance.choice([1, 1, 5, 100])
        if self.tried:
            self.counts["retries"] += 1
        elif self.decided and self.chance.random() < 0.6:
            self.tried = dict.fromkeys(self.chance.sample(list(self.decided), min(many, len(self.decided))), "rewards")
        else:
            first, self.counts["made"] = self.counts["made"], self.counts["made"] + many
            self.tried = {f"{self.name}-{number}": "decide" for number in range(first, first + many)}
        [kind], ids = set(self.tried.values()), list(self.tried)
        bodies = [getattr(self, f"_{kind}")(id) for id in ids]
        if len(ids) == 1:
            answer = client.post(f"{MODEL}/{kind}", json=bodies[0])
            assert answer.status_code == 200, answer.text
            self._done(ids[0], kind, answer.json())
            return
        with client.stream("POST", f"{MODEL}/{kind}", content=as_lines(bodies), headers=NDJSON) as answer:
            for id, line in zip(ids, answer.iter_lines(), strict=True):
                self._done(id, kind, json.loads(line))

    def _decide(self, id):
        number = int(id.rpartition("-")[2])
        return {"id": id, "context": self._context(number), "actions": ["a", "b", "c", "d"][: 2 + number % 3]}

    def _rewards(self, id):
        return {"id": id, "reward": float(int(id.rpartition("-")[2]) % 5 == ord(self.decided[id]) - ord("a"))}

    def _context(self, number):
        return {"kind": f"k{number % 5}", "size": number % 3 + 0.5}

    def _done(self, id, kind, told):
        assert told["id"] == id, told
        if kind == "decide":
            assert self.decided.setdefault(id, told["chosen"]) == told["chosen"]
        else:
            context = self._context(int(id.rpartition("-")[2]))
            self.learned[id] = ({"context": context, "arm": self.decided[id]}, self._rewards(id)["reward"])
        del self.tried[id]


class Operator(Talker):
    """Changes the model while clients use it: other settings, promotions, rollbacks, edits, erasures, backups.

    Every step is repeated until it is answered. Its own rows come in batches, one of which has a class of its own.

    Attributes
    ----------
    rows : dict
        Features and label of its rows, by id, as the steps that were answered have left them.
    """

    pause = 0.05

    def __init__(self, seed, erasing):
        super().__init__("operator", seed)
        self.steps = [*STEPS, "erase"] if erasing else STEPS
        self.rows, self.batches, self.step, self.edits = {}, {}, None, 0

    def act(self, client):
        """Take the next step, or the last one again, if it was not answered."""
        if self.step is None:
            self.counts["steps"] += 1
            what = self.chance.choice(self.steps)
            self.step = (what if self.counts["steps"] % 40 else "backup", self.counts["steps"])
        what, number = self.step
        getattr(self, f"_{what.replace(' ', '_')}")(client, number)
        self.counts[what] += 1
        self.step = None

    def _batch(self, client, number):
        name, rows = f"batch-{number}", {}
        for k, (features, label) in enumerate(made(20, "mixed", seed=name)):
            rows[f"{name}-{k}"] = (features, "spm" if k % 7 == 0 and number % 2 else label)
        answer = client.post(f"{MODEL}/learn?batch={name}", content=with_ids(rows), headers=NDJSON)
        assert all(one["status"] == "durable" for one in lines_of(answer)), answer.text
        self.batches[name] = list(rows)
        self.rows |= rows

    def _take_out(self, client, number):
        if self.batches:
            name = min(self.batches)
            self._ask(client, "DELETE", f"batches/{name}")
            for id in self.batches.pop(name):
                self.rows.pop(id, None)

    def _erase(self, client, number):
        if self.rows:
            id = min(self.rows)
            self._ask(client, "DELETE", f"examples/{id}")
            self.rows.pop(id)

    def _class(self, client, number):
        was_made = self._n_edits(client) > self.edits  # and the answer was lost
        if not was_made:
            answer = client.post(f"{MODEL}/edits", json={"from": "spm", "to": "spam"})
            assert answer.status_code in (200, 422), answer.text  # 422: no such class so far
            was_made = answer.status_code == 200
        if was_made:
            self.edits = self._n_edits(client)
            self.rows = {id: (one, "spam" if label == "spm" else label) for id, (one, label) in self.rows.items()}

    def _n_edits(self, client):
        return len([one for one in client.get(f"{MODEL}/edits").json()["edits"] if one["from"] == "spm"])

    def _settings(self, client, number):
        answer = client.put(MODEL, json=SETTINGS[number % len(SETTINGS)])
        assert answer.status_code in (200, 202, 409), answer.text  # 409: as many versions as there may be

    def _promote(self, client, number):
        found = client.get(f"{MODEL}/versions").json()["versions"]
        self._ask(client, "POST", f"versions/{self.chance.choice(found)['version']}/promote")

    def _roll_back(self, client, number):
        answer = client.post(f"{MODEL}/rollback")
        assert answer.status_code in (200, 404), answer.text  # 404: nothing was promoted so far

    def _backup(self, client, number):
        answer = client.post("/v1/backup", json={"name": f"backup-{number}"})
        assert answer.status_code in (201, 422), answer.text  # 422: it was made, and the answer was lost

    def _ask(self, client, method, path):
        answer = client.request(method, f"{MODEL}/{path}")
        assert answer.status_code == 200, answer.text


class Torture:
    """A folder whose server is killed again and again.

    Parameters
    ----------
    changing, erasing : bool
        Whether there is an operator, who changes the model, and erases rows too.
    """

    def __init__(self, folder, seed, settings=None, options=(), changing=False, erasing=False):
        self.folder, self.options = folder, options
        self.chance, self.counts = random.Random(seed), Counter()
        self.settings = settings or {}
        makers = {"numbers": lambda name: Sender(name, seed, numbered), "decisions": lambda name: Decider(name, seed)}
        sender = makers.get(self.settings.get("task"), lambda name: Sender(name, seed))
        self.senders = [sender(f"c{k}") for k in range(CLIENTS)]
        self.operator = Operator(seed, erasing) if changing else None
        for client in self.clients:
            client.start()

    @property
    def clients(self):
        return self.senders if self.operator is None else [*self.senders, self.operator]

    def _start(self):
        server = ServerProcess(self.folder / "served")
        if not self.counts["kills"]:
            with server.client() as client:
                assert client.put(MODEL, json=self.settings).status_code == 201
        return server

    def round(self, seconds):
        """Start the server, let the clients send for a random time, and kill it."""
        server = self._start()
        for client in self.clients:
            client.url = server.url
        least = 15 * (self.counts["kills"] + 1)  # rows, however slow the machine is
        wait_until(lambda: sum(len(sender.learned) for sender in self.senders) >= least)
        time.sleep(self.chance.uniform(0.0, 2 * seconds))
        server.kill()
        self.counts["kills"] += 1
        for client in self.clients:
            if client.fault is not None:
                raise client.fault

    def check(self):
        """End the clients, once everything is answered, and compare what they were told with what is there."""
        server = self._start()
        try:
            for client in self.clients:
                client.stopping.set()
            for client in self.clients:
                client.join()
            with server.client() as client:
                for sender in self.senders:
                    self._complete(sender, client)
                    self.counts += sender.counts
                if self.operator is not None:
                    self._settle(self.operator, client)
                rows = lines_of(client.get(f"{MODEL}/examples"))
                self._check_rows(rows)
                file = client.get(f"{MODEL}/file").content
            assert server.stop() == 0
        finally:
            if server.process.poll() is None:
                server.kill()
        if self.settings.get("task") == "decisions":
            assert file == rewarded(self.folder, rows)
        else:
            assert file == trained(self.folder, [(row["features"], row["label"]) for row in rows], *self.options)

    def _settle(self, operator, client):
        """Complete the operator's last step, and wait until no version is on its way to answer."""
        assert operator.fault is None, operator.fault
        while operator.step is not None:
            operator.act(client)
        self.counts += operator.counts
        if operator.counts["erase"]:  # the model keeps what it learned of erased rows until it is trained again
            assert client.post(f"{MODEL}/rebuild").status_code == 200

        def settled():
            found = client.get(f"{MODEL}/versions").json()["versions"]
            assert not [one for one in found if one["failed"]], found
            live = next(one for one in found if one["state"] == "live")
            return not [one for one in found if one["state"] in ("next", "promoting")] and live

        self.options = [f"--{name}={value}" for name, value in wait_until(settled)["settings"].items()]

    def _complete(self, sender, client):
        assert sender.fault is None, sender.fault
        while sender.tried:
            sender.act(client)

    def _check_rows(self, rows):
        assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})
        found = {row["id"]: (row["features"], row["label"]) for row in rows}
        assert len(found) == len(rows), "an id is there twice"
        acknowledged = {id: told for sender in self.senders for id, told in sender.learned.items()}
        if self.operator is not None:
            own = {id: told for id, told in found.items() if id.startswith("batch-")}
            assert own == self.operator.rows
            acknowledged |= own
        assert {id: found.get(id) for id in acknowledged} == acknowledged
        self.counts["acknowledged"], self.counts["in the log"] = len(acknowledged), len(found)
