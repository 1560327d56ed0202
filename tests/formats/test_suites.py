"""Every format held to the suite that its system's own authors publish."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from formats.not_right import NOT_RIGHT
from formats.suites import Case, adblock_lists, cases_of, sigma_rules
from remuda.index.index import Index
from remuda.language.criterion import Criterion

pytestmark = pytest.mark.outside

N_CASES = {
    "adblock": 9411,
    "cesql": 175,
    "eventbridge": 156,
    "growthbook": 235,
    "launchdarkly": 728,
    "sigma": 192,
    "unleash": 227,
}
_cases = cache(cases_of)


@pytest.mark.parametrize("suite", N_CASES)
def test_every_case_is_right_but_those_that_are_named(suite: str) -> None:
    cases = _cases(suite)
    assert len(cases) == N_CASES[suite]
    assert {one.name for one in cases if not one.right} == set(NOT_RIGHT[suite])


@pytest.mark.parametrize("suite", N_CASES)
def test_criteria_read_back_from_their_documents(suite: str) -> None:
    for case in _cases(suite):
        for criterion in case.criteria:
            again = Criterion.from_json(criterion.document())
            for event in case.events:
                assert again.holds(event) is criterion.holds(event), case.name


@pytest.mark.parametrize("matcher", ["auto", "betree", "kindex", "pst-hash"])
@pytest.mark.parametrize("suite", N_CASES)
def test_an_index_finds_what_plain_evaluation_finds(suite: str, matcher: str) -> None:
    cases = _cases(suite)
    numbered = [_numbered(number, case) for number, case in enumerate(cases)]
    index = Index.build([one for several in numbered for one in several], matcher=matcher)
    for case, own in zip(cases, numbered, strict=True):
        names = {one.id for one in own}
        for event in case.events:
            plainly = {one.id for one in own if one.holds(event)}
            assert names.intersection(index.match(event)) == plainly, case.name


def test_every_rule_of_sigma_is_read() -> None:
    rules, errors = sigma_rules()
    assert (len(rules), len(errors)) == (3141, 0)


def test_every_filter_of_the_lists_is_read_but_those_that_are_named() -> None:
    filters, errors = adblock_lists()
    assert len(filters) == 111_268
    assert Counter(error.reason for error in errors.values()) == {
        "the option 'csp' is not read": 5,
        "the option 'method' is not read": 1,
        "the option 'replace' is not read": 1,
        "a domain is a name, without wildcards": 1,
    }


def _numbered(number: int, case: Case) -> list[Criterion]:
    return [Criterion(f"{number}/{one.id}", one.expression) for one in case.criteria]
