"""Text as predicates: sizes, names and match shares."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from remuda.model.conditions import In
from remuda.model.expressions import Predicate
from remuda.workload import real_texts
from remuda.workload.begen import MIN, Loosening
from remuda.workload.qgrams import Keywords, QGrams
from workload.measure import match_share, matched

_LETTERS = "etaoinshrdlcumwfgypbvkjxqz"


@pytest.mark.parametrize(("size", "event_size"), [(8, 16), (30, 43)])
def test_authors_and_titles_have_their_sizes_and_match_probability(
    size: int, event_size: int
) -> None:
    workload = QGrams(
        n_subscriptions=20_000, n_events=200, subscription_size=size, event_size=event_size
    ).draw()
    assert np.diff(workload.criteria.clause_starts).mean() == pytest.approx(size, abs=0.1)
    assert np.diff(workload.events.starts).mean() == pytest.approx(event_size, abs=0.5)
    assert workload.criteria.n_dims == 26**2
    assert match_share(workload) == pytest.approx(0.01, rel=0.1)


def test_q_grams_overlap_by_all_but_one_letter() -> None:
    generator = QGrams(n_subscriptions=10, n_events=50, match_probability=0.02)
    for event in generator.draw().event_dicts():
        grams = [prefix + _LETTERS[value] for prefix, value in event.items()]
        ends = {gram[1:] for gram in grams}
        # what begins where no other gram ends is the beginning of the title
        # (or follows one that came a second time and was left out)
        assert sum(prefix not in ends for prefix in event) < len(event) / 2


def test_without_a_match_probability_each_subscription_is_an_event() -> None:
    workload = QGrams(
        n_subscriptions=500,
        n_events=500,
        subscription_size=12,
        event_size=12,
        spread=0,
        loosening=Loosening(operators=MIN),
        match_probability=1 / 500,
    ).draw()
    found = matched(workload)
    assert found.any(axis=0).all()
    assert found.any(axis=1).all()


def test_keywords_are_split_in_attribute_and_value() -> None:
    workload = Keywords(n_queries=500, n_documents=10).draw()
    predicates = [
        part
        for query in workload.expressions()
        for part in ((query,) if isinstance(query, Predicate) else query.parts)
    ]
    assert all(isinstance(one, Predicate) for one in predicates)
    assert all(isinstance(one.condition, In) for one in predicates)  # type: ignore[attr-defined]
    names = workload.criteria.names
    assert {len(name) for name in names} == {1, 2, 3}
    assert list(names) == sorted(set(names))


def test_queries_and_documents_have_their_sizes_and_share() -> None:
    workload = Keywords(n_queries=20_000, n_documents=200).draw()
    sizes = np.diff(workload.criteria.clause_starts)
    assert sizes.mean() == pytest.approx(3, abs=0.1)
    assert (sizes.min(), sizes.max()) == (1, 5)
    assert np.diff(workload.events.starts).mean() == pytest.approx(90, abs=5)
    assert match_share(workload) == pytest.approx(0.01, abs=0.005)


def test_texts_without_a_keyword_are_refused() -> None:
    with pytest.raises(ValueError, match="without a keyword"):
        Keywords(query_size=2)


@pytest.mark.parametrize("wrong", [{"q": 5}, {"event_size": 5}, {"spread": 8}])
def test_impossible_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"q is 2, 3 or 4|do not fit events"):
        QGrams(**wrong)


DBLP = """<?xml version="1.0"?>
<dblp><article key="a"><title>Indexing <i>Boolean</i> Expressions over High-Dimensional
Discrete Space.</title></article>
<article key="b"><title>Short.</title></article>
<article key="c"><title>Caf&#233; menus: efficient matching of content-based subscriptions</title>
</article></dblp>
"""
LOG = "AnonID\tQuery\tQueryTime\n1\tboolean index\t2006\n2\tvldb\t2006\n3\t-\t2006\n"


def test_titles_of_dblp_are_read(tmp_path) -> None:
    (tmp_path / "dblp.xml").write_text(DBLP)
    found = list(real_texts.titles(str(tmp_path / "dblp.xml")))
    assert found[0] == "Indexing Boolean Expressions over High-Dimensional\nDiscrete Space."
    assert found[1:] == ["Short.", "Café menus: efficient matching of content-based subscriptions"]
    events = list(
        QGrams(
            n_subscriptions=20, n_events=4, match_probability=0.5, titles=str(tmp_path / "dblp.xml")
        )
        .draw()
        .event_dicts()
    )
    grams = [{prefix + _LETTERS[value] for prefix, value in event.items()} for event in events]
    assert {"ind", "nde", "caf", "fme"} <= set().union(*grams)  # an é is no letter


def test_a_title_a_line_perhaps_gzipped(tmp_path) -> None:
    with gzip.open(tmp_path / "titles.gz", "wt") as file:
        file.write("one title\nanother title\n")
    assert list(real_texts.titles(str(tmp_path / "titles.gz"))) == [
        "one title\n",
        "another title\n",
    ]
    with pytest.raises(ValueError, match=r"0 titles are long enough; .* needs 100"):
        QGrams(titles=str(tmp_path / "titles.gz")).draw()


def test_queries_of_a_log_ask_for_keywords_of_documents(tmp_path) -> None:
    (tmp_path / "log.tsv").write_text(LOG)
    (tmp_path / "documents.txt").write_text("VLDB, a conference\nA boolean index. And more\n")
    how = {"queries": str(tmp_path / "log.tsv"), "documents": str(tmp_path / "documents.txt")}
    workload = Keywords(**how).draw()
    expressions = list(workload.expressions())
    events = list(workload.event_dicts())
    assert [[one.holds(event) for one in expressions] for event in events] == [
        [False, True],
        [True, False],
    ]
    with pytest.raises(ValueError, match="real queries need real documents"):
        Keywords(queries="log.tsv")
