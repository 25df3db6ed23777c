"""The kill loop: clients that send, retry and label, and a server that is killed under them.

Every client keeps what it was told. At the end the export must have every acknowledged row once, with its label, and
the served model must be, byte for byte, the one that ``confidently train`` makes of the exported rows.
"""

import json
import random
import threading
import time
from collections import Counter

import httpx

from tests.serve.rows import made, trained
from tests.serve.running import ServerProcess, lines_of

CLIENTS = 4
MODEL = "/v1/models/spam"


class Sender(threading.Thread):
    """A client: it predicts, learns and labels rows, and sends again, with the same ids, what was not answered.

    Attributes
    ----------
    learned : dict
        Features and label of the ids whose label was acknowledged.
    """

    def __init__(self, name, seed):
        super().__init__(name=name, daemon=True)
        self.chance = random.Random(f"{seed} {name}")
        self.learned, self.tried, self.unlabelled = {}, {}, []
        self.counts = Counter()
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
                    self._act(client)
        except httpx.TransportError:
            self.counts["broken"] += 1
            if self.url == url:
                self.url = None  # until the next server

    def _act(self, client):
        if self.tried:  # what was sent and not answered comes first
            id, (path, body) = next(iter(self.tried.items()))
            self.counts["retries"] += 1
            return self._send(client, id, path, body)
        if self.unlabelled and self.chance.random() < 0.4:
            id, features, label = self.unlabelled.pop(self.chance.randrange(len(self.unlabelled)))
            self.tried[id] = ("labels", {"id": id, "label": label, "features": features})
        else:
            id = f"{self.name}-{self.counts['made']}"
            [(features, label)] = made(1, "mixed", seed=id)
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
            several = made(row["n"], "mixed", seed=id)
            rows = {f"{id}-{k}": one for k, one in enumerate(several)}
            content = "".join(
                json.dumps({"id": one, "features": features, "label": label}) + "\n"
                for one, (features, label) in rows.items()
            )
            with client.stream(
                "POST", f"{MODEL}/learn", content=content, headers={"Content-Type": "application/x-ndjson"}
            ) as answer:
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


class Torture:
    """A folder whose server is killed again and again."""

    def __init__(self, folder, seed, settings=None, options=()):
        self.folder, self.options = folder, options
        self.chance, self.counts = random.Random(seed), Counter()
        self.settings = settings or {}
        self.senders = [Sender(f"c{k}", seed) for k in range(CLIENTS)]
        for sender in self.senders:
            sender.start()

    def _start(self):
        server = ServerProcess(self.folder / "served")
        with server.client() as client:
            assert client.put(MODEL, json=self.settings).status_code in (200, 201)
        return server

    def round(self, seconds):
        """Start the server, let the clients send for a random time, and kill it."""
        server = self._start()
        for sender in self.senders:
            sender.url = server.url
        time.sleep(self.chance.uniform(0.0, 2 * seconds))
        server.kill()
        self.counts["kills"] += 1
        for sender in self.senders:
            if sender.fault is not None:
                raise sender.fault

    def check(self):
        """End the clients, once everything is answered, and compare what they were told with what is there."""
        server = self._start()
        try:
            for sender in self.senders:
                sender.stopping.set()
            for sender in self.senders:
                sender.join()
            with server.client() as client:
                for sender in self.senders:
                    self._complete(sender, client)
                    self.counts += sender.counts
                rows = lines_of(client.get(f"{MODEL}/examples"))
                self._check_rows(rows)
                file = client.get(f"{MODEL}/file").content
            assert server.stop() == 0
        finally:
            if server.process.poll() is None:
                server.kill()
        assert file == trained(self.folder, [(row["features"], row["label"]) for row in rows], *self.options)

    def _complete(self, sender, client):
        assert sender.fault is None, sender.fault
        while sender.tried:
            id, (kind, row) = next(iter(sender.tried.items()))
            sender._send(client, id, kind, row)

    def _check_rows(self, rows):
        assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})
        found = {row["id"]: (row["features"], row["label"]) for row in rows}
        assert len(found) == len(rows), "an id is there twice"
        acknowledged = {id: told for sender in self.senders for id, told in sender.learned.items()}
        assert {id: found.get(id) for id in acknowledged} == acknowledged
        self.counts["acknowledged"], self.counts["in the log"] = len(acknowledged), len(found)
