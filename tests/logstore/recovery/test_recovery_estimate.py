"""What recovery will take is told beforehand, from a trial on the very files, and nothing is changed by that."""

import os
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.file_name import FileKind
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.recovery import recovery_estimate
from logstore.recovery.recovery_estimate import RecoveryEstimate
from tests.logstore import batches

SEGMENT = batches.log(100)
"""300 offsets."""
BATCH = len(SEGMENT) // 100


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three segments, without indexes, at offsets 0, 300 and 600."""
    path = tmp_path / "t-0"
    path.mkdir()
    for base_offset in (0, 300, 600):
        data = b"".join(batches.simple_batch(base_offset + 3 * i, [b"v" * 20] * 3) for i in range(100))
        (path / f"{base_offset:020d}.log").write_bytes(data)
    return path


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure small files too, by a clock that takes a second for each sample."""
    monkeypatch.setattr(recovery_estimate, "SMALL_BYTES", 0)
    monkeypatch.setattr(recovery_estimate, "SAMPLE_BYTES", 10 * BATCH)
    monkeypatch.setattr(recovery_estimate, "time", SimpleNamespace(perf_counter=count().__next__))


def estimate(directory: Path, *, recovery_point: int = 0, clean_shutdown: bool = False) -> RecoveryEstimate:
    partition = PartitionDirectory.open(directory)
    known = PartitionCheckpoints(recovery_point=recovery_point, clean_shutdown=clean_shutdown)
    return RecoveryEstimate.of([PartitionDirectory(directory, partition.topic_partition, partition.listing, known)])


@pytest.mark.parametrize(("recovery_point", "segments"), [(0, 3), (299, 3), (300, 2), (600, 1), (900, 1)])
def test_segments_count_from_the_recovery_point_on(directory: Path, recovery_point: int, segments: int) -> None:
    found = estimate(directory, recovery_point=recovery_point)
    assert (found.partitions, found.segments, found.bytes) == (1, segments, segments * 100 * BATCH)


def test_after_a_clean_stop_there_is_nothing_to_check(directory: Path) -> None:
    assert estimate(directory, clean_shutdown=True) == RecoveryEstimate()


def test_little_is_not_measured(directory: Path) -> None:
    found = estimate(directory)
    assert found.seconds is None
    assert str(found).endswith("in 3 segments of 1 partitions to check: less than a second")


def test_as_much_as_counts_as_little_is_not_measured(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery_estimate, "SAMPLE_BYTES", BATCH)
    monkeypatch.setattr(recovery_estimate, "SMALL_BYTES", 300 * BATCH)
    assert estimate(directory).bytes_a_second is None
    monkeypatch.setattr(recovery_estimate, "SMALL_BYTES", 300 * BATCH - 1)
    assert estimate(directory).bytes_a_second is not None


@pytest.mark.parametrize(
    ("size", "told"), [(99, "less than a second"), (100, "about 1 seconds"), (900, "about 9 seconds")]
)
def test_it_is_told_in_seconds(size: int, told: str) -> None:
    found = RecoveryEstimate(1, 2, size, 100.0)
    assert str(found) == f"{size} bytes in 2 segments of 1 partitions to check: {told}"
    assert found.as_json() == {
        "partitions": 1,
        "segments": 2,
        "bytes": size,
        "bytes_a_second": 100.0,
        "seconds": size / 100,
    }


@pytest.mark.usefixtures("small_samples")
def test_what_samples_take_is_taken_for_the_whole(directory: Path) -> None:
    before = {path: path.read_bytes() for path in directory.iterdir()}
    found = estimate(directory)
    assert found.bytes_a_second == 10 * BATCH
    assert found.seconds == 30
    assert str(found).endswith("about 30 seconds")
    assert {path: path.read_bytes() for path in directory.iterdir()} == before


def index_entry(batch: int) -> bytes:
    return (3 * batch + 2).to_bytes(4) + (batch * BATCH).to_bytes(4)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize(
    ("index", "start"),
    [
        (index_entry(4) + bytes(80), 4 * BATCH),
        (index_entry(2) + index_entry(4) + index_entry(99), 4 * BATCH),
        (index_entry(99), 0),
        (b"", 0),
        (b"odd", 0),
    ],
    ids=["one entry", "the last one before", "none before", "empty", "damaged"],
)
def test_samples_begin_where_the_index_says(
    directory: Path, monkeypatch: pytest.MonkeyPatch, index: bytes, start: int
) -> None:
    starts = []
    checked = recovery_estimate.check_part
    monkeypatch.setattr(recovery_estimate, "check_part", lambda *args: starts.append(args[2]) or checked(*args))
    for base_offset in (0, 300, 600):
        (directory / f"{base_offset:020d}.index").write_bytes(index)
    assert estimate(directory).bytes_a_second == 10 * BATCH
    assert set(starts) == {start}


@pytest.mark.usefixtures("small_samples")
def test_without_a_readable_index_samples_begin_with_the_segment(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = []
    checked = recovery_estimate.check_part
    monkeypatch.setattr(recovery_estimate, "check_part", lambda *args: starts.append(args[2]) or checked(*args))
    for base_offset in (0, 300, 600):
        index = directory / f"{base_offset:020d}.index"
        index.touch()
        os.truncate(index, 2**31)  # more than any index has
    estimate(directory)
    assert set(starts) == {0}


@pytest.mark.usefixtures("small_samples")
def test_damage_is_not_measured(directory: Path) -> None:
    for path in directory.iterdir():
        path.write_bytes(bytes(100 * BATCH))
    assert estimate(directory).seconds is None


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=30))
def test_places_lie_within_the_segments_and_far_apart(sizes: list[int]) -> None:
    segments = [Segment(number, {FileKind.LOG: Path(str(number))}) for number in range(len(sizes))]
    places = list(recovery_estimate._places(segments, sizes))
    assert all(0 <= position < sizes[segment.base_offset] for segment, position in places)
    whole = [sum(sizes[: segment.base_offset]) + position for segment, position in places]
    assert all(later - earlier >= 4 * recovery_estimate.SAMPLE_BYTES - 1 for earlier, later in pairwise(whole))
    assert len(places) == min(recovery_estimate.SAMPLES, sum(sizes) // (4 * recovery_estimate.SAMPLE_BYTES))
