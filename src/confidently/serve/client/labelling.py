"""Requests of people who label: rows to label, answers and their undoing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .bodies import plain_label
from .requests import ModelRequests, quoted


class LabellingRequests(ModelRequests):
    """Requests of people who label."""

    def queue(
        self, n: int = 5, labeller: str = "somebody", hold: Sequence[str] = (), *, seat: str = ""
    ) -> dict[str, Any]:
        """Lease rows to label to somebody; those to ``hold``, at most 100 ids, are kept.

        ``seat`` is one of several places where a person labels at the same time, each with rows of its own.
        """
        query = {"n": n, "labeller": labeller, "seat": seat, "hold": list(hold) or None}
        return self._ask("GET", "/queue", query=query)

    def answer(
        self, id: str, label: Any, labeller: str = "somebody", *, seat: str = "", second: bool = False
    ) -> dict[str, Any]:
        """Send a labeller's answer, which is learned a few seconds later; a second one is only compared with that."""
        who = {"labeller": labeller, "seat": seat, "second": second}
        return self._ask("POST", "/answers", {"id": id, "label": plain_label(label)} | who)

    def skip(self, id: str, labeller: str = "somebody", *, seat: str = "", reason: str | None = None) -> dict[str, Any]:
        """Do not ask a labeller about a row again."""
        who = {"labeller": labeller, "seat": seat, "reason": reason}
        return self._ask("POST", "/answers", {"id": id, "skip": True} | who)

    def undo(self, id: str, labeller: str = "somebody", *, seat: str = "", second: bool = False) -> dict[str, Any]:
        """Undo an answer that was not learned yet, or a second one."""
        query = {"labeller": labeller, "seat": seat, "second": second}
        return self._ask("DELETE", f"/answers/{quoted(id)}", query=query, again=False)
