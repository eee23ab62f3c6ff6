"""The owner's half of a queue: what is written, what is waited for, and what is given back."""

import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from epoch.filesystem import REAL, FileSystem
from logstore.errors import LogClosedError, RecordTooLargeError
from logstore.queue.queue_log import CONFIG, LOG_NAME, Given, Producer, QueueLog, Token
from logstore.queue.queue_state import QueueCounts
from tests.bounded_disk import BoundedDisk
from tests.held_disk import HeldDisk

NOW = 1_700_000_000_000
LEASE, LIMIT = 30_000, 3
SECONDS = 60
SMALL = replace(CONFIG, segment_bytes=16_000, max_message_bytes=8_000)


class Clock:
    now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[QueueLog]:
    queue = QueueLog(tmp_path, CONFIG, REAL, clock)
    yield queue
    queue.close()


def small_queue(directory: Path, filesystem: FileSystem = REAL) -> QueueLog:
    return QueueLog(directory, SMALL, filesystem, Clock())


def tokens(given: list[Given]) -> list[Token]:
    return [each[:2] for each in given]


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in (directory / LOG_NAME).glob("*.log"))


def test_nothing_is_given_out_that_a_power_loss_could_take(tmp_path: Path) -> None:
    """Else another item could have its id later, which who has done the first one would take for done."""
    disk = HeldDisk()
    queue = QueueLog(tmp_path, CONFIG, disk, Clock())
    queue.put([b"first"])
    disk.hold()
    other = Thread(target=queue.put, args=[[b"second"]])
    other.start()
    assert disk.is_reached.wait(SECONDS)
    assert [each.value for each in queue.take(9, LEASE, LIMIT)] == [b"first"]
    disk.let_go()
    other.join(SECONDS)
    assert [each.value for each in queue.take(9, LEASE, LIMIT)] == [b"second"]
    queue.close()


def test_an_item_is_finished_once_that_is_on_stable_storage_for_all_who_say_so(tmp_path: Path) -> None:
    disk = HeldDisk()
    queue = QueueLog(tmp_path, CONFIG, disk, Clock())
    queue.put([b"item"])
    given = tokens(queue.take(1, LEASE, LIMIT))
    disk.hold()
    told: list[list[bool]] = []
    both = [Thread(target=lambda: told.append(queue.finish(given))) for _ in range(2)]
    for each in both:
        each.start()
    assert disk.is_reached.wait(SECONDS)
    assert told == []
    disk.let_go()
    for each in both:
        each.join(SECONDS)
    assert told == [[True], [True]]
    queue.close()


def test_leases_are_known_after_a_kill(tmp_path: Path, clock: Clock) -> None:
    queue = QueueLog(tmp_path, CONFIG, REAL, clock)
    queue.put([b"item"])
    given = queue.take(1, LEASE, LIMIT)
    queue.abandon()
    queue = QueueLog(tmp_path, CONFIG, REAL, clock)
    assert queue.take(1, LEASE, LIMIT) == []
    clock.now += LEASE
    [again] = queue.take(1, LEASE, LIMIT)
    assert again == given[0]._replace(attempt=2)
    assert queue.finish(tokens(given)) == [False]
    assert queue.finish([again[:2]]) == [True]
    assert queue.finish(tokens(given)) == [True], "it is done, by whomever"
    queue.close()


def test_an_item_that_ends_each_process_that_takes_it_is_dead_in_the_end(tmp_path: Path, clock: Clock) -> None:
    for attempt in range(1, LIMIT + 1):
        queue = QueueLog(tmp_path, CONFIG, REAL, clock)
        queue.put([b"poison"] if attempt == 1 else [b"more"])
        assert queue.take(1, LEASE, LIMIT) == [Given(0, attempt, b"poison")]
        queue.abandon()
        clock.now += LEASE
    queue = QueueLog(tmp_path, CONFIG, REAL, clock)
    assert queue.dead(9) == [Given(0, LIMIT, b"poison")]
    assert (queue.revive([0, 1]), queue.take(1, LEASE, LIMIT)) == (1, [Given(0, 1, b"poison")])
    queue.close()


def test_a_clock_that_was_set_back_makes_no_lease_longer(tmp_path: Path, clock: Clock) -> None:
    queue = QueueLog(tmp_path, CONFIG, REAL, clock)
    queue.put([b"item"])
    queue.take(1, LEASE, LIMIT)
    queue.close()
    clock.now -= 10**9
    queue = QueueLog(tmp_path, CONFIG, REAL, clock)
    clock.now += LEASE
    assert len(queue.take(1, LEASE, LIMIT)) == 1
    queue.close()


