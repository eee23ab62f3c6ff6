"""DescribeCluster, in every version."""

import random

import pytest

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import describe_cluster
from replication.wire.messages.describe_cluster import (
    API_KEY,
    VERSIONS,
    DescribeClusterRequest,
    DescribedBroker,
)
from replication.wire.messages.metadata import Broker
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance


@pytest.mark.parametrize("version", VERSIONS)
def test_fenced_brokers_are_asked_for_as_soon_as_a_version_can(version: int) -> None:
    sent = sent_request(describe_cluster.REQUEST, DescribeClusterRequest(), 60, version)
    assert not sent.include_cluster_authorized_operations
    assert version < 1 or sent.endpoint_type == 1
    assert version < 2 or sent.include_fenced_brokers


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_broker_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(API_KEY, version).DescribeClusterResponse
    for _ in range(20):
        answer = instance(kind, rng, items=3)
        told = received(describe_cluster.RESPONSE, answer)
        assert (told.error, told.error_message) == (answer.error_code, answer.error_message)
        assert (told.cluster_id, told.controller_id) == (answer.cluster_id, answer.controller_id)
        assert told.brokers == {
            each.broker_id: DescribedBroker(
                Broker(each.broker_id, each.host, each.port, each.rack), each.is_fenced if version >= 2 else None
            )
            for each in answer.brokers
        }
