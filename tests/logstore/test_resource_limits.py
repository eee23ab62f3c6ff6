"""Whoever has no descriptors, mappings or threads left is told by which limit, and the log goes on."""

import errno
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from epoch.base import mapping
from epoch.base.resource_limits import OutOfMemoryError, ResourceLimitError
from epoch.filesystem import REAL, FileSystem
from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.directory.log_opener import LogOpener
from logstore.errors import LogPoisonedError, LogStoreError, NotClosedError
from logstore.files.index_slots import read_index
from logstore.indexes import live_index
from logstore.log.log import Log
from logstore.log.truncation import Truncation
from logstore.log_config import LogConfig
from logstore.producers.producer_state import ProducerState
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_file import SegmentFile
from logstore.segment.segment_indexes import SegmentIndexes
from logstore.topic_partition import TopicPartition
from tests.logstore.directories import assert_sound

USE = """
import json, os, random, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from epoch.base.resource_limits import ResourceLimitError
from logstore import LogConfig, LogDirectory, Record, TopicPartition

root, rng, taken = sys.argv[1], random.Random(int(sys.argv[2])), []
config = LogConfig(segment_bytes=3000, retention_ms=-1, file_delete_delay_ms=0, flush_messages=int(sys.argv[3]))
directory = LogDirectory.open(root, config)
kept, held, limits, others = {}, [], 0, []
for step in range(1500):
    if rng.random() < 0.02:  # others take all descriptors but a few, or give them back
        while taken:
            os.close(taken.pop())
        try:
            while rng.random() < 0.995:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            for _ in range(rng.randrange(6)):
                os.close(taken.pop())
    try:
        choice = rng.random()
        if choice < 0.1 or not directory.partitions:
            directory.create(TopicPartition("t", rng.randrange(30)))
            continue
        partition = rng.choice(list(directory.partitions))
        log = directory.partitions[partition]
        if choice < 0.7:
            value = rng.randbytes(100)
            epoch = (log.epochs.latest_epoch or 0) + (rng.random() < 0.1)
            epoch = max(epoch, log.epochs.reserved.epoch) if log.epochs.reserved else epoch
            kept.setdefault(str(partition), {})[log.append([Record.of(value)], leader_epoch=epoch)[0]] = value.hex()
        elif choice < 0.8:
            held = [*held[-50:], log.read(rng.randrange(log.log_end_offset + 1), 1 << 20)]
        elif choice < 0.85:
            end = max(log.log_end_offset - rng.randrange(3), 0)
            log.truncate_to(end)
            kept[str(partition)] = {at: value for at, value in kept.get(str(partition), {}).items() if at < end}
        else:
            rng.choice([log.flush, log.roll, log.delete_old_segments])()
    except ResourceLimitError as error:
        limits += 1
        assert (error.limit, error.value) == ("RLIMIT_NOFILE", 64), error
        assert "RLIMIT_NOFILE of 64" in str(error)
    except FileExistsError:
        pass
    except Exception as error:
        others.append(repr(error))
failed = [str(log.failure) for log in directory.partitions.values() if log.failure]
for descriptor in taken:
    os.close(descriptor)
directory.close()
print(json.dumps({"kept": kept, "limits": limits, "others": others, "failed": failed}))
"""


@pytest.mark.parametrize("flush_messages", [1, 2**63 - 1])
@pytest.mark.parametrize("seed", range(2))
def test_logs_go_on_where_descriptors_run_out_and_come_back(tmp_path: Path, seed: int, flush_messages: int) -> None:
    arguments = [sys.executable, "-c", USE, str(tmp_path / "root"), str(seed), str(flush_messages)]
    process = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert process.stderr == ""
    told: dict[str, Any] = json.loads(process.stdout)
    assert (told["others"], told["failed"]) == ([], [])
    assert told["limits"] > 20
    with LogDirectory.open(tmp_path / "root") as directory:
        assert directory.unreadable == {}
        for name, values in told["kept"].items():
            log = directory.log(next(each for each in directory.partitions if str(each) == name))
            found = {str(record.offset): bytes(record.value or b"").hex() for record in everything(log)}
            assert found == values
    for path in (tmp_path / "root").glob("t-*"):
        assert_sound(path)


def everything(log: Log) -> list[Record]:
    records, offset = [], log.log_start_offset
    while view := log.read(offset, 1 << 20):
        records += view.records()
        offset = view.next_offset
    return records


