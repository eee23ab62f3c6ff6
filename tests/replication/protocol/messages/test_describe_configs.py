"""DescribeConfigs of topics, in every version."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.protocol.error_code import ErrorCode
from replication.protocol.messages import describe_configs
from replication.protocol.messages.describe_configs import (
    API_KEY,
    VERSIONS,
    DescribeConfigsRequest,
    TopicConfiguration,
)
from replication.protocol.wire.kio_messages import response_classes
from tests.campaign import run_seed
from tests.replication.protocol.by_kio import received, sent_request
from tests.replication.protocol.instances import instance
from tests.replication.protocol.strategies import TOPIC_IDS

TOPIC = 2
requests = st.builds(
    DescribeConfigsRequest,
    topics=st.lists(st.sampled_from(sorted(TOPIC_IDS)), unique=True).map(tuple),
    names=st.lists(st.sampled_from(["min.insync.replicas", "retention.ms"]), unique=True).map(tuple),
)


@given(requests, st.sampled_from(VERSIONS))
def test_kio_reads_which_settings_of_which_topics_are_asked_for(request: DescribeConfigsRequest, version: int) -> None:
    sent = sent_request(describe_configs.REQUEST, request, 32, version)
    assert [(each.resource_type, each.resource_name, each.configuration_keys) for each in sent.resources] == [
        (TOPIC, topic, request.names) for topic in request.topics
    ]
    assert not sent.include_synonyms


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_broker_answers_about_topics_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    classes = response_classes(API_KEY, version)
    kind = classes.DescribeConfigsResponse
    for _ in range(20):
        results = tuple(
            classes.DescribeConfigsResult(
                error_code=told.error_code,
                error_message=told.error_message,
                resource_type=rng.choice([TOPIC, 4]),
                resource_name=f"topic-{number}",
                configs=told.configs,
            )
            for number, told in enumerate(instance(classes.DescribeConfigsResult, rng, items=3) for _ in range(4))
        )
        answer = kind(throttle_time=instance(kind, rng).throttle_time, results=results)
        topics = received(describe_configs.RESPONSE, answer).topics
        assert topics == {
            told.resource_name: TopicConfiguration(
                told.error_code, told.error_message, {each.name: each.value for each in told.configs}
            )
            for told in results
            if told.resource_type == TOPIC
        }
        assert {type(topic.error) for topic in topics.values()} <= {ErrorCode}
