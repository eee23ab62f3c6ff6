"""LeaderEpochFileCache: what reaches the file, when, and with several threads."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from epoch import CheckpointError, EndOffset, EpochHistory, InvalidEpochEntryError, LeaderEpochFileCache
from epoch.errors import InheritedError
from epoch.filesystem import FileSystem
from tests.disk import FailingDisk

FILE = "leader-epoch-checkpoint"


def text(directory: Path) -> str:
    return (directory / FILE).read_text()


def test_in_memory_there_is_nothing_to_write() -> None:
    cache = LeaderEpochFileCache()
    assert cache.assign(1, 10)
    assert not cache.assign(1, 20)
    cache.truncate_to(5)
    cache.flush()
    cache.clear_and_flush()
    assert not cache.pending


def test_it_answers_from_its_history() -> None:
    cache = LeaderEpochFileCache(EpochHistory([(1, 10), (3, 30), (7, 70)]))
    assert cache.end_offset_for(3, 100) == EndOffset(3, 70)
    assert cache.epoch_for_offset(69) == 3
    for _ in range(2):
        assert [cache.epoch_for_offset(offset) for offset in (-1, 9, 10, 29, 30, 69, 70, 99)] == [
            None,
            None,
            1,
            1,
            3,
            3,
            7,
            7,
        ]
        assert [cache.end_offset_for(epoch, 100) for epoch in (-1, 0, 2, 3, 6, 7, 8)] == [
            (-1, -1),
            (0, 10),
            (1, 30),
            (3, 70),
            (3, 70),
            (7, 100),
            (-1, -1),
        ]
    assert (cache.earliest, cache.latest) == ((1, 10), (7, 70))
    assert (cache.latest_epoch, cache.previous_epoch) == (7, 3)
    assert (cache.entry_for(3), cache.previous_entry(3), cache.next_entry(3)) == ((3, 30), (1, 10), (7, 70))
    assert cache.entries_in_range(40, 70) == [(3, 40)]
    assert (len(cache), cache.history.entries) == (3, cache.entries)


def test_opening_a_partition_without_a_file_writes_none(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.flush()
    assert list(tmp_path.iterdir()) == []


def test_assigning_is_on_disk_at_once_and_truncating_after_a_flush(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    assert cache.assign(1, 10)
    assert cache.assign(2, 20)
    assert text(tmp_path) == "0\n2\n1 10\n2 20\n"
    assert cache.truncate_to(15)
    assert cache.pending
    assert text(tmp_path) == "0\n2\n1 10\n2 20\n"
    cache.flush()
    assert not cache.pending
    assert text(tmp_path) == "0\n1\n1 10\n"
    assert LeaderEpochFileCache.open(tmp_path).entries == cache.entries


def test_what_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign(1, 10)
    (tmp_path / FILE).unlink()
    assert not cache.assign(1, 15)
    assert not cache.truncate_to(11)
    assert not cache.truncate_from_start(9)
    cache.flush()
    assert not (tmp_path / FILE).exists()


def test_an_earlier_truncation_is_durable_before_records_can_follow_it(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign_many([(1, 10), (2, 20)])
    cache.truncate_to(15)
    assert not cache.assign(1, 15)
    assert text(tmp_path) == "0\n1\n1 10\n"


def test_many_are_assigned_in_one_write_or_not_at_all(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign_many([])
    assert not (tmp_path / FILE).exists()
    cache.assign_many([(1, 10), (2, 20)])
    with pytest.raises(InvalidEpochEntryError):
        cache.assign_many([(3, 30), (-1, 40)])
    assert cache.entries == [(1, 10), (2, 20)]
    assert text(tmp_path) == "0\n2\n1 10\n2 20\n"


def test_clearing_reaches_the_file_only_when_asked(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign(1, 10)
    cache.clear()
    cache.flush()
    assert (cache.entries, text(tmp_path)) == ([], "0\n1\n1 10\n")
    cache.clear_and_flush()
    assert text(tmp_path) == "0\n0\n"


def test_a_file_that_does_not_rise_is_repaired_in_memory_only(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("0\n3\n1 10\n2 5\n3 7\n")
    cache = LeaderEpochFileCache.open(tmp_path)
    assert cache.entries == [(2, 5), (3, 7)]
    cache.flush()
    assert text(tmp_path) == "0\n3\n1 10\n2 5\n3 7\n"


def test_an_unreadable_file_is_told_and_left_for_inspection(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("0\n1\ngarbage\n")
    with pytest.raises(CheckpointError, match="leader-epoch-checkpoint, line 3"):
        LeaderEpochFileCache.open(tmp_path)
    assert text(tmp_path) == "0\n1\ngarbage\n"


def test_a_deleted_partition_has_nothing_left_to_flush(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    cache = LeaderEpochFileCache.open(directory)
    cache.assign_many([(1, 10), (2, 20)])
    cache.truncate_to(15)
    directory.rename(tmp_path / "t-0.deleted")
    cache.flush()
    with pytest.raises(FileNotFoundError):
        cache.assign(3, 30)


@pytest.mark.parametrize("step", range(1, 6))
def test_a_failed_write_stays_pending_and_can_be_tried_again(tmp_path: Path, step: int) -> None:
    cache = LeaderEpochFileCache.open(tmp_path, FailingDisk(step))
    with pytest.raises(OSError, match="No space left"):
        cache.assign(1, 10)
    assert cache.pending
    cache.flush()
    assert not cache.pending
    assert text(tmp_path) == "0\n1\n1 10\n"


class SlowDisk(FileSystem):
    """Stops in the middle of a write until it is told to go on."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def rename(self, source: Path, target: Path) -> None:
        self.reached.set()
        assert self.go_on.wait(10)
        super().rename(source, target)


