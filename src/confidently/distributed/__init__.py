"""Training on a cluster of `dask.distributed <https://distributed.dask.org>`_ (``pip install confidently[dask]``).

Rounds: every part of the data learns a slice after what all know, and what they learned is merged (docs/distributed.md).
"""

try:
    import distributed as _
except ImportError as error:
    raise ImportError("confidently.distributed needs dask.distributed: pip install 'confidently[dask]'") from error

from .fitting import fit, partial_fit
from .rounds import Round

__all__ = ["Round", "fit", "partial_fit"]
