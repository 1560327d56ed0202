"""The layout: how words of 64 bits are divided, from the lowest bit up.

All clusters lie in one array of words, the arena, each a run of chunks:

    RECORDS a header; the signatures of its clauses, to be scanned first; where in the arena their
            records lie, 32 bits each; those of the records that are not in an earlier cluster
    SLICES  bitmaps over similar clauses: slices.py
    PLAIN   a header; clause ids, 32 bits each: nothing is left to verify once the key is met
    record  a header, the mask words, the exact words of the tail: words.py

Beside it, `places` has two words for each space, its cluster and its place, and one more cluster
behind the last space, which every event visits, with the bits of signatures that are levels;
`traits` has a word for each dimension.

A change of anything here is another layout on disk: `Auto.features` has its number.

Kernels take fields by way of this module, and are known by its text then: nothing here is made of
another module's constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Words
from remuda.jit import bare

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)


class Field(NamedTuple):
    """Some bits of a word."""

    shift: np.uint64
    mask: np.uint64


def _divided(*widths: int) -> Iterator[Field]:
    """Fields of these widths, one above the other."""
    shift = 0
    for width in widths:
        yield Field(np.uint64(shift), np.uint64((1 << width) - 1))
        shift += width


RECORDS, SLICES, PLAIN = 0, 1, 2
# the best level in a chunk, and from it to the end of its cluster: levels.py
CHUNK_N, CHUNK_KIND, CHUNK_LEVEL, CHUNK_REST, CHUNK_WORDS = _divided(14, 2, 8, 8, 32)

# where clauses have merits, fewer bits are left for dimensions: levels.py
_, SIGNATURE_LEVEL = _divided(59, 5)

RECORD_CLAUSE, RECORD_HAS_TAIL, RECORD_MASKS, RECORD_EVERY = _divided(31, 1, 16, 16)

# in a mask word, whose first field is as wide as the dimensions need, a byte comes first
EXACT_WIDE, EXACT_ON_MISSING, EXACT_EVERY, EXACT_REFUSES, EXACT_LAST, EXACT_FORM, EXACT_PAYLOAD = (
    _divided(26, 1, 1, 1, 1, 2, 32)
)
_, SPAN_FIRST, SPAN_N = _divided(32, 16, 16)  # the payload of an exact word of one span
SPILLED_LO, SPILLED_HI = _divided(32, 32)

SHAPE_COLUMNS, SHAPE_WIDTH, SHAPE_HAS_RECORDS = _divided(16, 8, 1)  # the second word of slices
COLUMN_BYTE, COLUMN_HAS_EVERY, COLUMN_ROWS, COLUMN_CELLS = _divided(26, 1, 12, 25)

CLUSTER_AT, CLUSTER_ENTRIES = _divided(32, 32)
PLACE_DIM, PLACE_POSITION, PLACE_CELL = _divided(26, 6, 32)
TRAIT_BIT, TRAIT_WIDE, TRAIT_LARGE, TRAIT_PAGES, TRAIT_NUMBER, TRAIT_FIRST_PAGE = _divided(
    6, 1, 1, 8, 24, 24
)


class Built(NamedTuple):
    """What kernels read of a matcher."""

    arena: Words
    places: Words
    traits: Words
    dim_bits: int
    n_masked: int


@bare
def get(word: np.uint64, field: Field) -> np.uint64:
    """What the field has in the word."""
    return (word >> field.shift) & field.mask


@bare
def put(value: int, field: Field) -> np.uint64:
    """A word that has the value in the field, and zeros elsewhere."""
    return np.uint64(value) << field.shift


def packed(values: NDArray[Any], field: Field) -> Words:
    """Words that have the values in the field."""
    return values.astype(np.uint64) << field.shift
