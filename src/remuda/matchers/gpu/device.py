"""The way to the device: whether there is one, and which segments lie on it.

Segments are uploaded when they are first asked. Where memory is short, those that were asked
longest ago leave the device; what a call is asking stays until it is done, for it holds the arrays.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from types import ModuleType
from typing import Any
from weakref import finalize

from remuda import cuda
from remuda.encoding.table import Predicates
from remuda.errors import DeviceError
from remuda.matchers.gpu.layout import Arranged

_RESERVE = 1 << 30  # bytes of the device that are left to batches, and to others


def kernels() -> ModuleType:
    """What the device runs; DeviceError where there is none."""
    cuda.api()
    from remuda.matchers.gpu import kernels

    return kernels


class Home:
    """The arrays of one matcher, on the host and, once they were asked for, on the device."""

    def __init__(self, arranged: Arranged) -> None:
        self.arranged = arranged
        self._rows_per_event = 0.0
        finalize(self, _RESIDENTS.leave, id(self))

    def placed(self) -> Arranged:
        """The arrays on the device."""
        return _RESIDENTS.enter(id(self), self.arranged)

    def learn(self, n_events: int, n_rows: int) -> None:
        """Some events had so many rows."""
        self._rows_per_event = n_rows / max(n_events, 1)

    def most_events(self, n_rows: float, most: int) -> int:
        """How many events are likely to have so many rows, as far as is known, at most."""
        return max(1, min(most, int(n_rows / max(self._rows_per_event, 1e-9))))


class _Residents:
    """What lies on the device, in the order in which it was asked for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer may run while it is held
        self._placed: OrderedDict[int, Arranged] = OrderedDict()
        self._number = cuda.chosen()

    def enter(self, key: int, arranged: Arranged) -> Arranged:
        with self._lock:
            if self._number != cuda.chosen():  # what lies on another device is of no use here
                self._placed.clear()
                self._number = cuda.chosen()
            found = self._placed.pop(key, None) or self._upload(arranged)
            self._placed[key] = found
            return found

    def leave(self, key: int) -> None:
        with self._lock:
            self._placed.pop(key, None)

    def _upload(self, arranged: Arranged) -> Arranged:
        wanted = arranged.nbytes
        while (free := _free()) < wanted + _RESERVE and self._placed:
            self._placed.popitem(last=False)
        if free < wanted:
            raise DeviceError(
                f"a segment takes {wanted / 1e9:.1f} GB and the device has {free / 1e9:.1f} GB",
                "make smaller segments (more shards), or choose another matcher",
            )

        def upload(array: Any) -> Any:
            # of nothing there would be no address
            return cuda.api().to_device(array if len(array) else array.dtype.type(0).reshape(1))

        own: Any = [*map(upload, arranged[:-1]), Predicates(*map(upload, arranged.predicates))]
        return Arranged._make(own)


def _free() -> float:
    context = cuda.api().current_context()
    if hasattr(context, "deallocations"):  # what was let go and is not yet free
        context.deallocations.clear()
    return float(context.get_memory_info().free)


_RESIDENTS = _Residents()
