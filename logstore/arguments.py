"""What a caller has passed: refused by its name before anything changes, with what to pass instead."""

from __future__ import annotations

import time
from operator import index
from typing import TYPE_CHECKING, Final

from epoch.history import MAX_EPOCH

if TYPE_CHECKING:
    from datetime import datetime

LONGEST_WAIT: Final = 1_000_000_000
"""Seconds that systems can wait."""


def whole_number(value: object, name: str) -> int:
    """Return the number as an int. Raises TypeError if it is not a whole number."""
    if type(value) is int:  # a look at whether it could be one costs more than an append
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}, of type {type(value).__name__}: pass a whole number, an int")
    return index(value)


def ensure_bool(value: object, name: str) -> None:
    """Refuse what is not True or False: text that says "no" would count as True. Raises TypeError."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, of type {type(value).__name__}: pass True or False")


def number_within(value: object, name: str, most: int) -> int:
    """Return a number from 0 to `most`. Raises TypeError for what is no whole number, and ValueError."""
    number = whole_number(value, name)
    if not 0 <= number <= most:
        raise ValueError(f"{name} is {number:,}: pass one from 0 to {most:,}")
    return number


def leader_epoch_number(value: object) -> int:
    """Return a leader epoch, -1 for none. Raises TypeError, and ValueError for what no leader can have."""
    epoch = whole_number(value, "leader_epoch")
    if not -1 <= epoch <= MAX_EPOCH:
        raise ValueError(f"leader_epoch is {epoch:,}: pass one from 0 to {MAX_EPOCH:,}, or leave it out")
    return epoch


def offset_span(start: object, end: object) -> tuple[int, int | None]:
    """Return the offsets from and up to which is read; None is no end. Raises TypeError if one is no whole number."""
    return whole_number(start, "start"), None if end is None else whole_number(end, "end")


def deadline_after(timeout: float | None) -> float | None:
    """Return when a wait of so many seconds ends, by the monotonic clock. Raises TypeError, and ValueError."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout is {timeout!r}: pass seconds, or None to wait for as long as it takes")
    if not 0 <= timeout <= LONGEST_WAIT:
        raise ValueError(f"timeout is {timeout!r}: pass seconds from 0 to {LONGEST_WAIT:,}, or None")
    return time.monotonic() + timeout


def start_time_ms(since: int | datetime) -> int:
    """Return a time to read from, in milliseconds since 1970 UTC. Raises TypeError, and ValueError before that."""
    if not isinstance(since, int):
        from datetime import datetime  # noqa: PLC0415  start-up time

        if isinstance(since, datetime):
            return max(0, round(since.timestamp() * 1000))
    milliseconds = whole_number(since, "since")
    if milliseconds < 0:
        raise ValueError(f"since is {milliseconds:,}: pass milliseconds since 1970 UTC, or a datetime")
    return milliseconds


def ensure_one_place(start: object, since: object) -> None:
    """Refuse to read from an offset and from a time at once. Raises TypeError."""
    if start is not None and since is not None:
        raise TypeError("both `start` and `since` are given: pass one, an offset or a time")
