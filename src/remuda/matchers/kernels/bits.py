"""What a machine can do and Numba has no name for: two instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray


def trailing_zeros(word: np.uint64) -> np.uint64:
    """How many zeros stand below the lowest one of `word`, which is not zero."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def prefetch(array: NDArray[Any], i: np.uint64) -> None:
    """Ask for the cache line of `array[i]`, which will be read soon."""


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