def test_a_file_that_cannot_be_mapped_fails_the_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([Record.of(b"value")])
        log.segments[-1].file.release()
        out_of_memory_mapping(monkeypatch)
        with pytest.raises(
            ResourceLimitError, match=r"0\.log: .* the limit (vm.max_map_count|RLIMIT_AS) of [0-9,]+ is"
        ) as told:
            log.read(0, 1)
        assert told.value.errno == errno.ENOMEM
        monkeypatch.undo()
        assert [record.value for record in log.read(0, 1).records()] == [b"value"]


def test_a_truncation_that_cannot_map_what_it_cuts_has_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(5):
            log.append([Record.of(b"value")])
        log.segments[-1].file.release()
        out_of_memory_mapping(monkeypatch)
        with pytest.raises(ResourceLimitError, match=r"the limit (vm.max_map_count|RLIMIT_AS) of [0-9,]+ is"):
            log.truncate_to(2)
        assert (log.failure, log.log_end_offset) == (None, 5)
        monkeypatch.undo()
        assert log.append([Record.of(b"value")]).first_offset == 5
        assert [record.offset for record in log.read(0, 1 << 20).records()] == list(range(6))
        assert log.truncate_to(2)
    assert_sound(log.directory)


def test_a_truncation_maps_nothing_more_once_it_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(5):
            log.append([Record.of(b"value")])
        held = log.read(0, 1 << 20)
        truncate = Truncation._truncate

        def without_memory(truncation: Truncation, cut: Callable[[], None]) -> None:
            with monkeypatch.context() as limited:
                out_of_memory_mapping(limited)
                truncate(truncation, cut)

        monkeypatch.setattr(Truncation, "_truncate", without_memory)
        assert log.truncate_to(2)
        assert (log.failure, log.log_end_offset, len(list(held.records()))) == (None, 2, 5)
    assert_sound(log.directory)


def produce(log: Log, number: int) -> AppendInfo:
    """Append a record with this sequence number."""
    return log.append(
        [Record.of(b"value")], template=BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=number)
    )


def produced(tmp_path: Path) -> Log:
    """A log of several segments by an idempotent producer, which no snapshot tells about."""
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=250, file_delete_delay_ms=0))
    for number in range(9):
        produce(log, number)
    log.close()
    for path in log.directory.glob("*.snapshot"):
        if int(path.stem) < 9:
            path.unlink()
    return Log.open(log.directory, log.config)


def out_of_memory_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_mmap", lambda *_: mapping._FAILED)
    monkeypatch.setattr(mapping.ctypes, "get_errno", lambda: errno.ENOMEM)


WANTS = {
    "memory": MemoryError(),
    "descriptors": OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
    "memory of the system": OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
}


@pytest.mark.parametrize("want", WANTS)
def test_a_truncation_that_cannot_find_out_what_producers_wrote_has_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, want: str
) -> None:
    with produced(tmp_path) as log:
        files = sorted(path.name for path in log.directory.iterdir())

        def fail(*_: object) -> None:
            raise WANTS[want]

        monkeypatch.setattr(ProducerState, "replay", fail)
        with pytest.raises((MemoryError, ResourceLimitError)):
            log.truncate_to(7)
        monkeypatch.undo()
        assert (log.failure, log.log_end_offset) == (None, 9)
        assert sorted(path.name for path in log.directory.iterdir()) == files
        assert produce(log, 9).first_offset == 9
        assert log.truncate_to(7)
        again = produce(log, 7)
        assert (again.first_offset, again.is_duplicate) == (7, False)
        assert produce(log, 6).is_duplicate
    assert_sound(log.directory)


def test_a_truncation_reads_no_producers_once_it_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with produced(tmp_path) as log:
        truncate = Truncation._truncate

        def without_memory(truncation: Truncation, cut: Callable[[], None]) -> None:
            with monkeypatch.context() as limited:
                out_of_memory_mapping(limited)
                truncate(truncation, cut)

        monkeypatch.setattr(Truncation, "_truncate", without_memory)
        assert log.truncate_to(7)
        assert (log.failure, log.log_end_offset) == (None, 7)
        assert produce(log, 6).is_duplicate
    assert_sound(log.directory)


CALLS: dict[str, Callable[[Log], object]] = {
    "append": lambda log: log.append([Record.of(b"value")]),
    "append_batches": lambda log: log.append_batches(encode_batch([Record.of(b"value")], BatchTemplate(1, 0))),
    "flush": lambda log: log.flush(),
    "roll": lambda log: log.roll(),
    "truncate_to": lambda log: log.truncate_to(0),
    "read": lambda log: log.read(0, 100),
    "offset_for_timestamp": lambda log: log.offset_for_timestamp(0),
}


