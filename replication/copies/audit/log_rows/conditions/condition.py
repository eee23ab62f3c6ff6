"""Conditions on rows, which can be asked of a whole copy or batch first: what cannot hold there need not be read."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_] | bool
"""By row, or for all of them."""
Limits = tuple[int | None, int | None]
"""The least and the greatest value; None where there is no limit."""


class Span(NamedTuple):
    """Between which values a column's are: numbers, texts, or arrays with one number a row."""

    least: Any
    greatest: Any

    @classmethod
    def of(cls, value: Any) -> "Span":
        """Create a span of a value, or values, that are known exactly."""
        return cls(value, value)


Known = Mapping[str, Span]
"""By column; one that is left out may have any value."""


class Condition(Protocol):
    """What rows have to fulfil."""

    def may_hold(self, known: Known) -> Mask:
        """Return where it can hold; where all its columns are known exactly, that is where it does."""
        ...

    def must_hold(self, known: Known) -> Mask:
        """Return where it is certain to hold, whichever of their values the columns have."""
        ...

    def given(self, known: Known) -> "Condition":
        """Return what is left of it once some columns' values are known exactly."""
        ...

    def mentions(self, column: str) -> bool:
        """Return whether it is about a column."""
        ...

    def limits(self, column: str) -> Limits:
        """Return between which whole numbers a column's values are wherever it holds."""
        ...


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the conditions hold; without any, always."""

    conditions: tuple[Condition, ...] = ()

    def may_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        mask: Mask = True
        for each in self.conditions:
            mask = mask & each.may_hold(known)
        return mask

    def must_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        mask: Mask = True
        for each in self.conditions:
            mask = mask & each.must_hold(known)
        return mask

    def given(self, known: Known) -> Condition:
        """See `Condition`."""
        left = tuple(rest for each in self.conditions if (rest := each.given(known)) != ALWAYS)
        return NEVER if NEVER in left else AllOf(left)

    def mentions(self, column: str) -> bool:
        """See `Condition`."""
        return any(each.mentions(column) for each in self.conditions)

    def limits(self, column: str) -> Limits:
        """See `Condition`."""
        found = [each.limits(column) for each in self.conditions]
        return (
            max((least for least, _ in found if least is not None), default=None),
            min((greatest for _, greatest in found if greatest is not None), default=None),
        )


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the conditions holds; without any, never."""

    conditions: tuple[Condition, ...] = ()

    def may_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        mask: Mask = False
        for each in self.conditions:
            mask = mask | each.may_hold(known)
        return mask

    def must_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        mask: Mask = False
        for each in self.conditions:
            mask = mask | each.must_hold(known)
        return mask

    def given(self, known: Known) -> Condition:
        """See `Condition`."""
        left = tuple(rest for each in self.conditions if (rest := each.given(known)) != NEVER)
        return ALWAYS if ALWAYS in left else AnyOf(left)

    def mentions(self, column: str) -> bool:
        """See `Condition`."""
        return any(each.mentions(column) for each in self.conditions)

    def limits(self, column: str) -> Limits:
        """See `Condition`."""
        found = [each.limits(column) for each in self.conditions]
        least = [least for least, _ in found if least is not None]
        greatest = [greatest for _, greatest in found if greatest is not None]
        # One of them without a limit leaves all without.
        return (
            min(least) if found and len(least) == len(found) else None,
            max(greatest) if found and len(greatest) == len(found) else None,
        )


ALWAYS: Final = AllOf()
NEVER: Final = AnyOf()


OPPOSITES: Final = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""The sign of each comparison that holds where one with another sign does not."""


@dataclass(frozen=True, slots=True)
class Compare:
    """A column compared with a constant.

    >>> Compare("offset", ">=", 7).may_hold({"offset": Span(np.array([0, 5]), np.array([4, 9]))})
    array([False,  True])
    """

    column: str
    sign: str
    """One of `=`, `!=`, `<`, `<=`, `>`, `>=`."""
    value: Any

    def may_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        span = known.get(self.column)
        return True if span is None else _COMPARISONS[self.sign](span, self.value)

    def must_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        span = known.get(self.column)
        if span is None:
            return False
        return np.logical_not(_COMPARISONS[OPPOSITES[self.sign]](span, self.value))

    def given(self, known: Known) -> Condition:
        """See `Condition`."""
        if self.column not in known:
            return self
        return ALWAYS if self.may_hold(known) else NEVER

    def mentions(self, column: str) -> bool:
        """See `Condition`."""
        return column == self.column

    def limits(self, column: str) -> Limits:
        """See `Condition`."""
        if column != self.column or not isinstance(self.value, int):
            return None, None
        least = {"=": self.value, ">=": self.value, ">": self.value + 1}.get(self.sign)
        greatest = {"=": self.value, "<=": self.value, "<": self.value - 1}.get(self.sign)
        return least, greatest


@dataclass(frozen=True, slots=True)
class Matches:
    """A text, or a number as it is written, is like a pattern such as `orders-*`."""

    column: str
    pattern: str
    is_negated: bool = False
    """Whether it is to be unlike the pattern."""

    def may_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        span = known.get(self.column)
        return True if span is None else self.fits(str(span.least)) is not self.is_negated

    def fits(self, text: str) -> bool:
        """Whether a text is like the pattern."""
        return fnmatchcase(text, self.pattern)

    def must_hold(self, known: Known) -> Mask:
        """See `Condition`: texts are known exactly, or not at all."""
        return self.column in known and self.may_hold(known)

    def given(self, known: Known) -> Condition:
        """See `Condition`."""
        if self.column not in known:
            return self
        return ALWAYS if self.may_hold(known) else NEVER

    def mentions(self, column: str) -> bool:
        """See `Condition`."""
        return column == self.column

    def limits(self, column: str) -> Limits:
        """See `Condition`."""
        del column
        return None, None


@dataclass(frozen=True, slots=True)
class MatchesExpression(Matches):
    """The whole of a text matches a regular expression such as `orders-.*`."""

    def fits(self, text: str) -> bool:
        """See `Matches`."""
        return re.fullmatch(self.pattern, text) is not None


def _never_equal(span: Span, value: Any) -> Mask:
    return (span.least != value) | (span.greatest != value)  # type: ignore[no-any-return]  # arrays, or numbers


_COMPARISONS: Final[dict[str, Callable[[Span, Any], Mask]]] = {
    "=": lambda span, value: (span.least <= value) & (span.greatest >= value),
    "!=": _never_equal,
    "<": lambda span, value: operator.lt(span.least, value),
    "<=": lambda span, value: operator.le(span.least, value),
    ">": lambda span, value: operator.gt(span.greatest, value),
    ">=": lambda span, value: operator.ge(span.greatest, value),
}
