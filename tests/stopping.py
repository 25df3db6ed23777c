"""A training that ends in the middle."""

from contextlib import contextmanager
from unittest.mock import patch

from confidently.cli.training import checkpoint


class Stop(Exception):
    """Ends a training."""


@contextmanager
def stopping_after(checkpoints):
    """Raise :class:`Stop` in a training that has written so many checkpoints."""
    saved, real = [], checkpoint.Checkpoints.save

    def save(self, *state):
        real(self, *state)
        saved.append(state)
        if len(saved) == checkpoints:
            raise Stop

    with patch.object(checkpoint.Checkpoints, "save", save):
        yield
