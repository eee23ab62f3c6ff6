"""A query of records fails where offsets are missing that no cleaner has removed, or come a second time."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from epoch import EpochEntry, EpochHistory
from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.errors import CorruptBatchError
from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint
from logstore.topic_partition import TopicPartition
from replication.base.errors import DataLossError, NotAllowedError
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.spark.source.planned import Planned

LOSS: Final = {"failOnDataLoss": "true"}
PARTITION: Final = TopicPartition("t", 0)


def three_at(*bases: int) -> list[bytes]:
    """Batches of three records each, from these offsets on."""
    return [batch(base_offset=base, records=[record(offset_delta=each) for each in range(3)]) for base in bases]


def written(root: Path, segments: dict[int, Sequence[bytes]], cleaned_to: int | None = None) -> Path:
    directory = root / str(PARTITION)
    directory.mkdir(parents=True)
    for base, batches in segments.items():
        (directory / f"{base:020d}.log").write_bytes(b"".join(batches))
    if cleaned_to is not None:
        OffsetCheckpoint({PARTITION: cleaned_to}).write(root / CLEANER_OFFSET_CHECKPOINT)
    return directory


def offsets(directory: Path, **options: str) -> list[int]:
    return [row["offset"] for row in Planned(directory, **LOSS, **options).rows()]


def test_a_whole_log_is_read(tmp_path: Path) -> None:
    directory = written(tmp_path, {0: three_at(0, 3), 6: three_at(6), 9: []})

    assert offsets(directory) == list(range(9))


@pytest.mark.parametrize(
    ("segments", "missing", "file"),
    [
        ({0: three_at(0, 6)}, "3..5", 0),
        ({0: three_at(0), 6: three_at(6)}, "3..5", 6),
        ({0: three_at(0), 3: three_at(6)}, "3..5", 3),
        ({0: three_at(3)}, "0..2", 0),
        ({0: three_at(0), 6: []}, "3..5", 6),
    ],
    ids=["between batches", "a segment", "at a segment's beginning", "at the log's beginning", "before an empty one"],
)
def test_a_gap_ends_the_read(segments: dict[int, Sequence[bytes]], missing: str, file: int, tmp_path: Path) -> None:
    directory = written(tmp_path, segments)

    with pytest.raises(DataLossError, match=rf"{file:020d}\.log, position \d+: offsets {missing} are .*failOnDataLoss"):
        offsets(directory)
    assert Planned(directory, failOnDataLoss="false").rows()


def test_a_batch_that_comes_twice_ends_the_read(tmp_path: Path) -> None:
    directory = written(tmp_path, {0: three_at(0, 3, 3, 6)})

    with pytest.raises(DataLossError, match=r"offsets 3\.\.5 follows offset 5: its records come twice"):
        offsets(directory)


@pytest.mark.parametrize("are_apart", [False, True])
def test_records_that_come_again_behind_a_batch_with_more_than_its_header_says_end_the_read(
    tmp_path: Path, *, are_apart: bool
) -> None:
    records = [record(offset_delta=each) for each in range(3)]
    first = batch(records=records, last_offset_delta=0)
    directory = written(tmp_path, {0: [first], 1: three_at(1)} if are_apart else {0: [first, *three_at(1)]})

    with pytest.raises(DataLossError, match=r"offsets 1\.\.3 follows offset 2: its records come twice"):
        offsets(directory)
    assert offsets(written(tmp_path / "beside", {0: [first, *three_at(3)]})) == list(range(6))


def test_a_gap_outside_of_what_is_asked_for_is_none(tmp_path: Path) -> None:
    directory = written(tmp_path, {0: three_at(0, 6, 9, 9)})

    assert offsets(directory, startingOffsets="6", endingOffsets="9") == [6, 7, 8]
    assert offsets(directory, endingOffsets="3") == [0, 1, 2]
    with pytest.raises(DataLossError, match=r"offsets 5\.\.5 are"):
        offsets(directory, startingOffsets="5", endingOffsets="9")


def test_a_cleaner_makes_gaps_up_to_its_checkpoint(tmp_path: Path) -> None:
    segments: dict[int, Sequence[bytes]] = {0: three_at(0, 6), 12: three_at(12)}

    assert offsets(written(tmp_path / "all", segments, cleaned_to=12)) == [0, 1, 2, 6, 7, 8, 12, 13, 14]
    with pytest.raises(DataLossError, match=r"offsets 9\.\.11 are"):
        offsets(written(tmp_path / "some", segments, cleaned_to=9))


def test_a_batch_that_lacks_records_shows_that_a_cleaner_was_there(tmp_path: Path) -> None:
    cleaned = batch(base_offset=6, records=[record(offset_delta=2)], last_offset_delta=2)

    assert offsets(written(tmp_path / "one", {0: [*three_at(0), cleaned], 9: []})) == [0, 1, 2, 8]
    with pytest.raises(DataLossError, match=r"offsets 12\.\.14 are"):
        offsets(written(tmp_path / "active", {0: [*three_at(0), cleaned], 9: three_at(9, 15)}))


def test_a_log_that_began_below_its_first_segment_is_in_remote_storage_or_lost(tmp_path: Path) -> None:
    directory = written(tmp_path, {6: three_at(6)})
    LeaderEpochCheckpoint(directory).write_history(EpochHistory([EpochEntry(1, 2)]))

    with pytest.raises(DataLossError, match=r"offsets 2\.\.5 are in remote storage, or lost"):
        offsets(directory)
    assert offsets(directory, startingOffsets="6") == [6, 7, 8]
    (directory / f"{2:020d}.log.deleted").write_bytes(b"")
    assert offsets(directory) == [6, 7, 8], "it is being deleted"


def test_what_is_damaged_is_not_missing(tmp_path: Path) -> None:
    first, broken, last = three_at(0, 3, 6)
    flipped = broken[:-1] + bytes([broken[-1] ^ 1])
    raised = (99).to_bytes(8) + broken[8:-1] + bytes([broken[-1] ^ 1])
    for name, damaged in {"flipped": flipped, "raised": raised, "none": bytes([7] * 40)}.items():
        directory = written(tmp_path / name, {0: [first, damaged, last]})

        assert offsets(directory, mode="DROPMALFORMED") == [0, 1, 2, 6, 7, 8]
        assert offsets(directory, mode="PERMISSIVE") == [0, 1, 2, None, 6, 7, 8]


def test_each_task_looks_at_the_segments_that_begin_in_it(tmp_path: Path) -> None:
    chance = random.Random(1)
    for number in range(20):
        bases = list(range(0, 90, 3))
        lost = chance.choice(bases[1:-1])
        kept = [base for base in bases if base != lost]
        cuts = sorted(chance.sample(range(1, len(kept)), 3))
        ranges = zip([0, *cuts], [*cuts, len(kept)], strict=True)
        segments = {kept[first]: three_at(*kept[first:last]) for first, last in ranges}
        directory = written(tmp_path / str(number), segments)

        planned = Planned(directory, taskBytes="300", **LOSS)
        assert len(planned.tasks) > 1
        with pytest.raises(DataLossError, match=rf"offsets {lost}\.\.{lost + 2} are"):
            planned.rows()


def test_records_are_whole_by_default_and_batches_are_not_asked(tmp_path: Path) -> None:
    from replication.copies.audit.log_rows.options.source_options import SourceOptions

    by_rows = {rows: SourceOptions.of({"path": "/x", "rows": rows}) for rows in ("records", "batches", "segments")}

    assert [each.fails_on_loss for each in by_rows.values()] == [True, False, False]
    assert [each.mode.value for each in by_rows.values()] == ["FAILFAST", "PERMISSIVE", "PERMISSIVE"]
    with pytest.raises(NotAllowedError, match="failOnDataLoss"):
        SourceOptions.of({"path": "/x", "rows": "epochs", "failOnDataLoss": "true"})
    broken = three_at(0)[0][:-1] + b"\xff"
    with pytest.raises(CorruptBatchError, match="checksum"):
        Planned(written(tmp_path, {0: [broken]}), rows="records", mode="FAILFAST").rows()
