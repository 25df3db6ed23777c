"""Models that predict numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .model import Model


@dataclass
class RegressionModel(Model):
    """A regression: its learner, and the names of its features; its classes are the numbers of its outputs."""

    kind: ClassVar[str] = "regression"

    learner: Any
