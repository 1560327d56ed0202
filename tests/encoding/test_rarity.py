"""Rarity: filters of criteria ask for what is seldom met."""

from __future__ import annotations

import pytest

from remuda.encoding.plan import plan
from remuda.encoding.rarity import share_of
from remuda.language.python import attr
from remuda.model.conditions import Condition, Contains, Exists, Like, Regex, Suffix
from remuda.model.expressions import And, Or

t = attr("t")

SELDOM_FIRST: dict[str, tuple[Condition, Condition]] = {
    "long": (Contains("mimikatz"), Contains("mim")),
    "seldom letters": (Contains("zq"), Contains("se")),
    "the case is no matter": (Contains("ZQXW"), Contains("tin")),
    "an end": (Suffix("\\rubeus.exe"), Suffix("e")),
    "the rarest piece": (Like("%a%wxyz%b%"), Like("%a%b%")),
    "one of several alternatives": (Regex("abcdef"), Regex("abcdef|x.*")),
    "a pattern without any text": (Contains("ez"), Regex("[a-z]+")),
    "another alphabet": (Contains("мир"), Contains("en")),
    "no text": (Contains("abc"), Exists()),
}


@pytest.mark.parametrize("name", SELDOM_FIRST)
def test_what_is_met_seldom_has_the_smaller_share(name: str) -> None:
    seldom, often = SELDOM_FIRST[name]
    assert 0 < share_of(seldom) < share_of(often) <= 1


def test_a_tree_is_found_by_its_rarest_demand() -> None:
    common = [Or(*(t.contains(one + other) for one in "esta")) for other in "esta"]
    rare = Or(t.contains("mimikatz"), t.contains("rubeus.exe"))
    made, vocabulary = plan([And(*common, rare, *common[:2])])
    assert made.checked.tolist() == [True]
    asked = {
        vocabulary.dimensions[dim].condition
        for dim in made.conjunctions.predicates.dim[made.conjunctions.clauses.items].tolist()
    }
    assert asked == {Contains("mimikatz"), Contains("rubeus.exe")}


def test_a_literal_of_many_criteria_is_not_rare() -> None:
    common = [Or(*(t.contains(one + other) for one in "esta")) for other in "esta"]
    often, seldom = t.contains("powershell.exe"), t.contains("quite")
    tree = And(*common, Or(often, t.contains("powershell_ise")), Or(seldom, t.contains("wholly")))
    made, vocabulary = plan([tree, *(And(often, t.contains(f"x{i}")) for i in range(50))])
    items = made.conjunctions.clauses.items[made.conjunctions.clauses.starts[-2] :]
    last = {vocabulary.dimensions[made.conjunctions.predicates.dim[i]].condition for i in items}
    assert made.checked.tolist() == [True] + [False] * 50
    assert last <= {Contains("quite"), Contains("wholly")}
