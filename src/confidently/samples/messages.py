"""Short electronic messages, wanted and unwanted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from .choice import numbered, pick

SPAM_RATE = 0.35
N_SENTENCES = 1, 3  # least and most of a message's own kind
SMALL_TALK_RATE, OTHER_KIND_RATE, DISGUISE_RATE = 0.4, 0.5, 0.005
SLOT = re.compile(r"\{(\w+)\}")

SLOTS = {
    "name": (
        "Anna",
        "Ben",
        "Clara",
        "David",
        "Elena",
        "Farid",
        "Grace",
        "Hugo",
        "Ines",
        "Jonas",
        "Kim",
        "Leila",
        "Marco",
    ),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "the weekend", "tomorrow", "next week"),
    "time": ("9 am", "10:30", "noon", "2 pm", "3:15", "half past four", "6 pm", "8 in the evening"),
    "place": ("the office", "room 4", "the cafe at the corner", "the station", "our place", "the library", "the park"),
    "project": ("the budget", "the annual report", "the survey", "the new catalog", "the harbor project", "the audit"),
    "city": ("Lisbon", "Oslo", "Vienna", "Montreal", "Kyoto", "Naples", "Warsaw", "Dublin"),
    "item": ("a desk lamp", "running shoes", "two novels", "a coffee grinder", "a raincoat", "a keyboard", "tea"),
    "file": ("parser.py", "the importer", "the login page", "the search index", "the build script", "the unit tests"),
    "amount": ("$49", "$120", "$250", "$900", "$5,000", "$18,400", "$1,000,000"),
    "number": ("3", "12", "24", "48", "77", "150", "4,210", "90,331"),
    "pill": ("pain relief", "weight loss pills", "sleeping pills", "hair growth serum", "energy capsules"),
    "coin": ("bitcoin", "a new token", "our trading robot", "the coin of the year", "digital gold"),
    "bank": ("First Harbor Bank", "your card account", "your online banking", "the payment service", "your mailbox"),
    "link": ("http://bit.example/{number}", "www.offer.example", "the link below", "this button", "http://go.example"),
}
HAM: dict[str, tuple[str, ...]] = {
    "work": (
        "Can we move the meeting about {project} to {day} at {time}?",
        "I attached the draft of {project}; please send comments by {day}.",
        "The numbers for {project} look fine, but page {number} needs another chart.",
        "{name} will present {project} in {place}.",
        "Who takes the minutes?",
        "Please approve the invoice of {amount} for {project}.",
        "The client called about {project} and asks for a new schedule.",
        "I am out of office until {day}; {name} answers urgent questions.",
    ),
    "family": (
        "Shall we have dinner on {day} at {time}?",
        "Grandma asks whether you come on {day}.",
        "The kids loved {place}, thank you for taking them.",
        "Could you buy bread and milk on the way home?",
        "I found the photos of our trip to {city}.",
        "{name} has a birthday on {day}; any idea for a present?",
        "Call me when you are at {place}.",
        "The cat is fine again, the vet only charged {amount}.",
    ),
    "travel": (
        "Your train to {city} leaves at {time} from platform {number}.",
        "The booking for {city} is confirmed, reference {number}.",
        "Check-in for your flight to {city} opens on {day}.",
        "The hotel in {city} has a room for {amount} per night.",
        "I will arrive in {city} on {day} at {time}.",
        "Bring your passport and the printed ticket.",
        "Is the museum in {city} open on {day}?",
    ),
    "orders": (
        "Thank you for your order of {item}.",
        "Your parcel with {item} was shipped and arrives on {day}.",
        "Track your delivery with {link}.",
        "We received your payment of {amount} for {item}.",
        "You can return {item} free of charge until {day}.",
        "Your order number is {number}.",
        "Log in to your account to see the invoice.",
    ),
    "newsletter": (
        "This week: {number} recipes for {day}.",
        "Our members save {amount} on tickets in {city}; see {link}.",
        "New in the shop: {item}, with free shipping until {day}.",
        "Read the interview with {name} about life in {city}.",
        "You receive this letter because you subscribed to it.",
        "Click {link} to unsubscribe at any time.",
        "The best offers of the month, selected by {name}.",
    ),
    "code": (
        "The build fails since {name} changed {file}.",
        "I opened a pull request that fixes the crash in {file}.",
        "Tests of {file} pass, except test {number}.",
        "Could you review my patch for {file} before {day}?",
        "The memory leak was in {file}; release {number} has the fix.",
        "Please rebase on main and merge after {time}.",
        "Issue {number} is a duplicate of issue {number}.",
    ),
}
SPAM: dict[str, tuple[str, ...]] = {
    "pharmacy": (
        "Buy {pill} without a prescription.",
        "Doctors hate this: {pill} for only {amount}.",
        "Lose {number} pounds by {day}, guaranteed.",
        "Free sample of {pill}, click {link} now.",
        "Discreet shipping, no questions asked.",
        "Men over 40 love {pill}.",
        "Limited stock of {pill}: order by {day} and save 80 %.",
    ),
    "prize": (
        "Congratulations, you have won {amount}!",
        "You were selected for {item} and a prize of {amount}.",
        "Claim your free gift card at {link} before {day}.",
        "Winner number {number}: reply with your name and address.",
        "This is not a joke, your ticket was drawn in {city}.",
        "Act now, the offer ends on {day}.",
        "Send {amount} for the processing fee and receive your money.",
    ),
    "bank": (
        "We noticed an unusual login to {bank}.",
        "Confirm your password at {link} by {day} or {bank} will be closed.",
        "Your payment of {amount} was refused; update your card at {link}.",
        "Dear customer, {bank} is suspended.",
        "Verify your identity now to avoid a fee of {amount}.",
        "Your parcel could not be delivered, pay {amount} customs at {link}.",
        "Attached is the invoice {number}, please pay immediately.",
    ),
    "crypto": (
        "Invest {amount} in {coin} and double it by {day}.",
        "{name} from {city} made {amount} in one week with {coin}.",
        "Secret method of the rich: {coin}.",
        "Guaranteed profit with {coin}, no risk at all.",
        "Join {number} happy investors at {link}.",
        "Do not miss {coin}, the price explodes on {day}.",
        "Deposit {amount} today and get a bonus.",
    ),
    "jobs": (
        "Work from home and earn {amount} per day.",
        "No experience needed, start on {day}.",
        "We found your profile and offer {amount} a month.",
        "Only {number} places left, apply at {link}.",
        "Be your own boss in {city} or anywhere.",
        "Transfer money for our clients and keep 10 %.",
        "Answer with your phone number, {name} will call you.",
    ),
    "promotion": (
        "We bring your website to the top of all search results.",
        "Get {number} new followers for only {amount}.",
        "Your site has {number} errors, we repair them cheaply.",
        "Best price for email lists with {number} addresses.",
        "Increase your sales by {day} with our marketing experts.",
        "Free audit of your homepage: click {link}.",
        "Reply stop if you do not want more offers.",
    ),
}
KINDS: dict[str, dict[str, tuple[str, ...]]] = {"ham": HAM, "spam": SPAM}
GREETINGS = ("Hi,", "Hello {name},", "Dear {name},", "Good morning,", "Dear friend,", "Hey {name},", "")
SMALL_TALK = (
    "I hope you are well.",
    "Thank you for your message.",
    "Please let me know.",
    "See you on {day}.",
    "Do you have any questions?",
    "This is important.",
    "Please answer soon.",
    "Sorry for the late reply.",
)


def messages(n_rows: int = 3000, seed: int = 0, drift: bool = False) -> Iterator[dict[str, str]]:
    """Yield messages, a third of them spam.

    A message consists of one to three sentences of its kind, often with a sentence that every message may have. Every
    second one has a sentence of another kind too, which makes short messages ambiguous. One in 200 is disguised: it
    consists of sentences of the other label.

    Parameters
    ----------
    n_rows : int
        Number of rows, 0 or more.
    seed : int
        Seed of the rows, 0 or more.
    drift : bool
        Whether the kinds of spam change: each third of the rows has two of the six.

    Yields
    ------
    dict
        ``label`` (``"ham"`` or ``"spam"``), ``kind`` (``"work"``, ``"pharmacy"`` and ten more) and ``text``.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> from confidently.samples import messages
    >>> next(messages())["kind"]
    'newsletter'
    """
    return (_row(generator, 3 * row // n_rows if drift else None) for row, generator in numbered(n_rows, seed))


def _row(generator: Random, third: int | None) -> dict[str, str]:
    label = "spam" if generator.random() < SPAM_RATE else "ham"
    kinds = list(KINDS[label])
    if label == "spam" and third is not None:
        kinds = kinds[2 * third : 2 * third + 2]
    kind = pick(generator, kinds)
    source = KINDS[label][kind]
    if generator.random() < DISGUISE_RATE:
        source = _any(generator, "ham" if label == "spam" else "spam")
    least, most = N_SENTENCES
    sentences = [pick(generator, source) for _ in range(least + int(generator.random() * (most - least + 1)))]
    if generator.random() < SMALL_TALK_RATE:
        sentences.insert(int(generator.random() * 2), pick(generator, SMALL_TALK))
    if generator.random() < OTHER_KIND_RATE:
        sentences.append(pick(generator, _any(generator, pick(generator, list(KINDS)))))
    text = " ".join([pick(generator, GREETINGS), *dict.fromkeys(sentences)]).strip()
    return {"label": label, "kind": kind, "text": _filled(generator, text)}


def _any(generator: Random, label: str) -> tuple[str, ...]:
    """The sentences of some kind of a label."""
    return pick(generator, list(KINDS[label].values()))


def _filled(generator: Random, text: str) -> str:
    """Fill the slots of a text; a filling may have slots itself."""
    while SLOT.search(text):
        text = SLOT.sub(lambda slot: pick(generator, SLOTS[slot[1]]), text)
    return text
