"""What Numba's simulator needs so that kernels run there as they do on a device."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np


def share_arrays_safely() -> None:
    """In the simulator two threads of a block may each make the array that they are to share."""
    from numba.cuda.simulator import kernelapi
    from numba.np.numpy_support import as_dtype

    shared: Any = kernelapi.FakeCUDAShared
    lock, dynamic = threading.Lock(), shared.array

    def array(self: Any, shape: Any, dtype: Any) -> Any:
        if shape == 0:
            return dynamic(self, shape, dtype)
        caller = sys._getframe(1)
        line = caller.f_code.co_filename, caller.f_lineno
        with lock:
            if line not in self._allocations:
                self._allocations[line] = np.empty(shape, as_dtype(dtype))
            return self._allocations[line]

    shared.array = array
