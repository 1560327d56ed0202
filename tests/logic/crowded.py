"""Strategies where predicates crowd on few dimensions, so that they imply, touch and contradict."""

from __future__ import annotations

from hypothesis import strategies as st

from remuda.model.attributes import Attribute
from remuda.model.conditions import (
    Contains,
    Exists,
    In,
    Missing,
    Prefix,
    Range,
    Regex,
    Related,
    Relation,
    Suffix,
)
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate
from remuda.model.operations import Length, Size
from remuda.model.terms import applied
from strategies import expressions_over, weights

SCALARS = (Attribute.parse("a"), Attribute.parse("b"))

_numbers = st.sampled_from((0, 1, 2, 3, 1.5))
_texts = st.sampled_from(("", "a", "ab", "b"))
_values = st.one_of(_numbers, _numbers, _texts)
_elements = st.one_of(_values, _values, _values, st.sampled_from((None, {"k": 1}, True)))


@st.composite
def _ranges(draw: st.DrawFn) -> Range:
    bound = st.one_of(st.none(), draw(st.sampled_from((_numbers, _numbers, _texts))))
    return Range(draw(bound), draw(bound), draw(st.booleans()), draw(st.booleans()))


_operands = st.lists(_values, max_size=3).map(tuple)
_conditions = st.one_of(
    _operands.map(In),
    _operands.map(In),
    _ranges(),
    _ranges(),
    st.builds(Prefix, _texts),
    st.builds(Suffix, _texts),
    st.builds(Contains, _texts),
    st.builds(Regex, st.sampled_from(("a.*", ".*b"))),
    st.builds(Related, st.sampled_from(Relation), _operands),
    st.sampled_from((Exists(), Missing())),
)
_chains = st.sampled_from(((), (), (), (Size(),), (Length(),)))

predicates = st.builds(
    lambda attribute, condition, chain, polarity, weight: Predicate(
        applied(attribute, chain), condition, polarity, weight
    ),
    st.sampled_from(("a", "a", "b")).map(Attribute.parse),
    _conditions,
    _chains,
    st.sampled_from(Polarity),
    weights,
)
expressions = expressions_over(predicates)


@st.composite
def crowds(draw: st.DrawFn) -> Expression:
    """One And or Or over many predicates on one dimension."""
    conditions = draw(st.lists(st.one_of(_ranges(), _conditions), min_size=2, max_size=7))
    polarities = draw(st.lists(st.sampled_from(Polarity), min_size=1, max_size=2))
    return draw(st.sampled_from((And, Or)))(
        *(
            Predicate(SCALARS[0], condition, draw(st.sampled_from(polarities)))
            for condition in conditions
        )
    )


scalar_events = st.fixed_dictionaries({}, optional={"a": _elements, "b": _elements})
_many = st.one_of(_elements, st.lists(_elements, max_size=3))
events = st.fixed_dictionaries({}, optional={"a": _many, "b": _many})
