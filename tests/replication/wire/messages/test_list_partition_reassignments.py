"""ListPartitionReassignments: its one version."""

import random
from datetime import timedelta

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import list_partition_reassignments
from replication.wire.messages.list_partition_reassignments import (
    API_KEY,
    ListPartitionReassignmentsRequest,
    PartitionReassignment,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance


def test_all_that_go_on_are_asked_for() -> None:
    request = ListPartitionReassignmentsRequest(timeout_ms=1_234)
    sent = sent_request(list_partition_reassignments.REQUEST, request, API_KEY, 0)
    assert (sent.topics, sent.timeout) == (None, timedelta(milliseconds=1_234))


def test_what_the_controller_answers_is_told() -> None:
    rng = random.Random(run_seed())
    kind = response_classes(API_KEY, 0).ListPartitionReassignmentsResponse
    for _ in range(40):
        answer = instance(kind, rng, items=3)
        told = received(list_partition_reassignments.RESPONSE, answer)
        assert (told.error, told.error_message) == (answer.error_code, answer.error_message)
        assert told.partitions == {
            TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                each.replicas, each.adding_replicas, each.removing_replicas
            )
            for topic in answer.topics
            for each in topic.partitions
        }
