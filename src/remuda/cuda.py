"""The way to CUDA: Numba's functions for a device, or an error that says what is missing.

Nothing is imported before it is asked for.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any

from remuda.errors import DeviceError

_HELP = 'install NVIDIA\'s driver and remuda[gpu], or choose the matcher "auto"'


@cache
def _found() -> Any:
    try:
        import numba.cuda

        cuda: Any = numba.cuda
        found = cuda.is_available()
        error = None if found else cuda.cuda_error()
    except Exception as raised:  # whatever a driver that is half there raises
        found, error = False, raised
    if not found:
        reason = " ".join(str(error).split()) if error else "CUDA finds none"
        raise DeviceError(f"the matcher gpu needs a CUDA device: {reason}", _HELP)
    return cuda


class _Chosen(threading.local):
    """The device of this process, and which one this thread has."""

    of_process = 0
    of_thread = 0


_chosen = _Chosen()


def api() -> Any:
    """Numba's functions for the device of this process, which the thread then has."""
    cuda = _found()
    if _chosen.of_thread != _Chosen.of_process:
        cuda.select_device(_Chosen.of_process)
        _chosen.of_thread = _Chosen.of_process
    return cuda


def chosen() -> int:
    """The number of the device of this process."""
    return _Chosen.of_process


def choose(number: int) -> None:
    """Let this process use the device with that number, of those that it can see."""
    n = len(_found().gpus)
    if not 0 <= number < n:
        raise DeviceError(
            f"there is no CUDA device {number}: this process sees {n}",
            "look at CUDA_VISIBLE_DEVICES, and at the addresses that tasks are given",
        )
    _Chosen.of_process = number


def seen(address: int, n_bytes: int) -> Any:
    """Bytes of the device at an address, as an array."""
    cuda = api()
    if hasattr(cuda, "from_cuda_array_interface"):
        described = {"shape": (n_bytes,), "typestr": "|u1", "data": (address, True), "version": 3}
        return cuda.from_cuda_array_interface(described, sync=False)
    import numpy as np  # in the simulator, whose device is the host

    return cuda.to_device(np.ctypeslib.as_array((ctypes.c_uint8 * n_bytes).from_address(address)))


def gather(into: Any, parts: Iterable[tuple[int, int, int]], stream: Any) -> None:
    """Copy bytes within the device: to a place of an array, from an address, so many.

    Each is one call of the driver: as arrays that are seen, sliced and compared it takes a hundred
    times as long.
    """
    cuda = api()
    if not hasattr(cuda, "from_cuda_array_interface"):
        for place, address, n_bytes in parts:
            into[place : place + n_bytes].copy_to_device(seen(address, n_bytes), stream=stream)
        return
    copy = cuda.cudadrv.driver.driver.cuMemcpyDtoDAsync
    begin = into.__cuda_array_interface__["data"][0]
    for place, address, n_bytes in parts:
        copy(begin + place, address, n_bytes, stream.handle)
