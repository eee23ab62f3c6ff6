"""What an authorizer knows, and when: test_against_kafka.py says what it decides."""

import timeit
from dataclasses import replace
from uuid import UUID

import pytest

from replication.cluster.broker.authorization.authorizer import Authorizer, host_address
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.cluster.broker.authorization.operation import KNOWN_OPERATIONS, Operation, set_of
from replication.cluster.broker.authorization.permissions import GrantedPermissions, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import (
    AccessControlEntryRecord,
    MetadataRecord,
    NoOpRecord,
    RemoveAccessControlEntryRecord,
)
from replication.wire.server.call import Caller

ALICE = Caller("10.0.0.1", "User:alice")
READ_ORDERS = AccessControlEntryRecord(
    id=UUID(int=1),
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    pattern_type=3,
    principal="User:alice",
    host="*",
    operation=Operation.READ,
    permission_type=3,
)


class Cluster:
    """One whose metadata changes."""

    def __init__(self, *records: MetadataRecord) -> None:
        self._image = ClusterImage()
        self.replay(*records)

    def replay(self, *records: MetadataRecord) -> None:
        self._image.replay_all(records)
        self.image = self._image.frozen()


def may_read(authorizer: Authorizer, topic: str = "orders") -> bool:
    return authorizer.permissions(ALICE).may(Operation.READ, ResourceType.TOPIC, topic)


def test_what_is_granted_holds_from_then_on_and_no_longer_than_it_is_there() -> None:
    cluster = Cluster()
    authorizer = Authorizer(lambda: cluster.image)
    assert not may_read(authorizer)
    cluster.replay(READ_ORDERS)
    assert may_read(authorizer)
    cluster.replay(RemoveAccessControlEntryRecord(id=READ_ORDERS.id))
    assert not may_read(authorizer)


def test_an_image_that_still_changes_is_looked_at_each_time() -> None:
    image = ClusterImage()
    authorizer = Authorizer(lambda: image)
    assert not may_read(authorizer)
    image.replay(READ_ORDERS)
    assert may_read(authorizer)
    image.replay(RemoveAccessControlEntryRecord(id=READ_ORDERS.id))
    assert not may_read(authorizer)


def test_a_request_is_answered_by_what_held_when_it_came() -> None:
    cluster = Cluster(READ_ORDERS)
    authorizer = Authorizer(lambda: cluster.image)
    permissions = authorizer.permissions(ALICE)
    cluster.replay(RemoveAccessControlEntryRecord(id=READ_ORDERS.id))
    assert permissions.may(Operation.READ, ResourceType.TOPIC, "orders")


def test_permissions_are_equal_until_an_entry_changes() -> None:
    cluster = Cluster(READ_ORDERS)
    authorizer = Authorizer(lambda: cluster.image)
    before = authorizer.permissions(ALICE)
    cluster.replay(NoOpRecord())
    assert authorizer.permissions(ALICE) == before
    assert authorizer.permissions(ALICE._replace(principal="User:bob")) != before
    cluster.replay(replace(READ_ORDERS, id=UUID(int=2), resource_name="other"))
    assert authorizer.permissions(ALICE) != before


def test_all_that_one_may_do_is_what_can_be_done_with_the_resource() -> None:
    authorizer = Authorizer(
        Cluster(READ_ORDERS, replace(READ_ORDERS, id=UUID(int=2), operation=2, resource_name="all")).image.frozen
    )
    permissions = authorizer.permissions(ALICE)
    assert permissions.operations(ResourceType.TOPIC, "orders") == set_of(Operation.READ, Operation.DESCRIBE)
    assert permissions.operations(ResourceType.TOPIC, "all") == KNOWN_OPERATIONS[ResourceType.TOPIC]
    assert permissions.operations(ResourceType.CLUSTER) == 0
    assert unlimited(ALICE).operations(ResourceType.CLUSTER) == KNOWN_OPERATIONS[ResourceType.CLUSTER]


def test_the_settings_are_those_of_a_broker() -> None:
    properties = {"super.users": "User:admin; User:CN=x,O=y ;", "allow.everyone.if.no.acl.found": "True"}
    settings = AuthorizerSettings.of_properties(properties)
    assert settings.super_users == {"User:admin", "User:CN=x,O=y"}
    assert settings.allow_everyone_if_no_acl_found
    assert AuthorizerSettings.of_properties({}) == AuthorizerSettings()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a:0", "2001:db8:0:0:0:0:a:0"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("no address", "no address"),
    ],
)
def test_hosts_are_named_as_java_writes_their_addresses(address: str, told: str) -> None:
    assert host_address(address) == told


def test_a_decision_takes_microseconds_however_many_entries_there_are() -> None:
    entries = [
        replace(
            READ_ORDERS,
            id=UUID(int=number),
            resource_name=f"topic-{number}"[: 3 + number % 8],
            pattern_type=3 + number % 2,
            principal=f"User:{number % 100}",
        )
        for number in range(10_000)
    ]
    authorizer = Authorizer(Cluster(READ_ORDERS, *entries).image.frozen)
    permissions = authorizer.permissions(ALICE)
    assert isinstance(permissions, GrantedPermissions)
    rules, names = permissions.rules, iter(range(10**9))

    def decide() -> None:
        rules.operations(ResourceType.TOPIC, f"topic-{next(names)}", ALICE.principal, ALICE.address)

    # New names each time. Looking at each entry takes a millisecond and more.
    assert min(timeit.repeat(decide, number=200, repeat=5)) / 200 < 200e-6
