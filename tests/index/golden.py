"""Golden indexes: small ones of every kind of predicate, written once by the code of their time.

    python tests/index/golden.py tests/data/golden/NAME.zip

writes one more, with the code that is there. It keeps to what every version can, so that one of an
earlier commit is written by `PYTHONPATH=OTHER/src`. An archive has an index for each of several
matchers, an engine where there is one, and what they answered.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

import remuda as rm
from remuda import attr

MATCHERS = ("auto", "betree", "kindex", "pscan")


def criteria() -> list[rm.Criterion]:
    a, b, name, tags = attr("a"), attr("b"), attr("name"), attr("tags")
    wide = rm.And(*[rm.Or(attr(f"x{i}") == 1, attr(f"y{i}") == 1) for i in range(7)])
    deep = rm.Or(*[rm.And(rm.Or(wide, attr(f"z{i}") == 1), attr(f"w{i}") == 1) for i in range(3)])
    expressions = {
        "in": a.isin(1, 2.5, "three", True),
        "range": a.between(2, 7) & (b > 3),
        "negated": ~a.isin(4) & b.exists(),
        "missing": b.missing() & (a > 0),
        "pattern": name.matches("[ab]+c?"),
        "like": name.like("%b%") | name.suffix("zz"),
        "prefix": name.prefix("a") & name.contains("c"),
        "version": attr("v").version() >= "1.10.0",
        "sets": tags.overlaps("p", "q") & tags.subset("p", "q", "r"),
        "operations": (a.add(1).modulo(3) == 0) & (name.length() > 1),
        "datetime": attr("t").datetime("HOUR_OF_DAY") == 13,
        "nested": attr("user.age").between(18, 30) & (attr("$.list[0]") == 1),
        "twice": (a > 1) & (a < 3) & (a != 2),
        "denied": ~b.isin(1, 2, 3),
        "cnf": wide,
        "checked": deep,
        "never": rm.Or(),
        "always": rm.And(),
    }
    if hasattr(a, "in_network"):
        expressions |= {
            "null": b.is_null_value(),
            "absent": ~b.is_absent() & (a > 0),
            "semver": attr("v").semver(parts=True) >= "1.10.0",
            "network": attr("ip").in_network("10.0.0.0/8", "2001:db8::/32"),
        }
    found = [rm.Criterion(key, expression) for key, expression in expressions.items()]
    found.append(rm.Criterion("tagged", a == 1, tags=frozenset({"red", "blue"})))
    found.append(rm.Criterion("off", a == 1, enabled=False))
    return found


def events() -> list[dict[str, object]]:
    some: list[dict[str, object]] = [
        {},
        {"a": 1, "b": 5, "name": "abc", "v": "1.10.1", "tags": ["p"], "t": "2024-05-05T13:10:00Z"},
        {"a": [1, 2, 9], "name": "bbzz", "v": "1.9", "tags": ["p", "z"], "user": {"age": 20}},
        {"a": 5, "b": 4, "name": "ac", "list": [1, 2], "user": {"age": 30}},
        {"a": "three", "b": 2, "v": "2.0.0-beta", "tags": []},
        {"a": 2, "b": None, "name": "xyz", "tags": ["q", "r"]},
    ]
    ones = {f"{letter}{i}": 1 for letter in "xw" for i in range(7)}
    return [*some, ones, {**ones, "x3": 0}, {"z0": 1, "w0": 1, "b": 9}]


def answers(index: rm.Index) -> list[object]:
    """What the index says of the events, in many ways."""
    asked = events()
    many = index.match_many(asked)
    return [
        [index.match(event) for event in asked],
        [many.ids(i) for i in range(len(asked))],
        [[[found.id, found.score] for found in index.top(event, 3)] for event in asked],
        [index.match(event, tags={"red"}) for event in asked],
        [criterion.id for criterion in index],
    ]


def rewrite(file: Path, data: bytes) -> None:
    """Replace a file of a saved index, and forge the checksums that would tell."""
    file.write_bytes(data)
    if file.name == "CURRENT":
        body = data.partition(b"\n")[2]
        file.write_bytes(b"%08x\n" % zlib.crc32(body) + body)
        return
    manifest = file.with_name("manifest.json")
    if not manifest.exists() or file.name == "manifest.json.crc":
        return
    if file != manifest:
        said = json.loads(manifest.read_bytes())
        said["files"][file.name] = {"size": len(data), "crc32": zlib.crc32(data)}
        manifest.write_text(json.dumps(said))
    crc32 = zlib.crc32(manifest.read_bytes())
    file.with_name("manifest.json.crc").write_text(json.dumps({"crc32": crc32}))


def write(archive: Path) -> None:
    home = Path(tempfile.mkdtemp())
    said = {}
    for matcher in MATCHERS:
        index = rm.Index.build(criteria()[:-3], matcher=matcher)
        index.save(home / matcher)
        index.remove("in", "cnf")
        for criterion in criteria()[-3:]:
            index.add(criterion)
        index.save(home / matcher)
        said[matcher] = answers(index)
    if hasattr(rm, "Engine"):
        engine = rm.Engine(home / "engine")
        engine.add("kept", criteria()[:-3])
        engine.checkpoint()
        engine.add("kept", criteria()[-3:])
        engine.delete("kept", "in", "cnf")
        engine.add("logged", criteria())
        shutil.copytree(home / "engine", home / "copy")  # closing would empty the log
        said["engine"] = {name: [engine.search(name, e) for e in events()] for name in engine}
        engine.close()
        shutil.rmtree(home / "engine")
        (home / "copy").rename(home / "engine")
    (home / "answers.json").write_text(json.dumps(said))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as packed:
        for file in sorted(home.rglob("*")):
            if file.is_file() and file.name != "LOCK":
                packed.write(file, file.relative_to(home))
    shutil.rmtree(home)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
