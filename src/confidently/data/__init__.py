"""Files and streams of examples, larger than memory, as batches of rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["FORMATS", "Batch", "DataError", "DataWarning", "NewLabel", "ReaderOptions", "Stream", "open_stream"]

LAZY = {  # and the module of each
    "FORMATS": "formats.table",
    "Batch": "batch",
    "DataError": "batch",
    "DataWarning": "warning",
    "NewLabel": "batch",
    "ReaderOptions": "reading",
    "Stream": "stream",
    "open_stream": "stream",
}

if TYPE_CHECKING:  # type checkers see the same names
    from .batch import Batch, DataError, NewLabel
    from .formats.table import FORMATS
    from .reading import ReaderOptions
    from .stream import Stream, open_stream
    from .warning import DataWarning
else:

    def __getattr__(name: str) -> Any:
        # the command line asks for one small module of this package before it knows whether it will read data
        if name in LAZY:
            return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
