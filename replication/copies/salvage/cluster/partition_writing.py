"""The salvaged records of one partition on their way: which are written, and where a transaction ends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Protocol

from logstore.kernels.digest import digest_contents
from logstore.topic_partition import TopicPartition
from replication.copies.salvage.cluster.batch_sizes import batch_sizes
from replication.copies.salvage.cluster.cuts import Cuts
from replication.copies.salvage.cluster.errors import ClusterError
from replication.copies.salvage.cluster.known_places import KnownPlaces
from replication.copies.salvage.cluster.needs import Needs, identity
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.held.provenance import HEADER, Provenance, earlier_places, value_form

Headers = list[tuple[str, str | bytes | None]]
Message = tuple[bytes | None, bytes | None, int, Headers]
"""What is written of a record: value, key, time and headers."""


def provenances(block: SalvagedBlock, cluster_id: str | None) -> Iterator[Provenance]:
    """Yield for each record where it was found, in copies of that cluster."""
    return (Provenance(cluster_id or "", block.topic_partition, *numbers) for numbers in _numbers(block))


def header_values(block: SalvagedBlock, cluster_id: str | None) -> Iterator[bytes]:
    """Yield the header's value of each record: the same as of its provenance, sooner."""
    return map(value_form(cluster_id or "", block.topic_partition).__mod__, _numbers(block))


def _numbers(block: SalvagedBlock) -> Iterator[tuple[int, int, int, int]]:
    return zip(
        block.of_batch(block.batches.leader_epoch).tolist(),
        block.records.offset.tolist(),
        block.of_batch(block.batches.producer_id).tolist(),
        digest_contents(block.records).tolist(),
        strict=True,
    )


class Writer(Protocol):
    """What records go to."""

    def write(self, messages: Iterable[Message], target: TopicPartition) -> None:
        """Write records."""

    def commit(self) -> None:
        """Make what was written since the last time be there at once."""


@dataclass(slots=True)
class ProducedPartition:
    """What became of the salvaged records of one partition."""

    topic: str
    partition: int
    to_topic: str
    written: int = 0
    """By this run; by a dry run, what would be."""
    already_there: int = 0
    """By an earlier one."""


@dataclass(slots=True)
class PartitionWriting:
    """Takes records in the order of `SalvagePlan.reports`: those, and no others, that `needs` was gathered of.

    Copies may change while they are read, as that of a broker that runs does. Then what was reported is no longer what
    would be written, nor is it known where a transaction of the records' producers ends.
    """

    produced: ProducedPartition
    known: KnownPlaces
    writer: Writer
    cuts: Cuts
    needs: Needs
    _waiting: int = field(default=0, init=False)
    _blocks: int = field(default=0, init=False)

    def take(self, block: SalvagedBlock) -> None:
        """Write what is not there; a block without records, too, is a place where a transaction may end.

        Raises ClusterError, with nothing of the block written, if it is another one than before.
        """
        if not len(block):
            if self.cuts.ends():
                self._commit()
            return
        if self.needs.blocks[self._blocks : self._blocks + 1] != [identity(block)]:
            raise self._changed()
        self._blocks += 1
        sizes = batch_sizes(block, self.known.cluster_id)
        is_plain = not (self.known or self.needs.were_salvaged or (block.transactions >= 0).any())
        if is_plain and self.cuts.fits(len(block), int(sizes.sum())):
            self._write(self._messages(block), len(block))
            if self.cuts.follow_plain(len(block), int(sizes.sum())):
                self._commit()
        else:
            self._take_each(block, sizes.tolist())

    def end(self) -> None:
        """Commit what was written. Raises ClusterError before that, if blocks are missing."""
        if self._blocks != len(self.needs.blocks):
            raise self._changed()
        self._commit()

    def _changed(self) -> ClusterError:
        return ClusterError(
            f"{self.needs.partition}: the copies have changed since they were looked at, and other records are to be "
            "salvaged now; run the same again"
        )

    def _commit(self) -> None:
        self.writer.commit()
        self.produced.written += self._waiting
        self._waiting = 0

    def _take_each(self, block: SalvagedBlock, sizes: list[int]) -> None:
        waiting: list[Message] = []
        producers, transactions = (
            block.of_batch(column).tolist() for column in (block.batches.producer_id, block.transactions)
        )
        rows = zip(self._messages(block), self._are_there(block), producers, transactions, sizes, strict=True)
        for message, is_there, producer, transaction, size in rows:
            if is_there:
                self.produced.already_there += 1
            else:
                waiting.append(message)
            if self.cuts.follow((producer, transaction), 0 if is_there else size):
                self._write(waiting, len(waiting))
                self._commit()
                waiting = []
        if waiting:
            self._write(waiting, len(waiting))

    def _write(self, messages: Iterable[Message], count: int) -> None:
        self.writer.write(messages, TopicPartition(self.produced.to_topic, self.produced.partition))
        self._waiting += count

    def _messages(self, block: SalvagedBlock) -> Iterator[Message]:
        added = zip(repeat(HEADER), header_values(block, self.known.cluster_id), strict=False)
        headers: Iterable[Headers]
        if block.records.header_count.any():
            headers = ([*own, header] for own, header in zip(block.headers(), added, strict=False))
        else:
            headers = map(list, zip(added, strict=True))
        # By functions of C alone, which is as fast as the client.
        return zip(block.values(), block.keys(), block.records.timestamp.tolist(), headers, strict=True)

    def _are_there(self, block: SalvagedBlock) -> Iterator[bool]:
        if not self.known and not self.needs.were_salvaged:
            yield from repeat(False, len(block))
            return
        for place, headers in zip(provenances(block, self.known.cluster_id), block.headers(), strict=False):
            places = [place, *(earlier_places(headers, block.topic_partition) if self.needs.were_salvaged else ())]
            is_there = self.known.knows(places)
            yield is_there
            if self.needs.were_salvaged and not is_there:
                self.known.add(places)