def in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_an_older_state_never_overwrites_a_newer_and_readers_never_wait(tmp_path: Path) -> None:
    disk = SlowDisk()
    cache = LeaderEpochFileCache.open(tmp_path, disk)
    first = in_background(lambda: cache.assign(1, 10))
    assert disk.reached.wait(10)
    second = in_background(lambda: cache.assign(2, 20))
    while cache.latest_epoch != 2:
        pass
    assert cache.end_offset_for(1, 100) == (1, 20)
    disk.go_on.set()
    first.join()
    second.join()
    assert text(tmp_path) == "0\n2\n1 10\n2 20\n"


@pytest.mark.usefixtures("restless_threads")
def test_threads_that_change_and_read_see_whole_histories(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    stop = threading.Event()
    torn: list[object] = []

    def read() -> None:
        while not stop.is_set():
            history = cache.history
            epochs, starts = history.columns
            answers = [history.end_offset_for(epoch, 10**6) for epoch in epochs]
            if answers != list(zip(epochs, [*starts[1:], 10**6], strict=False)):
                torn.append(answers)

    def change(worker: int) -> None:
        for turn in range(60):
            epoch = 2 * turn + worker
            cache.assign(epoch, epoch * 10)
            if turn % 7 == 0:
                cache.truncate_to(epoch * 10 - 15)
            if turn % 11 == 0:
                cache.flush()

    readers = [in_background(read) for _ in range(2)]
    writers = [in_background(lambda worker=worker: change(worker)) for worker in range(2)]
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    cache.flush()
    assert torn == []
    assert LeaderEpochFileCache.open(tmp_path).entries == cache.entries


def test_a_forked_process_is_told_whose_file_it_may_not_change(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.detach()
    with pytest.raises(InheritedError, match=f"^{tmp_path / FILE}: the epochs belong to the parent process"):
        cache.truncate_to(0)
    in_memory = LeaderEpochFileCache()
    in_memory.detach()
    assert in_memory.assign(1, 10)


def test_once_closed_it_refuses_to_change_its_file(tmp_path: Path) -> None:
    def refuse() -> NoReturn:
        raise LookupError

    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign(1, 10)
    cache.close(refuse)
    with pytest.raises(LookupError):
        cache.assign(2, 20)
    assert cache.entries == LeaderEpochFileCache.open(tmp_path).entries == [(1, 10)]
    in_memory = LeaderEpochFileCache()
    in_memory.close(refuse)
    assert in_memory.assign(1, 10)


@pytest.mark.parametrize(
    "forget",
    [
        lambda cache: cache.truncate_to(15),
        lambda cache: cache.truncate_from_start(15),
        lambda cache: cache.restore(EpochHistory([(1, 10)])),
    ],
    ids=["truncate_to", "truncate_from_start", "restore"],
)
def test_what_is_forgotten_waits_for_the_file(tmp_path: Path, forget: Callable[[LeaderEpochFileCache], object]) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign_many([(1, 10), (2, 20)])
    forget(cache)
    assert cache.pending
    cache.flush()
    assert not cache.pending
    assert LeaderEpochFileCache.open(tmp_path).entries == cache.entries


def test_forgetting_in_memory_only_leaves_the_file(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache.open(tmp_path)
    cache.assign(1, 10)
    cache.clear()
    assert (cache.entries, cache.pending) == ([], False)
    assert text(tmp_path) == "0\n1\n1 10\n"
