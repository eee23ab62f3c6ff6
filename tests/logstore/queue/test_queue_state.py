"""What a queue knows of its items, beside a model that looks through all of them for each answer."""

from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.strategies import integers, lists, sampled_from

from logstore.batch.record import Record
from logstore.errors import CorruptRecordError
from logstore.queue.queue_record import change_record, item_record, read_record
from logstore.queue.queue_state import ITEM_BYTES, Change, ChangeKind, Entry, QueueCounts, QueueState, Status, fresh

NOW = 1_000_000
PLACE = Path("queue")
FOREVER = 1 << 50


@dataclass
class Known:
    """An item as the model has it."""

    size: int
    priority: int
    free_at: int = 0
    """When it may be given out; of one that is leased, unless somebody says otherwise before."""
    attempts: int = 0
    limit: int = 0
    is_leased: bool = False
    is_dead: bool = False

    def at(self, now: int) -> Status:
        if self.is_leased and self.free_at <= now:
            self.is_leased, self.is_dead = False, self.attempts >= self.limit
        if self.is_dead:
            return Status.DEAD
        if self.is_leased:
            return Status.LEASED
        return Status.DELAYED if self.free_at > now else Status.READY


@dataclass
class Model:
    items: dict[int, Known] = field(default_factory=dict)

    def ready(self, now: int, most: int, below: int) -> list[int]:
        ready = [item for item, each in self.items.items() if each.at(now) is Status.READY and item < below]
        return sorted(ready, key=lambda item: (-self.items[item].priority, item))[:most]

    def holds(self, item: int, attempt: int, now: int) -> bool | None:
        known = self.items.get(item)
        return None if known is None else known.at(now) is not Status.DEAD and known.attempts == attempt


