"""Conditions on the keys of records, which are bytes: headers of batches do not show them, so that records are decoded.

As in SQL, none but `IS NULL` holds of a key that is null.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replication.copies.audit.log_rows.conditions.condition import ALWAYS, NEVER, Condition, Known, Limits, Mask

KEY: Final = "key"
_COMPARISONS: Final[dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_CHARACTER: Final = rb"(?>[\x00-\xbf]|[\xc0-\xff][\x80-\xbf]*)"
"""One character of UTF-8; a byte that is none counts as one."""


@dataclass(frozen=True)
class OfKey:
    """What keys have to fulfil; where they are known, they are an array of Arrow."""

    def may_hold(self, known: Known) -> Mask:
        """See `Condition`."""
        return self._mask(known[KEY].least) if KEY in known else True

    def must_hold(self, known: Known) -> Mask:
        """See `Condition`: keys are known exactly, or not at all."""
        return self._mask(known[KEY].least) if KEY in known else False

    def given(self, known: Known) -> Condition:
        """See `Condition`."""
        if KEY not in known:
            return self
        return ALWAYS if self.may_hold(known) else NEVER

    def mentions(self, column: str) -> bool:
        """See `Condition`."""
        return column == KEY

    def limits(self, column: str) -> Limits:
        """See `Condition`."""
        del column
        return None, None

    def holds(self, keys: pa.Array) -> pa.Array:
        """Return of which keys it holds; null stands for no."""
        raise NotImplementedError

    def _mask(self, keys: pa.Array) -> Mask:
        held: Any = self.holds(keys).fill_null(False).to_numpy(zero_copy_only=False)
        return np.asarray(held, np.bool_)


@dataclass(frozen=True)
class KeyCompares(OfKey):
    """A key compared with another, byte by byte."""

    sign: str
    """One of `=`, `!=`, `<`, `<=`, `>`, `>=`."""
    value: bytes

    def holds(self, keys: pa.Array) -> pa.Array:
        """See `OfKey`."""
        return _COMPARISONS[self.sign](keys, pa.scalar(self.value, pa.binary()))


@dataclass(frozen=True)
class KeyIn(OfKey):
    """A key is one of many, or none of them."""

    values: tuple[bytes, ...]
    is_negated: bool = False

    def holds(self, keys: pa.Array) -> pa.Array:
        """See `OfKey`."""
        among = pc.is_in(keys, self._values)
        return pc.and_(pc.invert(among) if self.is_negated else among, keys.is_valid())

    @cached_property
    def _values(self) -> pa.Array:
        return pa.array(self.values, pa.binary())


@dataclass(frozen=True)
class KeyLike(OfKey):
    """The text that a key is, in UTF-8, is like SQL's pattern, or unlike it."""

    pattern: str
    is_negated: bool = False

    def holds(self, keys: pa.Array) -> pa.Array:
        """See `OfKey`."""
        start = self.pattern.removesuffix("%")
        if start != self.pattern and not _SPECIAL.search(start):
            like = pc.starts_with(keys, start)
        else:
            fits = self._expression.fullmatch
            like = pa.array([None if key is None else fits(key) is not None for key in keys.to_pylist()], pa.bool_())
        return pc.invert(like) if self.is_negated else like

    @cached_property
    def _expression(self) -> re.Pattern[bytes]:
        first, *others = _pieces(self.pattern)
        # What lies between two `%` is best found as early as it can be: without a group of its own that takes forever.
        middle = b"".join(b"(?>.*?%s)" % piece for piece in others[:-1])
        last = b".*%s" % others[-1] if others else b""
        return re.compile(first + middle + last, re.DOTALL)


@dataclass(frozen=True)
class KeyIsNull(OfKey):
    """A record has no key, or has one."""

    is_negated: bool = False

    def holds(self, keys: pa.Array) -> pa.Array:
        """See `OfKey`."""
        return keys.is_valid() if self.is_negated else keys.is_null()


_SPECIAL: Final = re.compile(r"[%_\\]")


def _pieces(pattern: str) -> Iterator[bytes]:
    """Divide a pattern at each `%`, and write what is between as expressions."""
    piece = b""
    for sign in re.findall(r"\\.|.", pattern, re.DOTALL):
        if sign == "%":
            yield piece
            piece = b""
        else:
            piece += _CHARACTER if sign == "_" else re.escape(sign[-1].encode())
    yield piece
