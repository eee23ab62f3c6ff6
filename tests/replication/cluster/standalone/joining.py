"""A broker that joins a controller of this process, whose time is the test's."""

from uuid import UUID

from replication.cluster.standalone.local_link import LocalChannel
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest

CLUSTER = "static"


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def join(controller: StaticController, clock: Clock, broker_id: int, incarnation: int = 1) -> ErrorCode:
    """Register a broker and unfence it."""
    channel = LocalChannel(controller, clock)
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER,
        incarnation_id=UUID(int=incarnation),
        listeners=(),
        log_dirs=(UUID(int=1_000 + broker_id),),
        features={"metadata.version": range(1, 41), "eligible.leader.replicas.version": range(2)},
    )
    answer = channel.ask(request)
    if answer.error is ErrorCode.NONE:
        offset = controller.published.applied_offset
        heartbeat = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=answer.broker_epoch, current_metadata_offset=offset
        )
        assert not channel.ask(heartbeat).is_fenced
    return answer.error
