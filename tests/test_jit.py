"""Compiled kernels: kept by what they are made of, and never in the way."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import event

from remuda import jit
from remuda.arrays import Ragged, ragged

_CONSTANT = "import numpy as np\n\nLIMIT = {limit}\n"
_KERNELS = """
from remuda.jit import inlined, kernel
from remuda_constants import LIMIT

@inlined
def _above(x):
    return x {comparison} LIMIT

@kernel
def above(x):
    return _above(x) and (_above(9) or _above(x + 1))
"""
_WRITES = """
from remuda.arrays import ragged
from remuda.jit import kernel

@kernel
def write(rows):
    rows.items[0] = 1

write(ragged([[1]]))
"""
_ANSWER = """
import remuda as rm
index = rm.Index.build([rm.Criterion("x", rm.parse("a > 1"))], matcher="scan")
print(index.match({"a": 2}))
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept" / "remuda"


@pytest.fixture(autouse=True)
def _said_anew() -> None:
    jit._say_once.cache_clear()


def _imported(folder: Path, limit: int | str = 3, comparison: str = ">") -> Any:
    """The kernel of a copy of the two modules, as another process would see it."""
    folder.mkdir()
    texts = {"remuda_constants": _CONSTANT.format(limit=limit)}
    texts["kernels_of_a_test"] = _KERNELS.format(comparison=comparison)
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec
        assert spec.loader
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    for name in texts:
        del sys.modules[name]
    return module.above


def _hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_a_copy_of_the_sources_finds_what_another_copy_compiled(tmp_path, kept) -> None:
    assert _imported(tmp_path / "one")(4)
    again = _imported(tmp_path / "two")
    assert again(4)
    assert _hits(again) == 1


def test_what_python_calls_stays_alive(tmp_path, kept) -> None:
    """Numba's caller only borrows an entry."""
    for name in ("compiled", "loaded"):
        kernel = _imported(tmp_path / name)
        assert kernel(4)
        gc.collect()
        assert [kernel(i) for i in range(2, 6)] == [False, False, True, True]


def test_literals_and_numbers_have_one_body(tmp_path, kept) -> None:
    _imported(tmp_path / "one")(4)
    assert len(list(kept.glob("_above-*"))) == 1
    assert len(list(kept.glob("above-*"))) == 2  # its body, and what Python calls


def test_frozen_arrays_and_others_have_one_form(kept) -> None:
    @jit.kernel
    def total(rows: Ragged) -> int:
        return rows.starts[-1] + rows.items.sum()

    frozen = ragged([[1, 2], [3]])
    thawed = Ragged(frozen.starts.copy(), frozen.items.copy())
    several = frozen, thawed, Ragged(frozen.starts, thawed.items)
    assert [total(rows) for rows in several] == [9, 9, 9]
    assert len(list(kept.glob("total-*"))) == 2  # its body, and what Python calls


def test_with_checked_bounds_nothing_is_written_to_what_is_frozen(tmp_path) -> None:
    (tmp_path / "writes.py").write_text(_WRITES)
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run(
        [sys.executable, "writes.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"readonly" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("change", "answer"),
    [({"limit": 5}, False), ({"comparison": "<"}, False)],
    ids=["a constant of another module", "a kernel that it calls"],
)
def test_what_a_kernel_uses_is_part_of_it(change, answer, tmp_path, kept) -> None:
    assert _imported(tmp_path / "one")(4)
    changed = _imported(tmp_path / "two", **change)
    assert changed(4) is answer
    assert _hits(changed) == 0


def test_functions_of_numba_are_compiled_once_for_kernels_of_several_kinds(kept) -> None:
    @jit.holding
    def inner(n: int) -> int:
        return len(np.zeros(n, np.int16)) + min(n, 7)

    @jit.kernel
    def outer(n: int) -> int:
        return inner(n) + len(np.zeros(n, np.int16)) + min(n, 8)

    compiled = []
    with event.install_listener("numba:compile", _Noting(compiled)):
        assert outer(3) == 12
    assert compiled
    assert len(compiled) == len(set(compiled))


class _Noting(event.Listener):
    def __init__(self, compiled: list[Any]) -> None:
        self.compiled = compiled

    def on_start(self, event: Any) -> None:
        loop = event.data["dispatcher"].py_func
        if loop.__module__.startswith("numba"):
            self.compiled.append((loop.__code__, str(event.data["args"])))

    def on_end(self, event: Any) -> None:
        pass


def test_numbers_of_numpy_are_told_apart_by_their_values(tmp_path, kept) -> None:
    assert _imported(tmp_path / "one", limit="np.uint64(3)")(4)
    changed = _imported(tmp_path / "two", limit="np.uint64(5)")
    assert not changed(4)
    assert _hits(changed) == 0


@pytest.mark.parametrize("damage", [b"", b"torn", None], ids=["empty", "torn", "flipped"])
def test_a_damaged_file_is_compiled_anew_and_mended(damage, tmp_path, kept) -> None:
    _imported(tmp_path / "one")(4)
    for path in kept.glob("*.kernel"):
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 1
        path.write_bytes(bytes(body) if damage is None else damage)
    again = _imported(tmp_path / "two")
    assert again(4)
    assert _hits(again) == 0
    third = _imported(tmp_path / "three")
    assert third(4)
    assert _hits(third) == 1


def test_what_was_kept_in_another_form_is_compiled_anew(tmp_path, kept) -> None:
    _imported(tmp_path / "one")(4)
    for path in kept.glob("*.kernel"):
        body = pickle.dumps(("of", "another", "form"))
        path.write_bytes(hashlib.sha256(body).digest() + body)
    again = _imported(tmp_path / "two")
    assert again(4)
    assert _hits(again) == 0


def test_a_warmed_folder_that_cannot_be_written_is_used(tmp_path, kept, monkeypatch) -> None:
    _imported(tmp_path / "one")(4)
    monkeypatch.setattr(jit, "_written", lambda *_: False)
    again = _imported(tmp_path / "two")
    assert again(4)
    assert _hits(again) == 1


def test_nowhere_to_write_is_said_once(tmp_path, monkeypatch, caplog) -> None:
    occupied = tmp_path / "a-file"
    occupied.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(occupied))
    with caplog.at_level(logging.WARNING, "remuda"):
        assert _imported(tmp_path / "one")(4)
        assert _imported(tmp_path / "two")(4.5)
    lines = [record.getMessage() for record in caplog.records if "not kept" in record.getMessage()]
    assert len(lines) == 1
    assert str(occupied) in lines[0]


def test_it_runs_where_nothing_can_be_kept(tmp_path) -> None:
    """As with a read-only package and no home: a file stands where the folder would be."""
    occupied = tmp_path / "a-file"
    occupied.touch()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(occupied)}
    found = subprocess.run(
        [sys.executable, "-c", _ANSWER], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout == "['x']\n"


def test_old_kernels_make_room(tmp_path, kept, monkeypatch) -> None:
    monkeypatch.setattr(jit, "_MOST_KEPT", 4)
    kept.mkdir(parents=True)
    for i in range(9):
        (kept / f"old-{i}.kernel").touch()
        os.utime(kept / f"old-{i}.kernel", (i, i))
    _imported(tmp_path / "one")(4)
    left = {path.name for path in kept.glob("old-*")}
    assert left <= {"old-7.kernel", "old-8.kernel"}


def test_no_home_is_no_error(monkeypatch) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert jit._folders() == [Path(jit.__file__).parent / "__pycache__" / "kernels"]
