"""Files that are forged, with right checksums: an error that names one, or some answer."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import golden
import numpy as np
import pytest

import remuda as rm
from remuda import attr
from remuda.errors import StorageError
from strategies import SOAK, count

TRIES = count(25, 1_000)


def criteria(n: int) -> list[rm.Criterion]:
    """Enough of every kind that `auto` has records, slices, plain entries, tails and denials."""
    draw = random.Random(7)
    found = golden.criteria()
    for i in range(n):
        kinds = [
            attr("a").between(draw.randrange(40), 40 + draw.randrange(40))
            & attr("c").isin(*draw.sample("ABCDEFGH", 3)),
            attr("s").isin(*[f"q{draw.randrange(300)}" for _ in range(3)]) | (attr("d") == i),
            attr(f"x{i % 9}").isin(*draw.sample(range(400), 90))
            & ~attr("e").isin(*range(1, 300, 3)),
            ~attr("e").isin(i % 300) & ~attr("c").isin("A", "B"),
            (attr("c") == draw.choice("ABC")) & attr("g").exists(),
            attr("e").between(i % 300, i % 300 + 20) & (attr("d") > i) & attr("c").exists(),
            attr("d").isin(*draw.sample(range(90), 9)),
        ]
        found.append(rm.Criterion(f"id-{i}", kinds[i % 7], tags=frozenset({f"t{i % 3}"})))
    return found


def events() -> list[dict[str, object]]:
    draw = random.Random(5)
    found = golden.events()
    for _ in range(40):
        event: dict[str, object] = {
            "a": draw.randrange(90), "c": draw.choice("ABCDEFGHI"), "s": f"q{draw.randrange(310)}",
            "d": draw.randrange(95), "e": draw.randrange(310), "x3": draw.randrange(410), "g": 1,
        }  # fmt: skip
        if draw.random() < 0.4:
            event |= {"e": draw.sample(range(310), 5), "c": ["A", "H"], "x3": [1, 399, 7]}
        found.append(event)
    return found


def ask(index: rm.Index) -> None:
    """All kinds of questions, whatever the answers."""
    asked = events()
    index.match_many(asked).to_arrow()
    index.match_many(asked * 40)  # enough that events visit clusters together
    index.match_many(asked, tags=["t1"]).ids(0)
    index.count_many(asked)
    index.reach(asked)
    index.top_many(asked, 3, weights={"a": 2.0}).ids(1)
    for event in asked[:12]:
        index.match(event)
    index.nearest(asked[10], 3)
    _ = "id-30" in index, "nobody" in index
    list(index)


def overwritten(data: bytes, draw: random.Random) -> bytes:
    """The file with some words of it replaced: by anything, or by numbers like those it has."""
    words = np.frombuffer(data + bytes(-len(data) % 4), np.uint32).copy()
    if not len(words):
        return draw.randbytes(8)
    n = draw.choice([1, 1, 1, 2, 8, len(words)])
    start = draw.randrange(len(words))
    for i in range(start, min(start + n, len(words))):
        old, like = int(words[i]), int(draw.choice(words))
        near = [old + 1, old - 1, old ^ 1 << draw.getrandbits(5), like]
        far = [draw.getrandbits(32), draw.getrandbits(8), 0xFFFFFFFF, 0]
        words[i] = draw.choice(near + far) & 0xFFFFFFFF
    return words.tobytes()[: len(data)]


@pytest.mark.soak
@pytest.mark.parametrize("matcher", ["auto", "kindex"])
def test_no_file_leads_a_kernel_astray(tmp_path: Path, matcher: str) -> None:
    seed = int(os.environ.get("REMUDA_SEED", "1"))
    draw = random.Random(seed)
    good = tmp_path / "good"
    index = rm.Index.build(criteria(700), matcher=matcher)
    index.save(good)
    index.remove("id-5", "in")
    index.add(rm.Criterion("new", attr("a") == 1))
    index.save(good)
    ask(rm.load(good))
    files = sorted(one.relative_to(good) for one in good.rglob("*") if one.is_file())
    large = [one for one in files if one.suffix == ".bin"]
    refused = 0
    for number in range(TRIES):
        home = tmp_path / "bad"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(good, home)
        file = home / draw.choice([draw.choice(files), draw.choice(large)])
        golden.rewrite(file, overwritten(file.read_bytes(), draw))
        try:
            ask(rm.load(home, verify=draw.random() < 0.5))
        except BaseException as error:
            if isinstance(error, StorageError) and str(home) in error.path:
                refused += 1
                continue
            error.add_note(f"seed {seed}, try {number}: {file}")
            raise
    assert 0 < refused < TRIES


@pytest.mark.soak
def test_nor_where_bounds_are_checked() -> None:
    """Reduced, nothing new; `./run soak` runs all of the above with Numba's own checks."""
    if not SOAK or os.environ.get("NUMBA_BOUNDSCHECK"):
        return
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", __file__]
    subprocess.run(command, env={**os.environ, "NUMBA_BOUNDSCHECK": "1"}, check=True)


def test_unverified_loading_still_sees_structure(tmp_path: Path) -> None:
    rm.Index.build(criteria(300)).save(tmp_path)
    (file,) = tmp_path.glob("segments/*/matcher.bin")
    file.write_bytes(b"\xff" * file.stat().st_size)
    with pytest.raises(StorageError, match="checksum"):
        rm.load(tmp_path)
    with pytest.raises(StorageError, match="not those of an index") as caught:
        rm.load(tmp_path, verify=False)
    assert caught.value.path == str(file)
