"""The words of the text form: sqlglot's tokens, cut down to those that the language has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from remuda.errors import ParseError
from remuda.language.intervals import read_interval

DIALECT = Spark()
FUNCTION = "$"  # marks a function of ours, so that sqlglot takes it for none of its own
MAX_DEPTH = 200  # sqlglot reads by recursion, and its compiled build may not survive more

_KEYWORDS = frozenset(
    {
        TokenType.ALIAS,  # the AS of CAST
        TokenType.AND,
        TokenType.CASE,
        TokenType.BETWEEN,
        TokenType.DISTINCT,
        TokenType.DIV,
        TokenType.ESCAPE,
        TokenType.FALSE,
        TokenType.FROM,
        TokenType.ILIKE,
        TokenType.IN,
        TokenType.IS,
        TokenType.LIKE,
        TokenType.NOT,
        TokenType.NULL,
        TokenType.OR,
        TokenType.RLIKE,
        TokenType.TRUE,
    }
)
_SYMBOLS = frozenset(
    {
        TokenType.AMP,
        TokenType.ARROW,
        TokenType.CARET,
        TokenType.COMMA,
        TokenType.DASH,
        TokenType.DCOLON,
        TokenType.DOT,
        TokenType.DPIPE,
        TokenType.EQ,
        TokenType.FARROW,
        TokenType.GT,
        TokenType.GTE,
        TokenType.L_BRACKET,
        TokenType.L_PAREN,
        TokenType.LT,
        TokenType.LTE,
        TokenType.MOD,
        TokenType.NEQ,
        TokenType.NULLSAFE_EQ,
        TokenType.PIPE,
        TokenType.PLUS,
        TokenType.R_BRACKET,
        TokenType.R_PAREN,
        TokenType.SLASH,
        TokenType.STAR,
        TokenType.TILDE,
    }
)
_PLAIN = _KEYWORDS | _SYMBOLS | {TokenType.NUMBER, TokenType.RAW_STRING}
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})
_TYPES = _MOMENTS | {
    "TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG", "FLOAT", "REAL",
    "DOUBLE", "DECIMAL", "DEC", "NUMERIC", "STRING", "BOOLEAN",
}  # fmt: skip
_OF_CASE = frozenset({TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END})
_QUANTIFIERS = frozenset({TokenType.ANY, TokenType.ALL, TokenType.SOME})
_LIKES = frozenset({TokenType.LIKE, TokenType.ILIKE})
_CASTS = frozenset({"cast", "try_cast"})
_UNCALLED = frozenset({"current_date", "current_timestamp"})  # functions without parentheses
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
_VALUES = _CLOSING | {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER}
_QUOTED = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
_TRIMS = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}
_SPOKEN = {
    "substring": ("from", "for"),
    "substr": ("from", "for"),
    "overlay": ("placing", "from", "for"),
}
_WORD = re.compile(r"\w+")
_NOTHING = "there is nothing to read; TRUE holds for every event"
_HINTS = {
    "select": ": a condition is read here, as after WHERE, not a query",
}
# What EXTRACT calls the fields of a moment, and the functions that give them
FIELDS = {
    "year": "year", "y": "year", "years": "year", "yr": "year", "yrs": "year",
    "quarter": "quarter", "qtr": "quarter",
    "month": "month", "mon": "month", "mons": "month", "months": "month",
    "week": "weekofyear", "w": "weekofyear", "weeks": "weekofyear",
    "day": "day", "d": "day", "days": "day",
    "dayofweek": "dayofweek", "dow": "dayofweek", "doy": "dayofyear",
    "hour": "hour", "h": "hour", "hours": "hour", "hr": "hour", "hrs": "hour",
    "minute": "minute", "m": "minute", "min": "minute", "mins": "minute", "minutes": "minute",
    "second": "second_with_fraction", "s": "second_with_fraction", "sec": "second_with_fraction",
    "seconds": "second_with_fraction", "secs": "second_with_fraction",
}  # fmt: skip


def tokens(text: str, functions: Collection[str]) -> list[Token]:
    """The tokens of the text, where every word is a keyword, a function of ours or a name.

    sqlglot knows hundreds of keywords and functions more; all of them are names here, so none
    of its rewritings is ever met.
    """
    stream = _called(_without_frame(_tokenize(text), text))
    _check_depth(stream, text)
    kept: list[Token] = []
    n_cases = place = 0
    while place < len(stream):
        token, kind = stream[place], stream[place].token_type
        rewritten = _rewritten(stream, place, text)
        in_case = n_cases > 0
        n_cases += (kind is TokenType.CASE) - (kind is TokenType.END and in_case)
        if rewritten is not None:
            parts, place = rewritten
            kept += parts
            continue
        if (
            kind in _PLAIN
            or (kind in _OF_CASE and in_case)
            or (kind in _QUANTIFIERS and kept and kept[-1].token_type in _LIKES)
        ):
            kept.append(token)
        elif kind is TokenType.STRING:
            _add_string(kept, token, text)
        elif kept and token.start == kept[-1].start:
            kept.append(token)  # the suffix of a number such as 5L
        elif kept and kept[-1].token_type in (TokenType.ALIAS, TokenType.DCOLON):
            kept.append(_type(token, text))
        else:
            following = stream[place + 1] if place + 1 < len(stream) else None
            kept.append(_word(token, following, text, functions))
        place += 1
    return kept


def _without_frame(found: list[Token], text: str) -> list[Token]:
    """The tokens without a leading WHERE and semicolons at the end."""
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found = found[:-1]
    if found and found[0].token_type is TokenType.WHERE and len(found) > 1:
        found = found[1:]
    if not found:
        raise ParseError(_NOTHING, text, 0)
    return found


def _called(found: list[Token]) -> list[Token]:
    """The tokens where calls that SQL writes with words have commas instead.

    `trim(BOTH x FROM s)` is `trim(x, s)`; `like(a, b)` is a function, where LIKE would be none.
    """
    kept: list[Token] = []
    place = 0
    while place < len(found):
        token, word = found[place], found[place].text.lower()
        is_call = _kind(found, place + 1) is TokenType.L_PAREN
        if token.token_type in _LIKES and is_call and not _follows_value(kept):
            token = _token(TokenType.VAR, word, token, token.end)
        elif word == "unknown" and kept and _follows_is(kept):
            token = _token(TokenType.NULL, "NULL", token, token.end)
        kept.append(token)
        place += 1
        if is_call and (word == "trim" or word in _SPOKEN):
            end = _end_of_call(found, place)
            inner = found[place + 1 : end]
            if word == "trim":
                kept[-1], inner = _trim(token, inner)
            else:
                inner = [_comma(one, i, inner, _SPOKEN[word]) for i, one in enumerate(inner)]
            kept += [found[place], *_called(inner)]
            place = end
    return kept


def _kind(found: Sequence[Token], at: int) -> TokenType | None:
    return found[at].token_type if at < len(found) else None


def _follows_value(kept: Sequence[Token]) -> bool:
    """Whether the last token ends a value, perhaps with a NOT behind it."""
    last = [one.token_type for one in kept if one.token_type is not TokenType.NOT]
    return bool(last) and last[-1] in _VALUES and kept[-1].token_type in {TokenType.NOT, last[-1]}


def _follows_is(kept: Sequence[Token]) -> bool:
    kinds = [one.token_type for one in kept[-2:]]
    return kinds[-1] is TokenType.IS or kinds == [TokenType.IS, TokenType.NOT]


def _end_of_call(found: Sequence[Token], at: int) -> int:
    """Where the parenthesis that opens here is closed, or the end."""
    depth = 0
    for i in range(at, len(found)):
        kind = found[i].token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth == 0:
            return i
    return len(found)


def _depth(inner: Sequence[Token], at: int) -> int:
    return sum((one.token_type in _OPENING) - (one.token_type in _CLOSING) for one in inner[:at])


def _comma(token: Token, at: int, inner: Sequence[Token], words: Sequence[str]) -> Token:
    is_word = token.token_type not in _QUOTED and token.text.lower() in words
    if not is_word or _depth(inner, at):
        return token
    return _token(TokenType.COMMA, ",", token, token.end)


def _trim(name: Token, inner: list[Token]) -> tuple[Token, list[Token]]:
    """The function's name and its arguments: what is cut off, and behind it the text."""
    places = [i for i, one in enumerate(inner) if one.token_type is TokenType.FROM]
    place = next((i for i in places if _depth(inner, i) == 0), None)
    if place is None:
        return name, inner
    first = inner[0].text.lower()
    is_side = first in _TRIMS and inner[0].token_type not in _QUOTED
    if is_side:
        name = _token(TokenType.VAR, _TRIMS[first], name, name.end)
    cut, comma = inner[is_side:place], _token(TokenType.COMMA, ",", inner[place], inner[place].end)
    return name, [*([*cut, comma] if cut else []), *inner[place + 1 :]]


