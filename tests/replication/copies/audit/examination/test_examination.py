"""One pass tells of a copy what loading and verifying it tell, and in pieces the same as in one."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from logstore.batch.columns import StopReason
from logstore.offline.log_file import LogFile
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.verify import verify_partition
from replication.copies.audit.copy_summary import CopySummary, OffsetRange
from replication.copies.audit.examination.copy_watch import CopyWatch
from replication.copies.audit.examination.examination import Examination, examine, examine_lineage, examine_piece
from replication.copies.audit.examination.range_digests import RangeDigests
from replication.copies.audit.snapshots.work import ByteRange
from tests.campaign import Campaign
from tests.data.replicas import LABELS, damage_kinds, damaged, replicas
from tests.logstore.batches import simple_batch


def write_segment(partition: Path, data: bytes) -> Path:
    partition.mkdir()
    log = partition / f"{0:020d}.log"
    log.write_bytes(data)
    return log


PIECES = Campaign("audit: damaged copies examined in pieces", full=36, share=9)


def partitions(root: Path) -> list[PartitionDirectory]:
    return [
        partition
        for broker in sorted(root.iterdir())
        if broker.is_dir()
        for partition in OfflineLogDirectory.open(broker).partitions()
    ]


def ranges(partition: PartitionDirectory, random: Random) -> list[ByteRange]:
    """Cut all segments at random."""
    cut = []
    for segment in partition.segments:
        cuts = sorted({0, segment.size, *(random.randint(0, segment.size) for _ in range(random.randint(0, 3)))})
        cut += [ByteRange(segment.base_offset, start, end) for start, end in pairwise(cuts)]
    return cut


def examine_in_pieces(partition: PartitionDirectory, random: Random, *, records: bool) -> Examination:
    parts = ranges(partition, random)
    random.shuffle(parts)
    half = random.randint(0, len(parts))
    pieces = [examine_piece(partition, "r", some, records=records) for some in (parts[:half], parts[half:])]
    assert RangeDigests.merged(piece.digests for piece in pieces) == examine(partition, "r").digests
    return examine_lineage(partition, "r", pieces)


@pytest.mark.parametrize("label", LABELS)
def test_a_summary_says_what_loading_the_log_does(label: str) -> None:
    for partition in partitions(replicas(label)):
        summary, loaded = examine(partition, "r").summary, RecoveredLog.load(partition)
        assert (summary.log_start_offset, summary.log_end_offset) == (loaded.log_start_offset, loaded.log_end_offset)
        assert summary.high_watermark == loaded.high_watermark
        assert list(summary.history) == loaded.history.entries
        assert list(summary.lineage) == loaded.lineage().entries
        assert (summary.kept_segments, summary.valid_bytes) == (len(loaded.segments), loaded.valid_bytes)
        assert summary.damage is None


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_corrupt_batches_are_known_by_their_offsets_in_however_many_chunks_they_are_read(
    tmp_path: Path, rows: int
) -> None:
    corrupt = [simple_batch(offset)[:-1] + b"\xff" for offset in (0, 5, 6, 7)]
    data = b"".join((*corrupt, simple_batch(8), simple_batch(9)[:-1] + b"\xff"))
    log = write_segment(tmp_path / "t-0", data)
    watch = CopyWatch(PartitionDirectory.open(tmp_path / "t-0"))
    for chunk in LogFile.open(log).scan():
        for first in range(0, len(chunk), rows):
            part = chunk.slice(first, first + rows, 0, StopReason.MORE)
            if not part.crc_valid.all():
                watch._note_corrupt(part)
    assert watch.corrupt == [OffsetRange(0, 0), OffsetRange(5, 7), OffsetRange(9, 9)]


@pytest.mark.parametrize("unclean", [False, True])
@pytest.mark.parametrize("kind", damage_kinds())
def test_of_a_damaged_copy_as_well(kind: str, tmp_path: Path, *, unclean: bool) -> None:
    expected = damaged(kind, tmp_path)
    broker = tmp_path / expected["replica"]
    if unclean:
        (broker / ".kafka_cleanshutdown").unlink(missing_ok=True)
        (broker / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
    for partition in OfflineLogDirectory.open(broker).partitions():
        if partition.topic_partition.topic != expected["topic"]:
            continue
        examination = examine(partition, "r")
        summary = examination.summary
        assert CopySummary.from_bytes(summary.to_bytes()) == summary
        assert [each.finding for each in examination.findings] == list(verify_partition(partition))
        if kind == "epoch_checkpoint_unparsable":
            continue  # which cannot be loaded
        loaded = RecoveredLog.load(partition)
        assert (summary.log_end_offset, summary.high_watermark) == (loaded.log_end_offset, loaded.high_watermark)
        assert list(summary.history) == loaded.history.entries
        assert (summary.kept_segments, summary.valid_bytes) == (len(loaded.segments), loaded.valid_bytes)
        assert summary.damage == (str(loaded.damage) if loaded.damage else None)


def test_pieces_give_the_same_as_the_whole(tmp_path: Path) -> None:
    random = Random(PIECES.seed)
    kinds = random.sample(damage_kinds(), PIECES.count)
    for kind in kinds:
        expected = damaged(kind, tmp_path / kind)
        for partition in OfflineLogDirectory.open(tmp_path / kind / expected["replica"]).partitions():
            if partition.topic_partition.topic == expected["topic"]:
                whole = examine(partition, "r", records=True)
                assert examine_in_pieces(partition, random, records=True) == whole
    PIECES.report(len(kinds))
