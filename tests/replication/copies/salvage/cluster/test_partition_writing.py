"""When the records of a partition are let be there."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import stop
from replication.copies.salvage.cluster.cuts import Cuts
from replication.copies.salvage.cluster.known_places import KnownPlaces
from replication.copies.salvage.cluster.needs import Needs
from replication.copies.salvage.cluster.partition_writing import Message, PartitionWriting, ProducedPartition
from replication.salvage import TransactionSize, plan_salvage
from tests.replication.copies.salvage.copies import ABORT, Part, data, marker, write_copy

COMMON = data(0, b"common")


class Written:
    """What was written and committed, in order."""

    def __init__(self) -> None:
        self.events: list[bytes | str | None] = []

    def write(self, messages: Iterable[Message], target: TopicPartition) -> None:
        assert target == ("to", 0)
        self.events += [value for value, *_ in messages]

    def commit(self) -> None:
        self.events.append("commit")


def written(directory: Path, losing: list[Part], seconds_a_block: float) -> list[bytes | str | None]:
    copies = [write_copy(directory / "broker-0", [COMMON]), write_copy(directory / "broker-1", [COMMON, *losing])]
    [salvage] = plan_salvage(copies, "broker-0").salvages()
    now = 0.0
    writer = Written()
    partition = TopicPartition("t", 0)
    needs = Needs(partition)
    for block in filter(len, salvage.blocks(stop)):
        needs.take(block, None)
    cuts = Cuts(TransactionSize(seconds=15), needs.last_of, lambda: now)
    produced = ProducedPartition("t", 0, "to")
    writing = PartitionWriting(produced, KnownPlaces(partition, None), writer, cuts, needs)
    for block in salvage.blocks(stop):
        writing.take(block)
        now += seconds_a_block
    writing.end()
    assert produced.written == sum(each != "commit" for each in writer.events)
    return writer.events


def test_while_all_that_is_read_is_left_out_a_transaction_is_not_kept_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replication.copies.salvage.columns.batch_run.MOST_BATCHES", 1)
    aborted = [data(4, b"no", producer=7, sequence=n, transactional=True) for n in range(5)]
    losing = [data(4, b"first"), *aborted, marker(4, ABORT, 7), data(4, b"last")]
    assert written(tmp_path / "fast", losing, 1) == [b"first", b"last", "commit"]
    assert written(tmp_path / "slow", losing, 8) == [b"first", "commit", b"last", "commit"]
