"""Files and streams of examples, larger than memory, as batches of rows."""

from .batch import Batch, DataError, NewLabel
from .stream import Stream, open_stream

__all__ = ["Batch", "DataError", "NewLabel", "Stream", "open_stream"]
