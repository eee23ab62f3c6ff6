"""Snapshots on disk, examined and judged in one process, as the audit does in many."""

from pathlib import Path

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from replication.copies.audit.comparison.examined_copy import ExaminedCopy, in_place
from replication.copies.audit.examination.examination import Examination, examine
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict


def examine_all(roots: Path, *, records: bool = False) -> list[tuple[PartitionDirectory, Examination]]:
    """Examine every partition of the brokers whose roots stand in a directory."""
    return [
        (partition, examine(partition, root.name, records=records))
        for root in sorted(place for place in roots.iterdir() if place.is_dir())
        for partition in OfflineLogDirectory.open(root).partitions()
    ]


def copy_of(partition: PartitionDirectory, examination: Examination) -> ExaminedCopy:
    return ExaminedCopy(examination.summary, examination.digests, in_place(partition.path), str(partition.path))


def judge_all(examined: list[tuple[PartitionDirectory, Examination]]) -> dict[TopicPartition, PartitionVerdict]:
    """Judge every partition."""
    copies: dict[TopicPartition, list[ExaminedCopy]] = {}
    for partition, examination in examined:
        copies.setdefault(partition.topic_partition, []).append(copy_of(partition, examination))
    return {partition: judge(of_partition) for partition, of_partition in sorted(copies.items())}
