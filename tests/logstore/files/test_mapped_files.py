"""Whoever holds bytes of a file keeps them, whichever object of the process cuts, empties or removes the file."""

import errno
import faulthandler
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from epoch.base import mapping
from epoch.filesystem import REAL, FileSystem
from logstore.batch.record import Record
from logstore.errors import ReentrantCallError
from logstore.file_name import FileKind, file_name
from logstore.files import mapped_files
from logstore.files.mapped_files import begin_file, cut_file, map_file, map_whole_file
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.header_scan import scan_headers
from logstore.offline.log_file import LogFile
from tests.open_files import open_files

CONFIG = LogConfig(retention_ms=-1, file_delete_delay_ms=0)
BATCHES = 40


def filled(log: Log, letter: bytes, epoch: int) -> Log:
    for _ in range(BATCHES):
        log.append([Record.of(letter * 1_000, timestamp=1)], leader_epoch=epoch)
    return log


def reopened(log: Log) -> Log:
    log.close()
    return Log.open(log.directory, CONFIG)


def opened_after_a_crash(log: Log) -> Log:
    log.abandon()
    return Log.open(log.directory, CONFIG)


def opened_by_another_name(log: Log) -> Log:
    """As from a backup by hard links."""
    log.close()
    other = log.directory.with_name("other-0")
    other.mkdir()
    os.link(log.directory / file_name(FileKind.LOG, 0), other / file_name(FileKind.LOG, 0))
    return Log.open(other, CONFIG)


def truncated(log: Log) -> None:
    log.truncate_to(1)


def started_over(log: Log) -> None:
    log.truncate_fully_and_start_at(0)


def deleted(log: Log) -> None:
    log.roll()
    log.update_high_watermark(log.log_end_offset)
    log.delete_records(log.log_end_offset)
    assert log.delete_old_segments() == 1


@pytest.mark.parametrize("change", [truncated, started_over, deleted])
@pytest.mark.parametrize(
    "leave", [lambda log: log, reopened, Log.recover, opened_after_a_crash, opened_by_another_name]
)
def test_a_view_outlives_the_log_that_gave_it(
    tmp_path: Path, leave: Callable[[Log], Log], change: Callable[[Log], None]
) -> None:
    log = filled(Log.open(tmp_path / "t-0", CONFIG), b"A", 0)
    view = log.read(0, 1 << 20)
    before = bytes(view.data)
    log = leave(log)
    change(log)
    filled(log, b"B", 1)
    assert bytes(view.data) == before
    assert {bytes(record.value or b"") for record in view.records()} == {b"A" * 1_000}
    assert [bytes(record.value or b"")[:1] for record in log.read(log.log_end_offset - 1, 1).records()] == [b"B"]
    log.close()


def test_who_reads_a_file_keeps_it_while_its_log_is_truncated(tmp_path: Path) -> None:
    log = filled(Log.open(tmp_path / "t-0", CONFIG), b"A", 0)
    with LogFile.open(log.segments[0].path) as file:
        before = bytes(file.data)
        truncated(log)
        filled(log, b"B", 1)
        assert bytes(file.data) == before
    log.close()


def test_who_reads_a_torn_file_keeps_it_while_it_is_recovered(tmp_path: Path) -> None:
    log = filled(Log.open(tmp_path / "t-0", CONFIG), b"A", 0)
    log.abandon()
    with log.segments[0].path.open("ab") as file:
        file.write(b"torn" * 5_000)
    with LogFile.open(log.segments[0].path) as reader:
        log = filled(Log.open(log.directory, CONFIG), b"B", 1)
        assert log.report.dropped_bytes == 20_000
        assert bytes(reader.data[-4:]) == b"torn"
    log.close()


