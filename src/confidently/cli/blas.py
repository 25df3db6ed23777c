"""Threads of the BLAS, which commands that multiply no matrices do without."""

from __future__ import annotations

import os

# Any of these is a choice of the user's.
SETTINGS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def import_numpy_alone() -> None:
    """Import NumPy without threads of OpenBLAS, whose start takes longer than that of the other modules together.

    The environment is as before afterwards: SciPy's BLAS and other processes have as many threads as ever.
    """
    if any(name in os.environ for name in SETTINGS):
        import numpy

        return
    os.environ[SETTINGS[0]] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[SETTINGS[0]]