def _rewritten(found: Sequence[Token], at: int, text: str) -> tuple[list[Token], int] | None:
    """What SQL writes in a way of its own as a call, and the place behind it; None for all else."""
    token = found[at]
    kinds = [one.token_type for one in found[at + 1 : at + 4]]
    word = token.text.lower()
    if token.token_type is TokenType.INTERVAL and kinds[:1] != [TokenType.L_PAREN]:
        parts, end = read_interval(found, at + 1, text)
        return _call("interval", [str(part) for part in parts], token), end
    if token.token_type is TokenType.IDENTIFIER:
        return None
    if word in _UNCALLED and kinds[:1] != [TokenType.L_PAREN]:
        return _call(word, [], token), at + 1
    if word == "extract" and kinds[:1] == [TokenType.L_PAREN] and kinds[2:] == [TokenType.FROM]:
        field = found[at + 2]
        if field.text.lower() not in FIELDS:
            raise ParseError(f"EXTRACT has no field {field.text}", text, field.start)
        name = _token(TokenType.VAR, FUNCTION + FIELDS[field.text.lower()], token, token.end)
        return [name, found[at + 1]], at + 4
    return None


def _call(name: str, numbers: Sequence[str], at: Token) -> list[Token]:
    """The tokens of a call of one of our functions."""
    parts = [_token(TokenType.VAR, FUNCTION + name, at, at.end)]
    parts.append(_token(TokenType.L_PAREN, "(", at, at.end))
    for i, number in enumerate(numbers):
        if i:
            parts.append(_token(TokenType.COMMA, ",", at, at.end))
        if number.startswith("-"):
            parts.append(_token(TokenType.DASH, "-", at, at.end))
        parts.append(_token(TokenType.NUMBER, number.lstrip("-"), at, at.end))
    return [*parts, _token(TokenType.R_PAREN, ")", at, at.end)]