def test_a_put_that_is_tried_again_adds_nothing(queue: QueueLog) -> None:
    me = (7, 0)
    assert queue.put([b"a", b"b"], producer=me) == range(2)
    assert queue.put([b"a", b"b"], producer=me) == range(2)
    assert queue.put([b"c"], producer=(7, 2)) == range(2, 3)
    assert [each.value for each in queue.take(9, LEASE, LIMIT)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("producer", [None, (7, 0)])
def test_a_put_whose_log_was_closed_meanwhile_is_tried_again_only_where_that_is_noticed(
    queue: QueueLog, monkeypatch: pytest.MonkeyPatch, producer: Producer | None
) -> None:
    def flush() -> None:
        raise LogClosedError("the log is closed")

    with monkeypatch.context() as patched:
        patched.setattr(queue._log, "flush", flush)
        with pytest.raises(LogClosedError if producer else OSError, match="the log is closed") as raised:
            queue.put([b"a", b"b"], producer=producer)
    if producer:
        assert queue.put([b"a", b"b"], producer=producer) == range(2)
    else:
        assert "whether 2 items are put is unknown" in str(raised.value)
    assert queue.counts().ready == 2


def test_who_waits_is_woken_by_an_item_a_delay_and_the_end(queue: QueueLog, clock: Clock) -> None:
    taken: list[list[Given]] = []
    ended: list[type[BaseException]] = []

    def work() -> None:
        try:
            while True:
                taken.append(queue.take(1, LEASE, LIMIT, wait=None))
        except LogClosedError as error:
            ended.append(type(error))

    worker = Thread(target=work)
    worker.start()
    queue.put([b"item"])
    while not taken:
        pass
    clock.now += LEASE
    queue.release([(0, 99)])  # whatever is done, waiters look
    while len(taken) < 2:
        pass
    queue.end_waits()
    worker.join(SECONDS)
    assert [each.attempt for [each] in taken] == [1, 2]
    assert ended == [LogClosedError]


def test_an_item_that_does_not_fit_is_refused_with_all_that_were_to_be_put_with_it(queue: QueueLog) -> None:
    with pytest.raises(RecordTooLargeError, match=r"an item has 4,194,304 bytes, and at most 4,194,048 fit"):
        queue.put([b"small", bytes(4 << 20)])
    assert queue.counts() == QueueCounts(0, 0, 0, 0)
    [item] = queue.put([bytes((4 << 20) - 256)], priority=1)
    assert queue.take(1, LEASE, LIMIT)[0].item == item


def test_a_call_that_was_interrupted_leaves_no_item_unseen(queue: QueueLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(queue._state, "store", interrupt)
        with pytest.raises(KeyboardInterrupt):
            queue.put([b"item"])
    queue.put([b"another"])
    with monkeypatch.context() as patched:
        patched.setattr(queue._state, "next_ready", lambda *_: queue._state._ready.clear() or interrupt())
        with pytest.raises(KeyboardInterrupt):
            queue.take(1, LEASE, LIMIT)
    assert [each.value for each in queue.take(9, LEASE, LIMIT)] == [b"item", b"another"]


def test_files_stay_bounded_however_much_goes_through(memory_dir: Path) -> None:
    queue = small_queue(memory_dir)
    most = 0
    for _ in range(100):
        queue.put([bytes(100)] * 20)
        assert all(queue.finish(tokens(queue.take(20, LEASE, LIMIT))))
        most = max(most, size_of(memory_dir))
    assert most <= 4 * SMALL.segment_bytes
    queue.close()


def test_items_that_nobody_finishes_hold_nothing_else_back(memory_dir: Path) -> None:
    queue = small_queue(memory_dir)
    stuck = [b"stuck %d" % number + bytes(500) for number in range(40)]
    queue.put(stuck[:10], 0, 10**9)
    for value in stuck[10:]:
        queue.put([value])
    dead = queue.take(30, LEASE, 1)
    queue.release(tokens(dead))
    for _ in range(100):
        queue.put([bytes(100)] * 20)
        assert all(queue.finish(tokens(queue.take(20, LEASE, LIMIT))))
    assert size_of(memory_dir) <= 6 * SMALL.segment_bytes
    queue.close()
    queue = small_queue(memory_dir)
    assert queue.counts() == QueueCounts(0, 10, 0, 30)
    assert [each.value for each in queue.dead(100)] == stuck[10:]
    assert [each.item for each in queue.dead(100)] == [each.item for each in dead]
    queue.close()


@pytest.mark.parametrize("is_last_first", [False, True])
def test_on_a_full_disk_put_fails_and_what_is_there_can_be_done(memory_dir: Path, *, is_last_first: bool) -> None:
    disk = BoundedDisk(memory_dir, 60)
    queue = small_queue(memory_dir, disk)
    put: list[int] = []

    def fill(size: int) -> None:
        while True:
            put.extend(queue.put([bytes(size)]))

    for size in (1_000, 0):
        with pytest.raises(OSError, match="No space left") as full:
            fill(size)
        assert full.value.errno == errno.ENOSPC
    disk.fill()
    done: list[int] = []
    if is_last_first:
        *others, last = queue.take(5_000, LEASE, LIMIT)
        with pytest.raises(OSError, match="No space left"):  # the others are needed, and this finds no place
            queue.finish([last[:2]])
        assert all(queue.finish(tokens(others)))
        assert queue.finish([last[:2]]) == [True]
        done = [each.item for each in (*others, last)]
    while given := queue.take(1, LEASE, LIMIT):
        assert queue.finish(tokens(given)) == [True]
        done.append(given[0].item)
    assert done == put
    disk.blocks += 10
    queue.put([b"there is room again"])
    queue.close()
    queue = small_queue(memory_dir)
    assert [each.value for each in queue.take(9, LEASE, LIMIT)] == [b"there is room again"]
    queue.close()
