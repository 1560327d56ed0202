"""Rules that others wrote, as criteria: one file a format, all of them with one contract.

Each module has `read(document, id=…)`, which gives the criteria of a document or says where and why
it cannot be read; `read_each(document, id)`, which gives the errors among the criteria and goes on;
and `event(document)`, which shapes the system's events where plain JSON does not do.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from remuda.formats.reading import Format

FORMATS = {
    "adblock": Format("remuda.formats.adblock", (".txt",), lines=True),
    "cesql": Format("remuda.formats.cesql", (".json", ".jsonl")),
    "eventbridge": Format("remuda.formats.eventbridge", (".json", ".jsonl")),
    "growthbook": Format("remuda.formats.growthbook", (".json", ".jsonl")),
    "jsonlogic": Format("remuda.formats.jsonlogic", (".json", ".jsonl")),
    "launchdarkly": Format("remuda.formats.launchdarkly", (".json", ".jsonl")),
    "mongo": Format("remuda.formats.mongo", (".json", ".jsonl")),
    "sigma": Format("remuda.formats.sigma", (".yml", ".yaml"), lines=True),
    "unleash": Format("remuda.formats.unleash", (".json", ".jsonl")),
}


def __getattr__(name: str) -> Any:
    """Import a format when it is first used: some need a library of their own."""
    if name not in FORMATS:
        raise AttributeError(f"there is no format {name}; there are {', '.join(sorted(FORMATS))}")
    return import_module(FORMATS[name].module)
