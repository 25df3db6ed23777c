"""Estimators that are as they were when something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Put every attribute back if something raises. What learns in place does so after all checks."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