def test_an_append_that_flushes_reads_no_index_once_its_records_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Log.open(tmp_path / "t-0", replicated=True) as log:
        for _ in range(3):
            log.append([Record.of(b"value")])
            log.roll()
        log.abandon()
    with Log.open(tmp_path / "t-0", LogConfig(flush_messages=1), replicated=True) as log:
        assert log.recovery_point == 0

        def read(path: Path) -> bytes:
            if path.stem != f"{3:020}":
                raise OutOfMemoryError(errno.ENOMEM, str(path), "RLIMIT_AS", 1, "release memory")
            return read_index(path)

        monkeypatch.setattr(live_index, "read_index", read)
        assert log.append([Record.of(b"value")], leader_epoch=0).first_offset == 3
        assert (log.failure, log.recovery_point) == (None, 4)
        monkeypatch.undo()
    assert_sound(log.directory)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_gets_no_memory_names_the_limit_and_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([Record.of(b"value")])

        def fail(*_: object, **__: object) -> None:
            raise MemoryError

        for step in (LiveSegment.append, LiveSegment.append_batch):
            monkeypatch.setattr(LiveSegment, step.__name__, fail)
        monkeypatch.setattr(SegmentIndexes, "save", fail)
        monkeypatch.setattr(SegmentFile, "between", fail)
        monkeypatch.setattr(SegmentFile, "data", fail)
        with (
            limited(resource.RLIMIT_DATA, 1 << 50),
            pytest.raises(MemoryError, match=r"t-0: out of memory: the limit RLIMIT_DATA of 1,125,8") as told,
        ):
            CALLS[call](log)
        assert isinstance(told.value, ResourceLimitError)
        assert (told.value.limit, told.value.value) == ("RLIMIT_DATA", 1 << 50)
        monkeypatch.undo()
        assert (log.failure, log.log_end_offset) == (None, 1)
        CALLS[call](log)
    assert_sound(log.directory)


def test_records_that_get_no_memory_to_be_encoded_name_the_limit(tmp_path: Path) -> None:
    records = [Record.of(bytes(128 << 20))]
    with Log.open(tmp_path / "t-0") as log:
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        with (
            limited(resource.RLIMIT_AS, in_use + (32 << 20)),
            pytest.raises(MemoryError, match="t-0: out of memory: the limit RLIMIT_AS of "),
        ):
            log.append(records)
        assert (log.failure, log.log_end_offset) == (None, 0)


class Forgetful(FileSystem):
    """Has no memory for a write while it is told so."""

    is_full = False

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        if self.is_full:
            raise MemoryError
        super().write(descriptor, data)


def test_a_directory_that_gets_no_memory_names_the_limit_and_stays_online(tmp_path: Path) -> None:
    disk = Forgetful()
    with LogDirectory.open(tmp_path / "root", filesystem=disk) as directory:
        directory.create(TopicPartition("t", 0))
        disk.is_full = True
        with pytest.raises(MemoryError, match=r"root: out of memory: the limit (RLIMIT_AS|physical memory) of [0-9]"):
            directory.checkpoint()
        disk.is_full = False
        directory.checkpoint()


def test_a_log_that_a_limit_has_broken_off_does_not_take_its_root_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LogDirectory.open(tmp_path / "root") as directory:
        log = directory.create(TopicPartition("t", 0))
        log.append([Record.of(b"value")])
        log.append([Record.of(b"value")])

        def fail(*_: object, **__: object) -> None:
            raise ResourceLimitError(errno.EMFILE, "Too many open files", "RLIMIT_NOFILE", 64, "raise it")

        monkeypatch.setattr(LiveSegment, "truncate_to", fail)
        with pytest.raises(ResourceLimitError):
            log.truncate_to(1)
        monkeypatch.undo()
        assert isinstance(log.failure, LogPoisonedError)
        directory.notice_failures()
        assert directory.failure is None
        assert directory.recover(TopicPartition("t", 0)).log_end_offset in {1, 2}


