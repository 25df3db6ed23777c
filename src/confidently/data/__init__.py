"""Files and streams of examples, larger than memory, as batches of rows."""

from ..lazy import lazy_names

# The command line asks for one small module of this package before it knows whether it will read data.
__all__, __getattr__, __dir__ = lazy_names(__spec__)
