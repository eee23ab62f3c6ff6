"""What a cluster does not let somebody do is told before the first record; once it does, the records are there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from replication.copies.salvage.cluster.salvage_producer import TRANSACTIONAL_ID
from tests.data.make_replicas import wait_until
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.operations.test_elections_on_a_guarded_broker import GuardedBroker, login
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.copies.salvage.copies import data, write_copy
from tests.replication.wire.secure_broker import PASSWORD, USER

TOPIC, TRANSACTIONS = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
NEEDED = [
    (TOPIC, "t", AclOperation.DESCRIBE),
    (TOPIC, "t", AclOperation.DESCRIBE_CONFIGS),
    (TOPIC, "t", AclOperation.READ),
    (TOPIC, "t", AclOperation.WRITE),
    (TRANSACTIONS, TRANSACTIONAL_ID, AclOperation.WRITE),
]
EVERYTHING = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    None,
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


class TransactionalBroker(GuardedBroker):
    """On one node."""

    def _node(self) -> dict[str, object]:
        alone = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
        return super()._node() | dict.fromkeys((*alone, "transaction.state.log.min.isr"), 1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[TransactionalBroker]:
    with TransactionalBroker(tmp_path_factory.mktemp("guarded"), release) as running:
        Target(running.address).create("t")
        yield running


def allow(broker: TransactionalBroker, needed: list[tuple[ResourceType, str, AclOperation]]) -> None:
    """Let alice do this and nothing else."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    for future in admin.delete_acls([EVERYTHING]).values():
        future.result(30)
    wait_until(lambda: count_acls(admin) == 0, "the authorizer has forgotten them")
    bindings = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{USER}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, operation in needed
    ]
    for future in admin.create_acls(bindings).values():
        future.result(30)
    wait_until(lambda: count_acls(admin) == len(needed), "the authorizer knows them")


def count_acls(admin: AdminClient) -> int:
    return len(admin.describe_acls(EVERYTHING).result(30))


def salvage(broker: TransactionalBroker, directory: Path, listener: str = "SASL_PLAINTEXT", **more: object) -> Outcome:
    parts = [data(0, b"common")], [data(0, b"common"), data(1, b"a", timestamp=5), data(1, b"b")]
    roots = [directory / f"broker-{number}" for number in range(2)]
    for root, content in zip(roots, parts, strict=True):
        if not root.exists():
            write_copy(root, content)
    properties = login(directory / "alice.properties", PASSWORD, listener, request_timeout_ms=10_000, **more)
    address = str(broker.addresses[listener])
    return epochlog("salvage", *roots, "--kept", "broker-0", "--produce", address, "--command-config", properties)


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        (1, "the settings of the topic t cannot be read"),
        (2, "t: this client may not READ it"),
        (3, "t: this client may not WRITE it"),
        (4, "no transactions as epochlog-salvage: "),
    ],
)
def test_an_acl_is_missing(broker: TransactionalBroker, tmp_path: Path, lacks: int, told: str) -> None:
    allow(broker, [each for number, each in enumerate(NEEDED) if number != lacks])
    refused = salvage(broker, tmp_path)
    assert (refused.status, refused.out) == (2, "")
    assert told in refused.err
    assert Target(broker.address).values("t") == []


def test_who_may_see_nothing(broker: TransactionalBroker, tmp_path: Path) -> None:
    allow(broker, NEEDED[4:])
    refused = salvage(broker, tmp_path)
    assert (refused.status, refused.out) == (2, "")
    assert (
        "t: the cluster has no such topic, or does not show it" in refused.err or "cannot be looked at" in refused.err
    )


def test_a_wrong_password(broker: TransactionalBroker, tmp_path: Path) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    refused = salvage(broker, tmp_path, sasl_jaas_config=f'{module} required username="{USER}" password="guessed";')
    assert (refused.status, refused.out) == (2, "")
    assert "authentication failed" in refused.err.lower()


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_with_all_that_is_needed_the_records_are_there(
    broker: TransactionalBroker, tmp_path: Path, listener: str
) -> None:
    allow(broker, NEEDED)
    trusted = {"ssl_truststore_type": "PEM", "ssl_truststore_location": broker.authority.certificate}
    done = salvage(broker, tmp_path, listener, **trusted)
    assert (done.status, done.err) == (0, "")
    assert Target(broker.address).values("t") == [b"a", b"b"]
