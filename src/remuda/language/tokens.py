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
        TokenType.COMMA,
        TokenType.DASH,
        TokenType.DOT,
        TokenType.EQ,
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
_TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})  # before a string
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS})
_WORD = re.compile(r"\w+")
_HINTS = {
    "case": "combine conditions with AND, OR and NOT",
    "ilike": "RLIKE '(?i)...' ignores case",
    "interval": "compare with a DATE or a TIMESTAMP",
    "select": "a condition is read here, as after WHERE, not a query",
    "weekofyear": "Spark's weeks are ISO's; datetime(x, 'WEEK_OF_YEAR') counts US weeks",
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
        elif i and (kept[-1].token_type is TokenType.ALIAS or token.start == kept[-1].start):
            kept.append(token)  # the type of a CAST, or the suffix of a number such as 5L
        else:
            kept.append(_word(token, found[i + 1] if i + 1 < len(found) else None, text, functions))
    return kept


def beyond(what: str) -> str:
    """The reason for refusing `what`, with a hint where there is one."""
    hint = _HINTS.get(what.lower())
    return f"{what} is beyond this language" + (f": {hint}" if hint else "")


def _tokenize(text: str) -> list[Token]:
    try:
        found = DIALECT.tokenize(text)
    except TokenError as error:
        raise ParseError("a quotation or a comment has no end", text, _start(error, text)) from None
    if not found:
        raise ParseError("there is nothing to read; TRUE holds for every event", text, 0)
    if found[0].token_type in Spark.Tokenizer.COMMANDS:  # sqlglot has not read on behind it
        raise ParseError(beyond(found[0].text), text, found[0].start)
    return found


def _start(error: TokenError, text: str) -> int:
    """Where the quotation began, which sqlglot tells as line:column alone."""
    place = re.search(r"from (\d+):(\d+)", f"{error} {error.__cause__}")
    if place is None:
        return len(text)
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: int(place[1]) - 1])) + max(0, int(place[2]) - 1)


def _check_depth(found: list[Token], text: str) -> None:
    depth = prefixes = 0
    outer: list[int] = []  # the prefixes before each open bracket
    for token in found:
        kind = token.token_type
        if kind in _PREFIXES:
            depth, prefixes = depth + 1, prefixes + 1
        elif kind in _OPENING:
            outer.append(prefixes)
            depth, prefixes = depth + 1, 0
        else:
            depth, prefixes = depth - prefixes, 0
            if kind in _CLOSING and outer:
                depth, prefixes = depth - 1, outer.pop()
        if depth > MAX_DEPTH:
            raise ParseError(f"nested more than {MAX_DEPTH} levels deep", text, token.start)


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


def _word(token: Token, following: Token | None, text: str, functions: Collection[str]) -> Token:
    word, after = token.text, following.token_type if following else None
    quoted = token.token_type is TokenType.IDENTIFIER
    if not quoted and (not _WORD.fullmatch(word) or word.lower() in _HINTS):
        raise ParseError(beyond(word), text, token.start)
    if after is TokenType.STRING and word.upper() in _TYPED and not quoted:
        return token
    if after is not TokenType.L_PAREN:
        return _token(TokenType.IDENTIFIER, word, token, token.end)
    if word.lower() == "cast":
        return token
    if word.lower() not in functions:
        raise ParseError(f"there is no function {word} here", text, token.start)
    return _token(TokenType.VAR, FUNCTION + word.lower(), token, token.end)


def _token(kind: TokenType, text: str, at: Token, end: int) -> Token:
    return Token(kind, text, at.line, at.col, at.start, end)
