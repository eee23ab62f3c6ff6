"""A broker on loopback that is asked for elections, and answers what a test says."""

import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages import elect_leaders
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.elect_leaders import ElectionResult, ElectLeadersRequest
from tests.replication.wire.fake_broker import SPOKEN, Asked, FakeBroker, framed, metadata, receive, versions


class ElectingBroker(FakeBroker):
    """Broker 1 of a cluster of its own; `asked` are the elections that were asked for."""

    def __init__(
        self,
        results: Mapping[TopicPartition, ElectionResult],
        error: ErrorCode = ErrorCode.NONE,
        spoken: range = elect_leaders.VERSIONS,
    ) -> None:
        super().__init__(self._serve_all)
        self.results = results
        self.asked: list[ElectLeadersRequest] = []
        self._error = error
        self._spoken = spoken

    def _serve_all(self, stream: socket.socket) -> None:
        stream.sendall(versions(receive(stream), SPOKEN | {elect_leaders.API_KEY: self._spoken}))
        while True:
            asked = receive(stream)
            if asked.api_key == elect_leaders.API_KEY:
                self.asked.append(_read(asked))
                stream.sendall(framed(asked.correlation_id, self._answer(asked.version)))
            else:
                stream.sendall(metadata(asked, {1: self.address}))

    def _answer(self, version: int) -> Any:
        classes = response_classes(elect_leaders.API_KEY, version)
        fields = {"error_code": self._error} if version else {}
        return classes.ElectLeadersResponse(
            throttle_time=timedelta(),
            replica_election_results=tuple(
                classes.ReplicaElectionResult(
                    topic=topic,
                    partition_result=tuple(
                        classes.PartitionResult(partition_id=number, error_code=error, error_message=message)
                        for number, (error, message) in told
                    ),
                )
                for topic, told in by_topic(self.results.items()).items()
            ),
            **fields,
        )


def _read(asked: Asked) -> ElectLeadersRequest:
    payload = asked.payload
    topics = payload.topic_partitions
    return ElectLeadersRequest(
        election_type=payload.election_type if asked.version else elect_leaders.ElectionType.PREFERRED,
        partitions=None
        if topics is None
        else tuple(TopicPartition(each.topic, number) for each in topics for number in each.partitions),
        timeout_ms=payload.timeout // timedelta(milliseconds=1),
    )
