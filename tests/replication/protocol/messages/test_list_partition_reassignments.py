"""ListPartitionReassignments: its one version."""

import random
from datetime import timedelta
from typing import Any

from logstore import TopicPartition
from replication.protocol.messages.list_partition_reassignments import (
    API_KEY,
    ListPartitionReassignmentsRequest,
    PartitionReassignment,
    decode_list_partition_reassignments,
    encode_list_partition_reassignments,
)
from replication.protocol.wire.schema import read, request_classes, response_classes, write
from tests.campaign import run_seed
from tests.replication.protocol.instances import instance


def test_all_that_go_on_are_asked_for() -> None:
    payload = encode_list_partition_reassignments(
        ListPartitionReassignmentsRequest(timeout_ms=1_234), request_classes(API_KEY, 0)
    )
    sent: Any = read(request_classes(API_KEY, 0).ListPartitionReassignmentsRequest, memoryview(write(payload)))
    assert (sent.topics, sent.timeout) == (None, timedelta(milliseconds=1_234))


def test_what_the_controller_answers_is_told() -> None:
    rng = random.Random(run_seed())
    kind = response_classes(API_KEY, 0).ListPartitionReassignmentsResponse
    for _ in range(40):
        answer = instance(kind, rng, items=3)
        told = decode_list_partition_reassignments(read(kind, memoryview(write(answer))))
        assert (told.error, told.error_message) == (answer.error_code, answer.error_message)
        assert told.partitions == {
            TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                each.replicas, each.adding_replicas, each.removing_replicas
            )
            for topic in answer.topics
            for each in topic.partitions
        }
