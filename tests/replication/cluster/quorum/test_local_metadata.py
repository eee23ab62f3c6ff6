"""The copy on disk: Kafka's files, of which a start goes on, and what a crash leaves of a change."""

from pathlib import Path
from uuid import UUID

import pytest

from logstore.errors import DirectoryLockedError
from logstore.files.partition_metadata import PartitionMetadata
from replication.cluster.quorum.fetched_snapshot import FetchedSnapshot
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.records.metadata.errors import DamagedMetadataError
from replication.records.metadata.loading import load_image
from replication.records.metadata.records import TopicRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotResponse
from tests.replication.cluster.quorum.quorum_leader import METADATA_ID, QuorumLeader

TOPIC = TopicRecord(name="orders", topic_id=METADATA_ID)


def compacted() -> QuorumLeader:
    """A leader with a snapshot up to offset 2, and nothing else."""
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    leader.compact()
    return leader


def fetched(local: LocalMetadata, leader: QuorumLeader) -> FetchedSnapshot:
    assert leader.snapshot is not None
    snapshot_id, content = leader.snapshot
    fetched = local.receive(snapshot_id)
    assert fetched.take(FetchSnapshotResponse(error=ErrorCode.NONE, size=len(content), position=0, data=content))
    return fetched


def install(local: LocalMetadata, leader: QuorumLeader) -> None:
    local.install(fetched(local, leader))


def append(local: LocalMetadata, leader: QuorumLeader) -> None:
    local.log.append_batches(b"".join(each.data for each in leader.log), leader_epoch=leader.epoch)


def files(root: Path, suffix: str) -> list[str]:
    return sorted(path.name for path in (root / "__cluster_metadata-0").iterdir() if path.name.endswith(suffix))


def test_it_has_the_id_that_the_metadata_has_in_each_cluster(tmp_path: Path) -> None:
    LocalMetadata.open(tmp_path).close()
    assert PartitionMetadata.of(tmp_path / "__cluster_metadata-0") == PartitionMetadata(UUID(int=1))


def test_a_snapshot_lies_beside_the_segments_and_replaces_the_log(tmp_path: Path) -> None:
    local, other = LocalMetadata.open(tmp_path), QuorumLeader()
    append(local, other)
    install(local, compacted())
    assert files(tmp_path, ".checkpoint") == ["00000000000000000002-0000000001.checkpoint"]
    assert files(tmp_path, ".log") == ["00000000000000000002.log"]
    assert files(tmp_path, ".part") == []
    state = local.state()
    assert (state.log_start_offset, state.log_end_offset, state.high_watermark, state.latest_epoch) == (2, 2, 2, 1)
    assert list(local.committed(0)) == []
    local.close()


def test_what_kafka_reads_of_it_is_the_image(tmp_path: Path) -> None:
    leader, local = compacted(), LocalMetadata.open(tmp_path)
    install(local, leader)
    leader.append(TopicRecord(name="more", topic_id=UUID(int=8)))
    append(local, leader)
    local.close()
    leader.commit()
    assert load_image(tmp_path / "__cluster_metadata-0").image == leader.image()


def test_a_later_snapshot_replaces_the_earlier_one(tmp_path: Path) -> None:
    leader, local = compacted(), LocalMetadata.open(tmp_path)
    install(local, leader)
    leader.elect()
    leader.commit()
    leader.compact()
    install(local, leader)
    assert files(tmp_path, ".checkpoint") == ["00000000000000000003-0000000002.checkpoint"]
    local.close()


def test_a_start_goes_on_from_log_and_snapshot(tmp_path: Path) -> None:
    leader, local = compacted(), LocalMetadata.open(tmp_path)
    install(local, leader)
    leader.elect()
    append(local, leader)
    local.log.update_high_watermark(3)
    before = local.state()
    local.close()
    again = LocalMetadata.open(tmp_path)
    assert again.state() == before
    assert again.snapshot is not None
    assert again.snapshot.end_offset == 2
    again.close()


def test_an_epoch_that_went_on_after_the_snapshot_is_known_once_its_batches_are_cut(tmp_path: Path) -> None:
    leader, local = compacted(), LocalMetadata.open(tmp_path)
    install(local, leader)
    leader.append(TopicRecord(name="more", topic_id=UUID(int=8)))
    leader.elect()
    append(local, leader)
    assert local.state().truncate_to(2).latest_epoch == 1
    assert [tuple(each) for each in local.state().history.entries] == [(1, 1), (2, 3)]
    local.close()


def test_a_crash_before_the_log_was_replaced_is_made_up_for(tmp_path: Path) -> None:
    local, leader, other = LocalMetadata.open(tmp_path), compacted(), QuorumLeader()
    other.epoch = 7
    other.elect()
    append(local, other)
    part = fetched(local, leader).file.path
    part.rename(part.with_suffix(""))
    local.close()
    again = LocalMetadata.open(tmp_path)
    assert again.state()[:3] == (2, 2, 2)
    again.close()


def test_the_log_that_a_snapshot_was_made_of_stays(tmp_path: Path) -> None:
    leader, local = QuorumLeader(), LocalMetadata.open(tmp_path)
    leader.append(TOPIC)
    leader.elect()
    append(local, leader)
    leader.commit(2)
    leader.compact()
    part = fetched(local, leader).file.path
    part.rename(part.with_suffix(""))
    local.close()
    again = LocalMetadata.open(tmp_path)
    assert again.state()[:3] == (0, 3, 2)
    again.close()


def test_a_part_of_a_snapshot_is_removed_at_the_next_start(tmp_path: Path) -> None:
    local = LocalMetadata.open(tmp_path)
    local.receive(SnapshotId(5, 1))
    local.close()
    assert files(tmp_path, ".part") == ["00000000000000000005-0000000001.checkpoint.part"]
    LocalMetadata.open(tmp_path).close()
    assert files(tmp_path, ".part") == []


def test_a_log_whose_beginning_is_lost_begins_anew(tmp_path: Path) -> None:
    local = LocalMetadata.open(tmp_path)
    install(local, compacted())
    local.close()
    for name in files(tmp_path, ".checkpoint"):
        (tmp_path / "__cluster_metadata-0" / name).unlink()
    again = LocalMetadata.open(tmp_path)
    assert again.state()[:3] == (0, 0, 0)
    again.close()


def test_one_at_a_time(tmp_path: Path) -> None:
    local = LocalMetadata.open(tmp_path)
    with pytest.raises(DirectoryLockedError):
        LocalMetadata.open(tmp_path)
    local.close()


def test_a_temporary_copy_is_gone_once_it_is_closed() -> None:
    local = LocalMetadata.open()
    place = local.log.directory.parent
    assert place.is_dir()
    local.close()
    local.close()
    assert not place.exists()


def test_a_snapshot_of_more_than_the_log_has_is_refused(tmp_path: Path) -> None:
    local, leader = LocalMetadata.open(tmp_path), QuorumLeader()
    append(local, leader)
    with pytest.raises(DamagedMetadataError, match="ends before a record that was replayed"):
        local.take_snapshot(leader.image(), leader.end_offset + 1, leader.epoch)
    assert local.snapshot is None
    local.close()
