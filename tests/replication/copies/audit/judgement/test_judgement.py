"""Pairs of logs that differ in a known way are said to differ in that way, and in no other."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.compression.codec import Codec
from logstore.batch.layout import CRC_AT
from logstore.offline.log_file import LogFile
from logstore.verify import Severity
from replication.copies.audit.comparison import batch_reader, comparison
from replication.copies.audit.comparison.comparison import compare
from replication.copies.audit.comparison.examined_copy import ExaminedCopy, in_place
from replication.copies.audit.copy_summary import OffsetRange
from replication.copies.audit.examination import range_digests
from replication.copies.audit.examination.range_digests import RANGE_BITS
from replication.copies.audit.judgement import losses
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.planning import Relation
from tests.replication.copies.audit.logs import Copy, Written, change_record, examined, write_copies

EXAMPLES = 30
batches = st.builds(
    Written, epoch=st.integers(0, 2), count=st.integers(1, 4), codec=st.sampled_from([Codec.NONE, Codec.GZIP])
)
range_bits = st.sampled_from([0, 2, RANGE_BITS])
sizes = st.sampled_from([150, 400, 1_000, 100_000])


def written(shapes: list[Written], first_epoch: int, branch: str = "") -> tuple[Written, ...]:
    """Let epochs rise along the batches, by as much as each says."""
    epoch, made = first_epoch, []
    for shape in shapes:
        epoch += shape.epoch
        made.append(replace(shape, epoch=epoch, branch=branch))
    return tuple(made)


def last_epoch(batches: tuple[Written, ...]) -> int:
    return batches[-1].epoch if batches else 0


def end(batches: tuple[Written, ...]) -> int:
    return sum(batch.count for batch in batches)


@st.composite
def histories(draw: st.DrawFn) -> tuple[tuple[Written, ...], tuple[Written, ...], tuple[Written, ...]]:
    """What two copies have in common, and what each has beyond: written by leaders of different epochs."""
    common = written(draw(st.lists(batches, min_size=1, max_size=12)), 0)
    left = written(draw(st.lists(batches, max_size=4)), last_epoch(common) + 1, "l")
    right = written(draw(st.lists(batches, max_size=4)), last_epoch((*common, *left)) + 1, "r")
    return common, left, right


@contextmanager
def ranges_of(bits: int) -> Iterator[None]:
    """Let ranges of offsets be so small that a few batches fill many of them."""
    with ExitStack() as stack:
        for module in (range_digests, comparison, batch_reader, losses):
            stack.enter_context(patch.object(module, "RANGE_BITS", bits))
        stack.enter_context(patch.object(comparison, "RANGES_AT_ONCE", 2))
        yield


def judged(copies: list[Copy], bits: int) -> PartitionVerdict:
    with TemporaryDirectory() as directory, ranges_of(bits):
        return judge(examined(write_copies(Path(directory), copies)))


def errors(verdict: PartitionVerdict) -> list[ReplicaFinding]:
    return [found for found in verdict.findings if found.finding.severity is Severity.ERROR]


@settings(max_examples=EXAMPLES, deadline=None)
@given(histories(), sizes, sizes, range_bits, st.data())
def test_tails_and_starts(
    history: tuple[tuple[Written, ...], ...], left_size: int, right_size: int, bits: int, data: st.DataObject
) -> None:
    common, left_tail, right_tail = history
    starts = [data.draw(st.integers(0, len(common))) for _ in range(2)]
    copies = [
        Copy((*common, *left_tail), left_size, starts[0]),
        Copy((*common, *right_tail), right_size, starts[1]),
    ]
    verdict = judged(copies, bits)
    expected = set()
    if copies[0].start_offset != copies[1].start_offset:
        expected.add(Verdict.RETENTION)
    fork = end(common)
    if left_tail and right_tail:
        expected.add(Verdict.FORKED)
        assert [(each.offset, each.left_epoch, each.right_epoch) for each in verdict.forks] == [
            (fork, left_tail[0].epoch, right_tail[0].epoch)
        ]
    else:
        assert verdict.forks == ()
        if left_tail or right_tail:
            expected.add(Verdict.LAGGING)
    assert set(verdict.verdicts) == (expected or {Verdict.IDENTICAL})
    assert errors(verdict) == []
    first, second = verdict.pairs
    relations = {
        (True, True): (Relation.FORKED, Relation.FORKED),
        (True, False): (Relation.LAGGING, Relation.AHEAD),
        (False, True): (Relation.AHEAD, Relation.LAGGING),
        (False, False): (Relation.IDENTICAL, Relation.IDENTICAL),
    }[bool(left_tail), bool(right_tail)]
    assert (first.relation, second.relation) == relations
    assert (first.truncate_to, first.records_lost) == (fork, end(right_tail))
    assert (second.truncate_to, second.records_lost) == (fork, end(left_tail))


def test_a_fork_has_the_times_at_which_its_leaders_began_to_write() -> None:
    trunk = Written(0, 3, timestamp=1_000)
    branches = [
        [Written(1, 2, "l", timestamp=60_000), Written(1, 2, "l", timestamp=61_000)],
        [Written(2, 1, "r", timestamp=90_000)],
    ]
    (fork,) = judged([Copy((trunk, *branch)) for branch in branches], RANGE_BITS).forks
    assert (fork.offset, fork.left_timestamp, fork.right_timestamp) == (3, 60_000, 90_000)


def test_where_each_copy_is_stands_with_it(tmp_path: Path) -> None:
    verdict = judge(examined(write_copies(tmp_path, [Copy((Written(0, 3),))] * 2)))
    places = {each.replica: each.directory for each in verdict.branches}
    assert places == {name: str(tmp_path / name / "t-0") for name in ("broker-1", "broker-2")}


@settings(max_examples=EXAMPLES, deadline=None)
@given(histories(), sizes, sizes, range_bits, st.data())
def test_changed_bytes_under_a_good_checksum(
    history: tuple[tuple[Written, ...], ...], left_size: int, right_size: int, bits: int, data: st.DataObject
) -> None:
    common, left_tail, right_tail = history
    common = tuple(replace(batch, codec=Codec.NONE) for batch in common)
    number = data.draw(st.integers(0, len(common) - 1))
    start = data.draw(st.integers(0, len(common)))
    offset = end(common[:number])
    with TemporaryDirectory() as directory:
        copies = [
            Copy((*common, *left_tail), left_size, start),
            Copy((*common, *right_tail), right_size),
            Copy((*common, *right_tail), left_size),
        ]
        partitions = write_copies(Path(directory), copies)
        change_record(partitions["broker-2"], offset)
        with ranges_of(bits):
            verdict = judge(examined(partitions))
    assert Verdict.SILENT_DIVERGENCE in verdict.verdicts
    record = offset + common[number].count - 1
    # Where broker-1 no longer has the record, nobody can tell which of the other two is wrong.
    suspects = {"broker-2", "broker-3"} if start > number else {"broker-2"}
    expected = {(replica, "silent-divergence", record) for replica in suspects}
    assert {(found.replica, found.finding.kind, found.finding.offset) for found in errors(verdict)} == expected
    for pair in verdict.pairs:
        sees = "broker-2" in {pair.leader, pair.follower} and not (
            "broker-1" in {pair.leader, pair.follower} and start > number
        )
        assert (Verdict.SILENT_DIVERGENCE in pair.verdicts) == sees
    assert bool(left_tail and right_tail) == (Verdict.FORKED in verdict.verdicts)
    lost = lost_under(verdict)
    assert verdict.recommended is not None
    if verdict.recommended in suspects:
        assert all(lost[name] > lost[verdict.recommended] for name in lost.keys() - suspects)


def lost_under(verdict: PartitionVerdict) -> dict[str, int]:
    """How many distinct records are lost under each."""
    assert verdict.recommendation is not None
    return {each.replica: each.loss.lost.records for each in verdict.recommendation.candidates if each.loss}


@pytest.mark.parametrize(
    ("newer", "leader"),
    [
        pytest.param(1, "broker-2", id="it costs more records"),
        pytest.param(5, "broker-2", id="it costs as many"),
        pytest.param(6, "broker-2", id="it costs as many, with the record that it has wrong"),
        pytest.param(7, "broker-1", id="the sound ones cost more"),
    ],
)
def test_a_silently_changed_copy_that_goes_furthest_leads_only_where_that_spares_records(
    newer: int, leader: str, tmp_path: Path
) -> None:
    common = (Written(0, 3), Written(0, 3))
    copies = [Copy((*common, Written(5, newer, "l"))), Copy((*common, Written(4, 5, "r"))), Copy(common)]
    partitions = write_copies(tmp_path, copies)
    change_record(partitions["broker-1"], 0)

    verdict = judge(examined(partitions))

    assert {found.replica for found in errors(verdict)} == {"broker-1"}
    assert verdict.recommended == leader


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(batches, min_size=1, max_size=20), sizes, sizes)
def test_equal_logs_are_not_read_again_wherever_their_segments_end(
    shapes: list[Written], left_size: int, right_size: int
) -> None:
    common = written(shapes, 0)
    with TemporaryDirectory() as directory:
        left, right = examined(write_copies(Path(directory), [Copy(common, left_size), Copy(common, right_size)]))
        assert left.digests == right.digests
        compared = compare(left, right)
    assert (compared.ranges, compared.ranges_read, compared.bytes_read) == (1, 0, 0)
    assert compared.first_difference is None


def test_a_gap_in_the_middle_is_missing(tmp_path: Path) -> None:
    copies = [Copy(tuple(Written(0, 2) for _ in range(30)), 300)] * 2
    partitions = write_copies(tmp_path, copies)
    lost = partitions["broker-2"].segments[1]
    lost.log_path.unlink()
    reread = {replica: partition.listed_again() for replica, partition in partitions.items()}
    verdict = judge(examined(reread))
    assert set(verdict.verdicts) == {Verdict.DAMAGED, Verdict.MISSING}
    [compared] = verdict.comparisons
    next_base = partitions["broker-2"].segments[2].base_offset
    assert compared.missing_right == (OffsetRange(lost.base_offset, next_base - 1),)
    assert compared.missing_left == ()


@pytest.mark.parametrize("bits", [0, 2, RANGE_BITS])
def test_lost_batches_are_missing_wherever_ranges_end(tmp_path: Path, bits: int) -> None:
    copies = [Copy(tuple(Written(0, 3) for _ in range(30)), 100_000)] * 2
    partitions = write_copies(tmp_path, copies)
    [segment] = partitions["broker-2"].segments
    with segment.open_log() as log:
        data = b"".join(
            bytes(log.data[each.position : each.position + each.size])
            for each in log.batches()
            if each.base_offset not in {9, 12, 60}
        )
    segment.log_path.write_bytes(data)
    with ranges_of(bits):
        [compared] = judge(examined(partitions)).comparisons
    assert compared.missing_right == (OffsetRange(9, 14), OffsetRange(60, 62))
    assert (compared.missing_left, compared.divergences, compared.fork) == ((), (), None)


def test_an_epoch_altered_in_a_header_is_damage_and_no_fork(tmp_path: Path) -> None:
    partitions = write_copies(tmp_path, [Copy(tuple(Written(0, 3) for _ in range(5)))] * 2)
    path = partitions["broker-2"].segments[-1].log_path
    with LogFile.open(path) as log:
        *_, last = log.batches()
        position = last.position
    data = bytearray(path.read_bytes())
    data[position + 15] = 9
    path.write_bytes(data)
    verdict = judge(examined(partitions))
    assert (verdict.verdicts, verdict.forks) == ((Verdict.DAMAGED,), ())


def test_a_checksum_that_does_not_match_is_damage_and_no_divergence(tmp_path: Path) -> None:
    partitions = write_copies(tmp_path, [Copy(tuple(Written(0, 3) for _ in range(5)))] * 2)
    path = partitions["broker-2"].segments[-1].log_path
    data = bytearray(path.read_bytes())
    data[CRC_AT] ^= 1
    path.write_bytes(data)
    assert judge(examined(partitions)).verdicts == (Verdict.DAMAGED,)


def test_batches_in_a_segment_where_they_do_not_belong_are_compared_too(tmp_path: Path) -> None:
    partitions = write_copies(tmp_path, [Copy(tuple(Written(0, 3) for _ in range(20)), 300)] * 2)
    change_record(partitions["broker-2"], 0)
    first, second, *_ = (segment.log_path for segment in partitions["broker-2"].segments)
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    with ranges_of(2):
        [compared] = judge(examined(partitions)).comparisons
    assert [(each.first_offset, each.last_offset) for each in compared.divergences] == [(2, 2)]
    assert (compared.missing_left, compared.missing_right) == ((), ())


def test_a_copy_that_is_gone_by_the_time_it_is_read_again(tmp_path: Path) -> None:
    common = tuple(Written(0, 2) for _ in range(10))
    partitions = write_copies(tmp_path, [Copy((*common, Written(1, 2))), Copy((*common, Written(2, 3)))])
    left, right = examined(partitions)
    gone = ExaminedCopy(right.summary, right.digests, in_place(tmp_path / "gone"), str(tmp_path / "gone"))
    verdict = judge([left, gone])
    assert verdict.verdicts == (Verdict.UNKNOWN, Verdict.FORKED)
    assert (verdict.unread, verdict.recommended) == (("broker-2",), None)
    assert [(found.replica, found.finding.kind) for found in errors(verdict)] == [("broker-2", "file-unreadable")]


def test_one_copy_alone(tmp_path: Path) -> None:
    [copy] = examined(write_copies(tmp_path, [Copy((Written(0, 2),))]))
    assert judge([copy]).verdicts == (Verdict.IDENTICAL,)
    assert judge([copy]).recommended == "broker-1"
    lacking = judge([copy], missing=["broker-2"])
    assert (lacking.verdict, lacking.missing) == (Verdict.MISSING, ("broker-2",))
