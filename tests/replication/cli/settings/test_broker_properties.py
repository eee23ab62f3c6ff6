"""What `epochlog serve` says of what a broker is to start with, before it does."""

import json
from pathlib import Path

import pytest

from replication.cli.settings.broker_properties import BrokerProperties
from replication.cluster.standalone.formatting import ensure_formatted
from replication.wire.addresses import Address
from tests.replication.cli.command import epochlog

ALWAYS_WRONG = [
    ("num.partition=1", "num.partition: not known here; these are: "),
    ("num.partitions=0", "num.partitions is 0, and must be at least 1"),
    ("node.id=-4", "node.id is -4, and must be at least 0"),
    ("default.replication.factor=0", "default.replication.factor is 0, and must be at least 1"),
    ("broker.heartbeat.interval.ms=0", "broker.heartbeat.interval.ms is 0, and must be at least 1"),
    ("log.flush.scheduler.interval.ms=-1", "log.flush.scheduler.interval.ms is -1, and must be at least 1"),
    ("log.retention.hours=many", "log.retention.hours is 'many', and must be a whole number"),
    ("auto.create.topics.enable=maybe", "auto.create.topics.enable is 'maybe', and must be true or false"),
    ("log.cleaner.enable=perhaps", "log.cleaner.enable is 'perhaps', and must be true or false"),
    ("log.cleaner.backoff.ms=-1", "log.cleaner.backoff.ms is -1, and must be at least 0"),
    ("group.initial.rebalance.delay.ms=-1", "group.initial.rebalance.delay.ms is -1, and must be at least 0"),
    ("compression.type=zip", "zip"),
    ("log.preallocate=true", "log.preallocate is 'true', and makes no difference here: no file is made larger"),
    ("security.protocol=SSL", "ssl.keystore.location is missing"),
    ("metrics.listener=here", "metrics.listener: 'here' is not a [HOST:]PORT"),
]


@pytest.mark.parametrize(("text", "said"), ALWAYS_WRONG)
def test_a_wrong_property_keeps_a_broker_from_starting_and_leaves_the_directory_alone(
    text: str, said: str, tmp_path: Path
) -> None:
    properties, root = tmp_path / "broker.properties", tmp_path / "logs"
    properties.write_text(text)
    started = epochlog("serve", root, "--listen", "127.0.0.1:0", "--config", properties)
    validated = epochlog("serve", root, "--validate", "--config", properties)
    assert (started.status, validated.status) == (2, 1)
    for each in (started, validated):
        assert said in " ".join(each.err.split())
        assert str(properties) in each.err
    assert not root.exists()


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    properties, root = tmp_path / "broker.properties", tmp_path / "logs"
    properties.write_text("num.partitions=0\nunknown.one=1\n")
    root.mkdir()
    (root / "letter.txt").write_text("dear")
    validated = epochlog("serve", root, "--validate", "--config", properties, "--json")
    assert validated.status == 1
    of_properties, of_directory = json.loads(validated.out)["faults"]
    assert "num.partitions is 0" in of_properties
    assert "unknown.one: not known here" in of_properties
    assert "is not empty and has no meta.properties" in of_directory


def test_a_directory_that_is_named_twice_is_a_fault_though_it_is_new(tmp_path: Path) -> None:
    validated = epochlog("serve", tmp_path / "logs", tmp_path / "other" / ".." / "logs", "--create", "--validate")
    assert validated.status == 1
    assert "is named 2 times" in validated.err


def test_a_directory_of_another_broker_than_node_id_says_is_refused(tmp_path: Path) -> None:
    properties, root = tmp_path / "broker.properties", tmp_path / "logs"
    ensure_formatted([root], 3)
    properties.write_text("node.id=4\n")
    started = epochlog("serve", root, "--listen", "127.0.0.1:0", "--config", properties)
    validated = epochlog("serve", root, "--validate", "--config", properties)
    assert (started.status, validated.status) == (2, 1)
    for each in (started, validated):
        assert "is broker 3's by its meta.properties, and node.id is 4" in " ".join(each.err.split())


def test_what_is_in_order_is_said_to_be(tmp_path: Path) -> None:
    properties = tmp_path / "broker.properties"
    properties.write_text("node.id=3\nnum.partitions=2\nlog.retention.hours=1\n")
    validated = epochlog("serve", tmp_path / "logs", "--create", "--validate", "--config", properties)
    assert validated.status == 0
    assert "A broker can start with this" in validated.out
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({"log.retention.hours": "-1"}, "-1"),
        ({"log.retention.minutes": "-1"}, "-1"),
        ({"log.retention.hours": "2"}, "7200000"),
        ({"log.retention.minutes": "3", "log.retention.hours": "2"}, "180000"),
        ({"log.retention.ms": "5", "log.retention.minutes": "3", "log.retention.hours": "-1"}, "5"),
    ],
)
def test_the_finest_unit_counts_and_minus_one_is_for_ever_in_each(given: dict[str, str], retention_ms: str) -> None:
    properties = BrokerProperties.of(given, Address("127.0.0.1", 9_092))
    assert properties.topic_defaults == {"retention.ms": retention_ms}
