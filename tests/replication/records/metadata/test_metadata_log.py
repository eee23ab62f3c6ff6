"""Metadata logs and snapshots: what was written is read, transactions count whole, damage is refused with its place."""

import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.errors import (
    DamagedMetadataError,
    InvalidMetadataRecordError,
    InvalidMetadataSnapshotError,
    InvalidReplayError,
    MetadataError,
    UnknownMetadataRecordError,
)
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.records.metadata.metadata_log import append_metadata, read_metadata
from replication.records.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    NoOpRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replication.records.metadata.records.control import (
    KRaftVersion,
    KRaftVersionRange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    VoterEndpoint,
    Voters,
)
from replication.records.metadata.snapshot import MetadataSnapshot, write_snapshot
from replication.records.metadata.transactions import committed
from tests.campaign import Campaign
from tests.replication.cli.command import epochlog
from tests.replication.records.metadata.histories import history

SMALL_SEGMENTS = LogConfig(segment_bytes=2_000)
EPOCH = 3


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "__cluster_metadata-0"


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"topic-{number}", topic_id=UUID(int=number + 1000))


def written(directory: Path, *batches: list[MetadataRecord], config: LogConfig | None = None) -> Path:
    """Write a log, and close it."""
    with Log.open(directory, config) as log:
        for records in batches:
            append_metadata(log, records, leader_epoch=EPOCH, timestamp=1_000)
    return directory


def records_of(batches: Iterator[MetadataBatch]) -> list[MetadataRecord]:
    return [record for batch in batches for record in batch.records]


def test_a_log_a_directory_and_a_file_are_read_as_they_were_written(directory: Path) -> None:
    with Log.open(directory) as log:
        info = append_metadata(log, [topic(0), topic(1)], leader_epoch=EPOCH, timestamp=1_000)
        append_metadata(log, [topic(2)], leader_epoch=EPOCH + 1, timestamp=2_000)
        expected = [
            MetadataBatch(0, 1, EPOCH, 1_000, (topic(0), topic(1))),
            MetadataBatch(2, 2, EPOCH + 1, 2_000, (topic(2),)),
        ]
        assert (info.first_offset, info.last_offset) == (0, 1)
        path = directory / "00000000000000000000.log"
        with LogFile.open(path) as file:
            assert [list(read_metadata(each)) for each in (log, directory, path, file)] == [expected] * 4
        assert [list(read_metadata(each, 2)) for each in (log, directory, path)] == [expected[1:]] * 3
        assert list(read_metadata(log, 1)) == expected


def test_segments_are_read_one_after_the_other(directory: Path) -> None:
    made = history("segments", steps=80)
    written(directory, *([record] for record in made.records), config=SMALL_SEGMENTS)
    assert len(list(directory.glob("*.log"))) > 3
    assert records_of(read_metadata(directory)) == made.records
    assert records_of(read_metadata(directory, 40)) == made.records[40:]
    with Log.open(directory, SMALL_SEGMENTS) as log:
        assert records_of(read_metadata(log, 40)) == made.records[40:]
    assert load_image(directory) == (made.image, len(made.records), EPOCH)


def test_records_that_cannot_be_written_are_not_half_written(directory: Path) -> None:
    with Log.open(directory) as log:
        with pytest.raises(InvalidMetadataRecordError):
            append_metadata(log, [topic(0), TopicRecord(name=None, topic_id=UUID(int=1))], leader_epoch=EPOCH)  # type: ignore[arg-type]
        assert log.log_end_offset == 0


def test_a_transaction_counts_once_it_ends_and_an_aborted_one_never() -> None:
    batches = [
        MetadataBatch(0, 1, EPOCH, 1, (topic(0), BeginTransactionRecord(name="x"))),
        MetadataBatch(2, 2, EPOCH, 2, (topic(1),)),
        MetadataBatch(3, 4, EPOCH, 3, (EndTransactionRecord(), topic(2))),
        MetadataBatch(5, 7, EPOCH, 4, (BeginTransactionRecord(), topic(3), AbortTransactionRecord(reason="y"))),
        MetadataBatch(8, 8, EPOCH, 5, (NoOpRecord(),)),
        MetadataBatch(9, 10, EPOCH, 6, (BeginTransactionRecord(), topic(4))),
    ]
    assert list(committed(batches)) == [
        MetadataBatch(0, 4, EPOCH, 3, (topic(0), topic(1), topic(2))),
        MetadataBatch(5, 7, EPOCH, 4, ()),
        MetadataBatch(8, 8, EPOCH, 5, (NoOpRecord(),)),
    ]


