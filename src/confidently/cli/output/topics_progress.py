"""How the training of a topic model is going: documents and words, as ``confidently train`` shows rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..training.position import Position, Standing
from .progress import JsonLines, Plain, Quiet


@dataclass(frozen=True)
class TopicStanding(Standing):
    """Where a pass stands: documents, and their words; nothing is predicted."""

    words: int = 0

    @property
    def done(self) -> int:
        """Bytes of what is read while it is learned; of what is in memory, documents."""
        return self.bytes_read or self.rows

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds if self.seconds else 0.0


@dataclass
class TopicPosition(Position):
    """Passes done, documents of the present one."""

    standing: ClassVar[type[Standing]] = TopicStanding

    now: TopicStanding = field(default_factory=TopicStanding)
    first: TopicStanding | None = None


class TopicPlain(Plain):
    """Lines on standard error."""

    heading = f"{'documents':>13} {'words':>15} {'words/s':>13}"

    def _columns(self, now: Standing, since: Standing) -> str:
        assert isinstance(now, TopicStanding)
        return f"{now.rows:13,} {now.words:15,} {now.words_per_second:13,.0f}"


class TopicJsonLines(JsonLines):
    """JSON objects on standard output."""

    def _numbers(self, now: Standing, since: Standing) -> dict[str, Any]:
        assert isinstance(now, TopicStanding)
        return {
            "documents": now.rows,
            "words": now.words,
            "seconds": round(now.seconds, 6),
            "words_per_second": round(now.words_per_second, 1),
        }


def topic_reporter(quiet: bool, as_json: bool) -> Quiet:
    """The way to report progress that was asked for, or suits standard error."""
    if quiet:
        return Quiet()
    if as_json:
        return TopicJsonLines()
    if sys.stderr.isatty():
        from .topics_live import LiveTopics

        return LiveTopics()
    return TopicPlain()
