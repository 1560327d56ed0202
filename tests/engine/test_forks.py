"""Forks and Ctrl-C while threads write: nobody hangs, nothing is lost, the log is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import remuda
from strategies import SEED, SHARDS, count

CHILD = Path(__file__).with_name("forks_child.py")

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system has neither forks nor timers that interrupt"
)


def ran(*command: str) -> list[str]:
    found = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    sys.stderr.write(found.stderr)
    return found.stdout.splitlines()


@pytest.mark.soak
@pytest.mark.parametrize(("what", "reduced", "full"), [("forks", 15, 1_000), ("ctrl-c", 15, 1_000)])
def test_forks(tmp_path: Path, what: str, reduced: int, full: int) -> None:
    n = count(reduced, full // SHARDS)
    said = ran(str(CHILD), what, str(tmp_path / "engine"), str(SEED), str(n))
    sys.stdout.write(f"seed {SEED}: {said[-1]}\n")
    assert [line for line in said if "all there" not in line] == []


FORK = """
import os, sys
import remuda as rm
from remuda.engine.engine import Engine
engine = Engine(sys.argv[1], matcher="scan")
engine.add("ads", rm.Criterion("first", rm.attr("a") == 0))
out, into = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(into)
    for change in (
        lambda: engine.add("ads", rm.Criterion("child", rm.attr("a") == 0)),
        lambda: engine.delete("ads", "first"),
        lambda: engine.drop("ads"),
        engine.checkpoint,
    ):
        try:
            change()
        except rm.StorageError as error:
            print("refused", error, flush=True)
    print("found", engine.search("ads", {"a": 0}), engine.export("ads")[:5], flush=True)
    engine.close()
    print("read", Engine(sys.argv[1], read_only=True).names(), flush=True)
    try:
        Engine(sys.argv[1])
    except rm.StorageError as error:
        print("locked", error, flush=True)
    os.write(1, b"waits\\n")
    os.read(out, 1)
    os._exit(0)
os.close(out)
while b"waits" not in open(sys.argv[2], "rb").read():
    pass
engine.add("ads", rm.Criterion("parent", rm.attr("a") == 0))
engine.close()
with Engine(sys.argv[1]) as again:  # though the child lives
    print("again", again.search("ads", {"a": 0}), flush=True)
os.close(into)
os.waitpid(pid, 0)
print("parent", os.getpid(), flush=True)
"""


def test_a_fork_searches_and_its_parent_writes(tmp_path: Path) -> None:
    path, told = tmp_path / "engine", tmp_path / "told"
    with told.open("wb") as out:
        command = [sys.executable, "-c", FORK, str(path), str(told)]
        subprocess.run(command, stdout=out, check=True)
    said = told.read_text().splitlines()
    parent = next(line.split()[1] for line in said if line.startswith("parent"))
    refused = [line for line in said if line.startswith("refused")]
    assert len(refused) == 4
    for line in refused:
        assert f"process {parent} opened the engine, and this is a fork of it" in line
        assert str(path) in line
    (locked,) = [line for line in said if line.startswith("locked")]
    assert f"process {parent}" in locked
    assert "found ['first'] [{\"fo" in said
    assert "read []" in said  # nothing was published yet
    assert "again ['first', 'parent']" in said


HELD = """
import os, signal, sys, threading
import remuda as rm
from remuda.engine.engine import Engine
from remuda.language.criterion import Criterion
path = sys.argv[1]
rules = [Criterion(f"c{i}", rm.attr("a") == 0) for i in range(3)]
rm.Index.build(rules, matcher="scan").save(path)
index, engine = rm.load(path), Engine(matcher="scan")
engine.add("ads", rules)
slot = engine._slots["ads"]
criteria = index.parts[0].roster.criteria
held, over = threading.Event(), threading.Event()
def hold():
    with slot.lock, slot.index._writing, engine._naming, index._writing, criteria._reading:
        held.set()
        over.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(240)
    more = Criterion("more", rm.attr("a") == 0)
    index.add(more)
    engine.add("ads", more)
    engine.drop("ads")
    print(index.match({"a": 0}), len(list(index)), engine.names(), flush=True)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
over.set()
"""


def test_a_fork_finds_no_lock_held(tmp_path: Path) -> None:
    assert ran("-c", HELD, str(tmp_path)) == ["['c0', 'c1', 'c2', 'more'] 4 []", "0"]


def test_no_attribute_waits_for_a_lock_that_a_fork_may_have_taken() -> None:
    """Those of functools do, in Python 3.11: a child of a thread that held it hung."""
    sources = Path(remuda.__file__).parent.rglob("*.py")
    assert [str(one) for one in sources if "cached_property" in one.read_text()] == []
