"""What a machine can do and Numba has no name for: two instructions, and arrays by address."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from remuda.arrays import Longs


def trailing_zeros(word: np.uint64) -> np.uint64:
    """How many zeros stand below the lowest one of `word`, which is not zero."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def prefetch(array: NDArray[Any], i: np.uint64) -> None:
    """Ask for the cache line of `array[i]`, which will be read soon."""


def addresses(*arrays: NDArray[Any]) -> Longs:
    """Where each array lies and how long it is, for `pointer`; whoever has it keeps the arrays.

    A call from Python takes some 60 ns for each array that it hands over: this is but one.
    """
    return np.array([one for array in arrays for one in (array.ctypes.data, len(array))], np.int64)


def _pointer(_typing: Any, address: Any) -> Any:
    def write(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), write


def _as_frozen(_typing: Any, array: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.return_type
        return impl_ret_borrowed(context, builder, kind, arguments[0])  # type: ignore[no-untyped-call]

    return array.copy(readonly=True)(array), write


pointer: Any = intrinsic(_pointer)  # an address as `carray` takes it
as_frozen: Any = intrinsic(_as_frozen)  # the array as one that is not written to


@intrinsic
def _count_trailing_zeros(_typing: Any, word: Any) -> Any:
    def write(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(word), write


@intrinsic
def _prefetch(_typing: Any, array: Any, i: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        address = builder.bitcast(builder.gep(data, [index]), byte)
        shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        call = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        builder.call(call, [address, word(0), word(3), word(1)])  # to read, keep, as data
        return context.get_dummy_value()

    return types.void(array, i), write


@overload(trailing_zeros)
def _compiled_trailing_zeros(word: Any) -> Any:  # noqa: ARG001 - Numba compares signatures
    def call(word: Any) -> Any:
        return _count_trailing_zeros(word)  # type: ignore[call-arg]

    return call


@overload(prefetch)
def _compiled_prefetch(array: Any, i: Any) -> Any:  # noqa: ARG001 - Numba compares signatures
    def call(array: Any, i: Any) -> Any:
        return _prefetch(array, i)  # type: ignore[call-arg]

    return call
