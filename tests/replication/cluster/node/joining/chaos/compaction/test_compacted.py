"""What was written to a compacted partition is held against what is there: what is wrong is told, and no more."""

from random import Random

import pytest

from logstore import TopicPartition
from tests.replication.cluster.node.joining.chaos.compaction.compacted import check_read, check_written
from tests.replication.cluster.node.joining.chaos.compaction.keyed_records import KeyedRecord, keyed_record, last_writes
from tests.replication.cluster.node.joining.chaos.reader import ChaosReader
from tests.replication.cluster.node.joining.chaos.writer import ChaosWriter

PARTITION = TopicPartition("balances", 0)
COUNT = 200
KEPT = {number: keyed_record(number) for number in sorted(last_writes(COUNT))}
"""What may be left of it, by offset: each record lies at its number."""
LAST = max(number for number, record in KEPT.items() if record.value is not None)


@pytest.fixture
def writer() -> ChaosWriter:
    writer = ChaosWriter("", PARTITION, Random(1), is_idempotent=True, has_keys=True, sent=COUNT)
    writer.acknowledged = dict.fromkeys(range(COUNT)) | {number: number for number in range(0, COUNT, 2)}
    return writer


@pytest.fixture
def reader() -> ChaosReader:
    return ChaosReader("", *PARTITION, {number: keyed_record(number).value or b"" for number in range(COUNT)})


@pytest.mark.parametrize("there", [KEPT, {number: keyed_record(number) for number in range(COUNT)}])
def test_compacted_or_not_it_is_as_it_should_be(
    writer: ChaosWriter, reader: ChaosReader, there: dict[int, KeyedRecord]
) -> None:
    check_written(writer, there, set())
    check_read(reader, there, COUNT)


def test_a_last_write_that_is_lost_is_told(writer: ChaosWriter, reader: ChaosReader) -> None:
    there = {number: record for number, record in KEPT.items() if number != LAST}
    with pytest.raises(AssertionError, match="have not what was written last"):
        check_written(writer, there, set())
    with pytest.raises(AssertionError, match="the last of its key, is gone"):
        check_read(reader, there, COUNT)


def test_a_value_that_was_deleted_and_is_back_is_told(writer: ChaosWriter) -> None:
    deleted = next(number for number, record in KEPT.items() if record.value is None)
    older = next(n for n in range(deleted) if keyed_record(n).key == keyed_record(deleted).key)
    there = {number: record for number, record in KEPT.items() if number != deleted}
    with pytest.raises(AssertionError, match="have not what was written last"):
        check_written(writer, dict(sorted(({older: keyed_record(older)} | there).items())), set())


def test_a_record_that_lies_where_another_was_acknowledged_is_told(writer: ChaosWriter, reader: ChaosReader) -> None:
    there = {**KEPT, 2: keyed_record(3)}
    with pytest.raises(AssertionError, match="others lie where records"):
        check_written(writer, there, set())
    with pytest.raises(AssertionError, match="is not what was read there"):
        check_read(reader, there, COUNT)
