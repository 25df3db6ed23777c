"""Backends of the large matrix products: NumPy's BLAS, PyTorch (CPU or GPU), or CuPy.

Each class provides the few operations needed beyond slices and ``*`` under the same names, and
:func:`namespace` returns the one for a device. Only the products run on the device. The recursion within a block runs
on the CPU, in double precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .host_arrays import BlockUpdate, NumpyArrays, Product
from .threads import Crew


class DeviceArrays(ABC):
    """Products in sequence, by operators that all packages have."""

    @abstractmethod
    def put(self, array: np.ndarray) -> Any:
        """Return an array of the host on the device."""

    @abstractmethod
    def get(self, array: Any) -> np.ndarray:
        """Return an array of the device on the host."""

    @abstractmethod
    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Return an array of any values on the device, which may be that of the last call with this name."""

    @abstractmethod
    def solve_unit_lower(self, lower: Any, right: Any) -> Any:
        """Return X with (I + lower) X = right, for a strictly lower triangle."""

    def multiply(self, products: Sequence[Product], subtract: bool = False) -> None:
        """Compute out = left @ right, or out -= left @ right, for each (left, right, out)."""
        for left, right, out in products:
            if subtract:
                out -= left @ right
            else:
                out[...] = left @ right

    def update(self, updates: Sequence[BlockUpdate]) -> list[Any]:
        """Change the weights; return size * Q of each update."""
        found = []
        for update in updates:
            Q = update.G[self.put(update.plus)]
            if update.minus is not None:
                Q = Q - update.G[self.put(update.minus)]
            Q = self.solve_unit_lower(self.put(update.lower), Q)
            update.weights[:] += self.get(self.put(update.mean) @ Q).T
            found.append(Q * self.put(update.size[:, None]))
        return found

    def subtract_gram(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Compute s -= rows' rows for each (s, rows)."""
        for s, rows in pairs:
            s -= rows.T @ rows


class TorchArrays(DeviceArrays):
    """PyTorch tensors on a device such as "cpu" or "cuda:0"."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.device = torch, torch.device(device)
        self.shares_memory = self.device.type == "cpu"

    def put(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array).to(self.device)

    def get(self, array: Any) -> np.ndarray:
        return array.cpu().numpy()

    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype.name), device=self.device)

    def solve_unit_lower(self, lower: Any, right: Any) -> Any:
        return self.torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)

    def subtract_gram(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        for s, rows in pairs:
            s.addmm_(rows.T, rows, alpha=-1.0)


class CupyArrays(DeviceArrays):
    """CuPy arrays on the current GPU."""

    shares_memory = False

    def __init__(self) -> None:
        import cupy
        import cupyx.scipy.linalg

        self.cupy, self.linalg = cupy, cupyx.scipy.linalg

    def put(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array)

    def get(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(array)

    def solve_unit_lower(self, lower: Any, right: Any) -> Any:
        return self.linalg.solve_triangular(lower, right, lower=True, unit_diagonal=True)

    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.cupy.empty(shape, dtype)


def namespace(device: str | None, crew: Crew | None = None) -> Any:
    """Return the namespace of a device: None (NumPy), "cupy", or a device of PyTorch, such as "cpu" or "cuda".

    Raises
    ------
    ImportError
        If the package of the device is not installed.
    """
    if device is None:
        return NumpyArrays(crew)
    package = "cupy" if device == "cupy" else "torch"
    try:
        return CupyArrays() if package == "cupy" else TorchArrays(device)
    except ImportError as error:
        raise ImportError(f'device="{device}" needs {package}; install it, or use device=None') from error
