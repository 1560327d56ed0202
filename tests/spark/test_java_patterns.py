"""RLIKE, Spark itself being the referee: what is translated for RE2 finds what Java finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remuda.errors import ParseError
from remuda.language.spelling import string
from remuda.language.text import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATTERNS = [
    "a", "^a$", "a$", "^$", "b$|^c", "(^|,)a(,|$)", r"a\Z", r"a\z", r"\Aa", "a.b", "(?s)a.b",
    "(?d)a.b", "(?d)a$", "^.$", "^.*$", "a.*b", r"^\s$", r"^\S$", r"\s", r"\h", r"\H", r"^\v$",
    r"\V", r"a\Rb", r"^\R$", r"^\d+$", r"\w", r"\W", r"\D", r"\bab\b", "(?i)ab", "(?i)K",
    "(?i)s", "(?i)É", "(?i:a)b", "a(?i)b|c", "(?i)a(?-i)b", "(?i)[^a]", "(?i)[a-c]", "(?i)[^b-z]",
    "[a&&b]", "[a-z&&[^aeiou]]", "^[a-z&&[def]]$", "[a-c[x-z]]", "^[^a-c[x-z]]$", "[^a&&b]",
    "^[^a-z&&[aeiou]]$", "^[a-z&&a-c]$", "^[a-d&&[b-z]&&[^c]]$", "[&]", "[a&b]", "[]a]", "[a-]",
    "[-a]", "[a^]", r"[\]]", r"[\s&&[^\n]]", r"^[^\s]$", r"[\d.]", r"[\w-]", r"^\p{Lower}$",
    r"^\p{Upper}$", r"^\p{Alpha}+$", r"^\p{Digit}$", r"^\p{Alnum}$", r"^\p{Punct}$", r"^\p{Graph}$",
    r"^\p{Print}$", r"^\p{Blank}$", r"^\p{Cntrl}$", r"^\p{XDigit}$", r"^\p{Space}$", r"^\p{ASCII}$",
    r"^\P{Alpha}$", r"^\p{L}$", r"^\pL$", r"^\P{L}$", r"^\p{Lu}$", r"^\p{IsL}$", r"^\p{IsGreek}$",
    r"^\p{IsLatin}$", r"^[\p{L}\d]$", r"^\p{Zs}$", r"\x41", r"\x{1F600}", r"\u0041", r"\0101",
    r"\ud83d\ude00", r"\cA", r"\e", r"\Qa.b\E", r"\Qa.b", r"\.", r"\-", r"\_", "a{2}", "a{1,2}?",
    "a{2,}", "(ab)+", "(?:ab)*c", "(?<name>a)b", "a|", "()", "}", "]", "a}", "a??", "é", "日本",
    "^日.$", r"^[\u4e00-\u9fff]+$", r"(a|b$)", r"x*", "a\nb", "[ab\n]", r"^(?:a|b)$",
    r"^[\p{Alpha}&&[^a]]$", r"(?i)^\p{Lower}$", r"(?i)^\p{Upper}$", r"^[\h]$", r"^[\v]$",
]  # fmt: skip
REFUSED = {
    "(?=a)": "looking ahead", "(?<=a)b": "looking behind", "(?<!a)b": "looking behind",
    "(?>a)b": "never gives back", "a*+": "never gives back", "a++": "never gives back",
    r"(a)\1": "found before", r"(?<n>a)\k<n>": r"\\k", "(?m)^a$": "flag m", "(?x)a b": "flag x",
    "a$b": "behind it", r"(a$)b": "behind it", r"\G": r"\\G", r"\X": r"\\X", "a**": "in a row",
    r"[\R]": r"\\R", r"\B": r"\\B",
    "*a": "to repeat", "a{": "without a count", "a{,2}": "without a count", "(a": r"without its \)",
    "a)": r"without its \(", "[a": "without its ]", r"\p{javaLowerCase}": "javaLowerCase",
    r"\p{InGreek}": "InGreek", r"\y": r"\\y", "a{2}+": "never gives back",
    "[z-a]": "before it begins",
    r"[^\p{L}]": "cannot be denied", r"\p{Nope}": "Nope", "(?i)\\p{Lu}": "without case",
}  # fmt: skip
TEXTS = [
    "", "a", "b", "c", "d", "x", "z", "ab", "AB", "aB", "Ab", "abc", "ba", "aab", "a\n", "a\r",
    "a\r\n",
    "a\n\n", "a\x85", "a\u2028", "b\n", "\n", "\r\n", "\r", "\x0b", "\f", "\x85", "\u2028", "\t",
    " ", "\xa0",
    "\u2003", "\u3000", "a\nb", "a\rb", "a\x85b", "a\u2029b", "a\r\nb", "a b", "a.b", "a,b",
    "b,a,b",
    "1", "12", "-", "_", ".", "]", "[", "^", "&", "}", "é", "É", "ß", "ı", "İ", "ſ", "\u212a", "K",
    "k", "s",
    "S", "日本", "日a", "\u03b1", "Α", "😀", "\x01", "\x1b", "\x7f", "A", "e", "!", "~", "0", "f",
    "g", "ǅ",
]  # fmt: skip


DIFFERENT = "$", "\r\n"  # where a pattern takes the \r itself: docs/limits.md names it


def test_finds_what_java_finds(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(text,) for text in TEXTS], "x string")
    rows = frame.selectExpr("x", *(f"x RLIKE {string(one)}" for one in PATTERNS)).collect()
    wrong = []
    for i, pattern in enumerate(PATTERNS):
        read = parse(f"x RLIKE {string(pattern)}")
        wrong += [
            (pattern, row[0])
            for row in rows
            if read.holds({"x": row[0]}) != row[i + 1] and (pattern[-1], row[0]) != DIFFERENT
        ]
    assert wrong == []


@pytest.mark.parametrize(("pattern", "reason"), REFUSED.items(), ids=list(REFUSED))
def test_refuses_what_re2_cannot_say(pattern: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason) as error:
        parse(f"x RLIKE {string(pattern)}")
    assert error.value.column == len("x RLIKE ")
