"""Files and streams of examples, larger than memory, as batches of rows."""

from .advice import DataWarning
from .batch import Batch, DataError, NewLabel
from .reading import FORMATS, ReaderOptions
from .stream import Stream, open_stream

__all__ = ["FORMATS", "Batch", "DataError", "DataWarning", "NewLabel", "ReaderOptions", "Stream", "open_stream"]
