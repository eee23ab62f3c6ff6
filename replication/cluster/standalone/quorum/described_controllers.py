"""What a controller that is alone reports of itself: DescribeQuorum and DescribeCluster (KIP-836, KIP-919)."""

from typing import Final

from replication.cluster.broker.authorization.permissions import unlimited
from replication.cluster.broker.requests.cluster.permitted_operations import told_of_cluster
from replication.cluster.standalone.quorum.led_quorum import LedQuorum
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_cluster import (
    BROKERS,
    CONTROLLERS,
    DescribeClusterRequest,
    DescribedBroker,
    DescribedCluster,
)
from replication.wire.messages.describe_quorum import DescribedQuorum, DescribeQuorumRequest, QuorumListener
from replication.wire.messages.metadata import Broker
from replication.wire.server.call import Call


class DescribedControllers:
    """Describes the leader, the followers, and their addresses."""

    def __init__(self, quorum: LedQuorum) -> None:
        """Describe this quorum."""
        self._quorum: Final = quorum

    def quorum(self, _: DescribeQuorumRequest, call: Call) -> DescribedQuorum:
        """Answer DescribeQuorum."""
        quorum, (leader_id, leader_epoch) = self._quorum, self._quorum.leader
        if leader_id != quorum.node_id:
            return DescribedQuorum(
                error=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_id=leader_id, leader_epoch=leader_epoch
            )
        return DescribedQuorum(
            leader_id=leader_id,
            leader_epoch=leader_epoch,
            high_watermark=quorum.log.high_watermark,
            voters=(quorum.own_progress(),),
            observers=quorum.observers.living(),
            listeners={quorum.node_id: (QuorumListener(call.caller.listener, *quorum.address),)},
        )

    def cluster(self, request: DescribeClusterRequest, call: Call) -> DescribedCluster:
        """Answer DescribeCluster; a request for brokers gets the answer that this is none (Kafka: ControllerApis)."""
        quorum = self._quorum
        if request.endpoint_type != CONTROLLERS:
            return _refused(request.endpoint_type)
        may = unlimited(call.caller)
        node = Broker(quorum.node_id, *quorum.address, None)
        return DescribedCluster(
            cluster_id=quorum.cluster_id,
            controller_id=quorum.leader.leader_id,
            brokers={quorum.node_id: DescribedBroker(node, is_fenced=False)},
            endpoint_type=CONTROLLERS,
            authorized_operations=told_of_cluster(may, asked=request.include_cluster_authorized_operations),
        )


def _refused(endpoint_type: int) -> DescribedCluster:
    error, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
    if endpoint_type == BROKERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
    return DescribedCluster(error=error, error_message=message, cluster_id="", controller_id=-1, brokers={})
