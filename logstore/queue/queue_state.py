"""What is known of the items of a work queue. It has no log, no clock and no lock: what was written is told to it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

AT_ITS_ID: Final = -1
ITEM_BYTES: Final = 80
"""An item takes these beside its value, at most: its record, and a batch for it alone."""
_SLACK: Final = 1_000
"""So many times that nobody waits for any more are kept before they are cleared away."""


class Status(IntEnum):
    """What becomes of an item next. The numbers are on disk."""

    READY = 0
    DELAYED = 1
    LEASED = 2
    DEAD = 3


class Entry(NamedTuple):
    """An item that is not finished; without its value, which the log has."""

    size: int
    """Bytes of the value."""
    priority: int = 0
    status: Status = Status.READY
    attempts: int = 0
    """How often it was given out."""
    limit: int = 0
    """An attempt of this number is the last one, by who took it last."""
    due_ms: int = 0
    """When a delay or lease ends, in milliseconds since 1970 UTC."""
    place: int = AT_ITS_ID
    """The offset of the record that has the value now; at first that is the item's id."""


class ChangeKind(IntEnum):
    """What a change does to items. The numbers are on disk."""

    LEASE = 1
    EXTEND = 2
    RELEASE = 3
    FINISH = 4
    REVIVE = 5


class Change(NamedTuple):
    """A decision about items, which is one record of the log."""

    kind: ChangeKind
    ids: Sequence[int]
    due_ms: int = 0
    limit: int = 0


class QueueCounts(NamedTuple):
    """How many items of a queue are in which state."""

    ready: int
    delayed: int
    leased: int
    dead: int


@lru_cache(1 << 12)
def fresh(size: int, priority: int = 0) -> Entry:
    """Return the entry of an item that was just put: those that are alike share one, as a long queue has many."""
    return Entry(size, priority)


