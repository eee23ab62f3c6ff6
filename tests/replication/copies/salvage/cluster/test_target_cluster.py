"""What a cluster is asked is asked again as long as nobody leads the partition."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, KafkaException

from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.errors import ClusterError
from replication.copies.salvage.cluster.target_cluster import TargetCluster

NOBODY: Final = {"bootstrap.servers": "127.0.0.1:1"}
END: Final = 7


class Answers:
    """An AdminClient whose partition has no leader for a while."""

    def __init__(self, *errors: int) -> None:
        self.errors = list(errors)

    def list_offsets(self, asked: Any, **_: Any) -> dict[Any, Future[Any]]:
        answer: Future[Any] = Future()
        if self.errors:
            answer.set_exception(KafkaException(KafkaError(self.errors.pop(0))))
        else:
            answer.set_result(SimpleNamespace(offset=END))
        return dict.fromkeys(asked, answer)


def end_offset(admin: Answers, seconds: float = 30) -> int:
    cluster = TargetCluster(Connection(NOBODY, seconds))
    cluster._admin = admin
    return cluster.end_offset("orders", 0, committed=False)


def test_a_partition_that_nobody_leads_yet_is_asked_for_again() -> None:
    admin = Answers(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
    assert end_offset(admin) == END


def test_one_that_nobody_comes_to_lead_in_time_is_told_of() -> None:
    admin = Answers(*[KafkaError.NOT_LEADER_FOR_PARTITION] * 100)
    with pytest.raises(ClusterError, match=r"the offsets of orders-0 cannot be read: .*NOT_LEADER_FOR_PARTITION"):
        end_offset(admin, 0.15)


def test_another_error_is_told_at_once() -> None:
    admin = Answers(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(ClusterError, match="TOPIC_AUTHORIZATION_FAILED"):
        end_offset(admin)
