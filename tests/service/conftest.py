"""A service in this process, and a way to ask it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import remuda as rm
from asking import Asker
from remuda.service.app import application
from remuda.service.calls import Service

RULES = [
    rm.Criterion("young", rm.parse("age < 25 AND platform = 'web'"), tags=frozenset({"t1"})),
    rm.Criterion("adult", rm.parse("age >= 18").weight(3.0), tags=frozenset({"t2"})),
    rm.Criterion("odd/name?#%", rm.parse("age >= 60")),
]


@pytest.fixture
def engine() -> rm.Engine:
    engine = rm.Engine(matcher="scan")
    engine.add("ads", RULES)
    return engine


@pytest.fixture
def asking() -> Callable[..., Asker]:
    """A client of an engine that is served on terms."""
    return lambda engine, **terms: Asker(application(Service(engine, **terms)))


@pytest.fixture
def http(engine: rm.Engine, asking: Callable[..., Asker]) -> Asker:
    return asking(engine)
