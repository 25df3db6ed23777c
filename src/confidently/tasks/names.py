"""The names of the tasks of several classes, from the compiled core: listing them does not import NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .. import _core

MULTICLASS_NAMES = tuple(name.replace("_", "-") for name in _core.multiclass_names())
if TYPE_CHECKING:
    Multiclass = str
else:
    Multiclass = Literal[MULTICLASS_NAMES]  # for bodies of requests and headers of files, which are checked by types
