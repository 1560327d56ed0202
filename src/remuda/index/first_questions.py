"""What the first questions would wait for: kernels that are compiled, or loaded, ahead."""

from __future__ import annotations

from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.text import parse


def ask_first(matcher: str = "auto") -> None:
    """Ask and change a small index of its own, so that whoever comes next waits for nothing."""
    index = Index.build([Criterion("a", parse("a = 1 OR b > 2 OR c LIKE '%d%'"))], matcher=matcher)
    index.match({"a": 1, "c": "d"})
    index.match_many([{"a": 1}])
    index.top({"a": 1}, 1)
    index.update(Criterion("b", parse("b = 1")))
    index.remove("a")
    index.merge()  # loading its kernels would hold up all who ask
