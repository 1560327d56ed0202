"""Functions of terms, by Spark's names: Spark's meaning with ANSI on, missing where Spark fails."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.model.functions.comparing import ABOVE, BELOW, COMPARING, EQUAL
from remuda.model.functions.function import Function

__all__ = ["ABOVE", "BELOW", "EQUAL", "FUNCTIONS", "Function"]

FUNCTIONS: Mapping[str, Function] = {one.name: one for one in COMPARING}