class QueueState:
    """All items that are not finished. The same records, in their order, lead to the same state."""

    def __init__(self) -> None:
        """Know of no items."""
        self._entries: dict[int, Entry] = {}
        """By id, in the order of their places: so the first one says from where on the log is needed."""
        self._ready: dict[int, list[int]] = {}
        """For each priority the ids of ready items, as a heap; and some that are not ready any more."""
        self._timed: list[tuple[int, int]] = []
        """When delays and leases end, and whose, as a heap; and some that were ended before."""
        self.size: int = 0
        """Bytes that all of them take in the log, at most."""

    def __len__(self) -> int:
        return len(self._entries)

    # --- what was written

    def store(self, item: int, entry: Entry) -> None:
        """Add an item; or one that is known, which has another place from now on."""
        known = self._entries.pop(item, None)
        self._entries[item] = entry
        self.size += entry.size - known.size if known else entry.size + ITEM_BYTES
        if known is None or (known.status, known.due_ms) != (entry.status, entry.due_ms):
            self._file(item, entry)

    def change(self, change: Change) -> None:
        """Apply a decision. Items that are finished stay so."""
        for item in change.ids:
            entry = self._entries.get(item)
            if entry is not None:
                self._change(item, entry, change)

    def _change(self, item: int, entry: Entry, change: Change) -> None:
        match change.kind:
            case ChangeKind.FINISH:
                del self._entries[item]
                self.size -= entry.size + ITEM_BYTES
                return
            case ChangeKind.LEASE:
                attempts = entry.attempts + 1
                entry = entry._replace(
                    status=Status.LEASED, attempts=attempts, limit=change.limit, due_ms=change.due_ms
                )
            case ChangeKind.EXTEND:
                entry = entry._replace(status=Status.LEASED, due_ms=change.due_ms)
            case ChangeKind.RELEASE:
                status = Status.DEAD if _is_last(entry) else Status.DELAYED
                entry = entry._replace(status=status, due_ms=change.due_ms)
            case ChangeKind.REVIVE:
                entry = entry._replace(status=Status.READY, attempts=0)
        self._entries[item] = entry
        self._file(item, entry)

    def _file(self, item: int, entry: Entry) -> None:
        """Put an item where it is found once it can be given out."""
        if entry.status is Status.READY:
            heappush(self._ready.setdefault(entry.priority, []), item)
        elif entry.status is not Status.DEAD:
            heappush(self._timed, (entry.due_ms, item))

    # --- what time has done

    def advance(self, now_ms: int) -> None:
        """End the delays and leases whose time is over: such an item is ready, or dead after its last attempt."""
        timed = self._timed
        while timed and timed[0][0] <= now_ms:
            due_ms, item = heappop(timed)
            entry = self._entries.get(item)
            if entry is None or entry.due_ms != due_ms or entry.status not in (Status.DELAYED, Status.LEASED):
                continue
            is_over = entry.status is Status.LEASED and _is_last(entry)
            self._entries[item] = entry = entry._replace(status=Status.DEAD if is_over else Status.READY)
            self._file(item, entry)
        if len(timed) > 2 * len(self._entries) + _SLACK:
            waiting = (Status.DELAYED, Status.LEASED)
            self._timed = [(each.due_ms, item) for item, each in self._entries.items() if each.status in waiting]
            heapify(self._timed)

    @property
    def next_due_ms(self) -> int | None:
        """When to look again, at the latest; None where nothing waits for a time."""
        return self._timed[0][0] if self._timed else None

    # --- what to do next

    def next_ready(self, most: int, most_bytes: int, below: int) -> list[int]:
        """Return the ids of the items to give out next, all of them below `below`: the caller leases them at once.

        Those of the highest priority come first, and among these the oldest. One may be larger than `most_bytes`.
        """
        found: list[int] = []
        for priority in sorted(self._ready, reverse=True):
            heap = self._ready[priority]
            while heap and heap[0] < below and len(found) < most:
                entry = self._entries.get(heap[0])
                if entry is not None and entry.status is Status.READY and heap[0] not in found[-1:]:
                    most_bytes -= entry.size
                    if found and most_bytes < 0:
                        return found
                    found.append(heap[0])
                heappop(heap)
            if not heap:
                del self._ready[priority]
        return found

    def holds(self, item: int, attempt: int) -> bool | None:
        """Whether an attempt is the latest one of an item; None where that is finished."""
        entry = self._entries.get(item)
        return None if entry is None else entry.attempts == attempt and entry.status is not Status.DEAD

    def first_place(self, without: Collection[int] = ()) -> int | None:
        """Return from where on the log is needed, once the items of `without` are finished; None where for none."""
        for item, entry in self._entries.items():
            if item not in without:
                return _place(item, entry)
        return None

    def entry(self, item: int) -> Entry:
        """Return what is known of an item. Raises KeyError for one that is finished."""
        return self._entries[item]

    def place(self, item: int) -> int:
        """Return the offset of an item's record. Raises KeyError for one that is finished."""
        return _place(item, self._entries[item])

    def first(self, most_bytes: int) -> Iterator[tuple[int, Entry]]:
        """Yield the items at the front of the log, of so many bytes; one may be larger."""
        left = most_bytes
        for item, entry in self._entries.items():
            left -= entry.size + ITEM_BYTES
            if left < 0 and left + entry.size + ITEM_BYTES != most_bytes:
                return
            yield item, entry

    def dead(self, items: Iterable[int] | None = None) -> list[int]:
        """Return the ids of dead items, the oldest first; or of those among `items`, in their order."""
        asked = sorted(self._entries) if items is None else items
        return [item for item in asked if item in self._entries and self._entries[item].status is Status.DEAD]

    def counts(self) -> QueueCounts:
        """Count all items."""
        counts = Counter(entry.status for entry in self._entries.values())
        return QueueCounts(counts[Status.READY], counts[Status.DELAYED], counts[Status.LEASED], counts[Status.DEAD])


def _place(item: int, entry: Entry) -> int:
    return item if entry.place == AT_ITS_ID else entry.place


def _is_last(entry: Entry) -> bool:
    return entry.attempts >= entry.limit
