"""A process that changes an engine until it is killed, and writes down what it does.

Each thread has two names of its own. A line is written before a change is tried and another once
it is acknowledged; so at most one change of each thread is in doubt.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from typing import Any

import pyarrow as pa

import remuda as rm
from remuda.engine.engine import Engine

THREADS = 3
Model = dict[str, dict[str, int]]  # by name and id: the value that its criterion asks for


def criterion(id: str, value: int) -> rm.Criterion:
    return rm.Criterion(
        id, rm.attr("a").between(value % 50, value % 50 + 9) | (rm.attr("b") == value)
    )


def names(thread: int) -> tuple[str, str]:
    return f"t{thread}", f"t{thread} next"


def changed(model: Model, change: dict[str, Any]) -> Model:
    """What a change makes of the model."""
    after = {name: dict(there) for name, there in model.items()}
    name = change["name"]
    if change["do"] == "put":
        values = {f"c{i}": change["value"] + i for i in range(change["first"], change["last"])}
        after[name] = after.get(name, {}) | values
    elif change["do"] == "delete":
        del after[name][change["id"]]
    elif change["do"] == "replace":
        after[name] = after.pop(change["new"])
    elif change["do"] == "drop":
        del after[name]
    return after


def make(engine: Engine, model: Model, change: dict[str, Any]) -> None:
    name = change["name"]
    if change["do"] == "put":
        values = {f"c{i}": change["value"] + i for i in range(change["first"], change["last"])}
        found = [criterion(*pair) for pair in values.items()]
        new = model.get(name, {}).keys().isdisjoint(values)
        (engine.add if new else engine.update)(name, found if len(found) > 1 else found[0])
    elif change["do"] == "delete":
        engine.delete(name, change["id"])
    elif change["do"] == "replace":
        engine.replace(name, change["new"])
    elif change["do"] == "drop":
        engine.drop(name)
    else:
        engine.checkpoint()


def drawn(rng: random.Random, model: Model, thread: int, fresh: int) -> dict[str, Any]:
    """A change that can be made."""
    name = rng.choice(names(thread))
    there = model.get(name, {})
    value = rng.randrange(1_000)
    kind = rng.random()
    if kind < 0.15 and there:
        first = int(rng.choice(list(there))[1:])
        return {"do": "put", "name": name, "first": first, "last": first + 1, "value": value}
    if kind < 0.35 and there:
        return {"do": "delete", "name": name, "id": rng.choice(list(there))}
    if kind < 0.40 and names(thread)[1] in model:
        return {"do": "replace", "name": names(thread)[0], "new": names(thread)[1]}
    if kind < 0.42 and name in model:
        return {"do": "drop", "name": name}
    if kind < 0.47:
        return {"do": "checkpoint", "name": name}
    n = rng.choice((1, 1, 1, 7, 70))
    return {"do": "put", "name": name, "first": fresh, "last": fresh + n, "value": value}


def work(engine: Engine, model: Model, thread: int, seed: int, fresh: int, file: int) -> None:
    rng = random.Random(f"{seed} {thread}")

    def tell(**line: Any) -> None:
        os.write(file, json.dumps({"thread": thread, **line}).encode() + b"\n")

    while True:
        change = drawn(rng, model, thread, fresh)
        fresh = max(fresh, change.get("last", 0))
        tell(tries=change)
        make(engine, model, change)
        tell(done=True)
        model = changed(model, change)


def main() -> None:
    path, told, seed, fresh = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    model: Model = json.loads(sys.stdin.read())
    file = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    engine = Engine(path, matcher="scan", log_limit=30_000)
    pa.array(["x"])  # its first use takes a second
    os.write(file, b'{"ready": true}\n')
    threads = []
    for thread in range(THREADS):
        own = {name: there for name, there in model.items() if name in names(thread)}
        arguments = (engine, own, thread, seed, fresh, file)
        threads.append(threading.Thread(target=work, args=arguments))
        threads[-1].start()
    for one in threads:
        one.join()


if __name__ == "__main__":
    main()
