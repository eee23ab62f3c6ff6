"""Times as people read them: to the second, in UTC, and no part twice."""

from datetime import UTC, datetime
from typing import Final

_MILLISECONDS: Final = 1_000
_LAST: Final = 253_402_300_799
"""The last second of the year 9999."""


def moment(milliseconds: int | None) -> str | None:
    """Write a time; None where there is none, or it is beyond what a date can be.

    >>> moment(1_700_000_000_123)
    '2023-11-14 22:13:20 UTC'
    """
    at = _at(milliseconds)
    return None if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def stretch(first: int | None, last: int | None) -> str | None:
    """Write from when to when; the date only once where it is the same.

    >>> stretch(1_700_000_000_123, 1_700_000_028_000)
    '2023-11-14 22:13:20 to 22:13:48 UTC'
    """
    begin, end = _at(first), _at(last)
    if begin is None or end is None:
        return None
    if f"{begin:%c}" == f"{end:%c}":
        return moment(first)
    same_day = begin.date() == end.date()
    return f"{begin:%Y-%m-%d %H:%M:%S} to {f'{end:%H:%M:%S}' if same_day else f'{end:%Y-%m-%d %H:%M:%S}'} UTC"


def _at(milliseconds: int | None) -> datetime | None:
    if milliseconds is None or not 0 <= milliseconds // _MILLISECONDS <= _LAST:
        return None
    return datetime.fromtimestamp(milliseconds // _MILLISECONDS, UTC)
