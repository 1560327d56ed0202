"""Regions asked: which criteria some event, or every event, of a region satisfies.

`possible`: the clauses of a plan are arranged once more, by the same matcher, over dimensions that
have two spaces more (see `matchers.kernels.grades`). A region then is an event that has several
spaces on a dimension, and what is hit is looked at again, since a clause may ask for two things of
one value. `certain`: what every event satisfies, one of them does; so one event is matched, and
what it satisfies is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import Plan
from remuda.encoding.programs import Programs
from remuda.encoding.regions import Between, Region, Values, inhabited, is_plain_path, is_within
from remuda.encoding.spaces import LackSpaces, Span, ValueSpaces
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.encoding.vocabulary import Vocabulary
from remuda.jit import kernel
from remuda.matchers.contract import Matcher
from remuda.matchers.kernels.grades import (
    ALL,
    ANY,
    MISSING,
    NONE,
    SOME,
    WIDER,
    Grades,
    Lexicon,
    Place,
    clause_grade,
    program_grade,
)
from remuda.matchers.kernels.truth import lay_out, no_event, take_away
from remuda.model.attributes import Attribute, Lack
from remuda.model.terms import facts_of


class Rows(NamedTuple):
    """Criteria for each region, a ragged array, and how sure each is: SOME or ALL."""

    starts: Longs
    rows: Ints
    grades: Grades


class Laid(NamedTuple):
    """Regions in numbers: what each lists, and what is known of its dimensions."""

    starts: Longs
    spaces: Ints
    dim_of_space: Ints
    loose: Bools  # a row a region
    known: Bools


class Widened:
    """A plan over dimensions that have two spaces more, with the matcher for it."""

    def __init__(self, plan: Plan, vocabulary: Vocabulary, matcher: type[Matcher]) -> None:
        self.plan, self.vocabulary = plan, vocabulary
        own = plan.conjunctions
        self._bound = _Bound(vocabulary)
        self.lexicon = _lexicon(vocabulary)
        table = _widened(own, self.lexicon.anywhere)
        self.matcher = matcher.build(table)
        self.dim_of_space = frozen(table.dim_of_space())
        self._starts = own.space_starts.astype(np.int64) + WIDER * np.arange(own.n_dims + 1)
        self._firsts: list[int] = self._starts.tolist()
        self._loose = self._bound.loose()
        self._always = frozen(np.unique(plan.cnf_owners.items).astype(np.int32))
        self._dims: dict[Attribute, list[int]] = {}
        for dim, dimension in enumerate(vocabulary.dimensions):
            for path in {one.path for one in facts_of(dimension.term).attributes}:
                self._dims.setdefault(path, []).append(dim)

    def lay(self, regions: Sequence[Region], encoder: Encoder) -> Laid:
        """The regions in numbers."""
        n_dims = len(self.vocabulary.dimensions)
        loose = np.tile(self._loose, (len(regions), 1))
        known = np.zeros((len(regions), n_dims), np.bool_)
        rows = [self._row(region, encoder, loose[i], known[i]) for i, region in enumerate(regions)]
        spaces = np.concatenate([np.empty(0, np.int32), *rows]).astype(np.int32)
        return Laid(starts_of([len(row) for row in rows]), spaces, self.dim_of_space, loose, known)

    def blurs(self, region: Region) -> bool:
        """Whether the region says something of paths beyond those that it names."""
        return self._bound.blurs(region)

    def possible(self, laid: Laid) -> Rows:
        """The criteria that some event of each region satisfies, or perhaps does."""
        hits, plan = self.matcher.match(EventBatch(laid.starts, laid.spaces)), self.plan
        found = _possible(
            hits.starts, hits.rows, self._always, laid, plan.conjunctions.clauses, plan.owners,
            plan.checked, plan.programs, self.lexicon,
        )  # fmt: skip
        return Rows(*found)

    def certain(self, laid: Laid, starts: Longs, rows: Ints) -> tuple[Grades, Bools]:
        """The grades of criteria that were found, and which of them surely do not hold for all."""
        grades, refuted = _certain(starts, rows, laid, self.plan.programs, self.lexicon)
        return grades, refuted

    def _row(
        self, region: Region, encoder: Encoder, loose: Bools, known: Bools
    ) -> NDArray[np.int64]:
        """What the region lists; notes which dimensions are loose, and which an event's own."""
        if region.unknown is not None:
            return self._partly(region, encoder, loose, known)
        anything = np.ones(len(loose), np.bool_)
        los, his = [], []
        for path, values in region.values.items():
            for dim, missing, spans in self._spaces(path, values, region.now, encoder, loose):
                anything[dim] = False
                start = self._firsts[dim]
                if spans and missing:  # missing alone is what is not listed
                    los.append(start + MISSING)
                    his.append(start + MISSING + 1)
                los += [start + WIDER + lo for lo, _ in spans]
                his += [start + WIDER + hi for _, hi in spans]
        anys = self._starts[:-1][anything] + ANY
        return np.sort(np.concatenate([anys, _expanded(los, his)]))

    def _partly(
        self, region: Region, encoder: Encoder, loose: Bools, known: Bools
    ) -> NDArray[np.int64]:
        terms = [dimension.term for dimension in self.vocabulary.dimensions]
        seen = {one: region.knows(one) for one in self.vocabulary.attributes}
        known[:] = [all(seen[one] for one in facts_of(term).attributes) for term in terms]
        loose[known] = False
        spaces = np.array(encoder.spaces(region.event, region.now), np.int64)
        dims = np.searchsorted(self.plan.conjunctions.space_starts, spaces, side="right") - 1
        own = known[dims]
        listed = spaces[own] + WIDER * dims[own] + WIDER
        return np.sort(np.concatenate([self._starts[:-1][~known] + ANY, listed]))

    def _spaces(
        self, path: Attribute, values: Values | Between, now: int, encoder: Encoder, loose: Bools
    ) -> Iterator[tuple[int, bool, list[Span]]]:
        """Of dimensions of the attribute: whether it may be missing, and the possible spaces."""
        by_dim = {} if values.finite is None else self._finite(path, values, now, encoder)
        for dim in self._dims.get(path, ()):
            if dim in by_dim:
                loose[dim] = False
                spaces = by_dim[dim]
                yield dim, 0 in spaces, [(one, one + 1) for one in sorted(spaces - {0})]
                continue
            spans = _of_values(values, self.vocabulary, dim)
            if spans is None:
                loose[dim] = True
            else:
                loose[dim] |= not values.exact
                yield dim, values.may_be_missing, spans

    def _finite(
        self, path: Attribute, values: Values | Between, now: int, encoder: Encoder
    ) -> dict[int, set[int]]:
        """The spaces of values that were written down, each looked at in all ways."""
        by_dim: dict[int, set[int]] = {}
        starts = self.plan.conjunctions.space_starts
        for one in encoder.origins:
            if not isinstance(one.origin, Attribute) or one.origin.path != path:
                continue
            cases = [one.spaces(value, now) for value in values.finite or ()]
            if values.may_be_missing:
                cases += [one.lacking(Lack.NULL), one.lacking(Lack.ABSENT)]
            of_origin = [
                dim
                for dim in self._dims.get(path, ())
                if self.vocabulary.dimensions[dim].origin == one.origin
            ]
            for case in cases:
                for dim in of_origin:
                    inside = [space for space in case if starts[dim] < space < starts[dim + 1]]
                    own = [space - int(starts[dim]) for space in inside] or [0]
                    by_dim.setdefault(dim, set()).update(own)
        return by_dim


