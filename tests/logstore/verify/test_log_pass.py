"""What verify says of bytes that are no batches, and of files that vanish or cannot be read."""

import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from logstore.batch.columns import BatchColumns
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.kernels import scan
from logstore.offline import tail_rereader
from logstore.offline.batch_search import BatchSearch
from logstore.offline.log_file import LogFile
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, Severity, bytes_to_read, verify_partition, verify_root
from logstore.verify.finding import Reporter
from logstore.verify.log_pass import LogPass, Scan, read_ahead
from tests.logstore.batches import simple_batch

NAMES = [f"{base:020d}.log" for base in range(3)]
SECONDS = 30


def write(directory: Path, *contents: bytes) -> Path:
    """Segments whose base offsets are 0, 1, 2."""
    partition = directory / "t-0"
    partition.mkdir(parents=True)
    for name, content in zip(NAMES, contents, strict=False):
        (partition / name).write_bytes(content)
    return partition


def found(partition: PartitionDirectory) -> list[Finding]:
    # These logs have neither indexes nor epochs beside them.
    ours = ("index-missing", "epoch-checkpoint-missing")
    return [each for each in verify_partition(partition) if each.kind not in ours]


def three_segments(directory: Path) -> PartitionDirectory:
    return PartitionDirectory.open(write(directory, *(simple_batch(offset) for offset in range(3))))


def kinds(findings: Iterable[Finding]) -> list[tuple[str, str | None]]:
    return [(each.kind, each.file) for each in findings]


def test_zeros_at_the_end_matter_by_where_they_are_and_how_the_broker_stopped(tmp_path: Path) -> None:
    def severity(*contents: bytes, root: str, clean: bool = False) -> list[Severity]:
        partition = write(tmp_path / root, *contents)
        if clean:
            (tmp_path / root / CLEAN_SHUTDOWN_NAME).touch()
        return [each.severity for each in found(PartitionDirectory.open(partition)) if each.kind == "zero-tail"]

    tail = simple_batch(0) + bytes(500)
    assert severity(tail, root="preallocated") == [Severity.INFO]
    assert severity(tail, root="stopped in order", clean=True) == [Severity.WARNING]
    assert severity(tail, simple_batch(1), root="rolled") == [Severity.ERROR]


def test_consecutive_corrupt_batches_are_one_finding(tmp_path: Path) -> None:
    good, bad = simple_batch(0), bytearray(simple_batch(0))
    bad[-1] ^= 1
    size = len(good)
    partition = PartitionDirectory.open(write(tmp_path, good + bytes(bad) * 5_000 + good + bytes(bad)))
    corrupt = [each for each in found(partition) if each.kind == "corrupt-batch"]
    assert [each.position for each in corrupt] == [size, size * 5_002]
    assert "5,000 consecutive batches" in corrupt[0].message


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_corrupt_batches_are_one_finding_in_however_many_chunks_they_are_read(tmp_path: Path, rows: int) -> None:
    good, bad = simple_batch(0), simple_batch(0)[:-1] + b"\xff"
    partition = PartitionDirectory.open(write(tmp_path, good + bad * 3 + good + bad, bad + good, bad * 2))

    def in_chunks(log: LogFile, position: int) -> Iterator[BatchColumns]:
        for columns in log.scan(position):
            for first in range(0, len(columns), rows):
                last = min(first + rows, len(columns))
                yield columns.slice(first, last, int((columns.position + columns.size)[last - 1]), columns.stop)

    def findings(scan: Scan) -> list[Finding]:
        return [*LogPass(partition.segments, [], Reporter(partition.topic_partition), scan=scan).run()]

    assert findings(in_chunks) == findings(LogFile.scan)
    assert [(each.file, each.position) for each in findings(in_chunks)] == [
        (NAMES[0], len(good)),
        (NAMES[0], 5 * len(good)),
        (NAMES[1], 0),
        (NAMES[2], 0),
    ]