def _tokenize(text: str) -> list[Token]:
    try:
        stream = DIALECT.tokenize(text)
    except TokenError as error:
        raise ParseError("a quotation or a comment has no end", text, _start(error, text)) from None
    if not stream:
        raise ParseError(_NOTHING, text, 0)
    if stream[0].token_type in Spark.Tokenizer.COMMANDS:  # sqlglot has not read on behind it
        reason = f"{stream[0].text} is a command of SQL; back-quotes make a name of it"
        raise ParseError(reason, text, stream[0].start)
    return stream


def _start(error: TokenError, text: str) -> int:
    """Where the quotation or the comment began."""
    place = re.search(r"from \d+:(\d+)", f"{error.__cause__} {error.__context__}")
    return int(place[1]) if place else max(text.rfind("/*"), 0)


def _check_depth(found: list[Token], text: str) -> None:
    """Refuse what sqlglot would read by recursion, level by level."""
    depth = prefixes = chained = brackets = 0
    outer: list[int] = []  # the prefixes before each open parenthesis or bracket
    previous = None
    for token in found:
        kind = token.token_type
        brackets += (kind is TokenType.L_BRACKET) - (kind is TokenType.R_BRACKET)
        if kind in _PREFIXES:
            depth, prefixes = depth + 1, prefixes + 1
        elif kind in _OPENING:
            outer.append(prefixes)
            depth, prefixes = depth + 1, 0
            chained += kind is TokenType.L_BRACKET and previous in _CLOSING  # as in a[0][0]
        else:
            depth, prefixes = depth - prefixes, 0
            if kind in _CLOSING and outer:
                depth, prefixes = depth - 1, outer.pop()
            elif brackets <= 0:
                chained = 0
        if depth + chained > MAX_DEPTH:
            raise ParseError(f"nested more than {MAX_DEPTH} levels deep", text, token.start)
        previous = kind


