"""The matcher itself: what is built, what is kept, how calls are served."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from remuda.arrays import Ints, Longs, Words, frozen
from remuda.encoding.checks import check
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.matchers.auto.arena import lay_out, traits_of
from remuda.matchers.auto.batch import MOST_EVENTS, entries_met, find_each, find_together
from remuda.matchers.auto.blocks import counts, gather, tally, weigh
from remuda.matchers.auto.checks import check_arena, check_denials
from remuda.matchers.auto.denials import (
    Denials,
    denials,
    find_undenied_alone,
    find_undenied_many,
)
from remuda.matchers.auto.layout import (
    PLAIN,
    RECORDS,
    SIGNATURE_LEVEL,
    SLICES,
    TRAIT_BIT,
    Built,
    packed,
)
from remuda.matchers.auto.listed_events import find_listed_alone, find_listed_many
from remuda.matchers.auto.ranked import find_best
from remuda.matchers.auto.scratch import Scratch, together_until
from remuda.matchers.auto.single import LISTED, find_alone, find_owned
from remuda.matchers.auto.words import bytes_of, words_of
from remuda.matchers.contract import Description, Features, Hits, Merits, Ranked
from remuda.matchers.kernels import keys
from remuda.matchers.kernels.best import Asked, Choice, Choosing, Owned, Room
from remuda.matchers.levels import Levels, in_signatures, standing_of, with_denials

_FEW_CLAUSES = 256  # they fit in a few chunks that every event reads, without keys
_TOGETHER_DIMS = 2048  # of more, the events of a batch no longer fit in the cache side by side
_TOGETHER_EVENTS = 16  # fewer seldom meet in a cluster
_TOGETHER_ENTRIES = 3 << 19  # that events meet; to read fewer again costs less than to sort events


class Facts(NamedTuple):
    """What was built, for those who ask."""

    n_clauses: int
    n_entries: int
    n_denials: int
    n_wide: int
    few: bool
    sampled: bool
    entries_by_kind: tuple[int, ...]
    chunks_by_kind: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Auto:
    """Clauses clustered under access keys; thread-safe, never changed."""

    features: ClassVar[Features] = Features(
        layout=3, takes_sample=True, takes_merits=True, maps=True, ranks=True, counts=True,
        owns=True, describes=True,
    )  # fmt: skip

    arena: Words
    places: Words
    traits: Words
    dim_bits: int
    n_masked: int
    denials: Denials
    levels: Levels
    facts: Facts
    _spare: deque[Scratch] = field(default_factory=deque, init=False, repr=False, compare=False)

    @classmethod
    def build(
        cls,
        table: ClauseTable,
        *,
        sample: EventBatch | None = None,
        merits: Merits | None = None,
    ) -> Self:
        """Arrange the table; a sample of events to come makes for better keys."""
        words, often = words_of(table), keys.frequencies(table, sample)
        few = table.n_clauses <= _FEW_CLAUSES
        chosen = keys.choose_keys(table, often)
        if few:
            chosen = keys.everywhere(chosen)
        standing, levels = standing_of(table.n_clauses, merits)
        n_bits = int(SIGNATURE_LEVEL.shift) if len(standing.places) else 64
        traits = traits_of(table, words.bytes, often.present, n_bits)
        clusters = keys.clusters(table, chosen)
        bits = (traits & TRAIT_BIT.mask).astype(np.uint8)
        rest = keys.remainder(table, chosen, often, bits)
        if len(standing.places):
            known = in_signatures(standing.levels, len(levels.scores))
            rest.signatures[:] |= packed(known, SIGNATURE_LEVEL)
        arena = lay_out(table, clusters, rest, words, standing)
        keyless = standing.denied(np.flatnonzero(chosen.chosen == keys.NO_KEY).astype(np.int32))
        undenied = denials(table, keyless)
        facts = Facts(
            table.n_clauses, len(clusters.items), len(undenied.clauses),
            words.bytes.n_wide, few, sample is not None,
            arena.entries_by_kind, arena.chunks_by_kind,
        )  # fmt: skip
        return cls(
            *frozen((arena.words, arena.places, traits)), words.bytes.dim_bits,
            words.bytes.n_masked, undenied, with_denials(levels, standing, keyless), facts,
        )  # fmt: skip

    def check(self, table: ClauseTable) -> None:
        """Refuse what was stored unless it is sound for the table."""
        layout, facts = bytes_of(table.space_starts), self.facts
        same = (self.dim_bits, self.n_masked) == (layout.dim_bits, layout.n_masked)
        check(same and facts.n_wide == layout.n_wide, "bytes")
        check(facts.n_clauses == table.n_clauses, "clauses")
        check(facts.n_denials == len(self.denials.clauses), "denied clauses")
        homes = check_arena(table, self.arena, self.places, self.traits)
        check_denials(self.denials, table, homes)
        n_levels, n_words = len(self.levels.scores), (facts.n_denials + 63) // 64
        check(0 < n_levels <= 256 and len(self.levels.ranks) == n_levels, "levels")
        check(self.levels.of_denials.shape == (n_words,), "levels")

    def match(self, events: EventBatch) -> Hits:
        """The clauses that each event satisfies."""
        if len(events.starts) == 2:  # one event
            return self._match_one(events.spaces)
        n, done, n_verified = len(events), 0, 0
        starts, rows = np.zeros(n + 1, np.int64), np.empty(0, np.int32)
        n_parts = max(-(-n // MOST_EVENTS), 1)
        at_once = max(-(-n // n_parts), 1)  # parts of about the same size
        for first in range(0, n, at_once):
            part = self._rounds(events, first, min(first + at_once, n))
            for per_event, scratch, verified in part:
                here = starts[done : done + len(per_event) + 1]
                np.cumsum(per_event, out=here[1:])
                here[1:] += here[0]
                done, n_verified = done + len(per_event), n_verified + verified
                if here[-1] > len(rows):  # rows go straight to their place: none are joined
                    likely = here[-1] if done == n else 5 * here[-1] * n // (4 * done)
                    larger = np.empty(likely, np.int32)
                    larger[: here[0]] = rows[: here[0]]
                    rows = larger
                gather(here, rows, scratch.blocks)
        rows.resize(starts[-1], refcheck=False)  # what was never touched costs nothing
        return Hits(starts, rows, n_verified)

    def match_owned(self, spaces: Ints, owners: Longs) -> int:
        """The same for one event, but what is told are owners: how many are now in their room."""
        scratch = self._lend()
        facts = scratch.where_denied, owners, self.dim_bits, self.n_masked
        n = find_owned(spaces, scratch.where, scratch.where_listed_if_made, *facts)
        if n == LISTED:
            n = find_owned(spaces, scratch.where, scratch.where_listed, *facts)
        self._spare.append(scratch)
        return n  # type: ignore[no-any-return]

    def match_one(self, spaces: Ints) -> Ints:
        """The clauses that one event satisfies, given its spaces, ascending."""
        return self._match_one(spaces).rows

    def best(
        self, owned: Owned, choice: Choice, asked: Asked, room: Room, attribute_of_dim: Ints
    ) -> Ranked:
        """The best owners of each event."""
        scratch = self._lend()
        starts, rows, scores, tally = find_best(
            self._built, self.denials, self.levels, scratch.alone, scratch.lists,
            Choosing(owned, choice, asked, room),
        )  # fmt: skip
        self._spare.append(scratch)
        return Ranked(starts, rows, scores, *tally.tolist())

    def count(self, events: EventBatch, weights: Ints | None = None) -> Longs:
        """How many clauses each event satisfies, or the sum of what each of them weighs."""
        found = [np.zeros(0, np.int64)]
        for counted, scratch, _ in self._rounds(events, 0, len(events)):
            found.append(counted if weights is None else weigh(counted, weights, scratch.blocks))
        return np.concatenate(found)

    def reach(self, events: EventBatch) -> Longs:
        """How many of the events satisfy each clause."""
        per_clause = np.zeros(self.facts.n_clauses, np.int64)
        for per_event, scratch, _ in self._rounds(events, 0, len(events)):
            tally(per_event, per_clause, scratch.blocks)
        return per_clause

    def stats(self) -> Description:
        """What was chosen and why, and what it takes."""
        facts = self.facts
        why = (
            f"{facts.n_clauses} clauses, no more than {_FEW_CLAUSES}: every event reads them all"
            if facts.few
            else f"more than {_FEW_CLAUSES} clauses: an event reads the clusters of its spaces"
        )
        names = {"records": RECORDS, "slices": SLICES, "plain": PLAIN}
        return {
            "layout": "few" if facts.few else "clusters",
            "why": why,
            "keys": "a sample of events" if facts.sampled else "the clauses' own frequencies",
            "clauses": facts.n_clauses,
            "clauses_without_key": facts.n_denials,
            "entries_per_clause": facts.n_entries / max(facts.n_clauses - facts.n_denials, 1),
            "entries": {name: facts.entries_by_kind[kind] for name, kind in names.items()},
            "chunks": {name: facts.chunks_by_kind[kind] for name, kind in names.items()},
            "bytes": self.nbytes,
        }

    @property
    def nbytes(self) -> int:
        arrays = (self.arena, self.places, self.traits, *self.denials, *self.levels)
        return sum(array.nbytes for array in arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return Auto, (*self._built, self.denials, self.levels, self.facts)

    @property
    def _built(self) -> Built:
        return Built(self.arena, self.places, self.traits, self.dim_bits, self.n_masked)

    def _lend(self) -> Scratch:
        """Scratch for one call; whoever takes it puts it back when all went well."""
        try:
            return self._spare.pop()
        except IndexError:
            return Scratch(self._built, self.denials, self.facts.n_clauses, self.facts.n_wide)

    def _match_one(self, spaces: Ints) -> Hits:
        scratch = self._lend()
        out, span = scratch.out, scratch.span
        n, n_verified = find_alone(spaces, scratch.where, self.dim_bits, self.n_masked)
        if n == LISTED:
            n, n_verified = find_listed_alone(
                spaces, scratch.where_listed, self.dim_bits, self.n_masked
            )
        if self.facts.n_denials:
            n = find_undenied_alone(spaces, scratch.where_denied, n)
        span[1] = n
        hits = Hits(span.copy(), out[:n].copy(), n_verified)
        self._spare.append(scratch)
        return hits

    def _rounds(
        self, events: EventBatch, first: int, last: int
    ) -> Iterator[tuple[Longs, Scratch, int]]:
        """A few events after the other: rows per event, the scratch whose blocks have them."""
        scratch = self._lend()
        size = MOST_EVENTS
        while first < last:
            stop = together_until(events, first, min(last, first + size))
            n_verified = self._find(events, first, stop, scratch)
            if n_verified < 0:
                size = scratch.enlarge(stop - first)
                continue
            yield counts(stop - first, scratch.blocks), scratch, n_verified
            first = stop
        self._spare.append(scratch)

    def _find(self, events: EventBatch, first: int, stop: int, scratch: Scratch) -> int:
        """Fill the blocks of the scratch; how many were verified, -1 for too few blocks."""
        scratch.blocks.clear()
        listed = scratch.listed[: stop - first]
        together = (
            len(self.traits) <= _TOGETHER_DIMS
            and stop - first >= _TOGETHER_EVENTS
            and entries_met(events.starts, events.spaces, first, stop, self.places)
            >= _TOGETHER_ENTRIES
        )
        here = (events.starts, events.spaces, first, stop)
        if together:
            n_verified = find_together(*here, self._built, scratch.together, listed, scratch.blocks)
        else:
            n_verified = find_each(
                *here, scratch.where, self.dim_bits, self.n_masked, scratch.out, listed,
                scratch.blocks,
            )  # fmt: skip
        if n_verified >= 0 and listed.any():
            more = find_listed_many(
                events.starts, events.spaces, first, listed, self._built, scratch.lists,
                scratch.blocks,
            )  # fmt: skip
            n_verified = n_verified + more if more >= 0 else -1
        if n_verified >= 0 and self.facts.n_denials:
            enough = find_undenied_many(
                events.starts, events.spaces, first, stop, self.places, scratch.held, scratch.out,
                scratch.blocks, self.denials,
            )  # fmt: skip
            n_verified = n_verified if enough else -1
        return int(n_verified)
