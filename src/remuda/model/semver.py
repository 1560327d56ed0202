"""SemVer 2.0.0: which texts are versions, and the order of its section 11."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = "(0|[1-9][0-9]*)"
_CORE = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER})?)?")
_BEFORE_RELEASE = re.compile(r"0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*")
_BUILD = re.compile(r"[0-9A-Za-z-]+")
_RELEASE = (1,)


class SemVerKey(NamedTuple):
    """A version without its build metadata; keys are equal and ordered as versions are.

    A number is its length and its digits, since there is none that is too long.
    """

    core: tuple[tuple[int, str], ...]
    stage: tuple[int | tuple[int, int, str], ...]

    def __str__(self) -> str:
        core = ".".join(digits for _, digits in self.core)
        identifiers = ".".join(one[2] for one in self.stage if isinstance(one, tuple))
        return f"{core}-{identifiers}" if identifiers else core


def semver_key(text: str, *, parts: bool = False, v: bool = False) -> SemVerKey | None:
    """The version that the text is; None where it is none.

    With `parts`, missing parts are 0; with `v`, a leading v is read.
    """
    version, has_build, build = (text.removeprefix("v") if v else text).partition("+")
    core, has_stage, stage = version.partition("-")
    found = _CORE.fullmatch(core)
    if found is None or not (parts or found[3]):
        return None
    if has_build and not all(map(_BUILD.fullmatch, build.split("."))):
        return None
    identifiers = stage.split(".") if has_stage else []
    if not all(map(_BEFORE_RELEASE.fullmatch, identifiers)):
        return None
    numbers = tuple((len(digits or "0"), digits or "0") for digits in found.groups())
    return SemVerKey(numbers, (0, *map(_rank, identifiers)) if has_stage else _RELEASE)


def _rank(identifier: str) -> tuple[int, int, str]:
    """Numbers come before words, and by their value."""
    return (0, len(identifier), identifier) if identifier.isdecimal() else (1, 0, identifier)