def _add_string(kept: list[Token], token: Token, text: str) -> None:
    """Join 'it' and 's', as sqlglot reads 'it''s', into one string."""
    before = kept[-1] if kept else None
    quote = text[token.start]
    if (
        before is None
        or before.token_type is not TokenType.STRING
        or before.end + 1 != token.start
        or text[before.start] != quote
    ):
        kept.append(token)
    else:
        kept[-1] = _token(TokenType.STRING, before.text + quote + token.text, before, token.end)


def _type(token: Token, text: str) -> Token:
    """The type of a CAST; types made of types are as deep as anyone likes, so none is read."""
    if token.text.upper() not in _TYPES:
        raise ParseError(
            f"AS stands in CAST alone, and {token.text} is no type for it", text, token.start
        )
    return token


def _word(token: Token, following: Token | None, text: str, functions: Collection[str]) -> Token:
    word, after = token.text, following.token_type if following else None
    quoted = token.token_type is TokenType.IDENTIFIER
    if not quoted and (not _WORD.fullmatch(word) or word.lower() in _HINTS):
        hint = _HINTS.get(word.lower(), "")
        raise ParseError(f"{word} is beyond this language{hint}", text, token.start)
    if after is TokenType.STRING and word.upper() in _MOMENTS and not quoted:
        return token
    if after is not TokenType.L_PAREN:
        return _token(TokenType.IDENTIFIER, word, token, token.end)
    if word.lower() in _CASTS:
        return token
    if word.lower() not in functions:
        raise ParseError(_unknown(word, functions), text, token.start)
    return _token(TokenType.VAR, FUNCTION + word.lower(), token, token.end)


def _token(kind: TokenType, text: str, at: Token, end: int) -> Token:
    return Token(kind, text, at.line, at.col, at.start, end)


_AGGREGATES = frozenset({
    "any", "any_value", "approx_count_distinct", "array_agg", "avg", "bool_and", "bool_or",
    "collect_list", "collect_set", "count", "count_if", "every", "first", "last", "lag", "lead",
    "max", "mean", "median", "min", "percentile", "rank", "row_number", "some", "stddev", "sum",
    "variance",
})  # fmt: skip
_AT_RANDOM = frozenset(
    {"rand", "randn", "random", "shuffle", "uuid", "monotonically_increasing_id"}
)
_OF_LAMBDAS = frozenset({"aggregate", "filter", "reduce", "transform", "zip_with"})


def _unknown(word: str, functions: Collection[str]) -> str:
    if word.lower() in _AGGREGATES:
        return f"{word} is an aggregate: a criterion looks at one event"
    if word.lower() in _AT_RANDOM:
        return f"{word} gives another value each time: a criterion is true of an event or not"
    if word.lower() in _OF_LAMBDAS:
        return f"{word} is not read: exists(x, e -> …) and forall(x, e -> …) ask about elements"
    if word.lower() == "typeof":
        return "typeof is not read: an event has values, and no types of its own"
    near = difflib.get_close_matches(word.lower(), sorted(functions), n=3, cutoff=0.7)
    hint = f"; near it are {', '.join(near)}" if near else ""
    return f"there is no function {word}{hint}; docs/language.md lists all of them"


def place_of_name(text: str, path: str) -> int | None:
    """Where a dotted path first stands in the text; None where it is spelt in another way."""
    stream = _tokenize(text)
    i = 0
    while i < len(stream):
        end, spelt = i + 1, stream[i].text
        while end + 1 < len(stream) and stream[end].token_type is TokenType.DOT:
            spelt += f".{stream[end + 1].text}"
            end += 2
        is_name = stream[i].token_type not in (TokenType.STRING, TokenType.NUMBER)
        if is_name and path in (spelt, f"$['{spelt}']"):
            return int(stream[i].start)
        i = end
    return None
