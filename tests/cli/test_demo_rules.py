"""Demos and benchmarks on rules that others wrote, with a folder of a few."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from cli.commands import run
from remuda.cli.files import FileError
from remuda.cli.rule_folders import read_folder

RULE = """
title: Shell
id: aaaaaaaa-0000-0000-0000-000000000001
logsource: {product: windows}
detection:
    shell: {Image|endswith: cmd.exe}
    condition: shell
"""
PLACEHOLDER = (
    RULE.replace("cmd.exe", "'%shells%'").replace("|endswith", "|expand").replace("01", "02")
)


@pytest.fixture
def sigma(tmp_path: Path) -> Path:
    with tarfile.open(tmp_path / "rules.tar.gz", "w:gz") as packed:
        for name, text in (("rules/a.yml", RULE), ("rules/b.yml", PLACEHOLDER)):
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    with gzip.open(tmp_path / "lane.jsonl.gz", "wt") as lines:
        lines.write(
            '{"Image": "C:\\\\CMD.exe"}\n{"Image": "x"}\n{"events": [{"Image": "cmd.exe"}]}\n'
        )
    return tmp_path


@pytest.fixture
def adblock(tmp_path: Path) -> Path:
    (tmp_path / "list.txt").write_text("! a comment\n||ads.com^\n||x.com^$csp=y\n##.banner\n")
    requests = [{"url": "https://a.ads.com/", "sourceUrl": "https://b.com/", "type": "image"}]
    (tmp_path / "requests.json").write_text(json.dumps(requests))
    return tmp_path


def test_rules_and_events_of_a_folder_are_read(sigma: Path) -> None:
    found = read_folder("sigma", sigma)
    assert [one.id for one in found.criteria] == ["aaaaaaaa-0000-0000-0000-000000000001"]
    assert ["placeholder %shells%" in error.reason for error in found.errors] == [True]
    assert [len(events) for events in found.events.values()] == [3]


def test_a_folder_without_rules_says_what_to_get(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="adblock wants lists of filters"):
        read_folder("adblock", tmp_path)


def test_the_demo_of_sigma_shows_what_was_found(sigma: Path) -> None:
    shown = run("demo", "sigma", sigma)
    assert shown.exit_code == 0, shown.output
    assert "1 rules read, 1 refused" in shown.output
    assert "2 matches of 3 events" in shown.output
    assert "3 pairs of a rule and an event: all as they should be" in shown.output


def test_the_demo_of_adblock_shows_what_was_found(adblock: Path) -> None:
    shown = run("demo", "adblock", adblock)
    assert shown.exit_code == 0, shown.output
    assert "||ads.com^" in shown.output
    assert "1 matches of 1 events" in shown.output


@pytest.mark.parametrize("words", [("xml", "x"), ("sigma",)])
def test_a_demo_that_there_is_not_is_wrong_usage(words: tuple[str, ...]) -> None:
    assert run("demo", *words).exit_code == 2
