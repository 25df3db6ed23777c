"""Training on a cluster of `dask.distributed <https://distributed.dask.org>`_ (the extra ``dask``).

In every round each partition of the data trains a copy of the common model on its next chunk, and the copies are merged
(docs/distributed.md).
"""

from importlib.util import find_spec

from ..extras import install

if find_spec("distributed") is None:
    raise ImportError(f"confidently.distributed needs dask.distributed; run {install('dask')}")

from ..rounds.rounds import Round
from .decisions import fit_decisions
from .entities import fit_entities
from .fitting import fit, partial_fit

__all__ = ["Round", "fit", "fit_decisions", "fit_entities", "partial_fit"]
