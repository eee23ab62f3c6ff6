"""What must hold of the directories of brokers that have stopped, after all their replicas were in sync."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from logstore import TopicPartition
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.verify.finding import Severity
from logstore.verify.verify import verify_root
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.local.auditing import audit_locally
from tests.replication.testing.history_writer import MOST_RECORDS, value_of


def check_stopped(roots: Sequence[Path], acknowledged: dict[TopicPartition, int]) -> None:
    """Check replicas by themselves and against each other; of each partition so many records were acknowledged.

    Raises AssertionError.
    """
    for partition, count in acknowledged.items():
        _check_partition(partition, [loaded(root, partition) for root in roots], count)
    check_roots(roots)


def check_roots(roots: Sequence[Path], compacted: AbstractSet[str] = frozenset()) -> None:
    """Check by `verify` and `audit` that brokers' directories are sound, and agree. Raises AssertionError.

    Topics that are `compacted` agree in the last value of each key at least. Copies of the metadata end where each
    broker stopped, and not all of them at once.
    """
    for root in roots:
        findings = [
            each
            for each in verify_root(OfflineLogDirectory.open(root), records=True)
            if each.severity is Severity.ERROR
        ]
        assert not findings, f"{root.name}: {findings}"
    audited = audit_locally(roots, records=True, workers=0)
    audited.assert_clean(allow={"lagging", "compaction"})
    unlike = [each for each in audited.document["partitions"] if each["verdicts"] != ["identical"]]
    unexpected = [each for each in unlike if each["topic"] != METADATA_PARTITION.topic]
    unexpected = [each for each in unexpected if each["topic"] not in compacted or each["verdicts"] != ["compaction"]]
    assert not unexpected, unexpected


def loaded(root: Path, partition: TopicPartition) -> RecoveredLog:
    """Read a replica as a broker would find it."""
    return RecoveredLog.load(OfflineLogDirectory.open(root).open_partition(str(partition)))


def check_agreement(partition: TopicPartition, logs: Sequence[RecoveredLog], end: int) -> None:
    """Check that replicas have the same batches and leader epochs below an offset. Raises AssertionError."""
    contents = {_batches_below(log, end) for log in logs}
    assert len(contents) == 1, f"replicas of {partition} differ"
    # A leader that has written nothing yet is known to itself alone.
    epochs = {tuple(each for each in log.history.entries if each.start_offset < end) for log in logs}
    assert len(epochs) == 1, f"epoch histories of {partition} differ: {epochs}"


def _check_partition(partition: TopicPartition, logs: Sequence[RecoveredLog], acknowledged: int) -> None:
    committed = max(log.high_watermark or 0 for log in logs)  # a follower may not have heard of it
    check_agreement(partition, logs, committed)
    values = [record.value for record in logs[0].records(end=committed)]
    expected = [value_of(partition, number) for number in range(len(values))]
    assert values == expected, f"records of {partition} are lost, twice there or out of order"
    assert acknowledged <= len(values) <= acknowledged + MOST_RECORDS, (
        f"{len(values)} records of {partition} are committed, and {acknowledged} were acknowledged"
    )


def _batches_below(log: RecoveredLog, offset: int) -> bytes:
    """Return the bytes of all batches that end below an offset."""
    kept = bytearray()
    for segment in log.segments:
        sizes = (int(columns.size[columns.last_offset < offset].sum()) for columns in segment.open_log().scan())
        kept += segment.log_path.read_bytes()[: sum(sizes)]
    return bytes(kept)
