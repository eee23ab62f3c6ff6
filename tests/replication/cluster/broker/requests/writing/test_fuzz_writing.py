"""Mangled requests that write: an answer or the end of the connection, and nothing is stored that is not told."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logstore import TopicPartition
from logstore.batch.batches import read_batches
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.wire.encoding.headers import RequestHeader, read_response_header, write_request_header
from replication.wire.error_code import ErrorCode
from replication.wire.messages.apis import api_with
from replication.wire.messages.produce import ProduceRequest, ProduceResponse
from replication.wire.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest, WrittenTxnMarkers
from replication.wire.server.authentication import NoSasl
from replication.wire.server.call import Caller
from replication.wire.server.conversation import Conversation, Waiting
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import OfferedVersions
from tests.campaign import Campaign
from tests.logstore.batches import TRANSACTIONAL
from tests.replication.cluster.broker.requests.small_broker import ORDERS, TOPIC, TOPIC_ID, partition_record
from tests.replication.cluster.broker.requests.writing.leading import WritingBroker
from tests.replication.cluster.broker.requests.writing.random_batches import RandomBatches
from tests.replication.cluster.broker.requests.writing.test_deleted_records import request as deletion
from tests.replication.cluster.broker.requests.writing.test_given_producer_ids import request as producer_id_request
from tests.replication.cluster.broker.requests.writing.transactions import Agreeing
from tests.replication.wire.test_fuzz import CHANGES

CAMPAIGN = Campaign("produce: fuzzed requests", full=1_000_000, share=4_000)
PRODUCE, DELETE_RECORDS, INIT_PRODUCER_ID, MARKERS = 0, 21, 22, 27
OTHER = TopicPartition(TOPIC, 5)
CALLER = Caller("192.0.2.1")
FRAME_SIZE = 4


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[WritingBroker]:
    leading = WritingBroker(tmp_path, verification=Agreeing(), producer_ids=_Blocks())
    leading.tell(partition_record(5, 1))
    leading.lead(OTHER)
    yield leading
    leading.close()


class _Blocks:
    def next_block(self) -> range:
        return range(1_000)


class RandomWrites:
    """Requests that write, mostly to partitions that are led here."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._batches = RandomBatches(rng)

    def any(self) -> tuple[int, Any, int]:
        """Return an API key, a request and a version."""
        rng = self._rng
        if rng.random() < 0.8:
            return self._produce()
        partition = rng.choice([ORDERS, OTHER, TopicPartition(TOPIC, 1)])
        return rng.choice(
            [
                (DELETE_RECORDS, deletion(rng.randrange(-2, 50), partition), 2),
                (INIT_PRODUCER_ID, producer_id_request(), 5),
                (MARKERS, self._marker(partition), 2),
            ]
        )

    def _produce(self) -> tuple[int, Any, int]:
        rng = self._rng
        version = rng.randrange(3, 14)
        asked: dict[TopicPartition, bytes | None] = {}
        for partition in rng.sample([ORDERS, OTHER, TopicPartition(TOPIC, 1)], rng.choice([1, 1, 2])):
            is_transactional = rng.random() < 0.2
            header = {"producer_id": 8, "producer_epoch": rng.randrange(2), "base_sequence": rng.randrange(3)}
            attributes = {"attributes": TRANSACTIONAL, "section": None, **header} if is_transactional else {}
            asked[partition] = self._batches.sound(**attributes) if is_transactional else self._batches.any()
        request = ProduceRequest(
            partitions=asked,
            acks=rng.choice([-1, 0, 1, 1]),
            topic_ids={TOPIC: TOPIC_ID} if version >= 13 else {},
            transactional_id=rng.choice([None, "t"]),
        )
        return PRODUCE, request, version

    def _marker(self, partition: TopicPartition) -> WriteTxnMarkersRequest:
        rng = self._rng
        marker = TransactionMarker(8, rng.randrange(2), rng.random() < 0.5, (partition,), rng.randrange(2))
        return WriteTxnMarkersRequest(markers=(marker,))


def told_as_appended(key: int, answer: Any) -> set[int]:
    """The partitions of which an answer says that something was written to them."""
    if isinstance(answer, ProduceResponse):
        return {partition.partition for partition, each in answer.partitions.items() if each.base_offset >= 0}
    if isinstance(answer, WrittenTxnMarkers):
        every = [result for results in answer.results.values() for result in results.items()]
        return {partition.partition for partition, error in every if error is ErrorCode.NONE}
    assert key in {DELETE_RECORDS, INIT_PRODUCER_ID}
    return set()


def test_mangled_requests_write_nothing_that_is_not_told(broker: WritingBroker) -> None:
    rng = random.Random(CAMPAIGN.seed)
    writes = RandomWrites(rng)
    apis = writing_apis(broker.partitions, broker.cluster, **broker.seams)
    conversation = Conversation(apis, OfferedVersions(apis), NoSasl(CALLER))
    logs = {partition.partition: hosted.log for partition, hosted in broker.partitions.items()}
    ended: Counter[str] = Counter()
    appended = 0
    for _ in range(CAMPAIGN.count):
        key, request, version = writes.any()
        api = api_with(key)
        assert api is not None
        body = bytearray(api.request.write(request, version))
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            rng.choice(CHANGES)(body, rng)
        header = write_request_header(RequestHeader(key, version, 7, "fuzz"), flexible=api.is_flexible(version))
        before = {partition: log.log_end_offset for partition, log in logs.items()}
        try:
            found = conversation.receive(memoryview(bytes(header + body)))
            parts = found.parts(found.deadline) if isinstance(found, Waiting) else found
        except HangUpError as error:
            ended[error.topic] += 1
            continue
        assert parts is not None
        grown = {partition for partition, log in logs.items() if log.log_end_offset != before[partition]}
        appended += len(grown)
        if parts:
            frame = memoryview(b"".join(parts))[FRAME_SIZE:]
            _, start = read_response_header(frame, flexible=api.is_answer_flexible(version))
            assert grown <= told_as_appended(key, api.response.read(frame[start:], version))
    CAMPAIGN.report(CAMPAIGN.count, f"{ended.total():,} ended their connection, {appended:,} appends")
    assert ended.keys() == {"request", "produce"}, "nothing failed"
    assert appended
    for log in logs.values():
        assert all(batch.is_valid() for segment in log.segments for batch in read_batches(segment.file.data()))
