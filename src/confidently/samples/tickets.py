"""Requests to a help desk, each for one of twenty teams."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from .choice import numbered, pick, pick_early

OTHER_RATE, POLITE_RATE, URGENT_RATE = 0.2, 0.4, 0.2

TEAMS: dict[str, tuple[str, ...]] = {
    "password": ("I forgot my password.", "My account is locked after three tries.", "The reset link has expired."),
    "printer": ("The printer on floor 2 jams.", "Pages come out blank.", "Please bring new toner."),
    "network": ("The Wi-Fi drops every few minutes.", "No internet in meeting room 4.", "The cable has no signal."),
    "vpn": ("The VPN asks for a certificate.", "I cannot reach the file server from home.", "The tunnel disconnects."),
    "laptop": ("My laptop does not start.", "The battery lasts ten minutes.", "The screen flickers since today."),
    "phone": ("The desk phone has no tone.", "Calls to my mobile are not forwarded.", "My SIM card is blocked."),
    "email": ("Mail to customers bounces.", "My mailbox is full.", "The shared mailbox does not show up."),
    "calendar": ("The meeting shows at the wrong hour.", "I cannot book the large room.", "Invitations arrive twice."),
    "software": ("Please install the drawing program.", "The editor crashes when it opens.", "My license has run out."),
    "access": ("I need access to the project folder.", "The badge does not open door 3.", "Add me to the group."),
    "backup": ("I deleted a folder by mistake.", "Can you restore last week's version?", "The backup reports errors."),
    "security": ("I clicked on a strange link.", "Somebody asks for my password by mail.", "A virus was found."),
    "invoice": ("The invoice has the wrong address.", "When is invoice 4711 paid?", "I was charged twice."),
    "payroll": ("My salary is too low this month.", "Where is my payslip?", "The overtime is missing."),
    "travel": ("Please book a train to Vienna.", "My trip was canceled, what about the hotel?", "I lost a ticket."),
    "vacation": ("How many vacation days are left?", "My request for leave is still open.", "I am ill today."),
    "hiring": ("We need a second developer.", "Has the candidate accepted?", "Please post the job offer."),
    "facilities": ("The heating in room 12 is cold.", "The window does not close.", "The lamp is broken."),
    "parcel": ("My parcel has not arrived.", "Please pick up a package.", "The courier left the box outside."),
    "canteen": ("Is there a vegan dish today?", "My meal card is empty.", "The coffee machine leaks."),
}
POLITE = ("Thanks a lot.", "Could you help, please?", "Kind regards.", "Thank you in advance.")
URGENT = ("This is urgent.", "I need it before noon.", "The whole team waits.")
SITES = ("Oslo", "Lisbon", "Naples", "Dublin")


def tickets(n_rows: int = 2000, seed: int = 0) -> Iterator[dict[str, str | int]]:
    """Yield requests with ``team`` (one of twenty), ``text``, ``site`` and ``floor``.

    Some teams get more requests than others. One in five requests mentions the subject of another team too.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> next(tickets())["team"]
    'invoice'
    """
    return (_row(generator) for _, generator in numbered(n_rows, seed))


def _row(generator: Random) -> dict[str, str | int]:
    team = pick_early(generator, list(TEAMS))
    sentences = [pick(generator, TEAMS[team]), pick(generator, TEAMS[team])]
    if generator.random() < OTHER_RATE:
        sentences.append(pick(generator, TEAMS[pick(generator, list(TEAMS))]))
    for rate, some in ((URGENT_RATE, URGENT), (POLITE_RATE, POLITE)):
        if generator.random() < rate:
            sentences.append(pick(generator, some))
    floor = 1 + int(generator.random() * 5)
    return {"team": team, "text": " ".join(dict.fromkeys(sentences)), "site": pick(generator, SITES), "floor": floor}
