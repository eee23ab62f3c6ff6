"""What losing copies hold and the kept one lacks, partition by partition."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logstore.topic_partition import TopicPartition
from replication.base.errors import SameBrokerError
from replication.copies.planning.failures import OnError, stop
from replication.copies.planning.replica import Replica, holding, open_replicas
from replication.copies.salvage.columns.block_sink import DISCARD
from replication.copies.salvage.partition_report import PartitionReport
from replication.copies.salvage.partition_salvage import PartitionSalvage, Sink
from replication.copies.salvage.salvage_choice import Holding, SalvageChoice
from replication.copies.salvage.salvage_options import SalvageOptions
from replication.copies.salvage.salvaged_record import SalvagedRecord
from replication.copies.workers.worker_pool import WorkerPool

WORTH_WORKERS: Final = 1 << 30
"""Bytes that this process looks at alone: starting others would take longer."""


@dataclass(frozen=True, slots=True)
class SalvagePlan:
    """Which partitions are looked at. Nothing was read of their records yet."""

    replicas: Sequence[Replica]
    kept: str
    partitions: Sequence[TopicPartition]
    options: SalvageOptions
    lacking: Sequence[TopicPartition] = ()
    """Partitions that other copies hold and the kept one does not, and that are not looked at: no topic was named."""

    @property
    def cluster_id(self) -> str | None:
        """The id of the copies' cluster, if one of them says it."""
        return next((each.cluster_id for each in self.replicas if each.cluster_id), None)

    def reports(self, sink: Sink = DISCARD, *, on_error: OnError = stop) -> Iterator[PartitionReport]:
        """Give every salvaged record to `sink`, and yield a partition's report once all of its records were given.

        A `sink` that is a BlockSink takes them some thousand at once. Memory holds eight bytes for each record with a
        key that the losing copies wrote after the fork, and the keys that may be in conflict, with the first bytes of
        each one's last values, not the records. `on_error` decides whether a partition that cannot be read, or whose
        kept copy is damaged (KeptDamagedError), is left out: none of its records is given. Raises what `sink` raises,
        and LogStoreError and OSError where files change while they are read.
        """
        return (report for each in self.salvages() if (report := each.report(sink, on_error)) is not None)

    def dry_run(self, *, workers: int | None = None, on_error: OnError = stop) -> Iterator[PartitionReport]:
        """Yield the same reports without the records; `workers` processes share the partitions.

        By default they are as many as there are processors, and none for little work; with 0 this process does it.
        Raises what `reports` raises, and WorkerDiedError where a worker dies again and again.
        """
        salvages = list(self.salvages())
        with WorkerPool(_workers_for(salvages, workers)) as pool:
            for each, (report, errors) in zip(salvages, pool.map(_looked_at, zip(salvages)), strict=True):
                for error in errors:
                    on_error(each.topic_partition, error)
                if report is not None:
                    yield report

    def records(self, *, on_error: OnError = stop) -> Iterator[SalvagedRecord]:
        """Yield every salvaged record, partition by partition; `on_error` and errors as of `reports`."""
        for each in self.salvages():
            for block in filter(len, each.blocks(on_error)):
                yield from block.objects()

    def salvages(self) -> Iterator[PartitionSalvage]:
        """Give what is to be done, partition by partition."""
        for each in self.partitions:
            yield PartitionSalvage(each, holding(self.replicas, each), self.kept, self.options, self.cluster_id)

    def holders(self, partition: TopicPartition) -> list[str]:
        """Return whose copies hold a partition."""
        return list(holding(self.replicas, partition))


def plan_salvage(
    copies: Sequence[Path],
    kept: str,
    options: SalvageOptions | None = None,
    *,
    topics: Sequence[str] = (),
    on_error: OnError = stop,
) -> SalvagePlan:
    """Open copies of brokers' log directories, of which one was kept.

    `copies` are log.dirs roots, or directories that hold a broker's several roots; `kept` is the name of the kept one's
    directory, its node.id, or its path as it is among the copies. Partitions are looked at that the kept copy and
    another one hold. Those that the kept one does not hold are looked at only where `topics` names theirs: it may never
    have been a replica. So are Kafka's own.

    Raises UnknownBrokerError if `kept` is none of them, SameBrokerError if a broker is named twice, NothingChosenError
    if no copy has one of `topics` or of `options.compacted`, or no other copy has any of `topics`, and what
    `replication.planning.open_replicas` raises.
    """
    replicas = open_replicas(copies, on_error=on_error)
    _ensure_one_copy_each(replicas)
    options = options or SalvageOptions()
    holdings = [
        Holding(each.name, each.node_id, each.partitions.keys(), each.held, each.is_root, each.paths)
        for each in replicas
    ]
    chosen = SalvageChoice.among(holdings, kept, topics, options.compacted)
    return SalvagePlan(replicas, chosen.kept, chosen.partitions, options, chosen.lacking)


def _workers_for(salvages: Sequence[PartitionSalvage], workers: int | None) -> int:
    """Choose how many processes there are beside this one; none where another Python cannot be started."""
    if workers is None and (sum(each.size for each in salvages) < WORTH_WORKERS or not sys.executable):
        return 0
    count = min(len(salvages), (os.cpu_count() or 1) if workers is None else workers)
    return count if count > 1 or workers is not None else 0


def _looked_at(salvage: PartitionSalvage) -> tuple[PartitionReport | None, list[Exception]]:
    errors: list[Exception] = []
    return salvage.report(DISCARD, lambda _, error: errors.append(error)), errors


def _ensure_one_copy_each(replicas: Sequence[Replica]) -> None:
    seen: dict[int, str] = {}
    for replica in replicas:
        if replica.node_id is not None and (other := seen.setdefault(replica.node_id, replica.name)) != replica.name:
            raise SameBrokerError(other, replica.name, f"broker {replica.node_id} by node.id in meta.properties")
