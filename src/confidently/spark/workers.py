"""What tasks leave behind in Spark's Python processes, which run many of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Item = TypeVar("Item")


def in_worker(task: Callable[Given, Iterator[Item]]) -> Callable[Given, Iterator[Item]]:
    """Return a task after the first of which its process no longer searches what was imported for garbage.

    Spark collects garbage after every task. A search of all that is imported takes a tenth of a second, which is more
    than most chunks of rows take.
    """

    @wraps(task)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Iterator[Item]:
        yield from task(*args, **kwargs)
        if not gc.get_freeze_count():
            gc.collect()
            gc.freeze()

    return run
