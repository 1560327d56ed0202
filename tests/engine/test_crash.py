"""An engine is killed again and again; what it acknowledged is there."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crash_child import THREADS, Model, changed, criterion, names

from remuda.engine.engine import Engine
from strategies import SEED, count

CHILD = Path(__file__).with_name("crash_child.py")


def killed(path: Path, told: Path, model: Model, seed: int, fresh: int) -> None:
    """Let a child change the engine, and kill it at a random moment."""
    rng = random.Random(seed)
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(path), str(told), str(seed), str(fresh)],
        stdin=subprocess.PIPE,
    )
    try:
        assert child.stdin is not None
        child.stdin.write(json.dumps(model).encode())
        child.stdin.close()
        if rng.random() < 0.2:
            time.sleep(rng.uniform(0.3, 1.5))  # perhaps while it starts
        else:
            wait_for(told, rng.randrange(100), child)
            time.sleep(rng.uniform(0, 0.05))
        assert child.poll() is None, "the child ended by itself"
    finally:
        child.kill()
        child.wait()


def wait_for(told: Path, n_lines: int, child: subprocess.Popen) -> None:
    while child.poll() is None and len(lines_of(told)) < n_lines:
        time.sleep(0.005)


def lines_of(told: Path) -> list[dict]:
    whole = told.read_bytes() if told.exists() else b""
    return [json.loads(line) for line in whole.splitlines(keepends=True) if line.endswith(b"\n")]


def possible(model: Model, lines: list[dict], thread: int) -> list[Model]:
    """What the names of a thread may mean: with all that was acknowledged, and one more."""
    own = {name: there for name, there in model.items() if name in names(thread)}
    tried = None
    for line in lines:
        if line.get("thread") != thread:
            continue
        if "tries" in line:
            tried = line["tries"]
        else:
            own, tried = changed(own, tried), None
    return [own] if tried is None else [own, changed(own, tried)]


def surviving(engine: Engine, before: Model, lines: list[dict], kill: int) -> Model:
    """The model that the engine fits, for each thread one of those possible."""
    found = {
        name: {one["id"]: one for one in json.loads(engine.export(name))} for name in engine.names()
    }
    model: Model = {}
    for thread in range(THREADS):
        mine = {name: there for name, there in found.items() if name in names(thread)}
        fitting = [one for one in possible(before, lines, thread) if written(one) == mine]
        assert fitting, f"kill {kill}: something of thread {thread} is lost"
        model |= fitting[0]
    return model


def written(model: Model) -> dict[str, dict[str, dict]]:
    return {
        name: {one: criterion(one, value).to_json() for one, value in there.items()}
        for name, there in model.items()
    }


@pytest.mark.soak
def test_crash(tmp_path: Path) -> None:
    path, model, fresh, n_acknowledged = tmp_path / "engine", {}, 0, 0
    n_kills = count(5, 200)
    for kill in range(n_kills):
        told = tmp_path / f"told-{kill}"
        killed(path, told, model, SEED + kill, fresh)
        lines = lines_of(told)
        n_acknowledged += sum("done" in line for line in lines)
        fresh = max([fresh, *(line["tries"].get("last", 0) for line in lines if "tries" in line)])
        with Engine(path, matcher="scan") as engine:
            model = surviving(engine, model, lines, kill)
            for name in engine.names():
                for event in ({"a": kill % 60}, {"b": kill}, {"a": [1, 40], "b": 7}):
                    assert engine.search(name, event) == engine.scan(name, event)
    told_all = f"{n_kills} kills, {n_acknowledged:,} acknowledged changes, all there"
    sys.stdout.write(told_all + "\n")
    assert n_acknowledged > n_kills
