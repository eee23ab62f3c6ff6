"""The metadata of a controller that is alone."""

import json
from pathlib import Path
from uuid import UUID

from logstore import Log
from logstore.batch.batches import read_batches
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.control_messages import decode_control
from replication.records.metadata.loading import load_image
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.records import BeginTransactionRecord, FeatureLevelRecord, TopicRecord
from replication.records.metadata.records.control import KRaftVersion, SnapshotFooter

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)
TOPIC = TopicRecord(name="orders", topic_id=UUID(int=7_000))


def replayed(metadata: StoredMetadata) -> list[MetadataBatch]:
    batches: list[MetadataBatch] = []
    metadata.replay(batches.append)
    return batches


def test_what_was_appended_is_replayed_after_the_next_start_in_a_later_epoch(tmp_path: Path) -> None:
    metadata = StoredMetadata.open(tmp_path)
    assert replayed(metadata) == []
    first = metadata.append([LEVEL, TOPIC], 30)
    metadata.close()
    again = StoredMetadata.open(tmp_path)
    assert replayed(again) == [first]
    assert (first.base_offset, first.last_offset, again.next_offset) == (0, 1, 2)
    assert again.leader_epoch == first.leader_epoch + 1
    again.close()


def test_the_files_are_those_of_a_quorum(tmp_path: Path) -> None:
    metadata = StoredMetadata.open(tmp_path)
    metadata.append([LEVEL, TOPIC], 30)
    metadata.close()
    assert load_image(tmp_path / "__cluster_metadata-0").image.topics.by_name["orders"].id == TOPIC.topic_id


def test_an_append_is_on_stable_storage_and_committed(tmp_path: Path) -> None:
    metadata = StoredMetadata.open(tmp_path)
    metadata.append([LEVEL], 30)
    with Log.reader(tmp_path / "__cluster_metadata-0") as log:
        assert log.log_end_offset == 1
    metadata.close()
    again = StoredMetadata.open(tmp_path)
    assert again.next_offset == 1
    again.close()


def test_a_transaction_that_was_left_open_is_aborted(tmp_path: Path) -> None:
    with Log.open(tmp_path / "__cluster_metadata-0", replicated=True) as log:
        append_metadata(log, [LEVEL], leader_epoch=3)
        append_metadata(log, [BeginTransactionRecord(name="half"), TOPIC], leader_epoch=3)
    metadata = StoredMetadata.open(tmp_path)
    counting = [record for batch in replayed(metadata) for record in batch.records]
    assert counting == [LEVEL]
    metadata.append([TOPIC], 30)
    metadata.close()
    assert load_image(tmp_path / "__cluster_metadata-0").image.topics.by_name["orders"].id == TOPIC.topic_id


def test_what_the_quorum_says_of_itself_counts_as_offsets_and_as_no_records(tmp_path: Path) -> None:
    metadata = StoredMetadata.open(tmp_path)
    said = metadata.append_control([KRaftVersion(k_raft_version=1), SnapshotFooter()])
    after = metadata.append([LEVEL], 30)
    assert (said.base_offset, said.last_offset, said.records) == (0, 1, ())
    assert after.base_offset == 2
    assert metadata.log.high_watermark == 3
    metadata.close()
    again = StoredMetadata.open(tmp_path)
    assert [record for batch in replayed(again) for record in batch.records] == [LEVEL]
    (batch, _) = read_batches(again.log.read(0, 1 << 20).data)
    assert [decode_control(record) for record in batch.records()] == [KRaftVersion(k_raft_version=1), SnapshotFooter()]
    again.close()


def test_the_epoch_is_later_than_any_that_kafkas_controller_knew_of(tmp_path: Path) -> None:
    metadata = StoredMetadata.open(tmp_path)
    metadata.append([LEVEL], 30)
    metadata.close()
    state = {"leaderId": 1, "leaderEpoch": 7, "votedId": -1, "votedDirectoryId": None, "data_version": 1}
    (tmp_path / "__cluster_metadata-0" / "quorum-state").write_text(json.dumps(state))
    again = StoredMetadata.open(tmp_path)
    assert again.leader_epoch == 8
    again.close()
