"""Reads the option `where`: conditions as in SQL, on the columns that spare reading."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

from replication.copies.audit.log_rows.conditions.column_condition import (
    CONDITIONED,
    NUMBERS,
    SIGNS,
    TEXTS,
    TIMESTAMP,
    Constant,
    among,
    compared,
    like,
)
from replication.copies.audit.log_rows.conditions.condition import AllOf, AnyOf, Condition

ALLOWED: Final = (
    "conditions with AND, OR and parentheses, each with =, !=, <, <=, >, >=, IN (...), BETWEEN ... AND ... or LIKE, on "
    f"{', '.join(CONDITIONED)}: topic LIKE 'orders%' AND offset BETWEEN 1000 AND 1999"
)
_TOKEN: Final = re.compile(r"\s*(?:(-?\d+)|'((?:[^']|'')*)'|([A-Za-z_]\w*)|(<=|>=|<>|!=|==|[=<>(),]))", re.ASCII)
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
    condition = parser.any_of(0)
    parser.end()
    return condition


class Token:
    """A number, a text, or a word or sign in capital letters."""

    __slots__ = ("literal", "word")

    def __init__(self, literal: str | int | None, word: str | None) -> None:
        self.literal = literal
        self.word = word


def _tokens(text: str) -> list[Token]:
    tokens, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        found = _TOKEN.match(stripped, position)
        if found is None:
            raise WhereError(f"{_brief(stripped[position:])!r} is not understood")
        number, quoted, word, sign = found.groups()
        if len(number or "") > _MOST_DIGITS:
            raise WhereError(f"{_brief(number)} has more than {_MOST_DIGITS} digits")
        literal = int(number) if number is not None else None if quoted is None else quoted.replace("''", "'")
        tokens.append(Token(literal, word or _SAME.get(sign, sign)))
        position = found.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def any_of(self, depth: int) -> Condition:
        """Read conditions with OR between."""
        parts = self._parts("OR", lambda: self._all_of(depth))
        return parts[0] if len(parts) == 1 else AnyOf(parts)

    def end(self) -> None:
        """Raise WhereError where anything follows."""
        if self._next < len(self._tokens):
            raise WhereError("something follows the condition")

    def _all_of(self, depth: int) -> Condition:
        parts = self._parts("AND", lambda: self._factor(depth))
        return parts[0] if len(parts) == 1 else AllOf(parts)

    def _parts(self, word: str, read: Callable[[], Condition]) -> tuple[Condition, ...]:
        parts = [read()]
        while self._takes(word):
            parts.append(read())
        return tuple(parts)

    def _factor(self, depth: int) -> Condition:
        if not self._takes("("):
            return self._comparison()
        if depth == _DEEPEST:
            raise WhereError("too many parentheses")
        condition = self.any_of(depth + 1)
        self._take(")")
        return condition

    def _comparison(self) -> Condition:
        column = (self._token().word or "").lower()
        if column not in CONDITIONED:
            raise WhereError(f"{_brief(column) or 'a constant'} is no column that spares reading")
        return self._compared(column, (self._token().word or "").upper())

    def _compared(self, column: str, word: str) -> Condition:
        if word in SIGNS:
            return compared(column, word, self._constant(column))
        if word == "IN":
            self._take("(")
            values = [self._constant(column)]
            while self._takes(","):
                values.append(self._constant(column))
            self._take(")")
            return among(column, tuple(values))
        if word == "BETWEEN":
            low = self._constant(column)
            self._take("AND")
            return AllOf((compared(column, ">=", low), compared(column, "<=", self._constant(column))))
        if word == "LIKE" and column in TEXTS:
            return like(column, str(self._constant(column)))
        raise WhereError(f"{_brief(word) or 'a constant'} does not follow {column}")

    def _constant(self, column: str) -> Constant:
        literal = self._token().literal
        if isinstance(literal, int if column in NUMBERS else str):
            return _time(literal) if column == TIMESTAMP else literal
        raise WhereError(f"{column} is not compared with {'a word' if literal is None else _brief(repr(literal))}")

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


def _time(text: object) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        raise WhereError(f"{_brief(repr(text))} is no time such as '2026-11-21 07:55:55'") from error
