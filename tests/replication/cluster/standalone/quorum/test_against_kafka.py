"""Whether a copy may go on is decided as Kafka's own KafkaRaftLog decides it, over logs that ours has written."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from epoch import EndOffset
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.standalone.quorum.fetch_decisions import departure
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.records import NoOpRecord
from replication.records.metadata.snapshot import write_snapshot
from replication.wire.messages.fetch import SnapshotId
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

CAMPAIGN = Campaign("controller: copies of the metadata against Kafka", full=1_000, share=12)
EPOCHS = 6


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "RaftLogOracle") as program:
        yield program


def grown(root: Path, chance: random.Random) -> None:
    """Write a log of some epochs, which may go on from a snapshot, and of which snapshots may be taken."""
    epoch = chance.randrange(2)
    metadata = LocalMetadata.open(root)
    snapshot_after = chance.choice([None, *range(EPOCHS)])
    taken_after = chance.sample(range(EPOCHS), chance.randrange(4))
    for step in range(EPOCHS):
        for _ in range(chance.randrange(3)):
            append_metadata(metadata.log, [NoOpRecord()] * chance.randrange(1, 4), leader_epoch=epoch)
        end_offset = metadata.log.log_end_offset
        if step == snapshot_after and end_offset:
            latest = metadata.log.epochs.latest_epoch or 0
            directory = metadata.log.directory
            metadata.log.roll()  # Kafka takes a log to begin where its first segment does
            metadata.close()
            if chance.randrange(2):  # as where the log was dropped for it; else it still goes back to the first record
                shutil.rmtree(directory)
                directory.mkdir()
            write_snapshot(
                directory, ClusterImage(), end_offset=end_offset, epoch=latest, last_contained_log_timestamp=0
            )
            metadata = LocalMetadata.open(root)
        if step in taken_after:
            metadata.log.roll()
            metadata.log.advance_high_watermark(end_offset)
            metadata.take_snapshot(ClusterImage(), end_offset, metadata.log.epochs.latest_epoch or 0)
        epoch += chance.randrange(3)
    metadata.close()


def told(found: SnapshotId | EndOffset | None) -> str:
    """As the oracle tells it."""
    if found is None:
        return "valid"
    kind = "snapshot" if isinstance(found, SnapshotId) else "diverging"
    return f"{kind} {found.epoch}:{found.end_offset}"


def test_copies_of_every_end_and_epoch_are_told_the_same(kafka: JavaProgram, tmp_path: Path) -> None:
    asked = 0
    for number in range(CAMPAIGN.count):
        root = tmp_path / str(number)
        grown(root, random.Random(f"{CAMPAIGN.seed} {number}"))
        metadata = LocalMetadata.open(root)
        state, kept = metadata.state(), metadata.snapshots
        directory = metadata.log.directory
        metadata.close()
        snapshot_ids = [SnapshotId(each.end_offset, each.epoch) for each in kept]
        copies = [
            (offset, epoch)
            for offset in range(1 if snapshot_ids else 0, state.log_end_offset + 3)
            for epoch in range(state.latest_epoch + 3)
        ]
        opened = shutil.copytree(directory.parent, tmp_path / "opened") / directory.name
        kafka.ask(f"open log {opened}")
        answers = kafka.ask(*(f"validate log {epoch} {offset}" for offset, epoch in copies))
        kafka.ask("close log")
        shutil.rmtree(tmp_path / "opened")
        shutil.rmtree(root)
        for copy, answer in zip(copies, answers, strict=True):
            assert told(departure(state, snapshot_ids, *copy)) == answer, (copy, state, snapshot_ids)
        asked += len(copies)
    CAMPAIGN.report(CAMPAIGN.count, f"{asked:,} copies")
