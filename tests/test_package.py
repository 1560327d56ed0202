"""The package as a whole: its public names, and what importing it brings along."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import remuda
from remuda import errors


def test_the_public_names_are_sorted_and_there() -> None:
    assert remuda.__all__ == sorted(remuda.__all__)
    assert all(hasattr(remuda, name) for name in remuda.__all__)
    assert set(remuda.__all__) == set(remuda._ROOM_OF) <= set(dir(remuda))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = remuda.nothing


def test_importing_brings_no_spark_and_no_command_line() -> None:
    heavy = {"pyspark", "pandas", "typer", "rich", "matplotlib", "starlette", "uvicorn", "httpx"}
    code = (
        "import remuda, sys; [getattr(remuda, name) for name in remuda.__all__]\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_names_for_spark_are_sorted_and_there() -> None:
    spark = pytest.importorskip("remuda.spark")
    assert spark.__all__ == sorted(spark.__all__) == sorted(spark._ROOM_OF)
    assert all(callable(getattr(spark, name)) for name in spark.__all__)


ERRORS = [
    errors.ParseError("unexpected )", "a = )", 4),
    errors.InvalidCriterion("the pattern is refused", "detail.regex", "c1"),
    errors.InvalidRegion("size(tags) is no plain attribute"),
    errors.DuplicateCriterion("c1"),
    errors.CriterionNotFound("c1"),
    errors.IndexNotFound("i"),
    errors.IndexExists("i"),
    errors.ExpansionError(10**20, 64),
    errors.NoSqlEquivalent("app version >= 2", "Spark has no version order"),
    errors.NoMustangEquivalent("tags", "Mustang has no tags"),
    errors.DeviceError("CUDA finds none", "install a driver"),
    errors.StorageError("x/y", "it is damaged"),
    errors.ServiceError(413, "it is too large", "r-1"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_come_back_whole_from_a_worker(error: errors.RemudaError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert isinstance(again, errors.RemudaError)


def test_every_error_is_tried() -> None:
    leaves = {one for one in vars(errors).values() if isinstance(one, type)}
    assert {type(error) for error in ERRORS} == leaves - {errors.RemudaError}


def test_parse_errors_point_with_a_caret() -> None:
    text = str(errors.ParseError("unexpected )", "x = 1 AND\n  a = )", 16))
    assert text == "unexpected )\n    a = )\n        ^"


CHECKS = ["ruff check", "ruff format", "mypy", "lint-imports", "remuda warmup", "pytest"]


@pytest.mark.parametrize("broken", [None, *CHECKS])
def test_any_check_that_fails_fails_the_tests(broken: str | None) -> None:
    """Linters stood in one line of `a && b`, after which bash goes on: none of them ever failed."""
    text = (Path(__file__).parents[1] / "run").read_text()
    function = text[text.index("run_tests() {") :].partition("\n}\n")[0] + "\n}\n"
    stub = '() {{ case "{0} $*" in "$BROKEN"*) return 3 ;; esac; }}'
    stubs = [
        f"{one}{stub.format(one)}" for one in ("ruff", "mypy", "lint-imports", "remuda", "pytest")
    ]
    script = "\n".join(["set -euo pipefail", function, *stubs, "run_tests"])
    done = subprocess.run(["bash", "-c", script], env={"BROKEN": broken or "none"}, check=False)
    assert done.returncode == (3 if broken else 0)
