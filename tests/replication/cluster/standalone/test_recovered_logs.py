"""A broker that is alone cuts nothing that was on stable storage unless it is told to: nobody else has it."""

from pathlib import Path

from logstore import TopicPartition
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT, OffsetCheckpoint
from tests.replication.cluster.standalone.alone import alone
from tests.replication.cluster.standalone.clients import produce, read

RECORDS = 3
SOLO = TopicPartition("solo", 0)


def leave_damaged(root: Path) -> bytes:
    """Leave a log after a crash whose last batch is damaged; return what its segment has."""
    with alone(root) as broker:
        bootstrap = str(broker.local.address)
        for topic in ("solo", "sound"):
            for number in range(RECORDS):
                assert produce(bootstrap, topic, [b"%d" % number]) == []
    (root / CLEAN_SHUTDOWN_NAME).unlink()
    content = bytearray(segment(root).read_bytes())
    content[-1] ^= 1
    segment(root).write_bytes(content)
    return bytes(content)


def segment(root: Path) -> Path:
    return root / str(SOLO) / f"{0:020}.log"


def test_a_damaged_batch_that_was_never_flushed_is_cut_off(tmp_path: Path) -> None:
    leave_damaged(tmp_path)
    path = tmp_path / RECOVERY_POINT_CHECKPOINT
    OffsetCheckpoint({**OffsetCheckpoint.read(path), SOLO: RECORDS - 1}).write(path)
    with alone(tmp_path) as broker:
        counts = broker.local.event_counts
        assert (counts.recovery_truncations, counts.records_truncated_by_recovery) == (1, 1)
        assert counts.recovery_truncations_below_high_watermark == 1
        assert len(read(str(broker.local.address), "solo")) == RECORDS - 1


def test_one_that_was_flushed_keeps_the_partition_offline_and_nothing_else_until_the_loss_is_accepted(
    tmp_path: Path,
) -> None:
    damaged = leave_damaged(tmp_path)
    with alone(tmp_path) as broker:
        assert broker.local.replicas.hosted.offline == {SOLO}
        assert len(read(str(broker.local.address), "sound")) == RECORDS
    assert segment(tmp_path).read_bytes() == damaged
    with alone(tmp_path, accepted_losses=frozenset({SOLO})) as broker:
        assert len(read(str(broker.local.address), "solo")) == RECORDS - 1
    (aside,) = segment(tmp_path).parent.glob("*.set-aside")
    assert damaged.endswith(aside.read_bytes())
    with alone(tmp_path) as broker:
        assert not broker.local.replicas.hosted.offline
        assert len(read(str(broker.local.address), "solo")) == RECORDS - 1
