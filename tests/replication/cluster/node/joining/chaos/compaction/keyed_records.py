"""Records with keys, the n-th always the same, and what a compacted log of them says."""

from collections.abc import Iterable
from typing import Final, NamedTuple

_KEYS: Final = 41
_TOMBSTONE_EVERY: Final = 10


class KeyedRecord(NamedTuple):
    """What is written; None for a value deletes the key, if there is one."""

    key: bytes | None
    value: bytes | None


def keyed_record(number: int) -> KeyedRecord:
    """Return the n-th: some keys are written more often than others, and now and then one is deleted."""
    is_tombstone = number % _TOMBSTONE_EVERY == _TOMBSTONE_EVERY - 1
    return KeyedRecord(b"key %d" % (number**2 % _KEYS), None if is_tombstone else b"record %d" % number)


def state_of(records: Iterable[KeyedRecord]) -> dict[bytes | None, bytes]:
    """Return the last value of each key that is not deleted."""
    state: dict[bytes | None, bytes] = {}
    for key, value in records:
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value
    return state


def last_writes(count: int) -> set[int]:
    """Return the numbers, below a count, of which each wrote the last that there is of its key."""
    return set({keyed_record(number).key: number for number in range(count)}.values())
