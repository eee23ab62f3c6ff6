"""A controller on loopback whose answers a test decides: heartbeats, registrations, and a quorum's log."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import Any

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from tests.replication.cluster.quorum.quorum_leader import METADATA, METADATA_ID, QuorumLeader
from tests.replication.wire.fake_broker import SECONDS, Asked, FakeBroker, framed, receive, versions

SPOKEN = {1: range(4, 19), 18: range(5), 59: range(2), 62: range(5), 63: range(3)}
REGISTRATION = BrokerRegistrationRequest(broker_id=9, cluster_id="cluster", incarnation_id=METADATA_ID, listeners=())
HEARTBEAT = BrokerHeartbeatRequest(
    broker_id=9, broker_epoch=5, current_metadata_offset=3, want_fence=False, want_shut_down=False
)


def registered(broker_epoch: int = 5) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error=ErrorCode.NONE, broker_epoch=broker_epoch)


def alive(**said: bool) -> BrokerHeartbeatResponse:
    """An answer to a heartbeat: caught up and unfenced, unless said otherwise."""
    return BrokerHeartbeatResponse(
        error=ErrorCode.NONE,
        is_caught_up=said.get("caught_up", True),
        is_fenced=said.get("fenced", False),
        should_shut_down=said.get("should_shut_down", False),
    )


@dataclass
class ScriptedController:
    """Answers heartbeats with one of `errors` after the other, then in order. None: hangs up. Fetches see `leader`."""

    errors: list[ErrorCode | None] = field(default_factory=list)
    leader: QuorumLeader | None = None
    spoken: dict[int, range] = field(default_factory=lambda: dict(SPOKEN))
    asked: list[Asked] = field(default_factory=list)
    silent: bool = False
    ended: Event = field(default_factory=Event)
    kept_waiting: bool = False
    """Whether it was silent until nobody waits any more in a test that goes well."""

    def listen(self) -> FakeBroker:
        """Return the server that is to be entered."""
        return FakeBroker(self)

    def __call__(self, stream: socket.socket) -> None:
        stream.sendall(versions(receive(stream), self.spoken))
        while True:
            asked = receive(stream)
            self.asked.append(asked)
            if self.silent:
                self.kept_waiting |= not self.ended.wait(SECONDS)
                return
            answer = self._answers[asked.api_key](self, asked)
            if answer is None:
                return
            stream.sendall(framed(asked.correlation_id, answer))

    def _heartbeat(self, asked: Asked) -> Any:
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        if error is None:
            return None
        return response_classes(63, asked.version).BrokerHeartbeatResponse(
            throttle_time=timedelta(), error_code=error, is_caught_up=True, is_fenced=False, should_shut_down=False
        )

    def _registration(self, asked: Asked) -> Any:
        return response_classes(62, asked.version).BrokerRegistrationResponse(
            throttle_time=timedelta(), error_code=ErrorCode.NONE, broker_epoch=5
        )

    def _fetch(self, asked: Asked) -> Any:
        assert self.leader is not None
        (topic,) = asked.payload.topics
        (told,) = topic.partitions
        partition = FetchPartition(told.fetch_offset, 1 << 20, told.current_leader_epoch, told.last_fetched_epoch)
        answer = self.leader.answer(
            FetchRequest(
                partitions={METADATA: partition},
                topic_ids={METADATA.topic: METADATA_ID},
                cluster_id=asked.payload.cluster_id,
            )
        )
        classes = response_classes(1, asked.version)
        if answer.error is not ErrorCode.NONE:
            return classes.FetchResponse(throttle_time=timedelta(), error_code=answer.error, responses=())
        fetched = answer.partitions[METADATA]
        leader = {"leader_id": -1} if fetched.current_leader is None else fetched.current_leader._asdict()
        data = classes.PartitionData(
            partition_index=0,
            error_code=fetched.error,
            high_watermark=fetched.high_watermark,
            current_leader=classes.LeaderIdAndEpoch(**leader),
            aborted_transactions=None,
            records=bytes(fetched.records),
        )
        return classes.FetchResponse(
            throttle_time=timedelta(),
            error_code=ErrorCode.NONE,
            responses=(classes.FetchableTopicResponse(topic_id=METADATA_ID, partitions=(data,)),),
            node_endpoints=tuple(
                classes.NodeEndpoint(node_id=node, host=address.host, port=address.port)
                for node, address in answer.leaders.items()
            ),
        )

    _answers: dict[int, Callable[["ScriptedController", Asked], Any]] = field(
        default_factory=lambda: {
            1: ScriptedController._fetch,
            62: ScriptedController._registration,
            63: ScriptedController._heartbeat,
        },
        repr=False,
    )
