"""Parts merged: what is still there in several of them as one, without reading it anew."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import batched
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, frozen, starts_of
from remuda.encoding.merging import GONE, merge
from remuda.index.roster import Roster, StoredCriteria, StoredIds, Tags, _slots
from remuda.index.segment import Lazy, Segment
from remuda.index.state import Part
from remuda.jit import kernel
from remuda.language.criterion import FOREVER
from remuda.matchers.contract import cnf_matcher, conjunction_matcher
