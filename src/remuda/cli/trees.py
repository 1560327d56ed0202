"""Trees that the command line names: `--tree geo=places.csv`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from remuda.cli.files import FileError
from remuda.model.hierarchies import Hierarchy


def read_trees(given: Iterable[str] | None) -> dict[str, Hierarchy] | None:
    """The trees by their names; None where none is given, so that an index keeps its own."""
    trees: dict[str, Hierarchy] = {}
    for one in given or ():
        name, sign, path = one.partition("=")
        if not name or not sign or not path:
            raise typer.BadParameter(f"--tree takes name=file, not {one}")
        try:
            trees[name] = Hierarchy.of(_source(Path(path)))
        except (OSError, ValueError, TypeError, pa.ArrowException) as error:
            raise FileError(f"{path} is no tree: {error}") from None
    return trees or None


def _source(path: Path) -> Any:
    from pyarrow import csv, parquet

    kind = path.suffix.lower()
    if kind == ".parquet":
        return parquet.read_table(path)
    if kind in (".csv", ".tsv"):
        parsing = csv.ParseOptions(delimiter="\t" if kind == ".tsv" else ",")
        converting = csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
        return csv.read_csv(path, parse_options=parsing, convert_options=converting)
    return json.loads(path.read_text(encoding="utf-8"))
