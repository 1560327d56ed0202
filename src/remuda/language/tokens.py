"""The words of the text form: sqlglot's tokens, cut down to those that the language has."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from remuda.errors import ParseError

DIALECT = Spark()
FUNCTION = "$"  # marks a function of ours, so that sqlglot takes it for none of its own
MAX_DEPTH = 200  # sqlglot reads by recursion, and its compiled build may not survive more

_KEYWORDS = frozenset(
    {
        TokenType.ALIAS,  # the AS of CAST
        TokenType.AND,
        TokenType.BETWEEN,
        TokenType.DISTINCT,
        TokenType.DIV,
        TokenType.ESCAPE,
        TokenType.FALSE,
        TokenType.FROM,
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
        TokenType.ARROW,
        TokenType.COMMA,
        TokenType.DASH,
        TokenType.DOT,
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
        TokenType.PLUS,
        TokenType.R_BRACKET,
        TokenType.R_PAREN,
        TokenType.STAR,
    }
)
_PLAIN = _KEYWORDS | _SYMBOLS | {TokenType.NUMBER, TokenType.RAW_STRING}
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})
_TYPES = _MOMENTS | {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"}
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS})
_WORD = re.compile(r"\w+")
_HINTS = {
    "case": ": combine conditions with AND, OR and NOT",
    "ilike": ": RLIKE '(?i)...' ignores case",
    "interval": ": compare with a DATE or a TIMESTAMP",
    "select": ": a condition is read here, as after WHERE, not a query",
}
_FUNCTION_HINTS = {
    "weekofyear": "; Spark's weeks are ISO's, and datetime(x, 'WEEK_OF_YEAR') counts US weeks",
}


def tokens(text: str, functions: Collection[str]) -> list[Token]:
    """The tokens of the text, where every word is a keyword, a function of ours or a name.

    sqlglot knows hundreds of keywords and functions more; all of them are names here, so none
    of its rewritings is ever met.
    """
    found = _tokenize(text)
    _check_depth(found, text)
    kept: list[Token] = []
    for i, token in enumerate(found):
        kind = token.token_type
        if kind in _PLAIN:
            kept.append(token)
        elif kind is TokenType.STRING:
            _add_string(kept, token, text)
        elif i and token.start == kept[-1].start:
            kept.append(token)  # the suffix of a number such as 5L
        elif i and kept[-1].token_type is TokenType.ALIAS:
            kept.append(_type(token, text))
        else:
            kept.append(_word(token, found[i + 1] if i + 1 < len(found) else None, text, functions))
    return kept


def _tokenize(text: str) -> list[Token]:
    try:
        found = DIALECT.tokenize(text)
    except TokenError as error:
        raise ParseError("a quotation or a comment has no end", text, _start(error, text)) from None
    if not found:
        raise ParseError("there is nothing to read; TRUE holds for every event", text, 0)
    if found[0].token_type in Spark.Tokenizer.COMMANDS:  # sqlglot has not read on behind it
        reason = f"{found[0].text} is a command of SQL; back-quotes make a name of it"
        raise ParseError(reason, text, found[0].start)
    return found


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
    if word.lower() == "cast":
        return token
    if word.lower() not in functions:
        hint = _FUNCTION_HINTS.get(word.lower(), "")
        raise ParseError(f"there is no function {word} here{hint}", text, token.start)
    return _token(TokenType.VAR, FUNCTION + word.lower(), token, token.end)


def _token(kind: TokenType, text: str, at: Token, end: int) -> Token:
    return Token(kind, text, at.line, at.col, at.start, end)
