"""A made-up day of advertising: campaigns, and visits to a site."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And, Expression

_COUNTRIES = ("IN", "SG", "US", "DE", "BR", "JP", "NG", "FR", "GB", "ID")
_PLATFORMS = ("android", "ios", "web", "tv")
_INTERESTS = ("sports", "music", "travel", "food", "games", "books", "cars", "news", "art", "tech")
_VERSIONS = tuple(f"{major}.{minor}" for major in range(1, 6) for minor in range(10))
_BUCKETS = 100  # of users, for campaigns that are tried out on a few

Draw = np.random.Generator


def draw_day(rng: Draw, n_campaigns: int, n_visits: int) -> tuple[list[Criterion], pa.Table]:
    """Campaigns and visits; the more campaigns there are, the more cities they share."""
    n_each = min(max(n_campaigns // 1_000, 4), 200)
    cities = [f"{country}-{i:03d}" for country in _COUNTRIES for i in range(n_each)]
    return _campaigns(rng, n_campaigns, cities), _visits(rng, n_visits, cities)


def _campaigns(rng: Draw, n: int, cities: list[str]) -> list[Criterion]:
    young, years = rng.integers(15, 60, n), rng.integers(2, 15, n)
    drawn = {
        "ages": zip(young.tolist(), (young + years).tolist(), strict=True),
        "weight": rng.integers(1, 6, n).tolist(),
        "cities": rng.integers(0, len(cities), (n, 5)).tolist(),
        "n_cities": rng.integers(0, 6, n).tolist(),
        "chances": (rng.random((n, 4)) < (0.5, 0.3, 0.4, 0.2)).tolist(),
        "words": rng.integers(0, 10, (n, 4)).tolist(),
        "spend": rng.integers(50, 500, n).tolist(),
    }
    rows = zip(*drawn.values(), strict=True)
    return [
        Criterion(f"campaign-{i:06d}", _who(cities, *row)) for i, row in enumerate(rows, start=1)
    ]


def _who(
    cities: list[str],
    ages: tuple[int, int],
    weight: int,
    some: list[int],
    n_some: int,
    chances: list[bool],
    words: list[int],
    spend: int,
) -> Expression:
    """Who may see it: some of age, place, platform, app, interests and spending."""
    parts: list[Expression] = [attr("user.age").between(*ages).weight(float(weight))]
    if n_some:
        parts.append(attr("city").isin(*dict.fromkeys(cities[one] for one in some[:n_some])))
    else:  # a whole country, but few users of it
        parts.append(attr("country").eq(_COUNTRIES[words[0]]))
        parts.append(attr("user.id").modulo(_BUCKETS) == some[0] % _BUCKETS)
    if chances[0]:
        parts.append(attr("platform").isin(_PLATFORMS[words[0] % 4], _PLATFORMS[words[1] % 4]))
    if chances[1]:
        parts.append(attr("app").version() >= _VERSIONS[words[2] * 5])
    if chances[2]:
        wanted = attr("interests").isin(_INTERESTS[words[2]], _INTERESTS[words[3]])
        parts.append(wanted | (attr("spend") >= spend))
    if chances[3]:
        parts.append(~attr("platform").eq(_PLATFORMS[words[3] % 4]))
    return And(*parts)


def _visits(rng: Draw, n: int, cities: list[str]) -> pa.Table:
    """Visitors with gaps: some attributes are null, interests are lists."""
    ages = pa.array(rng.integers(13, 80, n), mask=rng.random(n) < 0.05)
    ids = pa.array(rng.integers(0, max(n // 3, 1), n))
    city = rng.integers(0, len(cities), n)
    counts = rng.integers(0, 4, n)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    likes = _words(_INTERESTS, rng.integers(0, len(_INTERESTS), int(counts.sum())))
    versions = pa.array(rng.integers(0, len(_VERSIONS), n), mask=rng.random(n) < 0.3)
    return pa.table(
        {
            "visit": pa.array(np.arange(n)),
            "user": pa.StructArray.from_arrays([ages, ids], ["age", "id"]),
            "city": _words(cities, city),
            "country": _words(_COUNTRIES, city // (len(cities) // len(_COUNTRIES))),
            "platform": _words(_PLATFORMS, rng.integers(0, len(_PLATFORMS), n)),
            "app": pa.array(_VERSIONS).take(versions),
            "spend": pa.array(np.round(rng.exponential(80, n), 2), mask=rng.random(n) < 0.2),
            "interests": pa.ListArray.from_arrays(offsets, likes),
        }
    )


def _words(words: Any, places: Any) -> Any:
    return pa.array(words, pa.string()).take(pa.array(places))
