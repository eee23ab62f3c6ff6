"""What producers are told, and what is stored then, is what a real broker tells and stores."""

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_producers import DescribedProducers, DescribeProducersRequest
from replication.wire.messages.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest
from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.requests.writing.random_batches import RandomBatches
from tests.replication.cluster.broker.requests.writing.test_deleted_records import request as deletion
from tests.replication.cluster.broker.requests.writing.test_given_producer_ids import request as producer_id_request
from tests.replication.cluster.broker.requests.writing.two_writers import TOPICS, TwoWriters

PRODUCES = Campaign("produce: beside a real broker", full=20_000, share=400)
PRODUCE, LIST_OFFSETS, DELETE_RECORDS, INIT_PRODUCER_ID, EPOCH_ENDS, MARKERS, PRODUCERS = 0, 2, 21, 22, 23, 27, 61
WITH_LEADERS_TIME = ("stamped", "zipped")
"""Topics in which times differ: those of the leader, and of markers, which are written to these alone."""


@pytest.fixture(scope="module")
def writers(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[TwoWriters]:
    with TwoWriters(tmp_path_factory.mktemp("writers"), release) as both:
        yield both


def told(answer: ProduceResponse) -> dict[TopicPartition, Any]:
    """What is told of each partition; times of the leader and the words of errors differ."""
    return {partition: _told(each) for partition, each in answer.partitions.items()}


def _told(each: ProducedPartition) -> Any:
    return (
        each.error.name,
        each.base_offset,
        min(each.log_append_time, 0),
        each.log_start_offset,
        [record_error.batch_index for record_error in each.record_errors],
        each.error_message is None,
        each.current_leader,
    )


def test_produces_are_answered_alike(writers: TwoWriters, release: KafkaRelease) -> None:
    rng = random.Random(PRODUCES.seed)
    batches = RandomBatches(rng)
    codes: set[str] = set()
    for number in range(PRODUCES.count):
        if rng.random() < 0.1:
            ask_of_logs(writers, rng)
            continue
        version = rng.choice([*range(3, 14), 13])
        topics = rng.sample([*TOPICS], rng.choice([1, 1, 1, 2, 3]))
        asked: dict[TopicPartition, bytes | None] = {TopicPartition(each, 0): batches.any() for each in topics}
        if rng.random() < 0.1:
            asked[TopicPartition("plain", 3)] = batches.sound()
        request = ProduceRequest(
            partitions=asked,
            acks=rng.choice([1, 1, 1, -1, -1, 2]),
            topic_ids=writers.topic_ids if version >= 13 else {},
        )
        theirs, ours = writers.ask(PRODUCE, request, version)
        assert told(ours) == told(theirs), f"{number}: version {version} of {request}"
        codes |= {each.error.name for each in theirs.partitions.values()}
    PRODUCES.report(PRODUCES.count, f"{len(codes)} codes", beside=release)
    for topic in ("plain", "compacted", "small", "timely"):
        theirs, ours = writers.stored(topic)
        assert ours == theirs


def ask_of_logs(writers: TwoWriters, rng: random.Random) -> None:
    """Ask about the ends of logs that grow, and delete records of them."""
    partition = TopicPartition(rng.choice([*TOPICS, "unknown"]), rng.choice([0, 0, 0, 1]))
    log = writers.logs.get(partition.topic)
    end = 0 if log is None else log.log_end_offset
    offset = rng.choice([-2, -1, 0, rng.randint(0, end), rng.randint(0, end), end + 1])
    epoch = rng.choice([-1, 0, 0, 1])
    times = [-1, -2, -3, -4, -5, -6, *([] if log is None else [each.timestamp for each in islice(log.records(), 50)])]
    key, request, version = rng.choice(
        [
            (LIST_OFFSETS, list_offsets(partition, rng.choice(times), epoch, rng.randrange(2)), rng.randrange(1, 12)),
            (EPOCH_ENDS, epoch_ends(partition, epoch, rng.choice([-2, -1, 0, 1])), rng.randrange(2, 5)),
            (DELETE_RECORDS, deletion(offset, partition), 2),
            (INIT_PRODUCER_ID, init_producer_id(rng), 5),
            (MARKERS, marker(rng), rng.choice([1, 2])),
            (PRODUCERS, DescribeProducersRequest(partitions=(partition,)), 0),
        ]
    )
    theirs, ours = writers.ask(key, request, version)
    if key == PRODUCERS:
        theirs, ours = producers(theirs), producers(ours)
    if key == LIST_OFFSETS and partition.topic in WITH_LEADERS_TIME:
        theirs, ours = ({each: told.error for each, told in side.partitions.items()} for side in (theirs, ours))
    if key == INIT_PRODUCER_ID:
        if theirs.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return  # its controller has given it no ids yet
        theirs, ours = ((side.error_code, min(0, side.producer_id), side.producer_epoch) for side in (theirs, ours))
    assert ours == theirs, f"version {version} of {request}"


def marker(rng: random.Random) -> WriteTxnMarkersRequest:
    """The end of a transaction that none of the producers has open: it counts for their epochs all the same."""
    partitions = tuple(rng.sample([TopicPartition(each, 0) for each in (*WITH_LEADERS_TIME, "unknown")], 2))
    end = TransactionMarker(rng.randrange(1, 4), rng.randrange(2), rng.random() < 0.5, partitions, rng.randrange(3))
    return WriteTxnMarkersRequest(markers=(end,))


def producers(answer: DescribedProducers) -> Any:
    """What is told of producers, without times that differ."""
    return {
        partition: (
            told.error,
            sorted(
                each._replace(last_timestamp=0) if partition.topic in WITH_LEADERS_TIME else each
                for each in told.producers
            ),
        )
        for partition, told in answer.partitions.items()
    }


def list_offsets(partition: TopicPartition, timestamp: int, epoch: int, isolation: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(partitions={partition: OffsetQuestion(timestamp, epoch)}, isolation_level=isolation)


def epoch_ends(partition: TopicPartition, current: int, epoch: int) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(partitions={partition: EpochQuestion(current, epoch)})


def init_producer_id(rng: random.Random) -> Any:
    fields = rng.choice([{}, {}, {"producer_id": 5}, {"producer_epoch": 5}, {"transactional_id": ""}])
    return producer_id_request(**fields)