class QueueBesideModel(RuleBasedStateMachine):
    """Does the same to both, and keeps what was written."""

    @initialize()
    def begin(self) -> None:
        self.state, self.model = QueueState(), Model()
        self.now, self.records = NOW, list[Record]()

    def write(self, record: Record) -> int:
        offset = len(self.records)
        self.records.append(record._replace(offset=offset))
        return offset

    def decide(self, change: Change) -> None:
        self.write(change_record(change, NOW))
        self.state.change(change)

    @rule(size=integers(0, 5), priority=sampled_from([0, 0, 0, 7]), delay=sampled_from([0, 0, 20]))
    def put(self, size: int, priority: int, delay: int) -> None:
        if delay or priority:
            entry = Entry(size, priority, Status.DELAYED if delay else Status.READY, due_ms=self.now + delay)
            item = self.write(item_record(bytes(size), entry, -1, NOW))
        else:
            entry = fresh(size)
            item = self.write(Record.of(bytes(size)))
        self.state.store(item, entry)
        self.model.items[item] = Known(size, priority, self.now + delay)

    @rule(most=integers(0, 3), lease=sampled_from([0, 10, 30]), limit=integers(1, 3), unflushed=sampled_from([0, 0, 2]))
    def take(self, most: int, lease: int, limit: int, unflushed: int) -> None:
        below = len(self.records) - unflushed
        ids = self.state.next_ready(most, FOREVER, below)
        assert ids == self.model.ready(self.now, most, below)
        self.decide(Change(ChangeKind.LEASE, ids, self.now + lease, limit))
        for item in ids:
            known = self.model.items[item]
            known.attempts, known.limit = known.attempts + 1, limit
            known.is_leased, known.free_at = True, self.now + lease

    def held(self, which: int, attempt: int) -> int | None:
        """Some item, where an attempt holds it, by both."""
        item = which % (len(self.records) + 1)
        known = self.model.items.get(item)
        asked = attempt if known is None else known.attempts - attempt
        is_held = self.state.holds(item, asked)
        assert is_held == self.model.holds(item, asked, self.now)
        return item if is_held else None

    @rule(which=integers(0), attempt=sampled_from([0, 0, 1]))
    def finish(self, which: int, attempt: int) -> None:
        item = self.held(which, attempt)
        if item is not None:
            self.decide(Change(ChangeKind.FINISH, [item]))
            del self.model.items[item]

    @rule(which=integers(0), attempt=sampled_from([0, 0, 1]), delay=sampled_from([0, 20]))
    def release(self, which: int, attempt: int, delay: int) -> None:
        item = self.held(which, attempt)
        if item is not None and self.model.items[item].attempts:
            self.decide(Change(ChangeKind.RELEASE, [item], self.now + delay))
            known = self.model.items[item]
            known.is_leased, known.free_at = False, self.now + delay
            known.is_dead = known.attempts >= known.limit

    @rule(which=integers(0), attempt=sampled_from([0, 0, 1]), lease=sampled_from([0, 50]))
    def extend(self, which: int, attempt: int, lease: int) -> None:
        item = self.held(which, attempt)
        if item is not None and self.model.items[item].attempts:
            self.decide(Change(ChangeKind.EXTEND, [item], self.now + lease))
            known = self.model.items[item]
            known.is_leased, known.free_at = True, self.now + lease

    @rule(kind=sampled_from([ChangeKind.REVIVE, ChangeKind.FINISH]), asked=lists(integers(0, 50), max_size=3))
    def end_dead(self, kind: ChangeKind, asked: list[int]) -> None:
        dead = [item for item, each in self.model.items.items() if each.at(self.now) is Status.DEAD]
        assert sorted(self.state.dead()) == sorted(dead)
        ids = self.state.dead(asked)
        assert ids == [item for item in asked if item in dead]
        self.decide(Change(kind, ids))
        for item in set(ids):
            if kind is ChangeKind.FINISH:
                del self.model.items[item]
            else:
                known = self.model.items[item]
                known.is_dead, known.is_leased, known.free_at, known.attempts = False, False, 0, 0

    @rule(milliseconds=sampled_from([1, 10, 100]))
    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.state.advance(self.now)

    @rule(most_bytes=integers(0, 300))
    def move(self, most_bytes: int) -> None:
        moved = [*self.state.first(most_bytes)]
        assert sum(entry.size + ITEM_BYTES for _, entry in moved) <= most_bytes or len(moved) == 1
        assert moved or not self.model.items
        for item, entry in moved:
            place = self.write(item_record(bytes(entry.size), entry, item, NOW))
            self.state.store(item, entry._replace(place=place))

    @invariant()
    def it_counts_what_the_model_has(self) -> None:
        self.state.advance(self.now)
        found = [each.at(self.now) for each in self.model.items.values()]
        in_order = (Status.READY, Status.DELAYED, Status.LEASED, Status.DEAD)
        assert self.state.counts() == QueueCounts(*map(found.count, in_order))
        assert len(self.state) == len(found)
        assert self.state.size == sum(each.size + ITEM_BYTES for each in self.model.items.values())

    @invariant()
    def it_says_when_to_look_again(self) -> None:
        waiting = [each.free_at for each in self.model.items.values() if each.at(self.now) in (1, 2)]
        due = self.state.next_due_ms
        assert not waiting or (due is not None and due <= min(waiting))

    @invariant()
    def the_records_from_the_first_place_on_lead_to_the_same_state(self) -> None:
        """All before it may be gone, and need not be: another process may read from anywhere up to there."""
        first = self.state.first_place()
        needed = len(self.records) if first is None else first
        for start in {0, needed // 2, needed}:
            read = QueueState()
            for record in self.records[start:]:
                found = read_record(record, PLACE)
                if isinstance(found, Change):
                    read.change(found)
                else:
                    read.store(*found)
            read.advance(self.now)
            assert list(contents(read).items()) == list(contents(self.state).items())
            assert first_ids(read) == first_ids(self.state)

    @invariant()
    def the_first_place_without_some_is_that_of_the_others(self) -> None:
        entries = contents(self.state)
        some = [*entries][::2]
        places = [entry[1] for item, entry in entries.items() if item not in some]
        assert self.state.first_place(frozenset(some)) == min(places, default=None)


def contents(state: QueueState) -> dict[int, tuple[Entry, int]]:
    """All entries, in the order of their places."""
    front = [*state.first(FOREVER)]
    return {item: (entry._replace(place=0), state.place(item)) for item, entry in front}


def first_ids(state: QueueState) -> list[int]:
    """What would be given out."""
    return deepcopy(state).next_ready(1_000, FOREVER, FOREVER)


TestQueueBesideModel = QueueBesideModel.TestCase
TestQueueBesideModel.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_items_of_many_bytes_are_given_out_a_few_at_a_time() -> None:
    state = QueueState()
    for item, size in enumerate([5, 5, 5, 50, 1]):
        state.store(item, fresh(size))
    given = []
    while ids := state.next_ready(100, 10, 100):
        state.change(Change(ChangeKind.LEASE, ids, NOW, 1))
        given.append(ids)
    assert given == [[0, 1], [2], [3], [4]]


def test_leases_that_ended_before_their_time_take_no_memory() -> None:
    state = QueueState()
    for item in range(10_000):
        state.store(item, fresh(1))
        [taken] = state.next_ready(1, 1, item + 1)
        state.change(Change(ChangeKind.LEASE, [taken], NOW + item, 5))
        state.change(Change(ChangeKind.FINISH, [taken]))
        state.advance(0)
    assert len(state._timed) < 2_000


@pytest.mark.parametrize(
    "key",
    [b"", b"i", b"c", b"order-7", change_record(Change(ChangeKind.FINISH, [1]), 0).key[:1] + bytes(13)],  # type: ignore[index]
)
def test_a_record_that_no_queue_wrote_is_refused_with_its_place(key: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="is none of a work queue") as refused:
        read_record(Record.of(b"value", key)._replace(offset=7), PLACE)
    assert (refused.value.file, refused.value.offset) == ("queue", 7)


def test_times_are_read_as_much_earlier_as_is_asked_for() -> None:
    change = Change(ChangeKind.LEASE, [3, 1 << 40], NOW, 4)
    assert read_record(change_record(change, NOW), PLACE, 100) == change._replace(due_ms=NOW - 100)
    entry = Entry(1, 7, Status.DELAYED, 2, 5, NOW)
    read = read_record(item_record(b"v", entry, 3, NOW)._replace(offset=9), PLACE, 100)
    assert read == (3, entry._replace(due_ms=NOW - 100, place=9))
