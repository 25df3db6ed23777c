"""NumPy, imported when it is first used.

Its import takes longer than that of all other modules of ``confidently train``, which learns from most files without
it: what the core allocates is then a plain array (``core/bindings/plain_array.hpp``). Modules that such commands import
have ``from .late import numpy as np``, and use nothing of it while they are imported.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

# Any of these is a choice of the user's.
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


class _Late(ModuleType):
    """A module that is imported when an attribute of it is asked for.

    Attributes
    ----------
    alone : bool
        Whether to import it without threads of OpenBLAS, whose start takes half as long as the rest.
    """

    alone = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.imported(), name)

    def imported(self) -> ModuleType:
        """Import the module; the environment is as before afterwards, so that SciPy's BLAS has its threads."""
        if not self.alone or self.__name__ in sys.modules or any(name in os.environ for name in THREAD_SETTINGS):
            module = import_module(self.__name__)
        else:
            os.environ[THREAD_SETTINGS[0]] = "1"
            try:
                module = import_module(self.__name__)
            finally:
                del os.environ[THREAD_SETTINGS[0]]
        vars(self).update({name: value for name, value in vars(module).items() if not name.startswith("__")})
        return module


if TYPE_CHECKING:
    import numpy as numpy
else:
    numpy = sys.modules.get("numpy") or _Late("numpy")


def without_blas_threads() -> None:
    """Let NumPy, if it is still to be imported, be imported without threads of its BLAS."""
    if isinstance(numpy, _Late):
        numpy.alone = True


def import_now() -> None:
    """Import NumPy, which will be needed, before there are threads that read data and take turns with the import."""
    if isinstance(numpy, _Late):
        numpy.imported()