@pytest.mark.parametrize(
    "records",
    [(EndTransactionRecord(),), (AbortTransactionRecord(),), (BeginTransactionRecord(), BeginTransactionRecord())],
)
def test_transactions_that_cannot_be_are_refused(records: tuple[MetadataRecord, ...]) -> None:
    with pytest.raises(InvalidReplayError, match="at offset"):
        list(committed([MetadataBatch(7, 8, EPOCH, 1, records)]))


def test_an_image_stops_before_a_transaction_that_has_not_ended(directory: Path) -> None:
    written(directory, [topic(0)], [BeginTransactionRecord(), topic(1)])
    loaded = load_image(directory)
    assert (list(loaded.image.topics.by_name), loaded.end_offset) == (["topic-0"], 1)


@pytest.mark.parametrize("position", [20, 100, 150])
def test_a_damaged_log_is_refused_with_its_place_and_what_to_do(directory: Path, position: int) -> None:
    written(directory, [topic(0)], [topic(1)])
    path = directory / "00000000000000000000.log"
    damage(path, position)
    with pytest.raises(DamagedMetadataError, match=r"at position [\d,]+.*`epochlog (recover --all|truncate)") as caught:
        load_image(directory)
    assert caught.value.file == str(path)
    assert caught.value.position in {0, path.stat().st_size // 2}


def test_a_torn_log_is_refused_with_its_place_and_what_to_do(directory: Path) -> None:
    written(directory, [topic(0)], [topic(1)])
    path = directory / "00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-1])
    batches = read_metadata(directory)
    assert next(batches).records == (topic(0),)
    with pytest.raises(DamagedMetadataError, match=r"the file ends .* bytes into a batch.*`epochlog recover --all`"):
        next(batches)


def test_a_log_with_a_hole_is_refused(directory: Path) -> None:
    written(directory, *([record] for record in history("hole", steps=80).records), config=SMALL_SEGMENTS)
    lost = sorted(directory.glob("*.log"))[1]
    lost.unlink()
    with pytest.raises(DamagedMetadataError, match=f"where {int(lost.stem)} should follow"):
        list(read_metadata(directory))


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("harm", [lambda path: damage(path, 3), lambda path: damage(path, 100), torn, Path.unlink])
def test_a_damaged_log_loads_again_once_what_its_error_advises_is_done(
    directory: Path, harm: Callable[[Path], None]
) -> None:
    """Also where it was closed in order, so that nothing but the error says that there is something to look for."""
    made = history("advice", steps=80).records
    written(directory, *([record] for record in made), config=SMALL_SEGMENTS)
    harmed = sorted(directory.glob("*.log"))[1]
    first_lost = int(harmed.stem)
    harm(harmed)
    with pytest.raises(DamagedMetadataError) as caught:
        load_image(directory)
    *_, advised = re.findall(r"`epochlog (.+?)`", str(caught.value))
    epochlog(*advised.split(), directory, "--in-place", "--yes")
    loaded = load_image(directory)
    assert first_lost <= loaded.end_offset < len(made)
    image = ClusterImage()
    image.replay_all(made[: loaded.end_offset])
    assert loaded.image == image


def test_a_log_whose_beginning_no_snapshot_covers_is_refused(directory: Path) -> None:
    written(directory, *([record] for record in history("hole", steps=80).records), config=SMALL_SEGMENTS)
    min(directory.glob("*.log")).unlink()
    with pytest.raises(DamagedMetadataError, match="no snapshot reaches further than 0"):
        load_image(directory)


def test_a_record_of_a_later_kafka_is_refused_with_its_place(directory: Path) -> None:
    with Log.open(directory) as log:
        append_metadata(log, [topic(0)], leader_epoch=EPOCH)
        log.append([Record.of(b"\x01\x14\x00\x00"), Record.of(b"\x01\x63\x03\x00")], leader_epoch=EPOCH)
    with pytest.raises(UnknownMetadataRecordError, match="API key 99 in version 3") as caught:
        load_image(directory)
    assert (Path(caught.value.file or "").name, caught.value.offset) == ("00000000000000000000.log", 2)


def test_records_that_do_not_follow_are_refused_with_their_place(directory: Path) -> None:
    written(directory, [topic(0)], [RemoveTopicRecord(topic_id=UUID(int=1))])
    with pytest.raises(InvalidReplayError, match=r"REMOVE_TOPIC_RECORD does not follow.* at offset 1") as caught:
        load_image(directory)
    assert caught.value.file == str(directory)


def snapshot_of(directory: Path, seed: str) -> MetadataSnapshot:
    """Write a history, and a snapshot at its end."""
    made = history(seed, steps=80)
    written(directory, *([record] for record in made.records))
    return write_snapshot(
        directory,
        made.image,
        end_offset=len(made.records),
        epoch=EPOCH,
        last_contained_log_timestamp=1_000,
        quorum=QUORUM,
    )


QUORUM = (
    KRaftVersion(k_raft_version=1),
    Voters(
        voters=(
            Voter(
                voter_id=100,
                voter_directory_id=UUID(int=9),
                endpoints=(VoterEndpoint(name="CONTROLLER", host="localhost", port=9093),),
                k_raft_version_feature=KRaftVersionRange(min_supported_version=0, max_supported_version=1),
            ),
        )
    ),
)


def test_an_image_is_loaded_from_the_latest_snapshot_and_the_log_behind_it(directory: Path) -> None:
    snapshot = snapshot_of(directory, "snapshot")
    made = history("snapshot", steps=80)
    assert snapshot.path.name == f"{len(made.records):020d}-{EPOCH:010d}.checkpoint"
    assert MetadataSnapshot.latest(directory) == snapshot == MetadataSnapshot.at(snapshot.path)
    header = SnapshotHeader(last_contained_log_timestamp=1_000)
    assert list(snapshot.control_messages()) == [header, *QUORUM, SnapshotFooter()]
    with Log.open(directory) as log:
        append_metadata(log, [topic(50)], leader_epoch=EPOCH + 1)
    made.image.replay(topic(50))
    expected = (made.image, len(made.records) + 1, EPOCH + 1)
    assert load_image(directory) == expected
    with Log.open(directory) as log:
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(snapshot.end_offset)
        assert log.log_start_offset == snapshot.end_offset
        assert len(log.read(snapshot.end_offset, 1 << 20, isolation=Isolation.LOG_END)) > 0
    assert load_image(directory) == expected


def test_a_snapshot_alone_is_an_image_too(directory: Path, tmp_path: Path) -> None:
    snapshot = snapshot_of(directory, "alone")
    alone = tmp_path / "alone" / "__cluster_metadata-0"
    alone.mkdir(parents=True)
    shutil.copy(snapshot.path, alone)
    assert load_image(alone) == load_image(directory)


def damage(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


def test_a_damaged_snapshot_is_refused_wherever_it_is_damaged(directory: Path) -> None:
    campaign = Campaign("metadata-snapshot-damage", full=20_000, share=150)
    snapshot = snapshot_of(directory, "damage")
    whole = snapshot.path.read_bytes()
    chance = random.Random(campaign.seed)
    for _ in range(campaign.count):
        position = chance.randrange(12, len(whole))
        if chance.random() < 0.2:
            snapshot.path.write_bytes(whole[:position])
        else:
            snapshot.path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        if whole[position - 12 : position - 8] == EPOCH.to_bytes(4) or position in epochs_of(whole):
            continue  # the epoch lies before what the checksum covers
        with pytest.raises(MetadataError) as caught:
            load_image(directory)
        assert caught.value.file == str(snapshot.path)
    campaign.report(campaign.count)


def epochs_of(data: bytes) -> set[int]:
    """Where the batches of a file have their epoch: no checksum covers it."""
    return {batch.position + byte for batch in LogFile(memoryview(data)).batches() for byte in range(12, 16)}


def test_a_snapshot_without_its_end_is_refused(directory: Path) -> None:
    snapshot = snapshot_of(directory, "end")
    whole = snapshot.path.read_bytes()
    *_, last = LogFile(memoryview(whole)).batches()
    for data, told in (
        (whole[: last.position], "the file ends without the record that ends a snapshot"),
        (whole[:-1], "the file ends"),
        (whole + whole, "a snapshot cannot begin or continue like this"),
        (b"", "the file ends without"),
    ):
        snapshot.path.write_bytes(data)
        with pytest.raises(InvalidMetadataSnapshotError, match=told):
            list(snapshot.records())