def _expanded(los: list[int], his: list[int]) -> NDArray[np.int64]:
    """All numbers of the spans."""
    first = np.array(los, np.int64)
    counts = np.array(his, np.int64) - first
    starts = starts_of(counts)
    return np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)


def _of_values(values: Values | Between, vocabulary: Vocabulary, dim: int) -> list[Span] | None:
    """The present spaces that hold some of the values; None where that cannot be said."""
    spaces, dimension = vocabulary.spaces[dim], vocabulary.dimensions[dim]
    if not isinstance(dimension.term, Attribute):
        return None
    if isinstance(spaces, LackSpaces):
        missing = [(LackSpaces.NULL, LackSpaces.NULL + 1)] if values.may_be_missing else []
        return ([(1, 2)] if values.cells - {0} else []) + missing
    return values.spans_in(spaces) if isinstance(spaces, ValueSpaces) else None


class _Bound:
    """Paths that say something of one another: `user`, and `user.age` that goes on from it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.steps = {one.steps for one in vocabulary.attributes}
        self.beginnings = {steps[:n] for steps in self.steps for n in range(len(steps))}
        self.free: set[Attribute] = set()  # those of the vocabulary that are not bound
        self.free = {one for one in vocabulary.attributes if not self._is_bound(one)}

    def _is_bound(self, attribute: Attribute) -> bool:
        if attribute in self.free:
            return False
        steps = attribute.steps
        shorter = any(steps[:n] in self.steps for n in range(len(steps)))
        return shorter or steps in self.beginnings or not is_plain_path(attribute)

    def loose(self) -> Bools:
        """The dimensions of which it is not known which spaces are possible."""
        flags = []
        for dimension, spaces in zip(
            self.vocabulary.dimensions, self.vocabulary.spaces, strict=True
        ):
            term = dimension.term
            plain = isinstance(term, Attribute) and isinstance(spaces, ValueSpaces | LackSpaces)
            flags.append(not plain or (isinstance(term, Attribute) and self._is_bound(term)))
        return np.array(flags, np.bool_)

    def blurs(self, region: Region) -> bool:
        """Whether the region says something of paths beyond those that it names."""
        if region.unknown is not None:
            return any(
                is_within(hidden, one) and hidden.steps != one.steps
                for hidden in region.unknown
                for one in self.vocabulary.attributes
            )
        return any(map(self._is_bound, region.values))


def _lexicon(vocabulary: Vocabulary) -> Lexicon:
    starts, predicates = vocabulary.space_starts, vocabulary.predicates
    lived = np.ones(int(starts[-1]), np.bool_)
    done: dict[int, NDArray[np.int64]] = {}  # copies share their spaces
    for dim, spaces in enumerate(vocabulary.spaces):
        if isinstance(spaces, ValueSpaces):
            if id(spaces) not in done:
                done[id(spaces)] = _expanded(
                    *map(list, zip((0, 1), *inhabited(spaces), strict=True))
                )
            lived[starts[dim] : starts[dim + 1]] = False
            lived[starts[dim] + done[id(spaces)]] = True
    before = starts_of(lived)
    spans = starts_of(before[predicates.span_hi] - before[predicates.span_lo])
    accepted = spans[predicates.span_starts[1:]] - spans[predicates.span_starts[:-1]]
    accepted = accepted + predicates.on_missing
    every = before[starts[predicates.dim + 1]] - before[starts[predicates.dim]]
    anywhere = np.where(accepted == 0, NONE, np.where(accepted == every, ALL, SOME))
    bases: dict[object, int] = {}
    paths: dict[object, int] = {}
    base, path = [], []
    for dim, one in enumerate(vocabulary.dimensions):
        base.append(bases.setdefault((one.term, one.view, one.condition), dim))
        path.append(paths.setdefault(one.attribute or ("several", dim), len(paths)))
    return frozen(
        Lexicon(
            predicates, anywhere.astype(np.int8), starts, lived,
            np.array(base, np.int32), np.array(path, np.int32),
        )
    )  # fmt: skip


def _widened(table: ClauseTable, anywhere: Grades) -> ClauseTable:
    """The clauses over wider dimensions, every predicate asking for any of its spaces."""
    old, n_dims = table.predicates, table.n_dims
    starts = (table.space_starts + WIDER * np.arange(n_dims + 1)).astype(np.int32)
    counts = np.diff(old.span_starts)
    shift = np.repeat(WIDER * old.dim + WIDER, counts)
    heads = np.flatnonzero(anywhere > NONE)  # those that ANY satisfies, and perhaps MISSING
    first = starts[old.dim[heads]] + np.where(old.on_missing[heads], MISSING, ANY)
    owner = np.concatenate([heads, np.repeat(np.arange(len(old.dim)), counts)])
    lo = np.concatenate([first, old.span_lo + shift])
    hi = np.concatenate([starts[old.dim[heads]] + ANY + 1, old.span_hi + shift])
    order = np.lexsort((lo, owner))
    owner, lo, hi = owner[order], lo[order], hi[order]
    begins = np.ones(len(lo), np.bool_)  # spans that touch are one
    begins[1:] = (owner[1:] > owner[:-1]) | (lo[1:] > hi[:-1])
    ends = np.roll(begins, -1) if len(begins) else begins
    n_spans = np.bincount(owner[begins], minlength=len(old.dim))
    every = np.zeros(len(old.dim), np.bool_)
    predicates = Predicates.of(old.dim, old.on_missing, every, n_spans, lo[begins], hi[ends])
    return ClauseTable(frozen(starts), predicates, table.clauses)


@kernel
def _possible(
    hit_starts: Longs,
    hits: Ints,
    always: Ints,
    laid: Laid,
    clauses: Ragged,
    owners: Ragged,
    checked: Bools,
    programs: Programs,
    lexicon: Lexicon,
) -> tuple[Longs, Ints, Grades]:
    """The criteria of each region that are not impossible, each once, with their grades."""
    region_starts, spaces, dim_of_space, loose, known = laid
    n_regions, n_criteria = len(region_starts) - 1, len(checked)
    starts = np.zeros(n_regions + 1, np.int64)
    rows, grades = np.empty(1024, np.int32), np.empty(1024, np.int8)
    best = np.zeros(n_criteria, np.int8)
    tried = np.zeros(n_criteria, np.bool_)
    touched = np.empty(n_criteria, np.int32)
    memory = np.full(len(lexicon.predicates.dim), -1, np.int8)
    stack = np.empty(int(np.diff(programs.starts).max()) + 1 if n_criteria else 1, np.int32)
    event = no_event(spaces, len(lexicon.base))
    n = 0
    for region in range(n_regions):
        place = Place(event, loose[region], known[region], memory)
        begin, end = region_starts[region], region_starts[region + 1]
        lay_out(event, begin, end, dim_of_space)
        n_touched = 0
        for i in range(hit_starts[region], hit_starts[region + 1]):
            grade = clause_grade(hits[i], clauses, lexicon, place)
            if grade == NONE:
                continue
            for j in range(owners.starts[hits[i]], owners.starts[hits[i] + 1]):
                criterion = owners.items[j] if owners.items[j] >= 0 else ~owners.items[j]
                if not tried[criterion]:
                    tried[criterion] = True
                    touched[n_touched] = criterion
                    n_touched += 1
                    if checked[criterion]:
                        best[criterion] = program_grade(criterion, programs, stack, lexicon, place)[
                            0
                        ]
                if not checked[criterion]:
                    best[criterion] = max(best[criterion], grade)
        for criterion in always:
            if not tried[criterion]:
                tried[criterion] = True
                touched[n_touched] = criterion
                n_touched += 1
                best[criterion] = program_grade(criterion, programs, stack, lexicon, place)[0]
        take_away(event, begin, end, dim_of_space)
        memory[:] = -1
        while n + n_touched > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows), np.int32)))
            grades = np.concatenate((grades, np.empty(len(grades), np.int8)))
        for i in range(n_touched):
            criterion = touched[i]
            if best[criterion] > NONE:
                rows[n], grades[n] = criterion, best[criterion]
                n += 1
            best[criterion], tried[criterion] = NONE, False
        starts[region + 1] = n
    return starts, rows[:n].copy(), grades[:n].copy()


@kernel
def _certain(
    found_starts: Longs, found: Ints, laid: Laid, programs: Programs, lexicon: Lexicon
) -> tuple[Grades, Bools]:
    """The grades of criteria, and which of them surely do not hold for all of their region."""
    region_starts, spaces, dim_of_space, loose, known = laid
    grades, refuted = np.empty(len(found), np.int8), np.empty(len(found), np.bool_)
    memory = np.full(len(lexicon.predicates.dim), -1, np.int8)
    longest = int(np.diff(programs.starts).max()) if len(programs.starts) > 1 else 0
    stack = np.empty(longest + 1, np.int32)
    event = no_event(spaces, len(lexicon.base))
    for region in range(len(found_starts) - 1):
        place = Place(event, loose[region], known[region], memory)
        begin, end = region_starts[region], region_starts[region + 1]
        lay_out(event, begin, end, dim_of_space)
        for i in range(found_starts[region], found_starts[region + 1]):
            grades[i], refuted[i] = program_grade(found[i], programs, stack, lexicon, place)
        take_away(event, begin, end, dim_of_space)
        memory[:] = -1
    return grades, refuted