@pytest.mark.parametrize("gone", [[0], [0, 1], [2], [1, 2], [0, 1, 2]])
def test_segments_deleted_from_either_end_meanwhile_are_normal(tmp_path: Path, gone: list[int]) -> None:
    partition = three_segments(tmp_path)
    assert len(partition.segments) == 3
    for number in gone:
        (partition.path / NAMES[number]).unlink()
    assert found(partition) == []


def test_a_segment_gone_from_the_middle_is_reported_and_the_rest_checked(tmp_path: Path) -> None:
    partition = PartitionDirectory.open(
        write(tmp_path, simple_batch(0), simple_batch(1), simple_batch(2)[:-1] + b"\xff")
    )
    assert len(partition.segments) == 3
    (partition.path / NAMES[1]).unlink()
    log_pass = LogPass(partition.segments, [], Reporter(partition.topic_partition))
    assert kinds(log_pass.run()) == [("file-unreadable", NAMES[1]), ("corrupt-batch", NAMES[2])]
    # The directory is listed again, and then it is only the records that are missing.
    assert kinds(found(partition)) == [("corrupt-batch", NAMES[2]), ("missing-segment", NAMES[1])]


def test_a_segment_that_may_not_be_read_is_reported_and_the_rest_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = PartitionDirectory.open(write(tmp_path, simple_batch(0), simple_batch(1)[:-1] + b"\xff"))
    real = LogFile.open

    def refuse_the_first(path: Path) -> LogFile:
        if path.name == NAMES[0]:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(LogFile, "open", refuse_the_first)
    findings = found(partition)
    assert kinds(findings) == [("file-unreadable", NAMES[0]), ("corrupt-batch", NAMES[1])]
    assert findings[0].severity is Severity.ERROR


def test_a_segment_deleted_after_others_were_read_is_normal_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = three_segments(tmp_path)
    real = LogFile.open

    def retention_comes(path: Path) -> LogFile:
        log = real(path)
        for name in NAMES[:2]:
            (partition.path / name).unlink(missing_ok=True)
        return log

    monkeypatch.setattr(LogFile, "open", retention_comes)
    assert found(partition) == []


