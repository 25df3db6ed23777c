"""Backends of the large matrix products: NumPy and SciPy's BLAS, PyTorch (CPU or GPU), or CuPy.

Each class below provides the few operations needed beyond ``@``, slices and ``-`` under the same names, and
:func:`namespace` returns the one for a device. Only the products run on the device. The recursion within a block runs
on the CPU, in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core


class NumpyArrays:
    """NumPy's ``@`` and SciPy's BLAS, in place and without copies."""

    shares_memory = True

    def put(self, array: np.ndarray) -> np.ndarray:
        return array

    def get(self, array: np.ndarray) -> np.ndarray:
        return array

    def solve_unit_lower(self, lower: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return X with (I + lower) X = right, for a strictly lower triangle; ``right`` may be overwritten."""
        from scipy.linalg import blas  # imported here since SciPy is slow to import

        trsm = blas.dtrsm if right.dtype == np.float64 else blas.strsm
        # BLAS expects columns, so it solves X' (I + lower)' = right'
        X: np.ndarray = trsm(1.0, lower.T, right.T, side=1, lower=0, trans_a=0, diag=1, overwrite_b=1).T
        return X

    def subtract_gram(self, s: np.ndarray, rows: np.ndarray) -> None:
        """Compute s -= rows' rows, symmetric to the last bit."""
        from scipy.linalg import blas

        syrk = blas.dsyrk if s.dtype == np.float64 else blas.ssyrk
        syrk(-1.0, rows.T, beta=1.0, c=s.T, lower=1, overwrite_c=1)  # the lower triangle of s', the upper one of s
        _core.mirror(s)


class TorchArrays:
    """PyTorch tensors on a device such as "cpu" or "cuda:0"."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.device = torch, torch.device(device)
        self.shares_memory = self.device.type == "cpu"

    def put(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array).to(self.device)

    def get(self, array: Any) -> np.ndarray:
        copied: np.ndarray = array.cpu().numpy()
        return copied

    def solve_unit_lower(self, lower: Any, right: Any) -> Any:
        return self.torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)

    def subtract_gram(self, s: Any, rows: Any) -> None:
        s.addmm_(rows.T, rows, alpha=-1.0)


class CupyArrays:
    """CuPy arrays on the current GPU."""

    shares_memory = False

    def __init__(self) -> None:
        import cupy
        import cupyx.scipy.linalg

        self.cupy, self.linalg = cupy, cupyx.scipy.linalg

    def put(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array)

    def get(self, array: Any) -> np.ndarray:
        copied: np.ndarray = self.cupy.asnumpy(array)
        return copied

    def solve_unit_lower(self, lower: Any, right: Any) -> Any:
        return self.linalg.solve_triangular(lower, right, lower=True, unit_diagonal=True)

    def subtract_gram(self, s: Any, rows: Any) -> None:
        s -= rows.T @ rows


def namespace(device: str | None) -> Any:
    """Return the namespace of a device: None (NumPy), "cupy", or a device of PyTorch, such as "cpu" or "cuda".

    Raises
    ------
    ImportError
        If the package of the device is not installed.
    """
    if device is None:
        return NumpyArrays()
    package = "cupy" if device == "cupy" else "torch"
    try:
        return CupyArrays() if package == "cupy" else TorchArrays(device)
    except ImportError as error:
        raise ImportError(f'device="{device}" needs {package}; install it, or use device=None') from error