def test_recovery_cuts_in_place_where_nobody_reads(tmp_path: Path) -> None:
    log = filled(Log.open(tmp_path / "t-0", CONFIG), b"A", 0)
    log.abandon()
    path = log.segments[0].path
    with path.open("ab") as file:
        file.write(b"torn")
    inode = path.stat().st_ino
    Log.open(log.directory, CONFIG).close()
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("kept", [3, 6, 7])
def test_a_file_is_copied_only_where_a_view_reaches_beyond_the_cut(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one-two-three")
    inode, view = path.stat().st_ino, map_file(path, 6)
    cut_file(REAL, path, kept)
    assert path.read_bytes() == b"one-two-three"[:kept]
    assert bytes(view) == b"one-tw"
    assert (path.stat().st_ino == inode) == (kept >= 6)


def test_a_part_of_a_view_keeps_the_file_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one-two-three")
    held = len(mapped_files._held)
    part, rest = map_file(path, 13)[4:7], map_whole_file(path)[5:]
    assert len(mapped_files._held) == held + 2
    cut_file(REAL, path, 2)
    assert (bytes(part), bytes(rest)) == (b"two", b"wo-three")
    del part, rest
    assert len(mapped_files._held) == held
    inode = path.stat().st_ino
    cut_file(REAL, path, 1)
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("held", [False, True])
def test_a_file_that_begins_anew_leaves_the_old_one_to_its_readers(tmp_path: Path, held: bool) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"old")
    view = map_file(path, 3) if held else memoryview(b"old")
    descriptor = begin_file(REAL, path)
    os.write(descriptor, b"new")
    os.close(descriptor)
    assert (path.read_bytes(), bytes(view)) == (b"new", b"old")


def test_a_file_that_somebody_else_has_cut_is_not_mapped(tmp_path: Path) -> None:
    log = filled(Log.open(tmp_path / "t-0", CONFIG), b"A", 0)
    os.truncate(log.segments[0].path, 100)
    with pytest.raises(OSError, match="the file has 100: another process has truncated it") as told:
        log.read(0, 1 << 20)
    assert told.value.errno == errno.EIO
    log.abandon()


def test_held_views_keep_no_descriptors(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", CONFIG)
    views, descriptors = [], 0
    for number in range(50):
        log.append([Record.of(b"%d" % number)], leader_epoch=0)
        views.append(log.read(0, 1 << 20))
        descriptors = descriptors or len(open_files(tmp_path))
    assert len(open_files(tmp_path)) == descriptors
    assert [len(list(view.records())) for view in views] == list(range(1, 51))
    log.close()


def test_a_child_that_is_forked_while_a_file_is_mapped_does_not_wait_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with mapped_files._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        os._exit(0 if bytes(map_file(path, 3)) == b"one" else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_signal_handler_may_map_a_file_while_its_thread_maps_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.log").write_bytes(b"one")
    (tmp_path / "b.log").write_bytes(b"two")
    mapped = []
    system_map = mapping.map_descriptor

    def interrupted_map(descriptor: int, size: int, path: Path) -> mapping.Mapping:
        monkeypatch.setattr(mapping, "map_descriptor", system_map)
        mapped.append(bytes(map_file(tmp_path / "b.log", 3)))
        return system_map(descriptor, size, path)

    monkeypatch.setattr(mapping, "map_descriptor", interrupted_map)
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        mapped.append(bytes(map_file(tmp_path / "a.log", 3)))
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert mapped == [b"two", b"one"]


def test_none_is_mapped_or_cut_in_the_middle_of_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"onetwo")
    refused: list[Callable[[], object]] = [
        lambda: map_file(path, 3),
        lambda: map_whole_file(path),
        lambda: cut_file(REAL, path, 1),
        lambda: begin_file(REAL, path),
    ]

    class HandlingDisk(FileSystem):
        def truncate(self, path: Path, size: int) -> None:
            for call in refused:
                with pytest.raises(ReentrantCallError, match="just cutting"):
                    call()
            super().truncate(path, size)

    faulthandler.dump_traceback_later(60, exit=True)
    try:
        cut_file(HandlingDisk(), path, 3)
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert bytes(map_whole_file(path)) == b"one"


def test_nobody_waits_for_a_pipe_and_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        map_whole_file(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        next(scan_headers(tmp_path / "pipe"))
    with pytest.raises(IsADirectoryError):
        map_whole_file(tmp_path)
