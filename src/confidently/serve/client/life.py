"""Requests about the life of a model: making and deleting it, its file, its versions, batches and edits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from .requests import ModelRequests, json_object, listed, quoted

FILE = "application/octet-stream"


class LifeRequests(ModelRequests):
    """Requests about the model as a whole."""

    def create(self, **settings: Any) -> dict[str, Any]:
        """Make the model; return what the server reports about it.

        If it exists with other settings, a version with these is trained beside it, which :meth:`promote` lets answer.
        """
        return self._ask("PUT", "", settings)

    def info(self) -> dict[str, Any]:
        """Return what the server reports about the model."""
        return self._ask("GET", "")

    def metrics(self) -> dict[str, Any]:
        """Return progressive error and log-loss, or the errors of numbers, their course, calibration, alarms, rates."""
        return self._ask("GET", "/metrics")

    def delete(self) -> None:
        """Delete the model with all its rows."""
        self._ask("DELETE", "", again=False)

    def download(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, which :func:`confidently.load` reads."""
        Path(path).write_bytes(self._server.send("GET", f"{self._path}/file", slow=True).content)

    def upload(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Make the model of a model file, whose training continues; return what the server reports about it."""
        answer = self._server.send("PUT", f"{self._path}/file", Path(path).read_bytes(), kind=FILE, slow=True)
        return json_object(msgspec.json.decode(answer.content))

    # --- other servers ------------------------------------------------------------------------------------------------

    def contribution(self) -> bytes:
        """Return what the model has learned of the rows of its server, as a file that :meth:`merge` takes."""
        return bytes(self._server.send("GET", f"{self._path}/contribution", slow=True).content)

    def merge(self, contribution: bytes, wait: bool = False) -> dict[str, Any]:
        """Merge the contribution of another server, in the place of the one before; with ``wait``, return once it is.

        What was sent before is not merged again.
        """
        query = {"wait": "learned"} if wait else {}
        answer = self._server.send("POST", f"{self._path}/merge", contribution, query=query, kind=FILE, slow=True)
        return json_object(msgspec.json.decode(answer.content))

    # --- versions -----------------------------------------------------------------------------------------------------

    def versions(self) -> list[dict[str, Any]]:
        """Return the versions of the model, the newest first."""
        return listed(self._ask("GET", "/versions"), "versions")

    def promote(self, version: int, wait: bool = False) -> dict[str, Any]:
        """Let a version answer as soon as it has learned all rows; with ``wait``, return once it does."""
        return self._change("POST", f"/versions/{version:d}/promote", wait, again=True)

    def retire(self, version: int) -> dict[str, Any]:
        """Stop training a version that does not answer."""
        return self._ask("DELETE", f"/versions/{version:d}", again=False)

    def rollback(self, wait: bool = False) -> dict[str, Any]:
        """Let the version answer again that did so before the last promotion."""
        return self._change("POST", "/rollback", wait)

    def rebuild(self, wait: bool = False) -> dict[str, Any]:
        """Train the model again from its log, without the rows that were erased."""
        return self._change("POST", "/rebuild", wait)

    def batches(self) -> list[dict[str, Any]]:
        """Return the batches of the model, the newest first."""
        return listed(self._ask("GET", "/batches"), "batches")

    def take_out(self, batch: str | None = None, wait: bool = False) -> dict[str, Any]:
        """Take a batch out, by default that of this client: the model is trained again without its rows."""
        name = self.batch if batch is None else batch
        if name is None:
            raise ValueError("this client has no batch of its own; name the one to take out")
        return self._change("DELETE", f"/batches/{quoted(name)}", wait)

    def rename_class(self, old: str, new: str, wait: bool = False) -> dict[str, Any]:
        """Rename a class; the name of another class merges both."""
        return self._change("POST", "/edits", wait, {"from": old, "to": new})

    def remove_class(self, name: str, wait: bool = False) -> dict[str, Any]:
        """Remove a class with its rows."""
        return self._change("POST", "/edits", wait, {"from": name})

    def edits(self) -> list[dict[str, Any]]:
        """Return the edits that count: batches taken out, and classes renamed, merged or removed."""
        return listed(self._ask("GET", "/edits"), "edits")

    def revert(self, edit: int, wait: bool = False) -> dict[str, Any]:
        """Revert an edit, by its number."""
        return self._change("DELETE", f"/edits/{edit:d}", wait)
