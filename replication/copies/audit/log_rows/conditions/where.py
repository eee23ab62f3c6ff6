"""Reads the option `where`: conditions as in SQL, on the columns that spare reading."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

from replication.copies.audit.log_rows.conditions.column_condition import (
    CONDITIONED,
    NULLABLE,
    NUMBERS,
    SIGNS,
    TEXTS,
    TIMESTAMP,
    TIMESTAMP_MS,
    Constant,
    among,
    compared,
    is_null,
    like,
)
from replication.copies.audit.log_rows.conditions.condition import OPPOSITES, AllOf, AnyOf, Condition
from replication.copies.audit.log_rows.conditions.key_condition import KEY

ALLOWED: Final = (
    "conditions with AND, OR, NOT and parentheses, each with =, !=, <, <=, >, >=, IN (...), BETWEEN ... AND ..., "
    f"LIKE, or of {' and '.join(NULLABLE)} IS NULL, on {', '.join(CONDITIONED)}: "
    "topic LIKE 'orders%' AND offset BETWEEN 1000 AND 1999"
)
_TOKEN: Final = re.compile(
    r"\s*(?:(-?\d+)|[Xx]'((?:[0-9A-Fa-f]{2})*)'|'((?:[^']|'')*)'|([A-Za-z_]\w*)|(<=|>=|<>|!=|==|[=<>(),]))", re.ASCII
)
_ESCAPES: Final = re.compile(r"(?:[^\\]|\\[%_\\])*", re.DOTALL)
"""A pattern in which a backslash stands before what it takes the meaning from."""
_SAME: Final = {"<>": "!=", "==": "="}
_MOST_DIGITS: Final = 38
"""Of a number, as Spark has them at most."""
_QUOTED: Final = 40
"""Characters of the condition, in one message."""
_DEEPEST: Final = 50
"""Parentheses within parentheses."""


class WhereError(ValueError):
    """The text is no such condition."""


def parse_where(text: str) -> Condition:
    """Read a condition. Raises WhereError.

    >>> parse_where("offset >= 7 AND topic = 'orders'").limits("offset")
    (7, None)
    """
    parser = _Parser(_tokens(text))
    condition = parser.any_of(0, is_negated=False)
    parser.end()
    return condition


class Token:
    """A number, a text, bytes, or a word or sign in capital letters."""

    __slots__ = ("literal", "word")

    def __init__(self, literal: str | int | bytes | None, word: str | None) -> None:
        self.literal = literal
        self.word = word


def _tokens(text: str) -> list[Token]:
    tokens, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        found = _TOKEN.match(stripped, position)
        if found is None:
            raise WhereError(f"{_brief(stripped[position:])!r} is not understood")
        *literal, word, sign = found.groups()
        tokens.append(Token(_literal(*literal), word or _SAME.get(sign, sign)))
        position = found.end()
    return tokens


def _literal(number: str | None, digits: str | None, quoted: str | None) -> str | int | bytes | None:
    if number is not None:
        if len(number) > _MOST_DIGITS:
            raise WhereError(f"{_brief(number)} has more than {_MOST_DIGITS} digits")
        return int(number)
    if digits is not None:
        return bytes.fromhex(digits)
    return None if quoted is None else quoted.replace("''", "'")


class _Parser:
    """Reads conditions; what is negated is turned into what holds instead, as of NULL neither does."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def any_of(self, depth: int, *, is_negated: bool) -> Condition:
        """Read conditions with OR between."""
        return self._parts("OR", lambda: self._all_of(depth, is_negated=is_negated), AllOf if is_negated else AnyOf)

    def end(self) -> None:
        """Raise WhereError where anything follows."""
        if self._next < len(self._tokens):
            raise WhereError("something follows the condition")

    def _all_of(self, depth: int, *, is_negated: bool) -> Condition:
        return self._parts("AND", lambda: self._factor(depth, is_negated=is_negated), AnyOf if is_negated else AllOf)

    def _parts(self, word: str, read: Callable[[], Condition], join: type[AllOf] | type[AnyOf]) -> Condition:
        parts = [read()]
        while self._takes(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else join(tuple(parts))

    def _factor(self, depth: int, *, is_negated: bool) -> Condition:
        while self._takes("NOT"):
            is_negated = not is_negated
        if not self._takes("("):
            return self._comparison(is_negated=is_negated)
        if depth == _DEEPEST:
            raise WhereError("too many parentheses")
        condition = self.any_of(depth + 1, is_negated=is_negated)
        self._take(")")
        return condition

    def _comparison(self, *, is_negated: bool) -> Condition:
        column = (self._token().word or "").lower()
        if column not in CONDITIONED:
            raise WhereError(f"{_brief(column) or 'a constant'} is no column that spares reading")
        word = (self._token().word or "").upper()
        if word in SIGNS:
            return compared(column, OPPOSITES[word] if is_negated else word, self._constant(column))
        if word == "IS" and column in NULLABLE:
            is_not = self._takes("NOT")
            self._take("NULL")
            return is_null(column, is_negated=is_not is not is_negated)
        if word == "NOT":
            return self._named(column, (self._token().word or "").upper(), is_negated=not is_negated)
        return self._named(column, word, is_negated=is_negated)

    def _named(self, column: str, word: str, *, is_negated: bool) -> Condition:
        """Read what follows a column and IN, BETWEEN or LIKE."""
        if word == "IN":
            return among(column, self._constants(column), is_negated=is_negated)
        if word == "BETWEEN":
            low = self._constant(column)
            self._take("AND")
            high = self._constant(column)
            if is_negated:
                return AnyOf((compared(column, "<", low), compared(column, ">", high)))
            return AllOf((compared(column, ">=", low), compared(column, "<=", high)))
        if word == "LIKE" and column in {*TEXTS, KEY}:
            return like(column, self._pattern(column), is_negated=is_negated)
        raise WhereError(f"{_brief(word) or 'a constant'} does not follow {column}")

    def _constants(self, column: str) -> tuple[Constant, ...]:
        self._take("(")
        values = [self._constant(column)]
        while self._takes(","):
            values.append(self._constant(column))
        self._take(")")
        return tuple(values)

    def _constant(self, column: str) -> Constant:
        literal = self._token().literal
        if column == KEY and isinstance(literal, str | bytes):
            return _bytes(literal)
        if isinstance(literal, int if column in {*NUMBERS, TIMESTAMP_MS} else str):
            return _time(literal) if column == TIMESTAMP else literal
        raise _not_compared(column, literal)

    def _pattern(self, column: str) -> str:
        literal = self._token().literal
        if not isinstance(literal, str):
            raise _not_compared(column, literal)
        if not _ESCAPES.fullmatch(literal):
            raise WhereError(f"in {_brief(repr(literal))} a backslash stands before neither %, _ nor another one")
        _bytes(literal)
        return literal

    def _takes(self, word: str) -> bool:
        at_end = self._next == len(self._tokens)
        if at_end or (self._tokens[self._next].word or "").upper() != word:
            return False
        self._next += 1
        return True

    def _take(self, word: str) -> None:
        if not self._takes(word):
            raise WhereError(f"{word} is missing")

    def _token(self) -> Token:
        if self._next == len(self._tokens):
            raise WhereError("it ends too early")
        self._next += 1
        return self._tokens[self._next - 1]


def _brief(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def _not_compared(column: str, literal: object) -> WhereError:
    return WhereError(f"{column} is not compared with {'a word' if literal is None else _brief(repr(literal))}")


def _bytes(literal: str | bytes) -> bytes:
    try:
        return literal.encode() if isinstance(literal, str) else literal
    except UnicodeEncodeError as error:
        raise WhereError(f"{_brief(repr(literal))} is no text in UTF-8") from error


def _time(text: object) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        raise WhereError(f"{_brief(repr(text))} is no time such as '2026-11-21 07:55:55'") from error