def test_of_a_partition_that_is_deleted_meanwhile_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = write(tmp_path, simple_batch(3)), tmp_path / "u-0"
    (one / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    shutil.copytree(one, other)
    root = OfflineLogDirectory.open(tmp_path)
    assert {each.topic for each in verify_root(root)} == {"t", "u"}
    real = PartitionDirectory.open.__func__  # type: ignore[attr-defined]

    def delete_and_open(_cls: type, path: Path, **bounds: object) -> PartitionDirectory:
        opened: PartitionDirectory = real(PartitionDirectory, path, **bounds)
        if path.name == "t-0":
            path.rename(path.with_name("t-0.0123456789abcdef-delete"))
        return opened

    monkeypatch.setattr(PartitionDirectory, "open", classmethod(delete_and_open))
    assert {each.topic for each in verify_root(root)} == {"u"}
    assert {each.topic for each in verify_root(root)} == {"u"}, "gone before it was opened"
    assert bytes_to_read(root) == len(simple_batch(3))


def test_a_directory_that_cannot_be_listed_is_reported_and_the_others_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(write(tmp_path, simple_batch(3)), tmp_path / "u-0")
    root = OfflineLogDirectory.open(tmp_path)
    real = OfflineLogDirectory.open_partition

    def refuse(self: OfflineLogDirectory, name: str) -> PartitionDirectory:
        if name == "t-0":
            raise PermissionError(13, "Permission denied", name)
        return real(self, name)

    monkeypatch.setattr(OfflineLogDirectory, "open_partition", refuse)
    findings = list(verify_root(root))
    assert (findings[0].kind, findings[0].topic) == ("file-unreadable", "t")
    assert "u" in {each.topic for each in findings}
    assert bytes_to_read(root) == len(simple_batch(3))


def test_bytes_to_read_counts_what_is_there(tmp_path: Path) -> None:
    partition = three_segments(tmp_path)
    assert bytes_to_read(partition) == sum(segment.size for segment in partition.segments)
    (partition.path / NAMES[0]).unlink()
    assert bytes_to_read(partition) == 2 * len(simple_batch(1))


def test_a_preallocated_tail_is_read_again_although_its_size_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = simple_batch(0) + simple_batch(1)
    torn = simple_batch(0) + simple_batch(1)[:9]
    partition = PartitionDirectory.open(write(tmp_path, torn.ljust(500, b"\0")))

    def finish_the_write(_pause: float) -> None:
        (partition.path / NAMES[0]).write_bytes(written.ljust(500, b"\0"))

    monkeypatch.setattr(tail_rereader, "time", SimpleNamespace(sleep=finish_the_write))
    assert [(each.kind, each.position) for each in found(partition)] == [("zero-tail", len(written))]


def test_what_is_truncated_during_the_pass_was_part_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = PartitionDirectory.open(write(tmp_path, simple_batch(0) + simple_batch(1)))
    real = LogFile.open

    def open_and_truncate(path: Path) -> LogFile:
        log = LogFile(memoryview(path.read_bytes()), path) if path.stat().st_size > len(simple_batch(0)) else real(path)
        path.write_bytes(simple_batch(0))
        return log

    monkeypatch.setattr(LogFile, "open", open_and_truncate)
    log_pass = LogPass(partition.segments, [], Reporter(partition.topic_partition))
    assert list(log_pass.run()) == []
    assert log_pass.log_end_offset == 2


def test_what_is_appended_during_the_pass_is_part_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = PartitionDirectory.open(write(tmp_path, simple_batch(0)))
    real = LogFile.open

    def open_and_append(path: Path) -> LogFile:
        log = real(path)
        path.write_bytes(simple_batch(0) + simple_batch(1))
        return log

    monkeypatch.setattr(LogFile, "open", open_and_append)
    log_pass = LogPass(partition.segments, [], Reporter(partition.topic_partition))
    assert list(log_pass.run()) == []
    assert log_pass.log_end_offset == 2


def test_a_tail_is_read_again_no_more_than_some_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"torn")
    written_to = SimpleNamespace(sleep=lambda _pause: log.write_bytes(log.read_bytes() + b"more"))
    monkeypatch.setattr(tail_rereader, "time", written_to)
    growing = tail_rereader.TailRereader(log)
    answers = []
    for _ in range(tail_rereader.TAIL_READS + 1):
        with growing.open():
            answers.append(growing.is_worth_another_read())
    assert answers == [True] * tail_rereader.TAIL_READS + [False]


def test_the_work_of_searching_behind_damage_is_limited_for_a_whole_file() -> None:
    false = bytearray(simple_batch(0, [bytes(5_000)]))
    false[-1] ^= 1
    junk = bytes(false) + b"\x55" * 100
    data = memoryview(junk * 10 + simple_batch(0))
    end = len(data) - len(simple_batch(0))
    log = LogFile(data)
    search = BatchSearch(log)
    assert search.find(0) == end
    spent = 0
    while search.find(0) == end:
        spent += 1
        assert spent < 1_000
    assert scan.find_next_batch(log.array, 0, len(data), 0) == end


def test_all_items_come_in_their_order() -> None:
    assert list(read_ahead(iter(range(1, 6)))) == [1, 2, 3, 4, 5]
    assert list(read_ahead(iter(()))) == []


def test_the_next_item_is_made_while_one_is_worked_on() -> None:
    second_is_made = threading.Event()

    def items() -> Iterator[str]:
        yield "first"
        second_is_made.set()
        yield "second"

    coming = read_ahead(items())
    assert next(coming) == "first"
    assert second_is_made.wait(SECONDS)
    assert list(coming) == ["second"]


def test_an_error_comes_where_its_item_would_have() -> None:
    def items() -> Iterator[str]:
        yield "first"
        raise OSError("the disk is gone")

    coming = read_ahead(items())
    assert next(coming) == "first"
    with pytest.raises(OSError, match="the disk is gone"):
        next(coming)


def test_nothing_goes_on_behind_the_back_of_who_stops_early() -> None:
    before = set(threading.enumerate())
    coming = read_ahead(iter(range(1, 6)))
    next(coming)
    coming.close()
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile
