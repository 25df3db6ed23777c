"""Requests that a router sent to one of three language models at random, and whether the answer was good."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from .choice import numbered, pick

TASKS = {"chat": 0.1, "summary": 0.3, "translate": 0.35, "math": 0.75, "code": 0.7}  # how difficult they are
LANGUAGES = {"en": 0.0, "de": 0.05, "hi": 0.2}
MODELS = {"small": (0.45, 0.0), "medium": (0.75, 0.05), "large": (1.1, 0.2)}  # ability, and cost in good answers
LONGEST = 2000  # words
BASE, SLOPE = 0.97, 1.6  # probability of a good answer to an easy request; its fall with missing ability


def quality(task: str, language: str, words: int, model: str) -> float:
    """Return the probability that the answer of a model to a request is good.

    Examples
    --------
    >>> [round(quality("code", "en", 900, model), 2) for model in MODELS]
    [0.21, 0.69, 0.97]
    """
    difficulty = TASKS[task] + LANGUAGES[language] + 0.5 * words / LONGEST
    return max(BASE - SLOPE * max(difficulty - MODELS[model][0], 0.0), 0.02)


def routes(n_rows: int = 3000, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield decisions with ``context`` (task, language and words of a request), ``actions`` (three models with costs),
    ``chosen``, ``probability`` and ``reward`` (1 for a good answer).

    Each model was chosen with probability 1/3, whatever the request.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> next(routes())["chosen"] in MODELS
    True
    """
    return (_row(generator) for _, generator in numbered(n_rows, seed))


def _row(generator: Random) -> dict[str, Any]:
    task, language = pick(generator, list(TASKS)), pick(generator, list(LANGUAGES))
    words = 1 + int(LONGEST * generator.random() ** 2)
    chosen = pick(generator, list(MODELS))
    return {
        "context": {"task": task, "language": language, "words": words},
        "actions": [{"id": name, "cost": cost} for name, (_, cost) in MODELS.items()],
        "chosen": chosen,
        "probability": 1 / len(MODELS),
        "reward": int(generator.random() < quality(task, language, words, chosen)),
    }
