"""Who coordinates a group or a transactional id is decided as Kafka decides it."""

from pathlib import Path
from typing import Any

import pytest

from replication.base.int32 import java_hash
from replication.cluster.node.coordinators.other_coordinators import coordinating_partition
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.node.remote_cluster import RemoteCluster

HEARTBEAT = 12


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("orders", -1008770331), ("polygenelubricants", -(2**31)), ("\N{GRINNING FACE}", 1772899)],
)
def test_hashes_are_javas(text: str, code: int) -> None:
    assert java_hash(text) == code


def test_the_least_hash_has_no_absolute_value_in_java() -> None:
    assert coordinating_partition("polygenelubricants", 50) == 0
    assert coordinating_partition("orders", 50) == 1008770331 % 50


def test_a_broker_that_coordinates_no_groups_refuses_a_member_that_takes_it_for_its_coordinator(tmp_path: Path) -> None:
    member: dict[str, Any] = {"group_id": "billing", "generation_id": 1, "member_id": "m", "group_instance_id": None}
    with RemoteCluster(tmp_path, 1, coordinates_groups=False, starts_without_coordinators=True) as cluster:
        with Connection.open(cluster.brokers[1].node.address) as connection:
            answer: Any = connection.ask(kio_request(HEARTBEAT, 4, member))
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
