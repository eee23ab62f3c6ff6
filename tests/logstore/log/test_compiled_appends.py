"""What compiled code writes past the file system of a log: the disk's answers are told as ever, and nothing is left."""

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.filesystem import FileSystem
from logstore.append.append_fast_path import APPEND_ONE
from logstore.append.append_info import AppendInfo
from logstore.errors import LogPoisonedError, LogStoreError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment
from logstore.segment.open_files import OpenFiles
from tests.logstore.batches import batch, record

CONFIG = LogConfig(index_interval_bytes=100)
FULL_AT = 4_000
"""Bytes of a file, in the middle of a batch."""
PROGRAM = """
import json, sys
from tests.logstore.log.test_compiled_appends import fill_up
print(json.dumps(fill_up(sys.argv[1], is_compiled=sys.argv[2] == "compiled")))
"""


def sent(offset: int) -> bytes:
    return batch(records=[record(value=bytes(200))], base_offset=offset, max_timestamp=offset)


@contextmanager
def appending(*, is_compiled: bool) -> Iterator[list[int]]:
    """Note the batches that the interpreter is to write, but for the first of an epoch or segment."""
    written: list[int] = []
    append_batch = LiveSegment.append_batch

    def counted(self: LiveSegment, data: bytes, info: AppendInfo, *rest: Any) -> AppendInfo | None:
        written.append(info.first_offset)
        return append_batch(self, data, info, *rest)

    APPEND_ONE.get()
    with ExitStack() as stack:
        stack.enter_context(patch.object(LiveSegment, "append_batch", counted))
        if not is_compiled:
            stack.enter_context(patch.object(AwaitedKernel, "ready", lambda *_: None))
            stack.enter_context(patch.object(APPEND_ONE, "code", None))
        yield written


def told(log: Log, error: OSError) -> list[object]:
    """All that a failed append tells and leaves."""
    wording = " ".join([str(error), *getattr(error, "__notes__", ())]).replace(str(log.directory), "")
    path = log.segments[-1].path
    return [error.errno, wording, log.failure is None, log.log_end_offset, path.stat().st_size, log.size]


def fill_up(directory: str, *, is_compiled: bool) -> list[object]:
    """Append beyond the largest size that files may have here, and go on once they may be larger."""
    with appending(is_compiled=is_compiled) as written, Log.open(Path(directory), CONFIG) as log:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_AT, most))
        offset = FULL_AT // len(sent(0))
        for each in range(offset):
            log.append_batches(sent(each))
        with pytest.raises(OSError, match="File too large") as caught:
            log.append_batches(sent(offset))
        found = told(log, caught.value)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        by_interpreter = written.copy()
        for each in (offset, offset + 1):
            log.append_batches(sent(each))
        content = [bytes(log.read(0, 1 << 20).data) == b"".join(map(sent, range(offset + 2)))]
        return [found, content, log.segments[-1].offset_index.entries, by_interpreter]


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    found = {}
    for way in ("compiled", "interpreted"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / f"{way}-0"), way],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        found[way] = json.loads(done.stdout)
    (number, wording, is_sound, end, size, log_size), content, *_ = found["compiled"][:-1]
    assert (number, is_sound, content) == (errno.EFBIG, True, [True])
    assert "make space" in wording
    assert size == log_size == end * len(sent(0)) < FULL_AT < size + len(sent(0))
    assert found["compiled"][:-1] == found["interpreted"][:-1]
    assert found["compiled"][-1] == [1, end]
    assert found["interpreted"][-1] == list(range(1, end + 1))


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_descriptor_that_cannot_be_written_poisons_the_log(tmp_path: Path, *, is_compiled: bool) -> None:
    with appending(is_compiled=is_compiled):
        log = Log.open(tmp_path / "t-0", CONFIG)
        for offset in range(5):
            log.append_batches(sent(offset))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, log.segments[-1].file.direct)
        os.close(nothing)
        with pytest.raises(OSError, match="Bad file descriptor") as caught:
            log.append_batches(sent(5))
        number, _, is_sound, *left = told(log, caught.value)
        assert (number, is_sound, left) == (errno.EBADF, False, [5, 5 * len(sent(0)), 5 * len(sent(0))])
        with pytest.raises(LogPoisonedError):
            log.append_batches(sent(5))
        log.abandon()
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        assert log.log_end_offset == 5


