"""Nested expressions: kinds, depths, sizes and the share that holds."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from remuda.model.expressions import And, Expression, Not, Or, Predicate, fold
from remuda.workload.nested import Nested


def depth(expression: Expression) -> int:
    return fold(expression, lambda _, parts: 1 + max(parts, default=-1))


def n_predicates(expression: Expression) -> int:
    return fold(expression, lambda node, parts: 1 if isinstance(node, Predicate) else sum(parts))


def test_the_seed_decides() -> None:
    first, again, other = (Nested(n_expressions=50, seed=seed).draw() for seed in (1, 1, 2))
    assert first.expressions == again.expressions
    assert first.event_dicts() == again.event_dicts()
    assert first.expressions != other.expressions


def test_trees_have_the_asked_for_depth_and_never_too_many_predicates() -> None:
    plain = (0.5, 0.5, 0.0, 0.0, 0.0)
    trees = Nested(n_expressions=2_000, n_scopes=1, shares=plain).draw().expressions
    depths = Counter(map(depth, trees))
    assert set(depths) == {1, 2, 3, 4, 5, 6}
    assert min(depths.values()) > 100
    for share in (plain, (0.2, 0.2, 0.2, 0.2, 0.2), (0.4, 0.4, 0.1, 0.05, 0.05)):
        some = Nested(n_expressions=500, n_scopes=1, shares=share, max_predicates=30).draw()
        assert max(map(n_predicates, some.expressions)) <= 30


def test_kinds_and_children_are_drawn_as_asked_for() -> None:
    trees = Nested(n_expressions=4_000, n_scopes=1).draw().expressions
    roots = Counter(type(tree) for tree in trees)
    # xor is an Or at the root and xnor a Not
    assert roots[And] / 4_000 == pytest.approx(0.4, abs=0.03)
    assert roots[Or] / 4_000 == pytest.approx(0.45, abs=0.03)
    assert roots[Not] / 4_000 == pytest.approx(0.15, abs=0.03)
    n_parts = [len(tree.parts) for tree in trees if isinstance(tree, And)]
    assert (min(n_parts), max(n_parts)) == (2, 12)


def test_xor_and_xnor_are_what_they_say() -> None:
    for xnor, shares in ((False, (0.0, 0.0, 0.0, 1.0, 0.0)), (True, (0.0, 0.0, 0.0, 0.0, 1.0))):
        nest = Nested(n_expressions=40, n_scopes=1, max_depth=1, shares=shares).draw()
        for tree in nest.expressions:
            parts = set(_leaves(tree))
            for event in nest.event_dicts(40):
                odd = sum(leaf.holds(event) for leaf in parts) % 2 == 1
                assert tree.holds(event) == (odd != xnor)


def _leaves(expression: Expression) -> list[Expression]:
    return fold(expression, lambda node, parts: list(chain(*parts)) or [node])


def test_scopes_set_the_share_that_holds() -> None:
    open_, scoped = (_share(Nested(n_expressions=1_000, n_events=100, n_scopes=n)) for n in (1, 40))
    assert open_ == pytest.approx(0.4, abs=0.1)
    assert scoped == pytest.approx(open_ / 40, rel=0.3)


def _share(generator: Nested) -> float:
    nest = generator.draw()
    events = nest.event_dicts()
    return float(np.mean([[one.holds(event) for one in nest.expressions] for event in events]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_children": 1},
        {"max_depth": 0},
        {"event_size": 101},
        {"max_predicates": 6},
        {"n_scopes": 0},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(
        ValueError, match=r"two children|dimensions are fewer|cannot be 6 deep|scopes are"
    ):
        Nested(**wrong)
