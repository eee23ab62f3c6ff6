"""The salvage of one partition: what a process, or a task of Spark, does by itself."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import PARTITION_ERRORS, OnError
from replication.copies.planning.rereading import judge_copies
from replication.copies.salvage.columns.block_sink import DISCARD, give
from replication.copies.salvage.columns.record_block import SALVAGED, RecordBlock
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.columns.tally import Tally
from replication.copies.salvage.examined_partition import ExaminedPartition, Look
from replication.copies.salvage.partition_report import PartitionReport
from replication.copies.salvage.salvage_options import SalvageOptions
from replication.copies.salvage.salvaged_record import SalvagedRecord

Sink = Callable[[SalvagedRecord], object]
"""Takes each salvaged record, in order; a BlockSink thousands at once."""


def _pass_over(_block: RecordBlock) -> None:
    """Leave it for later."""


@dataclass(frozen=True, slots=True)
class PartitionSalvage:
    """A partition and its copies by their brokers' names. Nothing was read of their records yet."""

    topic_partition: TopicPartition
    copies: Mapping[str, PartitionDirectory]
    kept: str
    options: SalvageOptions
    cluster_id: str | None = None
    """That of the copies, if it is known."""

    @property
    def size(self) -> int:
        """Bytes of the losing copies' logs, of which those beyond the fork are read."""
        others = (copy for name, copy in self.copies.items() if name != self.kept)
        return sum(segment.size for copy in others for segment in copy.segments)

    def examined(self, on_error: OnError, look: Look = _pass_over) -> ExaminedPartition | None:
        """Read the copies; None where too few can be, which `on_error` knows the reasons of. `look`: see there."""
        is_held = self.kept in self.copies

        def examine(logs: Mapping[str, RecoveredLog]) -> ExaminedPartition | None:
            if is_held and self.kept not in logs:
                return None
            return ExaminedPartition.examine(self.topic_partition, logs, self.kept, self.options, look, self.cluster_id)

        try:
            return judge_copies(self.topic_partition, self.copies, examine, on_error, least=2 if is_held else 1)
        except PARTITION_ERRORS as error:
            on_error(self.topic_partition, error)
            return None

    def report(self, sink: Sink, on_error: OnError) -> PartitionReport | None:
        """Give every salvaged record to `sink`, and report on the partition once all were given; None as `examined`.

        Raises what `sink` raises, and LogStoreError and OSError where files change while they are read.
        """
        tally = Tally()
        examined = self.examined(on_error, tally.add if sink is DISCARD else _pass_over)
        if examined is None:
            return None
        if sink is not DISCARD or not examined.is_seen:
            tally = Tally()
            for block in examined.blocks():
                tally.add(block)
                if salvaged := _salvaged(examined, block):
                    give(sink, salvaged)
        return PartitionReport.of(examined, tally)

    def blocks(self, on_error: OnError) -> Iterator[SalvagedBlock]:
        """Yield the salvaged records as columns; none where too few copies can be read. Raises what `report` raises.

        A block is empty where all that was read for it is left out: whoever waits is told that time goes by.
        """
        if examined := self.examined(on_error):
            yield from (_salvaged(examined, block) for block in examined.blocks())


def _salvaged(examined: ExaminedPartition, block: RecordBlock) -> SalvagedBlock:
    taken = block.take(np.flatnonzero(block.reasons == SALVAGED))
    place = examined.topic_partition, block.branch.name
    return SalvagedBlock(*place, taken.records, taken.batches, taken.transactions())
