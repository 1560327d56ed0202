"""`auto` reads and writes within its arrays: its tests once more, with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategies import SOAK

_TESTS = Path(__file__).parents[1]
_BEYOND = """
import numpy as np
from remuda.jit import kernel

@kernel
def beyond(array, i):
    return array[i]

beyond(np.zeros(3), 5)
"""


def _checked(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "REMUDA_SOAK": "0"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_a_kernel_beyond_its_array_is_caught(tmp_path) -> None:
    script = tmp_path / "beyond.py"
    script.write_text(_BEYOND)
    assert "IndexError" in _checked(str(script)).stderr


@pytest.mark.soak
def test_auto_stays_within_bounds() -> None:
    """Reduced, the contract; `./run soak bounds` has all tests of `auto`, at their usual counts."""
    every = [str(_TESTS / "matchers"), str(_TESTS / "index" / "test_every_matcher.py")]
    some = [str(_TESTS / "matchers" / "test_contract.py")]
    found = _checked("-m", "pytest", "-p", "no:xdist", "-k", "auto", *(every if SOAK else some))
    print(found.stdout[-2000:])
    assert found.returncode == 0
