"""Requests about decisions: decide, activate, reward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .bodies import new_id, plain, plain_rows
from .requests import ModelRequests


class DecisionRequests(ModelRequests):
    """Requests about decisions."""

    def decide(
        self, context: Mapping[str, Any] | None, actions: Sequence[Any], id: str | None = None, *,
        excluded: Sequence[str | int] = (), baseline: str | int | None = None,
        slots: Sequence[Mapping[str, Any]] | None = None, deferred: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Choose one of several actions; the decision is durable when this returns.

        Parameters
        ----------
        context : mapping or None
            Features of what is known, as for :meth:`predict`.
        actions : sequence of str, int or mapping
            Ids, or mappings with ``id`` and perhaps ``features``, ``cost`` and ``least``, the smallest probability.
        id : str, optional
            By which :meth:`reward` finds it; the same id and request get the same decision.
        excluded : sequence of str or int
            Actions that cannot be chosen now.
        baseline : str or int, optional
            What would be chosen without a model; by default the first action.
        slots : sequence of mappings, optional
            Places with an ``id``, perhaps ``features``, ``excluded`` and ``baseline``: a decision for each, without
            repeats, whose id is that of the request, a slash and the slot's.
        deferred : bool
            Whether it counts only after :meth:`activate`.
        """
        given = {"context": context, "actions": actions} | ({} if slots is None else {"slots": slots})
        given |= {"excluded": list(excluded), "baseline": baseline, "deferred": deferred}
        return self._ask("POST", "/decide", _decide_body(given | ({"id": id} if id else {})))

    def decide_many(self, requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Send requests with the arguments of :meth:`decide`, such as ``{"id": "visit-17", "actions": ["a", "b"]}``.

        Return a decision or a problem for each; the decisions are durable.
        """
        return self._lines("/decide", map(_decide_body, plain_rows(requests, None)), {})

    def activate(self, id: str) -> dict[str, Any]:
        """Let a deferred decision count: from now on its reward is due."""
        return self._ask("POST", "/activate", {"id": id})

    def reward(self, id: str, reward: float, *, wait: bool = False) -> dict[str, Any]:
        """Give a decision its reward, which counts once; with ``wait`` it is learned when this returns."""
        return self._ask("POST", "/rewards", {"id": id, "reward": float(reward)}, query=self._teaching(wait))

    def reward_many(self, rewards: Iterable[Mapping[str, Any]], *, wait: bool = False) -> list[dict[str, Any]]:
        """Send rewards such as ``{"id": "visit-17", "reward": 1.0}``; return a receipt or a problem for each."""
        return self._lines("/rewards", plain_rows(rewards, None), self._teaching(wait), wait)

    def evaluate(
        self, policies: Sequence[str] = ("baseline",), *, periods: int | str | None = None,
        reward_range: tuple[float, float] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return what policies would have earned on the logged decisions that have a reward.

        Parameters
        ----------
        policies : sequence of str
            At most 10: ``baseline``, ``uniform``, ``always:ID``, or the name of a policy, perhaps with parameters, as
            in ``lin_ucb:alpha=0.5``.
        periods : int or "day", optional
            The number of parts with equally many decisions, or days, for which values are returned too.
        reward_range : pair of float, optional
            The least and the largest reward that are possible, which intervals depend on; by default those of the log.
        """
        query: dict[str, Any] = {"policy": list(policies)} | ({} if periods is None else {"periods": str(periods)})
        if reward_range is not None:
            query["reward_range"] = ",".join(map(str, reward_range))
        return self._ask("GET", "/evaluate", query=query)


def _decide_body(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request, with an id of its own."""
    found = {"id": new_id()} | dict(request)
    context = found.pop("context", None)
    if context is not None:
        found["context"] = plain(context)
    for name in ("actions", "slots"):
        if name in found:
            found[name] = [_plain_part(one) for one in found[name]]
    return found


def _plain_part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    found = dict(part)
    if "features" in found:
        found["features"] = plain(found["features"])
    return found