def test_a_write_of_a_part_is_taken_back_and_done_again(tmp_path: Path) -> None:
    def write_part(data: bytes, descriptor: int, *_: int) -> tuple[int, int, int, int, bool]:
        os.write(descriptor, data[:100])
        return 0, 0, 0, -1, False

    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for offset in range(3):
            log.append_batches(sent(offset))
        with patch.object(APPEND_ONE, "code", write_part):
            log.append_batches(sent(3))
        assert bytes(log.read(0, 1 << 20).data) == b"".join(map(sent, range(4)))
        assert log.segments[-1].path.stat().st_size == log.size


def test_a_process_forked_in_the_middle_writes_nothing(tmp_path: Path) -> None:
    append_one, left = APPEND_ONE.get(), []

    def fork_before(*arguments: Any) -> Any:
        child = os.fork()
        if child:
            left.append(os.waitpid(child, 0)[1])
        return append_one(*arguments)

    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for offset in range(3):
            log.append_batches(sent(offset))
        with patch.object(APPEND_ONE, "code", fork_before):
            parent = os.getpid()
            try:
                log.append_batches(sent(3))
            finally:
                if os.getpid() != parent:
                    os._exit(7 if isinstance(sys.exception(), LogStoreError) else 1)
        assert os.waitstatus_to_exitcode(left[0]) == 7
        assert log.segments[-1].path.read_bytes() == b"".join(map(sent, range(4)))


def test_files_that_are_closed_in_between_are_opened_again(tmp_path: Path) -> None:
    files = OpenFiles(1)
    with (
        appending(is_compiled=True) as written,
        Log.open(tmp_path / "t-0", CONFIG, open_files=files) as first,
        Log.open(tmp_path / "t-1", CONFIG, open_files=files) as second,
    ):
        for offset in range(9):
            for log in (first, second):
                log.append_batches(sent(offset))
                first.segments[-1].file.used = second.segments[-1].file.used = False
        for log in (first, second):
            assert bytes(log.read(0, 1 << 20).data) == b"".join(map(sent, range(9)))
    assert written == [offset for offset in range(1, 9) for _ in range(2)]


def test_a_disk_in_place_of_the_real_one_sees_each_write(tmp_path: Path) -> None:
    seen: list[bytes] = []

    class Watched(FileSystem):
        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            seen.append(bytes(data))
            super().write(descriptor, data)

    with Log.open(tmp_path / "t-0", CONFIG, filesystem=Watched()) as log:
        for offset in range(5):
            log.append_batches(sent(offset))
            assert seen[-1] == sent(offset)


def test_compiled_code_writes_all_but_the_first_two_batches_of_a_segment(tmp_path: Path) -> None:
    size = len(sent(0))
    config = LogConfig(segment_bytes=5 * size, index_interval_bytes=100)
    with appending(is_compiled=True) as written, Log.open(tmp_path / "t-0", config) as log:
        for offset in range(15):
            log.append_batches(sent(offset))
        assert [each.base_offset for each in log.segments] == [0, 5, 10]
        assert written == [1, 5, 6, 10, 11]
        assert [len(each.offset_index) for each in log.segments] == [4, 4, 4]
        log.truncate_to(13)
        log.append_batches(sent(13))
        assert bytes(log.read(10, 1 << 20).data) == b"".join(map(sent, range(10, 14)))


def test_a_segment_that_is_too_old_ends_before_the_batch(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", LogConfig(segment_ms=10)) as log:
        for offset in range(25):
            log.append_batches(sent(offset))
        assert [each.base_offset for each in log.segments] == [0, 11, 22]
