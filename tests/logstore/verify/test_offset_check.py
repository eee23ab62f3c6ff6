"""What verify says of offsets: gaps, duplicates, disorder, and the extremes."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT, OffsetCheckpoint
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from logstore.verify import Finding, offset_check, verify_partition
from logstore.verify.offset_check import Misplaced
from tests.logstore.batches import batch, record, simple_batch

KINDS = {
    "offset-gap",
    "missing-segment",
    "empty-segment",
    "duplicate-batch",
    "offsets-go-backwards",
    "batch-below-segment",
}
LARGEST = 2**63 - 1
SIZE = len(simple_batch(0))


def found(directory: Path, *segments: tuple[int, bytes], name: str = "t-0", log_start: int = 0) -> list[Finding]:
    partition = directory / name
    partition.mkdir(parents=True)
    for base, content in segments:
        (partition / f"{base:020d}.log").write_bytes(content)
    starts = OffsetCheckpoint({TopicPartition("t", 0): log_start})
    opened = PartitionDirectory.open(partition, checkpoints=RootCheckpoints({LOG_START_OFFSET_CHECKPOINT: starts}))
    return [each for each in verify_partition(opened) if each.kind in KINDS]


def places(findings: list[Finding]) -> list[tuple[str, str | None, int | None, int | None]]:
    return [(each.kind, each.file, each.position, each.offset) for each in findings]


def test_the_same_batch_twice_is_a_duplicate_and_no_disorder(tmp_path: Path) -> None:
    one = simple_batch(0, [b"a", b"b"])
    log = one + one + simple_batch(2)
    assert places(found(tmp_path, (0, log))) == [("duplicate-batch", f"{0:020d}.log", len(one), 0)]


def test_the_same_offsets_with_other_bytes_are_disorder(tmp_path: Path) -> None:
    one = simple_batch(0, [b"a", b"b"])
    log = one + simple_batch(0, [b"c", b"d"])
    assert places(found(tmp_path, (0, log))) == [("offsets-go-backwards", f"{0:020d}.log", len(one), 0)]


def test_a_batch_in_the_wrong_place_is_not_missing_too(tmp_path: Path) -> None:
    a, b, c = (simple_batch(offset) for offset in range(3))
    assert places(found(tmp_path, (0, a + c + b))) == [
        ("offsets-go-backwards", f"{0:020d}.log", len(a) * 2, 1),
    ]


def test_a_hole_at_a_segment_s_beginning_is_no_missing_segment(tmp_path: Path) -> None:
    # A truncation inside of the segment's only batch empties it, and appends go on at the offset that was asked for.
    segments = (0, simple_batch(0)), (1, simple_batch(9))
    assert places(found(tmp_path, *segments)) == [("offset-gap", f"{1:020d}.log", 0, 1)]


def test_a_gap_beside_a_misplaced_batch_is_reported(tmp_path: Path) -> None:
    log = simple_batch(0) + simple_batch(9) + simple_batch(0, [b"other"])
    assert [each.kind for each in found(tmp_path, (0, log))] == ["offsets-go-backwards", "offset-gap"]


def test_a_gap_at_the_beginning_of_the_first_segment_is_in_that_file(tmp_path: Path) -> None:
    assert places(found(tmp_path, (5, simple_batch(7)))) == [("offset-gap", f"{5:020d}.log", 0, 5)]


def test_what_is_missing_below_the_log_s_start_was_deleted(tmp_path: Path) -> None:
    log = 5, simple_batch(7) + simple_batch(10)
    assert places(found(tmp_path / "at", log, log_start=7)) == [("offset-gap", f"{5:020d}.log", SIZE, 8)]
    assert places(found(tmp_path / "in", log, log_start=9)) == [("offset-gap", f"{5:020d}.log", SIZE, 9)]
    assert places(found(tmp_path / "above", log, log_start=10)) == []
    segments = (0, simple_batch(0)), (5, simple_batch(5))
    assert places(found(tmp_path / "between", *segments, log_start=4)) == [
        ("missing-segment", f"{1:020d}.log", None, 4)
    ]
    # Segments are deleted from the first on: one between others was not.
    assert places(found(tmp_path / "beyond", *segments, log_start=5)) == [("missing-segment", f"{1:020d}.log", None, 1)]


def test_a_gap_between_segments_is_a_missing_segment(tmp_path: Path) -> None:
    segments = ((0, simple_batch(0)), (5, simple_batch(5)))
    assert places(found(tmp_path, *segments)) == [("missing-segment", f"{1:020d}.log", None, 1)]


def test_a_gap_behind_damage_is_the_damage_s(tmp_path: Path) -> None:
    within = simple_batch(0) + b"\x55" * 80 + simple_batch(5)
    assert found(tmp_path / "within", (0, within)) == []
    assert found(tmp_path / "between", (0, simple_batch(0) + b"\x55" * 80), (5, simple_batch(5))) == []


def test_a_batch_with_a_wrong_checksum_does_not_pass_for_the_cleaner_s_work(tmp_path: Path) -> None:
    thinned = {"records": [record(offset_delta=4)], "base_offset": 9, "last_offset_delta": 9}
    log = simple_batch(0) + simple_batch(5, [b""] * 4)
    assert found(tmp_path / "sound", (0, log + batch(**thinned))) == []  # type: ignore[arg-type]
    assert [each.kind for each in found(tmp_path / "corrupt", (0, log + batch(**thinned, crc=1)))] == [  # type: ignore[arg-type]
        "offset-gap"
    ]


def test_the_largest_offset_is_followed_by_no_other(tmp_path: Path) -> None:
    last, after = simple_batch(LARGEST), simple_batch(3)
    one_file = found(tmp_path / "one", (LARGEST, last + after))
    assert [each.kind for each in one_file] == ["offsets-go-backwards"]
    two_files = found(tmp_path / "two", (LARGEST - 1, simple_batch(LARGEST - 1)), (LARGEST, last + after))
    assert [each.kind for each in two_files] == ["offsets-go-backwards"]
    below = found(tmp_path / "below", (LARGEST - 1, last), (LARGEST, after))
    assert [each.kind for each in below] == ["batch-below-segment", "missing-segment"]


def test_of_very_many_gaps_the_rest_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_check, "MOST_GAPS", 3)
    log = b"".join(simple_batch(2 * number) for number in range(8))
    findings = found(tmp_path, (0, log))
    assert [each.kind for each in findings] == ["offset-gap"] * 4
    assert "4 further" in findings[-1].message


@given(
    batches=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=12),
    start=st.integers(0, 30),
    size=st.integers(1, 6),
)
def test_misplaced_offsets_are_found_as_by_looking_at_all(
    batches: list[tuple[int, int]], start: int, size: int
) -> None:
    misplaced = Misplaced()
    for base, span in batches:
        misplaced.add(base, base + span)
    expected = any(base < start + size and start <= base + span for base, span in batches)
    assert misplaced.any_between(start, start + size) is expected


def test_gaps_and_misplaced_batches_do_not_multiply() -> None:
    misplaced = Misplaced()
    for base in np.random.default_rng(1).integers(0, 1 << 40, 50_000).tolist():
        misplaced.add(base, base)
    begun = time.process_time()
    for start in range(50_000):
        misplaced.any_between(start << 20, (start << 20) + 5)
    assert time.process_time() - begun < 5
