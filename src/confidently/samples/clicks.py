"""Advertisements that were shown, with what is known about each and whether it was clicked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from .choice import numbered, pick, pick_early

START = datetime(2026, 3, 1)
SECONDS_PER_ROW = 40
DEVICES = ("phone", "desktop", "tablet", "television")
POSITIONS = ("top", "side", "bottom", "inline")
SUBJECT_OF = {
    f"{first}{subject}.example": subject
    for first in ("daily", "green", "north", "open", "pixel", "quick", "river", "solar", "urban", "vivid")
    for subject in ("news", "cooking", "games", "travel", "garden", "music", "sports", "market", "weather", "movies")
}
SITES = tuple(SUBJECT_OF)
CAMPAIGNS = tuple(
    f"{brand}-{offer}"
    for brand in ("alder", "birch", "cedar", "ebony", "hazel", "maple", "olive", "rowan")
    for offer in ("shoes", "hotels", "laptops", "books", "insurance")
)
BASE, HOUR_EFFECT, PRICE_EFFECT = -2.3, 0.5, -0.012  # of the log-odds of a click


def clicks(n_rows: int = 10_000, seed: int = 0) -> Iterator[dict[str, str | int | float]]:
    """Yield advertisements shown in the order of time, with ``click`` 1 or 0.

    The log-odds of a click are a sum of effects of the site, campaign, device and position, of the hour (evenings are
    best), of the price, and of each campaign on sites about one subject. About one in six is clicked.

    Parameters
    ----------
    n_rows : int
        Number of rows, 0 or more.
    seed : int
        Seed of the rows, 0 or more. The effects are the same for all seeds.

    Yields
    ------
    dict
        ``click`` (1 or 0), ``time`` (ISO 8601), ``site``, ``campaign``, ``device``, ``position`` (strings) and
        ``price`` (of the advertised product, in dollars).

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> from confidently.samples import clicks
    >>> next(clicks())["site"]
    'pixeltravel.example'
    """
    effects = _effects()
    return (_row(row, generator, effects) for row, generator in numbered(n_rows, seed))


def _effects() -> dict[str, float]:
    """The effect of every site, campaign, device and position, and of every campaign on sites about a subject."""
    pairs = dict.fromkeys(_pair(site, campaign) for site in SITES for campaign in CAMPAIGNS)
    names, generator = (*SITES, *CAMPAIGNS, *DEVICES, *POSITIONS, *pairs), Random(1)
    return {name: 1.2 * sum(generator.random() - 0.5 for _ in range(4)) for name in names}


def _pair(site: str, campaign: str) -> str:
    return f"{campaign} on {SUBJECT_OF[site]}"


def _row(row: int, generator: Random, effects: dict[str, float]) -> dict[str, str | int | float]:
    time = START + timedelta(seconds=SECONDS_PER_ROW * (row + generator.random()))
    site, campaign = pick_early(generator, SITES), pick_early(generator, CAMPAIGNS)
    device, position = pick(generator, DEVICES), pick(generator, POSITIONS)
    price = round(5 + 95 * generator.random() ** 2, 2)
    known = (site, campaign, device, position, _pair(site, campaign))
    evening = HOUR_EFFECT * math.cos((time.hour - 20) * math.pi / 12)
    log_odds = BASE + sum(effects[name] for name in known) + evening + PRICE_EFFECT * (price - 35)
    return {
        "click": int(generator.random() < 1 / (1 + math.exp(-log_odds))),
        "time": time.isoformat(timespec="seconds"),
        "site": site,
        "campaign": campaign,
        "device": device,
        "position": position,
        "price": price,
    }
