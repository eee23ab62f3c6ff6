"""Answers DescribeCluster: all brokers (KIP-700)."""

from typing import Final

from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.requests.cluster.image_view import ImageView
from replication.cluster.broker.requests.cluster.permitted_operations import told_of_cluster
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_cluster import (
    BROKERS,
    CONTROLLERS,
    DescribeClusterRequest,
    DescribedBroker,
    DescribedCluster,
)
from replication.wire.server.call import Call

_SINCE_FENCED: Final = 2


class DescribedBrokers:
    """Describes the brokers, as a broker does (Kafka: KafkaApis.handleDescribeCluster)."""

    def __init__(self, cluster: KnownCluster, permissions: PermissionsOf = unlimited) -> None:
        """Describe this cluster, and what callers may do with it."""
        self._cluster = cluster
        self._permissions = permissions

    def answer(self, request: DescribeClusterRequest, call: Call) -> DescribedCluster:
        """Answer as of now; who asks for controllers is told that this is none."""
        if request.endpoint_type != BROKERS:
            return _refused(request.endpoint_type)
        view = ImageView(self._cluster.image(), call.caller.listener)
        with_fenced = call.version >= _SINCE_FENCED and request.include_fenced_brokers
        return DescribedCluster(
            cluster_id=self._cluster.id,
            controller_id=min(view.alive, default=-1),
            brokers={
                node_id: DescribedBroker(node, node_id not in view.alive)
                for node_id, node in (view.nodes if with_fenced else view.alive).items()
            },
            authorized_operations=told_of_cluster(
                self._permissions(call.caller), asked=request.include_cluster_authorized_operations
            ),
        )


def _refused(endpoint_type: int) -> DescribedCluster:
    error, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
    if endpoint_type == CONTROLLERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    return DescribedCluster(error=error, error_message=message, cluster_id="", controller_id=-1, brokers={})
