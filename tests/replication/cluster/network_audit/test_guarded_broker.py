"""Who has READ on topics, and nothing else, audits these; a real broker decides who may what."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cluster.operations.test_elections_on_a_guarded_broker import GuardedBroker, login
from tests.replication.wire.secure_broker import PASSWORD, USER

ALLOWED = {"readable": AclOperation.READ, "described": AclOperation.DESCRIBE}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[GuardedBroker]:
    with GuardedBroker(tmp_path_factory.mktemp("guarded"), release) as running:
        admin = AdminClient({"bootstrap.servers": str(running.address)})
        topics = [NewTopic(topic, num_partitions=1, replication_factor=1) for topic in (*ALLOWED, "hidden")]
        rights = [
            AclBinding(
                ResourceType.TOPIC,
                topic,
                ResourcePatternType.LITERAL,
                f"User:{USER}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for topic, operation in ALLOWED.items()
        ]
        for future in (*admin.create_topics(topics).values(), *admin.create_acls(rights).values()):
            future.result(60)
        producer = Producer({"bootstrap.servers": str(running.address)})
        for topic in (*ALLOWED, "hidden"):
            for number in range(10):
                producer.produce(topic, b"value", b"key-%d" % number)
        assert producer.flush(60) == 0
        yield running


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_read_alone_suffices_and_what_may_not_be_read_is_unknown(
    broker: GuardedBroker, tmp_path: Path, protocol: str
) -> None:
    trusted = {"ssl_truststore_type": "PEM", "ssl_truststore_location": broker.authority.certificate}
    properties = login(tmp_path / "alice.properties", PASSWORD, protocol, **trusted)
    outcome = epochlog(
        "audit", "--bootstrap", broker.addresses[protocol], "--command-config", properties, "--patience", 5, "--json"
    )
    found = {each["topic"]: (each["verdict"], each["branches"]) for each in outcome.document["partitions"]}
    assert {topic: verdict for topic, (verdict, _) in found.items()} == {
        "readable": "identical",
        "described": "unknown",
    }
    ((branch,),) = [branches for _, branches in found.values() if branches]
    assert branch["records"] == 10
    (finding,) = outcome.document["findings"]
    assert (finding["topic"], finding["kind"]) == ("described", "file-unreadable")
    assert "allow this user READ on the topic" in finding["message"]
    assert outcome.status == 2
    assert PASSWORD not in outcome.out + outcome.err
