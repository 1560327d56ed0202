"""Folders of rules that others wrote, with events to try them on."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from remuda.cli.files import FileError, reading
from remuda.errors import InvalidCriterion
from remuda.formats import FORMATS
from remuda.language.criterion import Criterion

if TYPE_CHECKING:
    from remuda.formats.reading import Format

WANTED = {
    "sigma": "rules as .yml files or in a .tar.gz (SigmaHQ's repository has them), and events as "
    "JSON lines",
    "adblock": "lists of filters as .txt files (EasyList's), and requests with url, sourceUrl and "
    "type in requests.json",
}


@dataclass(frozen=True, slots=True)
class RuleFolder:
    """The rules of a folder, how many were refused, and its events by the names of their files."""

    criteria: list[Criterion]
    errors: list[InvalidCriterion]
    events: dict[str, list[Any]]


def read_folder(name: str, folder: Path) -> RuleFolder:
    """All that is in a folder; FileError says what to get where there is nothing."""
    rules = FORMATS[name]
    criteria: dict[str, Criterion] = {}
    errors = []
    for text, file in _texts(rules, folder):
        for one in rules.read_file(text, rules.name_of(file)):
            if isinstance(one, InvalidCriterion):
                errors.append(one)
            else:
                criteria.setdefault(one.id, one)
    events = _events(name, folder)
    if not criteria or not events:
        raise FileError(f"{folder}: {name} wants {WANTED[name]}")
    return RuleFolder(list(criteria.values()), errors, events)


def _texts(format: Format, folder: Path) -> Iterator[tuple[bytes, str]]:
    if not folder.is_dir():
        return
    for file in format.files_in(folder):
        with reading(file) as data:
            yield data.read(), file
    for archive in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(archive) as packed:
            for member in packed:
                inner = packed.extractfile(member) if member.isfile() else None
                if inner is not None and member.name.endswith(format.suffixes):
                    yield inner.read(), member.name


def _events(name: str, folder: Path) -> dict[str, list[Any]]:
    """The events of every file, shaped as the rules see them."""
    from importlib import import_module

    shape = import_module(FORMATS[name].module).event
    pattern = "requests.json*" if name == "adblock" else "*.jsonl*"
    found = {}
    for file in sorted(folder.glob(pattern)):
        with reading(str(file)) as data:
            rows = _rows(data.read())
        found[file.name.split(".")[0]] = [shape(row) for row in rows]
    return found


def _rows(data: bytes) -> Iterator[Any]:
    """The objects of a list, or of lines; those of a set of events, one by one."""
    rows = msgspec.json.decode(data) if data.lstrip().startswith(b"[") else None
    for row in rows or map(msgspec.json.decode, filter(bytes.strip, io.BytesIO(data))):
        yield from row["events"] if isinstance(row.get("events"), list) else [row]
