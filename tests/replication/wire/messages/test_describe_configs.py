"""DescribeConfigs, in every version."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages import describe_configs
from replication.wire.messages.describe_configs import (
    API_KEY,
    VERSIONS,
    Configuration,
    DescribeConfigsRequest,
    DescribedConfigs,
    Resource,
    Setting,
    Synonym,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance

requests = st.builds(
    DescribeConfigsRequest,
    resources=st.dictionaries(
        st.builds(Resource, st.sampled_from([2, 4]), st.sampled_from(["orders", "payments", "1"])),
        st.none() | st.lists(st.sampled_from(["min.insync.replicas", "retention.ms"]), unique=True).map(tuple),
    ),
    include_synonyms=st.booleans(),
    include_documentation=st.booleans(),
)


@given(requests, st.sampled_from(VERSIONS))
def test_kio_reads_which_settings_of_what_are_asked_for(request: DescribeConfigsRequest, version: int) -> None:
    sent = sent_request(describe_configs.REQUEST, request, API_KEY, version)
    assert {
        Resource(each.resource_type, each.resource_name): each.configuration_keys for each in sent.resources
    } == request.resources
    assert sent.include_synonyms == request.include_synonyms
    if version >= 3:
        assert sent.include_documentation == request.include_documentation


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_broker_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    classes = response_classes(API_KEY, version)
    for _ in range(20):
        told: DescribedConfigs = received(
            describe_configs.RESPONSE, instance(classes.DescribeConfigsResponse, rng, items=3)
        )
        for configuration in told.resources.values():
            assert type(configuration.error) is ErrorCode


def test_a_setting_is_told_with_all_that_is_known_of_it() -> None:
    setting = Setting("7", True, 4, False, (Synonym("log.retention.ms", "7", 4), Synonym("x", None, 5)), 5, "why")
    told = DescribedConfigs(
        resources={
            Resource(2, "orders"): Configuration(ErrorCode.NONE, None, {"retention.ms": setting}),
            Resource(4, "1"): Configuration(ErrorCode.INVALID_REQUEST, "no", {}),
        }
    )
    assert describe_configs.RESPONSE.read(describe_configs.RESPONSE.write(told, 4), 4) == told
    older = describe_configs.RESPONSE.read(describe_configs.RESPONSE.write(told, 2), 2)
    assert older.topics["orders"].settings["retention.ms"] == setting._replace(type=0, documentation=None)
    assert older.topics["orders"].values == {"retention.ms": "7"}
