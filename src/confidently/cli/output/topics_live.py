"""A bar that moves, on a terminal: while documents are read, and while they are learned."""

from __future__ import annotations

from ..training.position import Standing
from .live import Live
from .topics_progress import TopicStanding


class LiveTopics(Live):
    """A bar for the reading, where it comes first, and one for every pass."""

    def reading(self, read: Standing, total: int | None) -> None:
        if self.progress is None:
            self.title = "reading"
            self.begin(1, 1, read, total)
            self.title = Live.title
        self.update(read)

    def begin(self, number: int, passes: int, now: Standing, total: int | None) -> None:
        self.close()
        super().begin(number, passes, now, total)

    def _status(self, now: Standing) -> str:
        assert isinstance(now, TopicStanding)
        words = f"  {now.words:,} words  {now.words_per_second:,.0f} words/s" if now.words else ""
        return f"{now.rows:,} documents{words}"
