"""Arrays by address: a kernel that is called for one event is handed over but a few."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from remuda.arrays import Longs


def addresses(*arrays: NDArray[Any]) -> Longs:
    """Where each array lies and how long it is, for `pointer`; whoever has it keeps the arrays.

    A call from Python takes some 60 ns for each array that it hands over: this is but one.
    """
    return np.array([one for array in arrays for one in (array.ctypes.data, len(array))], np.int64)


def _pointer(_typing: Any, address: Any) -> Any:
    def write(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), write


pointer: Any = intrinsic(_pointer)  # an address as `carray` takes it
