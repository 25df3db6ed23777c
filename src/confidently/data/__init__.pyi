from .batch import Batch as Batch
from .batch import DataError as DataError
from .batch import NewLabel as NewLabel
from .formats.table import FORMATS as FORMATS
from .reading import ReaderOptions as ReaderOptions
from .stream import Stream as Stream
from .stream import open_stream as open_stream
from .warning import DataWarning as DataWarning
