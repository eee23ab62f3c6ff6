"""Who follows the metadata, as the leader of its quorum knows it."""

from uuid import UUID

from replication.cluster.standalone.quorum.observers import SESSION_MS, Observers
from replication.records.codec.fields import NO_ID
from replication.wire.messages.describe_quorum import QuorumReplica

DIRECTORY = UUID(int=5_000)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


def test_an_observer_is_told_with_its_end_and_the_times_of_its_fetches() -> None:
    clock = Clock()
    observers = Observers(clock)
    observers.fetched(2, NO_ID, 10, 10)
    observers.fetched(1, DIRECTORY, 4, 10)
    assert observers.living() == (QuorumReplica(1, 4, DIRECTORY, 1_000, -1), QuorumReplica(2, 10, None, 1_000, 1_000))


def test_one_had_caught_up_when_it_asked_before_for_what_it_has_now() -> None:
    clock = Clock()
    observers = Observers(clock)
    observers.fetched(1, NO_ID, 0, 10)
    clock.now += 50
    observers.fetched(1, NO_ID, 10, 20)
    assert observers.living() == (QuorumReplica(1, 10, None, 1_050, 1_000),)
    clock.now += 50
    observers.fetched(1, NO_ID, 15, 20)
    assert observers.living() == (QuorumReplica(1, 15, None, 1_100, 1_000),)


def test_one_that_asks_no_more_is_forgotten_after_five_minutes() -> None:
    clock = Clock()
    observers = Observers(clock)
    observers.fetched(1, NO_ID, 10, 10)
    clock.now += SESSION_MS
    observers.fetched(2, NO_ID, 10, 10)
    assert [each.id for each in observers.living()] == [1, 2]
    clock.now += 1
    assert [each.id for each in observers.living()] == [2]


def test_another_directory_of_a_node_is_another_observer() -> None:
    observers = Observers(Clock())
    observers.fetched(1, NO_ID, 10, 10)
    observers.fetched(1, DIRECTORY, 4, 10)
    assert [(each.id, each.directory_id, each.log_end_offset) for each in observers.living()] == [
        (1, None, 10),
        (1, DIRECTORY, 4),
    ]


def test_made_up_ids_are_forgotten_though_nobody_asks_who_follows() -> None:
    clock = Clock()
    observers = Observers(clock)
    for node_id in range(10_000):
        clock.now += SESSION_MS // 100
        observers.fetched(node_id, NO_ID, 10, 10)
    assert len(observers._known) <= 101
    assert len(observers.living()) == 101


def test_one_that_fetches_on_is_not_forgotten_with_those_that_came_after_it() -> None:
    clock = Clock()
    observers = Observers(clock)
    for node_id in range(2, 5):
        clock.now += SESSION_MS // 2
        observers.fetched(1, NO_ID, 10, 10)
        observers.fetched(node_id, NO_ID, 10, 10)
    clock.now += SESSION_MS // 2 + 1
    observers.fetched(1, NO_ID, 10, 10)
    assert [each.id for each in observers.living()] == [1, 4]