@contextmanager
def limited(kind: int, value: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.usefixtures("no_threads")
def test_a_thread_that_cannot_be_started_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = "can't start new thread: the limit (RLIMIT_NPROC|kernel.threads-max) of [0-9,]+ is reached"
    with pytest.raises(ResourceLimitError, match=limit):
        LogDirectory.open(tmp_path / "one", periodic=True)
    with pytest.raises(ResourceLimitError, match=limit):
        LogDirectories.open([tmp_path / "one", tmp_path / "two"])
    monkeypatch.undo()
    LogDirectories.open([tmp_path / "one", tmp_path / "two"], periodic=True).close()


def test_a_directory_closes_all_other_logs_and_tells_of_each_that_failed(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path / "root", settings=DirectorySettings(num_recovery_threads_per_data_dir=1))
    logs = [directory.create(TopicPartition("t", number)) for number in range(6)]
    for log in logs:
        log.append([Record.of(b"value")])
    for number in (1, 4):
        logs[number].directory.rename(tmp_path / f"gone-{number}")
    with pytest.raises(NotClosedError, match=r"2 steps of closing the logs in .*t-1/.*t-4/") as told:
        directory.close()
    assert [type(each) for each in told.value.failures] == [FileNotFoundError] * 2
    for log in (each for number, each in enumerate(logs) if number not in {1, 4}):
        assert log.recovery_point == 1
    with LogDirectory.open(tmp_path / "root") as directory:
        assert [log.log_end_offset for log in directory.partitions.values()] == [1] * 4


def test_the_directories_that_can_be_closed_are_closed(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("one", "two", "three")]
    directories = LogDirectories.open(roots)
    for root in directories.roots:
        log = root.create(TopicPartition("t", 0))
        if root.root.name != "two":
            log.directory.rename(tmp_path / f"gone-{root.root.name}")
    with pytest.raises(NotClosedError) as told:
        directories.close()
    assert len(told.value.failures) == 2
    assert (roots[1] / ".kafka_cleanshutdown").exists()
    LogDirectories.open(roots).close()


def test_a_partition_that_could_not_be_made_can_be_made_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LogDirectory.open(tmp_path / "root") as directory:

        def no_more(*_: object, **__: object) -> int:
            raise ResourceLimitError(errno.EMFILE, "Too many open files", "RLIMIT_NOFILE", 64, "raise it")

        monkeypatch.setattr(REAL.__class__, "open", no_more)
        with pytest.raises(ResourceLimitError):
            directory.create(TopicPartition("t", 0))
        monkeypatch.undo()
        assert directory.failure is None
        directory.create(TopicPartition("t", 0)).append([Record.of(b"value")])


def test_a_log_that_cannot_be_opened_for_want_of_descriptors_says_so_and_holds_no_lock(tmp_path: Path) -> None:
    Log.open(tmp_path / "t-0").close()
    taken = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(path.name) for path in Path("/dev/fd").iterdir()) + 3
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        with suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        with pytest.raises(ResourceLimitError, match=f"t-0.*RLIMIT_NOFILE of {most:,} is reached"):
            Log.open(tmp_path / "t-0")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)
    Log.open(tmp_path / "t-0").close()


@contextmanager
def descriptors(allowed: int) -> Iterator[None]:
    """Let this process have so many files open."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


PROJECT = Path(__file__).parents[2]
SHARED_LIMIT = """
import resource, sys
from logstore import Log, LogConfig

allowed, config = 256, LogConfig(segment_bytes=150)
resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
logs = [Log.open(f"{sys.argv[1]}/t-{number}", config) for number in range(2)]
for _ in range(allowed):
    for log in logs:
        log.append([b"x" * 50])
assert all(len(log.segments) > allowed // 2 for log in logs)
for log in logs:
    log.close()
for number in range(2):
    with Log.open(f"{sys.argv[1]}/t-{number}", config) as log:
        assert sum(1 for _ in log.records()) == allowed
"""
"""A program of its own: what tests before have left open in their process is not known."""


def test_logs_that_stand_alone_share_what_the_process_may_have_open(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHARED_LIMIT, str(tmp_path)], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_limit_is_caught_as_any_error_of_the_log_store(tmp_path: Path) -> None:
    assert issubclass(ResourceLimitError, LogStoreError)
    with Log.open(tmp_path / "t-0") as log, descriptors(3):
        with pytest.raises(LogStoreError, match="RLIMIT_NOFILE of 3 is reached") as caught:
            log.delete_old_segments()
        assert isinstance(caught.value, OSError)
        assert caught.value.file == str(log.directory)
        assert caught.value.errno == errno.EMFILE
        assert caught.value.with_position(file="x", position=1, offset=2) is caught.value


@pytest.mark.parametrize("replicated", [False, True])
def test_a_limit_makes_no_partition_unreadable(tmp_path: Path, *, replicated: bool) -> None:
    with LogDirectory.open(tmp_path) as directory:
        directory.create(TopicPartition("t", 0)).append([b"a"])
    limit = ResourceLimitError(24, "t", "RLIMIT_NOFILE", 3, "raise it")
    with patch.object(LogOpener, "open", side_effect=limit), pytest.raises(ResourceLimitError):
        LogDirectory.open(tmp_path, replicated=replicated)
