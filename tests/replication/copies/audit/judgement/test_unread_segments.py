"""Of what could not be read nothing is said: whatever is found then is also found where all is read."""

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from unittest.mock import patch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify.finding import UNREADABLE
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import REASSURING, PartitionVerdict, Verdict
from tests.logstore.verify.no_files import NO_FILES
from tests.replication.copies.audit.judgement.test_judgement import histories, range_bits, ranges_of
from tests.replication.copies.audit.logs import Copy, Written, examined, write_copies

EXAMPLES = 60
Told = set[tuple[object, ...]]


@contextmanager
def refusing(*paths: Path) -> Iterator[None]:
    """Let files be as those that belong to somebody else."""
    refused, real = {str(path) for path in paths}, builtins.open

    def open_unless_refused(file: Any, *arguments: Any, **options: Any) -> IO[Any]:
        if str(file) in refused:
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *arguments, **options)

    with patch.object(builtins, "open", open_unless_refused):
        yield


def files_of(partitions: dict[str, PartitionDirectory]) -> list[Path]:
    return [path for partition in partitions.values() for path in sorted(partition.path.iterdir()) if path.is_file()]


def found(verdict: PartitionVerdict) -> Told:
    return {(each.replica, each.finding.kind) for each in verdict.findings if each.finding.kind != UNREADABLE}


def missing(verdict: PartitionVerdict) -> Told:
    """The single offsets that each copy is said to lack."""
    return {
        (replica, offset)
        for each in verdict.comparisons
        for replica, ranges in ((each.left, each.missing_left), (each.right, each.missing_right))
        for lacking in ranges
        for offset in range(lacking.first, lacking.last + 1)
    }


def forks(verdict: PartitionVerdict) -> Told:
    return {(each.left, each.right) for each in verdict.forks}


def truncations(verdict: PartitionVerdict) -> Told:
    return {(each.leader, each.follower, each.truncate_to) for each in verdict.pairs if each.truncate_to is not None}


def lost(verdict: PartitionVerdict) -> dict[str, int]:
    assert verdict.recommendation is not None
    return {each.replica: each.loss.lost.records for each in verdict.recommendation.candidates if each.loss}


@settings(max_examples=EXAMPLES, phases=[Phase.generate])
@given(histories(), st.data(), range_bits, st.sampled_from([150, 400, 100_000]))
def test_nothing_is_said_of_what_is_not_read(
    logs: tuple[tuple[Written, ...], ...], data: st.DataObject, bits: int, size: int
) -> None:
    common, left, right = logs
    copies = [Copy((*common, *left), size), Copy((*common, *right), size), Copy((*common, *left), size)]
    with TemporaryDirectory() as directory, ranges_of(bits):
        partitions = write_copies(Path(directory), copies)
        refused = data.draw(st.lists(st.sampled_from(files_of(partitions)), min_size=1, max_size=3, unique=True))
        read = judge(examined(partitions))
        with refusing(*refused):
            unread = judge(examined(partitions))

    ensure_no_more_is_said(read, unread)
    if any(path.suffix == ".log" for path in refused):
        assert unread.verdict is Verdict.UNKNOWN
        assert not REASSURING & set(unread.verdicts)


def test_a_batch_that_reaches_beyond_what_was_not_read_of_another_copy_meets_what_comes_behind(tmp_path: Path) -> None:
    common = Written(epoch=3, count=5)
    forked = (common, Written(epoch=5, count=4)), (common, Written(epoch=7, count=3), Written(epoch=9, count=4))
    with ranges_of(0):  # the last two batches, 5..8 and 8..11, begin in ranges that are no neighbours
        partitions = write_copies(tmp_path, [Copy(batches, segment_bytes=150) for batches in forked])
        with refusing(partitions["broker-2"].path / "00000000000000000005.log"):
            unread = judge(examined(partitions))

    assert [(fork.offset, fork.left_epoch, fork.right_epoch) for fork in unread.forks] == [(8, 5, 9)]
    assert not missing(unread)


@settings(max_examples=EXAMPLES, phases=[Phase.generate])
@given(histories(), st.data(), st.sampled_from(NO_FILES), st.sampled_from([150, 400, 100_000]))
def test_nothing_is_said_of_a_log_that_is_no_file(
    logs: tuple[tuple[Written, ...], ...], data: st.DataObject, put: Callable[[Path], None], size: int
) -> None:
    common, left, right = logs
    copies = [Copy((*common, *left), size), Copy((*common, *right), size), Copy((*common, *left), size)]
    with TemporaryDirectory() as directory:
        partitions = write_copies(Path(directory), copies)
        logs_there = [path for path in files_of(partitions) if path.suffix == ".log"]
        replaced = data.draw(st.lists(st.sampled_from(logs_there), min_size=1, max_size=3, unique=True))
        read = judge(examined(partitions))
        for path in replaced:
            path.unlink()
            put(path)
        copies_now = examined({name: partition.listed_again() for name, partition in partitions.items()})
        unread = judge(copies_now)

    ensure_no_more_is_said(read, unread)
    assert unread.verdict is Verdict.UNKNOWN
    assert set(unread.unread) == {path.parent.parent.name for path in replaced}


def ensure_no_more_is_said(read: PartitionVerdict, unread: PartitionVerdict) -> None:
    assert set(unread.verdicts) - {Verdict.UNKNOWN} <= set(read.verdicts)
    assert found(unread) <= found(read)
    assert missing(unread) <= missing(read)
    assert forks(unread) <= forks(read)
    assert truncations(unread) <= truncations(read)
    assert all(count <= lost(read)[replica] for replica, count in lost(unread).items())
