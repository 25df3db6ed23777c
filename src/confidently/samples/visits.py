"""Visitors of a shop, and which of its offers each would take."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from .choice import numbered, pick_early

SOURCES = ("search", "newsletter", "social", "direct")
DEVICES = ("phone", "laptop", "tablet")
OFFERS = ("bestsellers", "espresso machine", "bean sampler", "gift card", "free shipping")
LIKED = {  # what adds to the probability that an offer is taken
    "bestsellers": {"returning": 0.05},
    "espresso machine": {"search": 0.3, "laptop": 0.25, "phone": -0.15, "returning": -0.2},
    "bean sampler": {"newsletter": 0.2, "returning": 0.45},
    "gift card": {"social": 0.6, "newsletter": 0.1},
    "free shipping": {"phone": 0.2, "direct": 0.3, "returning": -0.1},
}
USUAL, LEAST = 0.15, 0.02  # probability


def interest(context: dict[str, Any], offer: str) -> float:
    """Return the probability that a visitor takes an offer.

    Examples
    --------
    >>> visitor = {"source": "social", "device": "phone", "hour": 20, "returning": False}
    >>> round(interest(visitor, "gift card"), 2), round(interest(visitor, "espresso machine"), 2)
    (0.75, 0.02)
    """
    of_visitor = {context["source"], context["device"], *(["returning"] if context["returning"] else [])}
    return max(USUAL + sum(more for name, more in LIKED[offer].items() if name in of_visitor), LEAST)


def visits(n_rows: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield visits with ``context`` (source, device, hour of the day, and whether the visitor was there before) and
    ``taken``: of each of five offers, whether the visitor would take it.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> list(next(visits(1))["taken"]) == list(OFFERS)
    True
    """
    return (_visit(generator) for _, generator in numbered(n_rows, seed))


def _visit(generator: Random) -> dict[str, Any]:
    context = {
        "source": pick_early(generator, SOURCES),
        "device": pick_early(generator, DEVICES),
        "hour": int(24 * generator.random()),
        "returning": generator.random() < 0.4,
    }
    u = generator.random()
    return {"context": context, "taken": {offer: u < interest(context, offer) for offer in OFFERS}}
