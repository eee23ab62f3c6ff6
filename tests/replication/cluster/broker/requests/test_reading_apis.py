"""Requests that only read, from bytes to bytes."""

from pathlib import Path
from typing import Any

import pytest

from logstore import BatchTemplate, Record
from replication.cluster.broker.requests.cluster import described_quotas, described_users
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.cluster.broker.requests.log_dirs import RootStates
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.apis import api_with
from replication.wire.messages.describe_producers import ActiveProducer, DescribeProducersRequest
from tests.replication.cluster.broker.requests.small_broker import ELSEWHERE, EPOCH, ORDERS, UNKNOWN, SmallBroker, call
from tests.replication.wire.questions import QUESTIONS

LOG_DIRS = 35


def exchange(broker: SmallBroker, key: int, request: Any, version: int, *roots: str) -> Any:
    """Send a request as bytes, and read the answer."""
    api = api_with(key)
    assert api is not None
    served = reading_apis(broker.partitions, broker.cluster, roots)[key]
    received = api.request.read(api.request.write(request, version), version)
    answer = served.answer(received, call(version))
    answer = answer.expire() if isinstance(answer, PendingFetch) else answer
    return api.response.read(api.response.write(answer, version), version)


def test_each_api_answers_in_each_of_its_versions(broker: SmallBroker) -> None:
    for key, served in reading_apis(broker.partitions, broker.cluster).items():
        if key in {LOG_DIRS, described_quotas.API_KEY, described_users.API_KEY}:  # which have tests of their own
            continue
        request, versions = QUESTIONS[key]
        for version in served.versions:
            if version in versions:
                assert exchange(broker, key, request, version) is not None


def test_producers_are_described(broker: SmallBroker) -> None:
    template = BatchTemplate(producer_id=9, producer_epoch=3, base_sequence=4, is_transactional=True)
    broker.append(b"a")
    broker.log.append(
        [Record.of(b"b", timestamp=7), Record.of(b"c", timestamp=8)], leader_epoch=EPOCH, template=template
    )
    told = exchange(broker, 61, DescribeProducersRequest(partitions=(ORDERS, ELSEWHERE, UNKNOWN)), 0).partitions
    assert told[ORDERS].producers == (ActiveProducer(9, 3, 5, 8, -1, 1),)
    assert told[ELSEWHERE].error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told[UNKNOWN].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(1, 6))
def test_log_dirs_are_described(broker: SmallBroker, tmp_path: Path, version: int) -> None:
    broker.append(b"a")
    classes = request_classes(LOG_DIRS, version)
    told = exchange(broker, LOG_DIRS, classes.DescribeLogDirsRequest(topics=None), version, "/nowhere", str(tmp_path))
    empty, full = told.results
    assert (empty.log_dir, empty.topics) == ("/nowhere", ())
    ((partition,),) = [topic.partitions for topic in full.topics]
    assert (partition.partition_index, partition.partition_size) == (0, broker.log.size)
    if version >= 4:
        assert full.total_bytes >= full.usable_bytes > 0
        assert empty.total_bytes == -1
    asked = (classes.DescribableLogDirTopic(topic="orders", partitions=(1,)),)
    told = exchange(broker, LOG_DIRS, classes.DescribeLogDirsRequest(topics=asked), version, str(tmp_path))
    assert told.results[0].topics == ()


@pytest.mark.parametrize("version", range(1, 6))
def test_log_dirs_that_are_offline_or_cordoned_are_told(broker: SmallBroker, tmp_path: Path, version: int) -> None:
    states = RootStates(offline=["/failed"], cordoned=["/failed", str(tmp_path)])
    roots = ["/failed", str(tmp_path), "/sound"]
    served = reading_apis(broker.partitions, broker.cluster, roots, states=lambda: states)[LOG_DIRS]
    told = served.answer(request_classes(LOG_DIRS, version).DescribeLogDirsRequest(topics=None), call(version))
    errors = [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE, ErrorCode.NONE]
    assert [each.error_code for each in told.results] == errors
    if version >= 5:
        assert [each.is_cordoned for each in told.results] == [False, True, False]
