"""DescribeCluster: which brokers are registered, and which of them are fenced (KIP-700, KIP-1073)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.metadata import Broker
from replication.protocol.messages.request import Request


class DescribedBroker(NamedTuple):
    """A broker, and whether it may lead and be in sync."""

    broker: Broker
    is_fenced: bool | None
    """None below version 2, which tells only of brokers that are not fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedCluster:
    """The answer to a DescribeClusterRequest (Kafka: DescribeClusterResponse)."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    cluster_id: str
    controller_id: int
    """A broker that forwards to the controller; the controller itself where ZooKeeper keeps the metadata; or -1."""
    brokers: Mapping[int, DescribedBroker]


@dataclass(frozen=True, slots=True)
class DescribeClusterRequest(Request[DescribedCluster]):
    """Asks for all brokers, fenced ones too (Kafka: DescribeClusterRequest)."""


API_KEY: Final = 60
VERSIONS: Final = range(3)

_SINCE_FENCED: Final = 2


def encode_describe_cluster(_: DescribeClusterRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    version = classes.DescribeClusterRequest.__version__
    fenced = {"include_fenced_brokers": True} if version >= _SINCE_FENCED else {}
    return classes.DescribeClusterRequest(include_cluster_authorized_operations=False, **fenced)


def decode_describe_cluster(payload: Any) -> DescribedCluster:
    """Read kio's DescribeClusterResponse."""
    tells_of_fenced = payload.__version__ >= _SINCE_FENCED
    return DescribedCluster(
        error=code_of(payload.error_code),
        error_message=payload.error_message,
        cluster_id=payload.cluster_id,
        controller_id=payload.controller_id,
        brokers={
            told.broker_id: DescribedBroker(
                Broker(told.broker_id, told.host, told.port, told.rack), told.is_fenced if tells_of_fenced else None
            )
            for told in payload.brokers
        },
    )
