"""What is set is told with where it is from, and Kafka's defaults where nothing is set."""

import pytest

from logstore import LogConfig
from logstore.log_config import RETENTION_MS
from replication.cluster.broker.requests.cluster.described_settings import DescribedSettings
from replication.records.metadata.records import ConfigRecord
from replication.records.metadata.settings.ineffective_settings import ineffective_of_brokers
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_configs import (
    BROKER,
    TOPIC,
    Configuration,
    DescribeConfigsRequest,
    Resource,
    Setting,
    Synonym,
)
from tests.replication.cluster.broker.requests import small_broker
from tests.replication.cluster.broker.requests.small_broker import SmallBroker, call

ORDERS = Resource(TOPIC, small_broker.TOPIC)


def ask(
    broker: SmallBroker, resource: Resource = ORDERS, names: tuple[str, ...] | None = None, *, synonyms: bool = True
) -> Configuration:
    request = DescribeConfigsRequest(resources={resource: names}, include_synonyms=synonyms)
    return DescribedSettings(broker.cluster).answer(request, call(4)).resources[resource]


def put(broker: SmallBroker, resource: Resource, name: str, value: str) -> None:
    broker.tell(ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value))


def test_the_defaults_are_those_of_a_log_config_and_kafkas_where_it_leaves_them_open() -> None:
    known = {name: each.default or "" for name, each in TOPIC_SETTINGS.items()}
    assert LogConfig.of(known) == LogConfig(retention_ms=RETENTION_MS, remote_storage_enable=False)


def test_a_topics_setting_counts_before_the_brokers_and_these_before_the_default(broker: SmallBroker) -> None:
    name, synonym = "segment.bytes", "log.segment.bytes"
    default = Synonym(synonym, "1073741824", 5)
    assert ask(broker).settings[name] == Setting(default.value, source=5, synonyms=(default,), type=3)
    put(broker, Resource(BROKER, ""), synonym, "3")
    of_all = Synonym(synonym, "3", 3)
    assert ask(broker).settings[name] == Setting("3", source=3, synonyms=(of_all, default), type=3)
    put(broker, Resource(BROKER, "1"), synonym, "2")
    of_one = Synonym(synonym, "2", 2)
    assert ask(broker).settings[name] == Setting("2", source=2, synonyms=(of_one, of_all, default), type=3)
    put(broker, ORDERS, name, "1")
    own = Synonym(name, "1", 1)
    assert ask(broker).settings[name] == Setting("1", source=1, synonyms=(own, of_one, of_all, default), type=3)
    assert ask(broker, synonyms=False).settings[name] == Setting("1", source=1, type=3)


def test_only_those_are_told_that_are_asked_for(broker: SmallBroker) -> None:
    assert ask(broker, names=("retention.ms", "nothing")).values == {"retention.ms": "604800000"}
    assert len(ask(broker).settings) == len(TOPIC_SETTINGS)


def test_of_brokers_what_is_set_is_told(broker: SmallBroker) -> None:
    put(broker, Resource(BROKER, ""), "min.insync.replicas", "2")
    put(broker, Resource(BROKER, "1"), "log.cleaner.threads", "4")
    assert ask(broker, Resource(BROKER, "1")).values == {"log.cleaner.threads": "4", "min.insync.replicas": "2"}
    assert ask(broker, Resource(BROKER, "")).values == {"min.insync.replicas": "2"}


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        (Resource(TOPIC, "unknown"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(TOPIC, "a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (Resource(BROKER, "2"), ErrorCode.INVALID_REQUEST),
        (Resource(BROKER, "x"), ErrorCode.INVALID_REQUEST),
        (Resource(8, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_here_is_refused(broker: SmallBroker, resource: Resource, error: ErrorCode) -> None:
    told = ask(broker, resource)
    assert (told.error, told.settings) == (error, {})


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (Resource(BROKER, "1"), "listener.name.x.plain.sasl.jaas.config"),
        (Resource(BROKER, ""), "ssl.keystore.password"),
        (Resource(BROKER, "1"), "my.plugin.setting"),
        (ORDERS, "my.plugin.setting"),
    ],
)
def test_the_value_of_what_may_be_a_secret_is_not_told(broker: SmallBroker, resource: Resource, name: str) -> None:
    put(broker, resource, name, "hush")
    setting = ask(broker, resource).settings[name]
    assert setting.is_sensitive
    assert setting.value is None
    assert all(each.value is None for each in setting.synonyms)


def test_of_a_broker_that_runs_nothing_is_told_to_hold_that_makes_no_difference(broker: SmallBroker) -> None:
    threads, unclean, size = "num.io.threads", "unclean.leader.election.enable", "log.segment.bytes"
    for resource, value in ((Resource(BROKER, ""), "true"), (Resource(BROKER, "1"), "false")):
        put(broker, resource, unclean, value)
    put(broker, Resource(BROKER, "1"), threads, "3")
    put(broker, Resource(BROKER, "1"), size, "2000000")
    described = DescribedSettings(broker.cluster, ineffective=ineffective_of_brokers)
    request = DescribeConfigsRequest(resources={Resource(BROKER, "1"): None}, include_synonyms=True)
    told = described.answer(request, call(4)).resources[Resource(BROKER, "1")]
    assert told.values == {threads: None, unclean: "true", size: "2000000"}
    assert told.settings[threads].synonyms == (Synonym(threads, "3", 2),)
    assert {name for name, each in told.settings.items() if each.documentation} == {threads, unclean}
    of_all = DescribeConfigsRequest(resources={Resource(BROKER, ""): None})
    assert described.answer(of_all, call(4)).resources[Resource(BROKER, "")].values == {unclean: "true"}


def test_the_value_of_what_is_known_to_be_none_is_told(broker: SmallBroker) -> None:
    put(broker, Resource(BROKER, "1"), "num.io.threads", "3")
    assert ask(broker, Resource(BROKER, "1")).settings["num.io.threads"].value == "3"
