"""Networks: against Python's `ipaddress`, and the three forms."""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

import remuda as rm
from remuda.errors import InvalidCriterion, NoMustangEquivalent, NoSqlEquivalent, ParseError
from remuda.model.conditions import Network
from strategies import SEED, count

ip = rm.attr("ip")

INSIDE: dict[str, tuple[Any, tuple[str, ...], bool]] = {
    "the first": ("10.0.0.0", ("10.0.0.0/8",), True),
    "the last": ("10.255.255.255", ("10.0.0.0/8",), True),
    "the one before": ("9.255.255.255", ("10.0.0.0/8",), False),
    "the one behind": ("11.0.0.0", ("10.0.0.0/8",), False),
    "one of several": ("2001:db8::1", ("10.0.0.0/8", "2001:db8::/32"), True),
    "a network of one": ("1.2.3.4", ("1.2.3.4",), True),
    "all of a family": ("255.255.255.255", ("0.0.0.0/0",), True),
    "the other family": ("::", ("0.0.0.0/0",), False),
    "mapped is the other family": ("::ffff:10.0.0.1", ("10.0.0.0/8",), False),
    "the other way round": ("10.0.0.1", ("::ffff:10.0.0.0/104",), False),
    "with a zone": ("fe80::1%eth0", ("fe80::/10",), True),
    "another spelling": ("2001:DB8:0:0::1", ("2001:db8::/32",), True),
    "a leading zero": ("010.0.0.1", ("10.0.0.0/8",), False),
    "a blank": (" 10.0.0.1", ("10.0.0.0/8",), False),
    "a network is no address": ("10.0.0.0/8", ("10.0.0.0/8",), False),
    "a number is no address": (167772161, ("10.0.0.0/8",), False),
    "bytes are no address": (b"\n\0\0\1", ("10.0.0.0/8",), False),
    "half of a surrogate pair": ("fe80::1%\ud800", ("fe80::/10",), False),
    "an element": (["x", "10.1.1.1"], ("10.0.0.0/8",), True),
    "a netmask": ("10.1.1.1", ("10.0.0.0/255.0.0.0",), True),
    "no networks": ("10.1.1.1", (), False),
}


@pytest.mark.parametrize(("value", "networks", "inside"), INSIDE.values(), ids=INSIDE)
def test_what_is_inside(value: Any, networks: tuple[str, ...], inside: bool) -> None:
    asked = ip.in_network(*networks)
    criteria = [rm.Criterion("in", asked), rm.Criterion("out", asked.strong())]
    expected = ["in"] if inside else ["out"]
    assert [one.id for one in criteria if one.holds({"ip": value})] == expected
    index = rm.Index.build(criteria)
    assert index.match({"ip": value}) == index.match_many([{"ip": value}]).ids(0) == expected


@pytest.mark.soak
def test_every_pair_is_decided_as_ipaddress_does() -> None:
    """Networks share their first bits with addresses, or few pairs would meet."""
    rng = random.Random(SEED)
    n = count(40, 320)  # 10^5 pairs in the soak
    addresses = [_address(rng) for _ in range(n)]
    networks = [_network(rng, rng.choice(addresses)) for _ in range(n)]
    criteria = [rm.Criterion(str(i), ip.in_network(one)) for i, one in enumerate(networks)]
    index = rm.Index.build(criteria[::2])
    index.add(criteria[1::2])
    index.merge()
    n_inside = 0
    for address, found in zip(addresses, _rows(index, addresses), strict=True):
        expected = {
            str(i)
            for i, network in enumerate(networks)
            if ip_address(address) in ip_network(network)
        }
        assert found == expected
        assert {one.id for one in criteria if one.holds({"ip": address})} == expected
        n_inside += len(expected)
    assert n_inside > n


def _rows(index: rm.Index, addresses: list[str]) -> list[set[str]]:
    found = index.match_many([{"ip": one} for one in addresses])
    return [set(found.ids(i)) for i in range(len(addresses))]


def _address(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return str(ip_address(rng.getrandbits(32)))
    return str(ip_address(rng.getrandbits(32) + (rng.getrandbits(16) << 112)))


def _network(rng: random.Random, address: str) -> str:
    length = rng.randint(0, ip_address(address).max_prefixlen)
    return str(ip_network(f"{address}/{length}", strict=False))


FORMS = {
    "cidr(ip, '10.0.0.0/8')": ip.in_network("10.0.0.0/8"),
    "cidr(ip, '10.0.0.0/8', '2001:db8::/32')": ip.in_network("10.0.0.0/8", "2001:db8::/32"),
    "NOT cidr(path('ip'), '1.2.3.4/32')": ip.in_network("1.2.3.4").strong(),
    "(cidr(ip, '::/0')) IS NOT TRUE": ~ip.in_network("::/0"),
    "cidr(ip)": ip.in_network(),
}


@pytest.mark.parametrize("text", FORMS)
def test_the_three_forms(text: str) -> None:
    criterion = rm.Criterion("c", FORMS[text])
    assert rm.parse(text) == criterion.expression
    assert criterion.to_text() == text
    assert rm.Criterion.from_json(criterion.to_json()) == criterion
    with pytest.raises(NoMustangEquivalent, match=r"NETWORK|type"):
        criterion.to_json(mustang=True)
    with pytest.raises(NoSqlEquivalent, match="networks"):
        criterion.to_sql()


REFUSED = {
    "10.0.0.1/8": r"bits are set behind its mask; 10\.0\.0\.0/8 is the network",
    "10.0.0.0/33": "no network",
    "10.0.0": "no network",
    "": "no network",
    "example.org": "no network",
}


@pytest.mark.parametrize("network", REFUSED)
def test_what_is_no_network_is_refused_where_it_stands(network: str) -> None:
    with pytest.raises(InvalidCriterion, match=REFUSED[network]):
        ip.in_network(network)
    with pytest.raises(ParseError, match=REFUSED[network]) as refused:
        rm.parse(f"cidr(ip, '::/0', '{network}')")
    assert refused.value.column == 17
    document = rm.Criterion("c", ip.in_network("::/0")).to_json()
    predicate = document["conjunctions"][0]["predicates"][0]
    predicate["detail"]["networks"].append(network)
    with pytest.raises(InvalidCriterion, match=r"detail\.networks\[1\]"):
        rm.Criterion.from_json(document)


def test_a_number_is_no_network() -> None:
    with pytest.raises(InvalidCriterion, match="a network is a string"):
        Network((167772160,))  # type: ignore[arg-type]


def test_equal_addresses_are_equal_conditions() -> None:
    assert Network(("10.0.0.0/9", "10.128.0.0/9")) == Network(("10.0.0.0/8", "10.1.0.0/16"))
    assert Network(("0.0.0.0/0", "::/0")) != Network(("::/0",))
