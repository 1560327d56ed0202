"""One event from its spaces to the owners of what it hits, in one call."""

from __future__ import annotations

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from remuda.arrays import Ints, Longs
from remuda.jit import kernel
from remuda.matchers.auto.denials import find_undenied_alone
from remuda.matchers.auto.listed_events import find_listed_alone
from remuda.matchers.auto.single import LISTED, find_at
from remuda.matchers.kernels.alone import own_alone
from remuda.pointers import pointer


@kernel
def find_owned(
    spaces: Ints,
    where: Longs,
    where_listed: Longs,
    where_denied: Longs,
    owners: Longs,
    dim_bits: int,
    n_masked: int,
) -> int:
    """Write the owners; how many they are. `LISTED` where lists need room that is not there."""
    n, _ = find_at(spaces, np.int64(0), len(spaces), where, dim_bits, n_masked)
    if n == LISTED:
        if len(where_listed) == 0:
            return LISTED
        n, _ = find_listed_alone(spaces, where_listed, dim_bits, n_masked)
    if where_denied[7]:
        n = find_undenied_alone(spaces, where_denied, n)
    return own_alone(carray(pointer(where[14]), (n,), np.int32), spaces, owners)  # type: ignore[no-any-return]
