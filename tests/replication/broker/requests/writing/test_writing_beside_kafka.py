"""What producers are told, and what is stored then, is what a real broker tells and stores."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from logstore import TopicPartition
from replication.protocol.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.broker.requests.writing.random_batches import RandomBatches
from tests.replication.broker.requests.writing.two_writers import TOPICS, TwoWriters

PRODUCES = Campaign("produce: beside a real broker", full=20_000, share=400)
PRODUCE = 0


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
